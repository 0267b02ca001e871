"""The variable tree: bindings of scopes, and what values hold, page by page.

What a debugger, an editor or a terminal shows comes from here. Nothing in it
runs properties, ``__getattr__`` or other user code, waits for a promise or
walks a whole container to show its beginning; the one exception is ``__repr__``
of objects that hold little, and ``run_repr=False`` leaves that out too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import FunctionType, MethodType, ModuleType
from typing import Any, Literal, cast

from kedi.runtime.imports import kind_of_value
from kedi.runtime.procedures import info_of
from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import MISSING, Scope, dict_get
from kedi.session.preview import PREVIEW_LIMIT, Preview, encodable, full_text, preview
from kedi.session.static import (
    DEQUE,
    DICT,
    FROZENSET,
    LIST,
    RANGE,
    SET,
    TUPLE,
    attributes_of,
    class_attribute,
    instance_dict,
    is_dunder,
    is_real,
    is_view,
    kind_of,
    label_of,
    mapping_behind,
    module_of,
    namespace_of,
    size_of,
    slots_of,
)

ViewKind = Literal["value", "procedure", "type", "profile", "python", "promise"]
ChildKind = Literal["item", "key", "element", "attribute"]
Which = Literal["all", "named", "indexed"]

PAGE = 100
"""Children of a page when nothing else is asked for."""

_NAMED_KEYS = 1_000
_KEY_LIMIT = 80


@dataclass(frozen=True, slots=True)
class BindingView:
    """A name of a scope and what it is bound to.

    ``declared`` is the promised type of a typed binding; ``origin`` the name of
    the source that bound it, when that is known. ``value`` is the live object
    (a promise for a pending name). ``named`` and ``indexed`` count its children.
    """

    name: str
    kind: ViewKind
    type_label: str
    declared: str | None
    preview: str
    cut: bool
    length: int | None
    origin: str | None
    readonly: bool
    named: int
    indexed: int
    value: Any


@dataclass(frozen=True, slots=True)
class ChildView:
    """A part of a value.

    ``name`` is an index, the text of a key, or an attribute's name. ``expression``
    continues a Python expression for the parent (``[0]``, ``['key']``,
    ``.name``); ``None`` when no such text gives this child.
    """

    name: str
    kind: ChildKind
    type_label: str
    preview: str
    cut: bool
    length: int | None
    named: int
    indexed: int
    expression: str | None
    value: Any


@dataclass(frozen=True, slots=True)
class Page:
    """Some children of a value; ``named`` and ``indexed`` count all there are."""

    children: tuple[ChildView, ...]
    named: int
    indexed: int


# ── scopes ────────────────────────────────────────────────────────────────────


def view_scope(
    scope: Scope,
    *,
    origins: Mapping[str, str] | None = None,
    start: int = 0,
    count: int | None = None,
    hex: bool = False,
    limit: int = PREVIEW_LIMIT,
    run_repr: bool = True,
) -> list[BindingView]:
    """Bindings that ``scope`` itself owns, in binding order; nothing is waited for.

    ``origins`` says which source bound a name. ``start`` and ``count`` select a page.
    """
    names = scope.own_names()
    end = None if count is None else max(0, start) + max(0, count)
    found: list[BindingView] = []
    # After the names: what is no longer pending then has its value already.
    pending = dict(scope.pending) if scope.pending else {}
    for name in names[max(0, start) : end]:
        value = dict_get(scope, name, pending.get(name, MISSING))
        if value is MISSING:
            continue  # Settled or gone since the names were listed.
        contract = scope.contract_of(name)
        shown = preview(value, limit=limit, hex=hex, run_repr=run_repr)
        named, indexed = child_counts(value)
        found.append(
            BindingView(
                name,
                view_kind(value),
                type_of(value),
                contract.label if contract is not None else None,
                shown.text,
                shown.cut,
                shown.length,
                _origin(value) or (origins or {}).get(name),
                scope.readonly is not None and name in scope.readonly,
                named,
                indexed,
                value,
            )
        )
    return found


def view_kind(value: Any) -> ViewKind:
    """What a bound value is for a user of the language."""
    if type(value) in _LEAVES:
        return "value"
    if is_real(value, KediPromise):
        return "promise"
    if is_real(value, type) and "__kedi_site__" in namespace_of(value):
        return "type"
    if is_real(value, type) or type(value) in (FunctionType, MethodType, ModuleType):
        return "procedure" if info_of(value) is not None else "python"
    if module_of(kind_of(value)).startswith("kedi.runtime"):
        kind = kind_of_value(value)
        return cast("ViewKind", kind) if kind in ("profile", "procedure") else "value"
    called = class_attribute(kind_of(value), "__call__") is not MISSING
    return "python" if called and module_of(kind_of(value)) in _CALLABLES else "value"


_CALLABLES = ("builtins", "functools", "types")


def type_of(value: Any) -> str:
    """The name of a value's type; ``procedure``, ``type`` and ``module`` for such values."""
    if type(value) in _LEAVES:
        return label_of(value)
    if info_of(value) is not None:
        return "procedure"
    if is_real(value, type):
        return "type"
    if is_real(value, KediPromise):
        return "promise"
    return label_of(value)


