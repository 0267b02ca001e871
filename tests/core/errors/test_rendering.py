"""Rendered errors: readable, aligned, safe to print, without the interpreter's own lines."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kedi
from kedi.diagnostics import (
    Diagnostic,
    display_width,
    excerpt,
    printable,
    readable,
    render_diagnostics,
)
from kedi.errors import Frame, KediCompileError, KediExecutionError, KediParseError, PythonTrace
from kedi.source import Span
from tests.core.errors.support import fails

texts = st.text(st.characters(codec=None), max_size=300)
INTERNAL = re.compile(
    r"kedi[/\\](runtime|syntax|session|analysis|agents)[/\\]|<kedi>|lark|pydantic"
)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


# ── whole renderings ──────────────────────────────────────────────────────────


def test_a_trace() -> None:
    error = fails("@div(v: int) -> float:\n  = `100 / v`", "[y] = fine\n= `div(0)`")
    assert error.render() == (
        "Kedi trace (outermost call first):\n"
        "  <interactive:2>, line 2 (inline python)\n"
        "    = `div(0)`\n"
        "  <interactive:1>, line 2 in div (inline python)\n"
        "    = `100 / v`\n"
        "       ^^^^^^^\n"
        "ZeroDivisionError: division by zero"
    )
    assert str(error) == error.render()


def test_a_trace_with_advice() -> None:
    error = fails("[alpha] = 1", "@f():\n  [x] = a\n  = `alhpa`\n[r] = <f()>")
    assert error.render() == (
        "Kedi trace (outermost call first):\n"
        "  <interactive:2>, line 4 (program)\n"
        "    [r] = <f()>\n"
        "  <interactive:2>, line 3 in f (inline python)\n"
        "    = `alhpa`\n"
        "       ^^^^^\n"
        "NameError: name 'alhpa' is not defined\n"
        "help: did you mean `alpha`?"
    )


def test_a_parse_error_shows_every_finding() -> None:
    with kedi.interactive() as session, pytest.raises(KediParseError) as caught:
        session.execute("[a] = <x\n[ok] = fine\nbare prose here")
    text = caught.value.render()
    assert text.count("error[") == 2
    assert "line 1" in text
    assert "line 3" in text
    assert "help: " in text


def test_colour_adds_nothing_but_colour() -> None:
    error = fails("```\nimport json\ntry:\n    json.loads('{')\nexcept ValueError:\n    {}[1]\n```")
    error.add_note("note")
    coloured = error.render(use_color=True)
    assert coloured != error.render()
    assert plain(coloured) == error.render()
    with kedi.interactive() as session, pytest.raises(KediCompileError) as caught:
        session.execute("[a: nope] = 1")
    assert plain(caught.value.render(use_color=True)) == caught.value.render()


@pytest.mark.parametrize(
    "source",
    [
        "= `1 / 0`",
        "[n: int] = text",
        "@f(x: int):\n  = a\n= `f('x')`",
        "~P(a: int)\n= `P('x')`",
        "~P(a: int)\n[p: P] = `{'a': 'x'}`",
        "> loop: `1`:\n  `1`",
        ">> Some [a]",
        "> import: nowhere",
        "[x: nope] = 1",
        "= <x",
        "= `1 +`",
        "`f(`",
        "= <nope>",
        "[x] := 1",
        "@f() -> int:\n  = text\n= `f()`",
        "= `(lambda: (_ for _ in ()).throw(ValueError('x')))()`",
        "@f(n: int):\n  = `f(n)`\n= `f(1)`",
    ],
)
def test_nothing_of_the_interpreter_shows(source: str) -> None:
    with kedi.interactive() as session, pytest.raises(Exception) as caught:  # noqa: PT011
        session.execute(source)
    error = caught.value
    assert isinstance(error, kedi.errors.KediError)
    assert not INTERNAL.search(error.render())
    original = getattr(error, "original", None)
    if original is not None:
        # Python shows the libraries that were called, but no step of the interpreter.
        shown = "".join(traceback.format_exception(original))
        assert not INTERNAL.search(shown.replace("pydantic", ""))


def test_python_prints_little_of_the_interpreter() -> None:
    with kedi.interactive() as session:
        session.execute("@f(x: int) -> int:\n  > if: `True`:\n    = `1 // x`\n  = `0`")
        with pytest.raises(KediExecutionError) as caught:
            session.execute("> loop [i]: `[1, 0]`:\n  [r: int] = <f(<i>)>")
    lines = "".join(traceback.format_exception(caught.value)).splitlines()
    own = [line for line in lines if line.startswith("  File") and INTERNAL.search(line)]
    assert len(own) <= 2
    assert "    = `1 // x`" in "\n".join(lines)


def test_an_uncaught_error_of_a_host_script(tmp_path: Path) -> None:
    script = tmp_path / "host.py"
    script.write_text(
        "import kedi\nwith kedi.interactive() as session:\n"
        "    session.execute('@div(v: int) -> float:\\n  = `100 / v`')\n"
        "    session.execute('= `div(0)`')\n"
    )
    root = Path(kedi.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(root), "PATH": ""},
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "<interactive:1>, line 2 in div (inline python)" in done.stderr
    assert "    = `100 / v`" in done.stderr
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")
    assert len(done.stderr.splitlines()) < 35


# ── excerpts ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "marker"),
    [
        ("abc", 2, 3, "abc", " ^"),
        ("abc", 2, 2, "abc", " ^"),
        ("abc", 4, 4, "abc", "   ^"),
        ("abc", 1, 4, "abc", "^^^"),
        ("漢字 x", 4, 5, "漢字 x", "     ^"),
        ("漢字", 2, 3, "漢字", "  ^^"),
        ("\tx", 2, 3, "    x", "    ^"),
        ("é\tx", 3, 4, "é    x", "     ^"),
        ("e\u0301x", 3, 4, "e\u0301x", " ^"),
        ("a\x07b", 3, 4, "a\\x07b", "     ^"),
        ("a\x1b[31mb", 7, 8, "a\\x1b[31mb", "         ^"),
        ("a\u202eb", 3, 4, "a\\u202eb", "       ^"),
        ("a\ud800b", 3, 4, "a\\ud800b", "       ^"),
        ("🐈x", 2, 3, "🐈x", "  ^"),
        ("", 1, 1, "", "^"),
    ],
)
def test_carets_stand_under_what_they_mean(
    line: str, column: int, end: int, shown: str, marker: str
) -> None:
    assert excerpt(line, column, end) == (shown, marker)


def test_long_lines_are_cut_around_the_place() -> None:
    line = "a" * 5000 + "HERE" + "b" * 5000
    shown, marker = excerpt(line, 5001, 5005)
    assert len(shown) < 200
    assert shown[0] == shown[-1] == "…"
    start = marker.index("^")
    assert shown[start : start + 4] == "HERE"
    assert marker.count("^") == 4
    shown, marker = excerpt(line, 1, 10_005)
    assert len(marker) < 200
    shown, marker = excerpt(line, 10_005, 10_005)
    assert shown.startswith("…")
    assert len(marker) <= len(shown) + 1


@given(line=texts, column=st.integers(1, 310), width=st.integers(0, 310))
def test_any_excerpt_is_printable_and_aligned(line: str, column: int, width: int) -> None:
    shown, marker = excerpt(line, column, column + width)
    assert all(char.isprintable() or char == "\u200d" for char in shown)
    shown.encode("utf-8")
    assert set(marker) <= {" ", "^"}
    assert "^" in marker
    if len(line) <= 160:
        start = min(column - 1, len(line))
        assert marker.index("^") == display_width(printable(line[:start]))
        marked = line[start : start + max(1, width)]
        assert marker.count("^") == max(1, display_width(printable(marked)))


@given(text=texts)
def test_any_message_is_safe_to_print(text: str) -> None:
    error = KediExecutionError(
        text,
        hint=text,
        frames=[Frame("program", text, Span(text, 1, 1, 1, 5), None, text)],
        python_traces=[PythonTrace(text, 1, text, text)],
    )
    error.add_note(text)
    shown = error.render()
    shown.encode("utf-8")
    assert all(char.isprintable() or char in "\n\u200d" for char in shown)
    assert error.message == text
    finding = Diagnostic("code", text, Span(text, 1, 2, 1, 3), hint=text, source_line=text)
    shown = render_diagnostics([finding])
    shown.encode("utf-8")
    assert all(char.isprintable() or char in "\n\u200d" for char in shown)


@given(text=texts)
@example(text="\U000116b6")
@example(text="\u1715\ua9c0")
def test_widths(text: str) -> None:
    shown = printable(text)
    assert display_width(shown) <= 2 * len(shown)
    combining = "".join(char for char in text if unicodedata.combining(char))
    assert display_width(combining) == 0


def test_huge_messages_are_cut_in_the_rendering_only() -> None:
    error = fails("```\nraise ValueError('x' * 100_000)\n```")
    assert len(error.message) == 100_000
    assert len(error.render()) < 25_000
    assert "80,000 more characters" in error.render()


def test_messages_keep_their_lines() -> None:
    assert readable("a\r\nb\rc\nd\te") == "a\nb\nc\nd    e"
    error = fails("```\nraise ValueError('one\\ntwo')\n```")
    assert error.render().endswith("ValueError: one\ntwo")


def test_many_frames_are_folded() -> None:
    frames = [
        Frame("procedure", f"p{number}", Span("<x>", number, 1, number, 2), f"p{number}", "x")
        for number in range(1, 101)
    ]
    lines = KediExecutionError("deep", frames=frames).render().splitlines()
    assert "  … 76 more frames …" in lines
    assert len(lines) < 60
    same = [frames[0]] * 50 + [frames[1]] + [frames[2]] * 3 + [frames[3]] * 4
    lines = KediExecutionError("deep", frames=same).render().splitlines()
    assert "  … the same 48 more times …" in lines
    assert "  … the same 2 more times …" in lines
    assert sum("p3" in line for line in lines) == 3
