"""Expressions on their own: a return is made of them, and places count in what was given."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from kedi.diagnostics import Diagnostic
from kedi.errors import (
    Cause,
    Frame,
    KediCompileError,
    KediError,
    KediExecutionError,
    KediParseError,
    PythonTrace,
)
from kedi.source import Span, split_lines


class Expression(NamedTuple):
    """The return that an expression is run as, and how places in it are moved back.

    ``lines`` are line ends before the expression, ``columns`` what the first line of
    ``text`` has less (negative: more) in front of it, ``given`` the lines as given.
    """

    text: str
    lines: int
    columns: int
    given: tuple[str, ...]

    def _line(self, line: int) -> str:
        line += self.lines
        return self.given[line - 1] if 0 < line <= len(self.given) else ""

    def _column(self, line: int, column: int) -> int:
        return max(1, column + self.columns) if line == 1 else column

    def _span(self, span: Span) -> Span:
        return Span(
            span.source_name,
            span.line + self.lines,
            self._column(span.line, span.column),
            span.end_line + self.lines,
            self._column(span.end_line, span.end_column),
        )

    def _diagnostic(self, item: Diagnostic, name: str) -> Diagnostic:
        if item.span.source_name != name:
            return item
        related = tuple(
            replace(other, span=self._span(other.span)) if other.span.source_name == name else other
            for other in item.related
        )
        return replace(
            item,
            span=self._span(item.span),
            source_line=self._line(item.span.line),
            related=related,
        )

    def _frame(self, item: Frame, name: str) -> Frame:
        if item.span.source_name != name:
            return item
        return replace(item, span=self._span(item.span), source_line=self._line(item.span.line))

    def _trace(self, item: PythonTrace, name: str) -> PythonTrace:
        if item.source_name != name:
            return item
        known = item.column > 0
        return replace(
            item,
            line=item.line + self.lines,
            column=self._column(item.line, item.column) if known else 0,
            end_column=self._column(item.line, item.end_column) if known else 0,
            source_line=self._line(item.line),
        )

    def _cause(self, item: Cause, name: str) -> Cause:
        if item.span is None or item.span.source_name != name:
            return item
        return replace(item, span=self._span(item.span))

    def moved(self, error: KediError, name: str) -> KediError:
        """``error`` with its places in the source ``name`` moved to the text given."""
        if isinstance(error, (KediParseError, KediCompileError)):
            return type(error)([self._diagnostic(item, name) for item in error.diagnostics])
        if isinstance(error, KediExecutionError):
            error.frames = tuple(self._frame(item, name) for item in error.frames)
            error.python_traces = tuple(self._trace(item, name) for item in error.python_traces)
            error.causes = tuple(self._cause(item, name) for item in error.causes)
        return error


def as_return(expression: str) -> Expression:
    """The return for what :meth:`~kedi.InteractiveSession.evaluate` was given."""
    text = expression.strip()
    given = tuple(split_lines(expression))
    before = split_lines(expression[: len(expression) - len(expression.lstrip())])
    prefix = "" if text.startswith("=") else "= "
    return Expression(prefix + text, len(before) - 1, len(before[-1]) - len(prefix), given)
