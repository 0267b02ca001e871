"""Operators and builtin functions on plain values, bounded in size and time."""

from __future__ import annotations

import ast
import decimal
import operator
import re
from collections.abc import Callable
from enum import Enum, EnumMeta
from types import MemberDescriptorType, ModuleType
from typing import Any, cast

from kedi.runtime.scopes import MISSING
from kedi.session.debugger.plain import (
    MOST_BITS,
    NUMBERS,
    Budget,
    Refused,
    article,
    check_plain,
    contains,
    equal,
    text_size,
    truth,
)
from kedi.session.static import (
    attribute,
    class_attribute,
    is_real,
    kind_of,
    label_of,
    module_of,
    mro_of,
    name_of,
    namespace_of,
    qualified_name,
    size_of,
)

#: Its functions are generic, which types of tables cannot express.
_O: Any = operator
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _O.add,
    ast.Sub: _O.sub,
    ast.Mult: _O.mul,
    ast.Div: _O.truediv,
    ast.FloorDiv: _O.floordiv,
    ast.Mod: _O.mod,
    ast.Pow: _O.pow,
    ast.LShift: _O.lshift,
    ast.RShift: _O.rshift,
    ast.BitOr: _O.or_,
    ast.BitAnd: _O.and_,
    ast.BitXor: _O.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: _O.neg,
    ast.UAdd: _O.pos,
    ast.Invert: _O.invert,
}
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: _O.lt,
    ast.LtE: _O.le,
    ast.Gt: _O.gt,
    ast.GtE: _O.ge,
}
_REPEATED = (str, bytes, bytearray, list, tuple)
_MOST_WIDTH = 10_000


def unary(op: ast.unaryop, value: Any, budget: Budget) -> Any:
    """``-value`` and the like."""
    if isinstance(op, ast.Not):
        return not truth(value)
    check_plain(value, budget, "computing with")
    check_bits(value)
    if type(value) is bool:
        value = int(value)  # Python warns of `~True`.
    return computed(lambda: _UNARY[type(op)](value))


def binary(op: ast.operator, one: Any, other: Any, budget: Budget) -> Any:
    """``one + other`` and the like. Raises :class:`Refused` before it would get large."""
    kind = type(op)
    if kind not in _BINARY:
        raise Refused("uses an operator that runs code")
    check_plain(one, budget, "computing with")
    check_plain(other, budget, "computing with")
    check_bits(one, other)
    if kind is ast.Mult:
        _check_repeat(one, other, budget)
        _check_repeat(other, one, budget)
    elif kind is ast.Pow:
        _check_power(one, other)
    elif kind is ast.LShift and type(other) in (int, bool) and other > MOST_BITS:
        raise Refused(f"would make a number of more than {MOST_BITS:,} bits")
    elif kind is ast.Mod and type(one) in (str, bytes, bytearray):
        _check_percent(one, other, budget)
    else:
        budget.make((size_of(one) or 0) + (size_of(other) or 0))
    return computed(lambda: _BINARY[kind](one, other))


def compare(op: ast.cmpop, one: Any, other: Any, budget: Budget) -> bool:
    """``one < other`` and the like."""
    match op:
        case ast.Is():
            return one is other
        case ast.IsNot():
            return one is not other
        case ast.Eq():
            return equal(one, other, budget)
        case ast.NotEq():
            return not equal(one, other, budget)
        case ast.In():
            return contains(other, one, budget)
        case ast.NotIn():
            return not contains(other, one, budget)
        case _:
            check_plain(one, budget, "comparing")
            check_plain(other, budget, "comparing")
            return bool(computed(lambda: _ORDER[type(op)](one, other)))


def computed(act: Callable[[], Any]) -> Any:
    """What ``act`` gives."""
    # Decimals leave marks in their context: in a copy of it here.
    with decimal.localcontext():
        return act()


def check_bits(*values: Any) -> None:
    """Raise :class:`Refused` for a number with which computing takes long."""
    for value in values:
        if type(value) is int and value.bit_length() > MOST_BITS:
            raise Refused(f"computes with a number of more than {MOST_BITS:,} bits")


def _check_repeat(one: Any, count: Any, budget: Budget) -> None:
    if type(one) in _REPEATED and type(count) in (int, bool):
        budget.make(len(one) * max(0, count), type(one).__name__)
    elif size_of(one) is not None and type(one) not in _REPEATED:
        raise Refused(f"repeats {article(label_of(one))}")


