"""Types at run time: resolving type expressions, contracts, and ``~Name(...)`` models."""

from __future__ import annotations

import re
import types
import typing
from functools import lru_cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, ForwardRef, cast

from kedi.agents.validation import (
    TypeMismatch,
    UnusableType,
    check_native,
    ensure_type,
    type_label,
)
from kedi.errors import KediTypeExecutionError
from kedi.runtime.pycode import Piece
from kedi.runtime.scopes import MISSING, Scope
from kedi.runtime.text import nearest
from kedi.syntax import ast as syntax

if TYPE_CHECKING:
    from kedi.runtime.frames import RunFrame, Site

#: Names that always mean the builtin type in a plain annotation.
ATOMS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "bytes": bytes,
    "None": None,
    "object": object,
    "list": list,
    "dict": dict,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


#: Of these, the names for which some program of this process has a type of its own: they
#: are looked up like any other.
SHADOWED: set[str] = set()
#: Its only item counts how often a type has been replaced by another one of its name.
EPOCH = [0]


class TypeContract:
    """A resolved type that a binding, parameter or return promises to keep."""

    __slots__ = ("_classes", "_items", "exact", "label", "type")

    def __init__(self, resolved: Any) -> None:
        self.type = resolved
        self.label = type_label(resolved)
        #: A class whose exact instances are right without a further look.
        self.exact: type | None = None
        if resolved in _EXACT or hasattr(resolved, "__pydantic_root_model__"):
            self.exact = resolved
        self._classes = _right_classes(resolved)
        self._items: frozenset[Any] | None = None
        if typing.get_origin(resolved) is list:
            self._items = _right_classes(typing.get_args(resolved)[0]) or None

    def check(self, value: Any, what: str, verb: str = "expects") -> Any:
        """``value`` itself, or ``KediTypeExecutionError``: ``what`` ``verb`` this type."""
        cls = cast("type[Any]", type(value))
        if cls is self.exact or cls in self._classes:
            return value
        items = self._items
        if items is not None and cls is list and items.issuperset(map(type, value)):
            return value
        try:
            return check_native(value, self.type)
        except TypeMismatch as error:
            from kedi.runtime.mismatches import mismatch

            raise mismatch(error, what, value, self.type, verb) from None


_EXACT: tuple[Any, ...] = (str, int, float, bool, bytes)


def _right_classes(kind: Any) -> frozenset[Any]:
    """Classes whose exact instances have the type ``kind``; it may have others."""
    if kind is float:
        return frozenset((float, int))
    if kind in _EXACT:
        return frozenset((kind,))
    if kind is None or kind is types.NoneType:
        return frozenset((types.NoneType,))
    if all(isinstance(item, str) for item in getattr(kind, "__metadata__", (None,))):
        return _right_classes(typing.get_args(kind)[0])  # Annotated with descriptions only.
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return frozenset[Any]().union(*map(_right_classes, typing.get_args(kind)))
    return frozenset()


STR = TypeContract(str)
ANY = TypeContract(Any)


@lru_cache(maxsize=1)
def builtin_types() -> dict[str, Any]:
    """Every builtin type name of the language. Imports pydantic's url types, so on demand."""
    import datetime
    import decimal
    import pathlib
    import uuid

    from kedi.runtime.stringtypes import Email, FileUrl, HttpUrl

    return {
        **ATOMS,
        "Any": Any,
        "Union": typing.Union,
        "Optional": typing.Optional,
        "Literal": typing.Literal,
        "Annotated": typing.Annotated,
        "datetime": datetime.datetime,
        "date": datetime.date,
        "time": datetime.time,
        "timedelta": datetime.timedelta,
        "Decimal": decimal.Decimal,
        "UUID": uuid.UUID,
        "Path": pathlib.Path,
        "Regex": re.Pattern,
        "Email": Email,
        "HttpUrl": HttpUrl,
        "FileUrl": FileUrl,
        "List": list,
        "Dict": dict,
        "Set": set,
        "FrozenSet": frozenset,
        "Tuple": tuple,
    }


def is_type_like(value: Any) -> bool:
    """Whether a bound value can stand in a type expression (a class, an alias, a module)."""
    return (
        isinstance(value, (type, types.GenericAlias, types.UnionType, types.ModuleType, ForwardRef))
        or typing.get_origin(value) is not None
        or getattr(cast("type[Any]", type(value)), "__module__", "")
        in ("typing", "typing_extensions")
    )


class TypeNames(dict[str, Any]):
    """Globals of a type expression: visible types first, then the builtin type names."""

    __slots__ = ("plain", "scope")

    scope: Scope
    plain: bool

    def __missing__(self, key: str) -> Any:
        found = self.scope.lookup(key)
        if found is not MISSING and (not self.plain or is_type_like(found)):
            return found
        table = builtin_types()
        if key in table:
            return table[key]
        if found is MISSING:
            raise KeyError(key)
        return found


