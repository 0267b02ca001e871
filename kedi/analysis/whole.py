"""Findings that concern several top-level statements at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kedi.analysis.checks import NEVER_DEAD, Checker, unreachable
from kedi.analysis.directive_checks import check_block, check_cycles, name_of, plain_text
from kedi.analysis.report import Place
from kedi.analysis.symbols import CapabilityUse
from kedi.diagnostics import Diagnostic
from kedi.syntax.ast import Directive, Else, Export, If, NameLine, Profile, Return

if TYPE_CHECKING:
    from kedi.analysis.view import Analysis


def whole_program(analysis: Analysis) -> list[Diagnostic]:
    """Absolute findings about the order and number of top-level statements."""
    checker = Checker(analysis.program.source.name, analysis.names)
    directives: list[Place] = []
    returned: Place | None = None
    if_returned = False
    reported = False
    lines = analysis.program.lines
    for index, facts in enumerate(analysis.facts):
        if not (facts.special or (returned is not None and not reported)):
            continue
        stmt = facts.stmt
        if stmt is None:
            continue
        node = stmt.node
        place = Place(stmt, node, lines[index])
        if returned is not None and not reported and not isinstance(node, NEVER_DEAD):
            reported = True
            unreachable(checker.report, place, returned)
        if isinstance(node, Return):
            returned = returned or place
        elif isinstance(node, If):
            if_returned = facts.ends
        elif isinstance(node, Else):
            if if_returned and facts.ends:
                returned = returned or place
        elif isinstance(node, Directive):
            directives.append(place)
        elif isinstance(node, Export):
            _exports(checker, place)
        elif isinstance(node, Profile):
            _children(checker, place)
    if directives:
        check_block(checker, directives)
    if checker.children:
        check_cycles(checker)
    if analysis.options.lint:
        _capabilities(analysis, checker)
    return checker.report.found


def _exports(checker: Checker, place: Place) -> None:
    node = place.node
    assert isinstance(node, Export)
    if node.everything:
        checker.duplicate(checker.exported, "*", place, "`> export: *`")
        return
    for line in place.stmt.body:
        if isinstance(line.node, NameLine):
            name = line.node.name.text
            where = Place(line, line.node.name, place.base)
            checker.duplicate(checker.exported, name, where, f"the export of `{name}`")


def _children(checker: Checker, place: Place) -> None:
    node = place.node
    assert isinstance(node, Profile)
    for inner in place.stmt.body:
        member = inner.node
        if isinstance(member, Directive) and member.name.text == "subagent":
            child = name_of(member.value)
            if child is not None:
                where = Place(inner, member, place.base)
                checker.children.setdefault(node.name.text, []).append((child, where))


def _capabilities(analysis: Analysis, checker: Checker) -> None:
    """Directives that ask of the selected adapter what it cannot do."""
    if not analysis.options.capabilities:
        return
    selected = analysis.options.adapter
    for index, facts in enumerate(analysis.facts):
        if not facts.special and not facts.capabilities:
            continue
        stmt = facts.stmt
        node = stmt.node if stmt is not None else None
        if isinstance(node, Directive) and node.name.text in ("adapter", "agent"):
            selected = plain_text(node.value)
        for use in facts.capabilities:
            adapter = use.adapter if use.adapter is not None else selected
            checker.report.found.extend(_gap(analysis, index, use, adapter))


def _gap(
    analysis: Analysis, index: int, use: CapabilityUse, adapter: str | None
) -> Iterator[Diagnostic]:
    able = analysis.options.capabilities.get(adapter or "", {}).get(use.capability)
    if able is not False:
        return
    span = analysis.span(use.place, index)
    yield Diagnostic(
        "capability-gap",
        f"the adapter `{adapter}` does not support `> {use.directive}:`",
        span,
        "warning",
        "choose another adapter, or leave the directive out",
        analysis.line_index.line_text(span.line - 1),
    )
