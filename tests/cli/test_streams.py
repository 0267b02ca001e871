"""Streams that are closed, full, gone or cannot say a character; interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run, command, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX streams and signals")

UNBUFFERED = [{}, {"PYTHONUNBUFFERED": "1"}]
Write = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def _programs(write: Write) -> None:
    write("unicode.kedi", "= ünï → 漢 😀\n")
    write("many.kedi", "> loop [i]: `range(50000)`:\n  > show: line <i>\n")
    write("bad.kedi", "= <\n")


def shell(script: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script.replace("KEDI", f"{sys.executable} -m kedi")],
        capture_output=True, text=True, timeout=60, env=environment(**env),
    )  # fmt: skip


@pytest.mark.parametrize("env", UNBUFFERED)
@pytest.mark.parametrize(
    "what", ["many.kedi", "unicode.kedi", "--help", "--version", "-p many.kedi"]
)
def test_a_reader_that_leaves_is_not_an_error(what: str, env: dict[str, str]) -> None:
    done = shell(f"(KEDI {what}; echo status $? >&2) | true", env)
    assert done.stderr in ("status 141\n", "status 0\n")
    if what == "many.kedi":
        assert "141" in done.stderr


def test_a_reader_that_leaves_early_got_what_it_wanted() -> None:
    done = shell("set -o pipefail; KEDI many.kedi | head -n 2", {})
    assert (done.stdout, done.stderr) == ("line 0\nline 1\n", "")
    assert done.returncode == 141


def test_a_broken_pipe_of_the_program_itself_is_its_error(process: Run) -> None:
    status, _, err = process("-c", "`raise BrokenPipeError('a socket')`")
    assert status == 1
    assert "BrokenPipeError: a socket" in err


@pytest.mark.parametrize("env", UNBUFFERED)
@pytest.mark.parametrize("what", ["unicode.kedi", "--help", "--version"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk(what: str, env: dict[str, str]) -> None:
    done = shell(f"KEDI {what} > /dev/full", env)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the output cannot be written")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("KEDI unicode.kedi >&-", 0),
        ("KEDI unicode.kedi <&-", 0),
        ("KEDI - <&-", 2),
        ("KEDI bad.kedi 2>&-", 1),
        ("KEDI bad.kedi <&- >&- 2>&-", 1),
        ("KEDI --version >&-", 0),
        ("KEDI nothing.kedi 2>&-", 2),
    ],
)
def test_closed_streams(script: str, status: int) -> None:
    done = shell(script, {})
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    if "2>&-" in script:
        assert done.stdout == ""


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_terminals_that_do_not_speak_unicode(process: Run, env: dict[str, str]) -> None:
    done = subprocess.run(
        command("unicode.kedi"), capture_output=True, timeout=60, env=environment(**env)
    )
    assert done.returncode == 0
    assert rb"\u2192 \u6f22 \U0001f600" in done.stdout
    bad = subprocess.run(
        command("-c", "= `ünknown_→`"), capture_output=True, timeout=60, env=environment(**env)
    )
    assert bad.returncode == 1
    assert rb"\u2192" in bad.stderr
    assert b"Traceback" not in bad.stderr


def test_lone_surrogates(process: Run) -> None:
    assert process("-c", "= `'\\ud800'`") == (0, "\\ud800\n", "")


def test_an_interrupt_is_one_line_and_130(write: Write) -> None:
    write("wait.kedi", "> show: started\n```\nimport time\ntime.sleep(60)\n```\n")
    with subprocess.Popen(
        command("wait.kedi"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stdout.readline() == "started\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", "interrupted\n")


def test_an_interrupt_raised_by_the_program(kedi: Run) -> None:
    assert kedi("-c", "`raise KeyboardInterrupt`") == (130, "", "interrupted\n")


def test_streams_that_the_program_closes(process: Run) -> None:
    for code in ("import sys; sys.stdout.close()", "import os; os.close(1)"):
        first, second = code.split("; ")
        status, _, err = process("-c", f"> show: a\n```\n{first}\n{second}\n```\n= x")
        assert status == 1
        assert err.startswith("error: the output cannot be written")
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("env", "colored"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colour_only_on_a_terminal_that_wants_it(env: dict[str, str], colored: bool) -> None:
    import pty

    leader, follower = pty.openpty()
    try:
        status = subprocess.run(
            command("bad.kedi"),
            stderr=follower, stdout=subprocess.DEVNULL, timeout=60, env=environment(**env),
        ).returncode  # fmt: skip
        text = os.read(leader, 10_000)
    finally:
        os.close(leader)
        os.close(follower)
    assert status == 1
    assert (b"\x1b[" in text) is colored


def test_output_and_errors_keep_their_order(process: Run, write: Write) -> None:
    write("both.kedi", "> show: first\n= `1 / 0`\n")
    done = subprocess.run(
        command("both.kedi"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, env=environment(),
    )  # fmt: skip
    assert done.stdout.startswith("first\nKedi trace")