def _check_power(base: Any, exponent: Any) -> None:
    if type(base) in (int, bool) and type(exponent) in (int, bool) and exponent > 0:
        if abs(int(base)).bit_length() * exponent > MOST_BITS and abs(base) > 1:
            raise Refused(f"would make a number of more than {MOST_BITS:,} bits")
    elif type(base) not in NUMBERS or type(exponent) not in NUMBERS:
        raise Refused("raises to a power what is no builtin number")


_NUMBER = re.compile(r"[0-9]+")


def check_format(spec: str) -> None:
    """Raise :class:`Refused` for a format that would make a long text."""
    if "*" in spec or any(len(n) > 5 or int(n) > _MOST_WIDTH for n in _NUMBER.findall(spec)):
        raise Refused(f"would make a text of more than {_MOST_WIDTH:,} characters")


def _check_percent(template: Any, values: Any, budget: Budget) -> None:
    text = template if isinstance(template, str) else bytes(template).decode("latin-1")
    for directive in re.findall(r"%[^a-zA-Z%]*", text):
        check_format(directive)
    parts = 1 + text.count("%")
    budget.make(len(text) + parts * (text_size(values, budget) + _MOST_WIDTH // 10))


# ── texts ─────────────────────────────────────────────────────────────────────


def formatted(value: Any, conversion: str, spec: str, budget: Budget) -> str:
    """A value in an f-string."""
    if conversion:
        value = _WRITERS[conversion](value, budget)
    if type(value) is not str or spec:
        size = text_size(value, budget)
        check_format(spec)
        budget.make(size, "text")
    elif not spec:
        budget.make(len(value), "text")
    return computed(lambda: format(value, spec))


def written(value: Any, budget: Budget) -> str:
    """``str(value)``."""
    if type(value) is str:
        return value
    budget.make(text_size(value, budget), "text")
    return str(value)


def represented(value: Any, budget: Budget) -> str:
    """``repr(value)``."""
    budget.make(text_size(value, budget), "text")
    return repr(value)


_WRITERS: dict[str, Callable[[Any, Budget], str]] = {
    "s": written,
    "r": represented,
    "a": lambda value, budget: ascii(represented(value, budget) and value),
}


# ── attributes ────────────────────────────────────────────────────────────────

_OF_CLASSES: dict[str, Callable[[type], Any]] = {
    "__name__": name_of,
    "__qualname__": qualified_name,
    "__mro__": mro_of,
}


def member(value: Any, name: str) -> Any:
    """``value.name``, read without running anything."""
    kind = kind_of(value)
    reader = class_attribute(kind, "__getattribute__")
    if not is_pythons(reader):
        raise Refused(f"reading an attribute of {article(label_of(value))} runs its code")
    found = attribute(value, name)
    if found is not MISSING:
        return found
    if is_real(value, type) and name in _OF_CLASSES:
        return _OF_CLASSES[name](value)
    if is_real(value, EnumMeta):
        members = namespace_of(value).get("_member_map_")
        if type(members) is dict and name in members:
            return cast("dict[str, Any]", members)[name]
    if is_real(value, Enum) and name in ("value", "name"):
        stored = attribute(value, f"_{name}_")
        if stored is not MISSING and is_pythons(class_attribute(kind, name)):
            return stored
    held = class_attribute(value, name) if is_real(value, type) else class_attribute(kind, name)
    if held is MISSING and is_real(value, type):
        held = class_attribute(kind, name)
    label = label_of(value)
    # An empty slot of an object is no attribute.
    if held is not MISSING and type(held) is not MemberDescriptorType:
        what = "a property" if type(held) is property else f"computed by {article(label_of(held))}"
        raise Refused(f"`{name}` of `{label}` is {what}, whose code would run")
    hook = class_attribute(kind, "__getattr__")
    if hook is MISSING and is_real(value, ModuleType):
        hook = attribute(value, "__getattr__")
    if hook is not MISSING:
        raise Refused(f"`{label}` has no attribute `{name}`, and its `__getattr__` would run")
    raise AttributeError(f"'{label}' object has no attribute '{name}'")


def is_pythons(found: Any) -> bool:
    """Whether a class attribute is Python's own: a slot in C, or of the standard library's enum."""
    if type(found) is type(object.__getattribute__):
        return True
    return module_of(kind_of(found)) in ("enum", "types")


__all__ = [
    "binary",
    "check_bits",
    "check_format",
    "compare",
    "computed",
    "formatted",
    "member",
    "represented",
    "unary",
    "written",
]
