"""The canonical form: what it looks like, and that it means the same."""

from __future__ import annotations

import pytest

from kedi.syntax import parse, print_program
from tests.core.syntax.test_statements import KINDS

CANONICAL = """\
```
import math

def area(r):
    return math.pi * r
```
[x: int] = `1`
[y] := a <x> `z` <`w`>
= <f(a\\, b, `1`, <x>, <g()>, (c\\))>

@f(a: int, b = `1`, c: `T` = `2`) -> list[int]:
  ###
  Say it.

    More.
  ###
  >> Ask <a> for [b: int] and
  then [c].
  > if: `a > 1`:
    = `a`
  > else:
    = \\sspaced\\t
  > loop [i]: `range(3)`:
    [z] = ```
    y = 1

    return y
    ```
  > map:
    `print(z)`
  = `g(
    1)`

~T(a, b: int = `1`)

> profile: fast:
  > system:
    One <x>.

    > quoted \\`code\\`
  > output: list[int]

> use:
  f
  `g`
> package: p:
  python_dependencies:
    demo @ https://x\\#egg
"""


def test_canonical_text_is_left_alone() -> None:
    # A blank line between prose paragraphs prints as an escape and reads the same.
    text = CANONICAL.replace("One <x>.\n\n    >", "One <x>.\\n\n    >")
    text = text.replace("> package", "\n> package")
    result = parse(text)
    assert result.status == "complete", [str(item) for item in result.diagnostics]
    assert print_program(result.program) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        ("# only\n", ""),
        ("=a", "= a\n"),
        ("= a # c", "= a\n"),
        ("=", "=\n"),
        ("[ x ]=a", "[x] = a\n"),
        ("[x : int]=a", "[x: int] = a\n"),
        ("= ~~ ~", "= ~ ~\n"),
        ("= \\~~", "= \\~\\~\n"),
        ("= \\> \\] \\( \\) \\= \\@ \\,", "= > ] ( ) = @ ,\n"),
        ("= \\< \\[ \\` \\# \\\\", "= \\< \\[ \\` \\# \\\\\n"),
        ("= a\\nb", "= a\\nb\n"),
        ("= \\s", "= \\s\n"),
        ("= a \\\n  b", "= a b\n"),
        (">>\nAsk [x]", ">> Ask [x]\n"),
        (">> a\\n", ">> a\\n\n"),
        (">> a\\n\\nb", ">> a\\n\nb\n"),
        (">> a\\n= b", ">> a\n\\= b\n"),
        (">> a\\n[x] \\= b", ">> a\n[x] \\= b\n"),
        (">> a\\n`x` b", ">> a\\n`x` b\n"),
        (">> a\\n\\s b\\t", ">> a\n\\s b\\t\n"),
        ("@f( a ,b:int ):\n    = 1", "@f(a, b: int):\n  = 1\n"),
        ("@f():\n\t= 1\n@g():\n = 2", "@f():\n  = 1\n\n@g():\n  = 2\n"),
        ("> if: `a`:\n  = 1\n> else:\n  = 2", "> if: `a`:\n  = 1\n> else:\n  = 2\n"),
        ("@f():\n  > auto:\n    >> a", "@f():\n  > auto:\n    a\n"),
        ("= <f( a , b )>", "= <f(a, b)>\n"),
        ("= <f(,)>", "= <f(, )>\n"),
        (
            "> package: p:\n  python_dependencies:\n    a\\  # c",
            "> package: p:\n  python_dependencies:\n    a\\\n",
        ),
    ],
)
def test_printed(text: str, printed: str) -> None:
    result = parse(text)
    assert result.status == "complete"
    assert print_program(result.program) == printed
    again = parse(printed)
    assert again.program.same_as(result.program)


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_every_kind_survives_printing(text: str, kind: str) -> None:
    program = parse(text).program
    printed = print_program(program)
    again = parse(printed)
    assert again.status == "complete"
    assert again.program.same_as(program)
    assert print_program(again.program) == printed


def test_broken_lines_are_printed_as_written() -> None:
    program = parse("@f():\n    bad  line\n    = 1\n").program
    assert print_program(program) == "@f():\n    bad  line\n  = 1\n"
