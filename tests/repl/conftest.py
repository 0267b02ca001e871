"""The REPL in this process, as a process, and in a real terminal."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kedi.cli.main import main
from tests.cli.conftest import environment
from tests.repl.terminal import Terminal

DRIVER = Path(__file__).with_name("driver.py")


class Done(NamedTuple):
    """What a session came to."""

    status: int
    out: str
    err: str


@pytest.fixture
def idle(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Done]:
    """Run ``kedi --idle`` in this process with a text as its standard input."""

    def run(text: str, *arguments: str) -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        capsys.readouterr()
        status = main(["--idle", *arguments])
        return Done(status, *capsys.readouterr())

    return run


@pytest.fixture
def piped() -> Callable[..., Done]:
    """Run ``kedi --idle`` as a process that reads bytes from a pipe."""

    def run(data: bytes, *arguments: str, env: dict[str, str] | None = None, **more: Any) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "kedi", "--idle", *arguments],
            input=data, capture_output=True, timeout=60, env=environment(**(env or {})), **more,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def open_terminal() -> Iterator[Callable[..., Terminal]]:
    """Start ``kedi --idle`` in a terminal, or with ``command`` something else."""
    opened: list[Terminal] = []

    def start(*arguments: str, command: list[str] | None = None, **options: Any) -> Terminal:
        line = command or [sys.executable, "-m", "kedi", "--idle"]
        opened.append(Terminal(*line, *arguments, **options))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def repl(open_terminal: Callable[..., Terminal]) -> Terminal:
    """A terminal that shows the first prompt."""
    terminal = open_terminal()
    terminal.prompt()
    return terminal
