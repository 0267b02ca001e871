"""Failed assertions of cases keep the values they compared, and change nothing else."""

from __future__ import annotations

import textwrap

import pytest

from kedi.runtime.suites import CaseResult, run_tests
from tests.core.suites.conftest import Compile

PRELUDE = """```
log = []
def note(x):
    log.append(x)
    return x
class Evil:
    def __repr__(self):
        raise RuntimeError
    def __eq__(self, other):
        return False
```
@f() -> str:
  = x
@test: f:
  > case: a:
"""

COROUTINE = """
import asyncio
async def one():
    return 1
async def check():
    assert await one() == 2
asyncio.run(check())
"""


def run(compiled: Compile, code: str) -> CaseResult:
    """The result of a case that is a fence of ``code``."""
    body = textwrap.indent(f"```\n{textwrap.dedent(code).strip()}\n```", "    ")
    return run_tests(compiled(PRELUDE + body + "\n")).results[0]


def compared(result: CaseResult) -> tuple[str, str, str] | None:
    assert result.error is not None
    item = result.comparison
    return None if item is None else (item.left, item.operator, item.right)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("assert 1 + 1 == 3", ("2", "==", "3")),
        ("assert 'a' not in 'abc'", ("'a'", "not in", "'abc'")),
        ("assert None is not None", ("None", "is not", "None")),
        ("assert 2 <= 1", ("2", "<=", "1")),
        ("x = 5\nassert x != x", ("5", "!=", "5")),
        ("assert (\n    note(1)\n    ==\n    note(2)\n), 'text'", ("1", "==", "2")),
        ("def check(v):\n    assert v > 3\ncheck(7)\ncheck(2)", ("2", ">", "3")),
        ("class C:\n    assert 1 == 2", ("1", "==", "2")),
        ("class C:\n    def m(self):\n        assert 1 in []\nC().m()", ("1", "in", "[]")),
        (COROUTINE, ("1", "==", "2")),
        ("assert Evil() == 1", ("<Evil whose repr raised RuntimeError>", "==", "1")),
        ("assert [n for n in range(3)] == (y := 4)", ("[0, 1, 2]", "==", "4")),
    ],
)
def test_both_values_are_kept(compiled: Compile, code: str, expected: tuple[str, str, str]) -> None:
    assert compared(run(compiled, code)) == expected


@pytest.mark.parametrize(
    "code",
    [
        "assert 1 < 2 < 2",
        "assert not 1",
        "assert 1 == 1 and 2 == 3",
        "raise AssertionError",
        "def outside():\n    raise AssertionError('x')\noutside()",
        "try:\n    assert 1 == 2\nexcept AssertionError:\n    pass\nraise AssertionError",
        "raise ValueError",
    ],
)
def test_no_values_where_none_belong(compiled: Compile, code: str) -> None:
    assert compared(run(compiled, code)) is None


def test_messages_are_evaluated_only_for_failures(compiled: Compile) -> None:
    result = run(
        compiled,
        """
        assert note(1) == note(1), note("not evaluated")
        try:
            assert note(2) == note(3), note("evaluated")
        except AssertionError as error:
            assert error.args == ("evaluated",)
        assert log == [1, 1, 2, 3, "evaluated"], log
        """,
    )
    assert result.passed


def test_values_are_those_of_the_failure(compiled: Compile) -> None:
    code = "x = [1]\ntry:\n    assert x == []\nfinally:\n    x.append(2)"
    assert compared(run(compiled, code)) == ("[1]", "==", "[]")


def test_bindings_are_still_written_back(compiled: Compile) -> None:
    text = (
        PRELUDE + "    [x: int] = `1`\n    ```\n    x = 2\n    assert x == 2\n    ```\n"
        "    `assert x == 2`\n    `assert x == 3`\n"
    )
    result = run_tests(compiled(text)).results[0]
    assert compared(result) == ("2", "==", "3")


def test_python_sees_no_names_of_ours(compiled: Compile) -> None:
    code = "assert [n for n in dir() if 'kedi' in n] == []\nassert 'kedi' not in str(log)"
    result = run(compiled, code)
    assert result.passed


def test_positions_are_those_of_the_source(compiled: Compile) -> None:
    result = run(compiled, "x = 1\nassert x == 2")
    assert result.error is not None
    span = result.error.span  # type: ignore[attr-defined]
    assert (span.line, span.column, span.end_column) == (18, 12, 18)


def test_long_values_are_cut(compiled: Compile) -> None:
    result = run(compiled, "assert 'x' * 10_000 == ''")
    assert result.comparison is not None
    assert len(result.comparison.left) == 400
    assert result.comparison.left.endswith("…")


def test_an_observed_case_runs_as_written(compiled: Compile) -> None:
    from kedi.runtime.hooks import Observer

    runtime = compiled(PRELUDE + "    `assert 1 == 2`\n")
    runtime.observe(Observer())
    result = run_tests(runtime).results[0]
    assert not result.passed
    assert result.comparison is None
