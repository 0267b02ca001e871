"""Where names come from: the statements that bind them, and the model calls behind those."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kedi.analysis.pynames import bound_names
from kedi.syntax import parse
from kedi.syntax.ast import (
    Assign,
    Fence,
    Field,
    Import,
    Init,
    NameLine,
    Procedure,
    Profile,
    PythonStatement,
    RawCall,
    Read,
    Statement,
    Stmt,
    Template,
    TypeDef,
)

if TYPE_CHECKING:
    from kedi.repl.live import ReplSession
    from kedi.runtime.calls import LoggedCall
    from kedi.session.session import Fragment

Exports = Callable[[str], Collection[str]]
"""The names that importing a path publishes."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A statement that gives a name its value.

    ``line`` and ``last_line`` are 1-based lines of the source; ``procedure`` is the
    one whose body it stands in (it then runs only when that is called).
    """

    fragment: Fragment
    line: int
    last_line: int
    text: str
    what: str
    inputs: tuple[str, ...] = ()
    model: bool = False
    procedure: str | None = None


def bindings_of(session: ReplSession, name: str) -> list[Binding]:
    """Statements of executed fragments that bind ``name`` of the session, oldest first."""
    return [
        item
        for fragment in session.fragments
        if name in fragment.source or "import" in fragment.source
        for item in _in_fragment(fragment, name, session.exported)
    ]


def call_behind(session: ReplSession, binding: Binding, name: str) -> LoggedCall | None:
    """The model call that filled ``name``, when it is still in the log."""
    for call in reversed(session.calls):
        span = call.span
        if (
            span.source_name == binding.fragment.name
            and binding.line <= span.line <= binding.last_line
            and (call.record.text is not None or name in call.record.values)
        ):
            return call
    return None


def _in_fragment(fragment: Fragment, name: str, exports: Exports) -> Iterator[Binding]:
    program = parse(fragment.source, fragment.name, mode="fragment").program
    for top, base in program.top_level():
        stack: list[tuple[Stmt, int, str | None]] = [(top, 0, None)]
        while stack:
            stmt, depth, procedure = stack.pop()
            what = _binds(stmt, name, depth, exports)
            if what is not None:
                first = base + stmt.line + 1
                text = _whole(stmt)
                yield Binding(
                    fragment,
                    first,
                    first + text.count("\n"),
                    text,
                    what,
                    _reads(stmt.node),
                    isinstance(stmt.node, (Template, RawCall)),
                    procedure,
                )
            inner = procedure
            if isinstance(stmt.node, Procedure):
                inner = stmt.node.name.text
            if isinstance(stmt.node, (TypeDef, Profile, Import)):
                continue
            stack.extend((item, depth + 1, inner) for item in reversed(stmt.body))


def _binds(stmt: Stmt, name: str, depth: int, exports: Exports) -> str | None:
    """How a statement binds ``name``; what stands in a block binds only by assigning."""
    node = stmt.node
    if isinstance(node, Assign):
        return "assigned" if node.target.text == name else None
    if isinstance(node, (Fence, PythonStatement)):
        if name not in bound_names(node.python.tree).names:
            return None
        return "set by Python"
    if depth:
        return None
    match node:
        case Init():
            return "initialised" if node.target.name.text == name else None
        case RawCall():
            return "answered by a model" if node.target.name.text == name else None
        case Template():
            fields = (part.name.text for part in node.parts if isinstance(part, Field))
            return "filled in by a model" if name in fields else None
        case Procedure() | TypeDef() | Profile():
            return "defined" if node.name.text == name else None
        case Import():
            listed = [item.node.name.text for item in stmt.body if isinstance(item.node, NameLine)]
            return "imported" if name in (listed or exports(node.path.text)) else None
        case _:
            return None


def _whole(stmt: Stmt) -> str:
    """The text of a statement with its block."""
    lines: list[str] = []
    stack = [stmt]
    at = stmt.line
    while stack:
        item = stack.pop()
        # Blank lines and comments in between belong to no statement.
        lines += [""] * max(0, item.line - at)
        lines += item.text.rstrip("\n").split("\n")
        at = item.line + item.text.rstrip("\n").count("\n") + 1
        stack.extend(reversed(item.body))
    return "\n".join(lines)


def _reads(node: Statement) -> tuple[str, ...]:
    """Names that the text of a model call reads."""
    parts = node.parts if isinstance(node, (Template, RawCall)) else ()
    return tuple(dict.fromkeys(part.name.text for part in parts if isinstance(part, Read)))
