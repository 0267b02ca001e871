"""Everything that makes a program uncompilable though it parses.

One pass over the statements, before anything runs. Unknown *value* names are
not looked at here: the runtime raises ``KediNameError`` when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from kedi.analysis.names import (
    ImportCycle,
    Kind,
    ModuleBroken,
    ModuleExports,
    ModuleNotFound,
    Names,
    NoNames,
    cycle_labels,
    suggestion,
)
from kedi.analysis.pynames import uses
from kedi.analysis.report import Place, Reporter
from kedi.analysis.scopes import LocalKind, Scope, by_end, declare, value_kind
from kedi.analysis.types import BUILTIN_TYPES, TypeName, type_shape
from kedi.diagnostics import Diagnostic, Related
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
    Field,
    If,
    Import,
    Init,
    Loop,
    LoopEach,
    Map,
    Metric,
    NameLine,
    Node,
    Optimize,
    Package,
    Parameter,
    Part,
    Procedure,
    Profile,
    Program,
    Prose,
    Python,
    RawCall,
    Read,
    Return,
    Show,
    Stmt,
    Template,
    TestSuite,
    TypeDef,
    TypeExpr,
    Value,
)

__all__ = ["Checker", "Kind", "Names", "NoNames", "compile_errors"]

# Declarations that do not run in sequence are never dead.
NEVER_DEAD = (Docstring, Broken, Export, TestSuite, EvalSuite, Package)


def compile_errors(program: Program, names: Names | None = None) -> list[Diagnostic]:
    """Errors of ``program``, by position; empty when it can be compiled.

    ``names`` answers for what is visible from outside (earlier fragments,
    ``env``, modules) and is asked only for names the program does not bind.
    """
    checker = Checker(program.source.name, names or NoNames())
    checker.program(program)
    return checker.report.sorted()


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


@dataclass(frozen=True, slots=True)
class Listed:
    """One name of a list block and where it stands."""

    text: str
    place: Place


class Checker:
    """State of one pass: the current scope and the findings so far."""

    __slots__ = (
        "base",
        "children",
        "exported",
        "imports",
        "iteration",
        "names",
        "report",
        "scope",
        "top",
    )

    def __init__(self, source_name: str, names: Names) -> None:
        self.report = Reporter(source_name)
        self.names = names
        self.imports: dict[str, ModuleExports | None] = {}
        self.exported: dict[str, Place] = {}
        self.children: dict[str, list[tuple[str, Place]]] = {}
        self.base = 0
        self.iteration: Scope | None = None
        self.top = self.scope = Scope(None)

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
        group_end = 0
        base_of = bases if bases is not None else repeat(self.base)
        for index, (stmt, base) in enumerate(zip(stmts, base_of, strict=False)):
            self.base = base
            node = stmt.node
            kind = type(node)
            if returned is not None and not reported and not isinstance(node, NEVER_DEAD):
                reported = True
                unreachable(self.report, Place(stmt, node, base), returned)
            if kind is TypeDef and index >= group_end:
                group_end = self.type_group(stmts, index)
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

    def type_group(self, stmts: Sequence[Stmt], start: int) -> int:
        """Neighbouring types may refer to each other: bind the names of the whole group."""
        end = start
        while end < len(stmts) and isinstance(node := stmts[end].node, TypeDef):
            self.scope.bound[node.name.text] = "type"
            end += 1
        return end

    # ── Names ─────────────────────────────────────────────────────────────────

    def lookup(self, name: str, late: bool = False) -> LocalKind | None:
        """What ``name`` is here; with ``late``, when every visible block has run."""
        is_open = False
        scope: Scope | None = self.scope
        while scope is not None:
            kind = scope.bound.get(name)
            if kind is None and late:
                kind = by_end(scope, self.exports).get(name)
            if kind is not None:
                return kind
            is_open = is_open or scope.open
            late = late or scope.late
            scope = scope.parent
        return self.outside(name, late) or ("python" if is_open else None)

    def outside(self, name: str, late: bool) -> LocalKind | None:
        """What ``name`` is beyond the statements checked here."""
        return self.names.kind_of(name)

    def visible(self) -> Iterator[str]:
        """Every name that could have been meant here, for suggestions."""
        scope: Scope | None = self.scope
        while scope is not None:
            yield from scope.bound
            yield from by_end(scope, self.exports)
            scope = scope.parent
        yield from self.names.all_names()

    def of_kind(self, *kinds: LocalKind) -> Iterator[str]:
        """Visible names of some kinds, for suggestions."""
        return (name for name in self.visible() if self.lookup(name, late=True) in kinds)

    def exports(self, path: str) -> ModuleExports | None:
        """Exports of a module, ``None`` when it cannot be used; asks once per path."""
        if path not in self.imports:
            self.imports[path] = None
            try:
                self.imports[path] = self.names.module_exports(path)
            except (ModuleNotFound, ImportCycle, ModuleBroken):
                return None
        return self.imports[path]

    # ── Types ─────────────────────────────────────────────────────────────────

    def type(self, stmt: Stmt, expr: TypeExpr | None) -> None:
        """Check one type position."""
        if expr is None or expr.python:
            return
        shape = type_shape(expr)
        for finding in shape.findings:
            if finding.builtin is None or self.lookup(finding.builtin) in (None, "data"):
                place = self.within(stmt, expr, finding.start, finding.end)
                self.report.add(finding.code, finding.message, place, finding.hint)
        for name in shape.names:
            self.type_name(stmt, expr, name)

    def type_name(self, stmt: Stmt, expr: TypeExpr, name: TypeName) -> None:
        kind = self.lookup(name.name)
        place = self.within(stmt, expr, name.start, name.end)
        if kind is None:
            self.report.add("unknown-type", f"unknown type `{name.name}`", place, self.hint(name))
        elif kind in ("procedure", "profile") and not name.dotted:
            self.report.add("not-a-type", f"`{name.name}` is a {kind}, not a type", place)
        elif kind == "data" and not name.dotted:
            self.report.add(
                "not-a-type",
                f"`{name.name}` is a value, not a type",
                place,
                f"declare a type with `~{name.name}(…)` or use one of the built-in types",
            )
        elif kind == "type" and name.arguments and not name.dotted:
            self.report.add(
                "type-arguments", f"the type `{name.name}` takes no type arguments", place
            )

    def hint(self, name: TypeName) -> str:
        """What to do about an unknown type."""
        import builtins

        if self.lookup(name.name, late=True) == "type":
            return f"declare `~{name.name}(…)` before the statement that uses it"
        if isinstance(getattr(builtins, name.name, None), type):
            return f"write a Python type in backticks: `` `{name.name}` ``"
        meant = (
            other
            for other in self.visible()
            if self.lookup(other, late=True) not in ("procedure", "profile", "data")
        )
        near = suggestion(name.name, [*BUILTIN_TYPES, *meant])
        return near or f"declare it first: `~{name.name}(…)`, or import it"

    def within(self, stmt: Stmt, expr: TypeExpr, start: int, end: int) -> Place:
        begin = expr.text_start
        return Place(stmt, Node(begin + start, begin + max(end, start)), self.base)

    # ── Text ──────────────────────────────────────────────────────────────────

    def value(self, stmt: Stmt, value: Value) -> None:
        """Check what stands right of ``=`` or in an argument."""
        if value.kind == "text" or value.kind == "call":
            self.parts(stmt, value.parts)

    def parts(self, stmt: Stmt, parts: Sequence[Part]) -> None:
        """Check the parts of one text: types of its fields, reads of its own fields."""
        own: dict[str, Field] = {}
        for part in parts:
            if isinstance(part, Field):
                own.setdefault(part.name.text, part)
                self.type(stmt, part.type)
            elif isinstance(part, Call):
                for argument in part.arguments:
                    self.value(stmt, argument)
        if own:
            self.own_fields(stmt, parts, own)

    def own_fields(self, stmt: Stmt, parts: Sequence[Part], own: dict[str, Field]) -> None:
        for part in parts:
            if isinstance(part, Read):
                if part.name.text in own:
                    self.own_field(stmt, part, part.name.text, own)
            elif isinstance(part, Call):
                for argument in part.arguments:
                    self.own_fields(stmt, argument.parts, own)
            elif isinstance(part, Python) and part.angle:
                for name in own.keys() & uses(part.tree).reads:
                    self.own_field(stmt, part, name, own)

    def own_field(self, stmt: Stmt, part: Part, name: str, own: dict[str, Field]) -> None:
        first = Place(stmt, own[name], self.base)
        self.report.add(
            "reads-own-field",
            f"this model call reads `{name}`, a field that it fills itself",
            Place(stmt, part, self.base),
            "fields are filled together after the call: end this template with a blank line "
            f"and read `<{name}>` in the next one",
            related=self.report.related(first, f"`{name}` is filled here"),
        )

    # ── Statements ────────────────────────────────────────────────────────────

    def on_init(self, stmt: Stmt, node: Init) -> None:
        target = node.target
        if target.type is not None:
            self.type(stmt, target.type)
        value = node.value
        self.value(stmt, value)
        self.scope.params.discard(target.name.text)
        self.scope.bound[target.name.text] = value_kind(target.type, value.kind == "text")

    def on_assign(self, stmt: Stmt, node: Assign) -> None:
        self.value(stmt, node.value)
        name = node.target.text
        scope: Scope | None = self.scope
        late = False
        while scope is not None:
            if name in scope.bound:
                if name in scope.params and not (late and self.rebinds(scope, name)):
                    self.report.add(
                        "read-only-parameter",
                        f"the parameter `{name}` cannot be assigned",
                        Place(stmt, node.target, self.base),
                        f"parameters are read-only: keep the new value in a binding of its own, "
                        f"such as `[new_{name}] = …`",
                    )
                return
            late = late or scope.late
            scope = scope.parent

    def rebinds(self, scope: Scope, name: str) -> bool:
        """Whether a statement of ``scope`` makes a new binding over a parameter."""
        into: dict[str, LocalKind] = {}
        for stmt in scope.stmts:
            declare(scope, stmt, self.exports, into)
        return name in into

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

    def once(self, stmts: Sequence[Stmt], *names: str) -> None:
        """Report directives (and ``auto``) that may stand only once in a block."""
        first: dict[str, Place] = {}
        for stmt in stmts:
            node = stmt.node
            if isinstance(node, Directive) and node.name.text in names:
                name = node.name.text
            elif isinstance(node, Auto) and "auto" in names:
                name = "auto"
            else:
                continue
            self.duplicate(first, name, Place(stmt, node, self.base), f"`> {name}:`")

    def duplicate(self, first: dict[str, Place], key: str, place: Place, what: str) -> None:
        """Remember the first place of ``key``; report every further one."""
        known = first.setdefault(key, place)
        if known is not place:
            self.report.add(
                "duplicate",
                f"{what} stands here a second time",
                place,
                "remove one of the two",
                related=self.report.related(known, "first here"),
            )

    def name_line_items(self, stmt: Stmt) -> Iterator[Listed]:
        """The name lines of a list block."""
        for line in stmt.body:
            if isinstance(line.node, NameLine):
                yield Listed(line.node.name.text, Place(line, line.node.name, self.base))

    def broken_module(self, place: Place, path: str, error: ModuleBroken) -> None:
        """Report a module that was found but has errors of its own."""
        related = tuple(Related(item.span, item.message) for item in error.diagnostics[:5])
        first = error.diagnostics[0]
        self.report.add(
            "broken-module",
            f"the module `{path}` cannot be used: {first.message} ({first.span})",
            place,
            first.hint,
            related=related,
        )

    def import_cycle(self, place: Place, path: str, error: ImportCycle) -> None:
        """Report modules that import each other."""
        cycle = " -> ".join(cycle_labels(error.paths))
        self.report.add(
            "import-cycle",
            f"importing `{path}` goes round in a circle: {cycle}",
            place,
            "move what both need into a third module",
        )


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
