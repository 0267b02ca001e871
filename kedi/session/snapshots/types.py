"""Declared types in snapshots: what a type expression resolved to, as JSON.

A type is written as its structure, not as text to evaluate: names of a closed
table, indexes of definitions, and the forms that combine them. So reading one
runs nothing and looks nothing up in modules.
"""

from __future__ import annotations

import types
import typing
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import PosixPath, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, ForwardRef

from kedi.agents.validation import UnusableType, ensure_type
from kedi.runtime.types import ANY, ATOMS, STR, TypeContract, builtin_types
from kedi.session.snapshots.atoms import Malformed, Refused, as_count, as_list, as_object, need
from kedi.session.snapshots.basics import Definitions
from kedi.session.snapshots.codec import Encoder, NoDefinitions
from kedi.session.snapshots.paths import root
from kedi.session.snapshots.reader import Decoder
from kedi.session.static import is_real, label_of, namespace_of

_MAX_DEPTH = 50


_ATOMS = {id(item): name for name, item in ATOMS.items()}


@lru_cache(maxsize=1)
def _names() -> dict[str, Any]:
    """Every class that a type in a snapshot may name."""
    more: tuple[Any, ...] = (
        *(complex, bytearray, range, type, slice, memoryview, BaseException, Exception),
        *(deque, OrderedDict, defaultdict, Counter, Fraction),
        *(PurePath, PosixPath, PurePosixPath, PureWindowsPath),
    )
    special = (typing.Union, typing.Optional, typing.Literal, typing.Annotated)
    table = {name: item for name, item in builtin_types().items() if item not in special}
    return {**{item.__name__: item for item in more}, **table, "NoneType": type(None)}


@lru_cache(maxsize=1)
def _labels() -> dict[int, str]:
    # The first name of a class wins: `list`, not its older spelling `List`.
    found: dict[int, str] = {}
    for name, item in _names().items():
        found.setdefault(id(item), name)
    return found


def encode_type(kind: Any, definitions: Definitions, own: str | None = None) -> Any:
    """The structure of a type; ``own`` is the name of the type it is a field of.

    Raises :class:`Refused` with the reason.
    """
    # The common types first: the others need pydantic, which a small session does not.
    label = _ATOMS.get(id(kind)) or _labels().get(id(kind))
    if label is not None:
        return label
    if kind is ...:
        return "..."
    if isinstance(kind, ForwardRef):
        if kind.__forward_arg__ != own:
            raise Refused(f"the type `{kind.__forward_arg__}` in it was never resolved")
        return {"self": True}
    if is_real(kind, type) and "__kedi_site__" in namespace_of(kind):
        index = definitions.index_of(kind)
        if isinstance(index, str):
            raise Refused(f"the type `{kind.__name__}` in it cannot be saved: {index}")
        return {"type": index}
    if isinstance(kind, list):  # the parameters of a Callable
        raise Refused("it is a type of callables")
    origin = typing.get_origin(kind)
    if origin is None:
        raise Refused(f"the type `{_shown(kind)}` is neither built in nor defined with `~`")
    return _form(kind, origin, definitions, own)


def _form(kind: Any, origin: Any, definitions: Definitions, own: str | None) -> Any:
    arguments: tuple[Any, ...] = typing.get_args(kind)
    if origin is typing.Literal:
        return {"literal": [_constant(item) for item in arguments]}
    if hasattr(kind, "__metadata__"):
        inner = encode_type(arguments[0], definitions, own)
        return {"annotated": inner, "with": [_constant(item) for item in arguments[1:]]}
    parts = [encode_type(item, definitions, own) for item in arguments]
    if type(kind) is types.UnionType and typing.Union is not types.UnionType:
        return {"or": parts}
    if origin in (typing.Union, types.UnionType):
        return {"union": parts}
    label = _labels().get(id(origin))
    if label is None:
        raise Refused(f"the type `{_shown(kind)}` is neither built in nor defined with `~`")
    return {"of": label, "parts": parts}


def _constant(value: Any) -> Any:
    encoder = Encoder(NoDefinitions("it is no constant"), cells=False, columns=False)
    tree = encoder.encode(value, root(""), exact=True)
    if encoder.problems:
        raise Refused(f"it holds a `{label_of(value)}`, which has no form in a snapshot")
    return tree


def _shown(kind: Any) -> str:
    if is_real(kind, type):
        return kind.__qualname__
    return str(getattr(kind, "__name__", None) or label_of(kind))


def decode_type(tree: Any, definitions: Sequence[Any], own: str | None = None) -> Any:
    """The type of a structure. Raises :class:`Malformed`."""
    return _decode(tree, definitions, own, 0)


def decode_contract(tree: Any, definitions: Sequence[Any]) -> TypeContract:
    """The declared type of a binding, parameter or return."""
    if tree == "str":
        return STR
    if tree == "Any":
        return ANY
    if type(tree) is str and tree in ATOMS:
        return TypeContract(ATOMS[tree])
    kind = decode_type(tree, definitions)
    try:
        ensure_type(kind)
    except UnusableType as error:
        raise Malformed(f"a declared type cannot be used: {error}") from None
    return TypeContract(kind)


def _decode(tree: Any, definitions: Sequence[Any], own: str | None, depth: int) -> Any:
    need(depth < _MAX_DEPTH, "a type is nested too deeply")
    if type(tree) is str:
        if tree == "...":
            return ...
        if tree in ATOMS:
            return ATOMS[tree]
        need(tree in _names(), f"there is no type {tree[:80]!r}")
        return _names()[tree]
    try:
        return _decode_form(as_object(tree, "a type"), definitions, own, depth + 1)
    except (TypeError, ValueError) as error:
        raise Malformed(f"a type cannot be built: {error}") from None


def _decode_form(
    tree: dict[str, Any], definitions: Sequence[Any], own: str | None, depth: int
) -> Any:
    def several(items: Any) -> tuple[Any, ...]:
        parts = as_list(items, "the parts of a type")
        return tuple(_decode(item, definitions, own, depth) for item in parts)

    keys = tuple(tree)
    if keys == ("self",):
        need(own is not None, "a type refers to itself in no type")
        return ForwardRef(own or "")
    if keys == ("type",):
        index = as_count(tree["type"], "the number of a type", len(definitions))
        need(isinstance(definitions[index], type), "a type is not defined before it is used")
        return definitions[index]
    if keys == ("literal",):
        values = _constants(tree["literal"])
        need(bool(values), "a literal type has no values")
        return typing.Literal[values]
    if keys == ("annotated", "with"):
        inner = _decode(tree["annotated"], definitions, own, depth)
        notes = _constants(tree["with"])
        need(bool(notes), "an annotated type has no annotation")
        return typing.Annotated[(inner, *notes)]
    if keys == ("or",):
        first, *others = several(tree["or"])
        for other in others:
            first = first | other
        return first
    if keys == ("union",):
        return typing.Union[several(tree["union"])]  # noqa: UP007 - built from a tuple
    need(keys == ("of", "parts") and type(tree["of"]) is str, "a type has no known form")
    origin = _decode(tree["of"], definitions, own, depth)
    need(hasattr(origin, "__class_getitem__"), f"`{tree['of'][:80]}` takes no parts")
    return types.GenericAlias(origin, several(tree["parts"]))


def _constants(items: Any) -> tuple[Any, ...]:
    decoder = Decoder(())
    return tuple(decoder.value(item) for item in as_list(items, "the constants of a type"))
