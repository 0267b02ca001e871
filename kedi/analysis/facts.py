"""Builds the symbols of one chunk: one walk over its statements, embedded Python included."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from kedi.analysis.describe import (
    docstring,
    init_type,
    literal_type,
    parameter_text,
    signature,
    type_signature,
    type_text,
)
from kedi.analysis.directive_checks import name_of, plain_text
from kedi.analysis.names import Kind
from kedi.analysis.pynames import PyName, PyUse, code_points, uses
from kedi.analysis.symbols import (
    Argument,
    CapabilityUse,
    ChunkFacts,
    Declaration,
    LocalScope,
    Range,
    Reference,
    ScopeKind,
    TypedValue,
    Use,
    range_of,
)
from kedi.analysis.types import type_shape
from kedi.syntax.ast import (
    Assign,
    Auto,
    Call,
    Case,
    Data,
    Directive,
    Else,
    EvalSuite,
    Export,
    Fence,
    Field,
    If,
    Import,
    Init,
    Loop,
    LoopEach,
    Map,
    Metric,
    Name,
    NameLine,
    Node,
    Optimize,
    Parameter,
    Part,
    Procedure,
    Profile,
    Prose,
    Python,
    PythonStatement,
    RawCall,
    Read,
    Return,
    Setting,
    Show,
    Stmt,
    Template,
    TestSuite,
    TypeDef,
    TypeExpr,
    Value,
)

CAPABILITY_OF = {
    "use": "tools",
    "mcp": "mcp",
    "effort": "effort",
    "settings": "settings",
    "model": "model_override",
    "approval": "approvals",
    "history": "history",
    "artifacts": "artifacts",
    "subagent": "subagents",
    "codemode": "codemode",
    "hooks": "hooks",
    "skills": "skills",
}
"""The capability of an adapter that a directive needs."""


_SPECIAL = (Return, If, Else, Directive, Export, Profile)


def last_line(stmt: Stmt) -> int:
    """Last line (relative to the chunk) of a statement with its block."""
    while stmt.body:
        stmt = stmt.body[-1]
    return stmt.line + stmt.text.rstrip("\n").count("\n")


def chunk_facts(stmt: Stmt | None, before: ChunkFacts | None = None) -> ChunkFacts:
    """Facts of a chunk. ``before`` are those of the loop that a ``> map:`` continues."""
    top = LocalScope("top", None, 0, 1 << 30)
    builder = _Builder(top, before)
    ends = False
    if stmt is not None:
        ends = builder.statement(stmt)
    return builder.finish(stmt, ends)


class _Builder:
    def __init__(self, top: LocalScope, before: ChunkFacts | None) -> None:
        self.top = self.scope = top
        self.scopes = [top]
        self.references: list[Reference] = []
        self.typed: list[TypedValue] = []
        self.capabilities: list[CapabilityUse] = []
        self.order = 0
        self.asked: set[str] = set()
        self.open = self.prelude_open = False
        self.adapter: str | None = None
        self.returns: str | None = None
        self.iteration: LocalScope | None = None
        if before is not None and len(before.scopes) > 1:
            self.iteration = before.scopes[1]

    def finish(self, stmt: Stmt | None, ends: bool) -> ChunkFacts:
        free: list[Reference] = []
        asks: set[str] = set(self.asked)
        for item in self.references:
            if not _resolve(item):
                free.append(item)
                asks.add(item.name)
        uses = frozenset(item.name for item in free if item.use != "write")
        for scope in self.scopes[1:]:
            asks.update(scope.names)
        return ChunkFacts(
            stmt,
            self.top,
            self.scopes,
            self.references,
            free,
            self.typed,
            self.capabilities,
            uses,
            frozenset(asks),
            self.open,
            ends,
            stmt is not None and isinstance(stmt.node, _SPECIAL),
            self.prelude_open,
        )

    # ── Declaring and referring ───────────────────────────────────────────────

    def next(self) -> int:
        self.order += 1
        return self.order

    def declare(
        self,
        stmt: Stmt,
        name: Name,
        kind: Kind,
        type_: str = "",
        detail: str = "",
        doc: str = "",
        node: Node | None = None,
    ) -> Declaration:
        owner = node or stmt.node
        place = range_of(stmt, name.start, name.end)
        start = range_of(stmt, owner.start, owner.end)
        extent = start
        if owner is stmt.node and stmt.body:
            end = last_line(stmt)
            extent = Range(start.line, start.column, end, 1 << 20)
        item = Declaration(
            name.text, kind, place, extent, self.next(), type_, detail, doc, owner, stmt
        )
        self.scope.declare(item)
        return item

    def refer(self, stmt: Stmt, name: Name, use: Use) -> Reference:
        return self.refer_at(name.text, use, range_of(stmt, name.start, name.end))

    def refer_at(self, name: str, use: Use, place: Range) -> Reference:
        late = False
        scope: LocalScope | None = self.scope
        while scope is not None:
            if scope.late:
                late = True
                break
            scope = scope.parent
        item = Reference(name, use, place, self.scope, self.next(), late)
        self.references.append(item)
        return item

    def enter(self, kind: ScopeKind, stmt: Stmt, late: bool = False) -> LocalScope:
        scope = LocalScope(kind, self.scope, stmt.line, last_line(stmt), late, stmt)
        scope.indent = stmt.node.start
        self.scopes.append(scope)
        self.scope = scope
        return scope

    def leave(self) -> None:
        assert self.scope.parent is not None
        self.scope = self.scope.parent

    # ── Blocks ────────────────────────────────────────────────────────────────

    def block(self, stmts: Sequence[Stmt]) -> bool:
        """Visit a block; whether it surely returns."""
        adapter = self.adapter
        for stmt in stmts:
            if isinstance(stmt.node, Directive) and stmt.node.name.text in ("adapter", "agent"):
                self.adapter = plain_text(stmt.node.value) or "?"
        returned = if_returned = False
        for stmt in stmts:
            ends = self.statement(stmt)
            if isinstance(stmt.node, If):
                if_returned = ends
            elif isinstance(stmt.node, Return) or (isinstance(stmt.node, Else) and ends):
                returned = returned or isinstance(stmt.node, Return) or if_returned
        self.adapter = adapter
        return returned

    def statement(self, stmt: Stmt) -> bool:
        """Visit one statement; whether it surely returns (for an ``if``: its block)."""
        visit = _VISITS.get(type(stmt.node))
        return bool(visit(self, stmt, stmt.node)) if visit is not None else False

    def branch(self, stmt: Stmt, kind: ScopeKind = "branch") -> bool:
        self.enter(kind, stmt)
        returned = self.block(stmt.body)
        self.leave()
        return returned

    # ── Text, values, types, Python ───────────────────────────────────────────

    def value(self, stmt: Stmt, value: Value | None) -> None:
        if value is not None:
            self.parts(stmt, value.parts)

    def parts(self, stmt: Stmt, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, Read):
                self.refer(stmt, part.name, "read")
            elif isinstance(part, Python):
                self.python(stmt, part)
            elif isinstance(part, Call):
                self.call(stmt, part)
            elif isinstance(part, Field):
                self.type(stmt, part.type)

    def call(self, stmt: Stmt, part: Call) -> None:
        reference = self.refer(stmt, part.name, "call")
        arguments: list[Argument] = []
        for value in part.arguments:
            self.parts(stmt, value.parts)
            # A mini template is a call of its own: its fields are bound like a template's.
            for inner in value.parts:
                if isinstance(inner, Field):
                    self.declare(stmt, inner.name, "value", type_text(inner.type), node=inner)
            place = range_of(stmt, value.start, value.end)
            arguments.append(_argument(place, value))
        reference.arguments = tuple(arguments)

    def type(self, stmt: Stmt, expr: TypeExpr | None) -> None:
        if expr is None:
            return
        if expr.python:
            self.names(stmt, uses(expr.tree), expr.text, expr.text_start, 0)
            return
        shape = type_shape(expr)
        self.asked.update(item.builtin for item in shape.findings if item.builtin is not None)
        for name in shape.names:
            start = expr.text_start + name.start
            place = range_of(stmt, start, expr.text_start + name.end)
            self.refer_at(name.name, "type", place)

    def python(self, stmt: Stmt, code: Python, prelude: bool = False) -> PyUse:
        use = uses(code.tree)
        if prelude:
            self.prelude_open = use.open
        elif use.open:
            self.open = True
            for scope in self.scope.chain():
                scope.open = True
        self.names(stmt, use, code.code, code.code_start, code.indent, prelude)
        return use

    def names(
        self, stmt: Stmt, use: PyUse, code: str, start: int, indent: int, prelude: bool = False
    ) -> None:
        if not use.occurrences:
            return
        place = _placer(stmt, code, start, indent)
        for item in use.occurrences:
            where = _name_range(item, place)
            if where is None:
                continue
            if prelude and item.write and not item.inner:
                self.declare_python(stmt, item, where)
                continue
            reference = self.refer_at(item.name, "write" if item.write else "read", where)
            reference.python = True
            reference.may_be_local = item.name in use.writes
            call = use.calls.get(id(item.node))
            if call is not None:
                reference.use = "call"
                reference.arguments = _python_arguments(call, place)

    def declare_python(self, stmt: Stmt, item: PyName, where: Range) -> None:
        kind: Kind = "module" if isinstance(item.node, ast.alias) else "python"
        detail, doc = _python_detail(item.node)
        declaration = Declaration(
            item.name, kind, where, where, self.next(), "", detail, doc, stmt.node, stmt
        )
        self.top.declare(declaration)

    # ── Statements ────────────────────────────────────────────────────────────

    def on_init(self, stmt: Stmt, node: Init) -> None:
        self.type(stmt, node.target.type)
        self.value(stmt, node.value)
        if node.target.type is not None and not node.target.type.python:
            self.check("binding", stmt, node.value, type_text(node.target.type))
        self.declare(stmt, node.target.name, "value", init_type(node))

    def on_assign(self, stmt: Stmt, node: Assign) -> None:
        self.value(stmt, node.value)
        target = self.refer(stmt, node.target, "write")
        self.check("assignment", stmt, node.value, "").target = target

    def check(
        self,
        what: str,
        stmt: Stmt,
        value: Value,
        declared: str,
        rendered: bool = False,
    ) -> TypedValue:
        actual, name = _known(value, rendered)
        place = range_of(stmt, value.start, value.end)
        item = TypedValue(
            what,  # pyright: ignore[reportArgumentType]
            place,
            declared,
            actual,
            self.scope,
            self.order,
            name,
            rendered and actual == "str",
        )
        self.typed.append(item)
        return item

    def on_template(self, stmt: Stmt, node: Template) -> None:
        self.parts(stmt, node.parts)
        for part in node.parts:
            if isinstance(part, Field):
                self.declare(stmt, part.name, "value", type_text(part.type), node=part)

    def on_raw_call(self, stmt: Stmt, node: RawCall) -> None:
        self.type(stmt, node.target.type)
        self.parts(stmt, node.parts)
        self.declare(stmt, node.target.name, "value", "str")

    def on_return(self, stmt: Stmt, node: Return) -> bool:
        self.value(stmt, node.value)
        if self.returns is not None:
            self.check("return", stmt, node.value, self.returns, rendered=True)
        return True

    def on_show(self, stmt: Stmt, node: Show) -> None:
        self.value(stmt, node.value)

    def on_python(self, stmt: Stmt, node: PythonStatement) -> None:
        self.python(stmt, node.python)

    def on_fence(self, stmt: Stmt, node: Fence) -> None:
        self.python(stmt, node.python, prelude=node.prelude)

    def on_procedure(self, stmt: Stmt, node: Procedure) -> None:
        for item in node.parameters:
            self.type(stmt, item.type)
            if item.default is not None:
                self.python(stmt, item.default)
        self.type(stmt, node.returns)
        doc = docstring(stmt)
        self.declare(stmt, node.name, "procedure", type_text(node.returns), signature(node), doc)
        self.enter("procedure", stmt, late=True)
        for item in node.parameters:
            self.declare(
                stmt, item.name, "parameter", _parameter_type(item), parameter_text(item), node=item
            )
        outer = self.returns
        python = node.returns is not None and node.returns.python
        self.returns = None if python else type_text(node.returns)
        self.block(stmt.body)
        self.returns = outer
        self.leave()

    def on_type(self, stmt: Stmt, node: TypeDef) -> None:
        # Declared first: a type may refer to itself.
        self.declare(stmt, node.name, "type", node.name.text, type_signature(node))
        for item in node.fields:
            self.type(stmt, item.type)
            if item.default is not None:
                self.python(stmt, item.default)

    def on_if(self, stmt: Stmt, node: If | Loop) -> bool:
        if node.condition is not None:
            self.python(stmt, node.condition)
            place = range_of(stmt, node.condition.start, node.condition.end)
            actual = literal_type(node.condition)
            self.typed.append(
                TypedValue("condition", place, "bool", actual, self.scope, self.order)
            )
        if node.claim is not None:
            self.parts(stmt, node.claim)
        return self.branch(stmt, "branch" if isinstance(node, If) else "loop")

    def on_else(self, stmt: Stmt, node: Else) -> bool:
        return self.branch(stmt)

    def on_loop_each(self, stmt: Stmt, node: LoopEach) -> None:
        self.python(stmt, node.iterable)
        self.iteration = self.enter("loop", stmt)
        self.declare(stmt, node.binder, "value", node=node.binder)
        iteration = self.iteration
        self.block(stmt.body)
        self.iteration = iteration
        self.leave()

    def on_map(self, stmt: Stmt, node: Map) -> None:
        outer = self.scope
        if self.iteration is not None:
            self.scope = self.iteration
        self.branch(stmt, "loop")
        self.scope = outer

    def on_block(self, stmt: Stmt, node: Node) -> None:
        self.block(stmt.body)

    def on_prose(self, stmt: Stmt, node: Prose) -> None:
        self.parts(stmt, node.parts)

    def on_auto(self, stmt: Stmt, node: Auto) -> None:
        # The specification stands for code that does not exist yet and may read anything.
        for scope in self.scope.chain():
            scope.open = True
        self.block(stmt.body)

    def on_optimize(self, stmt: Stmt, node: Optimize) -> None:
        self.block(stmt.body)

    def on_profile(self, stmt: Stmt, node: Profile) -> None:
        self.declare(stmt, node.name, "profile", "", f"profile {node.name.text}", docstring(stmt))
        self.enter("profile", stmt)
        self.block(stmt.body)
        self.leave()

    def on_directive(self, stmt: Stmt, node: Directive) -> None:
        name = node.name.text
        self.type(stmt, node.type)
        value = node.value
        if name in ("use", "subagent") and value is not None:
            target = name_of(value)
            if target is not None and target != "skills":
                place = range_of(stmt, value.start, value.end)
                reference = self.refer_at(target, "tool" if name == "use" else "profile", place)
                reference.late = True
        else:
            self.value(stmt, value)
        capability = CAPABILITY_OF.get(name)
        if capability is not None:
            if name == "use" and name_of(value) == "skills":
                capability = "skills"
            off = plain_text(value) in ("disabled", "false", "deny")
            if not off:
                place = range_of(stmt, node.start, node.end)
                self.capabilities.append(CapabilityUse(capability, name, place, self.adapter))
        self.block(stmt.body)

    def on_setting(self, stmt: Stmt, node: Setting) -> None:
        self.value(stmt, node.value)
        self.block(stmt.body)

    def on_tools(self, stmt: Stmt, node: NameLine) -> None:
        self.refer(stmt, node.name, "tool").late = True

    def on_export(self, stmt: Stmt, node: Export) -> None:
        for line in stmt.body:
            if isinstance(line.node, NameLine):
                self.refer(line, line.node.name, "export").late = True

    def on_import(self, stmt: Stmt, node: Import) -> None:
        # What it binds is known only with the module: see resolve.py.
        return

    def on_suite(self, stmt: Stmt, node: TestSuite | EvalSuite) -> None:
        self.refer(stmt, node.procedure, "procedure").late = True
        self.enter("suite", stmt, late=True)
        for inner in stmt.body:
            if isinstance(inner.node, Data):
                self.declare(inner, inner.node.name, "value")
        self.block(stmt.body)
        self.leave()

    def on_member(self, stmt: Stmt, node: Case | Data) -> None:
        self.enter("member", stmt)
        self.block(stmt.body)
        self.leave()

    def on_metric(self, stmt: Stmt, node: Metric) -> None:
        reference = self.refer(stmt, node.dataset, "read")
        self.enter("member", stmt)
        row = self.declare(stmt, node.dataset, "value", "", "one row", node=node.dataset)
        row.read = True
        expected = Name(node.dataset.start, node.dataset.end, "expected")
        self.declare(stmt, expected, "value", "", "what the row expects", node=expected).read = True
        self.block(stmt.body)
        self.leave()
        reference.late = True


_Visit = Callable[[_Builder, Stmt, Node], object]
_VISITS: dict[type[Node], _Visit] = {
    Init: _Builder.on_init,
    Assign: _Builder.on_assign,
    Template: _Builder.on_template,
    RawCall: _Builder.on_raw_call,
    Return: _Builder.on_return,
    Show: _Builder.on_show,
    PythonStatement: _Builder.on_python,
    Fence: _Builder.on_fence,
    Procedure: _Builder.on_procedure,
    TypeDef: _Builder.on_type,
    If: _Builder.on_if,
    Else: _Builder.on_else,
    Loop: _Builder.on_if,
    LoopEach: _Builder.on_loop_each,
    Map: _Builder.on_map,
    Prose: _Builder.on_prose,
    Auto: _Builder.on_auto,
    Optimize: _Builder.on_optimize,
    Profile: _Builder.on_profile,
    Directive: _Builder.on_directive,
    Setting: _Builder.on_setting,
    NameLine: _Builder.on_tools,
    Export: _Builder.on_export,
    Import: _Builder.on_import,
    TestSuite: _Builder.on_suite,
    EvalSuite: _Builder.on_suite,
    Case: _Builder.on_member,
    Data: _Builder.on_member,
    Metric: _Builder.on_metric,
}  # pyright: ignore[reportAssignmentType]


# ── Helpers ───────────────────────────────────────────────────────────────────


def lookup_local(scope: LocalScope, name: str, order: int) -> Declaration | None:
    """The declaration inside the chunk (below its top level) that ``name`` means there."""
    late = False
    inner: LocalScope | None = scope
    while inner is not None and inner.kind != "top":
        items = inner.names.get(name)
        if items is not None:
            found = None
            for item in items:
                if item.order < order:
                    found = item
            if found is None and late:
                found = items[0]
            if found is not None:
                return found
        late = late or inner.late
        inner = inner.parent
    return None


def _resolve(item: Reference) -> bool:
    found = lookup_local(item.scope, item.name, item.order)
    if found is None:
        return False
    item.target = found
    if item.use != "write":
        for scope in item.scope.chain():
            items = scope.names.get(item.name)
            if items is not None and found in items:
                for other in items:
                    other.read = True
                break
    return True


def _parameter_type(item: Parameter) -> str:
    return type_text(item.type, "" if item.default is not None else "str")


def _argument(place: Range, value: Value) -> Argument:
    actual, name = _known(value, rendered=False)
    return Argument(place, actual, name=name)


def _known(value: Value, rendered: bool) -> tuple[str, str]:
    """The certain type of a value, or the bare name it is; ``rendered`` for returns."""
    if value.kind == "text" or (rendered and value.kind in ("read", "call")):
        return "str", ""
    part = value.parts[0] if value.parts else None
    if isinstance(part, Python) and value.kind == "native":
        tree = part.tree.body if isinstance(part.tree, ast.Expression) else part.tree
        if isinstance(tree, ast.Name):
            return "", tree.id
        return literal_type(part), ""
    if isinstance(part, Read):
        return "", part.name.text
    return "", ""


_Placer = Callable[[int, int], tuple[int, int]]


def _placer(stmt: Stmt, code: str, start: int, indent: int) -> _Placer:
    """A function from an ``ast`` position (1-based line, UTF-8 byte column) to the chunk's."""
    first_line, first_column = stmt.locate(start)
    lines: list[str] | None = None if code.isascii() else code.split("\n")

    def place(line: int, column: int) -> tuple[int, int]:
        if lines is not None and 0 < line <= len(lines):
            column = code_points(lines[line - 1], column)
        return first_line + line - 1, column + (first_column if line == 1 else indent)

    return place


