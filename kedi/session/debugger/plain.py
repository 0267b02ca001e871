"""Builtin values that can be used without running anybody's code, and what may be done to them.

A value is *plain* when it and all it holds are of Python's own types: comparing, hashing or
writing it runs only C code of Python. Each use costs from a :class:`Budget`, so that it ends.
"""

from __future__ import annotations

import datetime
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from types import MappingProxyType
from typing import Any, cast

from kedi.runtime.scopes import MISSING
from kedi.session.static import (
    DEQUE,
    DICT,
    FROZENSET,
    LIST,
    SET,
    STR,
    TUPLE,
    VIEWS,
    class_attribute,
    is_real,
    kind_of,
    label_of,
    mapping_behind,
    size_of,
)

#: What an evaluation may take: steps, of which a thousand are some milliseconds, and seconds.
STEPS = 200_000
SECONDS = 0.5
#: Characters, bytes or items of what an evaluation makes; bits of its numbers.
MOST = 1_000_000
MOST_BITS = 20_000


class Refused(Exception):
    """Evaluating would run code, call a model, wait, write or take long. Nothing was run.

    ``reason`` says which, as the end of a sentence that begins with what was asked.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Budget:
    """What is left of an evaluation's steps and time."""

    __slots__ = ("_checked", "_steps", "_until")

    def __init__(self, steps: int = STEPS, seconds: float = SECONDS) -> None:
        self._steps = steps
        self._until = time.monotonic() + seconds
        self._checked = steps

    def spend(self, steps: int = 1) -> None:
        """Take some steps. Raises :class:`Refused` when none are left."""
        self._steps -= steps
        if self._steps < 0:
            raise Refused("would take too many steps")
        if self._checked - self._steps > _CHECK:
            self._checked = self._steps
            if time.monotonic() > self._until:
                raise Refused("would take too long")

    def make(self, size: int, what: str = "value") -> None:
        """Make something of ``size`` characters, bytes or items."""
        if size > MOST:
            raise Refused(f"would make a {what} of {size:,} elements, more than {MOST:,}")
        self.spend(1 + size // 20)


_CHECK = 5_000

NUMBERS: frozenset[type] = frozenset((int, float, complex, bool))
_NO_VALUES: Any = (type(None), type(...), type(NotImplemented))
#: Types without parts. ``datetime`` and ``time`` are plain when their time zone is Python's own.
SCALARS: frozenset[type] = frozenset(
    (
        *NUMBERS,
        *_NO_VALUES,
        *(str, bytes, bytearray, range, Decimal),
        *(datetime.date, datetime.timedelta, datetime.timezone),
    )
)
_TIMES: frozenset[type] = frozenset((datetime.datetime, datetime.time))
_TUPLES: frozenset[type] = frozenset((tuple, list, set, frozenset, deque))
_DICTS: frozenset[type] = frozenset((dict, OrderedDict, defaultdict))
_ITERATE: dict[type, Any] = {
    list: LIST.__iter__,
    tuple: TUPLE.__iter__,
    set: SET.__iter__,
    frozenset: FROZENSET.__iter__,
    deque: DEQUE.__iter__,
}
_SCALAR_KEYS: frozenset[int] = frozenset(
    id(kind) for kind in (str, int, bool, float, bytes, type(None))
)


def check_plain(value: Any, budget: Budget, doing: str) -> None:
    """Raise :class:`Refused` unless ``value`` is plain. ``doing`` begins the reason."""
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        kind = kind_of(item)
        budget.spend()
        if kind in SCALARS:
            if kind in (str, bytes, bytearray):
                budget.spend((size_of(item) or 0) // 1_000)
        elif kind in _TUPLES:
            budget.spend(size_of(item) or 0)
            pending.extend(copied(lambda: list(_ITERATE[kind](item))))  # noqa: B023
        elif kind in _DICTS:
            budget.spend(2 * DICT.__len__(item))
            for pair in copied(lambda: list(DICT.items(item))):  # noqa: B023
                pending.extend(pair)
        elif kind is slice:
            pending.extend((item.start, item.stop, item.step))
        elif kind in VIEWS:
            inner = mapping_behind(item)
            pending.append(inner if type(inner) in _DICTS else object())
        elif not (kind in _TIMES and _is_plain_time(item)):
            raise Refused(f"{doing} {article(label_of(item))} may run its code")


def _is_plain_time(value: Any) -> bool:
    return type(value.tzinfo) in (type(None), datetime.timezone)


def copied(copy: Callable[[], list[Any]]) -> list[Any]:
    """What ``copy`` gives; another thread may be changing the container."""
    for _ in range(3):
        try:
            return copy()
        except RuntimeError:
            continue
    raise Refused("reads what is being changed at this moment")


def article(label: str) -> str:
    """A type's name behind its article."""
    return f"{'an' if label[:1].lower() in 'aeiou' else 'a'} `{label}`"


# ── truth, equality, order ────────────────────────────────────────────────────


def truth(value: Any) -> bool:
    """``bool(value)``."""
    kind = kind_of(value)
    if kind in SCALARS or kind in _TIMES:
        return bool(value)
    found = class_attribute(kind, "__bool__")
    if found is int.__bool__:
        return int.__bool__(value)
    if found is not MISSING:
        raise Refused(f"the truth of {article(label_of(value))} is found by its code")
    return class_attribute(kind, "__len__") is MISSING or length(value) > 0


def equal(one: Any, other: Any, budget: Budget) -> bool:
    """``one == other``."""
    if _by_identity(one) and (_by_identity(other) or kind_of(other) in SCALARS):
        return one is other
    if _by_identity(other) and kind_of(one) in SCALARS:
        return False
    check_plain(one, budget, "comparing")
    check_plain(other, budget, "comparing")
    return bool(one == other)


def _by_identity(value: Any) -> bool:
    """Whether a value is equal to nothing but itself, as objects without ``__eq__`` are."""
    return class_attribute(kind_of(value), "__eq__") is _IDENTITY


_IDENTITY: Any = object.__eq__


# ── containers ────────────────────────────────────────────────────────────────


def plain_base(value: Any, methods: Iterable[str]) -> Any:
    """The builtin container type whose own methods a value uses, ``None`` when it has others."""
    kind = kind_of(value)
    for base in _BASES:
        if is_real(value, base):
            for name in methods:
                if class_attribute(kind, name) is not class_attribute(base, name):
                    return None
            return base
    return None


def iterate(value: Any, budget: Budget) -> list[Any]:
    """The items of a builtin container, as a list."""
    kind = kind_of(value)
    if kind in VIEWS or kind is MappingProxyType:
        inner = mapping_behind(value)
        if type(inner) in _DICTS:
            budget.make(DICT.__len__(inner), "list")
            read = {"dict_values": DICT.values, "dict_items": DICT.items}
            return copied(lambda: list(read.get(label_of(value), DICT.keys)(inner)))
    base = plain_base(value, ("__iter__",))
    if base is None:
        raise Refused(f"going through {article(label_of(value))} runs its code")
    size = size_of(value)
    if size is None:
        raise Refused("would go through too many items")
    budget.make(size, "list")
    return copied(lambda: list(_iterator(base, value)))


def _iterator(base: Any, value: Any) -> Iterator[Any]:
    return cast("Iterator[Any]", base.__iter__(value))


def length(value: Any) -> int:
    """``len(value)``."""
    base = plain_base(value, ("__len__",))
    size = size_of(value)
    if base is None and not (kind_of(value) in VIEWS or kind_of(value) is MappingProxyType):
        if class_attribute(kind_of(value), "__len__") is MISSING:
            raise TypeError(f"object of type '{label_of(value)}' has no len()")
        size = None
    if size is None:
        raise Refused(f"the length of {article(label_of(value))} is found by its code")
    return size


def contains(container: Any, item: Any, budget: Budget) -> bool:
    """``item in container``."""
    base = plain_base(container, ("__contains__",))
    if base in (set, frozenset):
        return _find_key(iterate(container, budget), item, budget) is not None
    if base is dict:
        return entry(container, item, budget) is not None
    if base in (str, bytes, bytearray):
        check_plain(item, budget, "looking for")
        budget.spend(1 + (size_of(container) or 0) // 50)
        return cast("Any", base).__contains__(container, item)
    if base is range:
        check_plain(item, budget, "looking for")
        if type(item) not in (int, bool):
            budget.make(size_of(container) or 0)
        return item in container
    return any(own is item or equal(own, item, budget) for own in iterate(container, budget))


def check_key(key: Any, budget: Budget) -> None:
    """Raise :class:`Refused` unless hashing ``key`` runs no code; ``TypeError`` if it cannot be."""
    if kind_of(key) not in SCALARS or type(key) is bytearray:
        check_plain(key, budget, "hashing")
        hash(key)


def entry(mapping: Any, key: Any, budget: Budget) -> tuple[Any] | None:
    """The value of a key of a real dict, in a tuple; ``None`` when it is not there."""
    check_key(key, budget)
    size = DICT.__len__(mapping)
    budget.spend(1 + size // 20)
    # A lookup may ask a key of the dict whether it equals the one that is looked for.
    kinds = copied(lambda: list(set(map(id, map(type, DICT.keys(mapping))))))
    if _SCALAR_KEYS.issuperset(kinds) and id(kind_of(key)) in _SCALAR_KEYS:
        found = DICT.get(mapping, key, _ABSENT)
        return None if found is _ABSENT else (found,)
    own = _find_key(copied(lambda: list(DICT.keys(mapping))), key, budget)
    if own is None:
        return None
    for name, value in copied(lambda: list(DICT.items(mapping))):
        if name is own[0]:
            return (value,)
    return None


_ABSENT = object()
_HASHABLE = SCALARS | _TIMES | {tuple, frozenset}
_BASES: tuple[type, ...] = (dict, list, tuple, set, frozenset, deque, str, bytes, bytearray, range)


def _find_key(keys: list[Any], key: Any, budget: Budget) -> tuple[Any] | None:
    """The one of ``keys`` that equals a plain key.

    Those that are not plain are only asked when they are equal to nothing but themselves.
    """
    check_key(key, budget)
    for own in keys:
        budget.spend()
        if own is key:
            return (own,)
        if kind_of(own) in SCALARS and kind_of(key) in SCALARS:
            if own == key:
                return (own,)
        elif kind_of(own) in _HASHABLE:
            if equal(own, key, budget):
                return (own,)
        elif not _by_identity(own):
            raise Refused(f"looking a key up may run code of {article(label_of(own))} in it")
    return None


def item(value: Any, index: Any, budget: Budget) -> Any:
    """``value[index]``."""
    base = plain_base(value, ("__getitem__",))
    if base is None and kind_of(value) is MappingProxyType:
        value, base = mapping_behind(value), dict
        if type(value) not in _DICTS:
            raise Refused("reading it runs code")
    if base is None:
        if is_real(value, type):
            raise Refused("naming a type by `[…]` runs its code")
        if class_attribute(kind_of(value), "__getitem__") is MISSING:
            raise TypeError(f"'{label_of(value)}' object is not subscriptable")
        raise Refused(f"reading an item of {article(label_of(value))} runs its code")
    if base is dict:
        found = entry(value, index, budget)
        if found is not None:
            return found[0]
        if class_attribute(kind_of(value), "__missing__") is not MISSING:
            raise Refused(f"{article(label_of(value))} makes a value for a key that is missing")
        raise KeyError(index)
    check_plain(index, budget, "using as an index")
    if type(index) is slice:
        budget.make(size_of(value) or 0, label_of(value))
    return cast("Any", base).__getitem__(value, index)


def text_size(value: Any, budget: Budget) -> int:
    """At most how many characters ``repr`` of a plain value has."""
    check_plain(value, budget, "writing")
    total = 0
    pending: list[Any] = [value]
    while pending:
        own = pending.pop()
        budget.spend()
        kind = kind_of(own)
        if kind is str:
            total += 10 * STR.__len__(own) if not STR.isprintable(own) else 2 * STR.__len__(own)
        elif kind in (bytes, bytearray):
            total += 4 * (size_of(own) or 0)
        elif kind is int:
            total += own.bit_length() // 3
        elif kind in _TUPLES:
            pending.extend(copied(lambda: list(_ITERATE[kind](own))))  # noqa: B023
        elif kind in _DICTS:
            for pair in copied(lambda: list(DICT.items(own))):  # noqa: B023
                pending.extend(pair)
        total += 40
    return total
