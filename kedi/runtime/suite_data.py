"""Rows and scores of ``@eval`` suites: what data and metrics may give, and how pairs are split."""

from __future__ import annotations

import ast as python_ast
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from kedi.agents.reprs import short_repr
from kedi.errors import KediTypeExecutionError, KediValueExecutionError
from kedi.runtime.frames import NOTHING
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

#: A data set with more rows than this is refused: it may be a generator without an end.
MAX_ROWS = 100_000


def split_row(row: Any, reads_expected: bool) -> tuple[Any, Any]:
    """``(input, expected)`` of a row, expected ``NOTHING`` where none is to be bound.

    The rule is in :func:`kedi.runtime.suites.run_evals`.
    """
    whole: Any = row
    if type(row) is not tuple or len(whole) != 2:
        return whole, NOTHING
    given: Any = whole[0]
    expected: Any = whole[1]
    if reads_expected or _is_a(expected, dict):
        return given, expected
    if expected is None:
        return given, NOTHING
    if _is_a(given, tuple) and not _is_a(expected, list, tuple):
        return given, expected
    return whole, NOTHING


def _is_a(value: Any, *classes: type[Any]) -> bool:
    return isinstance(value, classes)


def rows_of(value: Any) -> Sequence[Any]:
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
    rows: list[Any] = []
    for item in items:
        if len(rows) == MAX_ROWS:
            raise KediValueExecutionError(
                f"the data has more than {MAX_ROWS:,} rows", hint="evaluate a sample of it"
            )
        rows.append(item)
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


def reads(body: Sequence[Stmt], name: str) -> bool:
    """Whether the statements read ``name`` and bind it nowhere themselves."""
    read = False
    pending: list[Any] = list(body)
    while pending:
        item = pending.pop()
        if isinstance(item, Stmt):
            pending += [item.node, *item.body]
        elif isinstance(item, syntax.Python):
            loads, stores = _uses(item.code, name)
            if stores:
                return False
            read = read or loads
        elif isinstance(item, syntax.Field) and item.name.text == name:
            return False
        elif isinstance(item, syntax.Read):
            read = read or item.name.text == name
        elif isinstance(item, tuple):
            pending += cast("tuple[Any, ...]", item)
        elif isinstance(item, syntax.Node):
            names: tuple[str, ...] = getattr(item, "__match_args__", ())
            pending += [getattr(item, field) for field in names]
    return read


def _uses(code: str, name: str) -> tuple[bool, bool]:
    try:
        tree = python_ast.parse(code.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False, False  # the compiler says what is wrong with it
    uses = [
        isinstance(node.ctx, python_ast.Load)
        for node in python_ast.walk(tree)
        if isinstance(node, python_ast.Name) and node.id == name
    ]
    return True in uses, False in uses
