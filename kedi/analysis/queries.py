"""Questions that editors ask about a program: what is this, where is it declared and used.

Positions are 0-based lines and code-point columns of the program's text;
answers are neutral data with :class:`~kedi.source.Span` places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kedi.analysis.describe import parameter_text
from kedi.analysis.names import Kind, ModuleProblem
from kedi.analysis.symbols import ChunkFacts, Declaration, LocalScope, Range, Reference, range_of
from kedi.analysis.view import Analysis
from kedi.source import Span
from kedi.syntax.ast import (
    Case,
    Data,
    Directive,
    EvalSuite,
    Import,
    Metric,
    Node,
    Setting,
    Stmt,
    TestSuite,
    TypeDef,
)
from kedi.syntax.directives import DIRECTIVES

SymbolKind = Literal[
    "value",
    "parameter",
    "procedure",
    "type",
    "profile",
    "python",
    "module",
    "field",
    "suite",
    "case",
]


@dataclass(frozen=True, slots=True)
class Hover:
    """What to show for the thing at ``span``: a line of code, and prose about it."""

    span: Span
    code: str
    documentation: str = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declaration in an outline. ``span`` is all of it, ``selection`` its name."""

    name: str
    kind: SymbolKind
    detail: str
    span: Span
    selection: Span
    children: tuple[Symbol, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at a position: a use or a declaration, in chunk ``index``."""

    index: int
    place: Range
    declaration: Declaration | None
    reference: Reference | None = None


def symbol_at(analysis: Analysis, line: int, column: int) -> Found | None:
    """The name at a position and what it means; ``None`` when no name stands there."""
    index = analysis.chunk_at(line)
    if index < 0:
        return None
    facts = analysis.facts[index]
    line -= analysis.program.lines[index]
    for item in facts.declarations():
        if item.place.holds(line, column):
            return Found(index, item.place, item)
    imported = analysis.imports.get(index)
    if imported is not None and facts.stmt is not None:
        node = facts.stmt.node
        if isinstance(node, Import) and node.selective:
            for item in imported.names.values():
                if item.place.holds(line, column):
                    return Found(index, item.place, item)
    best: Reference | None = None
    for reference in facts.references:
        if reference.place.holds(line, column) and (best is None or best.place == reference.place):
            best = reference
    if best is None:
        return None
    target = analysis.target(best, index)
    return Found(index, best.place, target[0] if target is not None else None, best)


def chunk_of(analysis: Analysis, item: Declaration, near: int) -> int | None:
    """The chunk that declares ``item``; ``near`` is where the question was asked."""
    for index in (near, near - 1, *analysis.declaring(item.name)):
        if index >= 0 and any(other is item for other in analysis.facts[index].declarations()):
            return index
        if item in analysis.declared(index, item.name):
            return index
    return None


# ── Hover ─────────────────────────────────────────────────────────────────────

_WORDS: dict[Kind, str] = {
    "value": "value",
    "parameter": "parameter",
    "procedure": "procedure",
    "type": "type",
    "profile": "profile",
    "python": "Python",
    "module": "Python module",
}


def describe(item: Declaration) -> str:
    """One line that declares ``item``, as code."""
    if item.kind == "procedure":
        return f"@{item.detail or item.name}"
    if item.kind == "type":
        return f"~{item.detail or item.name}"
    if item.kind == "profile":
        return f"> profile: {item.name}:"
    if item.kind in ("python", "module"):
        return item.detail or item.name
    if item.kind == "parameter":
        return item.detail or item.name
    return f"[{item.name}: {item.type}]" if item.type else f"[{item.name}]"


def hover(analysis: Analysis, line: int, column: int) -> Hover | None:
    """What is known of the thing at a position."""
    found = symbol_at(analysis, line, column)
    if found is not None and (found.declaration is not None or found.reference is not None):
        span = analysis.span(found.place, found.index)
        item = found.declaration
        if item is not None:
            return Hover(span, describe(item), item.docstring or f"{_WORDS[item.kind]}")
        assert found.reference is not None
        kind = analysis.names.kind_of(found.reference.name)
        if kind is not None:
            return Hover(span, found.reference.name, f"{_WORDS[kind]} from outside this text")
        return None
    return _hover_directive(analysis, line, column)


def _hover_directive(analysis: Analysis, line: int, column: int) -> Hover | None:
    index = analysis.chunk_at(line)
    if index < 0:
        return None
    relative = line - analysis.program.lines[index]
    for stmt, owner in statements(analysis.facts[index].stmt):
        node = stmt.node
        if isinstance(node, Import):
            place = range_of(stmt, node.path.start, node.path.end)
            if place.holds(relative, column):
                return _hover_module(analysis, index, place, node.path.text)
        elif isinstance(node, Directive):
            place = range_of(stmt, node.name.start, node.name.end)
            spec = DIRECTIVES.get(node.name.text)
            if spec is not None and place.holds(relative, column):
                return Hover(analysis.span(place, index), f"> {spec.name}:", spec.summary)
        elif isinstance(node, Setting) and owner is not None and isinstance(owner.node, Directive):
            place = range_of(stmt, node.name.start, node.name.end)
            spec = DIRECTIVES.get(owner.node.name.text)
            if spec is None or not place.holds(relative, column):
                continue
            for item in spec.fields:
                if item.name == node.name.text:
                    code = f"{item.name}: {' | '.join(item.words) or item.kind}"
                    return Hover(analysis.span(place, index), code, item.summary)
    return None


def _hover_module(analysis: Analysis, index: int, place: Range, path: str) -> Hover | None:
    try:
        exports = analysis.names.module_exports(path)
    except ModuleProblem:
        return None
    names = ", ".join(sorted(exports.names)) or "nothing"
    text = f"{exports.path}\n\nexports {names}" if exports.path else f"exports {names}"
    return Hover(analysis.span(place, index), f"> import: {path}", text)


def statements(stmt: Stmt | None) -> Iterator[tuple[Stmt, Stmt | None]]:
    """A statement and everything in its block, each with its owner."""
    if stmt is None:
        return
    stack: list[tuple[Stmt, Stmt | None]] = [(stmt, None)]
    while stack:
        item, owner = stack.pop()
        yield item, owner
        stack.extend((inner, item) for inner in reversed(item.body))


# ── Definitions and references ────────────────────────────────────────────────


def definition(analysis: Analysis, line: int, column: int) -> list[Span]:
    """Where the thing at a position is declared; in another source for what is imported."""
    found = symbol_at(analysis, line, column)
    if found is None:
        return _module_definition(analysis, line, column)
    item = found.declaration
    if item is None:
        return []
    index = chunk_of(analysis, item, found.index)
    if index is None:
        return []
    imported = analysis.imports.get(index)
    if imported is not None:
        origin = imported.origins.get(item.name)
        if origin is not None and origin.span is not None:
            return [origin.span]
    return [analysis.span(item.place, index)]


def _module_definition(analysis: Analysis, line: int, column: int) -> list[Span]:
    index = analysis.chunk_at(line)
    if index < 0:
        return []
    stmt = analysis.facts[index].stmt
    if stmt is None or not isinstance(stmt.node, Import):
        return []
    node = stmt.node
    place = range_of(stmt, node.path.start, node.path.end)
    if not place.holds(line - analysis.program.lines[index], column):
        return []
    path = module_path(analysis, node.path.text)
    return [Span(str(path), 1, 1, 1, 1)] if path is not None else []


def module_path(analysis: Analysis, path: str) -> Path | None:
    """The file that ``> import: path`` means, if it can be found."""
    try:
        return analysis.names.module_exports(path).path
    except ModuleProblem:
        return None


def type_definition(analysis: Analysis, line: int, column: int) -> list[Span]:
    """Where the declared Kedi type of the thing at a position is declared."""
    found = symbol_at(analysis, line, column)
    if found is None or found.declaration is None:
        return []
    item = found.declaration
    if item.kind == "type":
        return definition(analysis, line, column)
    spans: list[Span] = []
    for name in dict.fromkeys(_identifiers(item.type)):
        target = analysis.lookup_top(name, found.index, True)
        if target is not None and target[0].kind == "type":
            spans.append(analysis.span(target[0].place, target[1]))
    return spans


def _identifiers(text: str) -> Iterator[str]:
    word = ""
    for char in text + " ":
        if char.isalnum() or char == "_":
            word += char
        else:
            if word.isidentifier():
                yield word
            word = ""


def references(
    analysis: Analysis, line: int, column: int, include_declaration: bool = True
) -> list[Span]:
    """Every use of the thing at a position in this program, in order.

    A name that is bound several times in one scope is one thing.
    """
    found = symbol_at(analysis, line, column)
    if found is None:
        return []
    item = found.declaration
    if item is None:
        assert found.reference is not None
        return _outside_references(analysis, found.reference.name)
    index = chunk_of(analysis, item, found.index)
    scope = _scope_of(analysis.facts[index], item) if index is not None else None
    if index is not None and scope is not None and scope.kind != "top":
        return _local_references(analysis, index, scope, item.name, include_declaration)
    return _top_references(analysis, item.name, include_declaration)


def _scope_of(facts: ChunkFacts, item: Declaration) -> LocalScope | None:
    for scope in facts.scopes:
        if any(other is item for other in scope.names.get(item.name, ())):
            return scope
    return None


def _local_references(
    analysis: Analysis, index: int, scope: LocalScope, name: str, declarations: bool
) -> list[Span]:
    """Uses of a name of an inner scope, also in the ``> map:`` that continues a loop."""
    items = scope.names[name]
    spans: list[Span] = []
    for at in range(index, min(index + 2, len(analysis.facts))):
        places = {
            reference.place
            for reference in analysis.facts[at].references
            if reference.name == name and any(reference.target is item for item in items)
        }
        if declarations and at == index:
            places.update(item.place for item in items)
        spans.extend(analysis.span(place, at) for place in sorted(places))
    return spans


def _top_references(analysis: Analysis, name: str, declarations: bool) -> list[Span]:
    spans: list[Span] = []
    for index, facts in enumerate(analysis.facts):
        places: set[Range] = set()
        if name in facts.asks:
            places.update(item.place for item in facts.free if item.name == name)
        if declarations:
            places.update(
                item.place
                for item in analysis.declared(index, name)
                if _names_itself(analysis, index)
            )
        spans.extend(analysis.span(place, index) for place in sorted(places))
    return spans


def _names_itself(analysis: Analysis, index: int) -> bool:
    stmt = analysis.facts[index].stmt
    whole = stmt is not None and isinstance(stmt.node, Import) and not stmt.node.selective
    return not whole


def _outside_references(analysis: Analysis, name: str) -> list[Span]:
    spans: list[Span] = []
    for index, facts in enumerate(analysis.facts):
        if name in facts.asks:
            places = {item.place for item in facts.free if item.name == name}
            spans.extend(analysis.span(place, index) for place in sorted(places))
    return spans


# ── Outline ───────────────────────────────────────────────────────────────────


def document_symbols(analysis: Analysis) -> list[Symbol]:
    """The outline of a program: declarations with what is declared inside them."""
    found: list[Symbol] = []
    for index, facts in enumerate(analysis.facts):
        stmt = facts.stmt
        if stmt is None:
            continue
        bodies = {id(it.owner): it for it in facts.scopes if it.kind == "procedure"}
        if isinstance(stmt.node, TestSuite | EvalSuite):
            found.append(_suite(analysis, index, stmt))
            continue
        for items in facts.top.names.values():
            found.extend(_symbol(analysis, index, bodies, item) for item in items)
    return found


def _symbol(
    analysis: Analysis, index: int, bodies: dict[int, LocalScope], item: Declaration
) -> Symbol:
    detail = item.detail or item.type
    children: list[Symbol] = []
    if item.kind == "type" and isinstance(item.node, TypeDef) and item.stmt is not None:
        for field in item.node.fields:
            place = range_of(item.stmt, field.name.start, field.name.end)
            extent = range_of(item.stmt, field.start, field.end)
            children.append(
                Symbol(
                    field.name.text,
                    "field",
                    parameter_text(field),
                    analysis.span(extent, index),
                    analysis.span(place, index),
                )
            )
    elif item.kind == "procedure" and (body := bodies.get(id(item.stmt))) is not None:
        children.extend(
            _symbol(analysis, index, bodies, other)
            for inner in body.names.values()
            for other in inner
            if other.kind != "parameter"
        )
    extent = analysis.span(item.extent, index)
    return Symbol(
        item.name,
        item.kind,
        detail,
        _clamped(analysis, extent),
        analysis.span(item.place, index),
        tuple(children),
    )


def _clamped(analysis: Analysis, span: Span) -> Span:
    text = analysis.line_index.line_text(span.end_line - 1)
    return span._replace(end_column=min(span.end_column, len(text) + 1))


def _suite(analysis: Analysis, index: int, stmt: Stmt) -> Symbol:
    node = stmt.node
    assert isinstance(node, TestSuite | EvalSuite)
    word = "@test" if isinstance(node, TestSuite) else "@eval"
    children: list[Symbol] = []
    for inner in stmt.body:
        member = inner.node
        if isinstance(member, Case | Data | Metric):
            children.append(
                Symbol(
                    member.name.text,
                    "case",
                    type(member).__name__.lower(),
                    _whole(analysis, index, inner),
                    _span(analysis, index, inner, member.name),
                )
            )
    return Symbol(
        f"{word}: {node.procedure.text}",
        "suite",
        "",
        _whole(analysis, index, stmt),
        _span(analysis, index, stmt, node.procedure),
        tuple(children),
    )


def _span(analysis: Analysis, index: int, stmt: Stmt, node: Node) -> Span:
    return analysis.span(range_of(stmt, node.start, node.end), index)


def _whole(analysis: Analysis, index: int, stmt: Stmt) -> Span:
    from kedi.analysis.builder import last_line

    start = range_of(stmt, stmt.node.start, stmt.node.end)
    extent = Range(start.line, start.column, last_line(stmt), 1 << 20)
    return _clamped(analysis, analysis.span(extent, index))
