"""The abstract syntax tree.

Three layers keep an edit as cheap as what it changed:

* A **node** (everything below :class:`Node`) is never changed once made (not
  frozen by type: that would double the cost of a parse) and holds offsets
  relative to the text of its *logical line*. Equal lines share one node.
* A :class:`Stmt` places a node: its logical line's text, its line number and
  offset *relative to the chunk*, and the statements of its block.
* A :class:`Chunk` is one top-level statement with its block; a
  :class:`Program` lists chunks with their absolute line and offset. After an
  edit only the chunks that changed are new; the others are the same objects.

``Program.walk()`` yields every statement with its absolute line, and
``span_of(...)`` gives the :class:`~kedi.source.Span` of any node in it.
Equality of nodes ignores offsets, so that a printed and re-parsed program
compares equal to its origin.
"""

from __future__ import annotations

import ast as python_ast
from collections.abc import Iterator
from types import CodeType
from typing import Literal

from kedi.diagnostics import Diagnostic
from kedi.source import SourceFile, Span
from kedi.syntax.nodes import Record, ValueRecord, field

# ── Nodes ─────────────────────────────────────────────────────────────────────


class Node(ValueRecord):
    """``start`` and ``end`` are offsets into the logical line's text, end exclusive."""

    start: int = field(compare=False)
    end: int = field(compare=False)


class Name(Node):
    """An identifier as written."""

    text: str


class Text(Node):
    """Literal text with its escapes decoded."""

    text: str


class Python(Node):
    """Embedded Python. ``code`` is dedented; ``code_start`` is where it begins in the line text.

    ``kind`` is ``expr`` (one expression), ``stmt`` (one statement) or ``suite``
    (a fence). ``indent`` is the number of characters removed from each line of
    a suite; ``angle`` is true for the form ``<`expr`>``.

    The parser has checked the code in one of two ways: by parsing it (``parsed``)
    or, for a simple expression, by compiling it at once (``compiled``: a function
    without parameters that begins on line 2, with the columns of the source line).
    """

    code: str
    code_start: int = field(compare=False)
    kind: Literal["expr", "stmt", "suite"]
    indent: int = field(default=0, compare=False)
    angle: bool = False
    parsed: python_ast.AST | None = field(default=None, compare=False, repr=False)
    compiled: CodeType | None = field(default=None, compare=False, repr=False)

    @property
    def tree(self) -> python_ast.AST | None:
        """The parsed Python, positions relative to ``code``; a suite's ``return`` is allowed.

        ``None`` only for a node that was not made by the parser.
        """
        if self.parsed is None and self.compiled is not None:
            self.parsed = python_ast.parse(self.code, "<kedi>", "eval")
        return self.parsed


class TypeExpr(Node):
    """A type as Python source. ``python`` is true when it was written in backticks.

    ``text`` excludes the backticks; ``text_start`` is where it begins.
    """

    text: str
    text_start: int = field(compare=False)
    python: bool = False
    tree: python_ast.AST | None = field(default=None, compare=False, repr=False)


class Read(Node):
    """``<name>``."""

    name: Name


class Call(Node):
    """``<name(arguments)>``."""

    name: Name
    arguments: tuple[Value, ...]


class Field(Node):
    """``[name: type]`` inside a template, or the target of an assignment."""

    name: Name
    type: TypeExpr | None = None


Part = Text | Python | Read | Call | Field


class Value(Node):
    """What stands right of ``=`` and in arguments.

    ``kind`` says how it evaluates: ``native`` (exactly one backtick
    expression), ``fence`` (a suite whose ``return`` is the value), ``call`` and
    ``read`` (exactly one ``<call()>`` or ``<name>``) or ``text`` (rendered).
    Where a sole call or read renders instead (returns), the compiler decides.
    ``parts`` of an empty text is ``()``.
    """

    kind: Literal["native", "fence", "call", "read", "text"]
    parts: tuple[Part, ...]


class Parameter(Node):
    """A parameter of a procedure or a field of a type."""

    name: Name
    type: TypeExpr | None = None
    default: Python | None = None


# ── Statements ────────────────────────────────────────────────────────────────


class Statement(Node):
    """Base of everything that can stand as a line of a block."""


class Init(Statement):
    """``[name: type] = value``."""

    target: Field
    value: Value


