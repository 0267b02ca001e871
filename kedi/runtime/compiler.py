"""The compiler: statements to closures, each with its site.

``step(frame, scope)`` runs one statement and gives ``True`` when a return ended
the procedure or program (the value is then in ``frame.value``). A block runs
its steps in order and stops at the first ``True``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kedi.errors import FrameKind, KediExecutionError, KediParseError
from kedi.runtime.blocks import Step, sequence
from kedi.runtime.frames import RunFrame, Site, Unit
from kedi.runtime.python import Prelude, python_runner
from kedi.runtime.scopes import MISSING, Scope, declare, dict_get, dict_has, dict_set
from kedi.runtime.types import STR, TypeContract, TypeSource
from kedi.runtime.values import (
    is_text,
    rendered,
    return_runner,
    text_runner,
    unknown_name,
    value_runner,
)
from kedi.runtime.writeback import write
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter


class Compiler:
    """Compiles the statements of one unit for one interpreter."""

    __slots__ = ("diagnostics", "interpreter", "unit")

    def __init__(self, interpreter: Interpreter, unit: Unit) -> None:
        self.interpreter = interpreter
        self.unit = unit
        self.diagnostics: list[KediParseError] = []

    def program(self, program: syntax.Program) -> Step:
        """The whole source as one block. Raises :class:`KediParseError` for bad Python."""
        block = self.siblings(list(program.top_level()))
        if self.diagnostics:
            raise KediParseError([item for error in self.diagnostics for item in error.diagnostics])
        return block

    def block(self, body: Sequence[Stmt], base_line: int, procedure: str | None = None) -> Step:
        """The statements of a body; of a procedure's own, with its name."""
        return self.siblings([(stmt, base_line) for stmt in body], procedure)

    def siblings(self, stmts: Sequence[tuple[Stmt, int]], procedure: str | None = None) -> Step:
        """Statements of one level; ``> else:`` and ``> map:`` join the one before them."""
        steps: list[tuple[Site, Step]] = []
        index = 0
        while index < len(stmts):
            stmt, line = stmts[index]
            index += 1
            follower = stmts[index] if index < len(stmts) else None
            if follower is not None and isinstance(follower[0].node, (syntax.Else, syntax.Map)):
                index += 1
            else:
                follower = None
            try:
                made = self.statement(stmt, line, follower)
            except KediParseError as error:
                # Python's compiler found a fault: go on, to report every one of them.
                self.diagnostics.append(error)
                continue
            if made is not None:
                steps.append(made)
        return sequence(self.interpreter, steps, procedure)

    def site(self, stmt: Stmt, line: int, kind: FrameKind, label: str = "") -> Site:
        """The place of a whole statement."""
        return Site(self.unit, stmt, stmt.node, line, kind, label)

    def statement(
        self, stmt: Stmt, line: int, follower: tuple[Stmt, int] | None = None
    ) -> tuple[Site, Step] | None:
        """Compile one statement; ``None`` for those that do nothing when they run."""
        make = _MAKERS.get(type(stmt.node))
        if make is not None:
            return make(self, stmt, line)
        node = stmt.node
        if isinstance(node, (syntax.If, syntax.Loop, syntax.LoopEach)):
            from kedi.runtime.control import compile_control

            return compile_control(self, stmt, line, follower)
        if isinstance(node, (syntax.Template, syntax.RawCall, syntax.Optimize, syntax.Auto)):
            from kedi.runtime.models import compile_model_call

            return compile_model_call(self, stmt, line)
        if isinstance(node, syntax.Procedure):
            from kedi.runtime.procedures import compile_procedure

            return compile_procedure(self, stmt, line)
        if isinstance(node, syntax.TypeDef):
            from kedi.runtime.typedefs import compile_type

            return compile_type(self, stmt, line)
        if isinstance(node, syntax.Import):
            from kedi.runtime.imports import compile_import

            return compile_import(self, stmt, line)
        if isinstance(node, (syntax.Directive, syntax.Profile)):
            from kedi.runtime.directives import compile_directive

            return compile_directive(self, stmt, line)
        # Exports, docstrings and suites are read by others and do nothing when they run.
        return None


def bind(
    frame: RunFrame, scope: Scope, name: str, value: Any, contract: TypeContract | None
) -> None:
    """Initialise a binding and tell the observer."""
    observer = frame.interpreter.observer
    if observer is None:
        declare(scope, name, value, contract)
        return
    old = dict_get(scope, name, MISSING)
    declare(scope, name, value, contract)
    observer.binding_written(frame, scope, name, old, value)


# ── simple statements ─────────────────────────────────────────────────────────


def _with_observed(step: Step, observed: Step) -> Step:
    """``step``, with its form that tells the observer of the binding."""
    step.observed = observed  # pyright: ignore[reportFunctionMemberAccess]
    return step


