"""Evaluating in the frames of stopped threads and in idle sessions."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import kedi
from kedi import InteractiveSession
from kedi.runtime.frames import RunFrame
from kedi.runtime.scopes import MISSING
from kedi.session.debugger.debugger import Debugger
from kedi.session.debugger.evaluation import (
    Refused,
    in_frame,
    in_python,
    in_session,
    without_effect,
)
from kedi.session.debugger.events import BreakpointSpec, Listener, Resume, Stop
from kedi.session.debugger.interrupts import Interruptible
from kedi.session.debugger.threads import DebugThread


class Playing:
    """A front end that plays a script: what to do at each stop."""

    def __init__(self, *plays: Callable[[DebugThread, Stop], Any]) -> None:
        self.plays = list(plays)
        self.stops: list[Stop] = []

    def stopped(self, thread: DebugThread, stop: Stop) -> None:
        self.stops.append(stop)
        play = self.plays.pop(0) if self.plays else None

        def job() -> Resume:
            if play is not None:
                play(thread, stop)
            return Resume()

        thread.post(job)

    def __getattr__(self, name: str) -> Any:
        if name in Listener.__dict__:
            return lambda *_: None
        raise AttributeError(name)


SOURCE = """
[total: int] = `1`
[name] = Ada
@inner(x: int) -> int:
  [y] = `x + 1`
  = `y`
@outer(n: int) -> int:
  [local: int] = `n * 2`
  > loop [i]: `range(2)`:
    [seen] = `i`
  = `local + total`
= `outer(5)`
""".strip()
IN_LOOP, AFTER, IN_INNER = 9, 10, 5


class Playground:
    """A session with a debugger whose stops are played."""

    def __init__(self, session: InteractiveSession) -> None:
        self.session = session
        self.values: list[Any] = []

    def run(
        self, *texts: str, line: int = IN_LOOP, more: tuple[int, ...] = (), source: str = SOURCE
    ) -> Any:
        """Evaluate the texts at the first stop; the fragment's value."""

        def play(thread: DebugThread, stop: Stop) -> None:
            for text in texts:
                try:
                    self.values.append(in_frame(self.debugger, thread, stop.frame, text))
                except kedi.KediError as error:
                    self.values.append(error)

        self.listener = Playing(play)
        self.debugger = Debugger(self.listener)
        self.debugger.attach(self.session._interpreter)
        self.debugger.breakpoints.set_source(
            "<interactive:1>", [BreakpointSpec(at) for at in (line, *more)]
        )
        try:
            return self.session.execute(source)
        finally:
            self.debugger.detach()


@pytest.fixture
def play(session: InteractiveSession) -> Playground:
    return Playground(session)


TABLE: dict[str, Any] = {
    "i": 0,
    "local": 10,
    "total + local + n": 16,
    "<name>": "Ada",
    "= <name>": "Ada",
    "= <local> is it": "10 is it",
    "= `local`": 10,
    "`local`": 10,
    "<local>": 10,
    "= <local>": "10",
    "<inner(`3`)>": 4,
    "= <inner(`3`)>": "4",
    "inner(3)": 4,
    "[v for v in range(n)]": [0, 1, 2, 3, 4],
    "(1,\n  local)": (1, 10),
}


@pytest.mark.parametrize(("text", "expected"), TABLE.items())
def test_values_in_the_frame(play: Playground, text: str, expected: Any) -> None:
    assert play.run(text) == 11
    assert play.values == [expected]
    assert type(play.values[0]) is type(expected)


@pytest.mark.parametrize(
    "text",
    ["[fresh] = `7`", "> show: <name>", "", "# nothing", "`local = 3`", "x = 1", "import os"],
)
def test_what_gives_nothing(play: Playground, text: str) -> None:
    play.run(text)
    assert play.values == [None]


def test_what_is_defined_stays_in_the_scope(play: Playground) -> None:
    play.run(
        "[fresh] = `7`",
        "fresh",
        "@double(x: int) -> int:\n  = `x * fresh`",
        "double(3)",
        "~Made(a)",
        "Made(a='b').a",
        "import json",
        "json.dumps([fresh])",
        "def helper(v): return v + local",
        "helper(1)",
        "k = 5",
        "k",
    )
    assert play.values == [None, 7, None, 21, None, "b", None, "[7]", None, 11, None, 5]
    assert play.session._scope.lookup("fresh") is MISSING


