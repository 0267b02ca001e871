"""Common work of collecting a chunk's symbols: declaring, referring, values, types, Python."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Sequence

from kedi.analysis.describe import (
    literal_type,
    type_text,
)
from kedi.analysis.names import Kind
from kedi.analysis.pynames import PyName, PyUse, uses
from kedi.analysis.pyplaces import name_range, placer, python_arguments, python_detail
from kedi.analysis.symbols import (
    Argument,
    CapabilityUse,
    ChunkFacts,
    Declaration,
    LocalScope,
    Range,
    Reference,
    ScopeKind,
    TypedValue,
    Use,
)
from kedi.analysis.types import type_shape
from kedi.syntax.ast import (
    Call,
    Directive,
    Else,
    Export,
    Field,
    If,
    Name,
    Node,
    Part,
    Procedure,
    Profile,
    Python,
    Read,
    Return,
    Stmt,
    TypeDef,
    TypeExpr,
    Value,
)

_SPECIAL = (Return, If, Else, Directive, Export, Profile)


_MAP_ORDER = 1 << 30


def last_line(stmt: Stmt) -> int:
    """Last line (relative to the chunk) of a statement with its block."""
    while stmt.body:
        stmt = stmt.body[-1]
    return stmt.line + stmt.text.rstrip("\n").count("\n")


class Builder:
    """Collects the symbols of one chunk; statements are visited in facts.py."""

    def __init__(self, top: LocalScope, before: ChunkFacts | None) -> None:
        self.top = self.scope = top
        self.scopes = [top]
        self.references: list[Reference] = []
        self.typed: list[TypedValue] = []
        self.capabilities: list[CapabilityUse] = []
        self.order = 0
        self.placed: Stmt | None = None
        self.breaks: list[int] = []
        self.asked: set[str] = set()
        self.open = self.prelude_open = False
        self.adapter: str | None = None
        self.returns: str | None = None
        self.iteration: LocalScope | None = None
        if before is not None and len(before.scopes) > 1:
            self.iteration = before.scopes[1]
            # Everything in a map comes after everything in its loop.
            self.order = _MAP_ORDER

    def finish(self, stmt: Stmt | None, ends: bool) -> ChunkFacts:
        free: list[Reference] = []
        asks: set[str] = set(self.asked)
        for item in self.references:
            if not _resolve(item):
                free.append(item)
                asks.add(item.name)
        uses = frozenset(item.name for item in free if item.use != "write")
        for scope in self.scopes[1:]:
            asks.update(scope.names)
        if stmt is not None and isinstance(stmt.node, Procedure | TypeDef):
            asks.update(self.top.names)
        return ChunkFacts(
            stmt,
            self.top,
            self.scopes,
            self.references,
            free,
            self.typed,
            self.capabilities,
            uses,
            frozenset(asks),
            self.open,
            ends,
            stmt is not None and isinstance(stmt.node, _SPECIAL),
            self.prelude_open,
        )

    # ── Declaring and referring ───────────────────────────────────────────────

    def range(self, stmt: Stmt, start: int, end: int) -> Range:
        """Range of two offsets into a statement's text; its line ends are found once."""
        if stmt is not self.placed:
            self.placed = stmt
            self.breaks = [match.start() for match in re.finditer("\n", stmt.text)]
        breaks = self.breaks
        if not breaks:
            return Range(stmt.line, start, stmt.line, end)
        line, end_line = bisect_left(breaks, start), bisect_left(breaks, end)
        if line:
            start -= breaks[line - 1] + 1
        if end_line:
            end -= breaks[end_line - 1] + 1
        return Range(stmt.line + line, start, stmt.line + end_line, end)

    def next(self) -> int:
        self.order += 1
        return self.order

    def declare(
        self,
        stmt: Stmt,
        name: Name,
        kind: Kind,
        type_: str = "",
        detail: str = "",
        doc: str = "",
        node: Node | None = None,
    ) -> Declaration:
        owner = node or stmt.node
        place = self.range(stmt, name.start, name.end)
        start = self.range(stmt, owner.start, owner.end)
        extent = start
        if owner is stmt.node and stmt.body:
            end = last_line(stmt)
            extent = Range(start.line, start.column, end, 1 << 20)
        item = Declaration(
            name.text, kind, place, extent, self.next(), type_, detail, doc, owner, stmt
        )
        self.scope.declare(item)
        return item

    def refer(self, stmt: Stmt, name: Name, use: Use) -> Reference:
        return self.refer_at(name.text, use, self.range(stmt, name.start, name.end))

    def refer_at(self, name: str, use: Use, place: Range) -> Reference:
        late = False
        scope: LocalScope | None = self.scope
        while scope is not None:
            if scope.late:
                late = True
                break
            scope = scope.parent
        item = Reference(name, use, place, self.scope, self.next(), late)
        self.references.append(item)
        return item

    def enter(self, kind: ScopeKind, stmt: Stmt, late: bool = False) -> LocalScope:
        scope = LocalScope(kind, self.scope, stmt.line, last_line(stmt), late, stmt)
        scope.indent = stmt.node.start
        self.scopes.append(scope)
        self.scope = scope
        return scope

    def leave(self) -> None:
        assert self.scope.parent is not None
        self.scope = self.scope.parent

    # ── Text, values, types, Python ───────────────────────────────────────────

    def value(self, stmt: Stmt, value: Value | None) -> None:
        if value is not None:
            self.parts(stmt, value.parts)

    def parts(self, stmt: Stmt, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, Read):
                self.refer(stmt, part.name, "read")
            elif isinstance(part, Python):
                self.python(stmt, part)
            elif isinstance(part, Call):
                self.call(stmt, part)
            elif isinstance(part, Field):
                self.type(stmt, part.type)

    def call(self, stmt: Stmt, part: Call) -> None:
        reference = self.refer(stmt, part.name, "call")
        arguments: list[Argument] = []
        for value in part.arguments:
            self.parts(stmt, value.parts)
            # A mini template is a call of its own: its fields are bound like a template's.
            for inner in value.parts:
                if isinstance(inner, Field):
                    self.declare(stmt, inner.name, "value", type_text(inner.type), node=inner)
            place = self.range(stmt, value.start, value.end)
            arguments.append(_argument(place, value))
        reference.arguments = tuple(arguments)

    def type(self, stmt: Stmt, expr: TypeExpr | None) -> None:
        if expr is None:
            return
        if expr.python:
            self.names(stmt, uses(expr.tree), expr.text, expr.text_start, 0)
            return
        shape = type_shape(expr)
        self.asked.update(item.builtin for item in shape.findings if item.builtin is not None)
        for name in shape.names:
            start = expr.text_start + name.start
            place = self.range(stmt, start, expr.text_start + name.end)
            self.refer_at(name.name, "type", place)

    def python(self, stmt: Stmt, code: Python, prelude: bool = False) -> PyUse:
        use = uses(code.tree)
        if prelude:
            self.prelude_open = use.open
        elif use.open:
            self.open = True
            for scope in self.scope.chain():
                scope.open = True
        self.names(stmt, use, code.code, code.code_start, code.indent, prelude)
        return use

    def names(
        self, stmt: Stmt, use: PyUse, code: str, start: int, indent: int, prelude: bool = False
    ) -> None:
        if not use.occurrences:
            return
        place = placer(stmt, code, start, indent)
        for item in use.occurrences:
            where = name_range(item, place)
            if where is None:
                continue
            if prelude and item.write and not item.inner:
                self.declare_python(stmt, item, where)
                continue
            reference = self.refer_at(item.name, "write" if item.write else "read", where)
            reference.python = True
            reference.may_be_local = item.name in use.writes
            call = use.calls.get(id(item.node))
            if call is not None:
                reference.use = "call"
                reference.arguments = python_arguments(call, place)

    def declare_python(self, stmt: Stmt, item: PyName, where: Range) -> None:
        kind: Kind = "module" if isinstance(item.node, ast.alias) else "python"
        detail, doc = python_detail(item.node)
        declaration = Declaration(
            item.name, kind, where, where, self.next(), "", detail, doc, stmt.node, stmt
        )
        self.top.declare(declaration)

    def check(
        self,
        what: str,
        stmt: Stmt,
        value: Value,
        declared: str,
        rendered: bool = False,
    ) -> TypedValue:
        actual, name = _known(value, rendered)
        place = self.range(stmt, value.start, value.end)
        item = TypedValue(
            what,  # pyright: ignore[reportArgumentType]
            place,
            declared,
            actual,
            self.scope,
            self.order,
            name,
            rendered and actual == "str",
        )
        self.typed.append(item)
        return item


