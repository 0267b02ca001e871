"""Compile-time sites and run-time frames: where a program is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kedi.errors import FrameKind
from kedi.source import SourceFile, Span
from kedi.syntax.ast import Node, Stmt, span_of

if TYPE_CHECKING:
    from weakref import ref

    from kedi.runtime.blocks import Block, Trap
    from kedi.runtime.interpreter import Interpreter
    from kedi.runtime.pending import PendingCall
    from kedi.runtime.scopes import Scope


class Unit:
    """One compiled source: a fragment, a program or a module."""

    __slots__ = ("_lines", "blocks", "directory", "kind", "runs", "source")

    def __init__(
        self,
        source: SourceFile,
        kind: Literal["fragment", "program", "module"],
        directory: str,
    ) -> None:
        self.source = source
        self.kind: Literal["fragment", "program", "module"] = kind
        self.directory = directory
        #: Whether it is compiled to be run, rather than to see whether it can be.
        self.runs = True
        self._lines: list[str] | None = None
        #: The blocks compiled from it that are still in use, outer ones after their inner ones.
        self.blocks: list[ref[Block]] = []

    @property
    def name(self) -> str:
        """The source name that frames and diagnostics carry."""
        return self.source.name

    def line_text(self, line: int) -> str:
        """Text of a 1-based line, empty outside the source."""
        if self._lines is None:
            self._lines = self.source.lines
        return self._lines[line - 1] if 0 < line <= len(self._lines) else ""


class Site:
    """A node of a unit as a place that frames point at. Its span is computed when asked for."""

    __slots__ = ("base_line", "kind", "label", "node", "stmt", "trap", "unit")

    def __init__(
        self,
        unit: Unit,
        stmt: Stmt,
        node: Node,
        base_line: int,
        kind: FrameKind,
        label: str,
    ) -> None:
        self.unit = unit
        self.stmt = stmt
        self.node = node
        self.base_line = base_line
        self.kind: FrameKind = kind
        self.label = label
        #: Called where a loop comes back to its header; see :class:`kedi.runtime.blocks.Block`.
        self.trap: Trap | None = None

    @property
    def span(self) -> Span:
        """Absolute span of the node."""
        return span_of(self.unit.name, self.stmt, self.node, self.base_line)

    @property
    def line(self) -> int:
        """1-based line on which the node begins."""
        return self.base_line + self.stmt.locate(self.node.start)[0] + 1

    def at(self, node: Node, kind: FrameKind | None = None, label: str | None = None) -> Site:
        """The place of another node of the same statement."""
        return Site(
            self.unit,
            self.stmt,
            node,
            self.base_line,
            kind or self.kind,
            self.label if label is None else label,
        )

    def __repr__(self) -> str:
        return f"<{self.kind} {self.label} at {self.span}>"


class _Nothing:
    def __repr__(self) -> str:
        return "<no return>"


#: ``RunFrame.value`` before a return ran.
NOTHING: Any = _Nothing()


class RunFrame:
    """A running program, fragment, module or procedure call.

    ``site`` is the statement that runs now (``None`` before the first),
    ``scope`` the innermost scope, ``parent`` the Kedi frame that called it.
    ``procedure`` is the procedure's name, ``None`` at the top level. ``value``
    holds the returned value once a return ran, :data:`NOTHING` before. ``calls`` are the
    model calls it has started and not joined yet, in order (``None`` for none).

    A model call or map stage on another thread runs in a frame of its own, which has the
    parent, procedure and unit of the frame that started it.
    """

    __slots__ = (
        "calls",
        "depth",
        "interpreter",
        "parent",
        "procedure",
        "scope",
        "site",
        "unit",
        "value",
    )

    def __init__(
        self,
        interpreter: Interpreter,
        unit: Unit,
        procedure: str | None,
        parent: RunFrame | None,
        scope: Scope,
    ) -> None:
        self.interpreter = interpreter
        self.unit = unit
        self.procedure = procedure
        self.parent = parent
        self.scope = scope
        self.site: Site | None = None
        self.calls: list[PendingCall] | None = None
        self.value: Any = NOTHING
        self.depth: int = parent.depth + 1 if parent is not None else 0

    @property
    def kind(self) -> Literal["program", "procedure"]:
        """Whether this is a top level or a call."""
        return "program" if self.procedure is None else "procedure"

    @property
    def label(self) -> str:
        """Procedure name, or the source name of a top level."""
        return self.procedure or self.unit.name

    @property
    def source_name(self) -> str:
        """Name of the fragment, program or module whose text this runs."""
        return self.unit.name

    @property
    def span(self) -> Span | None:
        """Where the current statement stands; ``None`` before the first."""
        return self.site.span if self.site is not None else None

    def stack(self) -> Iterator[RunFrame]:
        """This frame and its callers, innermost first."""
        frame: RunFrame | None = self
        while frame is not None:
            yield frame
            frame = frame.parent

    def __repr__(self) -> str:
        where = f" at {self.site.span}" if self.site else ""
        return f"<{self.kind} {self.label}{where}>"


class Outer(NamedTuple):
    """Where, on another thread, an exception of this thread goes on.

    ``frame`` is the Python frame there, ``outer`` where that thread in turn works for another.
    """

    frame: FrameType
    outer: Outer | None


class _Current(threading.local):
    frame: RunFrame | None = None
    #: Set on threads that work for another one.
    outer: Outer | None = None


#: The Kedi frame that runs on this thread, ``None`` outside of Kedi.
CURRENT = _Current()
