"""What a text typed into a debugger is taken for."""

from __future__ import annotations

import pytest

from kedi.session.debugger.texts import classify, classify_value

CONSOLE = {
    # Python, as if it stood in backticks.
    "x": ("expression", "x"),
    "  x  ": ("expression", "x"),
    "f(1)": ("expression", "f(1)"),
    "a < b": ("expression", "a < b"),
    "a <b> c": ("expression", "a <b> c"),
    "-x": ("expression", "-x"),
    "~x": ("expression", "~x"),
    "[x]": ("expression", "[x]"),
    "[x][0]": ("expression", "[x][0]"),
    "[i for i in x]": ("expression", "[i for i in x]"),
    "x # why": ("expression", "x # why"),
    "# why\nx": ("expression", "# why\nx"),
    "(1,\n2)": ("expression", "(1,\n2)"),
    "(1,\r\n2)": ("expression", "(1,\n2)"),
    "\ufeffx": ("expression", "x"),
    "f'{x}'": ("expression", "f'{x}'"),
    "lambda: 1": ("expression", "lambda: 1"),
    "'é🙂'": ("expression", "'é🙂'"),
    "`x`": ("expression", "x"),
    " ` x ` ": ("expression", "x"),
    "<a.b>": ("expression", "a.b"),
    # Values.
    "<x>": ("value", "<x>"),
    "<f(1, <x>)>": ("value", "<f(1, <x>)>"),
    # Kedi.
    "[x] = 1": ("kedi", "[x] = 1"),
    "[x] << 3": ("kedi", "[x] << 3"),
    "[x: int] = `1`": ("kedi", "[x: int] = `1`"),
    "[n] := `n + 1`": ("kedi", "[n] := `n + 1`"),
    "= x": ("kedi", "= x"),
    "= `x`": ("kedi", "= `x`"),
    ">> hi [n: int]": ("kedi", ">> hi [n: int]"),
    "> show: x": ("kedi", "> show: x"),
    "~x(a)": ("kedi", "~x(a)"),
    "@f():\n  = `1`": ("kedi", "@f():\n  = `1`"),
    "`x = 1`": ("kedi", "`x = 1`"),
    "```\nx = 1\n```": ("kedi", "```\nx = 1\n```"),
    # Python statements.
    "x = 1": ("suite", "x = 1"),
    "[a, b] = 1, 2": ("suite", "[a, b] = 1, 2"),
    "import json": ("suite", "import json"),
    "del x": ("suite", "del x"),
    "for i in x:\n  print(i)": ("suite", "for i in x:\n  print(i)"),
    "  x = 1\n  y = 2": ("suite", "x = 1\ny = 2"),
    "@cache\ndef f(): return 1": ("suite", "@cache\ndef f(): return 1"),
    # Nothing.
    "": ("nothing", ""),
    " \n ": ("nothing", ""),
    "# why": ("nothing", "# why"),
}
OPEN = (
    "for i in x:",
    "(1,",
    "'''a",
    "@f():",
    "> if: `x`:",
    "```\nx = 1",
    "`x",
    "f(1,\n",
    "###",
)
WRONG = (
    "foo bar",
    "<a b>",
    "> 5",
    "== 3",
    "x?",
    "[x] = `1`\nx",
    "[x] = 1\ny = 2",
    "1) + (2",
    "(1)) + ((2)",
    "yield 1",
    "(yield)",
    "await x",
    "x\0y",
    "return 1",
)


@pytest.mark.parametrize(("text", "expected"), CONSOLE.items())
def test_texts_of_the_console(text: str, expected: tuple[str, str]) -> None:
    found = classify(text)
    assert (found.kind, found.source) == expected
    assert not found.diagnostics


@pytest.mark.parametrize("text", OPEN)
def test_texts_that_more_lines_would_make_whole(text: str) -> None:
    found = classify(text)
    assert found.kind == "incomplete"
    assert found.diagnostics


@pytest.mark.parametrize("text", WRONG)
def test_texts_that_are_wrong(text: str) -> None:
    found = classify(text)
    assert found.kind == "invalid"
    assert found.diagnostics


VALUES = {
    "x": ("expression", "x"),
    "[x]": ("expression", "[x]"),
    "`x`": ("expression", "x"),
    "<x>": ("value", "<x>"),
    "<a.b>": ("expression", "a.b"),
    "= x": ("value", "= x"),
    "=": ("value", "="),
    "= <x> and `y`": ("value", "= <x> and `y`"),
    "so <x> it is": ("value", "so <x> it is"),
    "`a` `b`": ("value", "`a` `b`"),
    "": ("nothing", ""),
}


@pytest.mark.parametrize(("text", "expected"), VALUES.items())
def test_texts_where_only_a_value_may_stand(text: str, expected: tuple[str, str]) -> None:
    found = classify_value(text)
    assert (found.kind, found.source) == expected


@pytest.mark.parametrize(
    "text", ["[x] = 1", "x = 1", ">> hi", "foo bar", "= 1\n= 2", "x y <", "import x", "== 2"]
)
def test_what_is_no_value(text: str) -> None:
    found = classify_value(text)
    assert found.kind == "invalid"
    assert found.diagnostics


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("foo bar", 1, 5),
        ("  1 +* 2", 1, 6),
        ("é + + ]", 1, 7),
        ("\n\n  )", 3, 3),
        ("(1,\n 2 3)", 2, 2),
    ],
)
def test_faults_stand_where_they_were_typed(text: str, line: int, column: int) -> None:
    span = classify_value(text).diagnostics[0].span
    assert (span.line, span.column) == (line, column)
