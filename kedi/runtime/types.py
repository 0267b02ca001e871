"""Types at run time: resolving type expressions, contracts, and ``~Name(...)`` models."""

from __future__ import annotations

import re
import sys
import types
import typing
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
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

    __slots__ = ("exact", "label", "type")

    def __init__(self, resolved: Any) -> None:
        self.type = resolved
        self.label = type_label(resolved)
        #: A class whose exact instances are right without a further look.
        self.exact: type | None = resolved if resolved in (str, int, float, bool, bytes) else None

    def check(self, value: Any, what: str) -> Any:
        """``value`` itself, or ``KediTypeExecutionError`` naming ``what``."""
        if type(value) is self.exact:
            return value
        try:
            return check_native(value, self.type)
        except TypeMismatch as error:
            raise mismatch(error, what, value, self.type) from None


def mismatch(
    error: TypeMismatch, what: str, value: Any, wanted: Any = None
) -> KediTypeExecutionError:
    """The user's error for a value that breaks a contract; ``wanted`` is the type of that."""
    namesake = _namesake(wanted, value)
    if namesake is not None:
        return _confusion(what, wanted, *namesake)
    hint = None
    if isinstance(value, str) and error.expected in ("int", "float", "bool"):
        hint = (
            f"text is never turned into {error.expected}: write the value in backticks, "
            f"such as `{'True' if error.expected == 'bool' else '5'}`"
        )
    elif error.expected == "str":
        hint = (
            "without a type the value must be text: declare the type, or render it with `str(...)`"
        )
    detail = error.detail.replace("\n", "\n  ")
    text = f"`{what}` expects {error.expected}, got {error.actual}"
    if detail:
        text += f" ({detail})" if "\n" not in detail else f":\n  {detail}"
    return KediTypeExecutionError(text, hint=hint)


def _namesake(wanted: Any, value: Any) -> tuple[type, type] | None:
    """``(expected, given)`` classes of one name, one of them a type of a program.

    Looks at the value itself and at what containers directly hold.
    """
    expected = {item.__name__: item for item in _classes_in(wanted, 4)}
    for item in chain((value,), islice(_contents(value), 100)):
        given = cast("type[Any]", type(item))
        same = expected.get(given.__name__)
        if same is None or issubclass(given, same):
            continue
        if "__kedi_site__" in {**same.__dict__, **given.__dict__}:
            return same, given
    return None


def _contents(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple, set, frozenset)):
        return cast("Iterable[Any]", value)
    return cast("dict[Any, Any]", value).values() if isinstance(value, dict) else ()


def _classes_in(kind: Any, depth: int) -> Iterator[type]:
    if isinstance(kind, type) and typing.get_origin(kind) is None:
        yield kind
    elif depth:
        for item in typing.get_args(kind):
            yield from _classes_in(item, depth - 1)


def _confusion(what: str, wanted: Any, expected: type, given: type) -> KediTypeExecutionError:
    name = expected.__name__
    label = type_label(wanted)
    if "__kedi_replaced__" in given.__dict__:
        text = f"got {name} of an earlier definition ({_home(given)})"
        hint = f"make the value again: `{name}` is now the one of {_home(expected)}"
    elif "__kedi_replaced__" in expected.__dict__:
        text = f"got the {name} of {_home(given)}, not that of the definition it was declared with"
        hint = f"initialise it again: its {name} is that of {_home(expected)}"
    else:
        text = f"got the {name} of {_home(given)}, not that of {_home(expected)}"
        hint = f"use one definition of `{name}` in both places, such as an imported one"
    return KediTypeExecutionError(f"`{what}` expects {label}, {text}", hint=hint)


def _home(cls: type) -> str:
    site = cls.__dict__.get("__kedi_site__")
    return "Python itself" if site is None else f"{site.unit.name}, line {site.line}"


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
        try:
            resolved = portable(resolved)
            if not forward:
                ensure_type(resolved)
            return _contract(resolved)
        except UnusableType as error:
            raise KediTypeExecutionError(
                f"`{self.expression.text}` is not a type: {error}",
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


def _forward(reference: ForwardRef) -> TypeContract:
    contract = TypeContract.__new__(TypeContract)
    contract.type = reference
    contract.label = reference.__forward_arg__
    contract.exact = None
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
