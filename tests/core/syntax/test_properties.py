"""Properties of all texts and of all programs."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kedi.syntax import ast, parse, print_program
from kedi.syntax.ast import ParseResult
from tests.core.syntax.support import nodes, walk

TOKENS = [
    "`", "```", "###", "#", "\\", "\n", "\n\n", "  ", "\t", "[", "]", "<", ">", "(", ")", ",", ":",
    "=", ":=", "<<", ">>", "@", "~", "[x]", "[y: int]", "<x>", "<f(a, b)>", "`1 +`", "`f(`", "x",
    "> if: `c`:", "> else:", "> map:", "> loop [i]: `r`:", "@f():", "= ```\n", "\r\n", "\0", "é",
    "\ufeff", "\u2028", "🐈", "args", "@test: f:", "> settings:\n  ", "temperature: 1", "\\n", '"',
    "'", '"""', "{", "}", "> system:\n  ", "~T(", "->", "int",
]  # fmt: skip

texts = st.one_of(
    st.lists(st.sampled_from(TOKENS), max_size=30).map("".join),
    st.text(max_size=60),
)
modes = st.sampled_from(["file", "fragment"])


def consistent(text: str, result: ParseResult) -> None:
    program = result.program
    source = program.source.text
    assert "".join(chunk.text for chunk in program.chunks) == source
    lines = source.split("\n")
    for item in result.diagnostics:
        span = item.span
        assert 1 <= span.line <= span.end_line <= len(lines)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1
        assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1
        assert (span.line, span.column) <= (span.end_line, span.end_column)
        assert item.source_line == lines[span.line - 1]
    assert (result.status == "complete") == (not result.diagnostics)
    for stmt in walk(program):
        for node in nodes(stmt.node):
            assert 0 <= node.start <= node.end <= len(stmt.text)
    broken = [stmt for stmt in walk(program) if isinstance(stmt.node, ast.Broken)]
    assert not broken or result.status != "complete"


@given(texts, modes)
@settings(max_examples=300)
@example("\ud800", "file")
@example("= `f(\n>> `\n)`", "file")
def test_any_text_parses_to_something_consistent(text: str, mode: str) -> None:
    consistent(text, parse(text, mode=mode))  # type: ignore[arg-type]


@given(texts, texts, texts, texts, modes)
@settings(max_examples=300)
def test_an_edit_gives_what_a_full_parse_gives(
    head: str, old: str, new: str, tail: str, mode: str
) -> None:
    before = parse(head + old + tail, mode=mode).program  # type: ignore[arg-type]
    again = parse(head + new + tail, mode=mode, previous=before)  # type: ignore[arg-type]
    fresh = parse(head + new + tail, mode=mode)  # type: ignore[arg-type]
    assert again.status == fresh.status
    assert again.diagnostics == fresh.diagnostics
    assert again.program.offsets == fresh.program.offsets
    assert again.program.lines == fresh.program.lines
    assert [repr((s.node, s.line, s.offset)) for s in walk(again.program)] == [
        repr((s.node, s.line, s.offset)) for s in walk(fresh.program)
    ]


# ── Programs ──────────────────────────────────────────────────────────────────

names = st.sampled_from(["a", "b_1", "_c", "Total"])
codes = st.sampled_from(["1", "a + b", "f(x, y=[1])", "'#'", "{'k': \"v\"}", "(\n  1,\n  2)"])
types = st.sampled_from(["int", "list[int]", "Literal['a]', \"b\"]", "str | None"])
characters = st.sampled_from(
    [*"ab \t,()>=@~:;.-*é🐈", r"\<", r"\[", r"\\", r"\#", r"\n", r"\s", r"\~"]
)
words = st.lists(characters, max_size=8).map("".join)
fields = st.one_of(
    names.map(lambda name: f"[{name}]"),
    st.tuples(names, types).map(lambda pair: f"[{pair[0]}: {pair[1]}]"),
)
arguments = st.lists(characters.filter(lambda c: c not in ",()"), max_size=4).map("".join)
leaves = st.one_of(
    words,
    names.map(lambda name: f"<{name}>"),
    codes.map(lambda code: f"`{code}`"),
    codes.map(lambda code: f"<`{code}`>"),
)


def call(name: str, given: list[str]) -> str:
    """A call; commas in literal arguments are escaped."""
    shown = [text if "<" in text else text.replace(",", r"\,") for text in given]
    return f"<{name}({', '.join(shown)})>"


parts = st.recursive(
    leaves,
    lambda inner: st.builds(call, names, st.lists(st.one_of(arguments, inner), max_size=3)),
    max_leaves=6,
)
plain = st.lists(parts, max_size=4).map("".join)
safe = plain.map(lambda text: text.replace("\n", " "))
simple = st.one_of(
    st.tuples(names, safe).map(lambda p: f"[{p[0]}] = {p[1]}"),
    st.tuples(names, types, codes).map(lambda p: f"[{p[0]}: {p[1]}] = `{p[2]}`"),
    st.tuples(names, safe).map(lambda p: f"[{p[0]}] := {p[1]}"),
    safe.map(lambda text: f"= {text}"),
    safe.map(lambda text: f"> show: {text}"),
    st.tuples(safe, names, safe).map(lambda p: f">> x{p[0]}[{p[1]}]{p[2]}"),
    st.tuples(names, safe).map(lambda p: f"[{p[0]}] << x{p[1]}"),
    codes.map(lambda code: f"`f({code})`"),
    st.just("```\nx = 1\n\nif x:\n    y = 2\n```"),
)


def indent(text: str, width: int) -> str:
    margin = " " * width
    return "\n".join(margin + line if line else line for line in text.split("\n"))


def block(head: str) -> st.SearchStrategy[str]:
    return st.lists(simple, min_size=1, max_size=3).map(
        lambda lines: head + "\n" + indent("\n".join(lines), 3)
    )


compound = st.one_of(
    block("@f(a, b: int = `1`) -> str:"),
    block("> if: `a`:"),
    block("> loop [i]: `a`:"),
    block("> if: <a> holds"),
)
programs = st.lists(st.one_of(simple, compound), max_size=6).map("\n".join)


@given(programs)
@settings(max_examples=300)
def test_a_printed_program_parses_to_the_same_tree(text: str) -> None:
    result = parse(text)
    consistent(text, result)
    if result.status != "complete":
        return
    printed = print_program(result.program)
    again = parse(printed)
    assert again.status == "complete", printed
    assert again.program.same_as(result.program), printed
    assert print_program(again.program) == printed


def test_most_generated_programs_are_complete() -> None:
    """Guards the property above against checking nothing."""
    seen = {"complete": 0, "incomplete": 0, "invalid": 0}

    @given(programs)
    @settings(max_examples=200, database=None)
    def count(text: str) -> None:
        seen[parse(text).status] += 1

    count()
    assert seen["complete"] > seen["invalid"]
