"""What a completion is before it is narrowed to a place in a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CompletionKind = Literal[
    "value",
    "procedure",
    "type",
    "profile",
    "python",
    "promise",
    "module",
    "builtin",
    "keyword",
    "attribute",
    "method",
    "property",
    "key",
    "parameter",
    "argument",
    "directive",
    "setting",
    "word",
    "path",
]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name that may be typed.

    ``rank`` is a digit, lower ones come first; ``order`` sorts within a rank
    what has an order of its own. ``insert`` is given when it
    differs from the label, ``prefix`` when the word that it completes has
    another length than the one at the cursor.
    """

    label: str
    kind: CompletionKind
    detail: str = ""
    rank: int = 2
    insert: str | None = None
    prefix: int | None = None
    order: int = 0


__all__ = ["Candidate", "CompletionKind"]
