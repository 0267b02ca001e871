"""Lines, indentation, comments, line ends, and the three-valued answer."""

from __future__ import annotations

from typing import Any

import pytest

from kedi.syntax import ast, parse
from kedi.syntax.ast import Stmt
from tests.core.syntax.support import findings, one, statements


def tree(stmts: Any) -> list[Any]:
    """Class names, nested as the blocks are."""
    out: list[Any] = []
    for stmt in stmts:
        assert isinstance(stmt, Stmt)
        name = type(stmt.node).__name__
        out.append((name, tree(stmt.body)) if stmt.body else name)
    return out


def test_blocks() -> None:
    text = """\
@f(x):
  > if: `x`:
    > loop [i]: `x`:
      [a] = 1

      [b] = 2
    # a comment at another width
 # and another
    > map:
      `print(a)`
  > else:
    = 1
  @inner():
    = 2
  = 3
= 4
"""
    assert tree(statements(text)) == [
        ("Procedure", [
            ("If", [("LoopEach", ["Init", "Init"]), ("Map", ["PythonStatement"])]),
            ("Else", ["Return"]),
            ("Procedure", ["Return"]),
            "Return",
        ]),
        "Return",
    ]  # fmt: skip


def test_a_tab_is_as_wide_as_four_spaces() -> None:
    text = "@f():\n\t[x] = 1\n    [y] = 2\n\t> if: `x`:\n\t\t= 1\n        = 2\n"
    assert tree(statements(text)) == [("Procedure", ["Init", "Init", ("If", ["Return", "Return"])])]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_are_equal(end: str) -> None:
    text = "@f(x: int):\n  ```\n  y = 1\n  z = 2\n  ```\n  = a \\\n    b\n\n>> c\nd [e]\n"
    program = parse(text.replace("\n", end)).program
    assert program.same_as(parse(text).program)
    assert program.source.text == text
    bad = "= 1\n[x] = <a\n".replace("\n", end)
    (item,) = findings(bad)
    assert (item.span.line, item.span.column, item.source_line) == (2, 7, "[x] = <a")


def test_a_byte_order_mark_is_skipped_and_not_counted() -> None:
    (item,) = findings("\ufeff= <a")
    assert (item.span.line, item.span.column, item.source_line) == (1, 3, "= <a")
    assert one("\ufeff= a").value.parts[0].text == "a"


def test_other_separators_are_ordinary_characters() -> None:
    node = one("= a\x0b\x0c\x1c\x85\u2028\u2029b")
    assert node.value.parts[0].text == "a\x0b\x0c\x1c\x85\u2028\u2029b"


def test_comments() -> None:
    text = "# one\n  # two\n###\n= <ignored(\n  ###\n= a # b\n#\n####\n"
    assert tree(statements(text)) == ["Return"]
    assert statements(text)[0].line == 5


def test_a_block_comment_may_stand_anywhere_between_lines() -> None:
    text = "> if: `x`:\n  [a] = 1\n###\nx\n###\n  [b] = 2\n  ###\n  y\n  ###\n> else:\n  = 1\n"
    assert tree(statements(text)) == [("If", ["Init", "Init"]), ("Else", ["Return"])]


@pytest.mark.parametrize("head", ["@f():", "> profile: p:"])
def test_docstrings(head: str) -> None:
    text = f"{head}\n  # first\n\n  ###\n\n  Say it.\n\n    More.\n  ###\n  ###\n  no docs\n  ###\n"
    (stmt,) = statements(text)
    assert tree(stmt.body) == ["Docstring"]
    node = stmt.body[0].node
    assert isinstance(node, ast.Docstring)
    assert node.text == "Say it.\n\n  More."


def test_only_the_first_comment_of_a_body_is_a_docstring() -> None:
    (stmt,) = statements("@f():\n  = 1\n  ###\n  no\n  ###\n")
    assert tree(stmt.body) == ["Return"]
    (first, second) = statements("> if: `x`:\n  ###\n  no\n  ###\n  = 1\n= 2\n")
    assert tree([first, second]) == [("If", ["Return"]), "Return"]


