"""Does a value have a type? Pure functions over pydantic's strict mode.

Nothing is coerced on the native side: the very object that was checked is
given back. Answers of a model may use the JSON forms of a type (an ISO date, a
list for a tuple, an object for a model); text never becomes a number and
``true`` never becomes ``1``.

pydantic is imported only when a type needs more than an exact class check.
"""

from __future__ import annotations

import types
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Union, cast, get_args, get_origin

from kedi.agents.reprs import short_repr

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_NONE = type(None)
# Classes whose instances need no look inside and whose subclasses pydantic
# treats specially; only the exact class takes the short way.
_ATOMS: frozenset[type] = frozenset({str, int, float, bool, bytes, _NONE})
_MAX_PROBLEMS = 5

# Names under which Kedi knows classes of Python and pydantic.
_KEDI_NAMES = {
    "NoneType": "None",
    "Pattern": "Regex",
    "EmailStr": "Email",
    "PosixPath": "Path",
    "WindowsPath": "Path",
}


class TypeMismatch(TypeError):
    """A value that does not have a type.

    ``expected`` and ``actual`` are readable type names; ``detail`` says what is
    wrong inside the value, one problem per line, or repeats the value shortly.
    """

    def __init__(self, expected: str, actual: str, detail: str) -> None:
        super().__init__(f"expected {expected}, got {actual}: {detail}")
        self.expected = expected
        self.actual = actual
        self.detail = detail

    def __reduce__(self) -> tuple[type[TypeMismatch], tuple[str, str, str]]:
        return type(self), (self.expected, self.actual, self.detail)


class UnusableType(TypeError):
    """Something that stands where a type belongs but cannot be checked against.

    ``reason`` says why, for a message that names it already.
    """

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason or message


def check_native(value: Any, expected: Any) -> Any:
    """``value`` itself when it has the type ``expected``.

    Raises :class:`TypeMismatch` otherwise and :class:`UnusableType` when
    ``expected`` is not a type. ``bool`` is not an ``int``; an ``int`` is a
    ``float`` (and stays an ``int``); a ``dict`` is not a model instance.
    """
    cls = cast("type[Any]", type(value))
    if cls is expected and cls in _ATOMS:
        return value
    if expected is Any or expected is object:
        return value
    if expected is None:
        expected = _NONE
    if _is_model(expected):
        if isinstance(value, expected):
            return value
        raise _mismatch(value, expected)
    adapter = _cached(_native_adapter, expected)
    error = _validation_error()
    try:
        adapter.validate_python(value, strict=True)
    except error as problem:
        raise _mismatch(value, expected, problem) from None
    except RecursionError:
        raise _mismatch(value, expected, note="the value is nested too deeply") from None
    return value


def from_model(value: Any, expected: Any) -> Any:
    """The value of type ``expected`` that a model's answer ``value`` stands for.

    Native objects and model instances are accepted as they are; JSON forms of
    dates, decimals, paths, enums, tuples, sets, bytes and nested models are
    read; numbers in strings are not. Raises as :func:`check_native` does.
    """
    cls = cast("type[Any]", type(value))
    if cls is expected and cls in _ATOMS:
        return value
    if expected is Any or expected is object:
        return value
    if expected is None:
        expected = _NONE
    if _is_model(expected) and isinstance(value, expected):
        return value
    adapter = _cached(_model_adapter, expected)
    error = _validation_error()
    try:
        return adapter.validate_python(value, strict=True)
    except error as problem:
        native_problem = problem
    except RecursionError:
        raise _mismatch(value, expected, note="the value is nested too deeply") from None
    text = _json(value)
    if text is None:
        raise _mismatch(value, expected, native_problem)
    try:
        return adapter.validate_json(text, strict=True)
    except error as problem:
        kinds = {item["type"] for item in problem.errors(include_url=False, include_input=False)}
        if kinds & {"needs_python_object", "json_invalid"}:
            problem = native_problem
        raise _mismatch(value, expected, problem) from None


def ensure_type(expected: Any) -> None:
    """Raise :class:`UnusableType` when values cannot be checked against ``expected``."""
    if expected in (Any, object, None) or _is_model(expected):
        return
    _cached(_model_adapter, expected)


def type_label(expected: Any) -> str:
    """A readable name: ``int``, ``list[Person]``, ``str | None``, ``Literal['a', 'b']``."""
    if expected is None or expected is _NONE:
        return "None"
    if expected is Ellipsis:
        return "..."
    if isinstance(expected, str):
        return expected
    origin = get_origin(expected)
    if origin is None:
        name = getattr(expected, "__name__", None)
        if isinstance(name, str):
            return _KEDI_NAMES.get(name, name)
        return short_repr(expected).replace("typing.", "")
    args = get_args(expected)
    name = _origin_name(expected, origin)
    if name == "Annotated":
        return type_label(args[0])
    if name == "Union":
        return " | ".join(type_label(item) for item in args)
    if name == "Literal":
        return f"Literal[{', '.join(short_repr(item) for item in args)}]"
    return f"{name}[{', '.join(_argument_label(item) for item in args)}]" if args else name