def test_writes_reach_their_owners(play: Playground) -> None:
    assert play.run("[total] := `100`", "`local = 50`", "local, total") == 150
    assert play.values == [None, None, (50, 100)]
    assert play.session._scope["total"] == 100


def test_writes_of_python_statements_reach_their_owners(play: Playground) -> None:
    assert play.run("local = 1\ntotal = 2", "local += 1", "(local := local + 1)") == 5
    assert play.values == [None, None, 3]


def test_writes_are_checked(play: Playground) -> None:
    assert play.run("[local] := text", "local = 'text'", "[n] := `1`", "local") == 11
    wrong, also, readonly, value = play.values
    assert "`local`" in wrong.message or "local" in wrong.message
    assert isinstance(also, kedi.KediTypeExecutionError)
    assert "read-only" in readonly.message
    assert value == 10


def test_outer_frames_have_their_own_scope(play: Playground) -> None:
    found: list[Any] = []

    def look_outward(thread: DebugThread, stop: Stop) -> None:
        for frame in stop.frame.stack():
            found.append((frame.label, in_frame(play.debugger, thread, frame, "sorted(locals_())")))

    play.session.execute("```\ndef locals_(): return []\n```", source_name="<helper>")
    play.listener = Playing(look_outward)
    play.debugger = Debugger(play.listener)
    play.debugger.attach(play.session._interpreter)
    play.debugger.breakpoints.set_source("<interactive:2>", [BreakpointSpec(IN_LOOP)])
    play.session.execute(SOURCE)
    assert [label for label, _ in found] == ["outer", "<interactive:2>"]

    def evaluate_outside(thread: DebugThread, stop: Stop) -> None:
        program = list(stop.frame.stack())[-1]
        with pytest.raises(kedi.KediExecutionError, match="local"):
            in_frame(play.debugger, thread, program, "local")
        found.append(in_frame(play.debugger, thread, program, "total"))

    play.listener.plays.append(evaluate_outside)
    play.session.execute("= `outer(1)`")
    play.debugger.detach()
    assert found[-1] == 1


def test_the_frame_stays_where_it_was(play: Playground) -> None:
    states: list[Any] = []

    def state(frame: RunFrame, stop: Stop) -> Any:
        return (frame.site, frame.scope, frame.value, frame.calls, frame.parent, stop.site)

    def look(thread: DebugThread, stop: Stop) -> None:
        states.append(state(stop.frame, stop))
        in_frame(play.debugger, thread, stop.frame, "inner(1)")
        in_frame(play.debugger, thread, stop.frame, "= 7")
        in_frame(play.debugger, thread, stop.frame, "> loop [q]: `range(3)`:\n  [z] = `q`")
        with pytest.raises(kedi.KediExecutionError):
            in_frame(play.debugger, thread, stop.frame, "1 / 0")
        states.append(state(stop.frame, stop))
        assert thread.stops == [stop]

    play.listener = Playing(look)
    play.debugger = Debugger(play.listener)
    play.debugger.attach(play.session._interpreter)
    play.debugger.breakpoints.set_source("<interactive:1>", [BreakpointSpec(IN_LOOP)])
    assert play.session.execute(SOURCE) == 11
    assert states[0] == states[1]


def test_errors_carry_their_frames(play: Playground) -> None:
    play.run("inner('x')", "1 / 0", "foo bar", "[q] = <nothing>", ">> Hi [x]", "<name", "  missing")
    wrong, zero, parse, name, model, opened, missing = play.values
    assert isinstance(wrong, kedi.KediTypeExecutionError)
    assert isinstance(zero, kedi.KediExecutionError)
    assert zero.frames[0].span.source_name.startswith("<debug:")
    assert zero.frames[0].source_line == "1 / 0"
    assert "ZeroDivisionError" in zero.render()
    assert isinstance(parse, kedi.KediParseError)
    assert name.message == "name `nothing` is not defined"
    assert "adapter" in model.message
    assert isinstance(opened, kedi.KediParseError)
    assert missing.frames[0].span.column == 1


