"""Rules for statements and definitions.

A terminal arrives as its ``(start, end)`` in the text, a nonterminal as what
its own function returned. The functions bear the names of their rules in
``grammar.lark``, which says what each is for.
"""

# ruff: noqa: D103

from __future__ import annotations

import keyword
from typing import Any

from kedi.syntax import ast
from kedi.syntax.ast import Assign, Init, Parameter, RawCall, Return, Template, TypeExpr
from kedi.syntax.faults import Fault
from kedi.syntax.pieces import (
    bindable,
    definable,
    fence_python,
    finish,
    inline,
    reject_fields,
    to_name,
    to_template,
    value_of,
)


def _not_equals(text: str, at: int, meant: str) -> None:
    """Refuse a value glued to its sign that begins with another ``=``: a comparison was meant."""
    if text[at - 1 : at] == "=" and text[at : at + 1] == "=":
        start = at - 1 if text[at - 2 : at - 1] != ":" else at - 2
        raise Fault(
            "double-equals",
            f"`{text[start : at + 1]}` is not how a value is given",
            start,
            at + 1,
            rf"did you mean `{meant}`? Write `\=` for text that begins with =",
        )


def init(text: str, children: list[Any]) -> Init:
    field, (_, start), item = children
    if field.name.text == "args" or field.name.text[:2] == "__":
        bindable(field)
    _not_equals(text, start, "=")
    value = value_of(text, item, start, "a value")
    return Init(field.start, value.end, field, value)


def assign(text: str, children: list[Any]) -> Assign:
    field, (_, start), item = children
    bindable(field)
    if field.type is not None:
        raise Fault(
            "type-on-assignment",
            "a type is not allowed with :=",
            field.type.start,
            field.type.end,
            f"write [{field.name.text}] := … ; the type was given where the name was initialised",
        )
    _not_equals(text, start, ":=")
    value = value_of(text, item, start, "a value")
    return Assign(field.start, value.end, field.name, value)


def raw_call(text: str, children: list[Any]) -> RawCall:
    field, (_, start), items = children
    bindable(field)
    type_ = field.type
    if type_ is not None and type_.text != "str":
        raise Fault(
            "typed-raw-call",
            "a raw call gives text: only `str` is allowed here",
            type_.start,
            type_.end,
            f"use a template for typed answers: >> … [{field.name.text}: {type_.text}]",
        )
    parts = finish(text, items)
    if not parts:
        raise Fault("empty-prompt", "this call has no prompt", field.start, start)
    reject_fields(parts, "the prompt of a raw call")
    return RawCall(field.start, parts[-1].end, field, parts)


def template(text: str, children: list[Any]) -> Template:
    (start, end), items = children
    parts = finish(text, items)
    if not parts:
        raise Fault("empty-prompt", "this template has no text", start, end)
    return to_template(parts, start, parts[-1].end)


def return_(text: str, children: list[Any]) -> Return:
    (start, at), item = children
    _not_equals(text, at, "=")
    value = value_of(text, item, at, "a return")
    return Return(start, max(value.end, start + 1), value)


def python_statement(text: str, children: list[Any]) -> ast.PythonStatement:
    start, end = children[0]
    return ast.PythonStatement(start, end, inline(text, start, end, "stmt"))


def fence(text: str, children: list[Any]) -> ast.Fence:
    python = fence_python(text, *children[0])
    return ast.Fence(python.start, python.end, python)


def parameter_plain(text: str, children: list[Any]) -> Parameter:
    name = to_name(text, children[0])
    return Parameter(name.start, name.end, name)


def parameter_typed(text: str, children: list[Any]) -> Parameter:
    name = to_name(text, children[0])
    return Parameter(name.start, children[2].end, name, children[2])


def parameter_default(text: str, children: list[Any]) -> Parameter:
    name = to_name(text, children[0])
    start, end = children[2]
    return Parameter(name.start, end, name, None, inline(text, start, end))


def parameter_typed_default(text: str, children: list[Any]) -> Parameter:
    name = to_name(text, children[0])
    start, end = children[4]
    return Parameter(name.start, end, name, children[2], inline(text, start, end))


def parameter_first(text: str, children: list[Any]) -> list[Parameter]:
    return [children[0]]


def parameter_more(text: str, children: list[Any]) -> list[Parameter]:
    children[0].append(children[2])
    return children[0]


def parameters_none(text: str, children: list[Any]) -> tuple[Parameter, ...]:
    return ()


def parameters_some(text: str, children: list[Any]) -> tuple[Parameter, ...]:
    return tuple(children[0])


def _check_parameters(parameters: tuple[Parameter, ...], what: str) -> None:
    seen: set[str] = set()
    optional: str | None = None
    for parameter in parameters:
        name = parameter.name
        if name.text in seen:
            raise Fault(
                f"duplicate-{what}", f"{what} `{name.text}` is given twice", name.start, name.end
            )
        seen.add(name.text)
        if parameter.default is not None:
            optional = name.text
        elif optional is not None:
            raise Fault(
                "required-after-default",
                f"{what} `{name.text}` is required but follows `{optional}`, which has a default",
                parameter.start,
                parameter.end,
                f"put it before `{optional}`, or give it a default",
            )
        if keyword.iskeyword(name.text):
            definable(name, what)


def _procedure(text: str, children: list[Any], returns: TypeExpr | None) -> ast.Procedure:
    name = to_name(text, children[1])
    definable(name, "procedure")
    parameters = children[3]
    _check_parameters(parameters, "parameter")
    for parameter in parameters:
        bindable(parameter.name)
    return ast.Procedure(children[0][0], children[-1][1], name, parameters, returns)


def procedure(text: str, children: list[Any]) -> ast.Procedure:
    return _procedure(text, children, None)


def procedure_typed(text: str, children: list[Any]) -> ast.Procedure:
    return _procedure(text, children, children[6])


def type_def(text: str, children: list[Any]) -> ast.TypeDef:
    name = to_name(text, children[1])
    definable(name, "type")
    fields = children[3]
    _check_parameters(fields, "field")
    for field in fields:
        if field.default is not None and field.type is None:
            raise Fault(
                "untyped-default",
                f"field `{field.name.text}` has a default and needs a type",
                field.start,
                field.end,
                f"write {field.name.text}: str = `{field.default.code}`, or the type it has",
            )
    return ast.TypeDef(children[0][0], children[-1][1], name, fields)


def suite(text: str, children: list[Any]) -> ast.Statement:
    (start, opened), span, (_, end) = children
    name = to_name(text, span)
    if "test" in text[start:opened]:
        return ast.TestSuite(start, end, name)
    return ast.EvalSuite(start, end, name)
