"""Validation suites: the cases of ``@test`` and the rows of ``@eval``.

A suite sees the *declarations* of its program: prelude, procedures, types,
imports, directives and profiles run once, in source order, and nothing else of
the top level does: no assignment, template, output or return. So a program can
be validated without doing its work. What a case needs belongs into the prelude
or into the case. Cases and rows then run in source order, each in a fresh scope
below the declarations; objects that the declarations made are shared.

An exception fails its case or row, and the rest go on. Reports are plain data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kedi.agents.reprs import short_repr
from kedi.errors import Frame, KediError, KediExecutionError, KediNameError, KediParseError
from kedi.runtime.assertions import Comparison, Recorder, SuiteCompiler
from kedi.runtime.blocks import Step
from kedi.runtime.frames import NOTHING, RunFrame, Unit
from kedi.runtime.scopes import Scope, declare, new_scope
from kedi.runtime.suite_data import Row, rows_of, score_of
from kedi.runtime.suite_reports import (
    CaseResult,
    EvalCase,
    EvalReport,
    EvalResult,
    RowResult,
    TestCase,
    TestReport,
)
from kedi.runtime.text import described
from kedi.source import Span
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Program, Stmt

if TYPE_CHECKING:
    from kedi.runtime.program import KediRuntime

_DECLARATIONS = (
    syntax.Procedure,
    syntax.TypeDef,
    syntax.Import,
    syntax.Directive,
    syntax.Profile,
)


def test_cases(program: Program) -> list[TestCase]:
    """The cases of a program, without running anything."""
    return [case for case, _, _ in _cases(program)]


test_cases.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]


def run_tests(
    runtime: KediRuntime,
    *,
    only: Collection[str] | None = None,
    on_result: Callable[[CaseResult], None] | None = None,
) -> TestReport:
    """Run the ``@test`` cases of a compiled program; ``only`` those with these ids.

    ``on_result`` is told of each case as it ends. Raises a :class:`KediError` when
    the suites do not compile or the declarations fail, before any case, and lets
    ``KeyboardInterrupt`` through.
    """
    chosen = [item for item in _cases(runtime.program) if only is None or item[0].id in only]
    began = time.perf_counter()
    results: list[CaseResult] = []
    recorder = Recorder()
    with runtime.claimed() as root:
        compiler = SuiteCompiler(runtime.interpreter, runtime.unit)
        bodies = [compiler.block(stmt.body, line) for _, stmt, line in chosen]
        _declare(runtime, compiler, root)
        for (case, _, _), body in zip(chosen, bodies, strict=True):
            scope = new_scope(root, "suite")
            recorder.bind(scope)
            _, error, seconds = _attempt(runtime, body, scope, case.span, case.id)
            result = CaseResult(case, seconds, error, _comparison(error, recorder, runtime.unit))
            results.append(result)
            if on_result is not None:
                on_result(result)
    return TestReport(runtime.unit.name, tuple(results), time.perf_counter() - began)


def run_evals(
    runtime: KediRuntime,
    *,
    on_row: Callable[[EvalCase, RowResult], None] | None = None,
    on_result: Callable[[EvalResult], None] | None = None,
) -> EvalReport:
    """Run the ``@eval`` suites of a compiled program; callbacks and errors as :func:`run_tests`.

    A row is raw (bound to the name of the data set) or a pair of input and
    expectation, which is then bound to ``expected``. Every two-tuple is such a pair. A
    mapping gives its items as rows: of these only those whose value is a dict are pairs.
    """
    began = time.perf_counter()
    results: list[EvalResult] = []
    with runtime.claimed() as root:
        compiler = SuiteCompiler(runtime.interpreter, runtime.unit)
        suites = [
            _Eval.of(runtime, compiler, stmt, line)
            for stmt, line in runtime.program.top_level()
            if isinstance(stmt.node, syntax.EvalSuite)
        ]
        _declare(runtime, compiler, root)
        for suite in suites:
            result = suite.run(root, on_row)
            results.append(result)
            if on_result is not None:
                on_result(result)
    return EvalReport(runtime.unit.name, tuple(results), time.perf_counter() - began)


def _cases(program: Program) -> list[tuple[TestCase, Stmt, int]]:
    found: list[tuple[TestCase, Stmt, int]] = []
    for stmt, line in program.top_level():
        suite = stmt.node
        if not isinstance(suite, syntax.TestSuite):
            continue
        for inner in stmt.body:
            if isinstance(inner.node, syntax.Case):
                span = program.span(inner, inner.node, line)
                case = TestCase(suite.procedure.text, inner.node.name.text, span)
                found.append((case, inner, line))
    return found


def _declare(runtime: KediRuntime, compiler: SuiteCompiler, root: Scope) -> None:
    """Run the declarations in ``root``, after everything has been compiled."""
    declarations = [
        (stmt, line)
        for stmt, line in runtime.program.top_level()
        if isinstance(stmt.node, _DECLARATIONS)
        or (isinstance(stmt.node, syntax.Fence) and stmt.node.prelude)
    ]
    body = compiler.siblings(declarations)
    if compiler.diagnostics:
        raise KediParseError([item for error in compiler.diagnostics for item in error.diagnostics])
    try:
        runtime.interpreter.run(runtime.unit, body, root)
    except KediNameError as error:
        _explain(error, runtime.program)
        raise


def _attempt(
    runtime: KediRuntime, body: Step, scope: Scope, span: Span, label: str
) -> tuple[Any, KediError | None, float]:
    """``(value, error, seconds)`` of running ``body``; only an interrupt comes out."""
    began = time.perf_counter()
    value: Any = None
    failure: KediError | None = None
    try:
        value = runtime.interpreter.run(runtime.unit, body, scope)
    except KediError as error:
        failure = error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        what = "" if isinstance(error, Exception) else "the program ended itself with "
        line = runtime.unit.line_text(span.line)
        failure = KediExecutionError(
            f"{what}{described(error)}",
            frames=[Frame("program", label, span, None, line)],
            original=error,
        )
    if isinstance(failure, KediNameError):
        _explain(failure, runtime.program)
    elif (
        isinstance(failure, KediExecutionError)
        and isinstance(failure.original, AssertionError)
        and not failure.message
    ):
        failure.args = ("the assertion does not hold",)
    return value, failure, time.perf_counter() - began


def _explain(error: KediNameError, program: Program) -> None:
    """Say why a name that the top level binds is not there."""
    if getattr(error, "name", None) in _skipped_names(program):
        error.hint = (
            f"`{error.name}` is bound by a statement of the program itself, which suites do not "
            "run: bind it in the prelude or in the case"
        )


def _skipped_names(program: Program) -> set[str]:
    found: set[str] = set()
    for stmt, _ in program.top_level():
        node = stmt.node
        if isinstance(node, syntax.Init | syntax.RawCall):
            found.add(node.target.name.text)
        elif isinstance(node, syntax.Template):
            found |= {part.name.text for part in node.parts if isinstance(part, syntax.Field)}
    return found


def _comparison(error: KediError | None, recorder: Recorder, unit: Unit) -> Comparison | None:
    if not isinstance(error, KediExecutionError) or not isinstance(error.original, AssertionError):
        return None
    last = error.python_traces[-1] if error.python_traces else None
    if last is None or last.source_name != unit.name:
        return None
    return recorder.at_line(last.line)


# ── evaluation ────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Eval:
    """A compiled ``@eval`` suite."""

    runtime: KediRuntime
    case: EvalCase
    data: Step
    metric: Step
    data_span: Span
    metric_span: Span

    @classmethod
    def of(cls, runtime: KediRuntime, compiler: SuiteCompiler, stmt: Stmt, line: int) -> _Eval:
        """Compile a suite. Analysis has made sure that it has one metric and its data."""
        program = runtime.program
        suite = stmt.node
        assert isinstance(suite, syntax.EvalSuite)
        metric_stmt = next(item for item in stmt.body if isinstance(item.node, syntax.Metric))
        metric = metric_stmt.node
        assert isinstance(metric, syntax.Metric)
        name = metric.dataset.text
        by_kind = {
            item.node.held_out: item
            for item in stmt.body
            if isinstance(item.node, syntax.Data) and item.node.name.text == name
        }
        held_out = True in by_kind
        data_stmt = by_kind[held_out]
        case = EvalCase(
            suite.procedure.text,
            metric.name.text,
            name,
            held_out,
            program.span(stmt, suite, line),
        )
        return cls(
            runtime,
            case,
            _with_result(compiler.block(data_stmt.body, line), rows_of),
            _with_result(compiler.block(metric_stmt.body, line), score_of),
            program.span(data_stmt, data_stmt.node, line),
            program.span(metric_stmt, metric, line),
        )

    def run(self, root: Scope, on_row: Callable[[EvalCase, RowResult], None] | None) -> EvalResult:
        """Evaluate every row."""
        began = time.perf_counter()
        label = f"{self.case.procedure}::{self.case.dataset}"
        rows, error, _ = _attempt(
            self.runtime, self.data, new_scope(root, "suite"), self.data_span, label
        )
        results: list[RowResult] = []
        for number, row in enumerate(rows or (), 1):
            result = self._row(root, number, row)
            results.append(result)
            if on_row is not None:
                on_row(self.case, result)
        return EvalResult(self.case, tuple(results), time.perf_counter() - began, error)

    def _row(self, root: Scope, number: int, row: Row) -> RowResult:
        scope = new_scope(root, "suite")
        shown = short_repr(row.whole, 400)
        declare(scope, self.case.dataset, row.given, None)
        if row.expected is not NOTHING:
            declare(scope, "expected", row.expected, None)
        label = f"{self.case.procedure}::{self.case.metric}"
        value, error, seconds = _attempt(
            self.runtime, self.metric, scope, self.metric_span, f"{label} row {number}"
        )
        score, feedback = value if error is None else (None, None)
        return RowResult(number, shown, seconds, score, feedback, error)


def _with_result(body: Step, convert: Callable[[Any], Any]) -> Step:
    """``body`` with its returned value converted while its frame is still there for traces."""

    def run(frame: RunFrame, scope: Scope) -> bool | None:
        ended = body(frame, scope)
        frame.value = convert(None if frame.value is NOTHING else frame.value)
        return ended

    return run


__all__ = [
    "CaseResult",
    "Comparison",
    "EvalCase",
    "EvalReport",
    "EvalResult",
    "RowResult",
    "TestCase",
    "TestReport",
    "run_evals",
    "run_tests",
    "test_cases",
]
