"""Where breakpoints are bound, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi.debugging import Observer
from kedi.session.debugger.breakpoints import Breakpoints
from kedi.session.debugger.events import Breakpoint, BreakpointSpec


class Rig(Observer):
    """A session whose breakpoints note where they were hit."""

    def __init__(self, session: kedi.InteractiveSession) -> None:
        self.session = session
        self.hits: list[Any] = []
        self.changes: list[tuple[int, bool, int | None]] = []
        self.points = Breakpoints(self._hit, self._changed)
        interpreter = session._interpreter
        interpreter.planter = self.points.add_block
        interpreter.attach_debugger(self)

    def _hit(self, frame: Any, scope: Any, site: Any, found: tuple[Breakpoint, ...]) -> None:
        self.hits.append((site.unit.name, site.line, [item.id for item in found]))

    def _changed(self, item: Breakpoint) -> None:
        self.changes.append((item.id, item.verified, item.line))

    def unit_added(self, unit: Any) -> None:
        self.points.add_unit(unit)

    def set(self, source: str, *lines: int) -> list[Breakpoint]:
        return self.points.set_source(source, [BreakpointSpec(line) for line in lines])


@pytest.fixture
def rig() -> Iterator[Rig]:
    with kedi.interactive() as session:
        yield Rig(session)


def test_a_breakpoint_waits_for_its_source_and_moves_to_a_statement(rig: Rig) -> None:
    (point,) = rig.set("<interactive:1>", 2)
    assert (point.verified, point.message) == (False, "it is set when this source runs")
    rig.session.execute("[a] = 1\n# a comment\n\n[b] = 2")
    assert (point.verified, point.line, point.message) == (True, 4, None)
    assert rig.changes == [(point.id, True, 4)]
    assert rig.hits == [("<interactive:1>", 4, [point.id])]


def test_below_the_last_statement_there_is_no_place(rig: Rig) -> None:
    (point,) = rig.set("<interactive:1>", 9)
    rig.session.execute("[a] = 1")
    assert (point.verified, point.message) == (False, "no statement begins here or below")
    assert rig.hits == []


def test_breakpoints_in_procedures_are_set_and_removed_while_they_live(rig: Rig) -> None:
    rig.session.execute("@f(x: int) -> int:\n  [y: int] = `x + 1`\n  = `y`")
    first, second = rig.set("<interactive:1>", 2, 3)
    rig.session.execute("`f(1)`")
    assert [line for _, line, _ in rig.hits] == [2, 3]
    (kept,) = rig.set("<interactive:1>", 3)
    assert kept.id == second.id != first.id
    rig.session.execute("`f(1)`")
    assert [line for _, line, _ in rig.hits[2:]] == [3]
    rig.points.clear()
    rig.session.execute("`f(1)`")
    assert len(rig.hits) == 3


def test_a_procedure_is_found_by_name_and_followed_when_it_is_defined_again(rig: Rig) -> None:
    (point,) = rig.points.set_functions([("f", BreakpointSpec(0))])
    assert (point.verified, point.message) == (False, "no procedure `f` is defined yet")
    rig.session.execute("[a] = 1")
    assert (point.verified, point.message) == (False, "no procedure `f` is defined yet")
    rig.session.execute("@f() -> str:\n  = one")
    assert (point.verified, point.source, point.line) == (True, "<interactive:2>", 2)
    rig.session.execute("[a] = 1\n@f() -> str:\n  # new\n  = two")
    assert (point.source, point.line) == ("<interactive:3>", 4)
    assert rig.session.execute("= `f()`") == "two"
    assert rig.hits == [("<interactive:3>", 4, [point.id])]


def test_files_are_one_source_however_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "mod.kedi").write_text("> export: *\n[a] = 1\n@f() -> str:\n  = <a>\n")
    (tmp_path / "link.kedi").symlink_to(tmp_path / "mod.kedi")
    with kedi.interactive(cwd=tmp_path) as session:
        rig = Rig(session)
        rig.set(str(tmp_path / "link.kedi"), 2, 4)
        session.execute("> import: mod\n= <f()>")
        assert [line for _, line, _ in rig.hits] == [2, 4]


def test_several_breakpoints_of_one_statement(rig: Rig) -> None:
    first, second = rig.set("<interactive:1>", 1, 2)
    rig.session.execute("# x\n[a] = 1")
    assert rig.hits == [("<interactive:1>", 2, [first.id, second.id])]


def test_a_thousand_breakpoints(rig: Rig) -> None:
    points = rig.set("<interactive:1>", *range(1, 1001))
    rig.session.execute("\n".join(f"[x{i}] = a" for i in range(1000)))
    assert all(point.verified for point in points)
    assert len(rig.hits) == 1000
