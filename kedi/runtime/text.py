"""Small helpers for messages."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like ``name``, when one is close enough to suggest."""
    import difflib

    pool = {item for item in candidates if item != name}
    folded = {item.casefold(): item for item in pool}
    if name.casefold() in folded:
        return folded[name.casefold()]
    found = difflib.get_close_matches(name, pool, n=1, cutoff=0.6)
    return found[0] if found else None


def safe_str(value: object) -> str:
    """``str(value)`` for messages, also when that raises, even an exit."""
    try:
        return str(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<{type(value).__name__} whose text failed: {type(error).__name__}>"


def described(error: BaseException) -> str:
    """``Type: text``, or the type alone for an exception without a text."""
    text = safe_str(error)
    return f"{type(error).__name__}: {text}" if text.strip() else type(error).__name__
