"""Texts typed into a debugger, compiled to run in scopes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from kedi.errors import KediError, KediParseError
from kedi.runtime.blocks import Step, sequence
from kedi.runtime.compiler import Compiler
from kedi.runtime.frames import RunFrame, Site, Unit
from kedi.runtime.imports import check_program
from kedi.runtime.python import Run, python_runner
from kedi.runtime.values import return_runner, value_runner
from kedi.session.debugger.texts import Text
from kedi.session.expressions import Expression, as_return
from kedi.source import SourceFile
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt
from kedi.syntax.parser import parse

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter
    from kedi.runtime.scopes import Scope

_serial = itertools.count(1)


def debug_name() -> str:
    """A fresh source name for a text that is evaluated: ``<debug:N>``."""
    return f"<debug:{next(_serial)}>"


class Snippet:
    """A text ready to run in scopes of one interpreter.

    ``unit`` is its source. Places in errors are those of the text as it was typed.
    """

    __slots__ = ("_keeps", "_moved", "body", "interpreter", "unit")

    def __init__(
        self,
        interpreter: Interpreter,
        unit: Unit,
        body: Step,
        *,
        moved: Expression | None = None,
        keeps: bool = False,
    ) -> None:
        self.interpreter = interpreter
        self.unit = unit
        self.body = body
        self._moved = moved
        #: What it defines may run later: its text stays known.
        self._keeps = keeps

    def run(self, scope: Scope) -> Any:
        """Its value in ``scope``. Raises Kedi errors that are complete with their frames."""
        interpreter = self.interpreter
        interpreter.add_unit(self.unit)
        try:
            return interpreter.run(self.unit, self.body, scope)
        except KediError as error:
            if self._moved is None:
                raise
            raise self._moved.moved(error, self.unit.name) from error.__cause__
        finally:
            if not self._keeps:
                interpreter.forget_unit(self.unit)


def prepare(
    interpreter: Interpreter, text: Text, name: str, directory: str, scope: Scope
) -> Snippet:
    """Compile a classified text to run in ``scope`` or others like it.

    Raises :class:`KediParseError` and :class:`KediCompileError`.
    """
    if text.kind in ("incomplete", "invalid"):
        raise text.refuse()
    if text.kind == "value":
        placed = as_return(text.given)
        unit = Unit(SourceFile(name, placed.text), "fragment", directory)
        try:
            program = _parsed(unit)
            check_program(interpreter, program, scope, unit)
            body = _given(interpreter, *_value(interpreter, unit, program, text))
        except KediError as error:
            raise placed.moved(error, name) from None
        return Snippet(interpreter, unit, body, moved=placed)
    unit = Unit(SourceFile(name, text.given), "fragment", directory)
    if text.kind == "expression":
        site, node = expression_site(unit, text)
        body = _given(interpreter, site, python_runner(interpreter, site, node))
        return Snippet(interpreter, unit, body)
    if text.kind == "suite":
        unit.source = SourceFile(name, text.source)
        return Snippet(interpreter, unit, _suite(interpreter, unit, text), keeps=True)
    program = _parsed(unit)
    check_program(interpreter, program, scope, unit)
    body = Compiler(interpreter, unit).program(program)
    return Snippet(interpreter, unit, body, keeps=True)


def runner(interpreter: Interpreter, text: Text, name: str, directory: str) -> Run:
    """An expression or a value as what runs inside a frame that is there already.

    Raises :class:`KediParseError`.
    """
    if text.kind == "value":
        unit = Unit(SourceFile(name, as_return(text.given).text), "fragment", directory)
        return _value(interpreter, unit, _parsed(unit), text)[1]
    unit = Unit(SourceFile(name, text.given), "fragment", directory)
    return python_runner(interpreter, *expression_site(unit, text))


def expression_site(unit: Unit, text: Text) -> tuple[Site, syntax.Python]:
    """An expression as the node and the place that the compiler works with."""
    start, code = text.start, text.source
    end = start + len(code)
    node = syntax.Python(start, end, code, start, "expr")
    statement = syntax.Return(start, end, syntax.Value(start, end, "native", (node,)))
    stmt = Stmt(statement, unit.source.text, 0, 0)
    return Site(unit, stmt, node, 0, "inline python", ""), node


def _given(interpreter: Interpreter, site: Site, run: Run) -> Step:
    def give(frame: RunFrame, scope: Scope) -> bool:
        frame.value = run(frame, scope)
        return True

    return sequence(interpreter, [(site, give)])


def _value(
    interpreter: Interpreter, unit: Unit, program: syntax.Program, text: Text
) -> tuple[Site, Run]:
    """``= value`` as the language has it; ``<name>`` and ``<call()>`` alone as they are."""
    ((stmt, line),) = program.top_level()
    assert isinstance(stmt.node, syntax.Return)
    compiler = Compiler(interpreter, unit)
    site = compiler.site(stmt, line, "return")
    make = return_runner if text.source.startswith("=") else value_runner
    run = make(interpreter, site, stmt.node.value)
    return site, run


def _suite(interpreter: Interpreter, unit: Unit, text: Text) -> Step:
    code = text.source
    node = syntax.Python(0, len(code), code, 0, "suite")
    stmt = Stmt(syntax.Fence(0, len(code), node, prelude=True), code, 0, 0)
    made = Compiler(interpreter, unit).statement(stmt, 0)
    assert made is not None
    return sequence(interpreter, [made])


def _parsed(unit: Unit) -> syntax.Program:
    result = parse(unit.source.text, unit.name, mode="fragment")
    if result.status != "complete":
        raise KediParseError(result.diagnostics)
    unit.source = result.program.source
    return result.program


__all__ = ["Snippet", "debug_name", "expression_site", "prepare", "runner"]
