"""From embedded Python text to code objects that point at the Kedi source.

Lines and columns of the code objects are those of the Kedi source, so that
Python's own tracebacks, ``inspect`` and any Python debugger show it.
"""

from __future__ import annotations

import ast
import inspect
from types import CodeType
from typing import Any, Literal

from kedi.diagnostics import Diagnostic
from kedi.errors import KediParseError
from kedi.runtime.frames import Unit
from kedi.runtime.linetable import without_first_line
from kedi.runtime.rewrite import WriteThrough, own_statements, stored_first, walk
from kedi.source import Span, from_units
from kedi.syntax.ast import Python, Stmt, TypeExpr
from kedi.syntax.embedded import may_warn, silent_name

PieceKind = Literal["expr", "stmt", "suite", "type", "prelude"]

#: Names of code objects, which Python shows in its own tracebacks.
CODE_NAMES: dict[PieceKind, str] = {
    "expr": "<inline python>",
    "stmt": "<python statement>",
    "suite": "<fenced python>",
    "type": "<type expression>",
    "prelude": "<prelude>",
}
#: Functions of Python that see the names of the code that calls them.
_BY_NAME = frozenset({"locals", "vars", "dir", "exec", "eval"})
_SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_START: dict[str, Any] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}


class Piece:
    """A piece of Python at its place in a unit.

    ``first_line`` is the 1-based line of the unit on which it begins, ``width`` the
    UTF-8 bytes before it on that line (on every line, for a fence).
    """

    __slots__ = (
        "_body",
        "_compiled",
        "_rewritten",
        "_told",
        "code",
        "first_line",
        "kind",
        "unit",
        "width",
    )

    def __init__(
        self, unit: Unit, stmt: Stmt, base_line: int, kind: PieceKind, code: str, start: int
    ) -> None:
        line, column = stmt.locate(start)
        self.unit = unit
        self.kind: PieceKind = kind
        self.code = code
        self.first_line = base_line + line + 1
        before = stmt.text[start - column : start]
        self.width = column if before.isascii() else len(before.encode("utf-8", "surrogatepass"))
        self._body: list[ast.stmt] | None = None
        self._compiled: CodeType | None = None
        self._rewritten = False
        # Whether Python has had the chance to warn of the piece.
        self._told = not unit.runs

    @classmethod
    def of_python(cls, unit: Unit, stmt: Stmt, node: Python, base_line: int) -> Piece:
        """The piece of a Python node."""
        piece = cls(unit, stmt, base_line, node.kind, node.code, node.code_start)
        piece._compiled = node.compiled
        if node.kind == "suite":
            piece.width = node.indent
        return piece

    @classmethod
    def of_type(cls, unit: Unit, stmt: Stmt, node: TypeExpr, base_line: int) -> Piece:
        """The piece of a type expression."""
        return cls(unit, stmt, base_line, "type", node.text, node.text_start)

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements: lines relative to it, columns of the source (UTF-8 bytes).

        An expression is one ``return``. Raises :class:`KediParseError`.
        """
        if self._body is None:
            expression = self.kind in ("expr", "type")
            self._body = self._expression() if expression else self._statements()
        return self._body

    def _expression(self) -> list[ast.stmt]:
        # The parenthesis keeps the expression at its own column and allows line breaks in it.
        source = f"({' ' * (self.width - 1)}{self.code}\n)" if self.width else self.code
        try:
            value = ast.parse(source, silent_name(self.code), mode="eval").body
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

    def _statements(self) -> list[ast.stmt]:
        try:
            body = ast.parse(self.code, silent_name(self.code)).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self.refusal(error) from None
        if self.width:
            _move_columns(body, self.width, every_line=self.kind != "stmt")
        return body

    def function(self, shared: tuple[str, ...] = ()) -> CodeType:
        """Code of a function without parameters around the piece.

        ``shared`` names become globals of it. Raises :class:`KediParseError` for what only
        Python's compiler finds, such as ``break`` outside a loop.
        """
        self._tell()
        code = None if shared or self._rewritten else self._from_text()
        if code is None:
            code = self._from_tree(shared)
        if code.co_flags & _SUSPENDING:
            raise self.refusal(SyntaxError("`yield` and `await` are only allowed inside a `def`"))
        return code

    def _from_text(self) -> CodeType | None:
        """The code when wrapping the text is enough, which is several times faster than a tree.

        ``None`` sends the caller to the tree, also for its exact error positions.
        """
        if self._compiled is not None:
            return _placed(self._compiled, self.unit, self.first_line - 2, self.kind, wrapped=True)
        if self.kind in ("expr", "type"):
            # The expression starts on the second line of the wrapper, at its own column.
            text, mode = f"lambda:(\n{' ' * self.width}{self.code}\n)", "eval"
        elif self.kind == "stmt" and self.width and "\n" not in self.code:
            text, mode = f"def f():\n{' ' * self.width}{self.code}", "exec"
        else:
            return None
        try:
            outer = compile(text, silent_name(self.code), mode, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        code = next(const for const in outer.co_consts if isinstance(const, CodeType))
        return _placed(code, self.unit, self.first_line - 2, self.kind, wrapped=True)

    def _from_tree(self, shared: tuple[str, ...]) -> CodeType:
        body = list(self.body)
        if shared:
            body.insert(0, ast.Global(names=list(shared), **_START))
        outer = self._compile([_wrapper(body, CODE_NAMES[self.kind])])
        code = next(const for const in outer.co_consts if isinstance(const, CodeType))
        return _placed(code, self.unit, self.first_line - 1, self.kind)

    def module(self) -> CodeType:
        """Code of a module body: every name it binds lands in its globals."""
        self._tell()
        return _placed(self._compile(self.body), self.unit, self.first_line - 1, self.kind)

    def global_function(self) -> tuple[CodeType | None, frozenset[str]]:
        """The piece as a function all of whose names are global, and the names it stores.

        ``None`` for code without a loop, which gains nothing by it, and for code that means
        something else there: a star import, annotations, and what looks at its own names.
        """
        kinds = {type(item) for item in own_statements(self.body)}
        if kinds.isdisjoint((ast.For, ast.While)) or ast.AnnAssign in kinds:
            return None, frozenset()
        try:
            names = own_locals(plain := self._from_tree(()))
            if not _BY_NAME.isdisjoint(plain.co_names):
                return None, names
            return self._from_tree(tuple(sorted(names))) if names else plain, names
        except KediParseError:
            return None, frozenset()

    def _compile(self, body: list[ast.stmt]) -> CodeType:
        tree = ast.Module(body=body, type_ignores=[])
        try:
            # `_placed` gives it its file.
            return compile(tree, silent_name(self.code), "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self.refusal(error) from None

    def without_warnings(self) -> Piece:
        """The same piece, of which another one lets Python warn."""
        self._told = True
        return self

    def _tell(self) -> None:
        """Let Python warn of the piece once, at its file and line.

        Everything else is compiled silently: a piece may be compiled in several variants, at
        lines that are moved afterwards. Raises :class:`KediParseError` where the program's
        filters make an error of a warning.
        """
        if self._told or self._compiled is not None:
            return
        self._told = True
        if not may_warn(self.code):
            return
        above = "\n" * (self.first_line - 1)
        expression = self.kind in ("expr", "type")
        text = f"{above}({self.code}\n)" if expression else f"{above}{self.code}"
        try:
            tree = ast.parse(text, self.unit.name)
            if self.kind != "prelude":
                tree.body = [_wrapper(tree.body)]
            compile(ast.fix_missing_locations(tree), self.unit.name, "exec", dont_inherit=True)
        except SyntaxError as error:
            if error.lineno is not None:
                error.lineno -= self.first_line - 1
                error.end_lineno = error.lineno
            raise self.refusal(error) from None
        except (ValueError, RecursionError, MemoryError):
            return

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
        if "global" not in self.code:
            return frozenset()
        return frozenset(
            name for item in walk(self.body) if isinstance(item, ast.Global) for name in item.names
        )

    def write_through(self, names: frozenset[str]) -> frozenset[str]:
        """Let functions and classes in the piece store these ``global`` names through the scope.

        So a function that outlives the piece still writes to the owner of a binding, and
        what it writes is checked. The code then expects the scope under ``SCOPE_NAME``.
        Gives those of the names that some statements store directly all the same.
        """
        writer = WriteThrough(names)
        if self.kind == "prelude":
            # Its own stores reach the scope, but not those of names that it declares global.
            writer.begin(self.body)
        try:
            self._body = [writer.visit(item) for item in self.body]
        except RecursionError as error:
            raise self.refusal(error) from None
        self._rewritten = writer.used
        return frozenset(writer.direct)

    def read_first(self, names: frozenset[str]) -> frozenset[str]:
        """Those of ``names``, builtins of Python, that the piece may read before it stores them.

        ``max = max(a, b)`` works in a module; with a local of a function it would not.
        """
        return frozenset(name for name in names if not stored_first(self.body, name))


def _wrapper(body: list[ast.stmt], name: str = "f") -> ast.FunctionDef:
    """A function without parameters around statements."""
    function = ast.FunctionDef(
        name=name,
        args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=body or [ast.Pass(**_START)],
        decorator_list=[],
        **_START,
    )
    if "type_params" in ast.FunctionDef._fields:
        function.type_params = []  # pyright: ignore[reportAttributeAccessIssue]
    return function


def own_locals(code: CodeType) -> frozenset[str]:
    """Names that the function's own level assigns."""
    return frozenset(code.co_varnames) | frozenset(code.co_cellvars)


