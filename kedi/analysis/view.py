"""What is known of a program: names at its top level, places, findings, exports."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kedi.analysis.builder import lookup_local
from kedi.analysis.names import (
    Exported,
    ModuleExports,
    Names,
    near,
)
from kedi.analysis.symbols import ChunkFacts, Declaration, LocalScope, Range, Reference
from kedi.diagnostics import Diagnostic
from kedi.source import LineIndex, Span
from kedi.syntax.ast import (
    Program,
)

_MAX_GUESSES = 50


@dataclass(frozen=True, slots=True)
class Options:
    """What analysis is told about the surroundings.

    ``capabilities`` maps an adapter's name to what it can do (``True``,
    ``False``, ``None`` for unknown) by capability; ``adapter`` is the one in
    force before the program starts. ``version`` must change whenever the
    answers of ``names`` may have changed. ``lint`` turns warnings and hints off.
    """

    capabilities: Mapping[str, Mapping[str, bool | None]] = field(
        default_factory=dict[str, Mapping[str, "bool | None"]]
    )
    adapter: str | None = None
    version: Hashable = 0
    lint: bool = True


@dataclass(slots=True, eq=False)
class ImportFacts:
    """The names that an import chunk binds, or that it cannot be followed."""

    names: dict[str, Declaration]
    origins: dict[str, Exported]
    known: bool


@dataclass(slots=True, eq=False)
class _Placed:
    base: int
    compiled: tuple[Diagnostic, ...]
    lints: tuple[Diagnostic, ...]
    found: list[Diagnostic]


class Analysis:
    """Everything known of a program. Made by :func:`analyze`; never changes afterwards.

    ``facts`` runs parallel to ``program.chunks``. Positions in questions are
    0-based lines and code-point columns of ``program.source.text``. ``linked``
    are the chunks whose lints point at other chunks, ``guessed`` those with
    findings about unknown names, whose hints depend on all names.
    """

    __slots__ = (
        "_all",
        "_index",
        "_lines",
        "compile_found",
        "counts",
        "everything",
        "facts",
        "guessed",
        "guesses",
        "imports",
        "linked",
        "lint_found",
        "names",
        "opened",
        "options",
        "placed",
        "program",
        "spent",
    )

    def __init__(self, program: Program, names: Names, options: Options) -> None:
        self.program = program
        self.names = names
        self.options = options
        self.facts: list[ChunkFacts] = []
        self.imports: dict[int, ImportFacts] = {}
        self.compile_found: list[tuple[Diagnostic, ...]] = []
        self.lint_found: list[tuple[Diagnostic, ...]] = []
        self.placed: list[_Placed | None] = []
        self.linked: set[int] = set()
        self.guessed: set[int] = set()
        self.spent = 0
        self.guesses: dict[str, list[str]] = {}
        self.counts: dict[str, int] = {}
        self.opened = False
        self.everything = False
        self._index: dict[str, list[int]] = {}
        self._all: tuple[Diagnostic, ...] | None = None
        self._lines: LineIndex | None = None

    # ── Names at the top level ────────────────────────────────────────────────

    def declared(self, index: int, name: str) -> list[Declaration]:
        """Declarations of ``name`` in a chunk, imported ones included."""
        imported = self.imports.get(index)
        if imported is not None:
            item = imported.names.get(name)
            return [item] if item is not None else []
        return self.facts[index].declared.get(name, [])

    def declaring(self, name: str) -> Sequence[int]:
        """Chunks that bind ``name`` at the top level, in order."""
        return self._index.get(name, ())

    def lookup_top(self, name: str, index: int, late: bool) -> tuple[Declaration, int] | None:
        """What ``name`` means at the top level for chunk ``index``, and where it is declared.

        In place the last declaration before the chunk counts; ``late`` code
        sees what is bound by the end, the nearest one before it first.
        """
        chunks = self._index.get(name)
        if not chunks:
            return None
        at = bisect_right(chunks, index) if late else bisect_left(chunks, index)
        if at == 0 and not late:
            return None
        chosen = chunks[at - 1] if at else chunks[0]
        items = self.declared(chosen, name)
        return (items[-1], chosen) if items else None

    def lookup(
        self, scope: LocalScope, name: str, order: int, index: int, late: bool
    ) -> tuple[Declaration, int] | None:
        """What ``name`` means in a scope of chunk ``index``."""
        found = lookup_local(scope, name, order)
        return (found, index) if found is not None else self.lookup_top(name, index, late)

    def target(self, reference: Reference, index: int) -> tuple[Declaration, int] | None:
        """The declaration a reference of chunk ``index`` means, with its chunk."""
        if reference.target is not None:
            return reference.target, index
        found = self.lookup_top(reference.name, index, reference.late)
        if found is None and (reference.use == "type" or reference.may_be_local):
            # A type may name itself, and a prelude its own names.
            own = self.declared(index, reference.name)
            if own:
                return own[-1], index
        return found

    def used(self, name: str) -> bool:
        """Whether any chunk reads ``name`` from the top level, or the program exports it."""
        if self.opened or self.counts.get(name, 0) > 0:
            return True
        return self.everything and not name.startswith("_")

    def top_names(self) -> Iterable[str]:
        """Names bound at the top level."""
        return self._index.keys()

    def near(self, name: str) -> list[str]:
        """Names of the top level or from outside that ``name`` may be a slip of."""
        known = self.guesses.get(name)
        if known is None:
            # Looking through thousands of names takes milliseconds: a text full of
            # unknown names gets no more than that many hints.
            enough = len(self.guesses) >= _MAX_GUESSES
            known = [] if enough else near(name, [*self._index, *self.names.all_names()])
            self.guesses[name] = known
        return known

    # ── Places ────────────────────────────────────────────────────────────────

    @property
    def line_index(self) -> LineIndex:
        """Offsets and lines of the text."""
        if self._lines is None:
            self._lines = LineIndex(self.program.source.text)
        return self._lines

    def chunk_at(self, line: int) -> int:
        """Index of the chunk that holds a 0-based line; -1 in a program without chunks."""
        return bisect_right(self.program.lines, max(0, line)) - 1

    def span(self, place: Range, index: int) -> Span:
        """Absolute span of a place in a chunk."""
        return place.span(self.program.source.name, self.program.lines[index])

    # ── Findings ──────────────────────────────────────────────────────────────

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything found: by the parser, by the compile checks, and lints; by position."""
        if self._all is None:
            self._all = tuple(self._collect())
        return self._all

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Findings of severity ``error``."""
        return tuple(item for item in self.diagnostics if item.severity == "error")

    def _collect(self) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        for index, compiled in enumerate(self.compile_found):
            lints = self.lint_found[index]
            if compiled or lints:
                found.extend(self._place(index, compiled, lints))
        name = self.program.source.name
        for index in self.program.flagged:
            base = self.program.lines[index]
            for item in self.program.chunks[index].diagnostics:
                found.append(shifted(item, base, name))
        from kedi.analysis.whole import whole_program

        found.extend(whole_program(self))
        found.sort(key=lambda item: item.span[1:3])
        return found

    def _place(
        self, index: int, compiled: tuple[Diagnostic, ...], lints: tuple[Diagnostic, ...]
    ) -> Sequence[Diagnostic]:
        """Findings of a chunk at their absolute places, made once until the chunk moves."""
        base = self.program.lines[index]
        known = self.placed[index]
        if known is not None and (known.base, known.compiled, known.lints) == (
            base,
            compiled,
            lints,
        ):
            return known.found
        name = self.program.source.name
        made = [shifted(item, base, name) for item in (*compiled, *lints)]
        self.placed[index] = _Placed(base, compiled, lints, made)
        return made

    # ── Exports ───────────────────────────────────────────────────────────────

    def exports(self) -> ModuleExports:
        """What importing this program would publish."""
        from pathlib import Path

        from kedi.analysis.exports import module_exports

        path = self.program.source.path
        return module_exports(self.program, Path(path) if path else None, self.names)


def shifted(item: Diagnostic, base: int, source_name: str) -> Diagnostic:
    """A finding of a chunk at its absolute place; places in other sources stay."""
    related = tuple(
        replace(other, span=_shift(other.span, base, source_name)) for other in item.related
    )
    return replace(item, span=_shift(item.span, base, source_name), related=related)


def _shift(span: Span, base: int, source_name: str) -> Span:
    name, line, column, end_line, end_column = span
    if name not in ("", source_name):
        return span
    return Span(source_name, line + base, column, end_line + base, end_column)
