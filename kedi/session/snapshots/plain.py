"""Quick looks at many values at once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import isfinite
from operator import eq
from typing import Any

from kedi.session.snapshots.basics import MAX_DEPTH, MIN_COLUMN, PLAIN, SIMPLE, typeof

FIRST_CHECK = 100_000
"""Identities after which repetitions are first looked for, to end a walk that goes in circles."""


def plain_ids(value: Any) -> list[int] | None:
    """Identities of all containers of a value that is JSON as it stands, ``None`` for others.

    Integers beyond 64 bits, text with lone surrogates and later keys that are not text are
    left to the JSON writer, which refuses them. Long lists that columns would make smaller
    are not plain in this sense.
    """
    ids: list[int] = []
    note = ids.append
    check_at = FIRST_CHECK

    def scan(value: Any, depth: int) -> bool:
        nonlocal check_at
        note(id(value))
        if typeof(value) is list:
            items = value
        else:
            for key in value:
                if typeof(key) is not str:
                    return False
                break
            items = value.values()
        kinds = set(map(typeof, items))
        if kinds <= PLAIN:
            return True
        if depth >= MAX_DEPTH or not kinds <= _JSON:
            return False
        if len(kinds) == 1 and items is value and len(value) >= MIN_COLUMN:
            return False
        for item in items:
            kind = typeof(item)
            if kind is list or kind is dict:
                if not scan(item, depth + 1):
                    return False
            elif kind is float and item - item != 0.0:
                return False
        if len(ids) > check_at:
            # One that is met over and over again would be visited over and over again.
            if repeats(ids):
                return False
            check_at = 2 * len(ids)
        return True

    return ids if scan(value, 0) else None


_JSON: frozenset[type] = SIMPLE | {list, dict}


def repeats(ids: Iterable[int]) -> bool:
    """Whether an identity occurs twice. Objects made in turn lie in turn: sorting is quick."""
    ordered = sorted(ids)
    return any(map(eq, ordered, islice(ordered, 1, None)))


def is_finite(kinds: set[type[Any]], value: Any) -> bool:
    """Whether all floats among items of these classes are finite."""
    if len(kinds) == 1:
        return all(map(isfinite, value))
    return all(item - item == 0.0 for item in value if type(item) is float)


_SAMPLE = 32
_PACKED = 12


def is_long(value: Any) -> bool:
    """Whether floats take less room packed than as decimal text, judged by the first ones."""
    if len(value) < MIN_COLUMN:
        return False
    texts = [repr(item) for item in value[:_SAMPLE]]
    return sum(map(len, texts)) > _PACKED * len(texts)
