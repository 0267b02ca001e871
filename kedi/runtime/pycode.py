"""From embedded Python text to code objects that point at the Kedi source.

Lines and columns of the code objects are those of the Kedi source, so that
Python's own tracebacks, ``inspect`` and any Python debugger show it.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal

from kedi.diagnostics import Diagnostic
from kedi.errors import KediParseError
from kedi.runtime.frames import Unit
from kedi.source import Span, from_units
from kedi.syntax.ast import Python, Stmt, TypeExpr

PieceKind = Literal["expr", "stmt", "suite", "type", "prelude"]

#: Names of code objects, which Python shows in its own tracebacks.
CODE_NAMES: dict[PieceKind, str] = {
    "expr": "<inline python>",
    "stmt": "<python statement>",
    "suite": "<fenced python>",
    "type": "<type expression>",
    "prelude": "<prelude>",
}
_SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_START: dict[str, Any] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}


@dataclass(slots=True)
class Piece:
    """Parsed Python: ``body`` has lines relative to it and columns of the source (UTF-8 bytes).

    ``first_line`` is the 1-based line of the unit on which it begins.
    """

    unit: Unit
    kind: PieceKind
    body: list[ast.stmt]
    first_line: int

    @classmethod
    def of_python(cls, unit: Unit, stmt: Stmt, node: Python, base_line: int) -> Piece:
        """The piece of a Python node. Raises :class:`KediParseError`."""
        line, column = stmt.locate(node.code_start)
        piece = cls(unit, node.kind, [], base_line + line + 1)
        if node.kind == "expr":
            piece.body = piece._expression(node.code, stmt.text, node.code_start, column)
        else:
            piece.body = piece._statements(node, stmt.text, column)
        return piece

    @classmethod
    def of_type(cls, unit: Unit, stmt: Stmt, node: TypeExpr, base_line: int) -> Piece:
        """The piece of a type expression. Raises :class:`KediParseError`."""
        line, column = stmt.locate(node.text_start)
        piece = cls(unit, "type", [], base_line + line + 1)
        piece.body = piece._expression(node.text, stmt.text, node.text_start, column)
        return piece

    def _expression(self, code: str, text: str, start: int, column: int) -> list[ast.stmt]:
        width = len(text[start - column : start].encode("utf-8", "surrogatepass"))
        # The parenthesis keeps the expression at its own column and allows line breaks in it.
        source = f"({' ' * (width - 1)}{code}\n)" if width else code
        try:
            value = ast.parse(source, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self.refusal(error) from None
        return [
            ast.Return(
                value=value,
                lineno=value.lineno,
                col_offset=value.col_offset,
                end_lineno=value.end_lineno,
                end_col_offset=value.end_col_offset,
            )
        ]

    def _statements(self, node: Python, text: str, column: int) -> list[ast.stmt]:
        try:
            body = ast.parse(node.code).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self.refusal(error) from None
        if node.kind == "suite":
            shift = node.indent
        else:
            start = node.code_start
            shift = len(text[start - column : start].encode("utf-8", "surrogatepass"))
        if shift:
            _move_columns(body, shift, every_line=node.kind == "suite")
        return body

    def function(self, shared: tuple[str, ...] = ()) -> CodeType:
        """Code of a function without parameters around the piece.

        ``shared`` names become globals of it. Raises :class:`KediParseError` for what only
        Python's compiler finds, such as ``break`` outside a loop.
        """
        body = list(self.body)
        if shared:
            body.insert(0, ast.Global(names=list(shared), **_START))
        if not body:
            body.append(ast.Pass(**_START))
        name = CODE_NAMES[self.kind]
        function = ast.FunctionDef(
            name=name,
            args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]),
            body=body,
            decorator_list=[],
            **_START,
        )
        if "type_params" in ast.FunctionDef._fields:
            function.type_params = []  # pyright: ignore[reportAttributeAccessIssue]
        outer = self._compile([function])
        code = next(const for const in outer.co_consts if isinstance(const, CodeType))
        if code.co_flags & _SUSPENDING:
            raise self.refusal(SyntaxError("`yield` and `await` are only allowed inside a `def`"))
        return _move_lines(code, self.first_line - 1)

    def module(self) -> CodeType:
        """Code of a module body: every name it binds lands in its globals."""
        code = self._compile(self.body)
        name = CODE_NAMES[self.kind]
        return _move_lines(code, self.first_line - 1).replace(co_name=name, co_qualname=name)

    def _compile(self, body: list[ast.stmt]) -> CodeType:
        tree = ast.Module(body=body, type_ignores=[])
        try:
            return compile(tree, self.unit.name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self.refusal(error) from None

    def refusal(self, error: BaseException) -> KediParseError:
        """The parse error for what Python said, at its own line and column."""
        line, column, end_column = self.first_line, 1, 2
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        if isinstance(error, RecursionError | MemoryError):
            message = "the code is nested too deeply"
        text = self.unit.line_text(line)
        if isinstance(error, SyntaxError) and error.lineno is not None:
            line = self.first_line + error.lineno - 1
            text = self.unit.line_text(line)
            # compile() of a tree reports 1-based UTF-8 byte offsets.
            column = from_units(text, (error.offset or 1) - 1, "utf-8") + 1
            end_column = column + 1
            if error.end_lineno == error.lineno and error.end_offset:
                end_column = max(end_column, from_units(text, error.end_offset - 1, "utf-8") + 1)
        hint = None
        if "import *" in message:
            hint = "import the names you need, or move the import to the prelude"
        elif "nonlocal" in message:
            hint = "Kedi bindings are Python globals: use `global` instead of `nonlocal`"
        elif "'return' outside" in message:
            message, hint = "`return` outside a function", "a prelude has nobody to return to"
        span = Span(self.unit.name, line, column, line, end_column)
        return KediParseError(
            [Diagnostic("python-syntax", f"Python: {message}", span, hint=hint, source_line=text)]
        )

    def declared_global(self) -> frozenset[str]:
        """Names in ``global`` statements anywhere in the piece."""
        return frozenset(
            name for item in _walk(self.body) if isinstance(item, ast.Global) for name in item.names
        )


def own_locals(code: CodeType) -> frozenset[str]:
    """Names that the function's own level assigns."""
    return frozenset(code.co_varnames) | frozenset(code.co_cellvars)


