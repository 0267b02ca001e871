"""What each statement becomes, and where its parts are."""

from __future__ import annotations

from typing import Any

import pytest

from kedi.syntax import ast, parse
from kedi.syntax.ast import span_of
from tests.core.syntax.support import nodes, one, statements, walk

KINDS = [
    ("[x] = a", "Init"),
    ("[x: int] = `1`", "Init"),
    ("[x] := a", "Assign"),
    (">> a [x]", "Template"),
    ("[x] << a", "RawCall"),
    ("[x: str] << a <b>", "RawCall"),
    ("= a", "Return"),
    ("=", "Return"),
    ("`x = 1`", "PythonStatement"),
    ("`for x in y: print(x)`", "PythonStatement"),
    ("```\nx = 1\n```", "Fence"),
    ("```\n```", "Fence"),
    ("@f():\n  = 1", "Procedure"),
    ("@ f ( a ) -> int : # c\n  = 1", "Procedure"),
    ("~T()", "TypeDef"),
    ("~T(a, b: int = `1`,)", "TypeDef"),
    ("> if: `x`:\n  = 1", "If"),
    ("> if: <x> is `y`\n  = 1", "If"),
    ("> if: `x`\n  = 1", "If"),
    (">if:`x`:\n  = 1", "If"),
    ("> loop: `x`:\n  = 1", "Loop"),
    ("> loop: work remains\n  = 1", "Loop"),
    ("> loop [x]: `y`:\n  = 1", "LoopEach"),
    ("> show: a <x>", "Show"),
    ("> show:", "Show"),
    ("> import: lib/helpers", "Import"),
    ("> import: lib/helpers:\n  a", "Import"),
    ("> export: *", "Export"),
    ("> export:\n  a", "Export"),
    ("> package: p:\n  source: src", "Package"),
    ("> profile: p:\n  > model: x", "Profile"),
    ("> model: groq:qwen/qwen3-32b", "Directive"),
    ("> model: `name`", "Directive"),
    ("> adapter: pydantic", "Directive"),
    ("> agent: acp", "Directive"),
    ("> agent:\n  acp: `['a']`", "Directive"),
    ("> effort: high", "Directive"),
    ("> approval: `handler`", "Directive"),
    ("> history: enabled", "Directive"),
    ("> history:\n  enabled: true", "Directive"),
    ("> artifacts:\n  threshold: 64kb", "Directive"),
    ("> codemode: disabled", "Directive"),
    ("> skills: enabled", "Directive"),
    ("> mcp:\n  command: x", "Directive"),
    ("> hooks:\n  pre_tool_use: `f`", "Directive"),
    ("> requires: tools", "Directive"),
    ("> requires:\n  tools\n  mcp", "Directive"),
    ("> use: f", "Directive"),
    ("> use: `f`", "Directive"),
    ("> use:\n  f\n  `g`", "Directive"),
    ("@test: f:\n  > case: a:\n    = 1", "TestSuite"),
    (
        (
            "@eval: f:\n  > data: d:\n    = `1`\n  > test_data: d:\n    = `1`\n"
            "  > metric: m(d):\n    = `1`"
        ),
        "EvalSuite",
    ),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_kinds(text: str, kind: str) -> None:
    node = one(text)
    assert type(node).__name__ == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("> tool:\n    risk: read_only", "Directive"),
        ("> optimize: s:\n    a [b]", "Optimize"),
        ("> auto:\n    Do it.", "Auto"),
        ("> model: x", "Directive"),
    ],
)
def test_lines_of_procedures(body: str, kind: str) -> None:
    (stmt,) = statements(f"@f():\n  {body}\n")
    assert type(stmt.body[0].node).__name__ == kind


@pytest.mark.parametrize("line", ["> subagent: p", "> max_agents: 3", "> workflow: dynamic"])
def test_lines_of_profiles(line: str) -> None:
    (stmt,) = statements(f"> profile: q:\n  {line}\n")
    assert type(stmt.body[0].node).__name__ == "Directive"


