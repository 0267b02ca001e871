"""Every rule of form: what it finds, and exactly where.

A case is a source, the parser's answer, and ``code line:column-end`` of its one
finding (``line:column-line:column`` when it spans lines).
"""

from __future__ import annotations

import pytest

from kedi.diagnostics import Diagnostic
from kedi.syntax import parse
from tests.core.syntax.support import finding, findings

TEXT = [
    ("= a \\q b", "invalid", "unknown-escape 1:5-7"),
    ("= a \\", "incomplete", "open-return 1:5-6"),
    ("[x] = a \\", "invalid", "trailing-backslash 1:9-10"),
    ("= a < b", "invalid", "invalid-substitution 1:5-6"),
    ("= <x y>", "invalid", "unclosed-substitution 1:3-5"),
    ("= <x.y>", "invalid", "invalid-substitution 1:3-6"),
    ("= <é>", "invalid", "invalid-name 1:4-5"),
    ("= <x", "invalid", "unclosed-substitution 1:3-5"),
    ("= <f(a>", "invalid", "unclosed-call 1:3-8"),
    ("= <f(a)", "invalid", "unclosed-call 1:7-8"),
    ("= <f((a))>", "invalid", "unclosed-call 1:8-9"),
    ("= <f(a)> <f(", "invalid", "unclosed-call 1:10-13"),
    ("= <`x`", "invalid", "unclosed-substitution 1:3-7"),
    ("= a [x] b", "invalid", "field-not-allowed 1:5-8"),
    ("[y] = a [x]", "invalid", "field-not-allowed 1:9-12"),
    ("> show: [x]", "invalid", "field-not-allowed 1:9-12"),
    ("> if: [x] is big\n  = 1", "invalid", "field-not-allowed 1:7-10"),
    ("= [1, 2]", "invalid", "invalid-name 1:4-8"),
    ("= []", "invalid", "invalid-field 1:3-4"),
    (">> a [x", "invalid", "unclosed-field 1:6-8"),
    (">> a [x:] b", "invalid", "unexpected-text 1:9-10"),
    (">> a [1] b", "invalid", "invalid-name 1:7-8"),
    (">> a [é] b", "invalid", "invalid-name 1:7-8"),
    (">> [a] and\n[a]", "invalid", "duplicate-field 2:1-4"),
    (">> [args]", "invalid", "reserved-name 1:5-9"),
    (">>", "invalid", "empty-prompt 1:1-3"),
]

BINDINGS = [
    ("[x]", "invalid", "bare-prose 1:1-4"),
    ("[x: ] = 1", "invalid", "unexpected-text 1:5-6"),
    ("[1x] = 3", "invalid", "invalid-name 1:2-4"),
    ("[x y] = 3", "invalid", "invalid-field 1:1-5"),
    ("[] = 3", "invalid", "invalid-field 1:1-2"),
    ("[x = 3", "invalid", "unclosed-field 1:1-4"),
    ("[x: int = `2`", "invalid", "unclosed-field 1:1-9"),
    ("[x]: int = 3", "invalid", "bare-prose 1:1-13"),
    ("[1] See the notes", "invalid", "bare-prose 1:1-18"),
    ("[x: int] := `1`", "invalid", "type-on-assignment 1:5-8"),
    ("[x] == 5", "invalid", "double-equals 1:5-7"),
    ("[x: int] ==`5`", "invalid", "double-equals 1:10-12"),
    ("[x] :== 5", "invalid", "double-equals 1:5-8"),
    ("== 5", "invalid", "double-equals 1:1-3"),
    ("@f():\n  == 5", "invalid", "double-equals 2:3-5"),
    ("[args] = x", "invalid", "reserved-name 1:2-6"),
    ("[args: list[str]] := x", "invalid", "reserved-name 1:2-6"),
    ("[a: int] << Say.", "invalid", "typed-raw-call 1:5-8"),
    ("[a] << Say [b]", "invalid", "field-not-allowed 1:12-15"),
    ("[a] <<", "invalid", "empty-prompt 1:1-7"),
]

