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

    def ended(self, fragment: Fragment, names: Sequence[str]) -> None:
        """Take in a fragment with its ``names``, unless earlier ones are still to be read."""
        if self._read == fragment.number - 1:
            self._read += 1
            self._take(fragment, names)

    def update(self, fragments: Sequence[Fragment]) -> dict[str, str]:
        """Take in the fragments that are new and have ended; all names so far."""
        while self._read < len(fragments):
            fragment = fragments[self._read]
            if fragment.state == "running":
                break
            self._read += 1
            result = parse(fragment.source, fragment.name, mode="fragment")
            self._take(fragment, names_of(result.program))
        return self._names

    def _take(self, fragment: Fragment, names: Sequence[str]) -> None:
        for name in names:
            if fragment.state == "done":
                self._names[name] = fragment.name
            else:
                # Perhaps it failed before it came to this statement.
                self._names.setdefault(name, fragment.name)


def names_of(program: Program) -> tuple[str, ...]:
    """Names that a fragment binds at its top level."""
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
