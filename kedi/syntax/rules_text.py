"""Rules for text, values, substitutions, fields and types.

A terminal arrives as its ``(start, end)`` in the text, a nonterminal as what
its own function returned. The functions bear the names of their rules in
``grammar.lark``, which says what each is for.
"""

# ruff: noqa: D103

from __future__ import annotations

import re
from typing import Any

from kedi.syntax.ast import Call, Field, Name, Read, TypeExpr, Value
from kedi.syntax.embedded import parse_python
from kedi.syntax.pieces import NAME, Item, Span, finish, inline, reject_duplicates, to_value

_line_breaks = re.compile(r""""(?:[^\\"\n]++|\\.)*+"|'(?:[^\\'\n]++|\\.)*+'|(?:#[^\n]*+)?\n""")


def _one_line(source: str) -> str:
    """A type over several lines as one, every offset kept: comments and line ends turn blank."""
    return _line_breaks.sub(
        lambda match: match[0] if match[0][0] in "\"'" else " " * len(match[0]), source
    )


# ── Text ──────────────────────────────────────────────────────────────────────
# Rules that append a terminal to a text: the machine calls them with the text so far.


def text_start(text: str, children: list[Any]) -> list[Item]:
    return []


def text_node(text: str, children: list[Any]) -> list[Item]:
    children[0].append(children[1])
    return children[0]


def add_literal(text: str, items: list[Item], span: Span) -> None:
    items.append(span)


def add_break(text: str, items: list[Item], span: Span) -> None:
    items.append((*span, "break"))


def add_join(text: str, items: list[Item], span: Span) -> None:
    items.append((*span, "join"))


def add_fence(text: str, items: list[Item], span: Span) -> None:
    items.append((*span, "fence"))


def add_fence_mark(text: str, items: list[Item], span: Span) -> None:
    items.append((*span, "mark"))


def add_python(text: str, items: list[Item], span: Span) -> None:
    items.append(inline(text, span[0], span[1]))


def add_angle(text: str, items: list[Item], span: Span) -> None:
    start, end = span
    node = inline(text, start + 1, end - 1)
    node.start = start
    node.end = end
    node.angle = True
    items.append(node)


def add_read(text: str, items: list[Item], span: Span) -> None:
    start, end = span
    items.append(Read(start, end, Name(start + 1, end - 1, text[start + 1 : end - 1])))


def add_field(text: str, items: list[Item], span: Span) -> None:
    items.append(plain_field(text, span))


# ── Substitutions and fields ──────────────────────────────────────────────────


def arguments_first(text: str, children: list[Any]) -> list[list[Any]]:
    return children


def arguments_more(text: str, children: list[Any]) -> list[list[Any]]:
    arguments, comma, argument = children
    arguments.append(comma)
    arguments.append(argument)
    return arguments


def call(text: str, children: list[Any]) -> Call:
    (start, opened), raw, (_, end) = children
    name = Name(start + 1, opened - 1, text[start + 1 : opened - 1])
    arguments: tuple[Value, ...] = ()
    if len(raw) > 1 or finish(text, raw[0]):
        made: list[Value] = []
        at = opened
        for index, item in enumerate(raw):
            if index % 2:
                at = item[1]
                continue
            value = to_value(text, item, at)
            reject_duplicates(value.parts)
            made.append(value)
        arguments = tuple(made)
    return Call(start, end, name, arguments)


def plain_field(text: str, span: Span) -> Field:
    """``[name]``, blanks inside the brackets allowed."""
    match = NAME.search(text, span[0])
    assert match
    return Field(span[0], span[1], Name(match.start(), match.end(), match[0]))


def field_plain(text: str, children: list[Any]) -> Field:
    return plain_field(text, children[0])


def field_typed(text: str, children: list[Any]) -> Field:
    return children[0]


def typed_field(text: str, children: list[Any]) -> Field:
    (start, _), type_, (_, end) = children
    match = NAME.search(text, start)
    assert match
    return Field(start, end, Name(match.start(), match.end(), match[0]), type_)


def type_plain(text: str, children: list[Any]) -> TypeExpr:
    start, end = children[0]
    source = text[start:end]
    if "\n" in source:
        source = _one_line(source)
    tree = parse_python(text, source, start, "expr")
    return TypeExpr(start, end, source, start, False, tree)


def type_python(text: str, children: list[Any]) -> TypeExpr:
    start, end = children[0]
    node = inline(text, start, end)
    return TypeExpr(start, end, node.code, node.code_start, True, node.tree)
