"""What an error came from, and what an exception group holds."""

from __future__ import annotations

from typing import Any, Literal

from kedi.errors import Cause, KediError
from kedi.runtime.frames import Unit
from kedi.runtime.traces import (
    MAX_CHAIN,
    cause_of,
    context_of,
    entries_of,
    message_of,
    python_span,
    suppresses_context,
    traceback_of,
)
from kedi.source import Span

Relation = Literal["cause", "context", "member"]
# Untyped: its type parameter is unknown here.
_GROUP: Any = BaseExceptionGroup
#: Causes and members shown; a chain can be long and a group wide.
_MAX_CAUSES = 20


def causes_of(error: BaseException | None, units: dict[str, Unit]) -> tuple[Cause, ...]:
    """Causes, contexts and members of groups, nearest first, by the rules of Python's traceback.

    ``error`` is what Python raised, ``None`` when Kedi itself found a fault: its message
    says what that comes from.
    """
    causes: list[Cause] = []
    if error is not None:
        _collect(error, 0, causes, units, {id(error)})
    if len(causes) > _MAX_CAUSES:
        more = f"{len(causes) - _MAX_CAUSES} more exceptions"
        causes[_MAX_CAUSES:] = [Cause("context", "…", more)]
    return tuple(causes)


def _collect(
    error: BaseException,
    depth: int,
    causes: list[Cause],
    units: dict[str, Unit],
    seen: set[int],
) -> None:
    if isinstance(error, _GROUP):
        for member in _GROUP.exceptions.__get__(error):
            _add("member", member, depth, depth + 1, causes, units, seen)
    following = cause_of(error)
    if following is not None:
        _add("cause", following, depth, depth, causes, units, seen)
    elif not suppresses_context(error) and context_of(error) is not None:
        _add("context", context_of(error), depth, depth, causes, units, seen)


def _add(
    relation: Relation,
    error: BaseException,
    depth: int,
    deeper: int,
    causes: list[Cause],
    units: dict[str, Unit],
    seen: set[int],
) -> None:
    if id(error) in seen or len(seen) >= MAX_CHAIN:
        return
    seen.add(id(error))
    span: Span | None = None
    for code, line, offset in entries_of(traceback_of(error)):
        if code.co_filename in units:
            span = python_span(code, line, offset, units[code.co_filename])
    text = error.message if isinstance(error, KediError) else message_of(error)
    causes.append(Cause(relation, type(error).__name__, text, span, depth))
    _collect(error, deeper, causes, units, seen)


__all__ = ["causes_of"]
