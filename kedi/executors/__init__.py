"""Executors: who runs embedded Python.

The default one compiles embedded Python into the program. A host may pass its
own object with the methods of :class:`Executor`, to sandbox or to log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Protocol, runtime_checkable

from kedi.executors.debug import (
    ExecutorDebugEvent,
    ExecutorDebugExporter,
    MarkdownDebugExporter,
    completed,
    default_debug_export_path,
    failed,
    short,
)


@runtime_checkable
class Executor(Protocol):
    """The embedded-Python protocol. ``rt`` is the running :class:`kedi.KediRuntime`.

    Names arrive as plain dicts of everything visible; changes to existing names
    in ``local_env``/``env_map`` are written back after the call, checked against
    declared types.
    """

    def set_debug_exporter(self, exporter: ExecutorDebugExporter | None) -> None:
        """Tell every later step to ``exporter``, or stop telling."""
        ...

    def evaluate_inline(self, rt: Any, code: str, local_env: dict[str, Any]) -> Any:
        """Value of one expression."""
        ...

    def execute_block(self, rt: Any, code: str, local_env: dict[str, Any]) -> Any:
        """Run a suite; the value of its ``return``."""
        ...

    def execute_side_effects(
        self, rt: Any, code: str, env_map: dict[str, Any], *, kedi_line_offset: int = 0
    ) -> None:
        """Run statements; ``kedi_line_offset`` lines stand before them in the source."""
        ...

    def execute_prelude(self, rt: Any, code: str) -> dict[str, Any]:
        """Run a prelude; the names it bound."""
        ...

    def create_dynamic_function(
        self,
        name: str,
        params: list[str],
        body: Callable[..., Any],
        defaults: dict[str, Any] | None = None,
    ) -> Callable[..., Any]:
        """The callable of a procedure; ``body`` takes the parameters."""
        ...

    def evaluate_type_expression(self, rt: Any, code: str, env: dict[str, Any]) -> Any:
        """Value of a type expression; builtin type names are in ``env``."""
        ...


class DefaultExecutor:
    """Runs embedded Python in this process, unsandboxed: it may do what the host may.

    For this very class the interpreter runs Python that it has compiled with true
    positions, and only reports the steps to the debug exporter; a subclass is called
    by the methods of the protocol.
    """

    debug_exporter: ExecutorDebugExporter | None

    def __init__(self, debug_exporter: ExecutorDebugExporter | None = None) -> None:
        self.set_debug_exporter(debug_exporter)

    def set_debug_exporter(self, exporter: ExecutorDebugExporter | None) -> None:
        """See :class:`Executor`. Takes effect at the next step."""
        if exporter is not None and not callable(getattr(exporter, "export", None)):
            raise TypeError(
                f"{type(exporter).__name__} is not a debug exporter: it lacks `export(event)`"
            )
        self.debug_exporter = exporter

    def evaluate_inline(self, rt: Any, code: str, local_env: dict[str, Any]) -> Any:
        """See :class:`Executor`."""
        return self.report(
            "evaluate_inline", code, local_env, lambda: eval(code.strip(), local_env)
        )

    def execute_block(self, rt: Any, code: str, local_env: dict[str, Any]) -> Any:
        """See :class:`Executor`."""
        return self.report("execute_block", code, local_env, lambda: _run_suite(code, local_env))

    def execute_side_effects(
        self, rt: Any, code: str, env_map: dict[str, Any], *, kedi_line_offset: int = 0
    ) -> None:
        """See :class:`Executor`."""
        self.report("execute_side_effects", code, env_map, lambda: _run_suite(code, env_map))

    def execute_prelude(self, rt: Any, code: str) -> dict[str, Any]:
        """See :class:`Executor`."""
        return self.execute_prelude_incremental(rt, code, None)

    def execute_prelude_incremental(
        self, rt: Any, code: str, env: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Run a prelude on top of ``env``; all names afterwards."""
        names = dict(env or {})

        def run() -> None:
            exec(compile(code, "<prelude>", "exec", dont_inherit=True), names)

        self.report("execute_prelude", code, names, run)
        names.pop("__builtins__", None)
        return names

    def create_dynamic_function(
        self,
        name: str,
        params: list[str],
        body: Callable[..., Any],
        defaults: dict[str, Any] | None = None,
    ) -> Callable[..., Any]:
        """See :class:`Executor`. The interpreter's function already has all of it."""
        return body

    def evaluate_type_expression(self, rt: Any, code: str, env: dict[str, Any]) -> Any:
        """See :class:`Executor`."""
        return self.report("evaluate_type_expression", code, env, lambda: eval(code.strip(), env))

    def report(self, step: str, code: str, env: Mapping[str, Any], run: Callable[[], Any]) -> Any:
        """The value of ``run``, which does ``step``, after telling the debug exporter."""
        exporter = self.debug_exporter
        if exporter is None:
            return run()
        who = type(self).__name__
        names = {name: short(value) for name, value in env.items() if not name.startswith("__")}
        try:
            value = run()
        except BaseException as error:
            exporter.export(failed(who, step, code, names, error))
            raise
        exporter.export(completed(who, step, code, names, value))
        return value


def _run_suite(code: str, names: dict[str, Any]) -> Any:
    """Run statements whose assignments land in ``names``; the value of a ``return``."""
    import ast

    tree = ast.parse(code)
    probe = ast.parse("def block():\n    pass")
    function = probe.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = tree.body or function.body
    compiled = compile(probe, "<kedi python>", "exec", dont_inherit=True)
    inner = next(item for item in compiled.co_consts if hasattr(item, "co_varnames"))
    shared = [name for name in (*inner.co_varnames, *inner.co_cellvars) if name in names]
    if shared:
        function.body.insert(0, ast.Global(names=shared, lineno=1, col_offset=0))
        ast.fix_missing_locations(probe)
        compiled = compile(probe, "<kedi python>", "exec", dont_inherit=True)
        inner = next(item for item in compiled.co_consts if hasattr(item, "co_varnames"))
    return FunctionType(inner, names)()


__all__ = [
    "DefaultExecutor",
    "Executor",
    "ExecutorDebugEvent",
    "ExecutorDebugExporter",
    "MarkdownDebugExporter",
    "default_debug_export_path",
]
