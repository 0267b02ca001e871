"""Hover, definitions, references, outline, completion and signatures."""

from __future__ import annotations

import pytest

from kedi.analysis import completion, queries
from kedi.analysis.modules import GraphNames, ModuleGraph
from kedi.analysis.names import Exported, Kind, ModuleExports, ModuleNotFound, NoNames
from kedi.analysis.resolve import analyze
from kedi.source import Span
from kedi.syntax import parse

SOURCE = """\
```
import math
def area(r):
    "Area of a circle."
    return math.pi * r * r
```
~Person(name, age: int)
[p: Person] = `Person("Ada", 36)`
@greet(who: Person, times: int = `1`) -> str:
  ###
  Say hello.
  ###
  [text] = hello
  > loop [i]: `range(times)`:
    [line] = <text> <who> `i + area(2)`
    [text] := <line>
  = <text>
= <greet(<p>)> `greet(p, times=2)` é <p>
"""


class Marked:
    """A source with ``^`` before positions of interest, and its analysis."""

    def __init__(self, source: str, names: NoNames | None = None) -> None:
        text = source.replace("^", "")
        self.places: list[tuple[int, int]] = []
        for line, content in enumerate(source.split("\n")):
            column = 0
            for char in content:
                if char == "^":
                    self.places.append((line, column))
                else:
                    column += 1
        self.analysis = analyze(parse(text, "a.kedi").program, names)
        self.line, self.column = self.places[0] if self.places else (0, 0)


def at(part: str, offset: int = 0) -> Marked:
    """The sample with the first position of ``part`` marked."""
    index = SOURCE.index(part) + offset
    return Marked(SOURCE[:index] + "^" + SOURCE[index:])


def lines(spans: list[Span]) -> list[tuple[int, int, int]]:
    return [(span.line, span.column, span.end_column) for span in spans]


@pytest.mark.parametrize(
    ("part", "offset", "code", "documentation"),
    [
        ("greet(<p>)", 0, "@greet(who: Person, times: int = 1) -> str", "Say hello."),
        ("greet(p, times", 2, "@greet(who: Person, times: int = 1) -> str", "Say hello."),
        ("p>)", 0, "[p: Person]", "value"),
        ("Person, times", 1, "~Person(name: str, age: int)", "type"),
        ('Person("Ada"', 0, "~Person(name: str, age: int)", "type"),
        ("who> `i", 0, "who: Person", "parameter"),
        ("area(2)", 0, "def area(r)", "Area of a circle."),
        ("math.pi", 0, "import math", "Python module"),
        ("i + area", 0, "[i]", "value"),
        ("text] := ", 0, "[text: str]", "value"),
    ],
)
def test_hover(part, offset, code, documentation):
    marked = at(part, offset)
    found = queries.hover(marked.analysis, marked.line, marked.column)
    assert found is not None
    assert (found.code, found.documentation) == (code, documentation)
    line = SOURCE.split("\n")[found.span.line - 1]
    word = line[found.span.column - 1 : found.span.end_column - 1]
    assert word.isidentifier()


def test_hover_of_directives_settings_and_nothing():
    marked = Marked("> ^settings:\n  ^temperature: 1\n  # ^comment\n")
    first, second, third = (queries.hover(marked.analysis, *place) for place in marked.places)
    assert first is not None
    assert first.code == "> settings:"
    assert second is not None
    assert second.code == "temperature: number"
    assert third is None


@pytest.mark.parametrize(
    ("part", "offset", "expected"),
    [
        ("greet(<p>)", 0, [(9, 2, 7)]),
        ("p>)", 0, [(8, 2, 3)]),
        ("é <p>", 3, [(8, 2, 3)]),
        ("text> <who", 0, [(13, 4, 8)]),
        ("text] := ", 0, [(13, 4, 8)]),
        ("who> `i", 0, [(9, 8, 11)]),
        ("area(2)", 0, [(3, 5, 9)]),
        ("hello\n", 0, []),
        ("range(times", 0, []),
    ],
)
def test_definition(part, offset, expected):
    marked = at(part, offset)
    assert lines(queries.definition(marked.analysis, marked.line, marked.column)) == expected


