"""Simple expressions are compiled at once: what counts as one, and that both ways agree."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedi.syntax import parse
from kedi.syntax.ast import Node, Python
from kedi.syntax.embedded import compile_simple


def piece(text: str) -> Python:
    """The only Python of a one-line return."""
    result = parse(text, mode="fragment")
    assert result.status == "complete", result.diagnostics
    ((stmt, _),) = result.program.top_level()
    (part,) = stmt.node.value.parts  # type: ignore[attr-defined]
    return part


@pytest.mark.parametrize(
    "code", ["i + 1", "f(a, b=2)", "xs[0].name", "{1: x}", "a if b else c", "é + 1"]
)
def test_simple_expressions_are_compiled_where_they_stand(code: str) -> None:
    node = piece(f"= `{code}`")
    assert node.compiled is not None
    lines = {line for _, line, *_ in [(0, p[0]) for p in node.compiled.co_positions()] if line}
    assert lines <= {1, 2}
    columns = [p[2] for p in node.compiled.co_positions() if p[0] == 2 and p[2] is not None]
    assert min(columns) >= 3


@pytest.mark.parametrize(
    "code",
    ["x for x in y", "x := 1", "a) + (b", "f'{x}'", "a is 1", "1(2)", "[1](2)", "(yield)", "a # b"],
)
def test_other_expressions_are_parsed(code: str) -> None:
    assert compile_simple(f"= `{code}`", code, 3) is None


@pytest.mark.parametrize(
    "code", ["x for x in y", "x := 1", "a) + (b", "a = b", "a b", "*a", "*a,", "a, *b", ")("]
)
def test_a_parenthesis_makes_nothing_valid_that_is_not(code: str) -> None:
    assert parse(f"= `{code}`", mode="fragment").status == "invalid"
    assert parse(f"= `{code}`").status == "invalid"


@given(st.text(alphabet="ab1 .,:+-*()[]{}<>=!~", min_size=1, max_size=12))
def test_both_ways_accept_the_same(code: str) -> None:
    code = code.strip()
    if not code:
        return
    compiled = compile_simple(f"= `{code}`", code, 3)
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:
        assert compiled is None
        return
    if compiled is not None:
        again = piece(f"= `{code}`").tree
        assert again is not None
        assert ast.dump(again) == ast.dump(tree)


def test_files_are_only_parsed() -> None:
    ((stmt, _),) = parse("= `i + 41`").program.top_level()
    assert stmt.node.value.parts[0].compiled is None  # type: ignore[attr-defined]


def test_an_instance_of_a_base_record_leaves_its_subclasses_alone() -> None:
    assert Node(1, 2).end == 2
    assert parse("= a `b` <c>").status == "complete"