class Assign(Statement):
    """``[name] := value``."""

    target: Name
    value: Value


class Template(Statement):
    """``>> text``: one structured model call. Lines are joined by newlines in ``parts``."""

    parts: tuple[Part, ...]


class RawCall(Statement):
    """``[name] << text``."""

    target: Field
    parts: tuple[Part, ...]


class Return(Statement):
    """``= value``."""

    value: Value


class PythonStatement(Statement):
    """A line that is only one backtick statement (``kind='stmt'``)."""

    python: Python


class Fence(Statement):
    """A fenced suite (``kind='suite'``). ``prelude``: the first content of the source."""

    python: Python
    prelude: bool = False


class Procedure(Statement):
    """``@name(parameters) -> type:``; the body is in :attr:`Stmt.body`."""

    name: Name
    parameters: tuple[Parameter, ...]
    returns: TypeExpr | None


class TypeDef(Statement):
    """``~Name(fields)``."""

    name: Name
    fields: tuple[Parameter, ...]


class If(Statement):
    """``> if: `cond`:`` (``condition``) or ``> if: text`` (``claim``); else is the next sibling."""

    condition: Python | None
    claim: tuple[Part, ...] | None


class Else(Statement):
    """``> else:``, always the sibling right after its :class:`If`."""


class Loop(Statement):
    """``> loop: `cond`:`` or ``> loop: text``."""

    condition: Python | None
    claim: tuple[Part, ...] | None


class LoopEach(Statement):
    """``> loop [binder]: `iterable`:``."""

    binder: Name
    iterable: Python


class Map(Statement):
    """``> map:``, always the sibling right after its :class:`LoopEach`."""


class Show(Statement):
    """``> show: value``."""

    value: Value


class Import(Statement):
    """``> import: path``, or with a trailing colon and :class:`NameLine` children, selective."""

    path: Name
    selective: bool = False


class Export(Statement):
    """``> export: *`` (``everything``) or a block of :class:`NameLine`."""

    everything: bool = False


class Package(Statement):
    """``> package: name:`` with :class:`Setting` children."""

    name: Name


class Profile(Statement):
    """``> profile: name:`` with :class:`Directive` children."""

    name: Name


class Directive(Statement):
    """Every directive that configures models and agents: ``> name: value`` or ``> name:`` + block.

    The block (in :attr:`Stmt.body`) holds :class:`Setting` lines (``settings``,
    ``history``, ``artifacts``, ``skills``, ``mcp``, ``hooks``, ``tool``,
    ``codemode``, ``agent`` …), :class:`NameLine` (``use``, ``requires``) or
    :class:`Prose` (``system``). ``> output:`` gives a ``type`` instead of a value.
    """

    name: Name
    value: Value | None
    type: TypeExpr | None = None


class Optimize(Statement):
    """``> optimize: span:``; its body is one template, as one :class:`Template` statement."""

    name: Name


class Auto(Statement):
    """``> auto:``; its body is prose, as one :class:`Prose` statement."""


class Setting(Statement):
    """``name: value`` inside a directive block; a nested block has ``value=None``."""

    name: Name
    value: Value | None


class NameLine(Statement):
    """One name of a list block (imports, exports, tools); ``python`` when in backticks."""

    name: Name
    python: bool = False


class Prose(Statement):
    """Text lines of ``> system:`` or ``> auto:``, joined by newlines."""

    parts: tuple[Part, ...]


class TestSuite(Statement):
    """``@test: procedure:`` with :class:`Case` children."""

    __test__ = False

    procedure: Name


class EvalSuite(Statement):
    """``@eval: procedure:`` with :class:`Data` and :class:`Metric` children."""

    procedure: Name


class Case(Statement):
    """``> case: name:``; statements in the body."""

    name: Name


class Data(Statement):
    """``> data: name:`` or ``> test_data: name:`` (``held_out``); the body returns the rows."""

    name: Name
    held_out: bool = False


class Metric(Statement):
    """``> metric: name(dataset):``; the body returns the score of one row."""

    name: Name
    dataset: Name


class Docstring(Statement):
    """A block comment that is the first thing in a procedure or profile body."""

    text: str


class Broken(Statement):
    """A line that did not parse; its diagnostic is in the chunk. Keeps its block in place."""


