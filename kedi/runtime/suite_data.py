"""Rows and scores of ``@eval`` suites: what data and metrics may give, and how pairs are split."""

from __future__ import annotations

import math
from collections.abc import ItemsView, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from kedi.agents.reprs import short_repr
from kedi.errors import KediTypeExecutionError, KediValueExecutionError
from kedi.runtime.frames import NOTHING

#: A data set with more rows than this is refused: it may be a generator without an end.
MAX_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Row:
    """A row of data: ``whole`` as it came, the input, and ``NOTHING`` or what is expected."""

    whole: Any
    given: Any
    expected: Any = NOTHING


def split_row(row: Any, from_mapping: bool = False) -> Row:
    """A row split by the rule in :func:`kedi.runtime.suites.run_evals`."""
    if type(row) is not tuple:
        return Row(row, row)
    whole = cast("tuple[Any, ...]", row)
    if len(whole) != 2 or (from_mapping and not isinstance(whole[1], dict)):
        return Row(whole, whole)
    return Row(whole, *whole)


def rows_of(value: Any) -> Sequence[Row]:
    """The rows of what data returned; raises for what is no iterable of rows."""
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable):
        raise KediTypeExecutionError(
            "the data of an `@eval` suite must be an iterable of rows, "
            f"got {'nothing' if value is None else type(value).__name__}",
            hint="return a list natively: = `[row, row]`",
        )
    items: Iterable[Any]
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
    else:
        items = cast("Iterable[Any]", value)
    from_mapping = isinstance(value, Mapping | ItemsView)
    rows: list[Row] = []
    for item in items:
        if len(rows) == MAX_ROWS:
            raise KediValueExecutionError(
                f"the data has more than {MAX_ROWS:,} rows", hint="evaluate a sample of it"
            )
        rows.append(split_row(item, from_mapping))
    return rows


def score_of(value: Any) -> tuple[float, str | None]:
    """``(score, feedback)`` of what a metric returned; raises for what is no finite score."""
    feedback: str | None = None
    score = value
    if isinstance(value, tuple):
        pair = cast("tuple[Any, ...]", value)
        if len(pair) != 2:
            raise _no_score(f"a tuple of {len(pair)}")
        score = pair[0]
        feedback = None if pair[1] is None else str(pair[1])
    if isinstance(score, bool):
        return float(score), feedback
    if not isinstance(score, int | float):
        raise _no_score("nothing" if score is None else type(score).__name__)
    try:
        number = float(score)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise KediValueExecutionError(
            f"the score {short_repr(score)} is not a finite number",
            hint="return a score between 0.0 and 1.0",
        )
    return number, feedback


def _no_score(got: str) -> KediTypeExecutionError:
    return KediTypeExecutionError(
        f"a metric gives `bool`, `float` or `(score, feedback)`, got {got}",
        hint="return it natively: = `score`",
    )