def _argument_label(item: Any) -> str:
    if isinstance(item, list):
        parts = cast("list[Any]", item)
        return f"[{', '.join(type_label(part) for part in parts)}]"
    return type_label(item)


def _origin_name(expected: Any, origin: Any) -> str:
    if origin is Union or origin is types.UnionType:
        return "Union"
    if hasattr(expected, "__metadata__"):
        return "Annotated"
    name = getattr(origin, "__name__", None) or str(origin)
    return _KEDI_NAMES.get(name, name.rpartition(".")[2])


def _is_model(expected: Any) -> bool:
    return isinstance(expected, type) and hasattr(expected, "__pydantic_root_model__")


def _validation_error() -> type[ValidationError]:
    from pydantic import ValidationError

    return ValidationError


def _cached(build: Any, expected: Any) -> TypeAdapter[Any]:
    # `int | str` equals `str | int`, yet their order can matter: the arguments
    # are part of the key.
    try:
        return build(expected, get_args(expected))
    except TypeError as problem:
        if isinstance(problem, UnusableType):
            raise
        return build.__wrapped__(expected, ())


@lru_cache(maxsize=512)
def _model_adapter(expected: Any, _args: Any) -> TypeAdapter[Any]:
    return _build(expected)


@lru_cache(maxsize=512)
def _native_adapter(expected: Any, _args: Any) -> TypeAdapter[Any]:
    return _build(_instances_only(expected))


def _build(expected: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter

    if not _looks_like_type(expected):
        kind = type_label(cast("type[Any]", type(expected)))
        raise UnusableType(f"{short_repr(expected)} is not a type", f"it is a value of type {kind}")
    try:
        try:
            adapter = TypeAdapter(expected)
        except PydanticSchemaGenerationError:
            adapter = TypeAdapter(expected, config=ConfigDict(arbitrary_types_allowed=True))
        if not adapter.pydantic_complete:
            adapter.rebuild(raise_errors=True)
        return adapter
    except Exception as problem:
        # pydantic has no common base for what a malformed type can raise.
        lines = str(problem).splitlines() or [type(problem).__name__]
        raise UnusableType(
            f"{type_label(expected)} cannot be used as a type: {lines[0]}", lines[0]
        ) from problem


def _looks_like_type(expected: Any) -> bool:
    return (
        isinstance(expected, type)
        or get_origin(expected) is not None
        or type(expected).__module__ in ("typing", "typing_extensions", "types")
    )


def _instances_only(expected: Any) -> Any:
    """Ask for instances where pydantic would build models and patterns from plain data."""
    import re

    from pydantic import InstanceOf

    if expected is re.Pattern or get_origin(expected) is re.Pattern or _is_model(expected):
        return cast("Any", InstanceOf)[expected]
    args = get_args(expected)
    if not args:
        return expected
    name = _origin_name(expected, get_origin(expected))
    if name in ("Literal", "Callable"):
        return expected
    if name == "Annotated":
        return _annotated(_instances_only(args[0]), expected.__metadata__)
    swapped = tuple(_instances_only(item) for item in args)
    if all(new is old for new, old in zip(swapped, args, strict=True)):
        return expected
    if name == "Union":
        return Union[swapped]  # noqa: UP007 - built from a tuple
    if hasattr(expected, "copy_with"):
        return expected.copy_with(swapped)
    return types.GenericAlias(get_origin(expected), swapped)


def _annotated(inner: Any, metadata: tuple[Any, ...]) -> Any:
    from typing import Annotated

    return Annotated[(inner, *metadata)]  # type: ignore[return-value]


def _json(value: Any) -> bytes | None:
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError, RecursionError):
        return None


def _mismatch(
    value: Any, expected: Any, problem: ValidationError | None = None, note: str | None = None
) -> TypeMismatch:
    label, actual = type_label(expected), type_label(cast("type[Any]", type(value)))
    detail = note or (problem_lines(problem) if problem is not None else short_repr(value))
    if actual == label:
        # Two classes of one name: the type was defined again after the value was made.
        actual = f"{actual} of an earlier definition"
    return TypeMismatch(label, actual, detail)


def problem_lines(problem: ValidationError) -> str:
    """What pydantic found, one readable line per problem, without its links; a few at most."""
    items = problem.errors(include_url=False, include_context=False)
    lines: list[str] = []
    for item in items[:_MAX_PROBLEMS]:
        path = _path(item["loc"])
        text = item["msg"][:1].lower() + item["msg"][1:]
        given = "" if item["type"] == "missing" else f", got {short_repr(item['input'])}"
        lines.append(f"{path}{text}{given}")
    if len(items) > _MAX_PROBLEMS:
        lines.append(f"and {len(items) - _MAX_PROBLEMS} more")
    return "\n".join(lines)


def _path(location: tuple[int | str, ...]) -> str:
    if not location:
        return ""
    parts = [f"[{item}]" if isinstance(item, int) else f".{item}" for item in location[:12]]
    dots = "…" if len(location) > 12 else ""
    return "".join(parts).removeprefix(".") + dots + ": "


__all__ = [
    "TypeMismatch",
    "UnusableType",
    "check_native",
    "ensure_type",
    "from_model",
    "problem_lines",
    "type_label",
]