def _origin(value: Any) -> str | None:
    if type(value) in _LEAVES:
        return None
    info = info_of(value)
    if info is not None:
        return info.unit.name
    if is_real(value, type):
        site = namespace_of(value).get("__kedi_site__")
        return site.unit.name if site is not None else None
    return value.__code__.co_filename if type(value) is FunctionType else None


# ── children ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Raw:
    """A child before its preview is made."""

    name: str
    kind: ChildKind
    value: Any
    expression: str | None


@dataclass(frozen=True, slots=True)
class _Group:
    """Children of one sort: how many, and the ones from an index on, lazily."""

    count: int
    read: Callable[[int], Iterator[_Raw]]


_NOTHING = _Group(0, lambda start: iter(()))


def child_counts(value: Any) -> tuple[int, int]:
    """How many named and indexed children a value has."""
    named, indexed = _groups(value)
    return named.count, indexed.count


def children(
    value: Any,
    start: int = 0,
    count: int = PAGE,
    *,
    which: Which = "all",
    hex: bool = False,
    limit: int = PREVIEW_LIMIT,
    run_repr: bool = True,
) -> Page:
    """Up to ``count`` children of ``value`` from the 0-based ``start`` on.

    ``which`` chooses the named or the indexed ones; ``start`` counts among the
    chosen. Costs by the page (for dicts and sets also by ``start``). Of a
    container that another thread changes meanwhile, what a copy held is shown.
    """
    named, indexed = _groups(value)
    groups = {"all": (named, indexed), "named": (named,), "indexed": (indexed,)}[which]
    start, count = max(0, start), max(0, count)
    found: list[ChildView] = []
    for group in groups:
        if start >= group.count:
            start -= group.count
            continue
        for raw in islice(group.read(start), count - len(found)):
            shown = preview(raw.value, limit=limit, hex=hex, run_repr=run_repr)
            found.append(_view(raw, shown))
        start = 0
        if len(found) >= count:
            break
    return Page(tuple(found), named.count, indexed.count)


def _view(raw: _Raw, shown: Preview) -> ChildView:
    named, indexed = child_counts(raw.value)
    return ChildView(
        raw.name,
        raw.kind,
        type_of(raw.value),
        shown.text,
        shown.cut,
        shown.length,
        named,
        indexed,
        raw.expression,
        raw.value,
    )


def _groups(value: Any) -> tuple[_Group, _Group]:
    """Named and indexed children of a value."""
    if type(value) in _LEAVES:
        return _NOTHING, _NOTHING
    if is_real(value, KediPromise):
        return _promise(value), _NOTHING
    if is_real(value, Scope):
        names = [
            name for name in value.own_names() if dict_get(value, name, MISSING) is not MISSING
        ]
        return _attributes({name: dict_get(value, name, None) for name in names}), _NOTHING
    inner = mapping_behind(value)
    if inner is not None:
        return (_NOTHING, _view_elements(value, inner)) if is_view(value) else _keys(inner, {})
    if is_real(value, dict):
        return _keys(value, attributes_of(value))
    own = _attributes(_stored(value))
    if is_real(value, tuple) and type(class_attribute(kind_of(value), "_fields")) is tuple:
        fields = class_attribute(kind_of(value), "_fields")
        return _attributes(dict(zip(fields, TUPLE.__iter__(value), strict=False))), _NOTHING
    for base, get in _SEQUENCES:
        if is_real(value, base):
            return own, _Group(size_of(value) or 0, _reader(value, get))
    for base, iterate in _ITERATED:
        if is_real(value, base):
            return own, _Group(size_of(value) or 0, _iterator(value, iterate))
    return own, _NOTHING


_LEAVES = frozenset((int, float, complex, bool, str, bytes, bytearray, type(None)))
_SEQUENCES: tuple[tuple[Any, Callable[[Any, int], Any]], ...] = (
    (LIST, LIST.__getitem__),
    (TUPLE, TUPLE.__getitem__),
    (RANGE, RANGE.__getitem__),
)
_ITERATED: tuple[tuple[Any, Callable[[Any], Iterator[Any]]], ...] = (
    (SET, SET.__iter__),
    (FROZENSET, FROZENSET.__iter__),
    (DEQUE, DEQUE.__iter__),
)


