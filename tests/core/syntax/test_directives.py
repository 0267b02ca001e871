"""The table of directives agrees with what the parser does."""

from __future__ import annotations

import pytest

from kedi.syntax import parse
from kedi.syntax.directives import DIRECTIVES, WORDS_OF_OTHER_LANGUAGES, DirectiveSpec

ARGUMENTS = {
    "condition": "`x`:",
    "name": "n:",
    "path": "a:",
    "type": "str",
    "metric": "m(d):",
    "none": "",
    "names": "",
    "text": "",
}
BODIES = {
    "code": "= 1",
    "names": "a",
    "prose": "Say it.",
    "profile": "> model: x",
}
PLACES = {
    "top": "",
    "block": "> if: `x`:\n",
    "procedure": "@f():\n",
    "inner": "@f():\n  > if: `x`:\n",
    "profile": "> profile: q:\n",
    "test": "@test: f:\n",
    "eval": "@eval: f:\n",
}
BEFORE = {"else": "> if: `a`:\n  = 1\n", "map": "> loop [i]: `a`:\n  = 1\n"}


def written(spec: DirectiveSpec) -> str:
    """A directive in its block form, or with a value when it has no block."""
    line = f"> {spec.name}: {ARGUMENTS[spec.form]}".rstrip()
    if spec.block == "never":
        return line if spec.form == "type" else f"{line} x"
    body = BODIES.get(str(spec.body))
    if body is None:
        body = f"{spec.fields[0].name}: x" if spec.fields else "any: x"
    return BEFORE.get(spec.name, "") + f"{line}\n  {body}"


def at(place: str, text: str) -> str:
    head = PLACES[place]
    margin = "  " * head.count("\n")
    return head + "\n".join(margin + line for line in text.split("\n"))


@pytest.mark.parametrize("spec", DIRECTIVES.values(), ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_places(spec: DirectiveSpec, place: str) -> None:
    codes = {item.code for item in parse(at(place, written(spec))).diagnostics}
    codes -= {"missing-metric", "missing-data", "unexpected-statement"}
    if place in spec.places:
        assert not codes
    else:
        assert codes == {"misplaced-directive"} or "else" in spec.name or spec.name == "map"


@pytest.mark.parametrize("spec", DIRECTIVES.values(), ids=str)
def test_known_fields(spec: DirectiveSpec) -> None:
    if spec.body != "settings":
        assert not spec.fields
        return
    place = next(item for item in PLACES if item in spec.places)
    lines = "\n".join(
        f"  {item.name}:\n    demo" if item.name == "python_dependencies" else f"  {item.name}: x"
        for item in spec.fields
    )
    head = f"> {spec.name}: {ARGUMENTS[spec.form]}".rstrip()
    assert parse(at(place, f"{head}\n{lines}")).status == "complete"
    (item,) = parse(at(place, f"{head}\n  no_such: x")).diagnostics
    assert item.code == "unknown-setting"


def test_names_and_words_are_plain() -> None:
    for name, spec in DIRECTIVES.items():
        assert name == spec.name
        assert name.isidentifier()
        assert spec.summary
        assert len(set(spec.field_names)) == len(spec.fields)
        for field in spec.fields:
            assert (field.kind == "word") == bool(field.words)
    assert not set(WORDS_OF_OTHER_LANGUAGES) & set(DIRECTIVES)
