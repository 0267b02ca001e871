"""REPL start: wall time from starting the process to a prompt that takes input, under a pty.

Each shell runs in a terminal of its own, and the clock stops when its prompt is written.
Startup files and history are those of an empty home. Byte code is cached.

Run: ``python benchmarks/repl.py``.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.harness import Row, in_turns, print_rows

_PATIENCE = 60.0


def to_prompt(
    command: list[str], prompt: bytes, home: str, first: tuple[bytes, bytes] | None = None
) -> Callable[[], None]:
    """Starts ``command`` and waits until it has written ``prompt``.

    With ``first``, an input and a part of its result, it types that and waits for the result.
    """
    environment = {
        **{
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("KEDI_", "PYTHON", "IPYTHON"))
        },
        "HOME": home,
        "IPYTHONDIR": f"{home}/ipython",
        "TERM": "xterm-256color",
        "XDG_CONFIG_HOME": f"{home}/config",
    }

    def run() -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment,
            cwd=home, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        try:
            _wait_for(master, prompt)
            if first is not None:
                os.write(master, first[0] + b"\r")
                _wait_for(master, first[1])
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(master)

    return run


def _wait_for(master: int, prompt: bytes) -> None:
    seen = b""
    end = time.monotonic() + _PATIENCE
    while prompt not in seen:
        ready, _, _ = select.select([master], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError(f"no prompt {prompt!r} in {seen!r}")
        seen += os.read(master, 65_536)
        if b"\x1b[6n" in seen:
            # Where the cursor is: terminals answer, and some shells wait for that.
            os.write(master, b"\x1b[1;1R")
            seen = seen.replace(b"\x1b[6n", b"")


def rows() -> list[Row]:
    """``kedi --idle`` against IPython, ptpython and Python itself."""
    python = sys.executable
    kedi = Path(python).with_name("kedi")
    ours = [str(kedi)] if kedi.exists() else [python, "-m", "kedi"]
    with tempfile.TemporaryDirectory() as home:
        product = (b"111 * 7", b"777")
        times = in_turns(
            [
                to_prompt([*ours, "--idle"], b"+++", home),
                to_prompt([*ours, "--idle", "--highlight"], b"+++", home),
                to_prompt([python, "-m", "IPython", "--no-banner"], b"In [", home),
                to_prompt([python, "-m", "ptpython"], b">>>", home),
                to_prompt([python, "-q"], b">>>", home),
                to_prompt([*ours, "--idle"], b"+++", home, (b"= `111 * 7`", b"777")),
                to_prompt([python, "-m", "IPython", "--no-banner"], b"In [", home, product),
                to_prompt([python, "-m", "ptpython"], b">>>", home, product),
            ],
            clock=time.perf_counter,
            collect=False,
        )
    plain, highlighted, ipython, ptpython, bare, result, ipython_result, ptpython_result = times
    return [
        Row("REPL start to prompt", plain, ipython, "IPython", 0.6),
        Row("REPL start to prompt", plain, ptpython, "ptpython", 1.0),
        Row("REPL start to prompt", plain, bare, "python -q", None),
        Row("the same with --highlight", highlighted, ipython, "IPython", None),
        Row("REPL start to first result", result, ipython_result, "IPython", None),
        Row("REPL start to first result", result, ptpython_result, "ptpython", None),
    ]


if __name__ == "__main__":
    print_rows(rows())