PYTHON = [
    ("= `a", "incomplete", "unclosed-python 1:3-5"),
    ("= `f(", "incomplete", "unclosed-python 1:3-6"),
    ("= ``", "invalid", "empty-python 1:3-5"),
    ("= ```x```", "invalid", "fence-not-alone 1:3-6"),
    ("= text ```", "invalid", "fence-not-alone 1:8-11"),
    ("= `1 +`", "invalid", "python-syntax 1:4-5"),
    ("= `x = 1`", "invalid", "python-syntax 1:6-7"),
    ('= `"abc`', "invalid", "python-syntax 1:4-5"),
    ("= `a ~ b ~`", "invalid", "python-syntax 1:6-7"),
    ("= `yield 1`", "invalid", "python-syntax 1:4-9"),
    ("= `lambda a, a: 1`", "invalid", "python-syntax 1:14-15"),
    ("= `await x`", "invalid", "python-syntax 1:4-11"),
    ("`x = 1; y = 2`", "invalid", "python-syntax 1:9-10"),
    ("`# nothing`", "invalid", "python-syntax 1:2-3"),
    ("`x = 1` and more", "invalid", "bare-prose 1:9-17"),
    ("`return 1`", "invalid", "python-syntax 1:2-10"),
    ("`break`", "invalid", "python-syntax 1:2-7"),
    ("= `f(a=1, a=2)`", "invalid", "python-syntax 1:11-14"),
    ("= `*a`", "invalid", "python-syntax 1:4-5"),
    ("= `[*a, 2 * 3]` `x * *y`", "invalid", "python-syntax 1:22-23"),
    ("@f(a: int = `1 +`):\n  = 1", "invalid", "python-syntax 1:14-15"),
    ("[x: list[int, ] = 1", "invalid", "unclosed-field 1:1-17"),
    ("[x: li st] = 1", "invalid", "python-syntax 1:8-10"),
    ("[x: `1 +`] = 1", "invalid", "python-syntax 1:6-7"),
    ("= é`1 + é é`", "invalid", "python-syntax 1:11-12"),
    ("```\nx = (\n```", "invalid", "python-syntax 2:5-6"),
    ("```\nx = 1\n  y = 2\n```", "invalid", "python-syntax 3:2-3"),
    ("```\né = 'ü' + \n```", "invalid", "python-syntax 2:11-11"),
    ("```\nyield 1\nreturn 2\n```", "invalid", "python-syntax 2:1-2"),
    ("```\nnonlocal x\n```", "invalid", "python-syntax 2:1-11"),
    ("```\ndef f(a, a): pass\nreturn 1\n```", "invalid", "python-syntax 2:10-11"),
    ("@f():\n  ```\n  x = 1\n  é = +\n  ```", "invalid", "python-syntax 4:8-8"),
    ("= ```python\nx = 1\n```", "invalid", "fence-not-alone 1:6-12"),
    ("```python\nx = 1\n```", "invalid", "fence-not-alone 1:4-10"),
    ("```\nx = 1\n``` # done", "invalid", "fence-not-alone 3:4-11"),
]

FENCES = [
    ("```\nx = 1", "incomplete", "unclosed-fence 1:1-4"),
    ("= ```\nreturn 1", "incomplete", "unclosed-fence 1:3-6"),
    ("@f():\n  ```\nx = 1\n  ```", "invalid", "misaligned-code 3:1-6"),
    ("@f():\n  ```\n  x = 1\n```", "invalid", "misaligned-fence 4:1-4"),
    ("@f():\n  ```\n  x = 1\n@g():\n  = 1", "invalid", "unclosed-fence 2:3-6"),
    ("@f():\n\t```\n    x = 1\n\t```", "invalid", "misaligned-code 3:5-10"),
    ("###\nopen", "incomplete", "unclosed-comment 1:1-4"),
    ("@f():\n  ###\n  open", "incomplete", "unclosed-comment 2:3-6"),
]

