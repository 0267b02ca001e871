"""Embedded Python at run time: executed in scopes, with write-back to bindings.

A piece of Python is a function without parameters whose globals are the Kedi
scope. Names that it assigns are its own fast locals, except those that name a
visible Kedi binding when it runs: for these a variant with a ``global``
declaration is compiled (and kept), and what it stored is afterwards checked
against the declared type and given to its owner.

A prelude is a module body instead: everything it binds stays.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from kedi.errors import KediExecutionError
from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.pycode import Piece, looks_up_by_name, own_locals
from kedi.runtime.scopes import (
    MISSING,
    Scope,
    assign,
    bridge_builtins,
    dict_del,
    dict_get,
    dict_set,
)
from kedi.syntax import ast as syntax

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

Run = Callable[[RunFrame, Scope], Any]


def python_runner(interpreter: Interpreter, site: Site, node: syntax.Python) -> Run:
    """The cheapest closure that runs a piece: one that only reads needs no write-back.

    Raises :class:`kedi.errors.KediParseError` for what Python refuses to compile.
    """
    piece = Piece.of_python(site.unit, site.stmt, node, site.base_line)
    code = piece.function()
    if interpreter.foreign_executor is not None:
        return _foreign_runner(interpreter, site, node, piece.first_line)
    declared = piece.declared_global()
    stored = own_locals(code)
    bridge = looks_up_by_name(code)
    if stored or declared or bridge:
        run = _Storing(piece, code, stored, declared, bridge).run
    else:

        def run(frame: RunFrame, scope: Scope) -> Any:
            return FunctionType(code, scope)()

        # The common case has its own closure: one call less.
        def reading(frame: RunFrame, scope: Scope) -> Any:
            if interpreter.observer is None:
                return FunctionType(code, scope)()
            return observed(frame, scope, site, node.kind, run)

        return reading

    def storing(frame: RunFrame, scope: Scope) -> Any:
        if interpreter.observer is None:
            return run(frame, scope)
        return observed(frame, scope, site, node.kind, run)

    return storing


def observed(frame: RunFrame, scope: Scope, site: Site, kind: str, run: Run) -> Any:
    """Run a piece between the observer's ``python_entered`` and ``python_left``."""
    observer = frame.interpreter.observer
    if observer is None:
        return run(frame, scope)
    span = site.span
    observer.python_entered(frame, span, kind)
    try:
        return run(frame, scope)
    finally:
        observer.python_left(frame, span, kind)


class _Storing:
    """A piece that assigns names, or that Python resolves in ways that need a bridge."""

    __slots__ = ("bridge", "code", "declared", "piece", "stored", "variants")

    def __init__(
        self,
        piece: Piece,
        code: CodeType,
        stored: frozenset[str],
        declared: frozenset[str],
        bridge: bool,
    ) -> None:
        self.piece = piece
        self.code = code
        self.stored = stored
        self.declared = declared
        self.bridge = bridge
        self.variants: dict[frozenset[str], CodeType] = {}

    def run(self, frame: RunFrame, scope: Scope) -> Any:
        owner_of = scope.owner_of
        shared = frozenset([name for name in self.stored if owner_of(name) is not None])
        code = self.code
        if shared:
            variant = self.variants.get(shared)
            if variant is None:
                variant = self.variants[shared] = self.piece.function(tuple(sorted(shared)))
            code = variant
        if self.bridge:
            bridge_builtins(scope)
        watched = shared | self.declared if self.declared else shared
        if not watched:
            return FunctionType(code, scope)()
        if scope.pending is not None:
            # A pending name must have its value before Python can update it.
            for name in watched & scope.pending.keys():
                scope.settle(name)
        before = [(name, dict_get(scope, name, MISSING)) for name in watched]
        try:
            result = FunctionType(code, scope)()
        except BaseException:
            _keep(frame, scope, before, quiet=True)
            raise
        _keep(frame, scope, before, quiet=False)
        return result