def _stored(value: Any) -> dict[str, Any]:
    """Attributes of an object as they are stored, what only Python itself reads left out."""
    if is_real(value, ModuleType):
        own = instance_dict(value) or {}
        return {name: item for name, item in own.items() if not is_dunder(name)}
    if is_real(value, type):
        return {name: item for name, item in namespace_of(value).items() if not is_dunder(name)}
    if type(value) is FunctionType:
        own = instance_dict(value) or {}
        return {} if info_of(value) is not None else own
    if type(value) is MethodType:
        return {"__self__": value.__self__, "__func__": value.__func__}
    found = attributes_of(value)
    if is_real(value, BaseException):
        base = cast("Any", BaseException)
        found = {"args": base.args.__get__(value), **found}
        for name in ("__cause__", "__context__"):
            linked = getattr(base, name).__get__(value)
            if linked is not None:
                found[name] = linked
    if "__pydantic_extra__" in (slots := dict(slots_of(value))):
        for name in ("__pydantic_extra__", "__pydantic_private__"):
            hidden = slots.get(name)
            if type(hidden) is dict:
                found.update(cast("dict[str, Any]", hidden))
    return found


def _attributes(found: Mapping[str, Any]) -> _Group:
    def read(start: int) -> Iterator[_Raw]:
        for name, item in islice(found.items(), start, None):
            expression = f".{name}" if name.isidentifier() else None
            yield _Raw(encodable(name), "attribute", item, expression)

    return _Group(len(found), read)


def _promise(promise: KediPromise[Any]) -> _Group:
    """The value of a settled promise; nothing of one that is under way or failed."""
    if not promise.done or promise.error is not None:
        return _NOTHING

    def read(start: int) -> Iterator[_Raw]:
        yield _Raw("value", "attribute", promise.resolve(), ".resolve()")

    return _Group(1, read)


def _keys(mapping: Any, attributes: Mapping[str, Any]) -> tuple[_Group, _Group]:
    """Entries of a dict are named; those of a large one are indexed, so that clients page them."""
    count = DICT.__len__(mapping)

    def read(start: int) -> Iterator[_Raw]:
        for key, item in _stable(lambda: DICT.items(mapping), start):
            literal = _literal(key)
            name = literal or preview(key, limit=_KEY_LIMIT, run_repr=False).text
            yield _Raw(name, "key", item, f"[{literal}]" if literal else None)

    own = _attributes(attributes)
    if count > _NAMED_KEYS:
        return own, _Group(count, read)

    def both(start: int) -> Iterator[_Raw]:
        if start < count:
            yield from read(start)
        yield from own.read(max(0, start - count))

    return _Group(count + own.count, both), _NOTHING


def _literal(key: Any) -> str | None:
    """Python text of a short key that reads back as the same key."""
    if type(key) in (str, bytes, int, bool, type(None)):
        text = repr(key) if type(key) is not int or key.bit_length() < 200 else ""
        return text if 0 < len(text) <= _KEY_LIMIT else None
    if type(key) is tuple:
        parts = [_literal(item) for item in islice(cast("tuple[Any, ...]", key), 8)]
        if len(parts) == len(cast("tuple[Any, ...]", key)) and None not in parts:
            text = f"({', '.join(map(str, parts))}{',' if len(parts) == 1 else ''})"
            return text if len(text) <= _KEY_LIMIT else None
    return None


def _reader(value: Any, get: Callable[[Any, int], Any]) -> Callable[[int], Iterator[_Raw]]:
    def read(start: int) -> Iterator[_Raw]:
        index = start
        while True:
            try:
                item = get(value, index)
            except IndexError:
                return
            yield _Raw(str(index), "item", item, f"[{index}]")
            index += 1

    return read


def _iterator(
    value: Any, iterate: Callable[[Any], Iterator[Any]]
) -> Callable[[int], Iterator[_Raw]]:
    indexable = is_real(value, DEQUE)

    def read(start: int) -> Iterator[_Raw]:
        for index, item in enumerate(_stable(lambda: iterate(value), start), start):
            expression = f"[{index}]" if indexable else None
            yield _Raw(str(index), "item" if indexable else "element", item, expression)

    return read


def _view_elements(view: Any, inner: dict[Any, Any]) -> _Group:
    name = label_of(view)
    read_all: Callable[[], Iterable[Any]] = {
        "dict_keys": lambda: DICT.keys(inner),
        "dict_values": lambda: DICT.values(inner),
    }.get(name, lambda: DICT.items(inner))

    def read(start: int) -> Iterator[_Raw]:
        for index, item in enumerate(_stable(read_all, start), start):
            yield _Raw(str(index), "element", item, None)

    return _Group(DICT.__len__(inner), read)


def _stable(values: Callable[[], Iterable[Any]], start: int) -> Iterator[Any]:
    """Items from ``start`` on; from a copy when another thread changes the container."""
    at = start
    try:
        for item in islice(values(), start, None):
            yield item
            at += 1
    except RuntimeError:
        # Making a list of it is one step for other threads.
        yield from islice(list(values()), at, None)


__all__ = [
    "PAGE",
    "BindingView",
    "ChildKind",
    "ChildView",
    "Page",
    "Preview",
    "ViewKind",
    "Which",
    "child_counts",
    "children",
    "full_text",
    "preview",
    "type_of",
    "view_kind",
    "view_scope",
]