def test_the_first_fence_is_the_prelude() -> None:
    fence = "```\nimport math\n```\n"
    assert [getattr(s.node, "prelude", None) for s in statements(fence + fence)] == [True, False]
    assert one("# note\n\n" + fence).prelude
    assert [getattr(s.node, "prelude", None) for s in statements("= 1\n" + fence)] == [None, False]


def test_python_of_a_fence_keeps_its_places() -> None:
    text = "@f():\n    ```\n    x = 1\n\n    if x:\n        y = 2\n    ```\n"
    (stmt,) = statements(text)
    inner = stmt.body[0]
    python = inner.node.python  # type: ignore[attr-defined]
    assert python.code == "x = 1\n\nif x:\n    y = 2"
    assert python.indent == 4
    assert inner.text[python.code_start :].startswith("x = 1")
    assert python.tree.body[1].lineno == 3


def test_inline_python_over_several_lines() -> None:
    text = "> show: `len(\n  [1,\n   2]) `\n@f():\n    [x] = a `g(\n      1)` b `h(\n    2)`\n"
    first, second = statements(text)
    assert first.node.value.parts[0].code == "len(\n  [1,\n   2])"  # type: ignore[attr-defined]
    parts = second.body[0].node.value.parts  # type: ignore[attr-defined]
    assert [getattr(part, "code", None) for part in parts] == [None, "g(\n  1)", None, "h(\n2)"]
    assert parts[1].indent == 4


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("= `f(\n\n1)`\n", [1, 3]),
        ("@g():\n  = `f(\n 1)`\n", [2, 3]),
        ("= `f(\n[x] = `1`\n", [1]),
        ("= `f(1\n+ 1`\n", [1, 2]),
    ],
)
def test_inline_python_that_does_not_go_on_is_one_broken_line(text: str, lines: list[int]) -> None:
    result = parse(text)
    assert result.status == "invalid"
    assert [item.span.line for item in result.diagnostics] == lines


def test_headers_over_several_lines() -> None:
    text = """\
@f(
  a: int,  # first (one)
  b: dict[str,
          int] = `{
    'x': (1)}`,
) -> Literal["("]:
  = 1
~T(

  name,
)
"""
    assert tree(statements(text)) == [("Procedure", ["Return"]), "TypeDef"]


def test_an_open_header_does_not_take_the_next_definition() -> None:
    result = parse("@f(a,\n  b\n@g():\n  = 1\n= 2\n")
    assert [item.code for item in result.diagnostics] == ["unclosed-parenthesis"]
    assert tree([stmt for stmt, _ in result.program.top_level()]) == [
        "Broken",
        ("Procedure", ["Return"]),
        "Return",
    ]


COMPLETE = [
    "", "\n", "# c", "= 1", "= 1\n", "[x] =", ">> a", "> model: x", "`x = 1`", "~T(a)",
    "@f():\n  = 1", "```\nx\n```", "> import: a", "= a \\\nb", "> show: `f(\n1)`", "###\n###",
    "@f():\n  ###\n  only docs\n  ###",
]  # fmt: skip
INCOMPLETE = [
    "@f():", "@f():\n", "@f():\n\n  # c\n", "@f(a,", "@f(\n  a: int,\n", "~T(", "~T(\n  a\n",
    "```", "```\nx = 1", "= ```", "[x] = ```\nreturn 1\n", "###", "###\nx\n", "= `f(",
    "= `f(\n  1,\n", "= `a +", "[x] = a `b", "> if: `x`:", "> if: <x> is big", "> loop [i]: `x`:",
    "= a \\", "= a \\\n", "> export:", "> settings:", "> system:", "@f():\n  ```\n  x = 1\n",
    "@f():\n  > if: `x`:", "@f():\n  ###\n  docs", "= 1\n@f():", "> profile: p:",
]  # fmt: skip
INVALID = [
    "= <a", "= <f(", "prose", "= `a\n\n", "= `a\n= 1", "@f():\n= 1", "[x] = <a\n@f():",
    "= <a\n```\nx", "@f()", "> else:", "= `1 +`", "@f(a, a):", "> nope: x",
]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "text"),
    [
        *(("complete", text) for text in COMPLETE),
        *(("incomplete", text) for text in INCOMPLETE),
        *(("invalid", text) for text in INVALID),
    ],
)
def test_status(status: str, text: str) -> None:
    assert parse(text).status == status


