"""A bounded cache that keeps what is used."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_LONGEST = 4096


class TwoGenerations(Generic[K, V]):
    """Two dictionaries: when the young one is full, it becomes the old one and the old one goes.

    Reads and writes are single dictionary operations, so threads can share one
    instance; the worst a race does is to forget an entry. Entries for texts
    longer than 4,096 characters are not kept.
    """

    __slots__ = ("_limit", "_old", "_young")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value kept for ``key``, or ``None``."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self._young[key] = found
        return found

    def put(self, key: K, value: V, size: int) -> None:
        """Keep ``value``, which was made from a text of ``size`` characters."""
        if size > _LONGEST:
            return
        if len(self._young) >= self._limit:
            self._old = self._young
            self._young = {}
        self._young[key] = value

    def clear(self) -> None:
        """Forget everything."""
        self._young = {}
        self._old = {}
