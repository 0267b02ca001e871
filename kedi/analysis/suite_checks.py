"""Checks of ``@test`` and ``@eval`` suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedi.analysis.names import suggestion
from kedi.analysis.report import Place
from kedi.syntax.ast import Data, EvalSuite, Metric, Stmt, TestSuite

if TYPE_CHECKING:
    from kedi.analysis.checker import CheckerBase as Checker


def check_suite(checker: Checker, stmt: Stmt, node: TestSuite | EvalSuite) -> None:
    """A suite of a known procedure, whose metric reads one of its data sets."""
    _procedure(checker, stmt, node)
    data = {inner.node.name.text for inner in stmt.body if isinstance(inner.node, Data)}
    for inner in stmt.body:
        metric = inner.node
        if isinstance(metric, Metric) and metric.dataset.text not in data:
            name = metric.dataset.text
            checker.report.add(
                "unknown-dataset",
                f"the metric reads `{name}`, but the suite has no `> data: {name}:`",
                Place(inner, metric.dataset, checker.base),
                suggestion(name, data),
            )


def _procedure(checker: Checker, stmt: Stmt, node: TestSuite | EvalSuite) -> None:
    name = node.procedure.text
    kind = checker.lookup(name, late=True)
    if kind in ("procedure", "python", "value"):
        return
    checker.report.add(
        "unknown-procedure",
        f"there is no procedure `{name}` to validate"
        if kind is None
        else f"`{name}` is a {'value' if kind == 'data' else kind}, not a procedure",
        Place(stmt, node.procedure, checker.base),
        checker.suggest(name, checker.of_kind("procedure")),
    )