def test_breakpoints_inside_stop_nested(play: Playground) -> None:
    seen: list[Any] = []

    def outer(thread: DebugThread, stop: Stop) -> None:
        seen.append(("before", len(thread.stops)))
        seen.append(in_frame(play.debugger, thread, stop.frame, "inner(40)"))
        seen.append(("after", len(thread.stops), thread.stop is stop))

    def inner(thread: DebugThread, stop: Stop) -> None:
        seen.append((stop.frame.label, len(thread.stops)))
        seen.append(in_frame(play.debugger, thread, stop.frame, "y"))
        in_frame(play.debugger, thread, stop.frame, "[y] := `1000`")

    play.listener = Playing(outer, inner)
    play.debugger = Debugger(play.listener)
    play.debugger.attach(play.session._interpreter)
    play.debugger.breakpoints.set_source(
        "<interactive:1>", [BreakpointSpec(IN_LOOP), BreakpointSpec(IN_INNER)]
    )
    assert play.session.execute(SOURCE) == 11
    assert seen == [("before", 1), ("inner", 2), 41, 1000, ("after", 1, True)]


def test_a_step_out_of_an_evaluation_ends_there(play: Playground) -> None:
    stops: list[str] = []

    def outer(thread: DebugThread, stop: Stop) -> None:
        assert in_frame(play.debugger, thread, stop.frame, "inner(40)") == 41

    listener = Playing(outer)

    def stopped(thread: DebugThread, stop: Stop) -> None:
        stops.append(f"{stop.reason} {stop.site.line if stop.site else 0}")
        if stop.frame.label == "inner":
            thread.post(lambda: Resume("next"))
        else:
            Playing.stopped(listener, thread, stop)

    listener.stopped = stopped  # type: ignore[method-assign]
    play.debugger = Debugger(listener)
    play.debugger.attach(play.session._interpreter)
    play.debugger.breakpoints.set_source(
        "<interactive:1>", [BreakpointSpec(IN_LOOP), BreakpointSpec(IN_INNER)]
    )
    assert play.session.execute(SOURCE) == 11
    # Nothing but the breakpoint stops once the outer stop has gone on.
    assert stops == [f"breakpoint {IN_LOOP}", f"breakpoint {IN_INNER}", f"breakpoint {IN_LOOP}"]


def test_models_are_called_and_their_values_bound(make: Callable[..., InteractiveSession]) -> None:
    from kedi.agents.adapters.scripted import ScriptedAdapter

    session = make(adapter=ScriptedAdapter([{"answer": "yes"}]))
    play = Playground(session)
    play.run(">> Is it? [answer]", "answer", "<answer>")
    assert play.values == [None, "yes", "yes"]
    assert len(session.calls) == 1


def test_python_functions_have_their_locals_first(play: Playground) -> None:
    seen: list[Any] = []

    def look(thread: DebugThread, stop: Stop) -> None:
        python = sys._getframe()
        while python.f_code.co_name != "helper":
            assert python.f_back is not None
            python = python.f_back
        for text in (
            "value, total",
            "inner(value)",
            "value = 20",
            "value",
            "[v + value for v in range(2)]",
            "fresh = 1",
            "module_level",
            "module_level = 9",
        ):
            seen.append(in_python(play.debugger, thread, stop.frame, python, text))

    play.listener = Playing(look)
    play.debugger = Debugger(play.listener)
    play.debugger.attach(play.session._interpreter)
    play.session.execute(
        "```\nmodule_level = 3\ndef helper(value):\n    inner(0)\n    return value\n```\n"
        "[total: int] = `1`\n@inner(x: int) -> int:\n  = `x`",
        source_name="<program>",
    )
    play.debugger.breakpoints.set_source("<program>", [BreakpointSpec(8)])
    assert play.session.execute("= `helper(2)`") == 20
    assert seen == [(2, 1), 2, None, 20, [20, 21], None, 3, None]
    assert play.session._scope["module_level"] == 9
    play.debugger.detach()


# ── watches ──────────────────────────────────────────────────────────────────


def test_watches_are_priced(session: InteractiveSession) -> None:
    session.execute(SOURCE)
    session.execute("@ask(t) -> str:\n  >> Tell me of <t>: [a]\n  = <a>")
    look = lambda text: without_effect(session._interpreter, session._scope, text)  # noqa: E731
    assert look("total + 1") == 2
    for text, said in {
        "inner(1)": "would call the procedure `inner`",
        "ask('cats')": "would call the model (about 5 tokens)",
        ">> Hi [x]": "would call the model (about 2 tokens)",
        "print(1)": "would run Python: `print`",
        "x = 1": "would run Python",
        "[x] = 1": "is a statement, which may write",
        "10**10**10": "would make a number of more than 20,000 bits",
    }.items():
        with pytest.raises(Refused) as caught:
            look(text)
        assert caught.value.reason == said
    assert session.calls == ()


