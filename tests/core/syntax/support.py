"""Short ways to parse in tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kedi.diagnostics import Diagnostic
from kedi.syntax import ast, parse
from kedi.syntax.ast import Program, Stmt


def statements(text: str, mode: Any = "file") -> list[Stmt]:
    """Top-level statements of a complete text."""
    result = parse(text, mode=mode)
    assert result.status == "complete", [str(item) for item in result.diagnostics]
    return [stmt for stmt, _ in result.program.top_level()]


def one(text: str, mode: Any = "file") -> Any:
    """The node of a text that is one statement."""
    (stmt,) = statements(text, mode)
    return stmt.node


def findings(text: str, mode: Any = "file") -> tuple[Diagnostic, ...]:
    """Diagnostics of a text."""
    return parse(text, mode=mode).diagnostics


def finding(text: str, mode: Any = "file") -> Diagnostic:
    """The only diagnostic of a text."""
    (item,) = findings(text, mode)
    return item


def place(item: Diagnostic) -> tuple[str, int, int, int, int]:
    """Code and span of a diagnostic: line, column, end line, end column."""
    span = item.span
    return item.code, span.line, span.column, span.end_line, span.end_column


def walk(program: Program) -> Iterator[Stmt]:
    """All statements of a program."""
    for stmt, _ in program.walk():
        yield stmt


def nodes(root: ast.Node) -> Iterator[ast.Node]:
    """``root`` and every node below it."""
    yield root
    for name in root._fields:
        value = getattr(root, name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, ast.Node):
                yield from nodes(item)
