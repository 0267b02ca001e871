"""Looking at objects without running any of their code.

Nothing here calls ``__getattr__``, ``__getattribute__``, properties, metaclass
methods or overridden container methods: types are read through ``type`` itself,
instances through their dict and slots, containers through the builtin methods.
The rules follow ``inspect.getattr_static``.
"""

from __future__ import annotations

import gc
from collections import deque, namedtuple
from collections.abc import Iterator, Mapping
from types import (
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any, cast

from kedi.runtime.scopes import MISSING

_type_dict: Any = type.__dict__["__dict__"]
_type_mro: Any = type.__dict__["__mro__"]
_type_name: Any = type.__dict__["__name__"]
_type_qualname: Any = type.__dict__["__qualname__"]
_type_module: Any = type.__dict__["__module__"]
_module_dict: Any = vars(ModuleType)["__dict__"]

# Called unbound on values of any kind, which the types of their stubs do not foresee.
DICT: Any = dict
LIST: Any = list
TUPLE: Any = tuple
SET: Any = set
FROZENSET: Any = frozenset
DEQUE: Any = deque
INT: Any = int
STR: Any = str
BYTES: Any = bytes
BYTEARRAY: Any = bytearray
FLOAT: Any = float
COMPLEX: Any = complex
RANGE: Any = range

_EMPTY = dict[str, str]()
_DICT_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)
#: Types of ``dict.keys()``, ``dict.values()`` and ``dict.items()``.
VIEWS: tuple[type, ...] = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))
_SIZED: tuple[type, ...] = (str, bytes, bytearray, list, tuple, dict, set, frozenset, deque, range)


def kind_of(value: Any) -> type[Any]:
    """The true type of a value."""
    return cast("type[Any]", type(value))


def label_of(value: Any) -> str:
    """The name of the value's true type."""
    return _type_name.__get__(kind_of(value))


def mro_of(cls: type) -> tuple[type, ...]:
    """The method resolution order, whatever the metaclass says."""
    return _type_mro.__get__(cls)


def namespace_of(cls: type) -> Mapping[str, Any]:
    """The class's own dict."""
    return _type_dict.__get__(cls)


def name_of(cls: type) -> str:
    """The class's name."""
    return _type_name.__get__(cls)


def qualified_name(cls: type) -> str:
    """The class's qualified name."""
    return _type_qualname.__get__(cls)


def module_of(cls: type) -> str:
    """The name of the module that defines the class, empty when it does not say."""
    try:
        found: Any = _type_module.__get__(cls)
    except AttributeError:
        return ""
    return found if type(found) is str else ""


def class_attribute(cls: type, name: str) -> Any:
    """What the class or its bases hold under ``name``, unbound, or ``MISSING``."""
    for part in mro_of(cls):
        found = namespace_of(part).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def instance_dict(value: Any) -> dict[str, Any] | None:
    """The object's own dict, ``None`` when it has none or a class hides it."""
    cls = kind_of(value)
    if is_real(value, ModuleType):
        return _module_dict.__get__(value)
    for part in mro_of(cls):
        found = namespace_of(part).get("__dict__", MISSING)
        if found is MISSING:
            continue
        if type(found) not in _DICT_DESCRIPTORS or is_real(value, type):
            return None
        own: Any = found.__get__(value, cls)
        return cast("dict[str, Any]", own) if is_real(own, dict) else None
    return None


