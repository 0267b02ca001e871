"""``--test`` and ``--eval``: reports and statuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Run

Write = Callable[[str, str], Path]
TESTS = """\
@add(a: int, b: int) -> int:
  = `a + b`

@test: add:
  > case: good:
    `assert add(1, 2) == 3`
  > case: bad:
    `assert add(2, 2) == 5, "arithmetic"`
= `add(0, 0)`
"""
EVALS = """\
@add(a: int, b: int) -> int:
  = `a + b`

@eval: add:
  > data: sums:
    = `[((1, 2), {"sum": 3}), ((5, 8), {"sum": 12})]`
  > metric: exact(sums):
    = `(add(*sums) == expected["sum"], "note")`
"""


def steady(text: str) -> list[str]:
    """Lines without times."""
    return re.sub(r" \([\d.]+ m?s\)", "", text).splitlines()


def test_a_report_of_cases(process: Run, write: Write) -> None:
    write("t.kedi", TESTS)
    status, out, err = process("t.kedi", "--test")
    assert status == 1
    assert steady(out) == ["PASS add::good", "FAIL add::bad", "1 passed, 1 failed"]
    assert "t.kedi, line 8" in err
    assert 'assert add(2, 2) == 5, "arithmetic"' in err
    assert "AssertionError: arithmetic" in err
    assert "left:  4" in err
    assert "right: 5" in err


def test_passing_cases_succeed(kedi: Run, write: Write) -> None:
    write("t.kedi", TESTS.replace("== 5", "== 4"))
    status, out, err = kedi("--test", "t.kedi")
    assert (status, err) == (0, "")
    assert steady(out)[-1] == "2 passed, 0 failed"


def test_a_report_of_rows(process: Run, write: Write) -> None:
    write("e.kedi", EVALS)
    status, out, err = process("e.kedi", "--eval")
    assert (status, err) == (0, "")
    assert steady(out) == [
        "ROW  add::exact row 1 1",
        "     note",
        "ROW  add::exact row 2 0",
        "     note",
        "EVAL add::exact on sums: mean 0.5, 2 of 2 rows",
        "2 scored, 0 failed",
    ]


def test_a_row_or_data_that_fails(kedi: Run, write: Write) -> None:
    write("e.kedi", EVALS.replace('{"sum": 12}', '{"sum": 1 / 0}'))
    status, out, err = kedi("e.kedi", "--eval")
    assert status == 1
    assert steady(out) == ["FAIL add::exact on sums", "0 scored, 1 failed"]
    assert "ZeroDivisionError" in err
    write("e.kedi", EVALS.replace("(5, 8)", "('x', 8)"))
    status, out, err = kedi("e.kedi", "--eval")
    assert status == 1
    assert steady(out)[-2:] == [
        "FAIL add::exact on sums: mean 1, 1 of 2 rows",
        "1 scored, 1 failed",
    ]
    assert "row: (('x', 8), {'sum': 12})" in err


def test_a_file_without_suites_succeeds_and_says_so(kedi: Run, write: Write) -> None:
    write("plain.kedi", "= `1 / 0`")
    for mode, last in (("--test", "0 passed, 0 failed"), ("--eval", "0 scored, 0 failed")):
        status, out, err = kedi("plain.kedi", mode)
        assert status == 0
        assert steady(out) == [last]
        assert f"plain.kedi has no `@{mode[2:]}` suites" in err


def test_arguments_reach_the_cases(kedi: Run, write: Write) -> None:
    write(
        "t.kedi",
        "@f() -> str:\n  = `args.who`\n@test: f:\n  > case: a:\n    `assert f() == 'me'`\n",
    )
    assert kedi("t.kedi", "--test", "--who", "me").status == 0
    assert kedi("t.kedi", "--test", "--who", "you").status == 1


def test_files_that_cannot_be_used(kedi: Run, write: Write) -> None:
    write("bad.kedi", "@test: nobody:\n  > case: a:\n    `pass`\n")
    for mode in ("--test", "--eval"):
        assert kedi("nothing.kedi", mode).status == 2
        status, out, err = kedi("bad.kedi", mode)
        assert (status, out) == (1, "")
        assert "nobody" in err


def test_an_exit_in_a_case_fails_the_case_only(kedi: Run, write: Write) -> None:
    write("t.kedi", "@f() -> str:\n  = x\n@test: f:\n  > case: a:\n    `exit(0)`\n")
    status, out, _ = kedi("t.kedi", "--test")
    assert status == 1
    assert steady(out) == ["FAIL f::a", "0 passed, 1 failed"]


def test_output_of_cases_stands_between_the_results(kedi: Run, write: Write) -> None:
    write("t.kedi", "@f() -> str:\n  = x\n@test: f:\n  > case: a:\n    > show: hello\n")
    assert steady(kedi("t.kedi", "--test").out) == ["hello", "PASS f::a", "1 passed, 0 failed"]
