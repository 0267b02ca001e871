"""Symbols of one chunk: declarations, references and scopes, placed relative to the chunk.

Nothing here knows where the chunk stands or what other chunks declare, so an
edit elsewhere leaves all of it valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kedi.analysis.names import Kind
from kedi.source import Span
from kedi.syntax.ast import Node, Stmt

ScopeKind = Literal["top", "procedure", "branch", "loop", "suite", "member", "profile"]
Use = Literal["read", "call", "type", "write", "export", "tool", "profile", "procedure", "import"]


class Range(NamedTuple):
    """0-based lines relative to a chunk, 0-based code-point columns, end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    def holds(self, line: int, column: int) -> bool:
        """Whether a position lies in the range, its end included."""
        return (self.line, self.column) <= (line, column) <= (self.end_line, self.end_column)

    def span(self, source_name: str, base: int) -> Span:
        """The absolute span when the chunk starts at 0-based line ``base``."""
        return Span(
            source_name,
            base + self.line + 1,
            self.column + 1,
            base + self.end_line + 1,
            self.end_column + 1,
        )


def range_of(stmt: Stmt, start: int, end: int) -> Range:
    """Range of two offsets into a statement's text."""
    text = stmt.text
    if "\n" not in text:
        return Range(stmt.line, start, stmt.line, end)
    line, column = stmt.locate(start)
    end_line, end_column = stmt.locate(end)
    return Range(line, column, end_line, end_column)


@dataclass(slots=True, eq=False)
class Declaration:
    """A name and what binds it. ``place`` is the name itself, ``extent`` the whole declaration."""

    name: str
    kind: Kind
    place: Range
    extent: Range
    order: int
    type: str = ""
    detail: str = ""
    docstring: str = ""
    node: Node | None = None
    stmt: Stmt | None = None

    @property
    def shape(self) -> tuple[str, Kind, str, str]:
        """What others can see of it; unchanged shape means nothing else has to be redone."""
        return self.name, self.kind, self.type, self.detail


@dataclass(slots=True, eq=False)
class Argument:
    """One argument of a call: its certain type, or the bare name it is, and its keyword."""

    place: Range
    type: str = ""
    keyword: str | None = None
    spread: bool = False
    name: str = ""


@dataclass(slots=True, eq=False)
class Reference:
    """One use of a name. ``target`` is its declaration in this chunk, if it is there.

    ``late`` when it runs after its block (in a procedure): then anything the
    outer blocks bind by their end counts. ``python`` when it stands in embedded
    Python, ``may_be_local`` when that Python itself binds the name.
    """

    name: str
    use: Use
    place: Range
    scope: LocalScope
    order: int
    late: bool
    python: bool = False
    may_be_local: bool = False
    arguments: tuple[Argument, ...] | None = None
    target: Declaration | None = None


@dataclass(slots=True, eq=False)
class LocalScope:
    """A block with names of its own, from its first to its last line (relative).

    ``reads`` are its names that are read anywhere; ``open`` when more may be.
    """

    kind: ScopeKind
    parent: LocalScope | None
    line: int
    end_line: int
    late: bool = False
    owner: Stmt | None = None
    indent: int = -1
    names: dict[str, list[Declaration]] = field(default_factory=dict[str, list[Declaration]])
    reads: set[str] = field(default_factory=set[str])
    open: bool = False

    def chain(self) -> Iterator[LocalScope]:
        """This scope and those around it, inner first."""
        scope: LocalScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def declare(self, item: Declaration) -> None:
        """Add a declaration."""
        self.names.setdefault(item.name, []).append(item)


@dataclass(slots=True, eq=False)
class TypedValue:
    """A value that is bound or returned under a declared type, for the obvious mismatches.

    ``actual`` is the type the value certainly has; empty when it is the bare
    name ``name``, or unknown. For ``:=`` the declared type is that of ``target``.
    """

    what: Literal["binding", "assignment", "return", "condition"]
    place: Range
    declared: str
    actual: str
    scope: LocalScope
    order: int
    name: str = ""
    rendered: bool = False
    target: Reference | None = None


@dataclass(frozen=True, slots=True)
class CapabilityUse:
    """A directive that needs a capability; ``adapter`` when its own block chooses one."""

    capability: str
    directive: str
    place: Range
    adapter: str | None


@dataclass(slots=True, eq=False)
class ChunkFacts:
    """Everything known of one chunk by itself.

    ``free`` are the references whose meaning is decided at the top level, and
    ``asks`` their names with everything else that has to be looked up there.
    ``ends`` says whether its statement surely returns (an ``if`` and its
    ``else`` are judged together later). ``special`` chunks matter to rules
    about the whole program; ``prelude_open`` when a prelude binds names that
    cannot be seen.
    """

    stmt: Stmt | None
    top: LocalScope
    scopes: list[LocalScope]
    references: list[Reference]
    free: list[Reference]
    typed: list[TypedValue]
    capabilities: list[CapabilityUse]
    uses: frozenset[str]
    asks: frozenset[str]
    open: bool
    ends: bool
    special: bool
    prelude_open: bool

    @property
    def declared(self) -> Mapping[str, list[Declaration]]:
        """Top-level names that the chunk binds itself."""
        return self.top.names

    def declarations(self) -> Iterator[Declaration]:
        """Every declaration, also the inner ones."""
        for scope in self.scopes:
            for items in scope.names.values():
                yield from items
