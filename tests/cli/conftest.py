"""Helpers to run the ``kedi`` command, as a process and in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kedi.cli.main import main
from tests.conftest import ROOT


class Done(NamedTuple):
    """What a command line came to."""

    status: int
    out: str
    err: str


Run = Callable[..., Done]


def environment(**extra: str) -> dict[str, str]:
    """The test's environment, with Kedi importable and Python's streams as users have them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPATH": str(ROOT), **extra}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kedi", *arguments]


@pytest.fixture
def process() -> Run:
    """Run the command as a process of its own in the working folder."""

    def run(
        *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None, **options: Any
    ) -> Done:
        done = subprocess.run(
            command(*arguments),
            input=stdin, capture_output=True, env=environment(**(env or {})), timeout=60, **options,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def kedi(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""

    def run(*arguments: str) -> Done:
        status = main(arguments)
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return run


@pytest.fixture
def write() -> Callable[[str, str], Path]:
    """Write a file of the working folder, folders included."""

    def make(name: str, text: str) -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    return make


def lines(parts: Sequence[str]) -> str:
    return "\n".join(parts) + "\n"