LAYOUT = [
    ("prose here", "invalid", "bare-prose 1:1-11"),
    ("x = 5", "invalid", "bare-prose 1:1-6"),
    ("import os", "invalid", "bare-prose 1:1-10"),
    (" x", "invalid", "bare-prose 1:2-3"),
    ("@f():\n    = 1\n  = 2", "invalid", "inconsistent-dedent 3:1-3"),
    ("@f():\n  > if: `a`:\n      = 1\n    = 2", "invalid", "inconsistent-dedent 4:1-5"),
    ("@f():\n  = 1\n    = 2", "invalid", "unexpected-indent 3:1-5"),
    ("  = 1\n  = 2\n= 3", "invalid", "unexpected-indent 1:1-3"),
    (">> a\n  b", "invalid", "unexpected-indent 2:1-3"),
    ("> model: x\n  y", "invalid", "unexpected-indent 2:1-3"),
    ("@f():\n= 1", "invalid", "expected-block 1:1-6"),
    ("> if: `x`:\n# only this\n= 1", "invalid", "expected-block 1:1-11"),
]

DEFINITIONS = [
    ("@f", "invalid", "unexpected-end 1:2-3"),
    ("@f()", "invalid", "missing-colon 1:5-5"),
    ("@f(a: int", "incomplete", "unclosed-parenthesis 1:3-4"),
    ("@f(a b):\n  = 1", "invalid", "unexpected-text 1:6-7"),
    ("@f(a, a):\n  = 1", "invalid", "duplicate-parameter 1:7-8"),
    ("@f(args):\n  = 1", "invalid", "reserved-name 1:4-8"),
    ("@f(class):\n  = 1", "invalid", "python-keyword 1:4-9"),
    ("@f(a = 1):\n  = 1", "invalid", "unexpected-text 1:8-9"),
    ("@f(a: int = `1`, b):\n  = 1", "invalid", "required-after-default 1:18-19"),
    ("@é():\n  = 1", "invalid", "invalid-name 1:2-3"),
    ("@1f():\n  = 1", "invalid", "invalid-name 1:2-4"),
    ("@args():\n  = 1", "invalid", "reserved-name 1:2-6"),
    ("@def():\n  = 1", "invalid", "python-keyword 1:2-5"),
    ("@f() -> :\n  = 1", "invalid", "unexpected-text 1:9-10"),
    ("@f() -> int\n  = 1", "invalid", "missing-colon 1:12-12"),
    ("@f(a: int): x", "invalid", "unexpected-text 1:13-14"),
    ("~T", "invalid", "unexpected-end 1:2-3"),
    ("~T(", "incomplete", "unclosed-parenthesis 1:3-4"),
    ("~T(a b)", "invalid", "unexpected-text 1:6-7"),
    ("~T(a = `1`)", "invalid", "untyped-default 1:4-11"),
    ("~T(a, a)", "invalid", "duplicate-field 1:7-8"),
    ("~T(a: int = `1`, b: int)", "invalid", "required-after-default 1:18-24"),
    ("~class(a)", "invalid", "python-keyword 1:2-7"),
    ("~T(a) b", "invalid", "unexpected-text 1:7-8"),
]

CONTROL = [
    ("> if: `x`", "incomplete", "expected-block 1:1-10"),
    ("> if:\n  = 1", "invalid", "expected-condition 1:1-6"),
    ("> if: x > 1:\n  = 1", "invalid", "claim-with-colon 1:7-13"),
    ("> if: <x> is big:\n  = 1", "invalid", "claim-with-colon 1:7-18"),
    ("> if `x`:\n  = 1", "invalid", "missing-colon 1:1-5"),
    ("> else:\n  = 1", "invalid", "else-without-if 1:1-8"),
    ("[x] = 1\n> else:\n  = 1", "invalid", "else-without-if 2:1-8"),
    ("> if: `x`:\n  = 1\n> else:\n  = 2\n> else:\n  = 3", "invalid", "else-without-if 5:1-8"),
    ("> elif: `x`:\n  = 1", "invalid", "unknown-directive 1:3-7"),
    ("> loop [x]: items:\n  = 1", "invalid", "unexpected-text 1:13-18"),
    ("> loop [x]: `items`\n  = 1", "invalid", "missing-colon 1:20-20"),
    ("> loop [x] `items`:\n  = 1", "invalid", "unexpected-text 1:10-11"),
    ("> loop [args]: `items`:\n  = 1", "invalid", "reserved-name 1:9-13"),
    ("> map:\n  = 1", "invalid", "orphan-map 1:1-7"),
    ("> loop: `x`:\n  = 1\n> map:\n  = 1", "invalid", "orphan-map 3:1-7"),
    ("> loop [x]: `y`:\n  = 1\n> map:\n  = 1\n> map:\n  = 1", "invalid", "orphan-map 5:1-7"),
    ("> loop [x]: `y`:\n  = 1\n[a] = b\n> map:\n  = 1", "invalid", "orphan-map 4:1-7"),
    ("@f():\n  > map:\n    = 1", "invalid", "orphan-map 2:3-9"),
]