# ── Helpers ───────────────────────────────────────────────────────────────────


def lookup_local(scope: LocalScope, name: str, order: int) -> Declaration | None:
    """The declaration inside the chunk (below its top level) that ``name`` means there."""
    found = _find(scope, name, order)
    return found[0] if found is not None else None


def _find(scope: LocalScope, name: str, order: int) -> tuple[Declaration, LocalScope] | None:
    late = False
    inner: LocalScope | None = scope
    while inner is not None and inner.kind != "top":
        items = inner.names.get(name)
        if items is not None:
            # Declarations stand in their order.
            at = bisect_left(items, order, key=_order)
            if at or late:
                return items[at - 1 if at else 0], inner
        late = late or inner.late
        inner = inner.parent
    return None


def _order(item: Declaration) -> int:
    return item.order


def _resolve(item: Reference) -> bool:
    found = _find(item.scope, item.name, item.order)
    if found is None:
        return False
    item.target = found[0]
    if item.use != "write":
        found[1].reads.add(item.name)
    return True


def _argument(place: Range, value: Value) -> Argument:
    actual, name = _known(value, rendered=False)
    return Argument(place, actual, name=name)


def _known(value: Value, rendered: bool) -> tuple[str, str]:
    """The certain type of a value, or the bare name it is; ``rendered`` for returns."""
    if value.kind == "text" or (rendered and value.kind in ("read", "call")):
        return "str", ""
    part = value.parts[0] if value.parts else None
    if isinstance(part, Python) and value.kind == "native":
        tree = part.tree.body if isinstance(part.tree, ast.Expression) else part.tree
        if isinstance(tree, ast.Name):
            return "", tree.id
        return literal_type(part), ""
    if isinstance(part, Read):
        return "", part.name.text
    return "", ""
