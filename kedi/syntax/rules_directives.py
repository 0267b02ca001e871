"""Rules for directives and the lines of their blocks.

A terminal arrives as its ``(start, end)`` in the text, a nonterminal as what
its own function returned. The functions bear the names of their rules in
``grammar.lark``, which says what each is for.
"""

# ruff: noqa: D103

from __future__ import annotations

from typing import Any

from kedi.syntax import ast
from kedi.syntax.ast import Name, Part, Python, Text
from kedi.syntax.faults import Fault
from kedi.syntax.pieces import (
    NAME,
    Span,
    bindable,
    directive_name,
    finish,
    inline,
    reject_fields,
    to_name,
    to_value,
    value_of,
)

# ── Directives ────────────────────────────────────────────────────────────────


def _condition(text: str, children: list[Any]) -> Python:
    head, items, (colon, end) = children
    parts = finish(text, items)
    if len(parts) == 1 and parts[0].__class__ is Python and not parts[0].angle:  # type: ignore[union-attr]
        return parts[0]  # type: ignore[return-value]
    raise _claim_with_colon(head, parts, colon, end)


def _claim_with_colon(head: Span, parts: tuple[Part, ...], colon: int, end: int) -> Fault:
    if not parts:
        return Fault("expected-condition", "a condition is missing here", head[0], end)
    return Fault(
        "claim-with-colon",
        "a header that ends in `:` needs exactly one condition in backticks",
        parts[0].start,
        end,
        "put the condition in backticks, or drop the colon for a claim that the model judges",
    )


def _claim(text: str, children: list[Any]) -> tuple[Part, ...]:
    head, items = children
    parts = finish(text, items)
    if not parts:
        raise Fault("expected-condition", "a condition is missing here", head[0], head[1])
    reject_fields(parts, "a claim")
    last = parts[-1]
    if last.__class__ is Text and text[last.start : last.end].endswith(":"):
        raise _claim_with_colon(head, parts, last.end - 1, last.end)
    return parts


def if_code(text: str, children: list[Any]) -> ast.If:
    return ast.If(children[0][0], children[2][1], _condition(text, children), None)


def if_claim(text: str, children: list[Any]) -> ast.If:
    parts = _claim(text, children)
    return ast.If(children[0][0], parts[-1].end, None, parts)


def loop_code(text: str, children: list[Any]) -> ast.Loop:
    return ast.Loop(children[0][0], children[2][1], _condition(text, children), None)


def loop_claim(text: str, children: list[Any]) -> ast.Loop:
    parts = _claim(text, children)
    return ast.Loop(children[0][0], parts[-1].end, None, parts)


def loop_each(text: str, children: list[Any]) -> ast.LoopEach:
    binder = to_name(text, children[1])
    bindable(binder)
    start, end = children[3]
    return ast.LoopEach(children[0][0], children[4][1], binder, inline(text, start, end))


def bare(text: str, children: list[Any]) -> ast.Statement:
    start, end = children[0]
    name = directive_name(text, children[0])
    end = _stripped(text, start, end)
    if name.text == "else":
        return ast.Else(start, end)
    if name.text == "map":
        return ast.Map(start, end)
    return ast.Auto(start, end)


def _stripped(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip(" \t"))


def show(text: str, children: list[Any]) -> ast.Show:
    (start, at), item = children
    value = value_of(text, item, at, "> show:")
    return ast.Show(start, max(value.end, _stripped(text, start, at)), value)


def import_all(text: str, children: list[Any]) -> ast.Import:
    path = to_name(text, children[1])
    return ast.Import(children[0][0], path.end, path)


def import_names(text: str, children: list[Any]) -> ast.Import:
    path = to_name(text, children[1])
    return ast.Import(children[0][0], children[2][1], path, True)


def export_names(text: str, children: list[Any]) -> ast.Export:
    start, end = children[0]
    return ast.Export(start, _stripped(text, start, end))


def export_all(text: str, children: list[Any]) -> ast.Export:
    return ast.Export(children[0][0], children[1][1], True)


def named(text: str, children: list[Any]) -> ast.Statement:
    directive = directive_name(text, children[0])
    name = to_name(text, children[1])
    start, end = children[0][0], children[2][1]
    match directive.text:
        case "package":
            return ast.Package(start, end, name)
        case "profile":
            bindable(name)
            return ast.Profile(start, end, name)
        case "optimize":
            return ast.Optimize(start, end, name)
        case "case":
            return ast.Case(start, end, name)
        case _:
            return ast.Data(start, end, name, directive.text == "test_data")


def metric(text: str, children: list[Any]) -> ast.Metric:
    name = to_name(text, children[1])
    dataset = to_name(text, children[3])
    return ast.Metric(children[0][0], children[5][1], name, dataset)


def directive(text: str, children: list[Any]) -> ast.Directive:
    span, items = children
    start, at = span
    name = directive_name(text, span)
    value = to_value(text, items, at)
    if not value.parts:
        return ast.Directive(start, _stripped(text, start, at), name, None)
    reject_fields(value.parts, f"> {name.text}:")
    return ast.Directive(start, value.end, name, value)


def typed_directive(text: str, children: list[Any]) -> ast.Directive:
    span, type_ = children
    return ast.Directive(span[0], type_.end, directive_name(text, span), None, type_)


# ── Lines of directive blocks ─────────────────────────────────────────────────


def setting(text: str, children: list[Any]) -> ast.Setting:
    span, items = children
    start, at = span
    name = directive_name(text, span)
    value = to_value(text, items, at)
    if not value.parts:
        return ast.Setting(start, _stripped(text, start, at), name, None)
    reject_fields(value.parts, "a setting")
    return ast.Setting(start, value.end, name, value)


def name_line(text: str, children: list[Any]) -> ast.NameLine:
    name = to_name(text, children[0])
    return ast.NameLine(name.start, name.end, name)


def name_line_python(text: str, children: list[Any]) -> ast.NameLine:
    start, end = children[0]
    raw = text[start + 1 : end - 1]
    code = raw.strip(" \t")
    at = start + 1 + len(raw) - len(raw.lstrip(" \t"))
    if not NAME.fullmatch(code):
        raise Fault("invalid-name", "one name is expected between these backticks", start, end)
    return ast.NameLine(start, end, Name(at, at + len(code), code), True)


def prose(text: str, children: list[Any]) -> tuple[Part, ...]:
    return finish(text, children[0])
