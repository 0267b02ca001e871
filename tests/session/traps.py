"""Objects that must never be touched: every way of running their code ends the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Touched(BaseException):
    """User code ran although nobody asked for it."""


class Trap:
    """Stores something and guards everything else."""

    def __init__(self) -> None:
        object.__setattr__(self, "stored", 1)

    @property
    def computed(self) -> str:
        raise Touched("computed")

    @property
    def __class__(self) -> Any:
        raise Touched("__class__")

    def __getattribute__(self, name: str) -> Any:
        raise Touched(name)

    def __getattr__(self, name: str) -> Any:
        raise Touched(name)

    def _touched(self, *args: object, **names: object) -> Any:
        raise Touched("special method")

    __iter__ = __len__ = __bool__ = __str__ = __hash__ = __eq__ = __dir__ = _touched  # type: ignore[assignment]
    __contains__ = __getitem__ = __call__ = __format__ = __sizeof__ = _touched  # type: ignore[assignment]

    def method(self, a: int, b: str = "x") -> str:
        """Not called either."""
        raise Touched("method")


class LyingMeta(type):
    """A metaclass that guards its classes."""

    @property
    def guarded(cls) -> str:
        raise Touched("guarded")

    def __getattribute__(cls, name: str) -> Any:
        raise Touched(name)

    def __instancecheck__(cls, instance: object) -> bool:
        raise Touched("instancecheck")

    def __subclasscheck__(cls, other: type) -> bool:
        raise Touched("subclasscheck")

    def mro(cls) -> list[type]:
        return type.mro(cls)


class Lying(metaclass=LyingMeta):
    """A class with a hostile metaclass."""

    attribute = 1


class LyingList(list[Any]):
    """A list that says it is empty and breaks when it is used."""

    def _touched(self, *args: object) -> Any:
        raise Touched("list method")

    __iter__ = __len__ = __getitem__ = __bool__ = __eq__ = _touched  # type: ignore[assignment]


class LyingDict(dict[Any, Any]):
    """A dict that breaks when it is used."""

    def _touched(self, *args: object) -> Any:
        raise Touched("dict method")

    __iter__ = __len__ = __getitem__ = __missing__ = items = keys = values = get = _touched  # type: ignore[assignment]
    __contains__ = __eq__ = _touched  # type: ignore[assignment]


class HostileDescriptor:
    """A descriptor that must not be asked."""

    def __get__(self, instance: object, owner: type) -> Any:
        raise Touched("descriptor")


class Described:
    """An object with such a descriptor."""

    value = HostileDescriptor()

    def __init__(self) -> None:
        self.own = 2


class HidesDict:
    """Its ``__dict__`` is code."""

    __slots__ = ("a",)

    def __init__(self) -> None:
        self.a = 1

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise Touched("__dict__")


TRAPS: dict[str, Callable[[], Any]] = {
    "trap": Trap,
    "class": lambda: Lying,
    "instance": lambda: object.__new__(Lying),
    "list": lambda: LyingList([1, 2]),
    "dict": lambda: LyingDict(a=1),
    "descriptor": Described,
    "no dict": HidesDict,
}
"""Makers by name: not even a test runner could look at the objects themselves."""
