"""What an expression of embedded Python certainly is, found without running any of it."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from kedi.analysis.symbols import Declaration
from kedi.runtime.scopes import MISSING, Scope, dict_get
from kedi.runtime.types import builtin_types
from kedi.session.signatures import annotations_of, class_behind, parameters_of, returns_of
from kedi.session.static import (
    DICT,
    attribute,
    class_attribute,
    instance_dict,
    is_real,
    kind_of,
    slots_of,
)
from kedi.syntax.ast import Procedure, TypeDef
from kedi.syntax.embedded import silent_name

_BUILTINS = builtins.__dict__
_MOST = 2_000
_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Known:
    """One of: the object itself, the class it is an instance of, or a declaration of the text.

    A ``declaration`` is a procedure or type that is typed but has not run yet;
    with ``instance`` it stands for an instance of the declared type. ``bound``
    is for a method read from an instance: its first parameter is taken.
    """

    value: Any = MISSING
    cls: Any = MISSING
    declaration: Declaration | None = None
    instance: bool = False
    bound: bool = False


Declared = Callable[[str], "Declaration | None"]
"""What the text before the cursor declares under a name."""


class Resolver:
    """Resolves expressions against a live scope, the declarations of a text, and a piece of code.

    ``code`` is the embedded Python before the cursor: its imports and plain
    assignments count.
    """

    def __init__(self, scope: Scope, declared: Declared, code: str = "") -> None:
        self._scope = scope
        self._declared = declared
        self._code = code
        self._assigned: dict[str, str] | None = None
        self._imported: dict[str, Any] = {}
        self._busy: set[str] = set()

    def resolve(self, source: str) -> Known | None:
        """What the expression ``source`` is; ``None`` when that is not certain."""
        source = source.strip()
        if not source or len(source) > _MOST:
            return None
        try:
            tree = ast.parse(f"({source})", silent_name(source), "eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return self._node(tree, 0)

    def parameters(self, callee: str) -> tuple[tuple[str, str], ...]:
        """``(name, text)`` of the parameters that a call of ``callee`` may name, in order."""
        known = self.resolve(callee)
        if known is None:
            return ()
        if known.declaration is not None:
            return declared_parameters(known.declaration)
        found = parameters_of(known.value) if known.value is not MISSING else None
        named = [item for item in found or () if item.kind in ("both", "keyword")]
        if known.bound:
            named = named[1:]
        return tuple((item.name, item.text) for item in named)

    def type_named(self, text: str) -> Known | None:
        """An instance of the type that a type text begins with, such as ``list[int]``."""
        match = re.match(r"\s*([A-Za-z_]\w*)", text)
        if match is None:
            return None
        name = match[1]
        item = self._declared(name)
        if item is not None:
            return Known(declaration=item, instance=True) if item.kind == "type" else None
        value = self._visible(name)
        if value is MISSING:
            value = builtin_types().get(name, MISSING)
        cls = class_behind(value)
        return None if cls is MISSING else Known(cls=cls)

    # ── names ────────────────────────────────────────────────────────────────

    def _name(self, name: str, depth: int) -> Known | None:
        local = self._local(name, depth)
        if local is not None:
            return local
        item = self._declared(name)
        if item is not None:
            if item.kind in ("procedure", "type"):
                return Known(declaration=item)
            return self.type_named(item.type) if item.type else None
        value = self._visible(name)
        if value is MISSING:
            value = _BUILTINS.get(name, MISSING)
        return None if value is MISSING else Known(value=value)

    def _visible(self, name: str) -> Any:
        """The bound value of a name; a pending one counts as unknown, it is not waited for."""
        owner = self._scope.owner_of(name)
        return MISSING if owner is None else dict_get(owner, name, MISSING)

    def _local(self, name: str, depth: int) -> Known | None:
        if self._assigned is None:
            self._assigned = dict(_ASSIGNMENT.findall(self._code))
            self._imported = dict(_imports(self._code))
        if name in self._imported:
            module = self._imported[name]
            return None if module is MISSING else Known(value=module)
        source = self._assigned.get(name)
        if source is None or name in self._busy or depth > _DEPTH:
            return None
        self._busy.add(name)
        try:
            return self.resolve(source)
        finally:
            self._busy.discard(name)

    # ── expressions ──────────────────────────────────────────────────────────

    def _node(self, node: ast.expr, depth: int) -> Known | None:
        if depth > _DEPTH:
            return None
        match node:
            case ast.Name():
                return self._name(node.id, depth)
            case ast.Constant():
                return Known(value=node.value)
            case ast.Attribute():
                return self._attribute(self._node(node.value, depth + 1), node.attr)
            case ast.Call():
                return self._called(self._node(node.func, depth + 1))
            case ast.Subscript():
                return self._item(self._node(node.value, depth + 1), node.slice)
            case _:
                cls = _DISPLAYS.get(type(node))
                return None if cls is None else Known(cls=cls)

    def _attribute(self, base: Known | None, name: str) -> Known | None:
        if base is None:
            return None
        if base.declaration is not None:
            text = dict(declared_fields(base.declaration)).get(name) if base.instance else None
            return self.type_named(text) if text is not None else None
        if base.value is not MISSING:
            found = attribute(base.value, name)
            if found is not MISSING:
                own = instance_dict(base.value)
                stored = own is not None and DICT.__contains__(own, name)
                return Known(value=found, bound=not stored and not is_real(base.value, type))
            return _computed(kind_of(base.value), name)
        field = _field_class(base.cls, name)
        if field is not MISSING:
            return Known(cls=field)
        found = class_attribute(base.cls, name)
        if found is MISSING or class_attribute(kind_of(found), "__set__") is not MISSING:
            return _computed(base.cls, name)
        return Known(value=found, bound=True)

    def _called(self, base: Known | None) -> Known | None:
        if base is None:
            return None
        if base.declaration is not None and not base.instance:
            if base.declaration.kind == "type":
                return Known(declaration=base.declaration, instance=True)
            return self.type_named(base.declaration.type or "str")
        if base.value is MISSING:
            return None
        cls = returns_of(base.value)
        return None if cls is MISSING else Known(cls=cls)

    def _item(self, base: Known | None, index: ast.expr) -> Known | None:
        key = _key(index)
        if base is None or base.value is MISSING or key is MISSING:
            return None
        value = base.value
        if is_real(value, dict):
            return _entry(value, key)
        if type(key) not in (int, bool):
            return None
        for kind in _INDEXED:
            read = class_attribute(kind, "__getitem__")
            if class_attribute(kind_of(value), "__getitem__") is read:
                try:
                    return Known(value=read(value, key))
                except (IndexError, OverflowError):
                    return None
        return None


_MOST_KEYS = 100_000
_INDEXED: tuple[type, ...] = (list, tuple, str, bytes, bytearray, range, deque)


def _key(index: ast.expr) -> Any:
    """The key or index that a subscript writes out, or ``MISSING``."""
    if not isinstance(index, (ast.Constant, ast.UnaryOp, ast.Tuple)):
        return MISSING
    try:
        return ast.literal_eval(index)
    except (ValueError, TypeError, RecursionError):
        return MISSING


def _entry(mapping: Any, key: Any) -> Known | None:
    """A dict's value by search: a lookup may run the ``__eq__`` of a key of user code."""
    if DICT.__len__(mapping) <= _MOST_KEYS:
        for other, value in list(DICT.items(mapping)):
            if _same(other, key):
                return Known(value=value)
    return None


