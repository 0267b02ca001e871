"""Warnings and hints: names, unused things, shadowing, calls, types, capabilities, secrets."""

from __future__ import annotations

import pytest

from kedi.analysis.names import Exported as Published
from kedi.analysis.names import Kind, ModuleExports, ModuleNotFound, NoNames

SUITE = """\
@f(row):
  = <row>
@eval: f:
  > data: rows:
    = `[1]`
  > metric: m(rows):
    = `f(rows) == expected`
"""


class Outside(NoNames):
    def __init__(self, modules: dict[str, ModuleExports] | None = None, **kinds: Kind) -> None:
        self.modules = modules or {}
        self.kinds = kinds

    def kind_of(self, name: str) -> Kind | None:
        return self.kinds.get(name)

    def all_names(self) -> list[str]:
        return list(self.kinds)

    def module_exports(self, path: str) -> ModuleExports:
        if path not in self.modules:
            raise ModuleNotFound(())
        return self.modules[path]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("= <nope>", ["unknown-name 1:4-8"]),
        ("= <nope(x)>", ["unknown-name 1:4-8"]),
        ("= `nope + 1`", ["unknown-name 1:4-8"]),
        ("= é <`'é' + nope`>", ["unknown-name 1:13-17"]),
        ("[x] := 1", ["unknown-name 1:2-3"]),
        ("```\nx = 1\ny = [nope,\n  gone]\n```", ["unknown-name 3:6-10", "unknown-name 4:3-7"]),
        ("@f():\n  ```\n  é = 'é'; nope()\n  ```\n  = x", ["unknown-name 3:12-16"]),
        ("```\ndef f(a):\n    b = a\n    return b, c\n```", ["unknown-name 4:15-16"]),
        ("= `[a for a in b if a]`", ["unknown-name 1:16-17"]),
        ("= `len(str(args.x)) + __import__('os').getpid()`", []),
        ("= `[y := 1, y]`", []),
        ("= <args>", []),
        (">> [a] and [b]\n= <a><b>", []),
        ("[x] << hello\n= <x>", []),
        ("```\nfrom m import *\n```\n= <anything>", []),
        ("```\nimport os as o, a.b\n```\n= `o, a`", []),
        ("= <later>\n@f():\n  = <later>\n[later] = `f()`", ["used-before-binding 1:4-9"]),
        ("@f():\n  = <later>\n[later] = x\n= <f()>", []),
        ("@f():\n  [y] = <x>\n  [x] = 1\n  = <y><x>\n= <f()>", ["used-before-binding 2:10-11"]),
        ("> if: `True`:\n  [x] = 1\n  = <x>\n= <x>", ["unknown-name 4:4-5"]),
        ("> loop [i]: `[1]`:\n  [sq: int] = `i * i`\n> map:\n  > show: `sq + i`", []),
        ("@f(n: int) -> int:\n  = `1 if n < 2 else n * f(n - 1)`\n= <f(`3`)>", []),
        (SUITE, []),
        ("> settings:\n  seed: `nope`", ["unknown-name 2:10-14"]),
        ("@f(a = `nope`):\n  = <a>", ["unknown-name 1:9-13"]),
        ("~T(a: `nope`, b: int = `gone`)", ["unknown-name 1:8-12", "unknown-name 1:25-29"]),
        ("> import: nowhere\n= <x>", []),
    ],
)
def test_unknown_names(lints, source, expected):
    found = [item for item in lints(source) if item.startswith(("unknown-name", "used-before"))]
    assert found == expected


def test_names_from_outside_are_known(lints):
    assert lints("= <base> `base`", Outside(base="value")) == []


def test_near_names_are_suggested(analysis):
    (item,) = analysis("[city] = Ankara\n= <ciyt> <city>").diagnostics
    assert item.hint == "did you mean `city`?"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@f(a, b):\n  = <a>\n= <f(x, y)>", ["unused 1:7-8"]),
        ("@f(a, _b):\n  = <a>\n= <f(x, y)>", []),
        ("@f():\n  [x] = 1\n  = y\n= <f()>", ["unused 2:4-5"]),
        ("@f():\n  @g():\n    = x\n  ~T(a)\n  = y\n= <f()>", ["unused 2:4-5", "unused 4:4-5"]),
        ("@f(a):\n  ```\n  print(globals()['a'])\n  ```\n  = y\n= <f(x)>", []),
        ("@f(a):\n  > auto:\n    Do it.\n= <f(x)>", []),
        ("@f(a):\n  > loop [i]: `range(3)`:\n    > show: x\n  = <a>\n= <f(x)>", []),
        ("@f():\n  >> [thinking] and [answer]\n  = <answer>\n= <f()>", []),
        ("[x] = 1", ["unused 1:2-3"]),
        ("[x] = 1\n> export:\n  x", []),
        ("[x] = 1\n[_y] = 2\n> export: *", ["unused 2:2-4"]),
        ("[x] = 1\n[x] := 2", ["unused 1:2-3"]),
        ("[x] = 1\n`exec('x')`", []),
        ("[n: int] = `0`\n`n += 1`", []),
        ("@f():\n  [x] = 1\n  ```\n  y = x\n  ```\n  = y\n= <f()>", []),
    ],
)
def test_unused(lints, source, expected):
    assert [item for item in lints(source) if item.startswith("unused")] == expected