def test_type_definition():
    marked = at("p>)")
    found = queries.type_definition(marked.analysis, marked.line, marked.column)
    assert lines(found) == [(7, 2, 8)]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("p: Person", [(8, 2, 3), (18, 11, 12), (18, 23, 24), (18, 39, 40)]),
        ("text] = hello", [(13, 4, 8), (15, 15, 19), (16, 6, 10), (17, 6, 10)]),
        ("Person(name", [(7, 2, 8), (8, 5, 11), (8, 16, 22), (9, 13, 19)]),
        ("i]: `range", [(14, 11, 12), (15, 28, 29)]),
    ],
)
def test_references(part, expected):
    marked = at(part)
    found = queries.references(marked.analysis, marked.line, marked.column)
    assert lines(found) == expected
    names = {SOURCE.split("\n")[line - 1][column - 1 : end - 1] for line, column, end in expected}
    assert len(names) == 1
    without = queries.references(marked.analysis, marked.line, marked.column, False)
    assert lines(without) == expected[1:]


def test_references_in_a_map_and_to_unknown_names():
    marked = Marked("> loop [^i]: `[1]`:\n  [s] = `i`\n> map:\n  > show: `s + i`\n= <^nope><nope>")
    first, second = marked.places
    assert lines(queries.references(marked.analysis, *first)) == [
        (1, 9, 10),
        (2, 10, 11),
        (4, 16, 17),
    ]
    assert lines(queries.references(marked.analysis, *second)) == [(5, 4, 8), (5, 10, 14)]


def test_names_of_one_spelling_in_different_scopes_are_different_things():
    marked = Marked("[^x] = 1\n@f():\n  [^x] = 2\n  = <x>\n= <x>")
    outer, inner = (lines(queries.references(marked.analysis, *it)) for it in marked.places)
    assert outer == [(1, 2, 3), (5, 4, 5)]
    assert inner == [(3, 4, 5), (4, 6, 7)]


def test_outline():
    marked = Marked(
        SOURCE + "@test: greet:\n  > case: one:\n    `1`\n> profile: quiet:\n  > model: m\n"
    )
    found = queries.document_symbols(marked.analysis)
    assert [(it.name, it.kind, [c.name for c in it.children]) for it in found] == [
        ("math", "module", []),
        ("area", "python", []),
        ("Person", "type", ["name", "age"]),
        ("p", "value", []),
        ("greet", "procedure", ["text"]),
        ("@test: greet", "suite", ["one"]),
        ("quiet", "profile", []),
    ]
    greet = found[4]
    assert greet.span[1:] == (9, 1, 17, 11)
    assert greet.selection[1:] == (9, 2, 9, 7)
    assert greet.detail == "greet(who: Person, times: int = 1) -> str"


class WithModule(NoNames):
    def kind_of(self, name: str) -> Kind | None:
        return "value" if name == "base" else None

    def all_names(self) -> list[str]:
        return ["base"]

    def module_exports(self, path: str) -> ModuleExports:
        if path != "lib/m":
            raise ModuleNotFound(())
        span = Span("lib/m.kedi", 3, 2, 3, 6)
        helper = Exported("procedure", span, "helper(x: int) -> int", "Help.")
        return ModuleExports(None, {"helper": helper, "limit": Exported("value", span, "int")})


def test_imported_names():
    marked = Marked("> import: lib/^m\n= <^helper(`^limit`)> `^base`", WithModule())
    module, helper, limit, base = marked.places
    assert lines(queries.definition(marked.analysis, *helper)) == [(3, 2, 6)]
    assert queries.definition(marked.analysis, *limit)[0].source_name == "lib/m.kedi"
    found = queries.hover(marked.analysis, *helper)
    assert found is not None
    assert (found.code, found.documentation) == ("@helper(x: int) -> int", "Help.")
    found = queries.hover(marked.analysis, *module)
    assert found is not None
    assert "helper, limit" in found.documentation
    found = queries.hover(marked.analysis, *base)
    assert found is not None
    assert found.documentation == "value from outside this text"
    assert lines(queries.references(marked.analysis, *helper)) == [(2, 4, 10)]


def test_a_module_path_leads_to_its_file(write, tmp_path):
    root = write({"lib/m.kedi": "[x] = 1\n> export: *\n"})
    names = GraphNames(ModuleGraph(registry_home=tmp_path / "none"), root)
    analysis = analyze(parse("> import: lib/m\n= <x>", "a.kedi").program, names)
    (span,) = queries.definition(analysis, 0, 12)
    assert span.source_name == str((root / "lib/m.kedi").resolve())
    (span,) = queries.definition(analysis, 1, 3)
    assert span == (str((root / "lib/m.kedi").resolve()), 1, 2, 1, 3)