def _init(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    node = stmt.node
    assert isinstance(node, syntax.Init)
    interpreter = compiler.interpreter
    name = node.target.name.text
    site = compiler.site(stmt, line, "assignment", f"[{name}]")
    run = value_runner(interpreter, site, node.value)
    declared = node.target.type
    if declared is None:
        if not is_text(node.value):

            def init(frame: RunFrame, scope: Scope) -> None:
                declare(scope, name, run(frame, scope), None)

            def observed_init(frame: RunFrame, scope: Scope) -> None:
                bind(frame, scope, name, run(frame, scope), None)

            return site, _with_observed(init, observed_init)

        def init_text(frame: RunFrame, scope: Scope) -> None:
            value = run(frame, scope)
            if scope.pending is not None:
                declare(scope, name, value, STR)
                return
            # ``declare``, written out for the two commonest statements.
            dict_set(scope, name, value)
            contracts = scope.contracts
            if contracts is None:
                scope.contracts = {name: STR}
            else:
                contracts[name] = STR

        def observed_text(frame: RunFrame, scope: Scope) -> None:
            bind(frame, scope, name, run(frame, scope), STR)

        return site, _with_observed(init_text, observed_text)
    source = TypeSource(site.at(declared, "type expression", declared.text), declared)
    constant = source.constant
    if constant is not None:
        exact = constant.exact
        check = constant.check

        def init_plain(frame: RunFrame, scope: Scope) -> None:
            value = run(frame, scope)
            if type(value) is not exact:
                check(value, name)
            if scope.pending is not None:
                declare(scope, name, value, constant)
                return
            dict_set(scope, name, value)
            contracts = scope.contracts
            if contracts is None:
                scope.contracts = {name: constant}
            else:
                contracts[name] = constant

        def observed_plain(frame: RunFrame, scope: Scope) -> None:
            bind(frame, scope, name, check(run(frame, scope), name), constant)

        return site, _with_observed(init_plain, observed_plain)

    def init_typed(frame: RunFrame, scope: Scope) -> None:
        contract = source.resolve(frame, scope)
        value = contract.check(run(frame, scope), name)
        bind(frame, scope, name, value, contract)

    return site, init_typed


def _assign(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    node = stmt.node
    assert isinstance(node, syntax.Assign)
    name = node.target.text
    interpreter = compiler.interpreter
    site = compiler.site(stmt, line, "assignment", f"[{name}]")
    run = value_runner(interpreter, site, node.value)

    def assign(frame: RunFrame, scope: Scope) -> None:
        value = run(frame, scope)
        owner = scope if dict_has(scope, name) else scope.owner_of(name)
        if owner is None or (owner.readonly is not None and name in owner.readonly):
            raise _not_assignable(scope, owner, name)
        contracts = owner.contracts
        contract = contracts.get(name) if contracts is not None else None
        if owner.pending is None and (contract is None or type(value) is contract.exact):
            dict_set(owner, name, value)
        else:
            write(frame, owner, name, value)

    def observed_assign(frame: RunFrame, scope: Scope) -> None:
        value = run(frame, scope)
        owner = scope.owner_of(name)
        if owner is None or (owner.readonly is not None and name in owner.readonly):
            raise _not_assignable(scope, owner, name)
        write(frame, owner, name, value)

    return site, _with_observed(assign, observed_assign)


def _not_assignable(scope: Scope, owner: Scope | None, name: str) -> KediExecutionError:
    if owner is None:
        return unknown_name(scope, name, f"initialise it first with `[{name}] = …`")
    return KediExecutionError(
        f"parameter `{name}` is read-only",
        hint=f"bind a new name instead, such as `[new_{name}] = …`",
    )


def _return(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    node = stmt.node
    assert isinstance(node, syntax.Return)
    site = compiler.site(stmt, line, "return")
    run = return_runner(compiler.interpreter, site, node.value)

    def leave(frame: RunFrame, scope: Scope) -> bool:
        frame.value = run(frame, scope)
        return True

    return site, leave


def _python(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    node = stmt.node
    assert isinstance(node, syntax.PythonStatement)
    site = compiler.site(stmt, line, "python statement")
    run = python_runner(compiler.interpreter, site, node.python)

    def execute(frame: RunFrame, scope: Scope) -> None:
        run(frame, scope)

    return site, execute


def _fence(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    node = stmt.node
    assert isinstance(node, syntax.Fence)
    if node.prelude:
        site = compiler.site(stmt, line, "prelude")
        return site, Prelude(compiler.interpreter, site, node.python).run
    site = compiler.site(stmt, line, "fenced python")
    run = python_runner(compiler.interpreter, site, node.python)

    def execute(frame: RunFrame, scope: Scope) -> None:
        # A ``return`` only ends the fence.
        run(frame, scope)

    return site, execute


def _show(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    node = stmt.node
    assert isinstance(node, syntax.Show)
    interpreter = compiler.interpreter
    site = compiler.site(stmt, line, "show")
    if node.value.kind in ("native", "fence"):
        run = value_runner(interpreter, site, node.value)
    else:
        run = text_runner(interpreter, site, node.value.parts)

    def show(frame: RunFrame, scope: Scope) -> None:
        interpreter.show(rendered(run(frame, scope)))

    return site, show


_MAKERS: dict[type, Callable[[Compiler, Stmt, int], tuple[Site, Step]]] = {
    syntax.Init: _init,
    syntax.Assign: _assign,
    syntax.Return: _return,
    syntax.PythonStatement: _python,
    syntax.Fence: _fence,
    syntax.Show: _show,
}
