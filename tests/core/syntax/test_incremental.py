"""Parsing again after an edit: the same answer, and only the edited chunks are new."""

from __future__ import annotations

import pytest

from kedi.syntax import parse
from kedi.syntax.ast import ParseResult, Program

BASE = """\
```
import math
```

[x] = 1

@f(a):
  = `a`

# about the template
>> Ask [q]
and [r]

> if: `x`:
  = 1
> else:
  = 2
[y] = `g(1)`
> loop [i]: `x`:
  [z] = a
> map:
  `z`
= done
"""


def reparse(before: str, after: str) -> tuple[Program, ParseResult, ParseResult]:
    previous = parse(before).program
    return previous, parse(after, previous=previous), parse(after)


def assert_same(a: ParseResult, b: ParseResult) -> None:
    assert a.status == b.status
    assert a.diagnostics == b.diagnostics
    one, two = a.program, b.program
    assert (one.lines, one.offsets, one.flagged, one.far) == (
        two.lines,
        two.offsets,
        two.flagged,
        two.far,
    )
    assert [chunk.text for chunk in one.chunks] == [chunk.text for chunk in two.chunks]
    assert [repr(chunk.stmt and chunk.stmt.node) for chunk in one.chunks] == [
        repr(chunk.stmt and chunk.stmt.node) for chunk in two.chunks
    ]
    assert one.source.text == two.source.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[x] = 1", "[x] = 12"),
        ("[x] = 1", "[x] = <1"),
        ("[x] = 1\n", ""),
        ("```\nimport math\n```\n", ""),
        ("import math\n```", "import math\n"),
        ("@f(a):", "@f(a"),
        ("and [r]\n", "and [r]\nmore prose\n"),
        ("[y] = `g(1)`", "[y] = `g("),
        ("[y] = `g(1)`", "prose <y>"),
        ("> if: `x`:", "> if: x:"),
        ("> if: `x`:\n  = 1\n", ""),
        ("> else:\n  = 2\n", "> else:\n"),
        ("# about the template", "###"),
        ("# about the template", "more prose"),
        ("> loop [i]: `x`:", "> loop: `x`:"),
        ("  [z] = a\n", "[z] = a\n"),
        ("= done\n", "= done"),
        ("= done\n", "= done\n\n# end\n"),
        ("= done\n", ""),
        ("@f(a):\n  = `a`\n\n", "@f(a):\n\n\n\n  = `a`\n"),
    ],
)
def test_an_edit_and_its_undoing(old: str, new: str) -> None:
    assert BASE.count(old) == 1
    edited = BASE.replace(old, new)
    assert_same(*reparse(BASE, edited)[1:])
    assert_same(*reparse(edited, BASE)[1:])


def test_chunks_away_from_the_edit_are_the_same_objects() -> None:
    edited = BASE.replace("and [r]", "and [rr]")
    previous, again, _ = reparse(BASE, edited)
    kept = [chunk for chunk in again.program.chunks if any(chunk is old for old in previous.chunks)]
    assert len(kept) >= len(previous.chunks) - 3


def test_nothing_is_parsed_when_nothing_changed() -> None:
    previous, again, _ = reparse(BASE, BASE)
    assert again.program.chunks is previous.chunks


def test_a_different_mode_is_parsed_afresh() -> None:
    text = "> export: *\n"
    previous = parse(text).program
    assert parse(text, mode="fragment", previous=previous).status == "invalid"


def test_a_new_name_of_the_source_reaches_findings() -> None:
    previous = parse("= 1\n= <x\n", "old").program
    again = parse("= 12\n= <x\n", "new", previous=previous)
    assert [item.span.source_name for item in again.diagnostics] == ["new"]
    assert again.program.source.name == "new"


def test_far_reaching_lines_notice_distant_edits() -> None:
    before = "= `f(\nprose\nmore\nend\n"
    assert parse(before + "= 1`\n").status == "invalid"
    for after in (before + ")`\n", before + "x\n)`\n", "= `f(\nprose\n\nmore\nend\n"):
        assert_same(*reparse(before, after)[1:])
        assert_same(*reparse(after, before)[1:])


def test_memory_of_lines_is_bounded() -> None:
    from kedi.syntax.cache import TwoGenerations

    cache: TwoGenerations[int, int] = TwoGenerations(10)
    for number in range(1000):
        cache.put(number, number, 1)
        assert cache.get(0) in (0, None)
    assert cache.get(999) == 999
    assert len(cache._young) + len(cache._old) <= 20
    cache.put(5, 5, 10_000)
    assert cache.get(5) is None
