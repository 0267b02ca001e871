"""What is wrong with a source, where, and what to do about it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kedi.source import Span, split_lines

Severity = Literal["error", "warning", "information", "hint"]
Tag = Literal["unnecessary", "deprecated"]


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a diagnostic, such as the first declaration."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. ``code`` is stable; ``source_line`` is the text of the span's first line."""

    code: str
    message: str
    span: Span
    severity: Severity = "error"
    hint: str | None = None
    source_line: str = ""
    related: tuple[Related, ...] = ()
    tags: tuple[Tag, ...] = ()

    def __str__(self) -> str:
        return f"{self.span}: {self.message}"


_COLORS = {"error": "31", "warning": "33", "information": "36", "hint": "36"}
_MAX_LINE = 160


def paint(text: str, style: str, use_color: bool) -> str:
    """``text`` in an ANSI SGR ``style`` such as ``"1;31"``, or as it is."""
    return f"\x1b[{style}m{text}\x1b[0m" if use_color else text


_ZERO_WIDTH = frozenset({"Mn", "Mc", "Me", "Cf"})
_MAX_TEXT = 20_000


def printable(text: str) -> str:
    """``text`` on one line, tabs widened and control characters made visible."""
    if text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char == "\t":
        return "    "
    # The joiner of emoji sequences; every other invisible character is spelt out.
    if char.isprintable() or char == "\u200d":
        return char
    code = ord(char)
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def readable(text: str) -> str:
    """A message that may have several lines, safe to print: no control characters, bounded."""
    if len(text) > _MAX_TEXT:
        more = len(text) - _MAX_TEXT
        text = f"{text[:_MAX_TEXT]}… ({more:,} more characters)"
    return "\n".join(map(printable, split_lines(text)))


def display_width(text: str) -> int:
    """Terminal cells that ``text`` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(char) in _ZERO_WIDTH
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )


def excerpt(source_line: str, column: int, end_column: int) -> tuple[str, str]:
    """``(line, marker)``: the source line cut to a readable width and carets under the span.

    ``column`` and ``end_column`` are 1-based code-point columns of that line.
    """
    start, end = max(0, column - 1), max(column, end_column - 1)
    line, cut = source_line, ""
    if len(line) > _MAX_LINE:
        begin = max(0, min(start - 40, len(line) - _MAX_LINE))
        cut = "…" if begin else ""
        tail = "…" if begin + _MAX_LINE < len(line) else ""
        line = line[begin : begin + _MAX_LINE]
        start, end = start - begin, min(end - begin, len(line))
        before, marked = line[:start], line[start:end]
        line = cut + printable(line) + tail
    else:
        before, marked = line[:start], line[start:end]
        line = printable(line)
    pad = display_width(cut + printable(before))
    return line, " " * pad + "^" * max(1, display_width(printable(marked)))


def render_diagnostic(item: Diagnostic, use_color: bool = False) -> str:
    """Readable text of one diagnostic: place, message, source line with carets, hint."""
    span = item.span
    head = paint(item.severity, f"1;{_COLORS[item.severity]}", use_color)
    code = paint(f"[{item.code}]", "2", use_color)
    out = [
        f"{head}{code}: {readable(item.message)}",
        f"  --> {printable(span.source_name)}, line {span.line}, column {span.column}",
    ]
    if item.source_line.strip():
        end = span.end_column if span.end_line == span.line else len(item.source_line) + 1
        line, marker = excerpt(item.source_line, span.column, end)
        gutter = str(span.line)
        blank = " " * len(gutter)
        out.append(f"  {gutter} | {line}")
        out.append(f"  {blank} | {paint(marker, _COLORS[item.severity], use_color)}")
    if item.hint:
        out.append(f"  {paint('help', '1;36', use_color)}: {readable(item.hint)}")
    for other in item.related:
        place = f"{printable(other.span.source_name)}, line {other.span.line}"
        out.append(f"  note: {readable(other.message)} ({place})")
    return "\n".join(out)


def render_diagnostics(items: Iterable[Diagnostic], use_color: bool = False) -> str:
    """All diagnostics, one below the other."""
    return "\n".join(render_diagnostic(item, use_color) for item in items)