def _same(other: Any, key: Any) -> bool:
    if type(other) is not type(key):
        return False
    if type(key) is not tuple:
        return other == key
    parts, wanted = cast("tuple[Any, ...]", other), cast("tuple[Any, ...]", key)
    return len(parts) == len(wanted) and all(map(_same, parts, wanted))


_DISPLAYS: dict[type, type] = {
    ast.List: list,
    ast.ListComp: list,
    ast.Dict: dict,
    ast.DictComp: dict,
    ast.Set: set,
    ast.SetComp: set,
    ast.Tuple: tuple,
    ast.JoinedStr: str,
}
_ASSIGNMENT = re.compile(
    r"^[ \t]*([^\W\d]\w*)[ \t]*(?::[^=\n]*)?=[ \t]*([^=\n][^\n]*)$", re.MULTILINE
)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n;#]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([^\n;#)]+)", re.MULTILINE)
_ALIAS = re.compile(r"([\w.]+)(?:[ \t]+as[ \t]+(\w+))?\s*\Z")


def _imports(code: str) -> Iterator[tuple[str, Any]]:
    """Names that imports of ``code`` bind, with modules that are loaded already."""
    for match in _IMPORT.finditer(code):
        for part in match[1].split(","):
            alias = _ALIAS.match(part.strip())
            if alias is not None:
                path = alias[1]
                name = alias[2] or path.partition(".")[0]
                yield name, loaded_module(path if alias[2] else name)
    for match in _FROM.finditer(code):
        module = loaded_module(match[1])
        for part in match[2].split(","):
            alias = _ALIAS.match(part.strip())
            if alias is not None:
                value = MISSING if module is MISSING else attribute(module, alias[1])
                if value is MISSING:
                    value = loaded_module(f"{match[1]}.{alias[1]}")
                yield alias[2] or alias[1], value


