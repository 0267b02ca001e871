"""Typed reading of a request's arguments: wrong ones become an error that names the field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

T = TypeVar("T")


class RequestError(Exception):
    """Refuses a request. The message says to the user what is wrong and what to do.

    ``show_user`` is false for what a client asks by itself, such as a hover.
    """

    def __init__(self, message: str, *, show_user: bool = True, error_id: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.show_user = show_user
        self.error_id = error_id


class _Required:
    pass


_REQUIRED: Any = _Required()


class Arguments:
    """The arguments of one request. ``null`` counts as absent.

    Each method raises :class:`RequestError` for a missing argument without a default and for a
    value of another kind.
    """

    __slots__ = ("_path", "values")

    def __init__(self, values: dict[str, Any], path: str = "") -> None:
        self.values = values
        self._path = path

    def has(self, name: str) -> bool:
        """Whether the argument is given."""
        return self.values.get(name) is not None

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def text(self, name: str, default: Any = _REQUIRED) -> Any:
        """A string."""
        return self._read(name, default, lambda value: isinstance(value, str), "text")

    def integer(self, name: str, default: Any = _REQUIRED) -> Any:
        """A whole number."""
        value = self.values.get(name)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return self._read(name, default, _is_integer, "a whole number")

    def number(self, name: str, default: Any = _REQUIRED) -> Any:
        """A number."""
        return self._read(
            name, default, lambda v: _is_integer(v) or isinstance(v, float), "a number"
        )

    def flag(self, name: str, default: Any = False) -> Any:
        """A boolean, false by default."""
        return self._read(name, default, lambda value: isinstance(value, bool), "true or false")

    def section(self, name: str, default: Any = _REQUIRED) -> Any:
        """An object, as :class:`Arguments`."""
        value = self._read(name, default, lambda item: isinstance(item, dict), "an object")
        return (
            Arguments(cast("dict[str, Any]", value), self._name(name))
            if type(value) is dict
            else value
        )

    def items(self, name: str, default: Any = _REQUIRED) -> list[Arguments]:
        """A list of objects, each as :class:`Arguments`."""
        value = self._list(name, default)
        wrong = next((i for i, item in enumerate(value) if not isinstance(item, dict)), None)
        if wrong is not None:
            raise self._wrong(f"{name}[{wrong}]", "an object", value[wrong])
        return [Arguments(item, f"{self._name(name)}[{index}]") for index, item in enumerate(value)]

    def texts(self, name: str, default: Any = _REQUIRED) -> list[str]:
        """A list of strings."""
        value = self._list(name, default)
        wrong = next((i for i, item in enumerate(value) if not isinstance(item, str)), None)
        if wrong is not None:
            raise self._wrong(f"{name}[{wrong}]", "text", value[wrong])
        return value

    def integers(self, name: str, default: Any = _REQUIRED) -> list[int]:
        """A list of whole numbers."""
        value = self._list(name, default)
        wrong = next((i for i, item in enumerate(value) if not _is_integer(item)), None)
        if wrong is not None:
            raise self._wrong(f"{name}[{wrong}]", "a whole number", value[wrong])
        return value

    def one_of(self, name: str, choices: tuple[str, ...], default: Any = _REQUIRED) -> Any:
        """A string out of ``choices``."""
        value = self.text(name, default)
        if isinstance(value, str) and value not in choices and value != default:
            listed = ", ".join(repr(item) for item in choices)
            raise RequestError(f"`{self._name(name)}` is one of {listed}, not {value[:60]!r}")
        return value

    def raw(self, name: str) -> Any:
        """The value as it was sent, ``None`` when absent."""
        return self.values.get(name)

    def _list(self, name: str, default: Any) -> list[Any]:
        value = self._read(name, default, lambda item: isinstance(item, list), "a list")
        return [] if value is None else value

    def _read(self, name: str, default: Any, fits: Callable[[Any], bool], wanted: str) -> Any:
        value = self.values.get(name)
        if value is None:
            if default is _REQUIRED:
                raise RequestError(f"the argument `{self._name(name)}` is missing: it is {wanted}")
            return default
        if not fits(value):
            raise self._wrong(name, wanted, value)
        return value

    def _wrong(self, name: str, wanted: str, value: Any) -> RequestError:
        return RequestError(f"`{self._name(name)}` is {wanted}, not {_kind(value)}")

    def _name(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"
