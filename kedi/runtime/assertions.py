"""Assertions of suites that say what they compared.

``assert f(x) == 3`` in a case is compiled so that a failure also keeps the two
values. Everything else of it stays: order of evaluation, its message (still only
evaluated when it fails), its position, the exception.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from kedi.agents.reprs import cut, full_repr
from kedi.runtime.blocks import Step
from kedi.runtime.bridge import bridge_builtins
from kedi.runtime.compiler import Compiler
from kedi.runtime.frames import RunFrame, Site, Unit
from kedi.runtime.pycode import Piece, looks_up_by_name, own_locals
from kedi.runtime.python import Run, python_runner
from kedi.runtime.scopes import Scope, dict_set
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

_NOTE = "__kedi_compared__"
_LEFT, _RIGHT = "__kedi_left__", "__kedi_right__"
_MAX_REPR = 400
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a failed assertion compared: ``repr`` of both values, cut to a readable length."""

    left: str
    operator: str
    right: str


class Recorder:
    """Keeps the comparison of the assertion that failed last, with its lines."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[int, int, Comparison] | None = None

    def bind(self, scope: Scope) -> None:
        """Start anew, for code that runs in ``scope``."""
        self._last = None
        dict_set(scope, _NOTE, self._note)

    def at_line(self, line: int) -> Comparison | None:
        """The comparison, if it belongs to an assertion on that line of the source."""
        if self._last is not None and self._last[0] <= line <= self._last[1]:
            return self._last[2]
        return None

    def _note(
        self, first: int, last: int, left: Any, operator: str, right: Any, message: Any
    ) -> Any:
        self._last = (first, last, Comparison(_shown(left), operator, _shown(right)))
        return message


def _shown(value: Any) -> str:
    return cut(full_repr(value), _MAX_REPR)


class SuiteCompiler(Compiler):
    """A compiler whose Python statements keep what their assertions compare."""

    __slots__ = ()

    def statement(
        self, stmt: Stmt, line: int, follower: tuple[Stmt, int] | None = None
    ) -> tuple[Site, Step] | None:
        """Compile one statement; the code with assertions specially."""
        node = stmt.node
        if isinstance(node, syntax.PythonStatement):
            site = self.site(stmt, line, "python statement")
        elif isinstance(node, syntax.Fence):
            site = self.site(stmt, line, "fenced python")
        else:
            return super().statement(stmt, line, follower)
        run = _runner(self.interpreter, self.unit, site, node.python)
        if run is None:
            return super().statement(stmt, line, follower)

        def execute(frame: RunFrame, scope: Scope) -> None:
            run(frame, scope)

        return site, execute


def _runner(interpreter: Interpreter, unit: Unit, site: Site, node: syntax.Python) -> Run | None:
    """Code that keeps comparisons; ``None`` when it compares nothing or runs elsewhere."""
    if "assert" not in node.code or interpreter.foreign_executor is not None:
        return None
    plain = python_runner(interpreter, site, node)
    piece = Piece.of_python(unit, site.stmt, node, site.base_line).without_warnings()
    if not _keep_operands(piece.body, piece.first_line - 1):
        return None
    # Naming a global has the code made from the tree that was just changed.
    code = piece.function((_NOTE,))
    stored = own_locals(code)
    bridge = looks_up_by_name(code)
    if piece.declared_global():
        return None

    def run(frame: RunFrame, scope: Scope) -> Any:
        # What writes to Kedi bindings or is observed runs as it was written.
        if interpreter.observer is not None or any(
            scope.owner_of(name) is not None for name in stored
        ):
            return plain(frame, scope)
        if bridge:
            bridge_builtins(scope)
        return FunctionType(code, scope)()

    return run


def _keep_operands(body: list[ast.stmt], delta: int) -> bool:
    """Rewrite the simple comparisons among the assertions, in place; whether there are any."""
    found = False
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        pending.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            test = node.test
            if len(test.ops) == 1:
                found = True
                _keep(node, test, delta)
    return found


def _keep(node: ast.Assert, test: ast.Compare, delta: int) -> None:
    test.left = _named(_LEFT, test.left)
    test.comparators = [_named(_RIGHT, test.comparators[0])]
    message = node.msg if node.msg is not None else _constant("", node)
    call = ast.Call(
        func=_name(_NOTE, node),
        args=[
            _constant(node.lineno + delta, node),
            _constant((node.end_lineno or node.lineno) + delta, node),
            _name(_LEFT, node),
            _constant(_OPERATORS[type(test.ops[0])], node),
            _name(_RIGHT, node),
            message,
        ],
        keywords=[],
    )
    node.msg = ast.copy_location(call, node)


def _named(name: str, value: ast.expr) -> ast.NamedExpr:
    target = ast.copy_location(ast.Name(name, ast.Store()), value)
    return ast.copy_location(ast.NamedExpr(target, value), value)


def _name(name: str, place: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), place)


def _constant(value: str | int, place: ast.AST) -> ast.Constant:
    return ast.copy_location(ast.Constant(value), place)