def reaches_globals(code: CodeType) -> bool:
    """Whether the code asks for ``globals()``, by which it can store any name."""
    if "globals" in code.co_names:
        return True
    return len(code.co_consts) > 1 and any("globals" in item.co_names for item in _all_codes(code))


def makes_named(code: CodeType) -> bool:
    """Whether the code makes functions or classes with a name."""
    return any(item.co_name[:1] != "<" for item in _all_codes(code)[1:])


def looks_up_by_name(code: CodeType) -> bool:
    """Whether class bodies or ``eval``/``exec`` make Python skip a dict's ``__missing__``."""
    names = code.co_names
    if "eval" not in names and "exec" not in names:
        for const in code.co_consts:
            if const.__class__ is CodeType:
                break
        else:
            return False
    codes = _all_codes(code)
    if any(not item.co_flags & inspect.CO_NEWLOCALS for item in codes[1:]):
        return True
    return any("eval" in item.co_names or "exec" in item.co_names for item in codes)


def _move_columns(body: list[ast.stmt], shift: int, *, every_line: bool) -> None:
    items: list[Any] = list(walk(body))
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


def _placed(
    code: CodeType, unit: Unit, delta: int, kind: PieceKind, *, wrapped: bool = False
) -> CodeType:
    """``code`` in the file ``unit``, moved down by ``delta`` lines and named; nested code too.

    The first line of ``wrapped`` code is none of the unit's.
    """
    name = CODE_NAMES[kind]
    if wrapped:
        table = without_first_line(code.co_linetable)
        code = code.replace(co_linetable=table, co_firstlineno=code.co_firstlineno + 1)
    return code.replace(
        co_filename=unit.name,
        co_name=name,
        co_qualname=name,
        co_firstlineno=code.co_firstlineno + delta,
        co_consts=_placed_constants(code, unit, delta, f"{code.co_qualname}.", f"{name}."),
    )


def _placed_constants(
    code: CodeType, unit: Unit, delta: int, old: str, new: str
) -> tuple[object, ...]:
    constants = code.co_consts
    for const in constants:
        if const.__class__ is CodeType:
            break
    else:
        return constants
    return tuple(
        const.replace(
            co_filename=unit.name,
            co_qualname=new + const.co_qualname.removeprefix(old)
            if const.co_qualname.startswith(old)
            else const.co_qualname,
            co_firstlineno=const.co_firstlineno + delta,
            co_consts=_placed_constants(const, unit, delta, old, new),
        )
        if isinstance(const, CodeType)
        else const
        for const in constants
    )