def local_names(code: str) -> set[str]:
    """Names that the code binds, judged by its lines."""
    found = {name for name, _ in _ASSIGNMENT.findall(code)}
    found.update(name for name, _ in _imports(code))
    found.update(_DEFINED.findall(code))
    for targets in _TARGETS.findall(code):
        found.update(re.findall(r"[^\W\d]\w*", targets))
    return found


_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+([^\W\d]\w*)", re.MULTILINE)
_TARGETS = re.compile(r"\bfor[ \t]+([\w, \t]+?)[ \t]+in\b")


def loaded_module(path: str) -> Any:
    """A module that is imported already, or ``MISSING``; nothing is imported."""
    return dict_get(cast("Any", sys.modules), path, MISSING) if path else MISSING


def _computed(cls: type, name: str) -> Known | None:
    """What a property says that it returns."""
    found = class_attribute(cls, name)
    if type(found) is not property or found.fget is None:
        return None
    getter: Any = found.fget
    if type(getter).__name__ != "function":
        return None
    returned = class_behind(annotations_of(getter).get("return", MISSING))
    return None if returned is MISSING else Known(cls=returned)


def _field_class(cls: type, name: str) -> Any:
    """The class of a pydantic field, or ``MISSING``."""
    fields = class_attribute(cls, "__pydantic_fields__")
    if type(fields) is not dict or name not in fields:
        return MISSING
    return class_behind(dict(slots_of(fields[name])).get("annotation", MISSING))


def declared_fields(item: Declaration) -> Iterator[tuple[str, str]]:
    """``(name, type)`` of the fields of a declared type."""
    if isinstance(item.node, TypeDef):
        for field in item.node.fields:
            yield field.name.text, field.type.text if field.type is not None else "str"


def declared_parameters(item: Declaration) -> tuple[tuple[str, str], ...]:
    """``(name, text)`` of what a declared procedure or type takes."""
    from kedi.analysis.describe import parameter_text

    if isinstance(item.node, Procedure):
        return tuple((one.name.text, parameter_text(one)) for one in item.node.parameters)
    if isinstance(item.node, TypeDef):
        return tuple((one.name.text, parameter_text(one)) for one in item.node.fields)
    return ()


__all__ = [
    "Declared",
    "Known",
    "Resolver",
    "declared_fields",
    "declared_parameters",
    "loaded_module",
    "local_names",
]
