"""What goes wrong while one logical line is parsed."""

from __future__ import annotations


class Fault(Exception):
    """One finding in a logical line; becomes a :class:`~kedi.diagnostics.Diagnostic`.

    ``start`` and ``end`` are offsets into the line's text, end exclusive.
    ``open`` says that more input behind the line could mend it.
    """

    def __init__(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        hint: str | None = None,
        *,
        open: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.hint = hint
        self.open = open


def nearest(word: str, known: list[str]) -> str | None:
    """The known word most like ``word``, or ``None`` when none is close."""
    from difflib import get_close_matches

    lowered = word.lower()
    if lowered in known:
        return lowered
    found = get_close_matches(lowered[:64], known, n=1, cutoff=0.6)
    return found[0] if found else None
