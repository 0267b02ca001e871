"""Typed dictionaries of the standard library, in a form that pydantic takes."""

from __future__ import annotations

import sys
import types
import typing
from functools import lru_cache
from typing import Any


def portable(kind: Any) -> Any:
    """``kind`` with every ``typing.TypedDict`` in it in a form that can be checked.

    Before Python 3.12 pydantic takes those of ``typing_extensions`` only.
    """
    if sys.version_info >= (3, 12):
        return kind
    if type(kind) is _TYPED_DICT:
        try:
            return _portable_dict(kind)
        except (NameError, RecursionError):
            return kind  # An annotation that cannot be resolved: pydantic will say so.
    args = typing.get_args(kind)
    origin: Any = typing.get_origin(kind)
    if not args or origin is typing.Literal:
        return kind
    if hasattr(kind, "__metadata__"):
        inner = portable(args[0])
        return kind if inner is args[0] else typing.Annotated[(inner, *args[1:])]
    swapped = tuple(portable(item) for item in args)
    if all(new is old for new, old in zip(swapped, args, strict=True)):
        return kind
    if origin in (typing.Union, types.UnionType):
        return typing.Union[swapped]  # noqa: UP007 - built from a tuple
    if hasattr(kind, "copy_with"):
        return kind.copy_with(swapped)
    return types.GenericAlias(origin, swapped)


class _Probe(typing.TypedDict):
    pass


_TYPED_DICT: type = type(_Probe)


@lru_cache(maxsize=256)
def _portable_dict(kind: Any) -> Any:
    import typing_extensions

    hints = typing.get_type_hints(kind, include_extras=True)
    fields: dict[str, Any] = {}
    for name, hint in hints.items():
        if typing.get_origin(hint) in (typing.Required, typing.NotRequired):
            (hint,) = typing.get_args(hint)
        hint = portable(hint)
        optional = name in kind.__optional_keys__
        fields[name] = typing_extensions.NotRequired[hint] if optional else hint
    make: Any = typing_extensions.TypedDict
    made = make(kind.__name__, fields)
    made.__module__ = kind.__module__
    made.__doc__ = kind.__doc__
    return made
