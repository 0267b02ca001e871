"""Embedded Python by way of a host's executor, and reports of its steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.scopes import MISSING, Scope
from kedi.runtime.writeback import Change, give
from kedi.syntax import ast as syntax

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

Run = Callable[[RunFrame, Scope], Any]


def flatten(scope: Scope) -> dict[str, Any]:
    """All visible names with their values, inner ones winning; costs by names visible."""
    names: dict[str, Any] = {}
    for part in reversed(list(scope.chain())):
        for name in part.own_names():
            names[name] = part[name]
    return names


def foreign_runner(
    interpreter: Interpreter, site: Site, node: syntax.Python, first_line: int
) -> Run:
    """Run a piece through a host's own executor, by its public protocol."""

    def run(frame: RunFrame, scope: Scope) -> Any:
        executor = interpreter.foreign_executor
        assert executor is not None
        runtime = interpreter.handle
        names = flatten(scope)
        if node.kind == "expr":
            return executor.evaluate_inline(runtime, node.code, names)
        before = dict(names)
        result = None
        try:
            if node.kind == "suite" and site.kind in ("assignment", "return"):
                result = executor.execute_block(runtime, node.code, names)
            else:
                executor.execute_side_effects(
                    runtime, node.code, names, kedi_line_offset=first_line - 1
                )
        except BaseException as error:
            _take(frame, scope, before, names, error)
            raise
        _take(frame, scope, before, names, None)
        return result

    return run


def _take(
    frame: RunFrame,
    scope: Scope,
    before: dict[str, Any],
    after: dict[str, Any],
    failure: BaseException | None,
) -> None:
    """Give the values that an executor changed to the owners of their names."""
    changes: list[Change] = []
    for name, old in before.items():
        value = after.get(name, MISSING)
        owner = scope.owner_of(name)
        if value is not old and value is not MISSING and owner is not None:
            changes.append((owner, name, value))
    give(frame, changes, failure)


# ── debug exporters ───────────────────────────────────────────────────────────


def told(
    interpreter: Interpreter, step: str, code: str, scope: Scope, run: Callable[[], Any]
) -> Callable[[], Any]:
    """``run``, reported to the debug exporter of a :class:`kedi.executors.DefaultExecutor`."""
    executor = interpreter.reporting_executor
    if executor is None or executor.debug_exporter is None:
        return run
    return partial(executor.report, step, code, flatten(scope), run)


_STEPS = {
    "expr": "evaluate_inline",
    "stmt": "execute_side_effects",
    "suite": "execute_side_effects",
}


def reporting(interpreter: Interpreter, site: Site, node: syntax.Python, run: Run) -> Run:
    """``run``, with each run of the piece reported."""
    step = _STEPS[node.kind]
    if node.kind == "suite" and site.kind in ("assignment", "return"):
        step = "execute_block"

    def tell(frame: RunFrame, scope: Scope) -> Any:
        return told(interpreter, step, node.code, scope, partial(run, frame, scope))()

    return tell
