"""Start-up: wall time of whole processes, in turns with bare Python and the imports we need.

Byte code is cached (``PYTHONDONTWRITEBYTECODE`` unset, caches warm).

Run: ``python benchmarks/startup.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.harness import Row, in_turns, print_rows


def _kedi(*arguments: str) -> Callable[[], None]:
    """The installed command, as users start it; the module where it is not installed."""
    command = Path(sys.executable).with_name("kedi")
    return _run([str(command)] if command.exists() else [sys.executable, "-m", "kedi"], arguments)


def _python(*arguments: str) -> Callable[[], None]:
    return _run([sys.executable], arguments)


def _run(command: list[str], arguments: tuple[str, ...]) -> Callable[[], None]:
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH") and not key.startswith("KEDI_")
    }

    def run() -> None:
        subprocess.run(
            [*command, *arguments],
            check=True,
            env=environment,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
        )

    return run


def rows() -> list[Row]:
    """``kedi --version`` and ``kedi -c`` against ``python -c pass``."""
    times = in_turns(
        [
            _python("-c", "pass"),
            _kedi("--version"),
            _kedi("-c", "= ok"),
            _python("-c", "import argparse"),
            _python("-c", "import lark"),
            _python("-c", "import pydantic; pydantic.BaseModel"),
        ],
        rounds=15,
        clock=time.perf_counter,
        collect=False,
    )
    bare = times[0]
    return [
        Row("kedi --version", times[1], bare, "python -c pass", 1.5),
        Row("kedi -c '= ok'", times[2], bare, "python -c pass", 8.0),
        Row("import argparse", times[3], bare, "python -c pass", None),
        Row("import lark", times[4], bare, "python -c pass", None),
        Row("import pydantic", times[5], bare, "python -c pass", None),
    ]


if __name__ == "__main__":
    print_rows(rows())
