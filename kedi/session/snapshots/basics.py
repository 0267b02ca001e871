"""What the writer and the reader of values agree on, and what the writer's parts share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kedi.session.snapshots.paths import Node

Handler = Callable[[Any, Node, int], Any]

TAGS = frozenset(
    {
        *("(", "[", "{", "<", ">", "@", "@?", "#", "*", "!"),
        *(":int", ":float", ":str", ":bytes", ":bytearray", ":complex", ":decimal"),
        *(":fraction", ":uuid", ":date", ":datetime", ":time", ":timedelta", ":path"),
        *(":pattern", ":range", ":deque", ":odict", ":ddict", ":counter"),
        *(":dict", ":floats", ":dicts", ":tuples", ":lists", ":sets", ":frozensets", ":instances"),
    }
)
"""First items that make an array a tagged one."""

FACTORIES: dict[str, Any] = {
    item.__name__: item
    for item in (
        *(bool, int, float, complex, str, bytes, bytearray),
        *(list, tuple, dict, set, frozenset, object),
    )
}
"""Factories that a ``defaultdict`` may have, by name."""

MAX_DEPTH = 60
"""Levels of one JSON tree; what is deeper continues in a cell of its own."""

MAX_REPEATED = 300_000
"""Parts of values that occur again within elements of sets, which are written in full each time."""

MIN_COLUMN = 16
"""Items of one class from which on a list is written by columns."""

typeof: Callable[[Any], type[Any]] = type
"""The class of a value."""

NONE = type(None)
PLAIN = frozenset({str, int, bool, NONE})
"""Classes of which JSON says every value, but for large integers and text that is not Unicode."""

SIMPLE = frozenset({str, int, bool, NONE, float})
"""The same with floats, of which JSON says the finite ones."""


class Definitions(Protocol):
    """What the encoder asks about types, procedures and profiles."""

    def index_of(self, value: Any) -> int | str:
        """The index in the snapshot's table of definitions, or the reason against it."""
        ...

    def position_of(self, value: Any) -> tuple[int, int]:
        """``(fragment, line)``: an order of definitions that lasts."""
        ...


class NoDefinitions:
    """For values in which no definition may occur."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def index_of(self, value: Any) -> int | str:
        """Always the reason."""
        return self.reason

    def position_of(self, value: Any) -> tuple[int, int]:
        """Never asked."""
        return 0, 0


class NeedsPlain(Exception):
    """The values must be encoded again without columns."""


def is_unicode(text: Any) -> bool:
    """Whether a key is text that JSON can say."""
    if type(text) is not str:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
