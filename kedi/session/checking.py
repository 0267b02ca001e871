"""Checking a fragment without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kedi.analysis.checks import compile_errors
from kedi.errors import KediParseError
from kedi.runtime.compiler import Compiler
from kedi.runtime.imports import ScopeNames
from kedi.syntax.ast import ParseResult

if TYPE_CHECKING:
    from kedi.runtime.frames import Unit
    from kedi.runtime.interpreter import Interpreter
    from kedi.runtime.scopes import Scope


class _UnitFactory(Protocol):
    def __call__(self, source: str, name: str, *, named: bool) -> Unit: ...


def check_fragment(
    interpreter: Interpreter, scope: Scope, make_unit: _UnitFactory, source: str
) -> ParseResult:
    """The parser's answer, and for complete text what the compiler would refuse."""
    from kedi.syntax import parse

    unit = make_unit(source, "<input>", named=False)
    result = parse(source, unit.name, mode="fragment")
    if result.status != "complete":
        return result
    diagnostics = tuple(compile_errors(result.program, ScopeNames(interpreter, scope, unit)))
    if not diagnostics:
        try:
            Compiler(interpreter, unit).program(result.program)
        except KediParseError as error:
            diagnostics = error.diagnostics
    status = "invalid" if diagnostics else "complete"
    return ParseResult(status, result.program, diagnostics)
