"""Checks of ``@test`` and ``@eval`` suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedi.analysis.names import suggestion
from kedi.analysis.report import Place
from kedi.analysis.scopes import by_end
from kedi.syntax.ast import Case, Data, EvalSuite, Metric, Stmt, TestSuite

if TYPE_CHECKING:
    from kedi.analysis.checks import Checker


def check_suite(checker: Checker, stmt: Stmt, node: TestSuite | EvalSuite) -> None:
    """A suite of a known procedure whose members fit together."""
    _procedure(checker, stmt, node)
    first: dict[str, Place] = {}
    data: set[str] = set()
    metrics: list[tuple[Stmt, Metric]] = []
    for inner in stmt.body:
        member = inner.node
        if isinstance(member, Case):
            name = member.name.text
            place = Place(inner, member.name, checker.base)
            checker.duplicate(first, f"case {name}", place, f"the case `{name}`")
        elif isinstance(member, Data):
            name = member.name.text
            word = "test_data" if member.held_out else "data"
            data.add(name)
            place = Place(inner, member.name, checker.base)
            checker.duplicate(first, f"{word} {name}", place, f"`> {word}: {name}:`")
        elif isinstance(member, Metric):
            metrics.append((inner, member))
    if isinstance(node, EvalSuite):
        _metrics(checker, stmt, node, metrics, data)


def _procedure(checker: Checker, stmt: Stmt, node: TestSuite | EvalSuite) -> None:
    name = node.procedure.text
    kind = checker.lookup(name, late=True)
    if kind in ("procedure", "python", "value"):
        return
    final = by_end(checker.top, checker.exports)
    checker.report.add(
        "unknown-procedure",
        f"there is no procedure `{name}` to validate"
        if kind is None
        else f"`{name}` is a {'value' if kind == 'data' else kind}, not a procedure",
        Place(stmt, node.procedure, checker.base),
        suggestion(name, (item for item, what in final.items() if what == "procedure")),
    )


def _metrics(
    checker: Checker,
    stmt: Stmt,
    node: EvalSuite,
    metrics: list[tuple[Stmt, Metric]],
    data: set[str],
) -> None:
    if not metrics:
        checker.report.add(
            "missing-metric",
            f"the suite of `{node.procedure.text}` has no metric",
            Place(stmt, node, checker.base),
            "add one `> metric: name(dataset):` that returns a score",
        )
    for index, (inner, metric) in enumerate(metrics):
        if index:
            first = Place(metrics[0][0], metrics[0][1].name, checker.base)
            checker.report.add(
                "duplicate",
                "a suite has exactly one metric",
                Place(inner, metric.name, checker.base),
                "return a pair `(score, feedback)` or start another `@eval` suite",
                related=checker.report.related(first, "the first metric"),
            )
        name = metric.dataset.text
        if name not in data:
            checker.report.add(
                "unknown-dataset",
                f"the metric reads `{name}`, but the suite has no `> data: {name}:`",
                Place(inner, metric.dataset, checker.base),
                suggestion(name, data),
            )
