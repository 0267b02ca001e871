"""Reports of validation suites: plain data, with the spans an editor shows them at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kedi.errors import KediError
from kedi.runtime.assertions import Comparison
from kedi.source import Span


@dataclass(frozen=True, slots=True)
class TestCase:
    """A ``> case:`` as it stands in the source; ``span`` is its header line."""

    __test__ = False

    procedure: str
    name: str
    span: Span

    @property
    def id(self) -> str:
        """``procedure::case``, unique in a source."""
        return f"{self.procedure}::{self.name}"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How a case went. ``error`` is ``None`` when it passed; ``seconds`` is wall time.

    ``comparison`` are the two values of a failed ``assert a == b`` of the case itself.
    """

    case: TestCase
    seconds: float
    error: KediError | None = None
    comparison: Comparison | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing was raised."""
        return self.error is None


@dataclass(frozen=True, slots=True)
class TestReport:
    """All results in source order."""

    __test__ = False

    source_name: str
    results: tuple[CaseResult, ...]
    seconds: float

    @property
    def passed(self) -> int:
        """Number of cases that passed."""
        return sum(item.passed for item in self.results)

    @property
    def failed(self) -> int:
        """Number of cases that failed."""
        return len(self.results) - self.passed


@dataclass(frozen=True, slots=True)
class EvalCase:
    """An ``@eval`` suite: procedure, metric and the data set that is evaluated.

    ``held_out`` is true for ``> test_data:``, which is preferred. ``span`` is the
    header line of the suite.
    """

    procedure: str
    metric: str
    dataset: str
    held_out: bool
    span: Span


@dataclass(frozen=True, slots=True)
class RowResult:
    """The score of one row, numbered from 1; ``value`` is a short ``repr`` of the row.

    A row whose metric raised or gave no score has ``error`` and no ``score``.
    """

    number: int
    value: str
    seconds: float
    score: float | None = None
    feedback: str | None = None
    error: KediError | None = None


@dataclass(frozen=True, slots=True)
class EvalResult:
    """The rows of one suite; ``error`` when its data could not be had."""

    case: EvalCase
    rows: tuple[RowResult, ...]
    seconds: float
    error: KediError | None = None

    @property
    def scores(self) -> list[float]:
        """Scores of the rows that have one."""
        return [row.score for row in self.rows if row.score is not None]

    @property
    def mean(self) -> float | None:
        """Mean of the scores; ``None`` without any."""
        scores = self.scores
        return math.fsum(scores) / len(scores) if scores else None

    @property
    def failed(self) -> bool:
        """Whether the data or any row failed. A low score is no failure."""
        return self.error is not None or any(row.error is not None for row in self.rows)


@dataclass(frozen=True, slots=True)
class EvalReport:
    """All suites in source order."""

    source_name: str
    results: tuple[EvalResult, ...]
    seconds: float

    @property
    def failed(self) -> int:
        """Number of suites in which the data or a row failed."""
        return sum(item.failed for item in self.results)
