"""Scopes: where bindings live, and the ``globals()`` of the Python that runs in them.

A :class:`Scope` is a dict of the names it owns. Python code executes with the
scope itself as its globals: the interpreter of Python looks a global up in the
dict, and for a name that is not there calls ``__missing__``, which asks the
enclosing scopes. So the cost of a block follows the names it uses, never the
names that are visible.
"""

from __future__ import annotations

import builtins
import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kedi.errors import KediExecutionError
from kedi.runtime.frames import CURRENT

if TYPE_CHECKING:
    from kedi.agents.config import AgentConfig

ScopeKind = Literal["session", "module", "procedure", "branch", "loop", "map", "suite"]
BindingKind = Literal["value", "procedure", "type", "profile", "python"]


class Missing:
    """Stands for "no value"; its only instance is :data:`MISSING`."""

    def __repr__(self) -> str:
        return "<no value>"


MISSING = Missing()

dict_get: Callable[..., Any] = dict[str, Any].get
dict_set: Callable[[dict[str, Any], str, Any], None] = dict[str, Any].__setitem__
dict_del: Callable[[dict[str, Any], str], None] = dict[str, Any].__delitem__
dict_has: Callable[[dict[str, Any], object], bool] = dict[str, Any].__contains__
_BUILTINS: dict[str, Any] = builtins.__dict__
_serial = itertools.count(2)


class Contract(Protocol):
    """The declared type of a binding."""

    @property
    def label(self) -> str:
        """Readable name of the type."""
        ...

    @property
    def exact(self) -> type | None:
        """A class whose exact instances are right without a check."""
        ...

    def check(self, value: Any, what: str) -> Any:
        """``value`` unchanged, or ``KediTypeExecutionError`` that names ``what``."""
        ...


class Pending(Protocol):
    """A value that is still being computed (a promise)."""

    def resolve(self) -> Any:
        """Wait for the value."""
        ...


class Scope(dict[str, Any]):
    """Names owned by one block, module or session.

    ``parent`` is the enclosing scope. ``contracts`` holds the declared types of
    owned names (``None`` until there is one). ``readonly`` are names that
    ``:=`` may not assign (parameters). ``pending`` holds promises by name: such
    a name is absent from the dict, so that any reader meets ``__missing__`` and
    waits. ``agent`` is the model configuration set by directives in this
    block, ``None`` to inherit.
    """

    __slots__ = ("agent", "contracts", "kind", "parent", "pending", "readonly")

    parent: Scope | None
    contracts: dict[str, Contract] | None
    readonly: frozenset[str] | None
    pending: dict[str, Pending] | None
    agent: AgentConfig | None
    kind: ScopeKind

    def __missing__(self, key: str) -> Any:
        # Written out rather than calling ``lookup``: embedded Python comes here for every
        # name of an enclosing scope. Builtins end the chain, because raising a KeyError
        # for Python to try them next costs more.
        if self.pending is not None and key in self.pending:
            return self.settle(key)
        scope = self.parent
        while scope is not None:
            value = dict_get(scope, key, MISSING)
            if value is not MISSING:
                return value
            if scope.pending is not None and key in scope.pending:
                return scope.settle(key)
            scope = scope.parent
        return _BUILTINS[key]

    def lookup(self, key: str) -> Any:
        """The visible value of a Kedi name, or :data:`MISSING`; builtins of Python are none."""
        scope: Scope | None = self
        while scope is not None:
            value = dict_get(scope, key, MISSING)
            if value is not MISSING:
                return value
            if scope.pending is not None and key in scope.pending:
                return scope.settle(key)
            scope = scope.parent
        return MISSING

    # ``globals()`` of embedded code is the scope: what it shows is what is visible.
    def get(self, key: str, default: Any = None) -> Any:  # type: ignore[override]
        value = self.lookup(key)
        return default if value is MISSING else value

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.owner_of(key) is not None

    def __setitem__(self, key: str, value: Any) -> None:
        # Only dynamic writes of user code come here (``globals()["x"] = 1``): the
        # interpreter and compiled Python store through the dict itself.
        write_back(self, key, value)

    def put(self, key: str, value: Any) -> Any:
        """Store and give back ``value``: what ``:=`` of embedded Python becomes."""
        write_back(self, key, value)
        return value

    def settle(self, key: str) -> Any:
        """Wait for a pending name and keep its value."""
        assert self.pending is not None
        promise = self.pending[key]
        value = promise.resolve()
        if self.pending.get(key) is promise:
            dict_set(self, key, value)
            self.pending.pop(key, None)
        return value

    def owner_of(self, key: str) -> Scope | None:
        """The nearest scope that binds ``key``, pending names included."""
        scope: Scope | None = self
        while scope is not None:
            if dict_has(scope, key) or (scope.pending is not None and key in scope.pending):
                return scope
            scope = scope.parent
        return None

    def chain(self) -> Iterator[Scope]:
        """This scope and its enclosing ones, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def own_names(self) -> list[str]:
        """Names bound here in binding order, without Python's own dunder names."""
        # Copies, made in one step: another thread may bind names meanwhile.
        names = [name for name in list(self) if not _is_dunder(name)]
        if self.pending:
            names += [name for name in list(self.pending) if name not in names]
        return names

    def contract_of(self, key: str) -> Contract | None:
        """Declared type of an owned name."""
        return self.contracts.get(key) if self.contracts else None

    # A scope is compared and hashed by identity: it may hold itself, and equal
    # contents do not make two scopes one.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.kind} scope: {', '.join(self.own_names()) or 'empty'}>"


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def new_scope(parent: Scope | None, kind: ScopeKind) -> Scope:
    """A fresh, empty scope."""
    scope = Scope()
    scope.parent = parent
    scope.contracts = None
    scope.readonly = None
    scope.pending = None
    scope.agent = None
    scope.kind = kind
    return scope


