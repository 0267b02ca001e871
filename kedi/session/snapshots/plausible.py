"""Whether a value can be that of a binding with a declared type: looked at from outside only.

Every write to a typed binding is checked as a whole, but what is inside a mutable value may have
been changed since. So a snapshot is held to what no program can change: the value's own kind.
"""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin


def plausible(kind: Any, value: Any) -> bool:
    """Whether a binding that is declared as ``kind`` may hold ``value``; true when in doubt."""
    origin = get_origin(kind)
    if origin is Union or origin is types.UnionType:
        return any(plausible(item, value) for item in get_args(kind))
    if origin is Annotated:
        return plausible(get_args(kind)[0], value)
    if origin is Literal:
        return any(type(item) is type(value) and item == value for item in get_args(kind))
    if kind is None:
        return value is None
    cls: Any = kind if origin is None else origin
    if not isinstance(cls, type) or not _says(cls):
        return True
    if type(value) is bool and cls in (int, float):
        return False
    if cls is float and type(value) is int:
        return True
    return isinstance(value, cls)


def _says(cls: type[Any]) -> bool:
    """Whether the values of a kind are instances of it: not so for typed dicts or ``EmailStr``."""
    return cls.__module__ in ("builtins", "collections", "collections.abc") or hasattr(
        cls, "__kedi_site__"
    )
