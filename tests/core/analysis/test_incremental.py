"""An analysis carried over edits equals a fresh one; nothing the parser returns makes it raise."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedi.analysis import completion, queries
from kedi.analysis.checks import compile_errors
from kedi.analysis.names import Exported, Kind, ModuleExports, ModuleNotFound, NoNames
from kedi.analysis.package import check_manifest
from kedi.analysis.resolve import Analysis, Options, analyze
from kedi.syntax import parse

PIECES = [
    "[a] = 1",
    "[a: int] = `1`",
    "[b] = <a>",
    "[a] := <b>",
    ">> Say <a> and [b: T]",
    ">> [a] <a>",
    "[c] << what <b>",
    "= <a>",
    "= `a + b`",
    "~T(a, b: T | None)",
    "~U(t: T)",
    "~T(u: U)",
    "@f(a: T, b = `1`) -> U:\n  [x: T] = `T('x')`\n  = `f(x)`",
    "@f():\n  @g():\n    = <a>\n  = <g()>",
    "@g(n: int) -> int:\n  [a] = 2\n  = <n>",
    "> if: `a`:\n  [a] = 2\n  = x",
    "> else:\n  = y",
    "> loop [a]: `[1]`:\n  [i: int] = `a`\n  [j] = 2",
    "> map:\n  > show: `i + a`",
    "> import: m",
    "> import: m:\n  T\n  z",
    "> import: nowhere",
    "> export: *",
    "> export:\n  a\n  f",
    "> use: f",
    "> adapter: local",
    "> agent: codex",
    "> effort: high",
    "> profile: a:\n  > subagent: b\n  > effort: low",
    "> profile: b:\n  > subagent: a",
    "> settings:\n  temperature: 2\n  seed: `a`",
    "@test: f:\n  > case: one:\n    `assert f(a)`",
    "@eval: g:\n  > data: rows:\n    = `[1]`\n  > metric: m(rows):\n    = `expected`",
    "```\nimport os\na = 1\ndef f(b): return a, b\n```",
    "`globals()['a']`",
    "= <f(x, <a>)> `f(a, c=b)`",
    "[n: Nope] = <unclosed",
    "plain prose",
    "  deeper",
    "",
    "# comment",
    "###\nblock\n###",
    "[é] = 😀",
]


class Names(NoNames):
    """One module, one value."""

    def kind_of(self, name: str) -> Kind | None:
        return "value" if name == "outside" else None

    def module_exports(self, path: str) -> ModuleExports:
        if path != "m":
            raise ModuleNotFound(("m.kedi",))
        return ModuleExports(None, {"T": Exported("type"), "f": Exported("procedure")})


NAMES = Names()
OPTIONS = Options(capabilities={"local": {"effort": False, "tools": False}})


def seen(analysis: Analysis) -> list[object]:
    """Everything that can be compared of an analysis."""
    program = analysis.program
    found: list[object] = list(analysis.diagnostics)
    found.append(queries.document_symbols(analysis))
    for line in range(program.source.text.count("\n") + 1):
        found.append(queries.hover(analysis, line, 4))
        found.append(queries.definition(analysis, line, 5))
        found.append(queries.references(analysis, line, 3))
    found.append(sorted(analysis.top_names()))
    return found


def edited(rng: random.Random, pieces: list[str]) -> list[str]:
    pieces = list(pieces)
    at = rng.randrange(len(pieces) + 1)
    match rng.randrange(4):
        case 0:
            pieces.insert(at, rng.choice(PIECES))
        case 1 if pieces:
            pieces[at - 1] = rng.choice(PIECES)
        case 2 if pieces:
            del pieces[at - 1]
        case _:
            other = rng.randrange(len(pieces) + 1)
            if pieces:
                pieces.insert(other, pieces.pop(at - 1))
    return pieces


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_an_edit_gives_what_a_fresh_analysis_gives(seed):
    rng = random.Random(seed)
    pieces = [rng.choice(PIECES) for _ in range(rng.randrange(12))]
    program = parse("\n".join(pieces), "a.kedi").program
    analysis = analyze(program, NAMES, options=OPTIONS)
    for _ in range(8):
        pieces = edited(rng, pieces)
        text = "\n".join(pieces)
        program = parse(text, "a.kedi", previous=program).program
        analysis = analyze(program, NAMES, analysis, OPTIONS)
        fresh = analyze(parse(text, "a.kedi").program, NAMES, options=OPTIONS)
        assert seen(analysis) == seen(fresh), text


def everything(text: str, mode: str = "file") -> None:
    program = parse(text, "a.kedi", mode=mode).program  # type: ignore[arg-type]
    compile_errors(program, NAMES)
    check_manifest(program)
    analysis = analyze(program, NAMES, options=OPTIONS)
    lines = program.source.text.split("\n")
    for item in analysis.diagnostics:
        assert 1 <= item.span.line <= len(lines)
        assert 1 <= item.span.column <= len(lines[item.span.line - 1]) + 1
        assert (item.span.line, item.span.column) <= (item.span.end_line, item.span.end_column)
    for line in range(min(len(lines), 12)):
        for column in {0, len(lines[line]) // 2, len(lines[line]), len(lines[line]) + 3}:
            queries.hover(analysis, line, column)
            queries.definition(analysis, line, column)
            queries.type_definition(analysis, line, column)
            queries.references(analysis, line, column)
            completion.complete(analysis, line, column, ["m", "lib/x"])
            completion.signature_help(analysis, line, column)
    queries.document_symbols(analysis)
    analysis.exports()


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_mutated_programs_never_make_it_raise(seed):
    rng = random.Random(seed)
    text = "\n".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 9)))
    alphabet = "[]<>()`=:@~>#\\ \n\t,.|'\"é😀abT0"
    for _ in range(rng.randrange(6)):
        at = rng.randrange(len(text) + 1)
        if rng.random() < 0.5:
            text = text[:at] + rng.choice(alphabet) + text[at:]
        else:
            text = text[:at] + text[at + rng.randrange(1, 5) :]
    everything(text, rng.choice(["file", "fragment"]))


@settings(max_examples=60)
@given(st.text(max_size=80))
def test_any_text_never_makes_it_raise(text):
    everything(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeff[x] = 1\r\n= <x>\r\n",
        "= <f(" * 90 + ")>" * 90,
        "\n".join("  " * depth + "> if: `a`:" for depth in range(98)) + "\n" + "  " * 98 + "= x",
        "[x: " + "list[" * 80 + "int" + "]" * 80 + "] = `1`",
        "= `" + "+".join("a" * 300) + "`",
        "```\n" + "if a:\n  pass\n" + "elif b:\n  pass\n" * 500 + "```\n= <x>",
        "= `" + "a." * 400 + "b`",
        "= `f(" + ", ".join(f"x{i}=y{i}" for i in range(2000)) + ")`",
        "@f(" + ", ".join(f"p{i}: T{i}" for i in range(2000)) + "):\n  = x",
        "x" * 100_000,
        "[x] = " + "<y>" * 5000,
        "> profile: a:\n" + "\n".join("  > subagent: a" for _ in range(500)),
        "\n".join(f"> profile: p{i}:\n  > subagent: p{i + 1}" for i in range(1500)),
        "\n".join(f"~T{i}(a: T{i - 1} | None)" for i in range(1500)),
    ],
)
def test_hostile_programs(text):
    everything(text)


def test_changes_of_the_surroundings_are_seen():
    program = parse("= <x>", "a.kedi").program
    first = analyze(program)
    assert [item.code for item in first.diagnostics] == ["unknown-name"]

    class Later(NoNames):
        def kind_of(self, name: str) -> Kind | None:
            return "value"

    assert analyze(program, Later(), first).diagnostics == ()


def test_an_edit_judges_only_what_it_concerns(monkeypatch):
    from kedi.analysis import resolve

    judged: list[int] = []
    original = resolve._judge

    def spy(analysis: Analysis, index: int) -> None:
        judged.append(index)
        original(analysis, index)

    monkeypatch.setattr(resolve, "_judge", spy)
    lines = [f"[v{i}] = `{i}`" for i in range(200)] + ["= `v7`"]
    program = parse("\n".join(lines), "a.kedi").program
    analysis = analyze(program)
    judged.clear()
    lines[50] = "[v50] = `55`"
    program = parse("\n".join(lines), "a.kedi", previous=program).program
    analysis = analyze(program, None, analysis)
    # The parser reads the neighbours of an edit again.
    assert 50 in judged
    assert set(judged) <= {49, 50, 51}
    judged.clear()
    lines[7] = "[w7] = `7`"
    program = parse("\n".join(lines), "a.kedi", previous=program).program
    analyze(program, None, analysis)
    assert {7, 200} <= set(judged) <= {6, 7, 8, 200}
