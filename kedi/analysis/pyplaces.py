"""Names and calls of embedded Python at their places in the Kedi text."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kedi.analysis.describe import literal_type
from kedi.analysis.pynames import PyName, code_points
from kedi.analysis.symbols import Argument, Range
from kedi.syntax.ast import Python, Stmt

Placer = Callable[[int, int], tuple[int, int]]


def placer(stmt: Stmt, code: str, start: int, indent: int) -> Placer:
    """A function from an ``ast`` position (1-based line, UTF-8 byte column) to the chunk's."""
    first_line, first_column = stmt.locate(start)
    lines: list[str] | None = None if code.isascii() else code.split("\n")

    def place(line: int, column: int) -> tuple[int, int]:
        if lines is not None and 0 < line <= len(lines):
            column = code_points(lines[line - 1], column)
        return first_line + line - 1, column + (first_column if line == 1 else indent)

    return place


def name_range(item: PyName, place: Placer) -> Range | None:
    """Where an occurrence stands; ``None`` for nodes that do not say (``global``, patterns)."""
    node = item.node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        keyword = {ast.FunctionDef: 4, ast.AsyncFunctionDef: 10, ast.ClassDef: 6}[type(node)]
        line, column = place(node.lineno, node.col_offset)
        return Range(line, column + keyword, line, column + keyword + len(item.name))
    if not isinstance(node, ast.expr | ast.alias):
        return None
    line, column = place(node.lineno, node.col_offset)
    end_line, end_column = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
    if isinstance(node, ast.alias):
        if node.asname is not None:
            return Range(end_line, end_column - len(node.asname), end_line, end_column)
        end_line, end_column = line, column + len(item.name)
    return Range(line, column, end_line, end_column)


def python_arguments(call: ast.Call, place: Placer) -> tuple[Argument, ...]:
    """The arguments of a Python call, at their places."""
    found: list[Argument] = []

    def add(node: ast.expr, keyword: str | None, spread: bool) -> None:
        line, column = place(node.lineno, node.col_offset)
        end = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
        name = node.id if isinstance(node, ast.Name) else ""
        holder = Python(0, 0, "", 0, "expr", parsed=node)
        kind = "" if name else literal_type(holder)
        found.append(Argument(Range(line, column, *end), kind, keyword, spread, name))

    for item in call.args:
        add(item, None, isinstance(item, ast.Starred))
    for item in call.keywords:
        add(item.value, item.arg, item.arg is None)
    return tuple(found)


def python_detail(node: ast.AST) -> tuple[str, str]:
    """One line of code that declares a name of a prelude, and its docstring."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        doc = ast.get_docstring(node) or ""
        try:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
            return f"{word} {node.name}({ast.unparse(node.args)}){returns}", doc
        except RecursionError:
            return f"{word} {node.name}(…)", doc
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}", ast.get_docstring(node) or ""
    if isinstance(node, ast.alias):
        name = f"import {node.name}"
        return (f"{name} as {node.asname}" if node.asname else name), ""
    return "", ""
