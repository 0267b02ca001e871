"""Positions and sources in the client's terms: its line and column bases, UTF-16 units, paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kedi.runtime.frames import Site, Unit
    from kedi.session.debugger.events import Breakpoint
    from kedi_dap.server.server import DebugServer


def line_out(server: DebugServer, line: int) -> int:
    """A 1-based line as the client counts."""
    return line if server.settings.lines_start_at_1 else line - 1


def line_in(server: DebugServer, line: int) -> int:
    """A line of the client, 1-based."""
    return line if server.settings.lines_start_at_1 else line + 1


def column_out(server: DebugServer, text: str, column: int) -> int:
    """A 1-based column of code points in the line ``text`` as the client counts."""
    units = utf16_length(text[: column - 1])
    return units + 1 if server.settings.columns_start_at_1 else units


def column_in(server: DebugServer, text: str, column: int) -> int:
    """A column of the client in the line ``text``, 1-based in code points."""
    units = column - 1 if server.settings.columns_start_at_1 else column
    return from_utf16(text, max(0, units)) + 1


def utf16_length(text: str) -> int:
    """UTF-16 units of a text."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def from_utf16(text: str, units: int) -> int:
    """The offset in code points of an offset in UTF-16 units."""
    if text.isascii():
        return units
    at = 0
    for index, char in enumerate(text):
        if at >= units:
            return index
        at += 2 if char > "\uffff" else 1
    return len(text) + max(0, units - at)


def source_body(server: DebugServer, unit: Unit) -> dict[str, Any]:
    """A source: its path when it is a file, else a reference to its text."""
    from pathlib import PurePath

    path = unit.source.path
    if path is not None:
        return {"name": PurePath(path).name, "path": path}
    return {"name": unit.name, "sourceReference": server.handles.source_number(unit)}


def place_body(server: DebugServer, site: Site) -> dict[str, Any]:
    """Source, line and column of a site, as fields of an event."""
    span = site.span
    return {
        "source": source_body(server, site.unit),
        "line": line_out(server, span.line),
        "column": column_out(server, site.unit.line_text(span.line), span.column),
    }


def breakpoint_body(server: DebugServer, breakpoint: Breakpoint) -> dict[str, Any]:
    """A breakpoint as responses and events show it."""
    body: dict[str, Any] = {"id": breakpoint.id, "verified": breakpoint.verified}
    if breakpoint.message:
        body["message"] = breakpoint.message
    if breakpoint.line is not None:
        body["line"] = line_out(server, breakpoint.line)
    if breakpoint.end_line is not None:
        body["endLine"] = line_out(server, breakpoint.end_line)
    return body
