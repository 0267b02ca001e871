"""A working directory that was deleted under the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kedi
from kedi.errors import KediCompileError, SessionLoadError
from kedi.lang import compile_program, parse_program
from kedi.runtime.directory import absolute, working_directory
from tests.conftest import ROOT


@pytest.fixture
def gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which is no more."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(FileNotFoundError):
        Path.cwd()
    return folder


def test_it_is_named_by_an_absolute_path_where_nothing_is(gone: Path) -> None:
    assert working_directory().is_absolute()
    assert not working_directory().exists()
    assert absolute("x") == working_directory() / "x"
    assert absolute("/x") == Path("/x")


def test_sessions_and_programs_run_in_it(gone: Path) -> None:
    with kedi.interactive() as session:
        assert session.execute("= <`1 + 1`>") == "2"
        assert session.complete("> import: th")[0].label == "this"
        with pytest.raises(KediCompileError, match="there is no module `nope`"):
            session.execute("> import: nope")
        assert session.execute("> import: this\n= ok") == "ok"
    assert compile_program(parse_program("= ok")).run_main() == "ok"
    assert compile_program(parse_program("= ok", "x.kedi")).run_main() == "ok"


def test_a_session_saved_in_it_wants_another_one(gone: Path, tmp_path: Path) -> None:
    file = tmp_path / "session.kedis"
    with kedi.interactive() as session:
        session.execute("[x] = 1")
        session.dump(file)
        with pytest.raises(FileNotFoundError):
            session.dump("here.kedis")
    with pytest.raises(SessionLoadError, match="pass `cwd=`"):
        kedi.load_session(file)
    with kedi.load_session(file, cwd=tmp_path) as again:
        assert again.execute("= <x>") == "1"


@pytest.mark.parametrize(
    ("arguments", "status", "out", "err"),
    [
        (("-c", "= ok"), 0, "ok\n", ""),
        (("x.kedi",), 2, "", "error: there is no file `x.kedi`\n"),
        (("install",), 2, "", "there is no package manifest"),
    ],
)
def test_commands_run_in_it(
    gone: Path, arguments: tuple[str, ...], status: int, out: str, err: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kedi", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stdout) == (status, out)
    assert err in done.stderr
    assert "itself failed" not in done.stderr