DIRECTIVES = [
    ("> import helpers", "invalid", "missing-colon 1:1-9"),
    ("> import:", "invalid", "unexpected-end 1:9-10"),
    ("> import: a b", "invalid", "unexpected-text 1:13-14"),
    ("> import: a:", "incomplete", "expected-block 1:1-13"),
    ("> import: a:\n  b\n  b", "invalid", "duplicate-name 3:3-4"),
    ("> import: a:\n  b c", "invalid", "invalid-name 2:3-6"),
    ("> imprt: helpers", "invalid", "unknown-directive 1:3-8"),
    ("> Import: helpers", "invalid", "unknown-directive 1:3-9"),
    ("> hello there", "invalid", "unknown-directive 1:3-8"),
    ("> foo: bar", "invalid", "unknown-directive 1:3-6"),
    (">", "invalid", "invalid-directive 1:1-2"),
    ("> 1", "invalid", "invalid-directive 1:1-4"),
    ("> settings:\n  temprature: 1", "invalid", "unknown-setting 2:3-13"),
    ("> settings:\n  max-tokens: 1", "invalid", "unknown-setting 2:3-13"),
    ("> settings:\n  temperature: 1\n  temperature: 2", "invalid", "duplicate-setting 3:3-14"),
    ("> settings:\n  temperature: 1\n  > model: x", "invalid", "mixed-block 3:3-13"),
    ("> settings:\n  temperature", "invalid", "invalid-setting 2:3-14"),
    ("> settings: x", "invalid", "unexpected-value 1:13-14"),
    ("> profile: p:\n  temperature: 1", "invalid", "mixed-block 2:3-17"),
    ("> profile: p:\n  model: x", "invalid", "mixed-block 2:3-11"),
    ("> profile: p\n  > model: x", "invalid", "missing-colon 1:13-13"),
    ("> profile: p:\n  [x] = 1", "invalid", "unexpected-statement 2:3-10"),
    ("> model:", "invalid", "expected-value 1:1-9"),
    ("> subagent: x", "invalid", "misplaced-directive 1:1-12"),
    ("> output: str", "invalid", "misplaced-directive 1:1-10"),
    ("> tool:\n  name: x", "invalid", "misplaced-directive 1:1-8"),
    ("> case: x:\n  = 1", "invalid", "misplaced-directive 1:1-8"),
    ("> data: x:\n  = 1", "invalid", "misplaced-directive 1:1-8"),
    ("> metric: m(x):\n  = 1", "invalid", "misplaced-directive 1:1-10"),
    ("@f():\n  > import: x", "invalid", "misplaced-directive 2:3-12"),
    ("@f():\n  > export: *", "invalid", "misplaced-directive 2:3-12"),
    ("> export:\n  a\n  a", "invalid", "duplicate-name 3:3-4"),
    ("> export: a", "invalid", "unexpected-text 1:11-12"),
    ("> system: Hi [x]", "invalid", "field-not-allowed 1:14-17"),
    ("> system: Hi <f()>", "invalid", "call-not-allowed 1:14-19"),
    ("> system:\n  Call <f()>", "invalid", "call-not-allowed 2:8-13"),
    ("@f():\n  > auto:", "incomplete", "expected-block 2:3-10"),
    ("@f():\n  > optimize: x\n    a", "invalid", "missing-colon 2:16-16"),
    ("@f():\n  > optimize: x:\n    [a] [a]", "invalid", "duplicate-field 3:9-12"),
    ("@f():\n  > optimize: x:\n    >> a [a]\n    >> b", "invalid", "second-template 4:5-7"),
    (
        "@f():\n  > optimize: x:\n    a <`(1,\n    2)`>\n\n    >> b",
        "invalid",
        "second-template 6:5-7",
    ),
    ("@f():\n  @test: g:\n    > case: a:\n      = 1", "invalid", "misplaced-suite 2:3-9"),
    ("@test: g:\n  [x] = 1", "invalid", "unexpected-statement 2:3-10"),
    ("@test: g:\n  ```\n  x = 1\n  ```", "invalid", "unexpected-statement 2:3-4:6"),
    ("@test g:\n  > case: a:\n    = 1", "invalid", "missing-colon 1:1-6"),
    (
        "@test: g:\n  > case: a:\n    = 1\n  > case: a:\n    = 1",
        "invalid",
        "duplicate-case 4:11-12",
    ),
    ("@eval: f:\n  > data: a:\n    = `1`", "invalid", "missing-metric 1:1-10"),
    ("@eval: f:\n  > metric: m(a):\n    = `1`", "invalid", "missing-data 1:1-10"),
    (
        (
            "@eval: f:\n  > data: a:\n    = `1`\n"
            "  > metric: m(a):\n    = `1`\n  > metric: n(a):\n    = `1`"
        ),
        "invalid",
        "duplicate-metric 6:3-18",
    ),
    ("@eval: f:\n  > case: a:\n    = `1`", "invalid", "misplaced-directive 2:3-10"),
]

