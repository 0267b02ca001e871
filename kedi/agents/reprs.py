"""Values as messages show them: short, and never the cause of another failure."""

from __future__ import annotations

import reprlib
from typing import Any, cast

#: Longer integers are not written out: Python refuses to, or takes its time.
_MAX_BITS = 4000


def full_repr(value: Any) -> str:
    """``repr(value)``, or what stands for it when that fails, even with an exit."""
    try:
        return _int_repr(value) if type(value) is int else str(repr(value))
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        return _failed(value, problem)


def short_repr(value: Any, limit: int = 80) -> str:
    """About ``limit`` characters of the ``repr``, bounded in time for builtin containers."""
    try:
        text = _Bounded(limit).repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        text = _failed(value, problem)
    return cut(text, limit)


def cut(text: str, limit: int) -> str:
    """The text, cut to at most ``limit`` characters with the ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class _Bounded(reprlib.Repr):
    def __init__(self, limit: int) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = limit
        if limit > 200:
            self.maxdict = self.maxlist = 20

    def repr_int(self, x: int, level: int) -> str:
        return _int_repr(x) if type(x) is int else self.repr_instance(x, level)

    def repr_instance(self, x: Any, level: int) -> str:
        text = full_repr(x)
        if len(text) <= self.maxother:
            return text
        half = (self.maxother - 3) // 2
        return f"{text[:half]}...{text[len(text) - half :]}"


def _int_repr(value: int) -> str:
    bits = value.bit_length()
    return repr(value) if bits <= _MAX_BITS else f"<int of {bits:,} bits>"


def _failed(value: Any, problem: BaseException) -> str:
    kind = cast("type[Any]", type(value))
    if kind in (list, tuple, dict, set, frozenset):
        # Something inside it; which of its items cannot be said in a few words.
        return f"<{kind.__name__} of {len(value)} items whose repr raised {type(problem).__name__}>"
    return f"<{kind.__name__} whose repr raised {type(problem).__name__}>"


__all__ = ["cut", "full_repr", "short_repr"]
