"""Line and function breakpoints: traps in compiled blocks.

A breakpoint is asked for by source and line and *bound* to statements: the first that begins at
or after that place within the same source. It is bound again whenever a block of its source is
compiled, so it follows redefinitions, and is unverified while nothing of its source is there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kedi.runtime.blocks import Block
from kedi.session.debugger.events import Breakpoint, BreakpointSpec

if TYPE_CHECKING:
    from kedi.runtime.frames import RunFrame, Site, Unit
    from kedi.runtime.scopes import Scope

#: Called on the program's thread where a statement with breakpoints is about to run.
Hit = Callable[["RunFrame", "Scope", "Site", "tuple[Breakpoint, ...]"], None]


class Breakpoints:
    """The line and function breakpoints of one debugger. Thread-safe.

    ``hit`` is called for a statement that has some; ``changed`` for each whose place changes
    after :meth:`set_source` or :meth:`set_functions` has given it.
    """

    def __init__(self, hit: Hit, changed: Callable[[Breakpoint], None]) -> None:
        self._hit = hit
        self._changed = changed
        self._lock = threading.RLock()
        self._ids = 0
        self._lines: dict[str, list[Breakpoint]] = {}
        self._functions: list[Breakpoint] = []
        #: Breakpoints of each statement that has some.
        self._at: dict[Site, tuple[Breakpoint, ...]] = {}
        self._units: dict[str, list[Unit]] = {}

    # ── what users ask for ───────────────────────────────────────────────────

    def set_source(self, source: str, specs: Sequence[BreakpointSpec]) -> list[Breakpoint]:
        """Replace the breakpoints of a source, named by its path or a fragment's name."""
        key = source_key(source)
        with self._lock:
            before = {item.spec: item for item in self._lines.get(key, ())}
            made: list[Breakpoint] = []
            for spec in specs:
                # The same one asked for again keeps its id and its count.
                same = before.pop(spec, None)
                made.append(same or Breakpoint(self._next_id(), "line", spec, source=source))
            self._lines[key] = made
            self._bind(key)
            return list(made)

    def set_functions(self, specs: Sequence[tuple[str, BreakpointSpec]]) -> list[Breakpoint]:
        """Replace the breakpoints at procedures, given by name; lines of the specs are ignored."""
        with self._lock:
            before = {(item.name, item.spec): item for item in self._functions}
            self._functions = []
            for name, spec in specs:
                item = before.pop((name, spec), None)
                if item is None:
                    item = Breakpoint(self._next_id(), "function", spec, name=name)
                    item.message = _missing(item, known=False)
                self._functions.append(item)
            for key in self._units:
                self._bind(key)
            return list(self._functions)

    def clear(self) -> None:
        """Remove every breakpoint and its traps."""
        with self._lock:
            self._lines.clear()
            self._functions = []
            for key in self._units:
                self._bind(key)
            self._units.clear()

    def at(self, site: Site) -> tuple[Breakpoint, ...]:
        """The breakpoints of a statement."""
        return self._at.get(site, ())

    # ── what is compiled ─────────────────────────────────────────────────────

    def add_unit(self, unit: Unit) -> None:
        """Bind the breakpoints of a source that is known from now on."""
        key = unit_key(unit)
        with self._lock:
            units = self._units.setdefault(key, [])
            if unit not in units:
                units.append(unit)
            self._bind(key, tell=True)

    def add_block(self, block: Block) -> None:
        """Bind to a block that has just been compiled, of a source that is known already."""
        key = unit_key(block[0][0].unit)
        if key in self._units:
            with self._lock:
                self._bind(key, tell=True)

    def _next_id(self) -> int:
        self._ids += 1
        return self._ids

    def _bind(self, key: str, *, tell: bool = False) -> None:
        """Bind all breakpoints of one source anew, and plant and remove its traps."""
        wanted: dict[Site, list[Breakpoint]] = {}
        blocks = [block for unit in self._units.get(key, ()) for block in live_blocks(unit)]
        places = sorted(
            ((_start(site), site) for block in blocks for site, _, _ in block),
            key=lambda item: item[0],
        )
        for item in self._lines.get(key, ()):
            found = list(_sites_for(item.spec, places))
            for site in found:
                wanted.setdefault(site, []).append(item)
            _place(item, found, self._changed if tell else None, bool(places))
        for item in self._functions:
            first = [block[0][0] for block in blocks if block.procedure == item.name]
            for site in first:
                wanted.setdefault(site, []).append(item)
            if (
                first
                or not item.verified
                or item.source in {unit.name for unit in self._units[key]}
            ):
                _place(item, first, self._changed if tell else None, bool(places))
        alive = {site for _, site in places}
        for site in [site for site in self._at if unit_key(site.unit) == key]:
            if site not in alive:
                del self._at[site]  # of code that nothing runs any more
        for block in blocks:
            for index, (site, _, _) in enumerate(block):
                self._plant(block, index, site, tuple(wanted.get(site, ())))

    def _plant(self, block: Block, index: int, site: Site, hits: tuple[Breakpoint, ...]) -> None:
        if self._at.get(site, ()) == hits:
            return
        if hits:
            self._at[site] = hits
            block.plant(index, partial(self._trap, site))
        else:
            del self._at[site]
            block.plant(index, None)

    def _trap(self, site: Site, frame: RunFrame, scope: Scope) -> None:
        hits = self._at.get(site)
        if hits:
            self._hit(frame, scope, site, hits)


def live_blocks(unit: Unit) -> Iterator[Block]:
    """The blocks of a source that are in use."""
    for item in list(unit.blocks):
        block = item()
        if block is not None:
            yield block


def unit_key(unit: Unit) -> str:
    """What names the source of a unit for breakpoints: its real path, else its name."""
    return source_key(unit.source.path or unit.name)


def source_key(source: str) -> str:
    """One key for all ways to name a file; names such as ``<interactive:1>`` stay."""
    if source.startswith("<") and source.endswith(">"):
        return source
    return os.path.normcase(os.path.realpath(source))


Place = tuple[tuple[int, int], "Site"]


def _start(site: Site) -> tuple[int, int]:
    span = site.span
    return span.line, span.column


def _sites_for(spec: BreakpointSpec, places: Iterable[Place]) -> Iterator[Site]:
    """The statements at the first place at or after the one asked for."""
    asked = (spec.line, spec.column or 0)
    chosen: tuple[int, int] | None = None
    for place, site in places:
        if chosen is None and place >= asked:
            chosen = place
        if chosen is not None:
            if place != chosen:
                return
            # The same statement of a source that was compiled again.
            yield site


def _place(
    item: Breakpoint,
    sites: Sequence[Site],
    changed: Callable[[Breakpoint], None] | None,
    known: bool,
) -> None:
    """Note where a breakpoint is now; tell when that is not where it was."""
    before = (item.verified, item.line, item.column, item.message)
    if sites:
        span = sites[-1].span
        item.verified, item.message = True, None
        item.line, item.column = span.line, span.column
        item.end_line, item.end_column = span.end_line, span.end_column
        if item.kind == "function":
            item.source = sites[-1].unit.name
    else:
        item.verified = False
        item.line = item.column = None
        item.end_line = item.end_column = None
        item.message = _missing(item, known)
    after = (item.verified, item.line, item.column, item.message)
    if changed is not None and after != before:
        changed(item)


def _missing(item: Breakpoint, known: bool) -> str:
    """Why a breakpoint has no place; ``known`` says whether its source is there."""
    if item.kind == "function":
        return f"no procedure `{item.name}` is defined yet"
    return "no statement begins here or below" if known else "it is set when this source runs"
