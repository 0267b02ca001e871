"""Checking a fragment without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kedi.analysis.checks import compile_errors
from kedi.errors import KediCompileError, KediParseError
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
    """Whether ``source`` is a complete fragment, needs more input, or is invalid.

    ``complete`` means that executing it now would start to run: what the parser,
    the analysis and Python's compiler refuse is ``invalid``, with every finding.
    ``incomplete`` is the parser's answer alone: names are looked at once the text
    is whole. Nothing runs and nothing is kept.
    """
    from kedi.syntax import parse

    unit = make_unit(source, "<input>", named=False)
    unit.runs = False
    result = parse(source, unit.name, mode="fragment")
    if result.status != "complete":
        return result
    diagnostics = tuple(compile_errors(result.program, ScopeNames(interpreter, scope, unit)))
    if not diagnostics:
        try:
            Compiler(interpreter, unit).program(result.program)
        except (KediParseError, KediCompileError) as error:
            diagnostics = error.diagnostics
    return ParseResult("invalid" if diagnostics else "complete", result.program, diagnostics)
