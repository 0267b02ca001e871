"""Traps in blocks, jumps and restarts: what a debugger does to a running program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kedi
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.debugging import Observer
from kedi.errors import KediExecutionError
from kedi.runtime.blocks import Block, Jump, Restart
from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.scopes import Scope


@pytest.fixture
def session() -> Iterator[kedi.InteractiveSession]:
    with kedi.interactive(adapter="scripted") as made:
        yield made


Trapped = Callable[[RunFrame, Scope, Site], None]


def trap_lines(session: kedi.InteractiveSession, lines: set[int], hit: Trapped) -> Observer:
    """Have ``hit`` called at statements of these lines in what is compiled from now on."""
    interpreter: Any = session._interpreter

    def plant(block: Block) -> None:
        for index, (site, _, _) in enumerate(block):
            if site.line in lines:
                block.plant(index, lambda frame, scope, site=site: hit(frame, scope, site))

    interpreter.planter = plant
    watcher = Watcher()
    interpreter.attach_debugger(watcher)
    return watcher


class Watcher(Observer):
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def statement(self, frame: RunFrame) -> None:
        self.told.append(("statement", frame.site and frame.site.line))

    def unit_added(self, unit: Any) -> None:
        self.told.append(("unit", unit.name))

    def exception_raised(self, frame: RunFrame, error: BaseException, caught: bool) -> None:
        self.told.append((type(error).__name__, frame.site and frame.site.line, caught))

    def thread_entered(self, frame: RunFrame) -> None:
        self.told.append(("entered", frame.site and frame.site.label))

    def thread_left(self, frame: RunFrame) -> None:
        self.told.append(("left", frame.site and frame.site.label))


LOOP = "[xs] = `[]`\n> loop [i]: `range(3)`:\n  > if: `i != 1`:\n    `xs.append(i)`\n= `xs`"


def test_a_trap_is_called_before_its_statement_with_its_scope(
    session: kedi.InteractiveSession,
) -> None:
    seen: list[Any] = []
    trap_lines(session, {4}, lambda frame, scope, site: seen.append((site.line, scope.lookup("i"))))
    assert session.execute(LOOP) == [0, 2]
    assert seen == [(4, 0), (4, 2)]


def test_a_trap_at_a_loop_is_called_at_each_return_to_its_header(
    session: kedi.InteractiveSession,
) -> None:
    seen: list[int] = []
    trap_lines(session, {2}, lambda frame, scope, site: seen.append(len(scope.lookup("xs"))))
    session.execute(LOOP)
    assert seen == [0, 1, 1, 2]


def test_a_trap_can_be_taken_away_while_it_runs(session: kedi.InteractiveSession) -> None:
    seen: list[int] = []
    blocks: list[tuple[Block, int]] = []

    def hit(frame: RunFrame, scope: Scope, site: Site) -> None:
        seen.append(scope.lookup("i"))
        for block in filter(None, [item() for item in frame.unit.blocks]):
            for index, (other, _, _) in enumerate(block):
                if other is site:
                    block.plant(index, None)
                    blocks.append((block, index))

    trap_lines(session, {4}, hit)
    assert session.execute(LOOP) == [0, 2]
    assert seen == [0]
    assert len(blocks) == 1


OUT_OF_A_LOOP = (
    "[n: int] = `0`\n> loop [i]: `range(4)`:\n  [n] := `n + 1`\n  > if: `i == 1`:\n"
    "    [m] = x\n[k] = y\n= `n`"
)


@pytest.mark.parametrize(
    ("source", "start", "goal", "expected"),
    [
        ("[a] = 1\n[b] = 2\n[b] = 3\n= `a + b`", 2, 4, None),
        ("[n: int] = `0`\n[n] := `n + 1`\n[n] := `n * 10`\n= `n`", 3, 4, 1),
        (
            OUT_OF_A_LOOP,
            5,
            6,
            2,
        ),
    ],
)
def test_jumps_forward_also_out_of_blocks(
    session: kedi.InteractiveSession, source: str, start: int, goal: int, expected: Any
) -> None:
    def hit(frame: RunFrame, scope: Scope, site: Site) -> None:
        for block in filter(None, [item() for item in frame.unit.blocks]):
            for other, _, _ in block:
                if other.line == goal:
                    raise Jump(frame, other)

    trap_lines(session, {start}, hit)
    if expected is None:
        with pytest.raises(KediExecutionError, match="'b'"):
            session.execute(source)
    else:
        assert session.execute(source) == expected


def test_a_jump_back_runs_statements_again(session: kedi.InteractiveSession) -> None:
    jumps: list[int] = []

    def hit(frame: RunFrame, scope: Scope, site: Site) -> None:
        if not jumps:
            jumps.append(1)
            (block,) = [item for item in (part() for part in frame.unit.blocks) if item]
            raise Jump(frame, block[1][0])

    trap_lines(session, {3}, hit)
    assert session.execute("[n: int] = `0`\n[n] := `n + 1`\n= `n`") == 2


def test_a_procedure_is_called_again_with_its_arguments(session: kedi.InteractiveSession) -> None:
    calls: list[Any] = []

    def hit(frame: RunFrame, scope: Scope, site: Site) -> None:
        calls.append((scope.lookup("x"), scope.lookup("y")))
        if len(calls) == 1:
            raise Restart(frame)

    trap_lines(session, {3}, hit)
    session.execute("@f(x: int) -> int:\n  [y: int] = `x + 1`\n  = `y`")
    session._interpreter.planter = None
    assert session.execute("= `f(1) + f(2)`") == 5
    assert calls == [(1, 2), (1, 2), (2, 3)]


def test_exceptions_are_told_without_an_observer_of_every_step(
    session: kedi.InteractiveSession,
) -> None:
    watcher: Any = trap_lines(session, set(), lambda *_: None)
    with pytest.raises(KediExecutionError):
        session.execute("@f():\n  `1 / 0`\n[a] = 1\n`f()`")
    assert watcher.told == [("unit", "<interactive:1>"), ("ZeroDivisionError", 2, False)]
    watcher.told.clear()
    session.execute("```\npass\n```\n```\ntry:\n    f()\nexcept ZeroDivisionError:\n    pass\n```")
    assert watcher.told[1:] == [("ZeroDivisionError", 2, True)]


def test_a_debugger_and_an_observer_are_both_told(session: kedi.InteractiveSession) -> None:
    interpreter = session._interpreter
    first, second = Watcher(), Watcher()
    session.observe(first)
    interpreter.attach_debugger(second)
    session.execute("[a] = 1")
    assert first.told == second.told == [("unit", "<interactive:1>"), ("statement", 1)]
    session.observe(None)
    session.execute("[a] = 2")
    assert len(first.told) == 2
    assert second.told[2:] == [("unit", "<interactive:2>")]
    interpreter.attach_debugger(second, every_step=True)
    session.execute("[a] = 3")
    assert second.told[3:] == [("unit", "<interactive:3>"), ("statement", 1)]
    interpreter.attach_debugger(None)
    session.execute("[a] = 4")
    assert len(second.told) == 5


def test_threads_of_the_engine_are_told() -> None:
    with kedi.interactive(adapter=ScriptedAdapter([{"x": "yes"}]), engine="parallel") as session:
        watcher: Any = trap_lines(session, set(), lambda *_: None)
        assert session.execute(">> say [x]\n= <x>") == "yes"
    assert [item for item in watcher.told if item[0] in ("entered", "left")] == [
        ("entered", ">>"),
        ("left", ">>"),
    ]
