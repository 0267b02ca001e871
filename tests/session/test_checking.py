"""Is this text a complete fragment? Three answers, and nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kedi
from kedi import InteractiveSession
from kedi.errors import KediCompileError, KediParseError

Make = Callable[..., InteractiveSession]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "complete"),
        ("  \n", "complete"),
        ("# a comment", "complete"),
        ("[a] = 1", "complete"),
        ("= `1 + 1`", "complete"),
        (">> a template [x]", "complete"),
        ("@f():\n  = x", "complete"),
        ("> if: `True`:\n  [a] = 1", "complete"),
        ("```\nx = 1\n```", "complete"),
        ("~T(a, b: int)", "complete"),
        ("= a \\\n  b", "complete"),
        # More input is needed
        ("@f():", "incomplete"),
        ("@f(a,", "incomplete"),
        ("@f():\n  > if: `True`:", "incomplete"),
        ("> if: `True`:", "incomplete"),
        ("> loop [i]: `[]`:", "incomplete"),
        ("> settings:", "incomplete"),
        ("```\nx = 1", "incomplete"),
        ("[a] = ```", "incomplete"),
        ("= `len(", "incomplete"),
        ("= `[1,\n  2", "incomplete"),
        ("~T(a,", "incomplete"),
        ("= a \\", "incomplete"),
        ("###\ntext", "incomplete"),
        ("[ok] = 1\n@f():", "incomplete"),
        # No input can repair it
        ("plain prose", "invalid"),
        ("[a = 1", "invalid"),
        ("= <unclosed", "invalid"),
        ("[a] = 1\n= `1 +`", "invalid"),
        ("plain prose\n@f():", "invalid"),
        ("> nonsense: x", "invalid"),
        ("@test: f:\n  > case: one:\n    `assert True`", "invalid"),
        ("> export: *", "invalid"),
        # Whole, and refused by what comes after the parser
        ("[a: Nope] = `1`", "invalid"),
        ("> import: nowhere", "invalid"),
        ("= 1\n[dead] = 2", "invalid"),
        ("`break`", "invalid"),
        ("[args] = 1", "invalid"),
    ],
)
def test_three_answers(session: InteractiveSession, text: str, status: str) -> None:
    result = session.check(text)
    assert result.status == status
    assert bool(result.diagnostics) == (status != "complete")
    for item in result.diagnostics:
        assert item.message
        assert item.span.line >= 1


def test_every_finding_is_given(session: InteractiveSession) -> None:
    result = session.check("[a = 1\n[ok] = 2\n= <x\nprose")
    assert [item.span.line for item in result.diagnostics] == [1, 3, 4]
    result = session.check("[a: Nope] = `1`\n[b: Nada] = `1`\n[c: int] = `1`")
    assert [item.span.line for item in result.diagnostics] == [1, 2]
    result = session.check("`break`\n[b] = 2\n`continue`")
    assert [item.span.line for item in result.diagnostics] == [1, 3]


def test_nothing_runs_and_nothing_is_kept(make: Make, tmp_path: Path) -> None:
    ran: list[int] = []
    session = make(env={"ran": ran}, cwd=tmp_path)
    (tmp_path / "loud.kedi").write_text("`1 / 0`\n[x] = 1\n> export: *\n", encoding="utf-8")
    for text in (
        "`ran.append(1)`",
        "```\nran.append(1)\n```",
        "[x: list[int]] = `ran.append(1)`",
        "@f(a=`ran.append(1)`):\n  = x",
        "~T(a: int = `ran.append(1)`)",
        "[x: `ran.append(1)`] = 1",
        "> import: loud",
        "> model: `ran.append(1)`",
    ):
        session.check(text)
    assert ran == []
    assert session.bindings() == []
    assert session.fragments == ()
    session.execute("[a] = 1")
    assert session.fragments[0].name == "<interactive:1>"


def test_the_session_is_known(session: InteractiveSession) -> None:
    assert session.check("[p: Point] = `Point(1)`").status == "invalid"
    session.execute("~Point(x: int)")
    assert session.check("[p: Point] = `Point(1)`").status == "complete"


def test_it_agrees_with_execution(session: InteractiveSession) -> None:
    for text in ("[a = 1", "@f():", "[a: Nope] = `1`", "`break`", "prose", "= `(`"):
        checked = session.check(text)
        with pytest.raises((KediParseError, KediCompileError)) as caught:
            session.execute(text)
        assert [(item.code, item.message, item.span[1:]) for item in checked.diagnostics] == [
            (item.code, item.message, item.span[1:]) for item in caught.value.diagnostics
        ]


@given(
    st.lists(
        st.sampled_from(
            ["[a] = 1", "= `1`", "@f():", "  = x", "```", "x = 1", "= `(", "###", ">> t [x]",
             "prose",
             "> if: `True`:", "  [b: int] = `2`", "", "= a \\", "~T(a,", "b)", "\t", "> else:"]
        ),
        max_size=6,
    )
)  # fmt: skip
def test_complete_text_compiles_and_other_text_does_not(lines: list[str]) -> None:
    text = "\n".join(lines)
    with kedi.interactive(adapter="scripted", answers=[]) as session:
        status = session.check(text).status
        try:
            session.execute(text)
        except (KediParseError, KediCompileError):
            assert status != "complete"
            assert session.fragments == ()
        except kedi.errors.KediExecutionError:
            assert status == "complete"
        else:
            assert status == "complete"


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    with kedi.interactive() as session:
        assert session.check(text).status in ("complete", "incomplete", "invalid")
