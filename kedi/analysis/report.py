"""Collecting diagnostics for statements of a program."""

from __future__ import annotations

from kedi.diagnostics import Diagnostic, Related, Severity, Tag
from kedi.source import Span
from kedi.syntax.ast import Node, Stmt, span_of
from kedi.syntax.nodes import Record


def line_text(stmt: Stmt, offset: int) -> str:
    """The physical line of ``stmt.text`` that holds ``offset``."""
    text = stmt.text
    begin = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return text[begin:] if end < 0 else text[begin:end]


class Stretch(Node):
    """A stretch of a statement that is no node of its own, such as one name of a type."""


class Place(Record):
    """A node of a statement, for findings that need to point back at it later."""

    stmt: Stmt
    node: Node
    base: int


_MOST = 1000


class Reporter:
    """Makes diagnostics of one source, in the order they are found; at most a thousand."""

    __slots__ = ("found", "source_name")

    def __init__(self, source_name: str) -> None:
        self.source_name = source_name
        self.found: list[Diagnostic] = []

    def span(self, place: Place) -> Span:
        """Absolute span of a place."""
        return span_of(self.source_name, place.stmt, place.node, place.base)

    def related(self, place: Place, message: str) -> tuple[Related, ...]:
        """One related place."""
        return (Related(self.span(place), message),)

    def add(
        self,
        code: str,
        message: str,
        place: Place,
        hint: str | None = None,
        *,
        severity: Severity = "error",
        related: tuple[Related, ...] = (),
        tags: tuple[Tag, ...] = (),
    ) -> None:
        """Record a finding at ``place``."""
        if len(self.found) >= _MOST:
            return
        self.found.append(
            Diagnostic(
                code,
                message,
                self.span(place),
                severity,
                hint,
                line_text(place.stmt, place.node.start),
                related,
                tags,
            )
        )

    def sorted(self) -> list[Diagnostic]:
        """Everything found, by position; findings of one place keep their order."""
        found = self.found
        if len(found) > 1:
            found.sort(key=lambda item: (item.span.line, item.span.column))
        return found
