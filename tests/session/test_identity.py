"""Names of fragments, bases of imports, and the working directory."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi import InteractiveSession
from kedi.errors import KediCompileError, KediExecutionError, KediParseError

Make = Callable[..., InteractiveSession]


def names(session: InteractiveSession) -> list[str]:
    return [one.name for one in session.fragments]


def test_fragments_are_numbered_from_one(session: InteractiveSession) -> None:
    session.execute("[a] = 1")
    session.execute("[b] = 2")
    assert names(session) == ["<interactive:1>", "<interactive:2>"]
    assert [(one.number, one.source, one.state) for one in session.fragments] == [
        (1, "[a] = 1", "done"),
        (2, "[b] = 2", "done"),
    ]


def test_only_executed_fragments_count(session: InteractiveSession) -> None:
    session.execute("[a: int] = `1`")
    with pytest.raises(KediParseError):
        session.execute("[b = 2")
    with pytest.raises(KediCompileError):
        session.execute("[b: Nope] = `2`")
    with pytest.raises(KediExecutionError):
        session.execute("[b: int] = `1 / 0`")
    session.execute("[c: int] = `3`")
    assert names(session) == ["<interactive:1>", "<interactive:2>", "<interactive:3>"]
    assert [one.state for one in session.fragments] == ["done", "failed", "done"]


def test_the_name_stands_in_diagnostics_and_traces(session: InteractiveSession) -> None:
    with pytest.raises(KediParseError) as parse:
        session.execute("[a] = 1\n[b = 2")
    assert parse.value.diagnostics[0].span.source_name == "<interactive:1>"
    assert "<interactive:1>" in str(parse.value)
    with pytest.raises(KediExecutionError) as failed:
        session.execute("[a] = 1\n= `a / 0`", source_name="mine")
    assert failed.value.span is not None
    assert (failed.value.span.source_name, failed.value.span.line) == ("mine", 2)
    assert "mine, line 2" in str(failed.value)


def test_a_given_name_can_be_text_or_a_path(session: InteractiveSession) -> None:
    session.execute("[a] = 1", source_name="cells/one.kedi")
    session.execute("[b] = 2", source_name=Path("cells") / "two.kedi")
    session.execute("[c] = 3")
    assert names(session) == ["cells/one.kedi", "cells/two.kedi", "<interactive:3>"]


def test_a_name_is_used_once(session: InteractiveSession) -> None:
    session.execute("[a: int] = `1`", source_name="cell")
    with pytest.raises(ValueError, match="already names a fragment"):
        session.execute("`a += 1`", source_name="cell")
    with pytest.raises(ValueError, match="already names"):
        session.execute("not even Kedi", source_name="cell")
    assert session.execute("= `a`") == 1
    session.execute("[z] = 1")
    with pytest.raises(ValueError, match="already names"):
        session.execute("[z] = 2", source_name="<interactive:3>")


def test_a_synthetic_name_may_be_taken_ahead(session: InteractiveSession) -> None:
    session.execute("[a] = 1", source_name="<interactive:2>")
    session.execute("[b] = 2")
    session.execute("[c] = 3")
    assert len(set(names(session))) == 3


def test_a_name_is_free_again_when_nothing_ran(session: InteractiveSession) -> None:
    with pytest.raises(KediParseError):
        session.execute("[a = 1", source_name="cell")
    session.execute("[a] = 1", source_name="cell")
    with pytest.raises(KediExecutionError):
        session.execute("`1 / 0`", source_name="other")
    with pytest.raises(ValueError, match="already names"):
        session.execute("[b] = 1", source_name="other")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\0b"])
def test_names_that_cannot_be(session: InteractiveSession, name: str) -> None:
    with pytest.raises(ValueError, match="source_name"):
        session.execute("[a] = 1", source_name=name)
    assert session.fragments == ()


@pytest.mark.parametrize("name", [5, b"cell", object(), Path])
def test_names_of_the_wrong_type(session: InteractiveSession, name: Any) -> None:
    with pytest.raises(TypeError):
        session.execute("[a] = 1", source_name=name)
    assert session.fragments == ()


# ── imports ───────────────────────────────────────────────────────────────────


def module(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


ANSWER = "[answer: int] = `{}`\n> export:\n  answer\n"


def test_the_documented_import(tmp_path: Path, make: Make) -> None:
    cells = tmp_path / "examples" / "cells"
    module(cells / "helpers.kedi", ANSWER.format(42))
    session = make(cwd=cells)
    source = "> import: helpers\n= `answer`"
    assert session.execute(source, source_name="answer.kedi") == 42


def test_a_real_name_is_the_base_of_imports(tmp_path: Path, make: Make) -> None:
    module(tmp_path / "helpers.kedi", ANSWER.format(1))
    module(tmp_path / "sub" / "helpers.kedi", ANSWER.format(2))
    module(tmp_path / "sub" / "cell.kedi", "")
    source = "> import: helpers\n= `answer`"
    session = make(cwd=tmp_path)
    assert session.execute(source) == 1
    assert session.execute(source, source_name="<cell>") == 1
    assert session.execute(source, source_name="sub/cell.kedi") == 2
    assert session.execute(source, source_name=tmp_path / "sub" / "not-there.kedi") == 2
    assert session.execute(source, source_name="<sub/cell.kedi>") == 1


def test_the_working_directory_is_the_default_base(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    module(tmp_path / "here.kedi", ANSWER.format(5))
    monkeypatch.chdir(tmp_path)
    session = make()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    # The base was fixed when the session was made.
    assert session.execute("> import: here\n= `answer`") == 5


@pytest.mark.parametrize("name", ["missing", "file"])
def test_cwd_must_be_a_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises((OSError, ValueError), match="cwd"):
        kedi.interactive(cwd=tmp_path / name)


def test_a_module_is_initialised_once_in_a_session(
    tmp_path: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    module(tmp_path / "noisy.kedi", "> show: init\n[box: list[int]] = `[]`\n> export: *\n")
    module(tmp_path / "user.kedi", "> import: noisy\n[same: list[int]] = `box`\n> export: *\n")
    session = make(cwd=tmp_path)
    session.execute("> import: noisy\n`box.append(1)`")
    session.execute("> import: user")
    assert session.execute("> import: noisy\n= `(box, same)`") == ([1], [1])
    assert capsys.readouterr().out == "init\n"
    make(cwd=tmp_path).execute("> import: noisy")
    assert capsys.readouterr().out == "init\n"


def test_a_module_that_failed_is_tried_again(tmp_path: Path, make: Make) -> None:
    module(tmp_path / "shaky.kedi", "[v: int] = `1 / 0`\n> export: *\n")
    session = make(cwd=tmp_path)
    with pytest.raises(KediExecutionError) as caught:
        session.execute("> import: shaky")
    assert caught.value.frames[0].span.source_name == "<interactive:1>"
    assert str(tmp_path / "shaky.kedi") in str(caught.value)
    module(tmp_path / "shaky.kedi", "[v: int] = `1`\n> export: *\n# repaired\n")
    assert session.execute("> import: shaky\n= `v`") == 1


def test_python_finds_the_text_of_fragments(session: InteractiveSession) -> None:
    session.execute("```\ndef helper():\n    return 1\n```")
    assert linecache.getline("<interactive:1>", 2) == "def helper():\n"
    import inspect

    assert inspect.getsource(session.execute("= `helper`")) == "def helper():\n    return 1\n"
    session.close()
    assert linecache.getline("<interactive:1>", 2) == ""
