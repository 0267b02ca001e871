"""Code without its wrapper's line is where it would be without a wrapper."""

from __future__ import annotations

from types import CodeType

import pytest

from kedi.runtime.linetable import without_first_line

EXPRESSIONS = [
    *("1", "f(1) + x", "[i for i in y]", "f(1,\n  2)", "f(\n" + "\n" * 90 + "1)", "a if b else c"),
    *("(a if b else\n" + "\n" * 40 + " c)", "x and (y or\n z)", "lambda: z", "(y:=3)", "not a"),
    *("[lambda: y for y in z]", "{a: b for a in x if c}", "f'{a}{b!r:>{w}}'", "x[\n\n\n1:2]"),
    *("f(\n" + "\n" * 200 + "1)", "a." + "b." * 60 + "c", "(a,\n\n b)[0] if c else\\\n d"),
]
STATEMENTS = [
    *("x = 1", "pass", "import a", "x = [lambda: x]", "if a: b()", "for i in x: y += i", "del x"),
    *("while a: b", "assert a, b", "with a as b: c", "return", "return a if b else c"),
    *("global x; x = 1", "raise a from b"),
]


def function_of(text: str, mode: str) -> CodeType:
    outer = compile(text, "x", mode, dont_inherit=True)
    return next(item for item in outer.co_consts if isinstance(item, CodeType))


def check(code: CodeType) -> None:
    moved = code.replace(co_linetable=without_first_line(code.co_linetable), co_firstlineno=2)
    expected = [
        place if place[0] is None else (max(place[0], 2), max(place[1] or 0, 2), *place[2:])
        for place in code.co_positions()
    ]
    assert list(moved.co_positions()) == expected
    assert [item[2] for item in moved.co_lines() if item[2]] == [
        max(item[2], 2) for item in code.co_lines() if item[2]
    ]


@pytest.mark.parametrize("width", [0, 3, 7, 40, 63, 64, 150, 5000])
@pytest.mark.parametrize("source", EXPRESSIONS)
def test_expressions(source: str, width: int) -> None:
    check(function_of(f"lambda:(\n{' ' * width}{source}\n)", "eval"))


@pytest.mark.parametrize("width", [1, 2, 40, 150])
@pytest.mark.parametrize("source", STATEMENTS)
def test_statements(source: str, width: int) -> None:
    check(function_of(f"def f():\n{' ' * width}{source}", "exec"))