def test_fields_of_nodes() -> None:
    node = one("@f(a, b: int, c: str = `'x'`, d = `1`) -> list[int]:\n  = 1")
    shown = [
        (p.name.text, p.type and p.type.text, p.default and p.default.code) for p in node.parameters
    ]
    assert shown == [
        ("a", None, None),
        ("b", "int", None),
        ("c", "str", "'x'"),
        ("d", None, "1"),
    ]
    assert node.returns.text == "list[int]"
    node = one("> loop [item]: `items`:\n  = 1")
    assert (node.binder.text, node.iterable.code) == ("item", "items")
    node = one("> if: `a`:\n  = 1")
    assert (node.condition.code, node.claim) == ("a", None)
    node = one("> if: `a`\n  = 1")
    assert node.condition is None
    assert node.claim[0].code == "a"
    node = one("> import: a/b:\n  c")
    assert (node.path.text, node.selective) == ("a/b", True)
    assert one("> import: a/b").selective is False
    assert (one("> export: *").everything, one("> export:\n  a").everything) == (True, False)
    (suite,) = statements(
        "@eval: f:\n  > test_data: rows:\n    = `1`\n  > data: rows:\n    = `1`\n"
        "  > metric: m(rows):\n    = `1`"
    )
    held, data, metric = (item.node for item in suite.body)
    assert (held.held_out, data.held_out) == (True, False)  # type: ignore[attr-defined]
    assert (metric.name.text, metric.dataset.text) == ("m", "rows")  # type: ignore[attr-defined]


def test_spans_of_all_parts() -> None:
    text = "[x: int] = a <f(b, `c`)> <d>"
    node = one(text)

    def cut(item: Any) -> str:
        return text[item.start : item.end]

    assert cut(node) == text
    assert cut(node.target) == "[x: int]"
    assert cut(node.target.name) == "x"
    assert cut(node.target.type) == "int"
    assert cut(node.value) == "a <f(b, `c`)> <d>"
    first, call, space, read = node.value.parts
    assert [cut(part) for part in (first, call, space, read)] == ["a ", "<f(b, `c`)>", " ", "<d>"]
    assert cut(call.name) == "f"
    assert [cut(argument) for argument in call.arguments] == ["b", "`c`"]
    python = call.arguments[1].parts[0]
    assert text[python.code_start :].startswith("c")
    assert cut(read.name) == "d"


def test_span_of_a_node_in_a_later_line() -> None:
    program = parse("# c\n\n@f():\n  >> one\n  twö [e: int] 🐈\n", "demo.kedi").program
    (stmt, base), *_ = program.top_level()
    template = stmt.body[0]
    field = template.node.parts[1]  # type: ignore[attr-defined]
    assert span_of("demo.kedi", template, field, base) == ("demo.kedi", 5, 7, 5, 15)
    assert program.span(template, template.node, base)[1:] == (4, 3, 5, 17)


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_nodes_lie_inside_their_parents(text: str, kind: str) -> None:
    program = parse(text).program
    for stmt in walk(program):
        for node in nodes(stmt.node):
            assert 0 <= node.start <= node.end <= len(stmt.text)
            for name in node._fields:
                value = getattr(node, name)
                for child in value if isinstance(value, tuple) else (value,):
                    if isinstance(child, ast.Node):
                        assert node.start <= child.start <= child.end <= node.end


def test_equal_lines_share_one_node() -> None:
    first, second = statements("[x] = a <b>\n[x] = a <b>\n")
    assert first.node is second.node
    assert first is not second


def test_equality_ignores_places() -> None:
    assert one("[x]   =   a  # c") == one("[x] = a")
    assert one("[x] = a") != one("[x] = b")
    assert one("[x: int] = a") != one("[x] = a")
    assert one("= `a`") != one("= <`a`>")
    assert parse("= a\n\n\n= b").program.same_as(parse("# c\n= a\n= b\n").program)
    assert not parse("= a\n= b").program.same_as(parse("= a").program)
    assert repr(one("= a")) == (
        "Return(start=0, end=3, value=Value(start=2, end=3, kind='text', "
        "parts=(Text(start=2, end=3, text='a'),)))"
    )
