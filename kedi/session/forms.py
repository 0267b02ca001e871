"""How the known kinds of values are written, piece by piece.

Each writer of a kind gives the text of a leaf or the pieces of a compound,
lazily, so that only what fits is ever made. None of them runs user code.
"""

from __future__ import annotations

import collections
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, cast

from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import MISSING
from kedi.session.signatures import callable_text, class_text, function_text
from kedi.session.static import (
    BYTEARRAY,
    BYTES,
    COMPLEX,
    DEQUE,
    DICT,
    FLOAT,
    FROZENSET,
    INT,
    LIST,
    RANGE,
    SET,
    STR,
    TUPLE,
    VIEWS,
    attributes_of,
    class_attribute,
    instance_dict,
    is_real,
    label_of,
    mapping_behind,
    mro_of,
    name_of,
    slots_of,
)

_LONG_INT = 4_000
MARK = "…"
"""Stands for what is left out."""

_COLLECTIONS = collections.__dict__


class Part:
    """A value inside another one, still to be written."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


Pieces = Iterator["str | Part"]


class Room:
    """What a writer of a kind may know: how much room is left, and how numbers are wanted.

    It sets ``cut`` when it leaves something out itself.
    """

    __slots__ = ("cut", "hex", "one_line", "room")

    room: int

    def __init__(self, room: int, hex: bool, one_line: bool) -> None:
        self.room = room
        self.hex = hex
        self.one_line = one_line
        self.cut = False


def recursive(value: Any) -> str:
    """What stands for a value inside itself, or too deep inside another one."""
    if is_real(value, list):
        return "[...]"
    if is_real(value, dict) or is_real(value, set):
        return "{...}"
    return "(...)" if is_real(value, tuple) else f"{label_of(value)}(...)"


# ── forms ─────────────────────────────────────────────────────────────────────


def _items(values: Any, before: str, after: str) -> Pieces:
    yield before
    separator = ""
    for item in values:
        if separator:
            yield separator
        yield Part(item)
        separator = ", "
    yield after


def _pairs(mapping: Any, before: str, after: str) -> Pieces:
    yield before
    separator = ""
    for key, item in DICT.items(mapping):
        if separator:
            yield separator
        yield Part(key)
        yield ": "
        yield Part(item)
        separator = ", "
    yield after


def call_form(name: str, fields: dict[str, Any]) -> Pieces:
    """``Name(field=value, …)``."""
    yield f"{name}("
    separator = ""
    for key, item in fields.items():
        yield f"{separator}{key}="
        yield Part(item)
        separator = ", "
    yield ")"


def _joined(*groups: Pieces | str) -> Pieces:
    for group in groups:
        if type(group) is str:
            yield group
        else:
            yield from group


def structure(room: Room, value: Any) -> str | Pieces:
    """An object by what it stores, when its own ``__repr__`` is not asked."""
    name = label_of(value)
    for base, write in _CONTAINERS:
        if is_real(value, base):
            inner = write(room, value)
            return _joined(f"{name}(", inner, ")")
    for base in (str, bytes, bytearray, int, float, complex):
        if is_real(value, base):
            return _joined(f"{name}(", HANDLERS[id(base.__repr__)](room, value), ")")
    return _object(room, value)


def _object(room: Room, value: Any) -> str | Pieces:
    name = label_of(value)
    fields = attributes_of(value)
    if not fields:
        return f"<{name} object>"
    return _joined(f"<{name} ", _spaced(fields), ">")


def _spaced(fields: dict[str, Any]) -> Pieces:
    separator = ""
    for key, item in fields.items():
        yield f"{separator}{key}="
        yield Part(item)
        separator = " "


# ── known kinds of values ─────────────────────────────────────────────────────


def _int(room: Room, value: Any) -> str:
    if room.hex:
        if room.one_line and int.bit_length(value) > _LONG_INT * 4:
            room.cut = True
            top = INT.__abs__(value) >> (int.bit_length(value) - 64)
            return f"{'-' if INT.__lt__(value, 0) else ''}0x{top:x}{MARK}"
        return INT.__format__(value, "#x")
    bits = int.bit_length(value)
    if bits < _LONG_INT:
        return INT.__repr__(value)
    if not room.one_line:
        from decimal import Decimal

        # Python refuses to write very long numbers; the decimal module does not.
        return (
            f"{Decimal(INT.__add__(value, 0)):f}"
            if bits < 5_000_000
            else INT.__format__(value, "#x")
        )
    from math import log10

    room.cut = True
    top = INT.__abs__(value) >> (bits - 64)
    exponent = log10(top) + (bits - 64) * log10(2)
    digits = int(exponent)
    sign = "-" if INT.__lt__(value, 0) else ""
    return f"{sign}{10 ** (exponent - digits):.6f}e+{digits}{MARK}"


def _bool(room: Room, value: Any) -> str:
    return "True" if value is True else "False"


def _str(room: Room, value: Any) -> str:
    if STR.__len__(value) > room.room:
        room.cut = True
        return STR.__repr__(STR.__getitem__(value, slice(0, room.room)))
    return STR.__repr__(value)


def _bytes(room: Room, value: Any) -> str:
    if BYTES.__len__(value) > room.room:
        room.cut = True
        return BYTES.__repr__(BYTES.__getitem__(value, slice(0, room.room)))
    return BYTES.__repr__(value)


def _bytearray(room: Room, value: Any) -> str:
    if BYTEARRAY.__len__(value) > room.room:
        room.cut = True
        value = BYTEARRAY.__getitem__(value, slice(0, room.room))
    return f"bytearray({BYTES.__repr__(bytes(value))})"


def _list(room: Room, value: Any) -> Pieces:
    return _items(LIST.__iter__(value), "[", "]")


def _tuple(room: Room, value: Any) -> Pieces:
    return _items(TUPLE.__iter__(value), "(", ",)" if TUPLE.__len__(value) == 1 else ")")


def _dict(room: Room, value: Any) -> Pieces:
    return _pairs(value, "{", "}")


def _set(room: Room, value: Any) -> str | Pieces:
    if not SET.__len__(value):
        return f"{label_of(value)}()"
    inner = _items(SET.__iter__(value), "{", "}")
    return inner if type(value) is set else _joined(f"{label_of(value)}(", inner, ")")


def _frozenset(room: Room, value: Any) -> str | Pieces:
    name = label_of(value)
    if not FROZENSET.__len__(value):
        return f"{name}()"
    return _items(FROZENSET.__iter__(value), f"{name}({{", "})")


def _deque(room: Room, value: Any) -> Pieces:
    limit = DEQUE.maxlen.__get__(value)
    after = "])" if limit is None else f"], maxlen={limit})"
    return _items(DEQUE.__iter__(value), f"{label_of(value)}([", after)


def _named_dict(room: Room, value: Any) -> str | Pieces:
    name = label_of(value)
    return _pairs(value, f"{name}({{", "})") if DICT.__len__(value) else f"{name}()"


def _defaultdict(room: Room, value: Any) -> Pieces:
    factory = _DEFAULT.default_factory.__get__(value)
    made = name_of(factory) if is_real(factory, type) else Part(factory)
    yield f"{label_of(value)}("
    yield made
    yield ", "
    yield from _pairs(value, "{", "})")


def _behind(room: Room, value: Any) -> str | Pieces:
    inner = mapping_behind(value)
    name = label_of(value)
    if inner is None:
        return f"<{name} object>"
    if name == "dict_keys":
        return _items(DICT.__iter__(inner), "dict_keys([", "])")
    if name == "dict_values":
        return _items(DICT.values(inner), "dict_values([", "])")
    if name == "dict_items":
        return _items(DICT.items(inner), "dict_items([", "])")
    return _pairs(inner, f"{name}({{", "})")


def _error(room: Room, value: Any) -> Pieces:
    arguments = cast("Any", BaseException).args.__get__(value)
    return _items(TUPLE.__iter__(arguments), f"{label_of(value)}(", ")")


def _namespace(room: Room, value: Any) -> Pieces:
    return call_form(
        "namespace" if type(value) is SimpleNamespace else label_of(value),
        attributes_of(value),
    )


def _module(room: Room, value: Any) -> str:
    name = (instance_dict(value) or {}).get("__name__")
    return f"<module {name}>" if type(name) is str else "<module>"


def _class(room: Room, value: Any) -> str:
    return class_text(value)


def _function(room: Room, value: Any) -> str:
    return function_text(value)


def _promise(room: Room, value: Any) -> str:
    return _PROMISE.__repr__(value)


_Handler = Callable[[Room, Any], "str | Pieces"]

# Keyed by identity: a class may set anything as its ``__repr__``, also what cannot be hashed.
_ORDERED: Any = OrderedDict
_COUNTER: Any = Counter
_DEFAULT: Any = defaultdict
_PROXY: Any = MappingProxyType
_PROMISE: Any = KediPromise

_BY_REPR: tuple[tuple[Any, _Handler], ...] = (
    (INT, _int),
    (bool, _bool),
    (STR, _str),
    (BYTES, _bytes),
    (BYTEARRAY, _bytearray),
    (LIST, _list),
    (TUPLE, _tuple),
    (DICT, _dict),
    (SET, _set),
    (FROZENSET, _frozenset),
    (DEQUE, _deque),
    (_ORDERED, _named_dict),
    (_COUNTER, _named_dict),
    (_DEFAULT, _defaultdict),
    (_PROXY, _behind),
    *((view, _behind) for view in VIEWS),
    (BaseException, _error),
    (SimpleNamespace, _namespace),
    (ModuleType, _module),
    (type, _class),
    (FunctionType, _function),
    (MethodType, lambda room, value: callable_text(value)),
    (BuiltinFunctionType, lambda room, value: callable_text(value)),
    (FLOAT, lambda room, value: FLOAT.__repr__(value)),
    (COMPLEX, lambda room, value: COMPLEX.__repr__(value)),
    (RANGE, lambda room, value: RANGE.__repr__(value)),
    (type(None), lambda room, value: "None"),
    (type(...), lambda room, value: "Ellipsis"),
    (_PROMISE, _promise),
    (object, _object),
)
HANDLERS: dict[int, _Handler] = {
    id(class_attribute(cls, "__repr__")): handler for cls, handler in _BY_REPR
}
_CONTAINERS: tuple[tuple[type, _Handler], ...] = (
    (list, _list),
    (tuple, _tuple),
    (dict, _dict),
    (set, lambda room, value: _items(SET.__iter__(value), "{", "}")),
    (frozenset, lambda room, value: _items(FROZENSET.__iter__(value), "{", "}")),
    (deque, lambda room, value: _items(DEQUE.__iter__(value), "[", "]")),
)


def is_generated(found: Any, cls: type) -> bool:
    """Whether a ``__repr__`` is the one that ``dataclasses`` generates."""
    if type(found) is not FunctionType or class_attribute(cls, "__dataclass_fields__") is MISSING:
        return False
    inner = found.__dict__.get("__wrapped__", found)
    return type(inner) is FunctionType and inner.__code__.co_filename == "<string>"


def is_model_repr(found: Any) -> bool:
    """Whether a ``__repr__`` is pydantic's own."""
    pydantic = sys.modules.get("pydantic.main")
    model = (instance_dict(pydantic) or {}).get("BaseModel") if pydantic else None
    return model is not None and found is class_attribute(model, "__repr__")


def model_fields(value: Any) -> dict[str, Any]:
    """Fields of a pydantic model, extra ones included, as they are stored."""
    fields = dict(instance_dict(value) or {})
    extra = dict(slots_of(value)).get("__pydantic_extra__")
    if type(extra) is dict:
        fields.update(cast("dict[str, Any]", extra))
    return fields


def is_named_tuple(found: Any, cls: type) -> bool:
    """Whether a ``__repr__`` is the one that ``collections.namedtuple`` generates."""
    return (
        type(found) is FunctionType
        and found.__globals__ is _COLLECTIONS
        and type(class_attribute(cls, "_fields")) is tuple
        and tuple in mro_of(cls)
    )


__all__ = [
    "HANDLERS",
    "MARK",
    "Part",
    "Pieces",
    "Room",
    "call_form",
    "is_generated",
    "is_model_repr",
    "is_named_tuple",
    "model_fields",
    "recursive",
    "structure",
]
