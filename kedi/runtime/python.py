"""Embedded Python at run time: executed in scopes, with write-back to bindings.

A piece of Python is a function without parameters whose globals are the Kedi
scope. Names that it assigns are its own fast locals, except those that name a
visible Kedi binding when it runs: for these a variant with a ``global``
declaration is compiled (and kept), and what it stored is afterwards checked
against the declared type and given to its owner.

A prelude is a module body instead: everything it binds stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast

from kedi.errors import KediExecutionError, KediTypeExecutionError
from kedi.runtime.bridge import bridge_builtins, name_module
from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.pycode import (
    Piece,
    looks_up_by_name,
    makes_named,
    own_locals,
    reaches_globals,
)
from kedi.runtime.rewrite import SCOPE_NAME
from kedi.runtime.scopes import (
    BUILTIN_NAMES,
    MISSING,
    RootScope,
    Scope,
    dict_del,
    dict_get,
    dict_set,
    is_dunder,
    write_back,
)
from kedi.runtime.types import EPOCH, is_type_like
from kedi.runtime.writeback import keep
from kedi.syntax import ast as syntax

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

Run = Callable[[RunFrame, Scope], Any]
#: Runs a piece of Python in between: ``(frame, scope, site, kind, run)``. Gives what ``run`` gives.
Around = Callable[[RunFrame, Scope, Site, str, Run], Any]


def python_runner(interpreter: Interpreter, site: Site, node: syntax.Python) -> Run:
    """The cheapest closure that runs a piece: one that only reads needs no write-back.

    Raises :class:`kedi.errors.KediParseError` for what Python refuses to compile.
    """
    piece = Piece.of_python(site.unit, site.stmt, node, site.base_line)
    declared = piece.declared_global()
    direct = piece.write_through(declared) if declared else declared
    code = piece.function()
    run: Run
    if interpreter.foreign_executor is not None:
        from kedi.runtime.hosted import foreign_runner

        run = foreign_runner(interpreter, site, node, piece.first_line)
    elif own_locals(code) or declared or looks_up_by_name(code) or reaches_globals(code):
        run = _Storing(piece, code, declared, direct).runner()
    else:

        def read(frame: RunFrame, scope: Scope) -> Any:
            return FunctionType(code, scope)()

        # The common case has its own closure: one call less.
        def reading(frame: RunFrame, scope: Scope) -> Any:
            around = interpreter.around
            if around is None:
                return FunctionType(code, scope)()
            return around(frame, scope, site, node.kind, read)

        if interpreter.reporting_executor is None:
            return reading
        run = read
    if interpreter.reporting_executor is not None:
        from kedi.runtime.hosted import reporting

        run = reporting(interpreter, site, node, run)

    def storing(frame: RunFrame, scope: Scope) -> Any:
        around = interpreter.around
        if around is None:
            return run(frame, scope)
        return around(frame, scope, site, node.kind, run)

    return storing


def observed(frame: RunFrame, scope: Scope, site: Site, kind: str, run: Run) -> Any:
    """Run a piece between the observer's ``python_entered`` and ``python_left``."""
    observer = frame.interpreter.observer
    if observer is None or not observer.wants_python:
        return run(frame, scope)
    span = site.span
    observer.python_entered(frame, span, kind)
    try:
        return run(frame, scope)
    finally:
        observer = frame.interpreter.observer
        if observer is not None:
            observer.python_left(frame, span, kind)


_NONE: frozenset[str] = frozenset()


class _Storing:
    """A piece that assigns names, or that Python resolves in ways that need help."""

    __slots__ = (
        "bridge",
        "builtin",
        "code",
        "declared",
        "direct",
        "named",
        "piece",
        "reaching",
        "stored",
        "variants",
    )

    def __init__(
        self, piece: Piece, code: CodeType, declared: frozenset[str], direct: frozenset[str]
    ) -> None:
        self.piece = piece
        self.code = code
        self.stored = own_locals(code)
        self.declared = declared
        #: Of these, the names that nested code does not only store through the scope.
        self.direct = direct
        self.bridge = looks_up_by_name(code)
        #: Functions and classes are made, which take their module's name from the scope.
        self.named = makes_named(code)
        #: ``globals()`` may be given new names, which are to vanish.
        self.reaching = reaches_globals(code)
        builtin = self.stored & BUILTIN_NAMES
        self.builtin = piece.read_first(builtin) if builtin else builtin
        self.variants: dict[frozenset[str], CodeType] = {}

    def runner(self) -> Run:
        """The shortest way to run the piece."""
        if self.reaching:
            return self._run_reaching
        if len(self.stored) == 1 and not (
            self.declared or self.builtin or self.bridge or self.named
        ):
            return self._single()
        return self._run

    def _single(self) -> Run:
        """For a piece that stores one name: what :meth:`_run` does, in fewer steps."""
        (name,) = self.stored
        local = self.code
        variant: CodeType | None = None

        def run(frame: RunFrame, scope: Scope) -> Any:
            nonlocal variant
            old = dict_get(scope, name, MISSING)
            if scope.pending is not None or frame.interpreter.observer is not None:
                return self._run(frame, scope)
            owner = scope
            if old is MISSING:
                parent = scope.parent
                owner = parent.owner_of(name) if parent is not None else None
                if owner is None:
                    return FunctionType(local, scope)()
            if variant is None:
                variant = self.piece.function((name,))
            before = [(name, old)]
            try:
                result = FunctionType(variant, scope)()
            except BaseException as error:
                keep(frame, scope, before, _NONE, error)
                raise
            value = dict_get(scope, name, MISSING)
            if owner.contracts is not None and value is not MISSING:
                contract = owner.contracts.get(name)
                if contract is None or type(value) is contract.exact:
                    if owner is scope:
                        return result
                    if owner.pending is None and owner.parent is not None:
                        dict_del(scope, name)
                        dict_set(owner, name, value)
                        return result
            keep(frame, scope, before, _NONE)
            return result

        return run

    def _run_reaching(self, frame: RunFrame, scope: Scope) -> Any:
        known = set(scope.own_names())
        try:
            return self._run(frame, scope)
        finally:
            for name in scope.own_names():
                if name not in known:
                    dict_del(scope, name)

    def _run(self, frame: RunFrame, scope: Scope) -> Any:
        owner_of = scope.owner_of
        shared = frozenset([name for name in self.stored if owner_of(name) is not None])
        if self.builtin:
            shared |= self.builtin
        code = self.code
        if shared:
            variant = self.variants.get(shared)
            if variant is None:
                variant = self.variants[shared] = self.piece.function(tuple(sorted(shared)))
            code = variant
        if self.bridge:
            bridge_builtins(scope)
        if self.named:
            name_module(scope)
        watched, through = shared, _NONE
        if self.declared:
            watched, through = shared | self.declared, self.declared - shared - self.direct
            dict_set(scope, SCOPE_NAME, scope)
        if not watched:
            return FunctionType(code, scope)()
        if scope.pending is not None:
            # A pending name must have its value before Python can update it.
            for name in watched.intersection(list(scope.pending)):
                scope.settle(name)
        before = [(name, dict_get(scope, name, MISSING)) for name in watched]
        try:
            result = FunctionType(code, scope)()
        except BaseException as error:
            keep(frame, scope, before, through, error)
            raise
        keep(frame, scope, before, through)
        return result


