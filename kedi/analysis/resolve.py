"""The analysis of a whole program for tools, re-done only where an edit matters.

A chunk's own symbols (:mod:`~kedi.analysis.facts`) depend on nothing else.
What a name means at the top level depends on the chunks that declare it: after
an edit, only the edited chunks and those that mention a name whose meaning
changed are looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kedi.analysis.facts import chunk_facts
from kedi.analysis.names import (
    Exported,
    Kind,
    ModuleExports,
    ModuleProblem,
    Names,
    NoNames,
)
from kedi.analysis.symbols import ChunkFacts, Declaration
from kedi.analysis.view import Analysis, ImportFacts, Options
from kedi.diagnostics import Diagnostic
from kedi.syntax.ast import (
    Chunk,
    Export,
    Import,
    LoopEach,
    Map,
    NameLine,
    Program,
    Stmt,
)

__all__ = ["Analysis", "Options", "analyze"]
_DEFAULT = Options()
_NO_NAMES = NoNames()
_NOTHING: tuple[Diagnostic, ...] = ()


def analyze(
    program: Program,
    names: Names | None = None,
    previous: Analysis | None = None,
    options: Options = _DEFAULT,
) -> Analysis:
    """Analyse a program, complete or broken. Nothing is run or imported.

    ``previous`` is an earlier analysis of a similar program with the same
    ``names`` and ``options``: what did not change is taken over.
    """
    analysis = Analysis(program, names or _NO_NAMES, options)
    if (
        previous is not None
        and previous.names is analysis.names
        and previous.options == options
        and previous.program.source.name == program.source.name
        and previous.program.mode == program.mode
    ):
        _Update(analysis, previous).run()
    else:
        _fresh(analysis)
    return analysis


def _fresh(analysis: Analysis) -> None:
    before: ChunkFacts | None = None
    for index, chunk in enumerate(analysis.program.chunks):
        before = _facts(chunk, before)
        analysis.facts.append(before)
        _import(analysis, index)
    _build_index(analysis)
    counts = analysis.counts
    for facts in analysis.facts:
        for name in facts.uses:
            counts[name] = counts.get(name, 0) + 1
    analysis.opened = any(facts.open for facts in analysis.facts)
    analysis.everything = any(_publishes_all(facts) for facts in analysis.facts)
    size = len(analysis.facts)
    analysis.compile_found = [_NOTHING] * size
    analysis.lint_found = [_NOTHING] * size
    analysis.placed = [None] * size
    for index in range(size):
        _judge(analysis, index)


def _facts(chunk: Chunk, before: ChunkFacts | None) -> ChunkFacts:
    stmt = chunk.stmt
    if stmt is not None and isinstance(stmt.node, Map):
        loop = before.stmt if before is not None else None
        if loop is not None and isinstance(loop.node, LoopEach):
            return chunk_facts(stmt, before)
    return chunk_facts(stmt)


def _import(analysis: Analysis, index: int) -> None:
    stmt = analysis.facts[index].stmt
    if stmt is None or not isinstance(stmt.node, Import):
        return
    node = stmt.node
    from kedi.analysis.symbols import range_of

    exports: ModuleExports | None = None
    try:
        exports = analysis.names.module_exports(node.path.text)
    except ModuleProblem:
        pass
    published: Mapping[str, Exported] = exports.names if exports is not None else {}
    declared: dict[str, Declaration] = {}

    def declare(name: str, line: Stmt, start: int, end: int) -> None:
        known = published.get(name)
        place = range_of(line, start, end)
        kind: Kind = known.kind if known is not None else "value"
        detail = known.detail if known is not None else ""
        type_ = detail if kind == "value" else ""
        doc = known.docstring if known is not None else ""
        declared[name] = Declaration(name, kind, place, place, 0, type_, detail, doc, node, line)

    if node.selective:
        for line in stmt.body:
            if isinstance(line.node, NameLine):
                declare(line.node.name.text, line, line.node.name.start, line.node.name.end)
    else:
        for name in published:
            declare(name, stmt, node.path.start, node.path.end)
    known = exports is not None and exports.complete
    analysis.imports[index] = ImportFacts(declared, dict(published), known)


def _publishes_all(facts: ChunkFacts) -> bool:
    node = facts.stmt.node if facts.special and facts.stmt is not None else None
    return isinstance(node, Export) and node.everything


def _names_of(analysis: Analysis, index: int) -> Iterable[str]:
    imported = analysis.imports.get(index)
    return imported.names if imported is not None else analysis.facts[index].top.names


def _build_index(analysis: Analysis) -> None:
    index: dict[str, list[int]] = {}
    imports = analysis.imports
    for at, facts in enumerate(analysis.facts):
        names = facts.top.names
        if not names:
            if at not in imports:
                continue
            names = imports[at].names
        for name in names:
            known = index.get(name)
            if known is None:
                index[name] = [at]
            else:
                known.append(at)
    analysis._index = index  # pyright: ignore[reportPrivateUsage]


def _judge(analysis: Analysis, index: int) -> None:
    """Make the findings of one chunk anew."""
    from kedi.analysis.chunk_checks import chunk_errors

    if analysis.facts[index].stmt is None:
        return
    found = analysis.compile_found[index] = chunk_errors(analysis, index)
    if analysis.options.lint:
        from kedi.analysis.lints import chunk_lints

        lints = analysis.lint_found[index] = chunk_lints(analysis, index)
        found = (*found, *lints)
    if any(item.code in _GUESSES for item in found):
        analysis.guessed.add(index)


_GUESSES = frozenset(
    {
        "not-exported",
        "unknown-export",
        "unknown-name",
        "unknown-procedure",
        "unknown-profile",
        "unknown-tool",
        "unknown-type",
    }
)


class _Update:
    """Carries an analysis over an edit."""

    def __init__(self, analysis: Analysis, previous: Analysis) -> None:
        self.new = analysis
        self.old = previous
        old, new = previous.program.chunks, analysis.program.chunks
        self.renamed = self.touched = self.retyped = False
        self.head = _common(len(old), len(new), lambda k: old[:k] == new[:k])
        if self.head and any(
            _continues(chunks[self.head]) for chunks in (old, new) if self.head < len(chunks)
        ):
            # What a map reads is marked in the loop before it.
            self.head -= 1
        room = min(len(old), len(new)) - self.head
        tail = _common(room, room, lambda k: k == 0 or old[-k:] == new[-k:])
        if tail and _continues(new[len(new) - tail]):
            tail -= 1
        self.old_end = len(old) - tail
        self.new_end = len(new) - tail

    def run(self) -> None:
        new, old = self.new, self.old
        head, old_end, new_end = self.head, self.old_end, self.new_end
        shift = new_end - old_end
        chunks = new.program.chunks
        middle: list[ChunkFacts] = []
        before = old.facts[head - 1] if head else None
        for at in range(head, new_end):
            before = _facts(chunks[at], before)
            middle.append(before)
        new.facts = [*old.facts[:head], *middle, *old.facts[old_end:]]
        for at, item in old.imports.items():
            if at < head:
                new.imports[at] = item
            elif at >= old_end:
                new.imports[at + shift] = item
        for at in range(head, new_end):
            _import(new, at)
        hollow = [_NOTHING] * len(middle)
        new.compile_found = [*old.compile_found[:head], *hollow, *old.compile_found[old_end:]]
        new.lint_found = [*old.lint_found[:head], *hollow, *old.lint_found[old_end:]]
        new.placed = [*old.placed[:head], *([None] * len(middle)), *old.placed[old_end:]]
        changed = self.changed_names()
        self.index(shift)
        flipped = self.counted()
        again = set(range(head, new_end))
        new.linked = self.kept(old.linked)
        new.guessed = self.kept(old.guessed)
        if self.touched or self.moved():
            again |= new.linked
        if self.renamed:
            again |= new.guessed
        else:
            new.guesses = old.guesses
        # Nothing but the last chunk of the text can lose or gain what follows it.
        if flipped is None:
            again = set(range(len(new.facts)))
        else:
            if changed:
                for at, facts in enumerate(new.facts):
                    if not changed.isdisjoint(facts.asks):
                        again.add(at)
            if self.retyped:
                again.update(at for at, facts in enumerate(new.facts) if _judges_types(facts))
            for name in flipped:
                again.update(new.declaring(name))
        for at in again:
            _judge(new, at)

    def changed_names(self) -> set[str]:
        """Names whose meaning at the top level the edit changed."""
        before = _shapes(self.old, range(self.head, self.old_end))
        after = _shapes(self.new, range(self.head, self.new_end))
        names = before.keys() | after.keys()
        self.renamed = before.keys() != after.keys()
        self.touched = bool(names)
        changed = {name for name in names if before.get(name) != after.get(name)}
        # A name that begins or ceases to be a type decides about values passed elsewhere.
        self.retyped = any(_is_a_type(before, name) != _is_a_type(after, name) for name in changed)
        if self.open_names(self.old, self.old_end) or self.open_names(self.new, self.new_end):
            changed.update(*(facts.asks for facts in self.new.facts))
        return changed

    def open_names(self, analysis: Analysis, end: int) -> bool:
        """Whether the edited chunks bind names that cannot be seen."""
        imports = analysis.imports
        if any(self.head <= at < end and not item.known for at, item in imports.items()):
            return True
        return any(facts.prelude_open for facts in analysis.facts[self.head : end])

    def kept(self, chunks: set[int]) -> set[int]:
        """Those of ``chunks`` that the edit left alone, by their new indices."""
        head, end, shift = self.head, self.old_end, self.new_end - self.old_end
        return {at if at < head else at + shift for at in chunks if not head <= at < end}

    def moved(self) -> bool:
        """Whether what is behind the edit stands on other lines than before."""
        old, new = self.old.program, self.new.program
        if self.old_end == len(old.lines):
            return False
        return old.lines[self.old_end] != new.lines[self.new_end]

    def index(self, shift: int) -> None:
        """Bring the table of top-level names up to date."""
        new, old = self.new, self.old
        if shift:
            _build_index(new)
            return
        index = dict(old._index)  # pyright: ignore[reportPrivateUsage]
        for at in range(self.head, self.old_end):
            for name in _names_of(old, at):
                left = [item for item in index[name] if item != at]
                if left:
                    index[name] = left
                else:
                    index.pop(name)
        for at in range(self.head, self.new_end):
            for name in _names_of(new, at):
                index[name] = sorted({*index.get(name, ()), at})
        new._index = index  # pyright: ignore[reportPrivateUsage]

    def counted(self) -> set[str] | None:
        """Count uses anew; names that became used or unused, ``None`` when all may have."""
        new, old = self.new, self.old
        delta: dict[str, int] = {}
        for facts in old.facts[self.head : self.old_end]:
            for name in facts.uses:
                delta[name] = delta.get(name, 0) - 1
        for facts in new.facts[self.head : self.new_end]:
            for name in facts.uses:
                delta[name] = delta.get(name, 0) + 1
        counts = dict(old.counts)
        flipped: set[str] = set()
        for name, change in delta.items():
            if change:
                before = counts.get(name, 0)
                counts[name] = before + change
                if (before > 0) != (before + change > 0):
                    flipped.add(name)
        new.counts = counts
        edited = [*old.facts[self.head : self.old_end], *new.facts[self.head : self.new_end]]
        new.opened = old.opened
        if any(facts.open for facts in edited):
            new.opened = any(facts.open for facts in new.facts)
        new.everything = old.everything
        if any(_publishes_all(facts) for facts in edited):
            new.everything = any(_publishes_all(facts) for facts in new.facts)
        same = new.opened == old.opened and new.everything == old.everything
        return flipped if same else None


def _common(most: int, other: int, equal: Callable[[int], bool]) -> int:
    """The largest count up to ``most`` and ``other`` that is ``equal``, by bisection."""
    low, high = 0, min(most, other)
    while low < high:
        middle = (low + high + 1) // 2
        if equal(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _continues(chunk: Chunk) -> bool:
    return chunk.stmt is not None and isinstance(chunk.stmt.node, Map)


def _is_a_type(shapes: dict[str, list[Any]], name: str) -> bool:
    return any(shape[1] == "type" for shape in shapes.get(name, ()))


def _judges_types(facts: ChunkFacts) -> bool:
    return bool(facts.typed) or any(item.arguments is not None for item in facts.references)


def _shapes(analysis: Analysis, chunks: range) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for at in chunks:
        for name in _names_of(analysis, at):
            for item in analysis.declared(at, name):
                found.setdefault(name, []).append(item.shape)
    return found
