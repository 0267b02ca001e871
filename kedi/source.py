"""Source texts, positions and spans: the one vocabulary for "where".

Inside Kedi a position is an offset: a number of code points from the start of
a text. Errors and frames show 1-based lines and 1-based code-point columns.
Editors speak UTF-8, UTF-16 or UTF-32 units; :class:`LineIndex` is the one
codec between the three.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal, NamedTuple

Encoding = Literal["utf-8", "utf-16", "utf-32"]


class Span(NamedTuple):
    """A stretch of one source: 1-based lines and code-point columns, end exclusive.

    ``end_column`` is the column just after the last character, so an empty
    span has ``(line, column) == (end_line, end_column)``.
    """

    source_name: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.source_name}:{self.line}:{self.column}"


def split_lines(text: str) -> list[str]:
    r"""Physical lines of ``text`` without their ends; only ``\n``, ``\r\n`` and ``\r`` end one.

    ``str.splitlines`` also splits at form feeds and Unicode separators, which
    are ordinary characters of a Kedi text.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


class LineIndex:
    r"""Offsets of line starts, and conversion between offsets and editor positions.

    ``text`` is used as given; a line ends at ``\n``, ``\r\n`` or ``\r``.
    Positions outside the text are clamped to it, as the language server
    protocol asks of servers.
    """

    __slots__ = ("starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        starts = [0]
        append = starts.append
        if "\r" not in text:
            find = text.find
            at = find("\n")
            while at != -1:
                append(at + 1)
                at = find("\n", at + 1)
        else:
            size, at = len(text), 0
            while at < size:
                char = text[at]
                at += 1
                if char == "\n" or (char == "\r" and not text.startswith("\n", at)):
                    append(at)
        self.starts = starts

    def line_of(self, offset: int) -> int:
        """0-based line that holds ``offset``."""
        return bisect_right(self.starts, max(0, offset)) - 1

    def locate(self, offset: int) -> tuple[int, int]:
        """``(line, column)``, both 0-based in code points."""
        offset = min(max(0, offset), len(self.text))
        line = self.line_of(offset)
        return line, offset - self.starts[line]

    def line_text(self, line: int) -> str:
        """Text of a 0-based line without its line end; empty outside the text."""
        if not 0 <= line < len(self.starts):
            return ""
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[line] : end].rstrip("\r\n")

    def offset(self, line: int, units: int, encoding: Encoding = "utf-32") -> int:
        """Offset of an editor position: 0-based line and ``units`` of ``encoding``.

        A position inside a surrogate pair or a multi-byte character is moved
        to that character's start.
        """
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        text = self.line_text(line)
        return self.starts[line] + from_units(text, units, encoding)

    def position(self, offset: int, encoding: Encoding = "utf-32") -> tuple[int, int]:
        """``(line, units)`` of ``encoding``, both 0-based, for an offset."""
        line, column = self.locate(offset)
        text = self.line_text(line)
        return line, to_units(text, min(column, len(text)), encoding)


def to_units(line: str, column: int, encoding: Encoding) -> int:
    """Units of ``encoding`` before the 0-based code-point ``column`` of ``line``."""
    if encoding == "utf-32" or line.isascii():
        return column
    head = line[:column]
    if encoding == "utf-8":
        return len(head.encode("utf-8", "surrogatepass"))
    return len(head) + sum(1 for char in head if char > "\uffff")


def from_units(line: str, units: int, encoding: Encoding) -> int:
    """Code-point column of ``line`` for a number of ``encoding`` units, clamped to the line."""
    if units <= 0:
        return 0
    if encoding == "utf-32" or line.isascii():
        return min(units, len(line))
    seen = 0
    for column, char in enumerate(line):
        if encoding == "utf-16":
            width = 2 if char > "\uffff" else 1
        else:
            width = len(char.encode("utf-8", "surrogatepass"))
        if seen + width > units:
            return column
        seen += width
    return len(line)


@dataclass(frozen=True, slots=True, eq=False)
class SourceFile:
    """A named text. ``path`` is the real file it came from, if there is one."""

    name: str
    text: str
    path: str | None = None

    @property
    def lines(self) -> list[str]:
        """Physical lines without line ends."""
        return split_lines(self.text)