def test_fragments_keep_their_values_for_later(lints):
    assert lints("[x] = 1", mode="fragment") == []


def test_unused_imports(lints):
    module = ModuleExports(None, {"a": Published("procedure"), "b": Published("value")})
    names = Outside({"m": module})
    assert lints("> import: m\n= x", names) == ["unused 1:11-12"]
    assert lints("> import: m\n= <a()>", names) == []
    assert lints("> import: m:\n  a\n  b\n= <a()>", names) == ["unused 3:3-4"]
    assert lints("> import: m\n> export:\n  b", names) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[x] = 1\n> if: `True`:\n  [x] = 2\n= <x>", ["shadowed 3:4-5"]),
        ("[x] = 1\n> loop [i]: `[1]`:\n  [x] = 2\n= <x>", ["shadowed 3:4-5"]),
        ("@f(x):\n  > if: `True`:\n    [x] = 2\n    = <x>\n  = <x>", ["shadowed 3:6-7"]),
        ("[x] = 1\n@f():\n  [x] = 2\n  = <x>\n= <x><f()>", []),
        ("[x] = 1\n> if: `True`:\n  [x] := 2\n= <x>", []),
        ("> if: `True`:\n  [x] = 2\n  = <x>\n[x] = 1", []),
    ],
)
def test_shadowed(lints, analysis, source, expected):
    assert [item for item in lints(source) if item.startswith("shadowed")] == expected
    for item in analysis(source).diagnostics:
        if item.code == "shadowed":
            assert item.related
            line = source.split("\n")[item.related[0].span.line - 1]
            assert line[item.related[0].span.column - 1] == "x"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@f():\n  = x\n@f():\n  = y\n= <f()>", ["redefined 3:2-3"]),
        ("~T(a)\n~T(b)", ["redefined 2:2-3"]),
        ("~T(a)\n@T():\n  = x", []),
        ("@f():\n  @g():\n    = x\n  @g():\n    = y\n  = <g()>\n= <f()>", ["redefined 4:4-5"]),
        ("[x] = 1\n[x] = 2\n= <x>", []),
        ("@f():\n  @g():\n    = x\n  = <g()>\n@g():\n  = <f()>\n= <g()>", []),
    ],
)
def test_redefined(lints, source, expected):
    assert lints(source) == expected
    assert lints(source, mode="fragment") == []


