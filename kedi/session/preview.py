"""Values as bounded text.

A preview costs by its own length, never by the size of the value: containers,
models, dataclasses and plain objects are written piece by piece until the room
is used up, and a ``__repr__`` of user code runs only for objects that hold
little. What it prints is dropped, what it raises becomes part of the text.
Nesting of any depth and cycles are fine.
"""

from __future__ import annotations

import re
import sys
import threading
from dataclasses import dataclass
from typing import Any, cast

from kedi.diagnostics import printable
from kedi.runtime.scopes import Scope
from kedi.session.forms import (
    HANDLERS,
    MARK,
    Part,
    Pieces,
    Room,
    call_form,
    is_generated,
    is_model_repr,
    is_named_tuple,
    model_fields,
    recursive,
    structure,
)
from kedi.session.static import (
    DICT,
    STR,
    TUPLE,
    attributes_of,
    class_attribute,
    defined_repr,
    is_real,
    kind_of,
    label_of,
    module_of,
    name_of,
    outweighs,
    size_of,
)

PREVIEW_LIMIT = 200
"""Characters of a preview."""

TEXT_LIMIT = 50_000_000
"""Characters of a full text: a few shared lists can stand for endless ones."""

_DEPTH = 8
_HEAVY = 10_000

#: Packages whose classes run no user code in their ``__repr__``.
_KNOWN = frozenset(
    (
        *("datetime", "decimal", "enum", "fractions", "ipaddress", "kedi", "pathlib", "re"),
        *("uuid", "zoneinfo"),
    )
)


@dataclass(frozen=True, slots=True)
class Preview:
    """A value on one line.

    ``cut`` when there is more; ``length`` is the value's own: characters of a
    text, bytes of bytes, items of a container, ``None`` for other values.
    """

    text: str
    cut: bool
    length: int | None


def preview(
    value: Any, *, limit: int = PREVIEW_LIMIT, hex: bool = False, run_repr: bool = True
) -> Preview:
    """``value`` on one line of at most ``limit`` characters.

    ``hex`` writes whole numbers in base 16. Without ``run_repr`` no
    ``__repr__`` of user code runs; such objects show what they store.
    """
    text, cut = _Writer(limit, hex, run_repr, True).write(value)
    return Preview(text, cut, size_of(value))


def full_text(
    value: Any, *, limit: int = TEXT_LIMIT, hex: bool = False, run_repr: bool = True
) -> str:
    """The whole of what :func:`preview` shows the beginning of, up to ``limit`` characters.

    Line breaks of a user's ``__repr__`` stay. Always encodable: lone surrogates are escaped.
    """
    return _Writer(limit, hex, run_repr, False).write(value)[0]


# ── the writer ────────────────────────────────────────────────────────────────


_Level = tuple[Pieces, int, Any]
"""Pieces still to come, the identity of what they belong to, and that itself, to keep it alive."""