@pytest.mark.parametrize("text", INCOMPLETE)
def test_incomplete_texts_can_be_completed(text: str) -> None:
    (item,) = findings(text)
    base = text if text.endswith("\n") else text + "\n"
    indent = "      "
    candidates = [
        text + "`",
        text + " 1`",
        base + "1)`",
        base + "  1)`",
        base + "```",
        base + "  ```",
        base + "###",
        base + "  ###\n  = 1",
        base + f"{indent}= 1",
        base + f"{indent}name",
        base + f"{indent}temperature: 1",
        base + f"{indent}> model: x",
        base + f"{indent}prose",
        base + "  b):\n      = 1",
        base + ")",
        base + "end",
    ]
    assert any(parse(item).status == "complete" for item in candidates), item.message


def test_program_of_an_invalid_text_holds_the_rest() -> None:
    result = parse("[x] = 1\nprose\n@f():\n  bad\n  = 1\n")
    assert tree([stmt for stmt, _ in result.program.top_level()]) == [
        "Init",
        "Broken",
        ("Procedure", ["Broken", "Return"]),
    ]


def test_directive_blocks() -> None:
    text = """\
> profile: fast:
  ###
  Quick.
  ###
  > settings:
    temperature: 0.2
    stop_sequences: `["END"]`
  > system:
    Be short for <x>.

    # a comment
      Use <``> and <`y`>.
  > use:
    search
    `fetch`
  > mcp:
    env:
      LEVEL: a: b
  > output: list[str]
> system: One line.
> package: demo:
  python_dependencies:
    httpx[http2]>=0.27; python_version >= "3.11"  # why
    demo @ https://x/y\\#egg
"""
    profile, system, package = statements(text)
    assert tree([profile]) == [
        ("Profile", [
            "Docstring",
            ("Directive", ["Setting", "Setting"]),
            ("Directive", ["Prose"]),
            ("Directive", ["NameLine", "NameLine"]),
            ("Directive", [("Setting", ["Setting"])]),
            "Directive",
        ]),
    ]  # fmt: skip
    prose = profile.body[2].body[0].node
    assert isinstance(prose, ast.Prose)
    assert [getattr(part, "text", None) for part in prose.parts] == [
        "Be short for ", None, ".\n\nUse ``` and ", None, ".",
    ]  # fmt: skip
    assert [item.node.python for item in profile.body[3].body] == [False, True]  # type: ignore[attr-defined]
    output = profile.body[5].node
    assert isinstance(output, ast.Directive)
    assert output.type is not None
    assert output.type.text == "list[str]"
    assert system.node.value.parts[0].text == "One line."  # type: ignore[attr-defined]
    lines = [item.node.name.text for item in package.body[0].body]  # type: ignore[attr-defined]
    assert lines == ['httpx[http2]>=0.27; python_version >= "3.11"', "demo @ https://x/y#egg"]


def test_optimize_and_auto_take_bare_prose_and_marked_templates() -> None:
    text = """\
@f(x):
  > optimize: span:
    Classify <x> as [label].
    [x] = is prose here
  > optimize: other:
    >> Say [word]
    and more
  > auto:
    Do what [this] says.
"""
    (stmt,) = statements(text)
    first, second, auto = stmt.body
    assert tree(stmt.body) == [
        ("Optimize", ["Template"]),
        ("Optimize", ["Template"]),
        ("Auto", ["Prose"]),
    ]
    parts = first.body[0].node.parts  # type: ignore[attr-defined]
    assert [part.name.text for part in parts if isinstance(part, ast.Field)] == ["label", "x"]
    parts = second.body[0].node.parts  # type: ignore[attr-defined]
    assert [getattr(part, "text", None) for part in parts] == ["Say ", None, "\nand more"]
    assert auto.body[0].node.parts[0].text == "Do what "  # type: ignore[attr-defined]