CASES = [*TEXT, *BINDINGS, *PYTHON, *FENCES, *LAYOUT, *DEFINITIONS, *CONTROL, *DIRECTIVES]


def short(item: Diagnostic) -> str:
    span = item.span
    end = f"{span.end_line}:" if span.end_line != span.line else ""
    return f"{item.code} {span.line}:{span.column}-{end}{span.end_column}"


@pytest.mark.parametrize(("text", "status", "expected"), CASES)
def test_one_fault(text: str, status: str, expected: str) -> None:
    result = parse(text)
    assert [short(item) for item in result.diagnostics] == [expected]
    assert result.status == status
    (item,) = result.diagnostics
    assert item.severity == "error"
    assert item.source_line == text.split("\n")[item.span.line - 1]
    assert item.span.source_name == "<string>"


@pytest.mark.parametrize(("text", "status", "expected"), CASES)
def test_a_fault_stays_alone_between_other_statements(
    text: str, status: str, expected: str
) -> None:
    if status == "incomplete":
        return  # what is open takes the rest with it
    before, after = "[before] = 1\n", "\n[after] = 2\n"
    if text.startswith(" "):
        before = ""  # an indented first line would be a block of the line before
    result = parse(before + text + after)
    assert len(result.diagnostics) == 1
    assert result.diagnostics[0].code == expected.split()[0]
    last = result.program.chunks[-1].stmt
    assert last is not None
    assert last.text == "[after] = 2"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("Tell me [x]", "start a template with `>>`"),
        ("x = 5", "did you mean `[x] = …`?"),
        ("import os", "Python in backticks"),
        ("[x]: int = 5", "[x: int] = …"),
        ("> imprt: a", "did you mean `> import:`?"),
        ("> import a", "did you mean `> import: a`?"),
        ("> some prose here", "start a template with `>>`"),
        ("> elif: `x`:", "no elif"),
        ("> while: `x`:", "> loop:"),
        ("> settings:\n  temprature: 1", "did you mean `temperature`?"),
        ("> mcp:\n  comand: x", "did you mean `command`?"),
        ("> profile: p:\n  model: x", "did you mean `> model:`?"),
        ("[x: int] := 1", "write [x] := …"),
        ("= `x = 1`", "an expression is expected here"),
        ("= <x.y>", "backticks"),
        ("= a < b", r"\<"),
        ("= a [1] b", r"\["),
        ("= C:\\dir", r"\\ for a backslash"),
        ("> if: `x` > 1:\n  = 1", "drop the colon for a claim"),
        (">> a\n  b", "at the indentation of its `>>`"),
        ("= ```python\nx\n```", "not even the name of a language"),
        ("@test g:\n  > case: a:\n    = 1", "`@test: procedure:`"),
        ("= `'a` + `b'`", "\\x60"),
    ],
)
def test_advice(text: str, advice: str) -> None:
    (item, *_) = findings(text)
    assert item.hint is not None
    assert advice in item.hint


