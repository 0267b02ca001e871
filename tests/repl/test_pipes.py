"""The REPL as a process between pipes: streams, encodings, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import environment
from tests.repl.conftest import Done

Piped = Callable[..., Done]
COMMAND = [sys.executable, "-m", "kedi", "--idle"]


def test_no_banner_no_prompts_no_history(piped: Piped) -> None:
    assert piped(b"[x: int] = `1`\n= `x`\n") == Done(0, "1\n", "")
    assert not Path(os.environ["KEDI_HISTORY"]).exists()


def test_neither_the_editor_nor_colours_are_loaded(piped: Piped) -> None:
    code = (
        b"= ```\nimport sys\n"
        b"return {'prompt_toolkit', 'pygments', 'asyncio'} & set(sys.modules)\n```\n"
    )
    assert piped(code) == Done(0, "set()\n", "")
    assert piped(code, "--highlight") == Done(0, "set()\n", "")


def test_line_ends_and_encodings(piped: Piped) -> None:
    text = "@f() -> str:\r\n  = é日\r\n\r\n= <f()>\r\n"
    assert piped(text.encode()) == Done(0, "'é日'\n", "")
    assert piped(text.encode(), env={"LC_ALL": "C", "PYTHONUTF8": "0"}).out == ("'\\xe9\\u65e5'\n")
    assert piped(b"\xef\xbb\xbf= `1`\n") == Done(0, "1\n", "")


def test_what_is_no_text_is_told(piped: Piped) -> None:
    done = piped(b"= `1`\n[x] = \xff\n= `2`\n")
    assert done.out == "1\n2\n"
    assert "not UTF-8" in done.err
    assert "Traceback" not in done.err
    assert piped(b"[x] = \xff").status == 1
    assert piped(b"[x] = a\0b\n= `x`\n").out == "'a\\x00b'\n"


def test_output_comes_in_order(piped: Piped) -> None:
    done = subprocess.run(
        COMMAND,
        input=b"`print('one')`\n= `1/0`\n= `2`\n> show: three\nprose\n",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, env=environment(),
    )  # fmt: skip
    text = done.stdout.decode()
    places = [text.index(word) for word in ("one", "ZeroDivisionError", "\n2\n", "three", "prose")]
    assert places == sorted(places)


def test_inputs_run_as_soon_as_they_are_whole() -> None:
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for number in range(3):
            process.stdin.write(f"= `{number}`\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"{number}\n"
        process.stdin.write(":exit\n")
        process.stdin.flush()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_python_reads_what_follows(piped: Piped) -> None:
    assert piped(b"= `input()`\nhello\n= `1`\n") == Done(0, "'hello'\n1\n", "")
    done = piped(b"= `input()`")
    assert done.status == 1
    assert "EOFError" in done.err


@pytest.mark.parametrize("redirection", ["< /dev/null", "<&-"])
def test_without_input(redirection: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m kedi --idle {redirection}', sys.executable],
        capture_output=True, timeout=60, env=environment(),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_input_that_never_ends_is_refused() -> None:
    done = subprocess.run(
        ["sh", "-c", 'head -c 70000000 /dev/zero | "$0" -m kedi --idle', sys.executable],
        capture_output=True, timeout=110, env=environment(),
    )  # fmt: skip
    assert done.returncode == 1
    assert b"longer than" in done.stderr


def test_a_reader_that_left_ends_it() -> None:
    done = subprocess.run(
        ["bash", "-c", 'yes "= \\`1\\`" | "$0" -m kedi --idle | head -n 1; exit ${PIPESTATUS[1]}',
         sys.executable],
        capture_output=True, timeout=60, env=environment(),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (141, b"1\n", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_that_cannot_be_written_is_told_and_the_session_saved() -> None:
    script = (
        """printf '[x] = 1\\n= `x`\\n:show <x>\\n' | "$0" -m kedi --idle --record > /dev/full"""
    )
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], capture_output=True, timeout=60, env=environment()
    )
    assert done.returncode == 1
    assert b"the output cannot be written: No space left" in done.stderr
    assert b"Traceback" not in done.stderr
    (saved,) = Path(os.environ["KEDI_HOME"], "sessions").iterdir()
    assert saved.stat().st_size > 0


def test_output_that_a_fragment_closed_is_told(piped: Piped) -> None:
    done = piped(b"`__import__('sys').stdout.close()`\n= `1`\n")
    assert (done.status, done.out) == (1, "")
    assert done.err == "error: the output cannot be written: standard output was closed\n"


def test_an_interrupt_ends_it() -> None:
    process = subprocess.Popen(
        [*COMMAND, "--record"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(), text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("[x: int] = ```\nprint('busy', flush=True)\nwhile True: pass\n```\n\n")
    process.stdin.flush()
    assert process.stdout.readline() == "busy\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "interrupted\n"
    assert "to resume: kedi --idle --load " in out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_that_end_it_save_the_session(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--record"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(), text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("[x: int] = `41`\n= `x`\n")
    process.stdin.flush()
    assert process.stdout.readline() == "41\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (128 + number, "")
    (saved,) = Path(os.environ["KEDI_HOME"], "sessions").iterdir()
    assert str(saved) in out


def test_long_inputs(piped: Piped) -> None:
    lines = "".join(f"[v{number}: int] = `{number}`\n" for number in range(3_000))
    assert piped(f"{lines}= `v2999`\n".encode()) == Done(0, "2999\n", "")
    fence = "".join(f"v{number} = {number}\n\n" for number in range(2_000))
    assert piped(f"```\n{fence}```\n\n= `v1999`\n".encode()) == Done(0, "1999\n", "")
