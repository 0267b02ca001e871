"""``@eval`` suites: rows, expectations, scores, failures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedi.errors import KediExecutionError, KediNameError, KediTypeExecutionError
from kedi.runtime import suite_data
from kedi.runtime.frames import NOTHING
from kedi.runtime.suite_data import Row, rows_of, score_of, split_row
from kedi.runtime.suites import EvalCase, EvalResult, RowResult, run_evals
from tests.core.suites.conftest import Compile

WORDS = "@words(t: str) -> int:\n  = `len(t.split())`\n"


def evaluate(compiled: Compile, data: str, metric: str, before: str = "") -> EvalResult:
    """Result of a suite with one-line data and metric."""
    text = (
        f"{before}{WORDS}@eval: words:\n  > data: rows:\n    {data}\n"
        f"  > metric: score(rows):\n    {metric}\n"
    )
    return run_evals(compiled(text)).results[0]


def test_rows_are_scored_in_order(compiled: Compile) -> None:
    text = (
        WORDS + "@eval: words:\n  > data: rows:\n    = `['a b', 'c']`\n"
        "  > metric: score(rows):\n    [n] = `words(rows)`\n    = `(n / 2, f'{n} words')`\n"
    )
    rows: list[tuple[EvalCase, RowResult]] = []
    report = run_evals(compiled(text), on_row=lambda case, row: rows.append((case, row)))
    (result,) = report.results
    case = result.case
    assert (case.procedure, case.metric, case.dataset) == ("words", "score", "rows")
    assert (case.held_out, case.span.line) == (False, 3)
    assert [(row.number, row.value, row.score, row.feedback) for row in result.rows] == [
        (1, "'a b'", 1.0, "2 words"),
        (2, "'c'", 0.5, "1 words"),
    ]
    assert [row for _, row in rows] == list(result.rows)
    assert (result.mean, result.failed, report.failed) == (0.75, False, 0)


def test_held_out_rows_are_preferred(compiled: Compile) -> None:
    text = (
        WORDS + "@eval: words:\n  > data: rows:\n    = `1 / 0`\n"
        "  > test_data: rows:\n    = `['a']`\n  > metric: score(rows):\n    = `True`\n"
    )
    (result,) = run_evals(compiled(text)).results
    assert result.case.held_out
    assert result.scores == [1.0]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("= `['a', 'b']`", ["'a'", "'b'"]),
        ("= `('a' for _ in range(2))`", ["'a'", "'a'"]),
        ("= `{'a': ['b'], 'c': 2}`", ["('a', ['b'])", "('c', 2)"]),
        ("= `{'a': 1}.items()`", ["('a', 1)"]),
        ("= `{'a': 1}.keys()`", ["'a'"]),
        ("= `()`", []),
        ("= `range(2)`", ["0", "1"]),
    ],
)
def test_forms_of_data(compiled: Compile, data: str, shown: list[str]) -> None:
    result = evaluate(compiled, data, "= `1`")
    assert [row.value for row in result.rows] == shown
    assert result.mean == (1.0 if shown else None)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("= some text", "got str"),
        ("= `b'bytes'`", "got bytes"),
        ("= `5`", "got int"),
        ("`pass`", "got nothing"),
        ("= `(1 / 0 for _ in range(2))`", "division by zero"),
        ("= `1 / 0`", "division by zero"),
        ("= `iter(int, 1)`", "more than 50 rows"),
        ("`raise SystemExit(2)`", "SystemExit: 2"),
    ],
)
def test_data_that_cannot_be_had(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch, data: str, said: str
) -> None:
    monkeypatch.setattr(suite_data, "MAX_ROWS", 50)
    result = evaluate(compiled, data, "= `1`")
    assert result.rows == ()
    assert result.failed
    assert isinstance(result.error, KediExecutionError)
    assert said in result.error.message
    assert result.error.frames[-1].span.line in (4, 5)


@pytest.mark.parametrize(
    ("value", "score", "feedback"),
    [
        (True, 1.0, None),
        (False, 0.0, None),
        (3, 3.0, None),
        (-0.5, -0.5, None),
        ((True, None), 1.0, None),
        ((0.25, "because"), 0.25, "because"),
        ((1, ["x"]), 1.0, "['x']"),
    ],
)
def test_scores(value: Any, score: float, feedback: str | None) -> None:
    assert score_of(value) == (score, feedback)
    assert type(score_of(value)[0]) is float


@pytest.mark.parametrize(
    "value",
    [None, "1", [1], (1,), (1, 2, 3), ("1", None), float("nan"), float("inf"), 10**400, 1j, {}],
)
def test_what_is_no_score(value: Any) -> None:
    with pytest.raises(KediExecutionError) as caught:
        score_of(value)
    assert caught.value.hint


def test_rows_that_fail_do_not_stop_the_rest(compiled: Compile) -> None:
    result = evaluate(compiled, "= `['a', 5, 'b c', None]`", "= `words(rows) == 1`")
    assert [row.score for row in result.rows] == [1.0, None, 0.0, None]
    assert isinstance(result.rows[1].error, KediTypeExecutionError)
    assert result.mean == 0.5
    assert result.failed


def test_a_rendered_score_is_pointed_out_at_its_line(compiled: Compile) -> None:
    result = evaluate(compiled, "= `['a']`", "= True")
    error = result.rows[0].error
    assert isinstance(error, KediTypeExecutionError)
    assert "got str" in error.message
    assert error.frames[-1].span.line == 7


# ── expectations ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("row", "given_", "expected"),
    [
        ("a", "a", NOTHING),
        (["a", 1], ["a", 1], NOTHING),
        (("a", 1, 2), ("a", 1, 2), NOTHING),
        (("a", 1), "a", 1),
        ((1, 2), 1, 2),
        (("a", [1]), "a", [1]),
        (("a", {"x": 1}), "a", {"x": 1}),
        (("a", None), "a", None),
        (((1, 2), 3), (1, 2), 3),
        (((1, 2), (3, 4)), (1, 2), (3, 4)),
    ],
)
def test_pairs(row: Any, given_: Any, expected: Any) -> None:
    assert split_row(row) == Row(row, given_, expected)


@pytest.mark.parametrize("value", [1, None, "b", [1], (1, 2)])
def test_items_of_mappings_are_bound_whole(value: Any) -> None:
    whole = [Row(("a", value), ("a", value))]
    assert rows_of({"a": value}) == whole
    assert rows_of({"a": value}.items()) == whole
    assert rows_of(list({"a": value}.items())) == [Row(("a", value), "a", value)]


def test_items_of_mappings_whose_value_is_a_dict_are_pairs() -> None:
    pair = [Row(("a", {"n": 1}), "a", {"n": 1})]
    assert rows_of({"a": {"n": 1}}) == pair
    assert rows_of({"a": {"n": 1}}.items()) == pair


@given(row=st.one_of(st.integers(), st.text(), st.tuples(st.integers()), st.lists(st.text())))
def test_what_is_no_pair_is_raw(row: Any) -> None:
    assert split_row(row) == Row(row, row)


PAIRS = "= `[('a b', 2), ('c', 1)]`"


@pytest.mark.parametrize(
    "metric",
    [
        "= `words(rows) == expected`",
        "= `words(rows) > 0`",
        "= `(True, f'{expected}')`",
        "> if: `expected > 0`:\n      = `1`\n    = `0`",
        "[e] = <expected>\n    = `words(rows) == int(e)`",
        "```\n    assert words(rows) == expected\n    ```\n    = `1`",
        "= `words(rows) == eval('expected')`",
    ],
)
def test_a_metric_gets_pairs_whatever_it_reads(compiled: Compile, metric: str) -> None:
    assert evaluate(compiled, PAIRS, metric).scores == [1.0, 1.0]


@pytest.mark.parametrize(
    "metric",
    [
        "= `words(rows[0]) == rows[1]`",
        "= ```\n    text, expected = rows\n    return words(text) == expected\n    ```",
        "[expected] = `rows[1]`\n    = `words(rows[0]) == expected`",
    ],
)
def test_a_metric_gets_items_of_a_mapping_whole(compiled: Compile, metric: str) -> None:
    assert evaluate(compiled, "= `{'a b': 2, 'c': 1}`", metric).scores == [1.0, 1.0]


def test_an_expectation_hides_a_name_of_the_program(compiled: Compile) -> None:
    before = "```\nexpected = [1, 2]\n```\n"
    metric = "= `words(rows) == expected`"
    assert evaluate(compiled, PAIRS, metric, before=before).scores == [1.0, 1.0]
    raw = "= `'b' in rows and expected == [1, 2]`"
    assert evaluate(compiled, "= `['a b']`", raw, before=before).scores == [1.0]


def test_an_expectation_that_is_not_there(compiled: Compile) -> None:
    result = evaluate(compiled, "= `['a']`", "= `expected == 1`")
    error = result.rows[0].error
    assert isinstance(error, KediNameError)
    assert error.name == "expected"


def test_several_suites(compiled: Compile) -> None:
    suite = "@eval: words:\n  > data: d:\n    = `[1]`\n  > metric: {name}(d):\n    = `{value}`\n"
    text = WORDS + suite.format(name="a", value="1") + suite.format(name="b", value="1 / 0")
    seen: list[EvalResult] = []
    report = run_evals(compiled(text), on_result=seen.append)
    assert [(item.case.metric, item.failed) for item in report.results] == [
        ("a", False),
        ("b", True),
    ]
    assert tuple(seen) == report.results
    assert report.failed == 1


def test_without_suites_there_are_no_results(compiled: Compile) -> None:
    assert run_evals(compiled("= `1 / 0`")).results == ()
