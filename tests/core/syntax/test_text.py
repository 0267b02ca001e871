"""Text: escapes, trimming, substitutions, and how values evaluate."""

from __future__ import annotations

from typing import Any

import pytest

from kedi.syntax import ast
from kedi.syntax.ast import Call, Field, Python, Read, Text, Value
from tests.core.syntax.support import one, statements


def shape(part: Any) -> Any:
    """A short form of a part or value."""
    match part:
        case Text():
            return part.text
        case Python():
            return ("<`>" if part.angle else "`", part.code)
        case Read():
            return ("<>", part.name.text)
        case Call():
            return (part.name.text, [(arg.kind, shapes(arg.parts)) for arg in part.arguments])
        case Field():
            return ("[]", part.name.text, part.type.text if part.type else None)
        case _:
            raise AssertionError(part)


def shapes(parts: tuple[Any, ...]) -> list[Any]:
    return [shape(part) for part in parts]


def value(text: str) -> Value:
    node = one(f"= {text}")
    assert isinstance(node, ast.Return)
    return node.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\<tag\> \[f\] \= \@ \# \~ ~~ \` \( \) \\ end", r"<tag> [f] = @ # ~ ~ ` ( ) \ end"),
        (r"\s\tx\n", " \tx\n"),
        ("a   b", "a   b"),
        ("  a b  ", "a b"),
        ("\ta b\t # comment", "a b"),
        (r"a\, b", "a, b"),
        ("one ~ two", "one ~ two"),
        ("~~~", "~~"),
        (r"\~~", "~~"),
        (r"\\n", r"\n"),
        ("= x", "= x"),
        ("a > b ] c ) ( @ = , d", "a > b ] c ) ( @ = , d"),
        ("İstanbul 🐈\u2028\u00a0", "İstanbul 🐈\u2028\u00a0"),
        ("# only a comment", ""),
        (r"\# not a comment", "# not a comment"),
        ("a \\\n   b", "a b"),
        ("a\\\n\\\nb", "ab"),
        ("a \\  \n  b", "a b"),
        ("a \\\n# comment", "a"),
    ],
)
def test_literal_text(text: str, expected: str) -> None:
    found = value(text)
    assert found.kind == "text"
    assert "".join(shapes(found.parts)) == expected
    assert len(found.parts) <= 1


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("", "text", []),
        ("`1 + 1`", "native", [("`", "1 + 1")]),
        ("  `x`  # c", "native", [("`", "x")]),
        ("`'#'`", "native", [("`", "'#'")]),
        ("<`x`>", "text", [("<`>", "x")]),
        ("<x>", "read", [("<>", "x")]),
        ("<f()>", "call", [("f", [])]),
        ("a `x`", "text", ["a ", ("`", "x")]),
        ("<x> ", "read", [("<>", "x")]),
        (r"<x>\s", "text", [("<>", "x"), " "]),
        ("<x><y>", "text", [("<>", "x"), ("<>", "y")]),
        ("` x `", "native", [("`", "x")]),
        ("<f(a b)>", "call", [("f", [("text", ["a b"])])]),
        ("<f( a , b )>", "call", [("f", [("text", ["a"]), ("text", ["b"])])]),
        ("<f(a\\, b)>", "call", [("f", [("text", ["a, b"])])]),
        ("<f(`1`, <x>, <g()>, <x>!)>", "call", [("f", [
            ("native", [("`", "1")]),
            ("read", [("<>", "x")]),
            ("call", [("g", [])]),
            ("text", [("<>", "x"), "!"]),
        ])]),
        ("<f(,)>", "call", [("f", [("text", []), ("text", [])])]),
        ("<f(  )>", "call", [("f", [])]),
        ("<f(Who is [name: str]?)>", "call", [("f", [
            ("text", ["Who is ", ("[]", "name", "str"), "?"]),
        ])]),
        ("<f(a (b\\) c)>", "call", [("f", [("text", ["a (b) c"])])]),
    ],
)  # fmt: skip
def test_values(text: str, kind: str, parts: list[Any]) -> None:
    found = value(text)
    assert (found.kind, shapes(found.parts)) == (kind, parts)


def test_a_fence_value() -> None:
    node = one("[x: int] = ``` # why\nimport a\nreturn a\n```")
    assert node.value.kind == "fence"
    (python,) = node.value.parts
    assert (python.kind, python.code, python.indent) == ("suite", "import a\nreturn a", 0)
    assert one("@f():\n  = ```\n  return 1\n  ```").name.text == "f"


def test_template_lines_are_joined_and_trimmed() -> None:
    node = one(">>  Hello <x>  \nand \\s[y: int] \\s # note\n# a comment\n- more\\t\n")
    assert shapes(node.parts) == [
        "Hello ", ("<>", "x"), "\nand  ", ("[]", "y", "int"), "  \n- more\t",
    ]  # fmt: skip


def test_a_template_may_start_on_its_second_line() -> None:
    assert shapes(one(">>\nAsk [x]").parts) == ["Ask ", ("[]", "x", None)]


@pytest.mark.parametrize(
    "line",
    [
        "- a list",
        "1. a number",
        "[x] starts with a field",
        "[x: dict[str, list[int]]] starts with a typed field",
        "[x: `list[int]`] starts with a field",
        r"\= an escaped marker",
        "~~ a tilde",
        "<x> a substitution",
        "(x) = 3",
        "* item",
        "# Heading is a comment",
        "###\nblock\n###",
    ],
)
def test_continuation_lines(line: str) -> None:
    assert isinstance(one(f">> Ask [q]\n{line}"), ast.Template)


@pytest.mark.parametrize(
    "line",
    ["[x] = 1", "[x: dict[str, list[int]]] = 1", "[x: `a`] = 1", "[x] := 1", "[x] << a", "= 1",
     "`f()`", "> show: a", ">> another [z]", "@f():\n  = 1", "~T(a)", "```\nx\n```"],
)  # fmt: skip
def test_statements_end_a_template(line: str) -> None:
    first, second = statements(f">> Ask [q]\n{line}")
    assert shapes(first.node.parts) == ["Ask ", ("[]", "q", None)]  # type: ignore[attr-defined]
    assert second.line == 0


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("int", False),
        ("list[int]", False),
        ("dict[str, list[int]]", False),
        ("str | None", False),
        ('Annotated[str, "a ] b: c = d, e # f"]', False),
        ("Literal['a', \"b\"]", False),
        ("a.b.C", False),
        ("list[int]", True),
        ("f(x)[0]", True),
    ],
)
def test_types(source: str, python: bool) -> None:
    written = f"`{source}`" if python else source
    for text, get in (
        (f"[x: {written}] = 1", lambda node: node.target.type),
        (f">> [x: {written} ] b", lambda node: node.parts[0].type),
        (f"@f(a: {written}, b: {written} = `1`) -> {written} :\n  = 1", lambda node: node.returns),
        (f"~T(a: {written})", lambda node: node.fields[0].type),
    ):
        found = get(one(text))
        assert (found.text, found.python) == (source, python)
        assert text[found.text_start :].startswith(source)


def test_a_type_over_several_lines_is_one_line_of_python() -> None:
    node = one('~T(\n  a: Annotated[str,  # why\n    "x # y"],\n  b: int\n)')
    source = node.fields[0].type.text
    assert "\n" not in source
    assert source.split() == ["Annotated[str,", '"x', "#", 'y"]']
    assert [item.name.text for item in node.fields] == ["a", "b"]