SIGNATURE = "@f(a: int, b: str = `'x'`) -> int:\n  = `len(b) + a`\n"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("= `f(1)` `f(1, 'b')` `f(a=1, b='c')` <f(`1`)> <f(`1`, text)>", []),
        ("= `f()`", ["wrong-arguments 3:4-5"]),
        ("= <f()>", ["wrong-arguments 3:4-5"]),
        ("= <f(`1`, x, y)>", ["wrong-arguments 3:14-15"]),
        ("= `f(1, 'b', 3)`", ["wrong-arguments 3:14-15"]),
        ("= `f(1, c=2)`", ["wrong-arguments 3:11-12"]),
        ("= `f(1, a=2)`", ["wrong-arguments 3:11-12"]),
        ("= `f(*args)` `f(**{})`", []),
        ("= <f(5)>", ["type-mismatch 3:6-7"]),
        ("= `f('x')`", ["type-mismatch 3:6-9"]),
        ("= `f(1, 2)`", ["type-mismatch 3:9-10"]),
        ("[n: int] = `1`\n= <f(<n>)> `f(n)`", []),
        ("[t] = x\n= <f(<t>)> `f(t)`", ["type-mismatch 4:6-9", "type-mismatch 4:15-16"]),
        ("[t] = `unknown()`\n= <f(<t>)>", ["unknown-name 3:8-15"]),
    ],
)
def test_calls(lints, call, expected):
    assert lints(SIGNATURE + call) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("~P(a: int, b)\n= `P(1, 'x')`", []),
        ("~P(a: int, b)\n= `P(a=1)`", ["wrong-arguments 2:4-5"]),
        ("~P(a: int, b)\n= `P(1, 'x', c=3)`", ["wrong-arguments 2:16-17"]),
        ("[n: int] = five\n= <n>", ["type-mismatch 1:12-16"]),
        ("[n: float] = `1`\n= <n>", []),
        ("[n: bool] = `1`\n= <n>", ["type-mismatch 1:13-16"]),
        ("[n: int | None] = `None`\n= <n>", []),
        ("[n: Literal['a']] = a\n= <n>", []),
        ("[n: list[int]] = `{}`\n= <n>", ["type-mismatch 1:18-22"]),
        ("~P(a)\n[p: P] = text\n= <p>", ["type-mismatch 2:10-14"]),
        ("[n: int] = `1`\n[n] := five\n= <n>", ["type-mismatch 2:8-12"]),
        ("@f() -> int:\n  = five\n= <f()>", ["type-mismatch 2:5-9"]),
        ("@f(n: int) -> int:\n  = <n>\n= <f(`1`)>", ["type-mismatch 2:5-8"]),
        ("@f(n: int) -> int:\n  = `n`\n= <f(`1`)>", []),
        ("@f():\n  = `3`\n= <f()>", ["type-mismatch 2:5-8"]),
        ("@f() -> date:\n  = text\n= <f()>", []),
        ("> if: `1`:\n  > show: x", ["type-mismatch 1:7-10"]),
        ("> loop: `[]`:\n  > show: x", ["type-mismatch 1:9-13"]),
        ("[d: datetime] = text\n= <d>", []),
    ],
)
def test_obvious_types(lints, source, expected):
    assert lints(source) == expected


def test_a_rendered_return_says_how_to_return_the_value(analysis):
    (item,) = analysis("@f(n: int) -> int:\n  = <n>\n= <f(`1`)>").diagnostics
    assert "one backtick expression" in (item.hint or "")


ABLE = {"local": {"effort": False, "tools": False, "mcp": None}, "full": {"effort": True}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("> adapter: local\n> effort: high", ["capability-gap 2:1-15"]),
        ("> effort: high\n> adapter: local", []),
        ("> adapter: scripted\n> effort: high", []),
        ("> adapter: local\n> mcp:\n  command: x", []),
        ("> adapter: local\n@f():\n  > use: f\n  = x", ["capability-gap 3:3-11"]),
        ("> adapter: local\n@f():\n  > adapter: scripted\n  > effort: low\n  = x", []),
        ("> profile: p:\n  > effort: low\n  > adapter: local", ["capability-gap 2:3-16"]),
        ("> adapter: `chosen()`\n> effort: high", ["unknown-name 1:13-19"]),
    ],
)
def test_capability_gaps(lints, source, expected):
    assert lints(source, capabilities=ABLE) == expected


def test_the_adapter_chosen_outside_counts(lints):
    assert lints("> effort: high", capabilities=ABLE, adapter="local") == ["capability-gap 1:1-15"]
    assert lints("> effort: high", capabilities=ABLE, adapter="full") == []
    assert lints("> effort: high", capabilities=ABLE) == []


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("sk-abcdefghijklmnopqrstuvwx1234", (3, 34)),
        ("AKIAABCDEFGHIJKLMNOP", (3, 23)),
        ("ghp_" + "a1B2" * 9, (3, 43)),
        ("-----BEGIN RSA PRIVATE KEY-----", (3, 34)),
        ("é API_KEY=a8f3kd93jf02ksl3", (13, 29)),
        ("password", None),
        ("the key is under the mat", None),
        ("password: correct-horse-battery", None),
        ("api_key = `os.environ['API_KEY']`", None),
        ("token_count: 12345678901234567890", None),
    ],
)
def test_likely_secrets(analysis, text, columns):
    found = [item for item in analysis(f"= {text}").diagnostics if item.code == "likely-secret"]
    assert [item.span[2::2] for item in found] == ([columns] if columns else [])


def test_lints_can_be_left_out(lints):
    assert lints("= <nope>", lint=False) == []


def test_broken_lines_do_not_hide_the_others(analysis):
    found = analysis("[a] = <x\n[b: Nope] = 1\n= <c>\nplain prose").diagnostics
    assert [(item.span.line, item.severity) for item in found if item.code != "unused"] == [
        (1, "error"),
        (2, "error"),
        (3, "warning"),
        (4, "error"),
    ]