class TypeSource:
    """A type expression at its place, resolved against a scope when it is needed."""

    __slots__ = ("_builtin", "_code", "_constant", "_names", "expression", "site")

    def __init__(self, site: Site, expression: syntax.TypeExpr) -> None:
        self.site = site
        self.expression = expression
        self._code: CodeType | None = None
        self._constant: TypeContract | None = None
        #: What it means where no type of a program has one of these builtin names.
        self._builtin: TypeContract | None = None
        self._names: frozenset[str] = frozenset()
        if not expression.python:
            self._builtin = _constant(expression.text)
            if SHADOWED and self._builtin is not None:
                words = re.findall(r"[^\W\d]\w*", expression.text)
                self._names = frozenset(SHADOWED.intersection(words))
            if not self._names:
                self._constant = self._builtin
        if self._constant is None:
            piece = Piece.of_type(site.unit, site.stmt, expression, site.base_line)
            self._code = piece.function()

    @property
    def constant(self) -> TypeContract | None:
        """The contract when it does not depend on any scope."""
        return self._constant

    def resolve(
        self, frame: RunFrame, scope: Scope, extra: dict[str, Any] | None = None
    ) -> TypeContract:
        """The contract in ``scope``; ``extra`` are names that win (a type under construction)."""
        if self._constant is not None:
            return self._constant
        if self._builtin is not None and not any(
            is_type_like(scope.lookup(name)) or (extra and name in extra) for name in self._names
        ):
            return self._builtin
        assert self._code is not None
        foreign = frame.interpreter.foreign_executor
        try:
            if foreign is not None:
                from kedi.runtime.hosted import flatten

                names = builtin_types() | (extra or {})
                for name, value in flatten(scope).items():
                    if self.expression.python or name not in names or is_type_like(value):
                        names[name] = value
                names |= extra or {}
                resolved = foreign.evaluate_type_expression(
                    frame.interpreter.handle, self.expression.text, names
                )
            else:
                names = TypeNames(extra or {})
                names.scope = scope
                names.plain = not self.expression.python
                resolved = FunctionType(self._code, names)()
        except NameError as error:
            raise self.unknown(scope, getattr(error, "name", None)) from None
        if isinstance(resolved, ForwardRef):
            return _forward(resolved)
        return self.checked(resolved, extra is not None)

    def checked(self, resolved: Any, forward: bool = False) -> TypeContract:
        """A contract for a resolved type, refusing what is not one."""
        from kedi.runtime.typeddicts import portable

        try:
            resolved = portable(resolved)
            if not forward:
                ensure_type(resolved)
            return _contract(resolved)
        except UnusableType as error:
            raise KediTypeExecutionError(
                f"`{self.expression.text}` is not a type: {error.reason}",
                hint="use a class, a `~Type` or a form such as `list[int]` or `str | None`",
            ) from None

    def unknown(self, scope: Scope, name: str | None) -> KediTypeExecutionError:
        """The error for a type name that nothing binds when the expression runs."""
        name = name or self.expression.text
        visible = [key for part in scope.chain() for key in part.own_names()]
        guess = nearest(name, [*builtin_types(), *visible])
        return KediTypeExecutionError(
            f"unknown type `{name}`",
            hint=f"did you mean `{guess}`?" if guess else "define it with `~` before this line",
        )


def _forward(reference: ForwardRef) -> TypeContract:
    contract = TypeContract(object)
    contract.type = reference
    contract.label = reference.__forward_arg__
    return contract


def _contract(resolved: Any) -> TypeContract:
    try:
        return _cached_contract(resolved, typing.get_args(resolved))
    except TypeError:
        return TypeContract(resolved)


@lru_cache(maxsize=1024)
def _cached_contract(resolved: Any, _args: Any) -> TypeContract:
    return TypeContract(resolved)


@lru_cache(maxsize=1024)
def _constant(text: str) -> TypeContract | None:
    """The contract of a type made of builtin names only, such as ``list[int] | None``."""
    if text in ATOMS:
        return TypeContract(ATOMS[text])
    names = set(re.findall(r"[^\W\d]\w*", text))
    if not names or not names <= ATOMS.keys() or not re.fullmatch(r"[\w\s\[\],|]+", text):
        return None
    try:
        resolved = eval(compile(text.strip(), "<type>", "eval"), {"__builtins__": {}}, dict(ATOMS))
        ensure_type(resolved)
        return TypeContract(resolved)
    except (SyntaxError, TypeError, UnusableType):
        return None