def _keep(frame: RunFrame, scope: Scope, before: list[tuple[str, Any]], *, quiet: bool) -> None:
    """Give what a block stored to its owners; restore what may not be stored.

    ``quiet`` is for a block that failed: what it had stored and may stay is kept, and
    its own error is the one to report.
    """
    failure: KediExecutionError | None = None
    for name, old in before:
        new = dict_get(scope, name, MISSING)
        if new is old:
            continue
        if new is MISSING:
            # ``del x`` (or the end of ``except … as x``) does not end a Kedi binding.
            dict_set(scope, name, old)
            continue
        if old is MISSING:
            dict_del(scope, name)
            owner = scope.parent.owner_of(name) if scope.parent is not None else None
            if owner is None:
                continue
        else:
            owner = scope
            dict_set(scope, name, old)
        try:
            write(frame, owner, name, new)
        except KediExecutionError as error:
            failure = failure or error
    if failure is not None and not quiet:
        raise failure


def write(frame: RunFrame, owner: Scope, name: str, value: Any) -> None:
    """Assign an owned name, checked, and tell the observer."""
    if name == frame.interpreter.args_name:
        raise KediExecutionError(
            f"`{name}` holds the program's arguments and cannot be bound",
            hint="choose another name",
        )
    observer = frame.interpreter.observer
    if observer is None:
        assign(owner, name, value)
        return
    old = dict_get(owner, name, MISSING)
    assign(owner, name, value)
    observer.binding_written(frame, owner, name, old, value)


class Prelude:
    """A fence that is the first content of a source."""

    __slots__ = ("code", "names", "site", "text")

    def __init__(self, site: Site, node: syntax.Python) -> None:
        piece = Piece.of_python(site.unit, site.stmt, node, site.base_line)
        piece.kind = "prelude"
        self.code = piece.module()
        self.names = frozenset(self.code.co_names)
        self.site = site
        self.text = node.code

    def run(self, frame: RunFrame, scope: Scope) -> None:
        """Execute it: everything it binds stays in ``scope``, checked where a type is declared."""
        interpreter = frame.interpreter
        contracts = scope.contracts
        guarded = [name for name in self.names if contracts and name in contracts]
        guarded.append(interpreter.args_name)
        before = [(name, dict_get(scope, name, MISSING)) for name in guarded]
        observer = interpreter.observer
        known = set(scope.keys()) if observer is not None else set[str]()
        span = self.site.span
        if observer is not None:
            observer.python_entered(frame, span, "prelude")
        try:
            foreign = interpreter.foreign_executor
            if foreign is None:
                exec(self.code, scope)
            else:
                for name, value in interpreter.foreign_prelude(self.text, scope).items():
                    dict_set(scope, name, value)
        except BaseException:
            _keep(frame, scope, [pair for pair in before if pair[1] is not MISSING], quiet=True)
            raise
        finally:
            if observer is not None:
                observer.python_left(frame, span, "prelude")
        _keep(frame, scope, [pair for pair in before if pair[1] is not MISSING], quiet=False)
        if observer is not None:
            for name in scope.own_names():
                if name not in known:
                    observer.binding_written(frame, scope, name, MISSING, scope[name])


def flatten(scope: Scope) -> dict[str, Any]:
    """All visible names with their values, inner ones winning; costs by names visible."""
    names: dict[str, Any] = {}
    for part in reversed(list(scope.chain())):
        for name in part.own_names():
            names[name] = part[name]
    return names


def _foreign_runner(
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
        try:
            if node.kind == "suite" and site.kind in ("assignment", "return"):
                return executor.execute_block(runtime, node.code, names)
            executor.execute_side_effects(
                runtime, node.code, names, kedi_line_offset=first_line - 1
            )
        finally:
            for name, value in names.items():
                owner = scope.owner_of(name)
                if owner is not None and value is not before.get(name, MISSING):
                    write(frame, owner, name, value)
        return None

    def stepping(frame: RunFrame, scope: Scope) -> Any:
        if interpreter.observer is None:
            return run(frame, scope)
        return observed(frame, scope, site, node.kind, run)

    return stepping