def looks_up_by_name(code: CodeType) -> bool:
    """Whether class bodies or ``eval``/``exec`` make Python skip a dict's ``__missing__``."""
    codes = _all_codes(code)
    if any(not item.co_flags & inspect.CO_NEWLOCALS for item in codes[1:]):
        return True
    return any("eval" in item.co_names or "exec" in item.co_names for item in codes)


def _walk(body: list[ast.stmt]) -> list[ast.AST]:
    found: list[ast.AST] = list(body)
    for item in found:
        found.extend(ast.iter_child_nodes(item))
    return found


def _move_columns(body: list[ast.stmt], shift: int, *, every_line: bool) -> None:
    items: list[Any] = list(_walk(body))
    for item in items:
        line = getattr(item, "lineno", None)
        if line is None:
            continue
        if every_line or line == 1:
            item.col_offset += shift
        if every_line or getattr(item, "end_lineno", None) == 1:
            item.end_col_offset += shift


def _all_codes(code: CodeType) -> list[CodeType]:
    found = [code]
    for item in found:
        found.extend(const for const in item.co_consts if isinstance(const, CodeType))
    return found


def _move_lines(code: CodeType, delta: int) -> CodeType:
    if not delta:
        return code
    consts = tuple(
        _move_lines(const, delta) if isinstance(const, CodeType) else const
        for const in code.co_consts
    )
    return code.replace(co_firstlineno=code.co_firstlineno + delta, co_consts=consts)
