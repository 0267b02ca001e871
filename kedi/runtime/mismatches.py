"""What a user is told about a value that breaks a contract."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, cast

from kedi.agents.validation import TypeMismatch, type_label
from kedi.errors import KediTypeExecutionError


def mismatch(
    error: TypeMismatch, what: str, value: Any, wanted: Any = None, verb: str = "expects"
) -> KediTypeExecutionError:
    """The user's error for a value that breaks a contract; ``wanted`` is the type of that."""
    namesake = _namesake(wanted, value)
    if namesake is not None:
        return _confusion(f"`{what}` {verb}", wanted, *namesake)
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
    text = f"`{what}` {verb} {error.expected}, got {error.actual}"
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
    return KediTypeExecutionError(f"{what} {label}, {text}", hint=hint)


def _home(cls: type) -> str:
    site = cls.__dict__.get("__kedi_site__")
    return "Python itself" if site is None else f"{site.unit.name}, line {site.line}"