class _Writer(Room):
    """Writes one value with an explicit stack, so that nesting cannot exhaust Python's."""

    __slots__ = ("pieces", "run_repr")

    def __init__(self, limit: int, hex: bool, run_repr: bool, one_line: bool) -> None:
        super().__init__(max(1, limit), hex, one_line)
        self.run_repr = run_repr
        self.pieces: list[str] = []

    def write(self, value: Any) -> tuple[str, bool]:
        """The text, and whether something is missing from it."""
        stack: list[_Level] = []
        path: set[int] = set()
        self._enter(value, stack, path)
        while stack and self.room > 0:
            pieces, ident, _ = stack[-1]
            try:
                piece = next(pieces)
            except StopIteration:
                stack.pop()
                path.discard(ident)
                continue
            except RuntimeError:
                # The container changed while it was read (another thread fills it).
                self._add(MARK)
                self.cut = True
                stack.pop()
                path.discard(ident)
                continue
            if type(piece) is str:
                self._add(piece)
            else:
                self._enter(cast("Part", piece).value, stack, path)
        if self.room <= 0 and stack:
            self._rest(stack)
        return "".join(self.pieces), self.cut

    def _rest(self, stack: list[_Level]) -> None:
        """The room is used up: say so when something is left."""
        if not self.cut and any(_has_more(pieces) for pieces, _, _ in stack):
            self.cut = True
            last = self.pieces[-1]
            self.pieces[-1] = last[:-1] + MARK if last else MARK

    def _enter(self, value: Any, stack: list[_Level], path: set[int]) -> None:
        pieces = self._pieces(value)
        if type(pieces) is str:
            self._add(pieces)
            return
        ident = id(value)
        if ident in path:
            self._add(recursive(value))
        elif self.one_line and len(stack) >= _DEPTH:
            self._add(recursive(value))
            self.cut = True
        else:
            path.add(ident)
            stack.append((cast("Pieces", pieces), ident, value))

    def _add(self, text: str) -> None:
        if len(text) > self.room:
            text = text[: max(0, self.room - 1)] + MARK
            self.cut = True
        self.pieces.append(text)
        self.room -= len(text)

    def _pieces(self, value: Any) -> str | Pieces:
        """The text of a leaf, or the pieces of a compound."""
        found = defined_repr(value)
        handler = HANDLERS.get(id(found))
        if handler is not None:
            return handler(self, value)
        cls: type = kind_of(value)
        if is_real(value, Scope):
            return f"<{value.kind} scope of {DICT.__len__(value)} names>"
        if is_generated(found, cls):
            return call_form(name_of(cls), attributes_of(value))
        if is_model_repr(found):
            return call_form(name_of(cls), model_fields(value))
        if is_named_tuple(found, cls):
            names = class_attribute(cls, "_fields")
            return call_form(name_of(cls), dict(zip(names, TUPLE.__iter__(value), strict=False)))
        if self._may_run(value, found):
            return self._own(value)
        return structure(self, value)

    def _may_run(self, value: Any, found: Any) -> bool:
        if not self.run_repr:
            return module_of(kind_of(value)).partition(".")[0] in _KNOWN
        return not self.one_line or not outweighs(value, _HEAVY)

    def _own(self, value: Any) -> str:
        """What the object's own ``__repr__`` says, in one line if that is wanted."""
        try:
            with _Muted():
                text: Any = repr(value)
                text = STR.__str__(text)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Also SystemExit and the like: looking at a value must not end anything.
            return f"<{label_of(value)}: its repr failed with {label_of(error)}>"
        if not self.one_line:
            return encodable(text)
        text = text[: 4 * self.room + 100]
        return printable(_BREAK.sub(" ", text)) if not text.isprintable() else text


_BREAK = re.compile(r"[ \t]*[\r\n]\s*")


def _has_more(pieces: Pieces) -> bool:
    try:
        return next(pieces, None) is not None
    except RuntimeError:
        return True


def encodable(text: str) -> str:
    """``text`` with lone surrogates escaped, so that it can be written anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


class _Muted:
    """Drops what this thread prints while it is entered; other threads print as before."""

    __slots__ = ("_targets",)

    def __enter__(self) -> None:
        self._targets = (_Silent(sys.stdout), _Silent(sys.stderr))
        sys.stdout, sys.stderr = cast("Any", self._targets)

    def __exit__(self, *_: object) -> None:
        out, err = self._targets
        # A stream that another thread has put over this one keeps forwarding to it.
        out.active = err.active = False
        if cast("Any", sys.stdout) is out:
            sys.stdout = out.target
        if cast("Any", sys.stderr) is err:
            sys.stderr = err.target


class _Silent:
    """A stream that swallows the writes of one thread."""

    def __init__(self, target: Any) -> None:
        self.target = target
        self.active = True
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        """Write, unless this is the muted thread."""
        if self.active and threading.get_ident() == self._thread:
            return len(text)
        return self.target.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)


__all__ = ["PREVIEW_LIMIT", "TEXT_LIMIT", "Preview", "encodable", "full_text", "preview"]
