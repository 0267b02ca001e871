"""State and common work of the compile checks: scopes, types, text, reporting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from kedi.analysis.names import (
    ImportCycle,
    ModuleBroken,
    ModuleExports,
    ModuleNotFound,
    Names,
    cycle_labels,
    suggestion,
)
from kedi.analysis.pynames import uses
from kedi.analysis.report import Place, Reporter, Stretch
from kedi.analysis.scopes import LocalKind, Scope, by_end
from kedi.analysis.types import BUILTIN_TYPES, TypeName, type_shape
from kedi.diagnostics import Related
from kedi.syntax.ast import (
    Auto,
    Call,
    Directive,
    Field,
    NameLine,
    Part,
    Python,
    Read,
    Stmt,
    TypeExpr,
    Value,
)
from kedi.syntax.nodes import Record

MAX_GUESSES = 50


class Listed(Record):
    """One name of a list block and where it stands."""

    text: str
    place: Place


class CheckerBase:
    """State of one pass: the current scope and the findings so far."""

    __slots__ = (
        "base",
        "children",
        "exported",
        "guesses",
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
        self.guesses = 0
        self.iteration: Scope | None = None
        self.top = self.scope = Scope(None)

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

    def suggest(self, name: str, candidates: Iterable[str]) -> str | None:
        """A hint with near names, for the first unknown names of a source only.

        Looking through thousands of names takes milliseconds, so a text full of
        unknown names must not get a hint for each.
        """
        self.guesses += 1
        return suggestion(name, candidates) if self.guesses <= MAX_GUESSES else None

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
        near = self.suggest(name.name, chain(BUILTIN_TYPES, meant))
        return near or f"declare it first: `~{name.name}(…)`, or import it"

    def within(self, stmt: Stmt, expr: TypeExpr, start: int, end: int) -> Place:
        begin = expr.text_start
        return Place(stmt, Stretch(begin + start, begin + max(end, start)), self.base)

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

    # ── Reporting ────────────────────────────────────────────────────────────

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