def slots_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Filled slots of an object, bases first."""
    cls = kind_of(value)
    for part in reversed(mro_of(cls)):
        namespace = namespace_of(part)
        if "__slots__" not in namespace:
            continue
        for name, descriptor in namespace.items():
            if type(descriptor) is not MemberDescriptorType:
                continue
            try:
                yield name, descriptor.__get__(value, cls)
            except AttributeError:
                continue


def attributes_of(value: Any) -> dict[str, Any]:
    """What the object itself stores: its slots, then its dict."""
    found = {name: item for name, item in slots_of(value) if not is_dunder(name)}
    own = instance_dict(value)
    if own is not None:
        for name, item in list(DICT.items(own)):
            if type(name) is str:
                found[name] = item
    return found


def attribute(value: Any, name: str) -> Any:
    """What ``value.name`` certainly is without running anything, or ``MISSING``.

    A method of a class is given as its plain function.
    """
    if is_real(value, type):
        found = class_attribute(value, name)
        return MISSING if _computes(found) else _unwrapped(found)
    found = class_attribute(kind_of(value), name)
    if found is not MISSING and _is_data_descriptor(found):
        if type(found) is MemberDescriptorType:
            for slot, item in slots_of(value):
                if slot == name:
                    return item
        return _read_plain(found, value)
    own = instance_dict(value)
    if own is not None and DICT.__contains__(own, name):
        return DICT.__getitem__(own, name)
    return MISSING if _computes(found) else _unwrapped(found)


#: Modules whose classes in C have attributes that are only read, such as ``int.real``.
_PLAIN = frozenset(("builtins", "datetime", "decimal", "collections", "re"))
#: How named tuples read their fields.
_TUPLE_FIELD = kind_of(
    namedtuple("_Named", ("field",)).__dict__["field"]  # pyright: ignore[reportUntypedNamedTuple]
)


def _read_plain(found: Any, value: Any) -> Any:
    """What an attribute of a builtin class holds; reading others may run code of a user."""
    kind = kind_of(found)
    plain = kind in _DICT_DESCRIPTORS and module_of(found.__objclass__) in _PLAIN
    if plain or kind is _TUPLE_FIELD:
        try:
            return found.__get__(value, kind_of(value))
        except (AttributeError, ValueError):
            pass  # it has no value at the moment
    return MISSING


def _unwrapped(found: Any) -> Any:
    """The function in a ``staticmethod`` or ``classmethod``; other values as they are."""
    return found.__func__ if type(found) in (staticmethod, classmethod) else found


def _computes(found: Any) -> bool:
    """Whether reading the class attribute runs a descriptor other than a plain function's."""
    if found is MISSING or type(found) in (FunctionType, staticmethod, classmethod):
        return False
    cls = kind_of(found)
    if class_attribute(cls, "__get__") is MISSING:
        return False
    # Methods of builtins are C functions: binding them runs nothing.
    return cls.__name__ not in (
        "method_descriptor",
        "wrapper_descriptor",
        "classmethod_descriptor",
        "builtin_function_or_method",
    )


def _is_data_descriptor(found: Any) -> bool:
    return class_attribute(kind_of(found), "__set__") is not MISSING


def member_names(value: Any) -> dict[str, Any]:
    """Names that ``value.`` can be followed by, with what is known of each.

    Class attributes are given as the class holds them (functions, properties);
    they are never bound or read through the object.
    """
    if is_real(value, ModuleType):
        return dict(_module_dict.__get__(value))
    found: dict[str, Any] = {}
    classes = [*reversed(mro_of(kind_of(value)))]
    if is_real(value, type):
        # Metaclass members are dunders and ``mro``; they come last, so the class wins.
        classes += reversed(mro_of(value))
    for part in classes:
        found.update(namespace_of(part))
    else:
        found.update(attributes_of(value))
    return {name: item for name, item in found.items() if type(cast("Any", name)) is str}


def size_of(value: Any) -> int | None:
    """``len`` of a builtin container or text (also of a subclass), ``None`` for others."""
    line = mro_of(kind_of(value))
    for kind in _SIZED:
        if kind in line:
            try:
                return cast("Any", kind).__len__(value)
            except OverflowError:  # a range of more items than an index can count
                return None
    inner = mapping_behind(value)
    return None if inner is None else DICT.__len__(inner)


def mapping_behind(value: Any) -> dict[Any, Any] | None:
    """The dict behind a mapping proxy or a dict view, ``None`` for others."""
    if type(value) is MappingProxyType or type(value) in VIEWS:
        for item in gc.get_referents(value):
            if is_real(item, dict):
                return cast("dict[Any, Any]", item)
    return None


def is_view(value: Any) -> bool:
    """Whether the value is one of ``dict.keys()``, ``dict.values()``, ``dict.items()``."""
    return type(value) in VIEWS


def is_dunder(name: str) -> bool:
    """Whether a name is one of Python's own, such as ``__len__``."""
    return name.startswith("__") and name.endswith("__")


def is_real(value: Any, kind: type) -> bool:
    """``isinstance`` by the true type: never asks ``__class__`` or ``__instancecheck__``."""
    return kind in mro_of(kind_of(value))


def defined_repr(value: Any) -> Any:
    """The function that ``repr(value)`` calls."""
    return class_attribute(kind_of(value), "__repr__")


_WORLD = (type, ModuleType, FunctionType)


def outweighs(value: Any, limit: int, visits: int = 2_000) -> bool:
    """Whether what an object holds, some steps deep, has more than ``limit`` elements.

    Asked before running a ``__repr__`` that may render all of it. Follows
    references, not attributes, so that it runs nothing.
    """
    weight = 0
    level: list[Any] = [value]
    seen = {id(value)}
    for _ in range(4):
        following: list[Any] = []
        for item in level:
            if item is not value and any(is_real(item, kind) for kind in _WORLD):
                continue
            visits -= 1
            size = size_of(item)
            weight += size or 0
            if weight > limit:
                return True
            if visits <= 0:
                return False
            if type(item) in (str, bytes, bytearray, range) or not gc.is_tracked(item):
                continue
            for inner in gc.get_referents(item):
                if id(inner) not in seen:
                    seen.add(id(inner))
                    following.append(inner)
        level = following
    return False
