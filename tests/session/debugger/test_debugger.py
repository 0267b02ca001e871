"""Stops and steps, as tables of (next command, expected stop)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

import kedi
from kedi.session.debugger.debugger import Debugger
from kedi.session.debugger.events import Breakpoint, BreakpointSpec, Resume, Stop
from kedi.session.debugger.threads import DebugThread


class Front:
    """A front end that keeps what it is told."""

    def __init__(self) -> None:
        self.stops: SimpleQueue[tuple[DebugThread, Stop] | None] = SimpleQueue()
        self.log: list[str] = []
        self.sources: list[str] = []
        self.went_on = threading.Event()

    def stopped(self, thread: DebugThread, stop: Stop) -> None:
        self.stops.put((thread, stop))

    def resumed(self, thread: DebugThread) -> None:
        self.went_on.set()

    def thread_started(self, thread: DebugThread) -> None: ...

    def thread_ended(self, thread: DebugThread) -> None: ...

    def breakpoint_changed(self, breakpoint: Breakpoint) -> None: ...

    def source_loaded(self, unit: Any) -> None:
        self.sources.append(unit.name)

    def logged(self, thread: DebugThread, site: Any, text: str) -> None:
        self.log.append(text)

    def call_started(self, thread: DebugThread, call: Any) -> None: ...

    def call_ended(self, thread: DebugThread, call: Any, logged: Any) -> None: ...


class Rig:
    """A session on a thread of its own under a debugger, driven from the test."""

    def __init__(self) -> None:
        self.front = Front()
        self.debugger = Debugger(self.front)
        self.session = kedi.interactive()
        self.result: Any = None
        self._thread: threading.Thread | None = None
        self.stopped: tuple[DebugThread, Stop] | None = None

    def run(self, source: str, *, entry: bool = False) -> None:
        self.debugger.attach(self.session._interpreter, stop_on_entry=entry)

        def work() -> None:
            try:
                self.result = self.session.execute(source)
            except BaseException as error:
                self.result = error
            self.front.stops.put(None)

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[str, int | None, str | None] | None:
        """``(reason, line, procedure)`` of the next stop; ``None`` when the fragment ended."""
        self.stopped = self.front.stops.get(timeout=20)
        if self.stopped is None:
            return None
        stop = self.stopped[1]
        return stop.reason, stop.site and stop.site.line, stop.frame.procedure

    def go(self, kind: Any = "continue", **how: Any) -> tuple[str, int | None, str | None] | None:
        assert self.stopped is not None
        self.stopped[0].post(lambda: Resume(kind, **how))
        return self.stop()


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    made.debugger.detach()
    if made._thread is not None:
        made._thread.join(20)
        assert not made._thread.is_alive()
    made.session.close()


PROGRAM = """\
@twice(x: int) -> int:
  [y: int] = `x * 2`
  = `y`
[a: int] = `twice(4)`
> if: `a > 5`:
  [b] = big
> else:
  [b] = small
> loop [i]: `range(2)`:
  [a] := `twice(a)`
= `a`
"""


def test_steps_in_over_and_out(rig: Rig) -> None:
    rig.run(PROGRAM, entry=True)
    assert rig.stop() == ("entry", 1, None)
    table: list[tuple[str, Any]] = [
        ("next", ("step", 4, None)),
        ("in", ("step", 2, "twice")),
        ("next", ("step", 3, "twice")),
        ("next", ("step", 5, None)),
        ("next", ("step", 6, None)),
        ("next", ("step", 9, None)),
        ("next", ("step", 10, None)),
        ("in", ("step", 2, "twice")),
        ("out", ("step", 9, None)),
        ("next", ("step", 10, None)),
        ("next", ("step", 9, None)),
        ("next", ("step", 11, None)),
        ("next", None),
    ]
    for command, expected in table:
        assert rig.go(command) == expected
    assert rig.result == 32


def test_the_value_of_a_procedure_is_shown_after_its_step(rig: Rig) -> None:
    rig.run(PROGRAM, entry=True)
    rig.stop()
    rig.go("next")
    rig.go("next")
    assert rig.stopped is not None
    assert rig.stopped[1].returned == ("twice", 8)
    assert rig.go() is None


def test_conditions_counts_and_messages(rig: Rig) -> None:
    specs = [
        BreakpointSpec(2, condition="i == 3"),
        BreakpointSpec(2, hit=">= 5"),
        BreakpointSpec(1, log="again, with {xs}"),
        BreakpointSpec(2, condition="nothing"),
    ]
    rig.debugger.breakpoints.set_source("<interactive:1>", specs[:3])
    rig.run("> loop [i]: `range(6)`:\n  [x] = <i>\n= done")
    assert rig.stop() == ("breakpoint", 2, None)
    assert rig.stopped is not None
    assert rig.stopped[1].scope["i"] == 3
    assert rig.go()
    assert rig.stopped[1].scope["i"] == 4
    rig.debugger.breakpoints.set_source("<interactive:1>", [specs[3]])
    assert rig.go() is None
    assert rig.result == "done"
    assert rig.front.log[0].startswith("again, with ")
    assert "name 'nothing' is not defined" in rig.front.log[-1]


def test_a_busy_loop_of_statements_pauses_and_goes_on(rig: Rig) -> None:
    rig.run("[go: bool] = `True`\n> loop: `go`:\n  [x] = y\n= done", entry=True)
    rig.stop()
    assert rig.stopped is not None
    thread = rig.stopped[0]
    thread.post(Resume)
    assert rig.front.went_on.wait(20)
    rig.debugger.pause()
    found = rig.stop()
    assert found is not None
    assert found[0] == "pause"
    stop = rig.stopped[1]

    def leave() -> Resume:
        stop.scope.update({"go": False})
        return Resume()

    thread.post(leave)
    assert rig.stop() is None
    assert rig.result == "done"


def test_jump_and_restart(rig: Rig) -> None:
    rig.debugger.breakpoints.set_source("<interactive:1>", [BreakpointSpec(3)])
    rig.run("@f(x: int) -> int:\n  [y: int] = `x + 1`\n  [y] := `y * 10`\n  = `y`\n= `f(1)`")
    assert rig.stop() == ("breakpoint", 3, "f")
    assert rig.stopped is not None
    frame = rig.stopped[1].frame
    assert rig.debugger.jump(frame, 5) is None
    assert rig.go(jump=rig.debugger.restart(frame)) == ("breakpoint", 3, "f")
    again = rig.stopped[1].frame
    assert again is not frame
    assert rig.go(jump=rig.debugger.jump(again, 4)) is None
    assert rig.result == 2


def test_detaching_lets_the_program_go_on(rig: Rig) -> None:
    rig.run(PROGRAM, entry=True)
    rig.stop()
    rig.debugger.detach()
    assert rig.stop() is None
    assert rig.result == 32
