"""Calls of procedures and types: number of arguments, keywords, obvious types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedi.analysis.compatible import accepts
from kedi.analysis.describe import type_text
from kedi.analysis.names import suggestion
from kedi.analysis.symbols import Argument, Declaration, Range, Reference
from kedi.syntax.ast import Parameter, Procedure, TypeDef

if TYPE_CHECKING:
    from kedi.analysis.lints import Lint


def parameters_of(item: Declaration) -> tuple[Parameter, ...] | None:
    """Parameters of a procedure or fields of a type, ``None`` for anything else."""
    if isinstance(item.node, Procedure):
        return item.node.parameters
    return item.node.fields if isinstance(item.node, TypeDef) else None


def check_call(lint: Lint, reference: Reference, target: Declaration) -> None:
    """Report what the call certainly gets wrong."""
    parameters = parameters_of(target)
    arguments = reference.arguments
    if parameters is None or arguments is None:
        return
    by_name = {item.name.text: item for item in parameters}
    given: set[str] = set()
    spread = any(item.spread for item in arguments)
    position = 0
    for argument in arguments:
        if argument.spread:
            continue
        if argument.keyword is None:
            parameter = parameters[position] if position < len(parameters) else None
            position += 1
        else:
            parameter = by_name.get(argument.keyword)
            if parameter is None:
                _unknown_keyword(lint, target, argument, by_name)
                continue
        if parameter is None:
            continue
        name = parameter.name.text
        if name in given and not spread:
            lint.add(
                "wrong-arguments",
                f"`{target.name}` gets `{name}` twice",
                argument.place,
            )
        given.add(name)
        _type(lint, reference, target, parameter, argument)
    if spread:
        return
    if position > len(parameters):
        extra = [item for item in arguments if item.keyword is None][len(parameters)]
        _too_many(lint, target, extra.place, position, len(parameters))
    missing = [
        item.name.text
        for item in parameters
        if item.default is None and item.name.text not in given
    ]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        lint.add(
            "wrong-arguments",
            f"`{target.name}` is called without {names}",
            reference.place,
            f"it is declared as `{target.detail}`",
        )


def _too_many(lint: Lint, target: Declaration, place: Range, count: int, most: int) -> None:
    takes = "no arguments" if not most else "1 argument" if most == 1 else f"{most} arguments"
    lint.add(
        "wrong-arguments",
        f"`{target.name}` takes {takes}, not {count}",
        place,
        "a comma separates arguments: write `\\,` for one inside a text"
        if most
        else f"it is declared as `{target.detail}`",
    )


def _unknown_keyword(
    lint: Lint, target: Declaration, argument: Argument, by_name: dict[str, Parameter]
) -> None:
    keyword = argument.keyword or ""
    lint.add(
        "wrong-arguments",
        f"`{target.name}` has no {'field' if target.kind == 'type' else 'parameter'} `{keyword}`",
        argument.place,
        suggestion(keyword, by_name) or f"it is declared as `{target.detail}`",
    )


def _type(
    lint: Lint,
    reference: Reference,
    target: Declaration,
    parameter: Parameter,
    argument: Argument,
) -> None:
    kind = parameter.type
    if kind is not None and kind.python:
        return
    if kind is None and parameter.default is not None:
        return
    declared = type_text(kind)
    actual = argument.type
    if not actual and argument.name:
        actual = lint.type_of(reference.scope, argument.name, reference.order, reference.late)
    if not actual:
        return

    def is_model(name: str) -> bool:
        found = lint.analysis.lookup(
            reference.scope, name, reference.order, lint.index, reference.late
        )
        return found is not None and found[0].kind == "type"

    if accepts(declared, actual, is_model) is not False:
        return
    lint.add(
        "type-mismatch",
        f"`{parameter.name.text}` of `{target.name}` is `{declared}`, and this is `{actual}`",
        argument.place,
        "text is never turned into other types: write the value in backticks"
        if actual == "str" and not reference.python
        else None,
    )
