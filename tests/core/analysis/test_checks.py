"""Errors before anything runs: dead statements, own fields, parameters, directives, suites."""

from __future__ import annotations

import pytest

from kedi.analysis.checks import compile_errors
from kedi.analysis.resolve import Options, analyze
from kedi.syntax import parse_or_raise
from tests.core.analysis.conftest import short

NESTED = """\
@f():
  > if: `a`:
    > if: `b`:
      = 1
    > else:
      = 2
  > else:
    = 3
  `x()`
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@f() -> int:\n  = `1`\n  [x] = 2", ["unreachable 3:3-10"]),
        ("= a\n[x] = b", ["unreachable 2:1-8"]),
        ("= a\n[x] = b\n[y] = c", ["unreachable 2:1-8"]),
        ("= a\n= b", ["unreachable 2:1-4"]),
        ("@f():\n  > if: `True`:\n    = a\n  > else:\n    = b\n  [x] = 1", ["unreachable 6:3-10"]),
        ("> if: `True`:\n  = a\n> else:\n  = b\n[x] = 1", ["unreachable 5:1-8"]),
        ("@f():\n  > if: `True`:\n    = a\n    [y] = 2\n  = b", ["unreachable 4:5-12"]),
        ("@f():\n  > loop: `True`:\n    = a\n    [y] = 2\n  = b", ["unreachable 4:5-12"]),
        (
            NESTED,
            ["unreachable 9:3-8"],
        ),
        ("@f():\n  > if: `True`:\n    = a\n  [x] = 1\n  = x", []),
        ("@f():\n  > if: `True`:\n    = a\n  > else:\n    [x] = 1\n  = x", []),
        ("@f():\n  > loop [i]: `[1]`:\n    = a\n  = b", []),
        ("@f():\n  ```\n  return\n  ```\n  = b", []),
        ("= `g()`\n@g():\n  = x", ["unreachable 2:1-6"]),
        ("@f():\n  = x\n= a\n@test: f:\n  > case: one:\n    `1`\n> export:\n  f", []),
    ],
)
def test_unreachable(check, source, expected):
    assert check(source) == expected


def test_unreachable_points_at_the_return(errors):
    (error,) = errors("@f():\n  = a\n  [x] = b")
    assert error.related[0].span[1:] == (2, 3, 2, 6)
    assert error.tags == ("unnecessary",)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (">> Capital [capital]\nand its river <capital>: [river]", ["reads-own-field 2:15-24"]),
        (">> <a> [a]", ["reads-own-field 1:4-7"]),
        (">> [a] <f(<a>)>", ["reads-own-field 1:11-14"]),
        (">> [a] <f(<g(<a>)>)>", ["reads-own-field 1:14-17"]),
        (">> [a] <`a + 1`>", ["reads-own-field 1:8-17"]),
        (">> [a] <`[a for a in range(3)]`>", []),
        (">> [a] and <f(b)>", []),
        ("[b] << Do <f(make [t] of <t>)>", ["reads-own-field 1:26-29"]),
        ("[b] << Improve <b>", []),
        ("> if: <a> is big\n  [x] = 1", []),
        (">> [a]\n\n>> <a> [b]", []),
        (">> [a]\n>> <a> [b]", []),
        ("@f():\n  > optimize: s:\n    Say <a> as [a]\n  = <a>", ["reads-own-field 3:9-12"]),
    ],
)
def test_own_fields(check, source, expected):
    assert check(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@f(x):\n  [x] := 1\n  = x", ["read-only-parameter 2:4-5"]),
        ("@f(x):\n  > if: `True`:\n    [x] := 1\n  = x", ["read-only-parameter 3:6-7"]),
        ("@f(x):\n  @g():\n    [x] := 1\n    = a\n  = x", ["read-only-parameter 3:6-7"]),
        ("@f(x):\n  [x] = 2\n  [x] := 1\n  = x", ["read-only-parameter 3:4-5"]),
        ("@f(x):\n  > if: `True`:\n    [x] = 2\n    [x] := 1\n  = x", []),
        ("@f(x):\n  > loop [x]: `[1]`:\n    [x] := 1\n  = x", []),
        ("@f(x):\n  @g(y):\n    [x] = 2\n    [x] := 1\n    = a\n  = x", []),
        ("[x] = 1\n@f():\n  [x] := 2\n  = x", []),
        ("[unknown] := 2", []),
    ],
)
def test_parameters_are_read_only(check, source, expected):
    assert check(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("> effort: hihg", ["bad-value 1:11-15"]),
        ("> effort: high\n> effort: `level`", []),
        ("> approval: alow", ["bad-value 1:13-17"]),
        ("> approval: allow\n> approval: `handler`", []),
        ("> history: on", ["bad-value 1:12-14"]),
        ("> history:\n  compaction_mode: native", ["missing-value 1:1-11"]),
        ("> history:\n  enabled: yes", ["bad-value 2:12-15"]),
        ("> settings:\n  temperature: hot", ["bad-value 2:16-19"]),
        ("> settings:\n  temperature: -1", ["bad-value 2:16-18"]),
        ("> settings:\n  top_p: 2", ["bad-value 2:10-11"]),
        ("> settings:\n  max_tokens: 1.5", ["bad-value 2:15-18"]),
        ("> settings:\n  max_tokens: " + "9" * 500, []),
        ("> settings:\n  seed: null\n  timeout: 0.5\n  temperature: `t`", []),
        ("> artifacts:\n  ttl: never", ["bad-value 2:8-13"]),
        ("> artifacts:\n  ttl: 1h\n  idle_ttl: none\n  threshold: 100kb\n  store: memory", []),
        ("> artifacts:\n  store: disk", ["bad-value 2:10-14"]),
        ("> mcp:\n  transport: http", ["missing-value 1:1-7"]),
        ("> mcp:\n  name: x", ["missing-value 1:1-7"]),
        ("> mcp:\n  command: uv\n> mcp:\n  transport: sse\n  url: https://x.example", []),
        ("> hooks:\n  pre_tool_use: check", ["bad-value 2:17-22"]),
        ("> hooks:\n  pre_tool_use: `check`", []),
        ("> requires: tols", ["unknown-capability 1:13-17"]),
        ("> requires:\n  tools\n  streem", ["unknown-capability 3:3-9"]),
        ("@f():\n  > tool:\n    risk: low\n  = x", ["bad-value 3:11-14"]),
        ("> adapter: codex", ["bad-value 1:12-17"]),
        ("> agent: pydantic", ["bad-value 1:10-18"]),
        ("> adapter: pydntic", ["unknown-adapter 1:12-19"]),
        ("> adapter: local\n> agent: codex", ["adapter-and-agent 2:1-15"]),
        ("> adapter: local\n@f():\n  > agent: codex\n  = x", []),
        ("> use: nothing", ["unknown-tool 1:8-15"]),
        ("> use: skills", []),
        ("> use: later\n@later():\n  = x", []),
        ("> use:\n  f\n  g\n@f():\n  = x", ["unknown-tool 3:3-4"]),
        ("[n: int] = `1`\n> use: n", ["bad-value 2:8-9"]),
        ("> profile: p:\n  > model: m\n> use:\n  p", ["bad-value 4:3-4"]),
        ("> profile: p:\n  > subagent: q", ["unknown-profile 2:15-16"]),
        ("> profile: p:\n  > subagent: q\n> profile: q:\n  > model: m", []),
        (
            "> profile: p:\n  > subagent: q\n> profile: q:\n  > subagent: p",
            ["subagent-cycle 4:3-16"],
        ),
        ("> profile: p:\n  > subagent: p", ["subagent-cycle 2:3-16"]),
        ("> profile: p:\n  > model: a\n  > model: b", ["duplicate 3:3-13"]),
        ("> profile: p:\n  > workflow: dynamic", ["missing-value 2:3-22"]),
        ("> profile: p:\n  > max_agents: 0", ["bad-value 2:17-18"]),
    ],
)
def test_directives(check, source, expected):
    assert check(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@test: f:\n  > case: a:\n    `1`", ["unknown-procedure 1:8-9"]),
        ("[f] = 1\n@test: f:\n  > case: a:\n    `1`", ["unknown-procedure 2:8-9"]),
        ("@test: f:\n  > case: a:\n    `1`\n@f():\n  = x", []),
        (
            "@f():\n  = x\n@eval: f:\n  > data: rows:\n    = `[1]`\n  > metric: m(rws):\n    = `1`",
            ["unknown-dataset 6:15-18"],
        ),
        ("@f():\n  = x\n@test: f:\n  > case: a:\n    [x: Nope] = 1", ["unknown-type 5:9-13"]),
    ],
)
def test_suites(check, source, expected):
    assert check(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[x] = 1\n> export:\n  x\n  yy", ["unknown-export 4:3-5"]),
        ("> export:\n  x\n[x] = 1", []),
        ("[x] = 1\n> export:\n  x\n> export:\n  x", ["duplicate 5:3-4"]),
        ("> export: *\n> export: *", ["duplicate 2:1-12"]),
        ("```\nimport math\ndef f(): ...\n```\n> export:\n  f\n  math", []),
        ("> if: `True`:\n  [x] = 1\n> export:\n  x", ["unknown-export 4:3-4"]),
        (
            ">> [a]\n\n[b] << c\n~T(x)\n> profile: p:\n  > model: m\n> export:\n  a\n  b\n  T\n  p",
            [],
        ),
        ("> import: m", ["module-not-found 1:11-12"]),
        ("> import: a/b:\n  x", ["module-not-found 1:11-14"]),
    ],
)
def test_modules_without_files(check, source, expected):
    assert check(source) == expected


def test_a_broken_import_causes_no_further_errors(check):
    found = check("> import: nowhere\n[x: Thing] = `1`\n> use: tool\n> export:\n  other")
    assert found == ["module-not-found 1:11-18"]


def test_fragments_are_checked_like_files(check):
    assert check("= a\n[x: Nope] = b", mode="fragment") == [
        "unreachable 2:1-14",
        "unknown-type 2:5-9",
    ]


def test_deep_nesting_is_no_matter(check):
    lines = [f"{' ' * depth}> if: `a`:" for depth in range(90)]
    source = "\n".join([*lines, f"{' ' * 90}[x: Nope] = 1"])
    assert check(source) == ["unknown-type 91:95-99"]


def test_a_long_chain_of_types_is_no_matter(check):
    source = f"[x: {' | '.join(['int'] * 500)} | Nope] = `1`"
    assert check(source) == [f"unknown-type 1:{source.index('Nope') + 1}-{source.index(']') + 1}"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.kedi", ["misplaced-directive 2:1-14"]),
        ("src/other_package.kedi", ["misplaced-directive 2:1-14"]),
        ("package.kedi", []),
        ("some/where/package.kedi", []),
        ("C:\\some\\package.kedi", []),
    ],
)
def test_packages_are_described_in_their_own_file(name, expected):
    program = parse_or_raise("[x] = a\n> package: p:\n  source: s", name)
    assert short(compile_errors(program)) == expected
    assert short(analyze(program, options=Options(lint=False)).diagnostics) == expected