COMPLETIONS = [
    ("= <^", ["p", "greet", "math", "area", "Person", "base"]),
    ("= <gr^", ["greet"]),
    ("= `gr^`", ["greet"]),
    ("= `p.^`", ["name", "age"]),
    ("= `p.a^`", ["age"]),
    ("[x: Per^", ["Person"]),
    ("[x: frozen^", ["frozenset"]),
    ("@f(a: Per^", ["Person"]),
    ("> eff^", ["effort"]),
    ("> effort: m^", ["minimal", "medium", "max"]),
    ("> adapter: py^", ["pydantic"]),
    ("> history: e^", ["enabled"]),
    ("> use: gr^", ["greet"]),
    ("> use: sk^", ["skills"]),
    ("> use:\n  gr^", ["greet"]),
    ("> requires: to^", ["tools"]),
    ("> settings:\n  temp^", ["temperature"]),
    ("> settings:\n  cache: e^", ["enabled"]),
    ("> import: lib/^", ["lib/m"]),
    ("> import: lib/m:\n  h^", ["helper"]),
    ("> export:\n  gr^", ["greet"]),
    ("@test: gr^", ["greet"]),
    ("plain ^", []),
    ("# = <gr^", []),
]


@pytest.mark.parametrize(("text", "expected"), COMPLETIONS)
def test_completion(text, expected):
    sample = "\n".join(SOURCE.split("\n")[:-2]) + "\n"
    marked = Marked(sample + text, WithModule())
    found = completion.complete(marked.analysis, marked.line, marked.column, ["lib/m", "other"])
    labels = [item.label for item in found]
    if text == "= <^":
        assert set(expected) <= set(labels)
    else:
        assert labels == expected
    for item in found:
        assert item.prefix <= marked.column


def test_completion_sees_the_scope_of_the_cursor():
    marked = Marked(
        "[top] = 1\n@f(param):\n  [local] = 2\n  > loop [i]: `[1]`:\n    [inner] = <^\n  = <^\n= <^"
    )
    first, second, third = (
        [item.label for item in completion.complete(marked.analysis, *place)]
        for place in marked.places
    )
    assert {"top", "param", "local", "i", "f"} <= set(first)
    assert "inner" not in first
    assert {"top", "param", "local"} <= set(second)
    assert "i" not in second
    assert set(third) == {"top", "f"}


def test_completion_in_a_fence():
    marked = Marked(
        "[count] = 1\n```\nx = co^\n```\n",
    )
    found = completion.complete(marked.analysis, marked.line, marked.column)
    assert [item.label for item in found] == ["count"]


@pytest.mark.parametrize(
    ("text", "active"),
    [
        ("= <greet(^", 0),
        ("= <greet(<p>, ^", 1),
        ("= <greet(a\\, b^", 0),
        ("= `greet(^", 0),
        ("= `greet(p, ^)`", 1),
        ("= `greet(times=^", 1),
        ("= `greet(max(1, ^", None),
        ("= `greet('a, (b', ^", 1),
        ("= `len(greet(p, ^", 1),
        ("= `greet(p, [1, 2, ^", 1),
        ("= greet(^", None),
        ("@greet(^", None),
        ("= <nope(^", None),
    ],
)
def test_signature_help(text, active):
    sample = "\n".join(SOURCE.split("\n")[:-2]) + "\n"
    marked = Marked(sample + text)
    found = completion.signature_help(marked.analysis, marked.line, marked.column)
    if active is None:
        assert found is None
        return
    assert found is not None
    assert found.label == "greet(who: Person, times: int = 1) -> str"
    assert found.parameters == ("who: Person", "times: int = 1")
    assert found.active == active
    assert found.documentation == "Say hello."


def test_positions_outside_the_text_are_harmless():
    marked = Marked("[x] = 1\n= <x>")
    for place in ((-1, -1), (99, 0), (0, 99), (1, 99)):
        assert queries.references(marked.analysis, *place) in ([], lines([]))
        completion.complete(marked.analysis, *place)
        completion.signature_help(marked.analysis, *place)
