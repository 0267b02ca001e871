"""Everything that makes a program uncompilable though it parses.

One pass over the statements, before anything runs. Unknown *value* names are
not looked at here: the runtime raises ``KediNameError`` when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import repeat

from kedi.analysis.checker import CheckerBase
from kedi.analysis.names import (
    Kind,
    Names,
    NoNames,
)
from kedi.analysis.report import Place, Reporter
from kedi.analysis.scopes import Scope, declare, value_kind
from kedi.diagnostics import Diagnostic
from kedi.syntax.ast import (
    Assign,
    Auto,
    Broken,
    Call,
    Case,
    Data,
    Directive,
    Docstring,
    Else,
    EvalSuite,
    Export,
    Fence,
    If,
    Import,
    Init,
    Loop,
    LoopEach,
    Map,
    Metric,
    Node,
    Optimize,
    Package,
    Parameter,
    Procedure,
    Profile,
    Program,
    Prose,
    PythonStatement,
    RawCall,
    Return,
    Show,
    Stmt,
    Template,
    TestSuite,
    TypeDef,
)

__all__ = ["Checker", "Kind", "Names", "NoNames", "compile_errors"]

# Declarations that do not run in sequence are never dead.
NEVER_DEAD = (Docstring, Broken, Export, TestSuite, EvalSuite, Package)


def compile_errors(program: Program, names: Names | None = None) -> list[Diagnostic]:
    """Errors of ``program``, by position; empty when it can be compiled.

    ``names`` answers for what is visible from outside (earlier fragments,
    ``env``, modules) and is asked only for names the program does not bind.
    """
    if _is_plain(program):
        return []
    checker = Checker(program.source.name, names or NoNames())
    checker.program(program)
    return checker.report.sorted()


def _is_plain(program: Program) -> bool:
    """Whether every statement is of a kind, and in a place, that no check concerns.

    Most fragments of a session are one such statement.
    """
    returned = False
    for chunk in program.chunks:
        stmt = chunk.stmt
        if stmt is None:
            continue
        if returned:
            return False
        node = stmt.node
        if isinstance(node, PythonStatement):
            continue
        if isinstance(node, Return):
            returned = True
        elif not isinstance(node, Init) or node.target.type is not None:
            return False
        # Arguments of calls may hold fields with types.
        if any(isinstance(part, Call) for part in node.value.parts):
            return False
    return True


def unreachable(report: Reporter, place: Place, returned: Place) -> None:
    """Report the first statement behind one that surely returned."""
    report.add(
        "unreachable",
        "this statement can never run: the block has returned before it",
        place,
        "remove it, or move it before the return",
        related=report.related(returned, "returns here"),
        tags=("unnecessary",),
    )


class Checker(CheckerBase):
    """Visits statements."""

    __slots__ = ()

    def program(self, program: Program) -> None:
        """Check a whole program."""
        placed = list(program.top_level())
        stmts = [stmt for stmt, _ in placed]
        self.top = self.scope = Scope(None, stmts)
        self.statements(stmts, [line for _, line in placed])
        if self.children:
            from kedi.analysis.directive_checks import check_cycles

            check_cycles(self)

    # ── Blocks ────────────────────────────────────────────────────────────────

    def statements(self, stmts: Sequence[Stmt], bases: Sequence[int] | None = None) -> bool:
        """Check the statements of one block in the current scope; whether it surely returns."""
        returned: Place | None = None
        reported = False
        if_returned = False
        directives: list[Place] | None = None
        base_of = bases if bases is not None else repeat(self.base)
        for stmt, base in zip(stmts, base_of, strict=False):
            self.base = base
            node = stmt.node
            kind = type(node)
            if returned is not None and not reported and not isinstance(node, NEVER_DEAD):
                reported = True
                unreachable(self.report, Place(stmt, node, base), returned)
            handler = _HANDLERS.get(kind)
            returns = handler(self, stmt, node) if handler is not None else False
            if kind is Return:
                returned = returned or Place(stmt, node, base)
            elif kind is If:
                if_returned = bool(returns)
            elif kind is Else:
                if if_returned and returns:
                    returned = returned or Place(stmt, node, base)
            elif kind is Directive:
                directives = directives if directives is not None else []
                directives.append(Place(stmt, node, base))
        if directives is not None:
            from kedi.analysis.directive_checks import check_block

            check_block(self, directives)
        return returned is not None

    def block(self, stmts: Sequence[Stmt], *, late: bool = False) -> bool:
        """Check a block in a scope of its own; whether it surely returns."""
        base = self.base
        self.scope = Scope(self.scope, stmts, late)
        try:
            return self.statements(stmts)
        finally:
            self.base = base
            assert self.scope.parent is not None
            self.scope = self.scope.parent

    # ── Statements ────────────────────────────────────────────────────────────

    def on_init(self, stmt: Stmt, node: Init) -> None:
        target = node.target
        if target.type is not None:
            self.type(stmt, target.type)
        value = node.value
        self.value(stmt, value)
        self.scope.bound[target.name.text] = value_kind(target.type, value.kind == "text")

    def on_assign(self, stmt: Stmt, node: Assign) -> None:
        self.value(stmt, node.value)
        name = node.target.text
        scope: Scope | None = self.scope
        while scope is not None:
            if name in scope.bound:
                if name in scope.params:
                    self.report.add(
                        "read-only-parameter",
                        f"the parameter `{name}` cannot be assigned",
                        Place(stmt, node.target, self.base),
                        f"parameters are read-only: keep the new value in a binding of its own, "
                        f"such as `[new_{name}] = …`",
                    )
                return
            scope = scope.parent

    def on_template(self, stmt: Stmt, node: Template) -> None:
        self.parts(stmt, node.parts)
        declare(self.scope, stmt, self.exports, self.scope.bound)

    def on_raw_call(self, stmt: Stmt, node: RawCall) -> None:
        self.type(stmt, node.target.type)
        self.parts(stmt, node.parts)
        self.scope.bound[node.target.name.text] = "data"

    def on_return(self, stmt: Stmt, node: Return) -> None:
        self.value(stmt, node.value)

    def on_show(self, stmt: Stmt, node: Show) -> None:
        self.value(stmt, node.value)

    def on_fence(self, stmt: Stmt, node: Fence) -> None:
        if node.prelude:
            declare(self.scope, stmt, self.exports, self.scope.bound)

    def on_procedure(self, stmt: Stmt, node: Procedure) -> None:
        # The signature resolves where it stands; the body when it runs.
        self.parameters(stmt, node.parameters)
        self.type(stmt, node.returns)
        self.scope.bound[node.name.text] = "procedure"
        base = self.base
        scope = self.scope = Scope(self.scope, stmt.body, late=True)
        for item in node.parameters:
            name = item.name.text
            scope.params.add(name)
            scope.bound[name] = value_kind(item.type, item.default is None)
        self.statements(stmt.body)
        self.base = base
        assert scope.parent is not None
        self.scope = scope.parent
        if stmt.body:
            self.once(stmt.body, "tool", "auto")

    def parameters(self, stmt: Stmt, items: Sequence[Parameter]) -> None:
        for item in items:
            self.type(stmt, item.type)

    def on_type(self, stmt: Stmt, node: TypeDef) -> None:
        # Bound first: a type may refer to itself, but not to a later one.
        self.scope.bound[node.name.text] = "type"
        self.parameters(stmt, node.fields)

    def on_if(self, stmt: Stmt, node: If | Loop) -> bool:
        if node.claim is not None:
            self.parts(stmt, node.claim)
        return self.block(stmt.body)

    def on_block(self, stmt: Stmt, node: Node) -> bool:
        return self.block(stmt.body)

    def on_late_block(self, stmt: Stmt, node: Node) -> bool:
        return self.block(stmt.body, late=True)

    def on_loop_each(self, stmt: Stmt, node: LoopEach) -> None:
        base = self.base
        scope = self.scope = Scope(self.scope, stmt.body)
        scope.bound[node.binder.text] = "value"
        self.statements(stmt.body)
        self.base = base
        assert scope.parent is not None
        self.scope = scope.parent
        self.iteration = scope

    def on_map(self, stmt: Stmt, node: Map) -> None:
        # A map body continues the scope of each iteration of the loop before it.
        outer = self.scope
        self.scope = self.iteration or outer
        self.block(stmt.body)
        self.scope = outer

    def on_prose(self, stmt: Stmt, node: Prose) -> None:
        self.parts(stmt, node.parts)

    def on_optimize(self, stmt: Stmt, node: Optimize) -> None:
        base = self.base
        self.statements(stmt.body)
        self.base = base

    def on_package(self, stmt: Stmt, node: Package) -> None:
        if re.split(r"[/\\]", self.report.source_name)[-1] != "package.kedi":
            self.report.add(
                "misplaced-directive",
                "`> package:` is only allowed in `package.kedi`",
                Place(stmt, node, self.base),
                "move it to the file `package.kedi` of the package's directory",
            )

    def on_profile(self, stmt: Stmt, node: Profile) -> None:
        from kedi.analysis.directive_checks import check_profile

        self.scope.bound[node.name.text] = "profile"
        self.block(stmt.body)
        check_profile(self, stmt, node)

    def on_directive(self, stmt: Stmt, node: Directive) -> None:
        from kedi.analysis.directive_checks import check_directive

        check_directive(self, stmt, node)

    def on_suite(self, stmt: Stmt, node: TestSuite | EvalSuite) -> None:
        from kedi.analysis.suite_checks import check_suite

        check_suite(self, stmt, node)
        self.block(stmt.body, late=True)

    def on_import(self, stmt: Stmt, node: Import) -> None:
        from kedi.analysis.module_checks import check_import

        check_import(self, stmt, node)
        declare(self.scope, stmt, self.exports, self.scope.bound)

    def on_export(self, stmt: Stmt, node: Export) -> None:
        from kedi.analysis.module_checks import check_export

        check_export(self, stmt, node)


_HANDLERS: dict[type[Node], Callable[[Checker, Stmt, Node], object]] = {
    Init: Checker.on_init,
    Assign: Checker.on_assign,
    Template: Checker.on_template,
    RawCall: Checker.on_raw_call,
    Return: Checker.on_return,
    Show: Checker.on_show,
    Fence: Checker.on_fence,
    Procedure: Checker.on_procedure,
    TypeDef: Checker.on_type,
    If: Checker.on_if,
    Else: Checker.on_block,
    Loop: Checker.on_if,
    LoopEach: Checker.on_loop_each,
    Map: Checker.on_map,
    Prose: Checker.on_prose,
    Optimize: Checker.on_optimize,
    Package: Checker.on_package,
    Auto: Checker.on_block,
    Profile: Checker.on_profile,
    Directive: Checker.on_directive,
    TestSuite: Checker.on_suite,
    EvalSuite: Checker.on_suite,
    Case: Checker.on_late_block,
    Data: Checker.on_late_block,
    Metric: Checker.on_late_block,
    Import: Checker.on_import,
    Export: Checker.on_export,
}  # pyright: ignore[reportAssignmentType]
