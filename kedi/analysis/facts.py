"""Builds the symbols of one chunk: one walk over its statements, embedded Python included."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kedi.analysis.builder import Builder
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
from kedi.analysis.symbols import (
    CapabilityUse,
    ChunkFacts,
    LocalScope,
    ScopeKind,
    TypedValue,
)
from kedi.syntax.ast import (
    Assign,
    Auto,
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
    Procedure,
    Profile,
    Prose,
    PythonStatement,
    RawCall,
    Return,
    Setting,
    Show,
    Stmt,
    Template,
    TestSuite,
    TypeDef,
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


def chunk_facts(stmt: Stmt | None, before: ChunkFacts | None = None) -> ChunkFacts:
    """Facts of a chunk. ``before`` are those of the loop that a ``> map:`` continues."""
    top = LocalScope("top", None, 0, 1 << 30)
    builder = _Visitor(top, before)
    ends = False
    if stmt is not None:
        ends = builder.statement(stmt)
    return builder.finish(stmt, ends)


class _Visitor(Builder):
    """Visits statements."""

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
                stmt,
                item.name,
                "parameter",
                type_text(item.type, "" if item.default is not None else "str"),
                parameter_text(item),
                node=item,
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
            place = self.range(stmt, node.condition.start, node.condition.end)
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
                place = self.range(stmt, value.start, value.end)
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
                place = self.range(stmt, node.start, node.end)
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
        self.declare(stmt, node.dataset, "value", "", "one row", node=node.dataset)
        expected = Name(node.dataset.start, node.dataset.end, "expected")
        self.declare(stmt, expected, "value", "", "what the row expects", node=expected)
        self.scope.reads.update((node.dataset.text, "expected"))
        self.block(stmt.body)
        self.leave()
        reference.late = True


_Visit = Callable[[_Visitor, Stmt, Node], object]
_VISITS: dict[type[Node], _Visit] = {
    Init: _Visitor.on_init,
    Assign: _Visitor.on_assign,
    Template: _Visitor.on_template,
    RawCall: _Visitor.on_raw_call,
    Return: _Visitor.on_return,
    Show: _Visitor.on_show,
    PythonStatement: _Visitor.on_python,
    Fence: _Visitor.on_fence,
    Procedure: _Visitor.on_procedure,
    TypeDef: _Visitor.on_type,
    If: _Visitor.on_if,
    Else: _Visitor.on_else,
    Loop: _Visitor.on_if,
    LoopEach: _Visitor.on_loop_each,
    Map: _Visitor.on_map,
    Prose: _Visitor.on_prose,
    Auto: _Visitor.on_auto,
    Optimize: _Visitor.on_optimize,
    Profile: _Visitor.on_profile,
    Directive: _Visitor.on_directive,
    Setting: _Visitor.on_setting,
    NameLine: _Visitor.on_tools,
    Export: _Visitor.on_export,
    Import: _Visitor.on_import,
    TestSuite: _Visitor.on_suite,
    EvalSuite: _Visitor.on_suite,
    Case: _Visitor.on_member,
    Data: _Visitor.on_member,
    Metric: _Visitor.on_metric,
}  # pyright: ignore[reportAssignmentType]