def _name_range(item: PyName, place: _Placer) -> Range | None:
    node = item.node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        keyword = {ast.FunctionDef: 4, ast.AsyncFunctionDef: 10, ast.ClassDef: 6}[type(node)]
        line, column = place(node.lineno, node.col_offset)
        return Range(line, column + keyword, line, column + keyword + len(item.name))
    if not isinstance(node, ast.expr | ast.alias):
        return None
    line, column = place(node.lineno, node.col_offset)
    end_line, end_column = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
    if isinstance(node, ast.alias):
        if node.asname is not None:
            return Range(end_line, end_column - len(node.asname), end_line, end_column)
        end_line, end_column = line, column + len(item.name)
    return Range(line, column, end_line, end_column)


def _python_arguments(call: ast.Call, place: _Placer) -> tuple[Argument, ...]:
    found: list[Argument] = []

    def add(node: ast.expr, keyword: str | None, spread: bool) -> None:
        line, column = place(node.lineno, node.col_offset)
        end = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
        name = node.id if isinstance(node, ast.Name) else ""
        holder = Python(0, 0, "", 0, "expr", tree=node)
        kind = "" if name else literal_type(holder)
        found.append(Argument(Range(line, column, *end), kind, keyword, spread, name))

    for item in call.args:
        add(item, None, isinstance(item, ast.Starred))
    for item in call.keywords:
        add(item.value, item.arg, item.arg is None)
    return tuple(found)


def _python_detail(node: ast.AST) -> tuple[str, str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        doc = ast.get_docstring(node) or ""
        try:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
            return f"{word} {node.name}({ast.unparse(node.args)}){returns}", doc
        except RecursionError:
            return f"{word} {node.name}(…)", doc
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}", ast.get_docstring(node) or ""
    if isinstance(node, ast.alias):
        name = f"import {node.name}"
        return (f"{name} as {node.asname}" if node.asname else name), ""
    return "", ""
