"""Candidates inside embedded Python."""

from __future__ import annotations

import builtins
import keyword
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

from kedi.runtime.scopes import MISSING
from kedi.session.candidates import Candidate
from kedi.session.pycontext import PyContext, context_of
from kedi.session.pyresolve import Known, Resolver, declared_fields, loaded_module, local_names
from kedi.session.signatures import annotation_label, class_text, signature_of
from kedi.session.static import (
    DICT,
    attributes_of,
    class_attribute,
    instance_dict,
    is_dunder,
    is_real,
    kind_of,
    label_of,
    member_names,
    mro_of,
    namespace_of,
    slots_of,
)

Names = Callable[[], Iterable[Candidate]]

_MOST_KEYS = 1_000
_KEY_WIDTH = 200


def complete_python(
    code: str, resolver: Resolver, names: Names, after: str = ""
) -> Iterator[Candidate]:
    """Candidates at the end of ``code``, not yet narrowed to those that fit its last word.

    ``names`` gives the Kedi names that are visible, ``after`` is what follows the cursor.
    """
    context = context_of(code)
    width = len(context.prefix)
    match context.kind:
        case "nothing":
            return
        case "attribute":
            known = resolver.resolve(context.object)
            found = _members(known) if known is not None else iter(())
        case "key":
            found = _keys(resolver.resolve(context.object), context, after)
        case "module":
            found = _modules(context.object)
        case "imported":
            found = _module_members(context.object)
        case "global":
            found = iter(names())
        case "name":
            found = _at_name(context, code, resolver, names, after)
    for item in found:
        if item.prefix is None:
            item = replace(item, prefix=width)
        yield item


def _at_name(
    context: PyContext, code: str, resolver: Resolver, names: Names, after: str
) -> Iterator[Candidate]:
    if context.object:
        yield from _keys(resolver.resolve(context.object), context, after)
    if context.call:
        taken = context.used
        rest = resolver.parameters(context.call)[context.given :]
        for order, (name, text) in enumerate(rest):
            if name not in taken:
                yield Candidate(f"{name}=", "parameter", text, 0, order=min(order, 999))
    before = code.removesuffix(context.prefix)
    for name in sorted(local_names(before)):
        yield Candidate(name, "value", "", 1)
    yield from names()
    for name, value in _BUILTINS.items():
        yield Candidate(name, "builtin", _word_for(value), 5)
    for name in keyword.kwlist:
        yield Candidate(name, "keyword", "", 6)


_BUILTINS: dict[str, Any] = {
    name: value for name, value in vars(builtins).items() if not name.startswith("_")
}


def _word_for(value: Any) -> str:
    return "type" if is_real(value, type) else "function" if callable(value) else label_of(value)


# ── attributes ────────────────────────────────────────────────────────────────


def _members(known: Known) -> Iterator[Candidate]:
    if known.declaration is not None:
        if known.instance:
            for name, kind in declared_fields(known.declaration):
                yield Candidate(name, "attribute", kind, 1)
        return
    if known.value is not MISSING:
        value = known.value
        own = _own_names(value)
        for name, item in member_names(value).items():
            if name not in _HIDDEN:
                yield _member(name, item, own.get(name, 3 if name in _OBJECT else 2))
        return
    fields = class_attribute(known.cls, "__pydantic_fields__")
    if type(fields) is dict:
        for name, field in DICT.items(fields):
            label = annotation_label(dict(slots_of(field)).get("annotation", MISSING))
            yield Candidate(name, "attribute", label, 1)
    for part in mro_of(known.cls):
        for name, item in namespace_of(part).items():
            if type(name) is str and name not in _HIDDEN:
                yield _member(name, item, 3 if part is object else 2)


_OBJECT = frozenset(vars(object))
_HIDDEN = frozenset(("__weakref__", "__dict__", "__slots__", "__abstractmethods__", "_abc_impl"))


def _own_names(value: Any) -> dict[str, int]:
    """Rank 1 for what the object itself stores: that is most likely meant."""
    if is_real(value, ModuleType):
        return dict.fromkeys(instance_dict(value) or (), 1)
    if is_real(value, type):
        return dict.fromkeys(namespace_of(value), 1)
    return dict.fromkeys(attributes_of(value), 1)