# ── Placement ─────────────────────────────────────────────────────────────────


class Stmt(Record):
    r"""A node at its place.

    ``text`` is the whole logical line from the first character of its first
    physical line (indentation included), line ends normalised to ``\n``.
    ``line`` and ``offset`` are 0-based and relative to the chunk.
    """

    node: Statement
    text: str
    line: int
    offset: int
    body: tuple[Stmt, ...] = ()

    def same_as(self, other: Stmt) -> bool:
        """Whether both trees are equal but for positions."""
        return (
            self.node == other.node
            and len(self.body) == len(other.body)
            and all(a.same_as(b) for a, b in zip(self.body, other.body, strict=True))
        )

    def locate(self, offset: int) -> tuple[int, int]:
        """0-based ``(line relative to the chunk, column)`` of an offset into ``text``."""
        lines = self.text.count("\n", 0, offset)
        if not lines:
            return self.line, offset
        return self.line + lines, offset - self.text.rfind("\n", 0, offset) - 1


def span_of(source_name: str, stmt: Stmt, node: Node, base_line: int) -> Span:
    """Absolute span of ``node`` within ``stmt``; ``base_line`` is the chunk's 0-based line."""
    line, column = stmt.locate(node.start)
    end_line, end_column = stmt.locate(node.end)
    return Span(
        source_name, base_line + line + 1, column + 1, base_line + end_line + 1, end_column + 1
    )


class Chunk(Record):
    """A top-level statement with its block, the blank and comment lines before it, and findings.

    Spans in ``diagnostics`` are relative to the chunk (line 1 is its first).
    ``stmt`` is ``None`` for trailing blank or comment lines. ``open`` is true
    when all that is wrong with the chunk is that the text ends too early.
    ``reach`` is how much text from the chunk's start decided where it ends,
    0 when that is no more than the chunk and the first line of the next.
    """

    text: str
    line_count: int
    stmt: Stmt | None
    diagnostics: tuple[Diagnostic, ...] = ()
    open: bool = False
    reach: int = 0


class Program(Record):
    r"""A parsed source: chunks and, parallel to them, their absolute lines and offsets (0-based).

    ``source.text`` is the text as parsed: without a byte order mark, and every
    line end one ``\n``; all offsets count in it. ``flagged`` lists the chunks
    with diagnostics and ``far`` those with a ``reach``, by index.
    """

    source: SourceFile
    chunks: list[Chunk]
    lines: list[int]
    offsets: list[int]
    mode: Literal["file", "fragment"] = "file"
    flagged: tuple[int, ...] = ()
    far: tuple[int, ...] = ()

    def top_level(self) -> Iterator[tuple[Stmt, int]]:
        """Top-level statements with the 0-based absolute line of their chunk."""
        for chunk, line in zip(self.chunks, self.lines, strict=True):
            if chunk.stmt is not None:
                yield chunk.stmt, line

    def walk(self) -> Iterator[tuple[Stmt, int]]:
        """Every statement, depth first in source order, with its chunk's absolute line."""
        for top, line in self.top_level():
            stack = [top]
            while stack:
                stmt = stack.pop()
                yield stmt, line
                stack.extend(reversed(stmt.body))

    def span(self, stmt: Stmt, node: Node, base_line: int) -> Span:
        """Absolute span of ``node`` in ``stmt`` of a chunk that starts at ``base_line``."""
        return span_of(self.source.name, stmt, node, base_line)

    def same_as(self, other: Program) -> bool:
        """Whether both programs hold the same statements, positions aside."""
        mine = [s for s, _ in self.top_level()]
        theirs = [s for s, _ in other.top_level()]
        return len(mine) == len(theirs) and all(
            a.same_as(b) for a, b in zip(mine, theirs, strict=True)
        )


class ParseResult(Record):
    """The three-valued answer of the parser.

    ``complete``: ``program`` is whole. ``incomplete``: more input could make it
    whole (an open fence, bracket, comment, backtick, or a header without a
    body at the very end); ``diagnostics`` say what is open. ``invalid``:
    ``diagnostics`` name every broken statement. ``program`` always holds what
    could be parsed.
    """

    status: Literal["complete", "incomplete", "invalid"]
    program: Program
    diagnostics: tuple[Diagnostic, ...] = ()
