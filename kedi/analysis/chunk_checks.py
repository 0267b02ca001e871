"""The compile checks of one chunk, with the rest of the program as its surroundings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kedi.analysis.checker import MAX_GUESSES
from kedi.analysis.checks import Checker
from kedi.analysis.names import Exported, ModuleExports, suggestion
from kedi.analysis.scopes import LocalKind, Scope
from kedi.analysis.symbols import Declaration
from kedi.analysis.types import BUILTIN_TYPES
from kedi.diagnostics import Diagnostic

if TYPE_CHECKING:
    from kedi.analysis.view import Analysis


def chunk_errors(analysis: Analysis, index: int) -> tuple[Diagnostic, ...]:
    """Errors of one chunk, placed relative to it."""
    stmt = analysis.facts[index].stmt
    assert stmt is not None
    checker = _ChunkChecker(analysis, index)
    checker.top = checker.scope = Scope(None, [stmt])
    checker.iteration = checker.loop_scope()
    checker.statements([stmt])
    return tuple(checker.report.sorted())


class _ChunkChecker(Checker):
    """Checks one chunk; names of other chunks are looked up in the analysis."""

    __slots__ = ("analysis", "index")

    def __init__(self, analysis: Analysis, index: int) -> None:
        super().__init__(analysis.program.source.name, analysis.names)
        self.analysis = analysis
        self.index = index

    def outside(self, name: str, late: bool) -> LocalKind | None:
        analysis, index = self.analysis, self.index
        found = analysis.lookup_top(name, index, late)
        if found is not None and found[1] != index:
            return local_kind(found[0])
        kind = analysis.names.kind_of(name)
        if kind is None and self.unknown_import(late):
            return "python"
        return kind

    def unknown_import(self, late: bool) -> bool:
        """Whether an import that cannot be followed, or an open prelude, may bind the name."""
        imports = self.analysis.imports
        if any(not item.known and (late or at < self.index) for at, item in imports.items()):
            return True
        return self.analysis.facts[0].prelude_open

    def suggest(self, name: str, candidates: Iterable[str]) -> str | None:
        self.analysis.spent += 1
        return suggestion(name, candidates) if self.analysis.spent <= MAX_GUESSES else None

    def visible(self) -> Iterator[str]:
        yield from super().visible()
        yield from self.analysis.top_names()

    def exports(self, path: str) -> ModuleExports | None:
        known = self.analysis.imports.get(self.index)
        if known is None:
            return super().exports(path)
        names: dict[str, Exported] = known.origins
        return ModuleExports(None, names, complete=known.known)

    def loop_scope(self) -> Scope | None:
        """The iteration scope of the loop before, for a ``> map:`` that continues it."""
        if self.index == 0:
            return None
        before = self.analysis.facts[self.index - 1]
        if len(before.scopes) < 2 or before.scopes[1].kind != "loop":
            return None
        scope = Scope(self.top)
        for name, items in before.scopes[1].names.items():
            scope.bound[name] = local_kind(items[-1])
        return scope


def local_kind(item: Declaration) -> LocalKind:
    """How the checks call a declaration: values that cannot be types are told apart."""
    if item.kind != "value":
        return item.kind
    if item.type in BUILTIN_TYPES and item.type not in ("object", "Any"):
        return "data"
    return "value"


__all__: Iterable[str] = ["chunk_errors", "local_kind"]