def test_open_things_name_where_they_were_opened() -> None:
    item = finding("= 1\n\n```\nx = 1\n")
    assert (item.code, item.span.line) == ("unclosed-fence", 3)
    assert item.hint == "close this fence opened on line 3 with ``` on a line of its own"
    item = finding("= 1\n###\nx\n")
    assert item.hint == "close this comment opened on line 2 with a line that holds only ###"


def test_every_broken_line_is_reported_once() -> None:
    text = "[a] = <x\n[ok] = fine\n@f(a, a):\n  [b: int = `2`\n  = `1 +`\nplain\n> nope: x\n"
    assert [short(item) for item in findings(text)] == [
        "unclosed-substitution 1:7-9",
        "duplicate-parameter 3:7-8",
        "unclosed-field 4:3-11",
        "python-syntax 5:6-7",
        "bare-prose 6:1-6",
        "unknown-directive 7:3-7",
    ]


def test_a_broken_header_keeps_its_block() -> None:
    result = parse("@f(a, a):\n  [x] = 1\n  > if: `x`:\n    = 2\n")
    assert len(result.diagnostics) == 1
    (stmt,) = [stmt for stmt, _ in result.program.top_level()]
    assert [type(item.node).__name__ for item in (stmt, *stmt.body)] == ["Broken", "Init", "If"]
    assert [type(item.node).__name__ for item in stmt.body[1].body] == ["Return"]


@pytest.mark.parametrize(
    ("text", "code", "names", "belongs"),
    [
        ("> package: demo:\n  source: src", "misplaced-directive", "package", "package.kedi"),
        ("> export: *", "misplaced-directive", "export", "top level of a module file"),
        ("@test: f:\n  > case: a:\n    = 1", "misplaced-suite", "@test", "file"),
        ("@eval: f:\n  > data: a:\n    = 1", "misplaced-suite", "@eval", "file"),
    ],
)
def test_fragments_refuse_what_belongs_to_files(
    text: str, code: str, names: str, belongs: str
) -> None:
    item = finding(text, "fragment")
    assert (item.code, item.span.line, item.span.column) == (code, 1, 1)
    assert names in item.message
    assert item.hint is not None
    assert belongs in item.hint
    assert all(other.code != code for other in findings(text))


def test_inconsistent_dedent_names_both_widths() -> None:
    item = finding("@f():\n\t[x] = 1\n  = x\n")
    assert item.message.startswith("this line is indented by 2")
    assert "the 4 of the block" in item.message
    assert "nor the 0" in item.message


@pytest.mark.parametrize("text", ["[x] = = 5", r"[x] =\= 5", r"= \=", "= a == b", "= `1 == 1`"])
def test_text_may_hold_equals_signs(text: str) -> None:
    assert parse(text).status == "complete"


@pytest.mark.parametrize(
    "body",
    [
        ">> a\n    ###\n    >> b\n    ###\n    [c]",
        "a <`(1\n    >> 2)`> [c]",
        "a\n    \\>\\> b",
        "# >> a\n    >> b",
        "a >> b",
    ],
)
def test_one_template_may_show_its_mark_elsewhere(body: str) -> None:
    result = parse(f"@f():\n  > optimize: x:\n    {body}")
    assert (result.status, result.diagnostics) == ("complete", ())


@pytest.mark.parametrize("text", ["[x: ] = 1", "@f(a: ):\n  = x", "@f() -> :\n  = x", "~T(a: )"])
def test_a_missing_type_is_advised(text: str) -> None:
    (item,) = parse(text).diagnostics
    assert item.message == "expected a type or inline Python here"
    assert item.hint == "a type reads int, list[str], or any Python in backticks"
