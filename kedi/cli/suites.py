"""``--test`` and ``--eval``: run the suites of a file and report.

One line for each case or row goes to stdout, traces of failures to stderr. A
file without suites is said to have none and succeeds: nothing failed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kedi.cli.programs import SourceProblem, compile_invocation, load_program
from kedi.diagnostics import paint, printable
from kedi.repl import output as terminal
from kedi.runtime.suites import run_evals, run_tests

if TYPE_CHECKING:
    from kedi.cli.options import Invocation
    from kedi.errors import KediError
    from kedi.runtime.program import KediRuntime
    from kedi.runtime.suites import CaseResult, EvalCase, EvalResult, RowResult


def test_program(invocation: Invocation) -> int:
    """Run the ``@test`` cases; 1 when one fails."""
    runtime = _compiled(invocation)
    if runtime is None:
        return 2
    try:
        report = run_tests(runtime, on_result=_case)
    finally:
        runtime.close()
    if not report.results:
        terminal.note(f"{report.source_name} has no `@test` suites")
    terminal.out(f"{report.passed} passed, {report.failed} failed ({duration(report.seconds)})")
    return 1 if report.failed else 0


def eval_program(invocation: Invocation) -> int:
    """Run the ``@eval`` suites; 1 when data or a metric fails. A low score is a result."""
    runtime = _compiled(invocation)
    if runtime is None:
        return 2
    try:
        report = run_evals(runtime, on_row=_row, on_result=_suite)
    finally:
        runtime.close()
    if not report.results:
        terminal.note(f"{report.source_name} has no `@eval` suites")
    rows = [row for result in report.results for row in result.rows]
    scored = sum(row.error is None for row in rows)
    broken = sum(result.error is not None for result in report.results)
    terminal.out(
        f"{scored} scored, {len(rows) - scored + broken} failed ({duration(report.seconds)})"
    )
    return 1 if report.failed else 0


def _compiled(invocation: Invocation) -> KediRuntime | None:
    try:
        program = load_program(invocation)
    except SourceProblem as problem:
        terminal.complain(str(problem), problem.hint)
        return None
    return compile_invocation(program, invocation)


def duration(seconds: float) -> str:
    """A readable time."""
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.2f} s"


def _word(passed: bool, good: str) -> str:
    color = terminal.use_color(sys.stdout)
    return paint(f"{good:<4}", "32", color) if passed else paint("FAIL", "1;31", color)


def _case(result: CaseResult) -> None:
    case = result.case
    terminal.out(f"{_word(result.passed, 'PASS')} {case.id} ({duration(result.seconds)})")
    if result.error is not None:
        _explain(result.error)
        if result.comparison is not None:
            compared = result.comparison
            terminal.err(f"  left:  {printable(compared.left)}")
            terminal.err(f"  right: {printable(compared.right)}")


def _row(case: EvalCase, row: RowResult) -> None:
    name = f"{case.procedure}::{case.metric} row {row.number}"
    score = "" if row.score is None else f" {row.score:g}"
    terminal.out(f"{_word(row.error is None, 'ROW')} {name}{score} ({duration(row.seconds)})")
    if row.feedback:
        terminal.out(f"     {printable(row.feedback)}")
    if row.error is not None:
        terminal.err(f"  row: {printable(row.value)}")
        _explain(row.error)


def _suite(result: EvalResult) -> None:
    case = result.case
    data = f"{case.dataset}{' (held out)' if case.held_out else ''}"
    name = f"{case.procedure}::{case.metric} on {data}"
    if result.error is not None:
        terminal.out(f"{_word(False, '')} {name}")
        _explain(result.error)
        return
    mean = "no scores" if result.mean is None else f"mean {result.mean:.4g}"
    rows = f"{len(result.scores)} of {len(result.rows)} rows"
    terminal.out(f"{_word(not result.failed, 'EVAL')} {name}: {mean}, {rows}")


def _explain(error: KediError) -> None:
    text = error.render(terminal.use_color(sys.stderr))
    terminal.err("\n".join(f"  {line}" for line in text.splitlines()))