def _prepare(scope: Scope, parent: Scope | None, kind: ScopeKind) -> None:
    scope.parent = parent
    scope.contracts = None
    scope.readonly = None
    scope.pending = None
    scope.agent = None
    scope.kind = kind


class RootScope(Scope):
    """The outermost scope of a session, program or module: what Python takes for a module.

    ``__name__`` in it is a name under which ``sys.modules`` has its
    :class:`ScopeModule` for as long as the scope lives.
    """

    __slots__ = ("__weakref__",)


class ScopeModule(ModuleType):
    """Stands for a root scope in ``sys.modules``.

    Python looks up classes and annotations by their module's name: ``pickle``,
    ``typing.get_type_hints``, dataclasses and pydantic do. So a class of a program is
    found like one of a Python module, in this process. It keeps no scope alive.
    """

    def __init__(self, name: str, scope: RootScope) -> None:
        super().__init__(name)
        # Bound early: at the end of the process the module ``sys`` may be gone first.
        forget = sys.modules.pop
        self.scope = weakref.ref(scope, lambda _: forget(name, None))

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        scope = self.scope()
        return {} if scope is None else scope

    def __getattr__(self, name: str) -> Any:
        scope = self.scope()
        value = MISSING if scope is None else dict_get(scope, name, MISSING)
        if value is MISSING:
            raise AttributeError(f"{self.__name__!r} has no name {name!r}")
        return value


def root_scope(
    parent: Scope | None, kind: ScopeKind, name: str, file: str | None = None
) -> RootScope:
    """A fresh outermost scope that Python knows as the module ``kedi:name``.

    ``file`` is the absolute path of the source, which becomes ``__file__``; a scope
    without one has no ``__file__``.
    """
    scope = RootScope()
    _prepare(scope, parent, kind)
    module = base = f"kedi:{name}"
    while module in sys.modules:
        module = f"{base}-{next(_serial)}"
    sys.modules[module] = ScopeModule(module, scope)
    dict_set(scope, "__name__", module)
    # What Python would otherwise find among the builtins, about the builtins.
    for key in ("__doc__", "__package__", "__spec__", "__loader__"):
        dict_set(scope, key, None)
    if file is not None:
        dict_set(scope, "__file__", file)
    return scope


def declare(scope: Scope, name: str, value: Any, contract: Contract | None) -> None:
    """Initialise ``name`` in ``scope`` itself, with its (already checked) contract."""
    dict_set(scope, name, value)
    if scope.readonly is not None and name in scope.readonly:
        # A parameter that is initialised anew is a binding like any other.
        scope.readonly -= {name}
    if contract is not None:
        if scope.contracts is None:
            scope.contracts = {name: contract}
        else:
            scope.contracts[name] = contract
    elif scope.contracts is not None:
        scope.contracts.pop(name, None)
    if scope.pending is not None:
        scope.pending.pop(name, None)


def assign(owner: Scope, name: str, value: Any) -> None:
    """Give an owned name a new value, checked against its declared type first."""
    contract = owner.contract_of(name)
    if contract is not None:
        value = contract.check(value, name)
    dict_set(owner, name, value)
    if owner.pending is not None:
        owner.pending.pop(name, None)


def write_back(scope: Scope, name: str, value: Any) -> None:
    """Store a name written by Python: to its owner when one is visible, else in ``scope``."""
    if _is_dunder(name):
        dict_set(scope, name, value)
        return
    owner = scope.owner_of(name)
    if owner is None:
        owner = scope
    elif owner.parent is None:
        if owner.readonly and name in owner.readonly:
            raise reserved(name)
        if isinstance(scope, RootScope):
            # Values of the host are shared: a source that rebinds one gets its own.
            owner = scope
    frame = CURRENT.frame
    observer = frame.interpreter.observer if frame is not None else None
    if observer is None or frame is None:
        assign(owner, name, value)
        return
    old = dict_get(owner, name, MISSING)
    assign(owner, name, value)
    observer.binding_written(frame, owner, name, old, value)


def reserved(name: str) -> KediExecutionError:
    """The error for binding the name of the program's arguments."""
    return KediExecutionError(
        f"`{name}` holds the program's arguments and cannot be bound", hint="choose another name"
    )


class BuiltinsBridge(dict[str, Any]):
    """Builtins that first look in the enclosing scopes.

    Python resolves names in class bodies and in ``eval``/``exec`` strings by
    looking into the globals dict directly, without ``__missing__``, and then in
    the builtins. Putting this bridge under ``__builtins__`` of a nested scope
    makes enclosing names visible there too.
    """

    __slots__ = ("scope",)

    scope: Scope

    def __missing__(self, key: str) -> Any:
        parent = self.scope.parent
        value = parent.lookup(key) if parent is not None else MISSING
        return _BUILTINS[key] if value is MISSING else value


def bridge_builtins(scope: Scope) -> None:
    """Install a :class:`BuiltinsBridge` in a nested scope, once."""
    if scope.parent is None or isinstance(
        dict_get(scope, "__builtins__"), BuiltinsBridge
    ):
        return
    # __import__ and __build_class__ are read from the dict itself by some Pythons.
    bridge = BuiltinsBridge(
        __import__=builtins.__import__, __build_class__=builtins.__build_class__
    )
    bridge.scope = scope
    dict_set(scope, "__builtins__", bridge)
