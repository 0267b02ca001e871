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
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

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
#: The methods of a dict that scopes override.
_plain: Any = dict
_BUILTINS: dict[str, Any] = builtins.__dict__
_serial = itertools.count(2)
#: Names of Python's own functions, classes and exceptions.
BUILTIN_NAMES: frozenset[str] = frozenset(name for name in _BUILTINS if name[0] != "_")


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
        if self.pending is not None:
            value = self.settle(key)
            if value is not MISSING:
                return value
        scope = self.parent
        while scope is not None:
            value = dict_get(scope, key, MISSING)
            if value is not MISSING:
                return value
            if scope.pending is not None:
                value = scope.settle(key)
                if value is not MISSING:
                    return value
            scope = scope.parent
        return _BUILTINS[key]

    def lookup(self, key: str) -> Any:
        """The visible value of a Kedi name, or :data:`MISSING`; builtins of Python are none."""
        scope: Scope | None = self
        while scope is not None:
            value = dict_get(scope, key, MISSING)
            if value is not MISSING:
                return value
            if scope.pending is not None:
                value = scope.settle(key)
                if value is not MISSING:
                    return value
            scope = scope.parent
        return MISSING

    # ``globals()`` of embedded code is the scope: what it shows is what is visible. These
    # do not wait: of a name that is pending they give the promise, for who wants to pass it on.
    def get(self, key: str, default: Any = None) -> Any:  # type: ignore[override]
        owner = self.owner_of(key)
        if owner is None:
            return default
        pending = owner.pending
        promise = pending.get(key) if pending is not None else None
        return dict_get(owner, key, default) if promise is None else promise

    def keys(self) -> Any:
        return _plain.keys(self._shown())

    def values(self) -> Any:
        return _plain.values(self._shown())

    def items(self) -> Any:
        return _plain.items(self._shown())

    def __iter__(self) -> Iterator[str]:
        return _plain.__iter__(self._shown())

    def copy(self) -> dict[str, Any]:
        return dict(_plain.items(self._shown()))

    def _shown(self) -> dict[str, Any]:
        # By its items: a dict that overrides ``__iter__`` is copied by asking it for its keys.
        return {**dict(_plain.items(self)), **self.pending} if self.pending else self

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.owner_of(key) is not None

    def __setitem__(self, key: str, value: Any) -> None:
        # Only dynamic writes of user code come here (``globals()["x"] = 1``): the
        # interpreter and compiled Python store through the dict itself.
        write_back(self, key, value)

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict[str, Any](*args, **kwargs).items():
            write_back(self, key, value)

    def setdefault(self, key: str, default: Any = None) -> Any:
        value = self.lookup(key)
        return self.put(key, default) if value is MISSING else value

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def put(self, key: str, value: Any) -> Any:
        """Store and give back ``value``: what ``:=`` of embedded Python becomes."""
        write_back(self, key, value)
        return value

    def settle(self, key: str) -> Any:
        """Wait for a pending name and keep its value; :data:`MISSING` when it is not bound here."""
        pending = self.pending
        promise = pending.get(key) if pending is not None else None
        if promise is None or pending is None:
            # Another thread may have settled it after the caller looked.
            return dict_get(self, key, MISSING)
        value = promise.resolve()
        if pending.get(key) is promise:
            # In this order, so that no other thread finds the name nowhere.
            dict_set(self, key, value)
            pending.pop(key, None)
        return value

    def owner_of(self, key: str) -> Scope | None:
        """The nearest scope that binds ``key``, pending names included."""
        scope: Scope | None = self
        while scope is not None:
            # Pending names first: they become ordinary ones before they stop being pending.
            pending = scope.pending
            if (pending is not None and key in pending) or dict_has(scope, key):
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
        names = [name for name in own_keys(self) if not is_dunder(name)]
        if self.pending:
            known = set(names)
            names += [name for name in list(self.pending) if name not in known]
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


def own_keys(scope: Scope) -> list[str]:
    """Every name in a scope itself that has a value, Python's own included, in binding order."""
    return list(_plain.keys(scope))


def is_dunder(name: str) -> bool:
    """Whether a name is one of Python's own, which are no Kedi bindings."""
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
    :class:`ScopeModule` for as long as the scope lives. ``has_prelude`` says whether a
    host's executor has run a prelude in it.
    """

    __slots__ = ("__weakref__", "has_prelude")

    has_prelude: bool


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
    scope.has_prelude = False
    module = base = f"kedi:{name}"
    while module in sys.modules:
        module = f"{base}-{next(_serial)}"
    sys.modules[module] = ScopeModule(module, scope)
    dict_set(scope, "__name__", module)
    # Functions of Python written in C read it, such as ``datetime.strptime`` to import a module.
    dict_set(scope, "__builtins__", builtins)
    # What Python would otherwise find among the builtins, about the builtins.
    for key in ("__doc__", "__package__", "__spec__", "__loader__"):
        dict_set(scope, key, None)
    if file is not None:
        dict_set(scope, "__file__", file)
    return scope


def declare(scope: Scope, name: str, value: Any, contract: Contract | None) -> None:
    """Initialise ``name`` in ``scope`` itself, with its (already checked) contract."""
    dict_set(scope, name, value)
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
    store(owner, name, value)


def store(owner: Scope, name: str, value: Any) -> None:
    """Give an owned name a value that has been checked."""
    dict_set(owner, name, value)
    if owner.pending is not None:
        owner.pending.pop(name, None)


def write_back(scope: Scope, name: str, value: Any) -> None:
    """Store a name written by Python: to its owner when one is visible, else in ``scope``."""
    if name == "__builtins__":
        # Python code of the session would find neither ``import`` nor anything else any more.
        raise KeyError("`__builtins__` of a session cannot be replaced")
    if is_dunder(name):
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
