"""``kedi parse``: the statements of a source, or everything that is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedi.cli.programs import SourceProblem, load_program
from kedi.diagnostics import printable
from kedi.repl import output as terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kedi.cli.options import Invocation
    from kedi.syntax.ast import Program, Stmt

_WIDTH = 60


def show_statements(invocation: Invocation) -> int:
    """Print one line for each statement: place, kind, nesting and first line of its text."""
    try:
        program = load_program(invocation)
    except SourceProblem as problem:
        terminal.complain(str(problem), problem.hint)
        return 2
    rows = list(_rows(program))
    width = max((len(place) for place, _, _ in rows), default=0)
    kinds = max((len(kind) for _, kind, _ in rows), default=0)
    for place, kind, text in rows:
        terminal.out(f"{place:>{width}}  {kind:<{kinds}}  {text}".rstrip())
    return 0


def _rows(program: Program) -> Iterator[tuple[str, str, str]]:
    for top, base in program.top_level():
        stack: list[tuple[Stmt, int]] = [(top, 0)]
        while stack:
            stmt, depth = stack.pop()
            span = program.span(stmt, stmt.node, base)
            first = stmt.text.strip().partition("\n")[0]
            shown = first if len(first) <= _WIDTH else first[: _WIDTH - 1] + "…"
            yield (
                f"{span.line}:{span.column}",
                type(stmt.node).__name__,
                "  " * depth + printable(shown),
            )
            stack.extend((inner, depth + 1) for inner in reversed(stmt.body))
