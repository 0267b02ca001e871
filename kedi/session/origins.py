"""Which fragment bound a name: read from the sources when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kedi.analysis.pynames import bound_names
from kedi.syntax import parse
from kedi.syntax.ast import (
    Fence,
    Field,
    Import,
    Init,
    NameLine,
    Program,
    RawCall,
    Statement,
    Stmt,
    Template,
)

if TYPE_CHECKING:
    from kedi.session.session import Fragment


class Origins:
    """Names with the fragment that bound them last; each fragment is read once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._read = 0
        self._bound: dict[str, tuple[str, ...]] = {}

    def note(self, name: str, program: Program) -> None:
        """Take the names from a fragment's program, which need not be parsed again then."""
        self._bound[name] = _names(program)

    def update(self, fragments: Sequence[Fragment]) -> dict[str, str]:
        """Take in the fragments that are new and have ended; all names so far."""
        while self._read < len(fragments):
            fragment = fragments[self._read]
            if fragment.state == "running":
                break
            self._read += 1
            names = self._bound.pop(fragment.name, None)
            if names is None:  # from a snapshot
                names = _names(parse(fragment.source, fragment.name, mode="fragment").program)
            for name in names:
                if fragment.state == "done":
                    self._names[name] = fragment.name
                else:
                    # Perhaps it failed before it came to this statement.
                    self._names.setdefault(name, fragment.name)
        return self._names


def _names(program: Program) -> tuple[str, ...]:
    return tuple(name for stmt, _ in program.top_level() for name in _bound(stmt))


def _bound(stmt: Stmt) -> Iterator[str]:
    """Names that a statement binds in its own scope, those of whole-module imports left out."""
    node: Statement = stmt.node
    match node:
        case Init() | RawCall():
            yield node.target.name.text
        case Template():
            for part in node.parts:
                if isinstance(part, Field):
                    yield part.name.text
        case Import():
            for child in stmt.body:
                if isinstance(child.node, NameLine):
                    yield child.node.name.text
        case Fence() if node.prelude:
            yield from bound_names(node.python.tree).names
        case _:
            # Procedures, types and functions say themselves where they come from.
            return