def _member(name: str, item: Any, rank: int) -> Candidate:
    rank = 8 if is_dunder(name) else 7 if name.startswith("_") else rank
    if type(item) in (staticmethod, classmethod):
        inner: Any = item.__func__
        detail = signature_of(inner) if type(inner) is FunctionType else ""
        return Candidate(name, "method", f"{name}{detail}", rank)
    if type(item) is FunctionType:
        return Candidate(name, "method", f"{name}{signature_of(item)}", rank)
    if is_real(item, type):
        return Candidate(name, "type", class_text(item), rank)
    if is_real(item, ModuleType):
        return Candidate(name, "module", "module", rank)
    if type(item) is property:
        return Candidate(name, "property", "property", rank)
    if kind_of(item).__name__ in _C_METHODS:
        return Candidate(name, "method", name, rank)
    return Candidate(name, "attribute", label_of(item), rank)


_C_METHODS = frozenset(
    (
        "builtin_function_or_method",
        "method_descriptor",
        "wrapper_descriptor",
        "classmethod_descriptor",
        "method",
    )
)


# ── keys ──────────────────────────────────────────────────────────────────────


def _keys(known: Known | None, context: PyContext, after: str) -> Iterator[Candidate]:
    """Text keys of a dict, closed with what the text behind the cursor does not close."""
    if known is None or known.value is MISSING or not is_real(known.value, dict):
        return
    quote = context.quote
    for key, value in islice(list(DICT.items(known.value)), _MOST_KEYS):
        if type(key) is not str or len(key) > _KEY_WIDTH:
            continue
        if not quote:
            yield Candidate(repr(key), "key", label_of(value), 0)
            continue
        text = _inside(key, quote)
        closing = "" if after.startswith(quote) else quote
        yield Candidate(key, "key", label_of(value), 0, f"{text}{closing}")


def _inside(key: str, quote: str) -> str:
    """The text of a string between quotes of a given kind."""
    text = repr(key)
    inner = text[1:-1]
    if text[0] != quote:
        inner = inner.replace(f"\\{text[0]}", text[0]).replace(quote, f"\\{quote}")
    return inner


# ── modules ───────────────────────────────────────────────────────────────────


def _modules(package: str) -> Iterator[Candidate]:
    """Modules that can be imported, by the files of the import path; nothing is imported."""
    if not package:
        for name in sorted({*sys.stdlib_module_names, *sys.builtin_module_names}):
            yield Candidate(name, "module", "module", 2)
        for folder in sys.path:
            yield from (Candidate(name, "module", "module", 2) for name in _below(folder or "."))
        return
    for folder in _folders(package):
        yield from (Candidate(name, "module", "module", 2) for name in _below(folder))


def _module_members(path: str) -> Iterator[Candidate]:
    module = loaded_module(path)
    if module is not MISSING:
        for name, item in member_names(module).items():
            yield _member(name, item, 2)
    for folder in _folders(path):
        yield from (Candidate(name, "module", "module", 3) for name in _below(folder))


def _folders(package: str) -> list[str]:
    """Directories of a package: those it says when it is loaded, else where it would be found."""
    module = loaded_module(package)
    if is_real(module, ModuleType):
        paths = (instance_dict(module) or {}).get("__path__")
        if type(paths) is not list:
            return []
        return [item for item in cast("list[Any]", paths) if type(item) is str]
    parts = package.split(".")
    if not all(part.isidentifier() for part in parts):
        return []
    return [str(Path(folder or ".", *parts)) for folder in sys.path]


def _below(folder: str) -> tuple[str, ...]:
    try:
        stamp = Path(folder).stat().st_mtime_ns
    except (OSError, ValueError):
        return ()
    return _scan(folder, stamp)


@lru_cache(maxsize=256)
def _scan(folder: str, stamp: int) -> tuple[str, ...]:
    """Module names in a directory; ``stamp`` lets a changed one be read again."""
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, 5_000):
                name, dot, rest = entry.name.partition(".")
                if not name.isidentifier() or name == "__pycache__":
                    continue
                is_file = dot and rest.rpartition(".")[2] in ("py", "so", "pyd")
                if is_file or (not dot and entry.is_dir()):
                    found.append(name)
    except OSError:
        return ()
    return tuple(sorted(found))


__all__ = ["complete_python"]