# ── idle sessions ────────────────────────────────────────────────────────────


def test_an_idle_session_runs_fragments(session: InteractiveSession) -> None:
    debugger = Debugger(Playing())
    run = lambda text: in_session(debugger, session, text)  # noqa: E731
    assert run("[n: int] = `3`") is None
    assert run("n + 1") == 4
    assert run("x = 5") is None
    assert run("x * n") == 15
    assert run("import json") is None
    assert run("json.dumps({'a': n})") == '{"a": 3}'
    assert run("def f(v):\n  return v * n") is None
    assert run("f(2)") == 6
    assert run("@g(a: int) -> int:\n  = `f(a)`") is None
    assert run("<g(`4`)>") == "12"
    assert run("<n>") == 3
    assert run("= <n>") == "3"
    assert run("'`' + '#' + \"'\"") == "`#'"
    assert run("(1,\n 2)") == (1, 2)
    assert run("'a\\nb'") == "a\nb"
    assert run("n  # why") == 3
    assert run("") is None
    assert run("[n] := `10`") is None
    assert run("n = 11") is None
    assert run("n") == 11
    with pytest.raises(kedi.KediTypeExecutionError):
        run("n = 'text'")
    with pytest.raises(kedi.KediParseError):
        run("foo bar")
    assert [fragment.name for fragment in session.fragments][:2] == [
        "<interactive:1>",
        "<interactive:2>",
    ]


# ── interrupting ─────────────────────────────────────────────────────────────


def _late(act: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=lambda: (time.sleep(0.1), act()))
    thread.start()
    return thread


@pytest.mark.parametrize("text", ["while True: pass", "import time\ntime.sleep(60)"])
def test_the_main_thread_can_be_interrupted(text: str) -> None:
    thread = DebugThread(1, "main")
    runner = Interruptible(thread)
    helper = _late(runner.interrupt)
    with pytest.raises(KeyboardInterrupt):
        runner.run(lambda: exec(text, {}))
    helper.join()
    assert runner.interrupted


def test_other_threads_can_be_interrupted() -> None:
    ended: list[Any] = []

    def work() -> None:
        runner = Interruptible(DebugThread(2, "worker"))
        helper = _late(runner.interrupt)
        try:
            runner.run(lambda: exec("while True: pass", {}))
        except KeyboardInterrupt:
            ended.append("interrupted")
        helper.join()
        for _ in range(1_000):
            pass
        ended.append("went on")

    worker = threading.Thread(target=work)
    worker.start()
    worker.join(20)
    assert ended == ["interrupted", "went on"]


def test_late_and_early_interrupts_do_no_harm() -> None:
    for _ in range(200):
        runner = Interruptible(DebugThread(1, "main"))
        helper = threading.Thread(target=runner.interrupt)
        helper.start()
        try:
            assert runner.run(lambda: 5) == 5
        except KeyboardInterrupt:
            assert runner.interrupted
        helper.join()
    early = Interruptible(DebugThread(1, "main"))
    early.interrupt()
    with pytest.raises(KeyboardInterrupt):
        early.run(lambda: 5)


def test_an_evaluation_is_interrupted_and_the_program_goes_on(play: Playground) -> None:
    seen: list[Any] = []

    def at_stop(thread: DebugThread, stop: Stop) -> None:
        runner = Interruptible(thread)
        helper = _late(runner.interrupt)
        try:
            runner.run(lambda: in_frame(play.debugger, thread, stop.frame, "while True: pass"))
        except KeyboardInterrupt:
            seen.append("interrupted")
        helper.join()
        seen.append(in_frame(play.debugger, thread, stop.frame, "local"))

    play.listener = Playing(at_stop)
    play.debugger = Debugger(play.listener)
    play.debugger.attach(play.session._interpreter)
    play.debugger.breakpoints.set_source("<interactive:1>", [BreakpointSpec(IN_LOOP)])
    assert play.session.execute(SOURCE) == 11
    assert seen == ["interrupted", 10]