class Prelude:
    """A fence that is the first content of a source: everything it binds stays.

    Where all its names are new or untyped it runs as a function whose names are all
    global: each store is then one of Python's own rather than one of the scope's.
    """

    __slots__ = ("bridge", "code", "fast", "piece", "shared", "site", "stored", "text", "variant")

    def __init__(self, interpreter: Interpreter, site: Site, node: syntax.Python) -> None:
        piece = Piece.of_python(site.unit, site.stmt, node, site.base_line)
        piece.kind = "prelude"
        self.piece = piece
        self.code = piece.module()
        self.bridge = looks_up_by_name(self.code)
        self.fast, self.stored = piece.global_function()
        #: Names that functions in it declare ``global``.
        self.shared = piece.declared_global()
        self.variant: CodeType | None = None
        self.site = site
        self.text = node.code

    def run(self, frame: RunFrame, scope: Scope) -> None:
        """Execute it. Each name is stored, and checked where a type is declared, at once."""
        interpreter = frame.interpreter
        if interpreter.foreign_executor is not None:
            execute: Callable[[], None] = partial(self._foreign, frame, scope)
        else:
            if self.bridge:
                bridge_builtins(scope)
            if self.fast is not None and self._is_plain(frame, scope):
                execute = FunctionType(self.fast, scope)
            else:
                execute = partial(exec, self._code_for(scope), scope)
        if interpreter.reporting_executor is not None:
            from kedi.runtime.hosted import told

            execute = told(interpreter, "execute_prelude", self.text, scope, execute)
        replacing = any(is_type_like(dict_get(scope, name)) for name in self.code.co_names)
        around = interpreter.around
        try:
            if around is None:
                execute()
            else:
                around(frame, scope, self.site, "prelude", lambda frame, scope: execute())
        finally:
            if replacing:
                EPOCH[0] += 1  # A class of it may have taken the name of an earlier one.

    def _is_plain(self, frame: RunFrame, scope: Scope) -> bool:
        """Whether nobody has to know of what it stores."""
        interpreter = frame.interpreter
        if interpreter.observer is not None or scope.pending is not None:
            return False
        if interpreter.args_name in self.stored:
            return False
        contracts = scope.contracts
        return not contracts or not any(name in contracts for name in self.stored | self.shared)

    def _code_for(self, scope: Scope) -> CodeType:
        if not self.shared or not any(scope.contract_of(name) for name in self.shared):
            # A function's ``global`` is then Python's own, at its full speed.
            return self.code
        if self.variant is None:
            self.piece.write_through(self.shared)
            self.variant = self.piece.module()
        dict_set(scope, SCOPE_NAME, scope)
        return self.variant

    def _foreign(self, frame: RunFrame, scope: Scope) -> None:
        from kedi.runtime.hosted import flatten

        interpreter = frame.interpreter
        executor = interpreter.foreign_executor
        assert executor is not None
        env = flatten(scope)
        extend = getattr(executor, "execute_prelude_incremental", None)
        step = "execute_prelude_incremental" if callable(extend) else "execute_prelude"
        if callable(extend):
            names: Any = extend(interpreter.handle, self.text, dict(env))
        elif isinstance(scope, RootScope) and scope.has_prelude:
            raise KediExecutionError(
                f"the executor {type(executor).__name__} cannot extend an earlier prelude",
                hint="implement `execute_prelude_incremental(runtime, code, env)`",
            )
        else:
            names = executor.execute_prelude(interpreter.handle, self.text)
        if not isinstance(names, Mapping):
            raise KediTypeExecutionError(
                f"`{type(executor).__name__}.{step}` must give a mapping of names, "
                f"not {type(names).__name__}"
            )
        if isinstance(scope, RootScope):
            scope.has_prelude = True
        for name, value in cast("Mapping[str, Any]", names).items():
            if not is_dunder(name) and value is not env.get(name, MISSING):
                write_back(scope, name, value)
