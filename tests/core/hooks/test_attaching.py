"""Attaching, detaching, blocking and aborting, also from other threads."""

from __future__ import annotations

import threading
from inspect import isfunction
from typing import Any

import pytest

from kedi.debugging import MISSING, Fanout, Observer, RunFrame, Scope
from kedi.errors import KediExecutionError
from kedi.lang import compile_program, parse_program
from tests.core.engine.support import session
from tests.core.hooks.support import Recorder

#: Goes round until the host says stop; the loop counts.
BUSY = "> loop: `not stop()`:\n  [n] := `n + 1`\n= `n`"


class Steps(Observer):
    """Counts statements, and can be waited for."""

    def __init__(self) -> None:
        self.count = 0
        self.seen = threading.Event()

    def statement(self, frame: RunFrame) -> None:
        self.count += 1
        self.seen.set()


def test_attaching_to_a_busy_loop_from_another_thread() -> None:
    stop, running = threading.Event(), threading.Event()

    def asked() -> bool:
        running.set()
        return stop.is_set()

    first, second = Steps(), Steps()
    with session(env={"stop": asked}, loop_iteration_limit=10**9) as live:
        live.execute("[n: int] = `0`")
        outcome: list[Any] = []
        program = threading.Thread(target=lambda: outcome.append(live.execute(BUSY)))
        program.start()
        try:
            assert running.wait(30)
            live.observe(first)
            assert first.seen.wait(30)
            live.observe(second)
            assert second.seen.wait(30)
            live.observe(None)
            # One statement may be under way; after it nothing more is told.
            running.clear()
            assert running.wait(30)
            running.clear()
            assert running.wait(30)
            count = second.count
            running.clear()
            assert running.wait(30)
            assert second.count == count
        finally:
            stop.set()
            program.join(30)
        assert outcome[0] > 0


def test_attaching_and_detaching_while_it_runs_is_safe() -> None:
    """Events end with whoever is attached then; nothing is ever told to nobody."""
    stop = threading.Event()
    source = (
        "@f(x: int) -> int:\n  > if: `x >= 0`:\n    [y: int] = `x`\n    = `y`\n  = `x`\n"
        "> loop: `not stop.is_set()`:\n  > loop [i]: `range(3)`:\n    [r: int] = <f(<i>)>\n"
        "  ```\n  try:\n      f('no')\n  except TypeError:\n      pass\n  ```\n= done"
    )
    with session(env={"stop": stop}, loop_iteration_limit=10**9) as live:
        outcome: list[Any] = []

        def run() -> None:
            try:
                outcome.append(live.execute(source))
            except BaseException as error:
                outcome.append(error)

        program = threading.Thread(target=run)
        program.start()
        for _ in range(300):
            live.observe(Steps())
            live.observe(None)
        stop.set()
        program.join(30)
        assert outcome == ["done"]


def test_an_observer_attached_by_the_program_itself() -> None:
    recorder = Recorder()
    with session(env={"watch": lambda: live.observe(recorder)}) as live:
        live.execute("[a] = 1\n`watch()`\n[b] = 2\n= <b>")
    assert recorder.log == [
        "3 assignment [b]",
        "bind b - '2'",
        "4 return",
        "finish <interactive:1> '2'",
    ]


def test_blocking_stops_the_program() -> None:
    reached, go = threading.Event(), threading.Event()

    class Stop(Observer):
        def statement(self, frame: RunFrame) -> None:
            if frame.span is not None and frame.span.line == 2:
                reached.set()
                assert go.wait(30)

    with session() as live:
        live.observe(Stop())
        done: list[Any] = []
        program = threading.Thread(
            target=lambda: done.append(live.execute("[a: int] = `1`\n[a] := `2`\n= `a`"))
        )
        program.start()
        assert reached.wait(30)
        assert done == []
        go.set()
        program.join(30)
        assert done == [2]


class Abort(Exception):
    pass


class Exit(BaseException):
    pass


EVENTS = {
    "statement": "[x] = 1",
    "procedure_entered": "@f():\n  = x\n[r] = <f()>",
    "procedure_left": "@f():\n  = x\n[r] = <f()>",
    "scope_opened": "> if: `True`:\n  [x] = 1",
    "scope_closed": "> if: `True`:\n  [x] = 1",
    "binding_written": "[x] = 1",
    "python_entered": "`len('')`",
    "python_left": "`len('')`",
    "exception_raised": "`1 / 0`",
    "model_request": ">> Some [a]",
    "model_response": ">> Some [a]",
    "fragment_started": "[x] = 1",
    "fragment_finished": "[x] = 1",
}


@pytest.mark.parametrize("engine", ["sequential", "parallel"])
@pytest.mark.parametrize("kind", [Abort, Exit])
@pytest.mark.parametrize("event", EVENTS)
def test_an_observer_that_raises_aborts_cleanly(
    event: str, kind: type[BaseException], engine: str
) -> None:
    def refuse(*_: object) -> None:
        raise kind("stop")

    observer = type("Refusing", (Observer,), {event: refuse})()
    with session(engine=engine) as live:
        live.execute("[kept] = yes")
        live.observe(observer)
        with pytest.raises((KediExecutionError, Abort, Exit)) as caught:
            live.execute(EVENTS[event])
        if kind is Exit:
            assert type(caught.value) is Exit
        else:
            assert kind in (type(caught.value), type(getattr(caught.value, "original", None)))
        live.observe(None)
        assert live.execute(">> Some [a]\n= <kept> <a>").startswith("yes a")
        assert live.execute("@g():\n  = ok\n= <g()>") == "ok"


def test_an_observer_sees_frames_as_they_are() -> None:
    seen: list[dict[str, Any]] = []

    class Look(Observer):
        def statement(self, frame: RunFrame) -> None:
            if frame.procedure == "inner" and frame.site is not None:
                seen.append(
                    {
                        "kind": frame.kind,
                        "label": frame.label,
                        "source": frame.source_name,
                        "line": frame.site.span.line,
                        "statement": frame.site.kind,
                        "callers": [item.label for item in frame.stack()],
                        "scopes": [scope.kind for scope in frame.scope.chain()],
                        "names": frame.scope.own_names(),
                        "big": frame.scope.lookup("big"),
                        "depth": frame.depth,
                    }
                )

    with session() as live:
        live.execute("@inner(x):\n  > if: `True`:\n    [y] = <x>\n    = <y>\n  = z")
        live.execute("[big: list[int]] = `list(range(1000))`")
        live.observe(Look())
        live.execute("@outer(v):\n  = <inner(<v>)>\n= <outer(a)>")
        big = live.evaluate("`big`")
    first, second, third = seen
    assert first["scopes"] == ["procedure", "session", "session"]
    assert second["scopes"] == ["branch", "procedure", "session", "session"]
    assert (first["names"], second["names"], third["names"]) == (["x"], [], ["y"])
    assert [item["line"] for item in seen] == [2, 3, 4]
    assert [item["statement"] for item in seen] == ["condition", "assignment", "return"]
    for item in seen:
        assert item["kind"] == "procedure"
        assert item["label"] == "inner"
        assert item["source"] == "<interactive:1>"
        assert item["callers"] == ["inner", "outer", "<interactive:3>"]
        assert item["depth"] == 2
        assert item["big"] is big  # no copies


def test_bindings_tell_old_and_new_objects_themselves() -> None:
    old, new = [1], [2]
    seen: list[tuple[Scope, str, Any, Any]] = []

    class Look(Observer):
        def binding_written(
            self, frame: RunFrame, scope: Scope, name: str, old: Any, new: Any
        ) -> None:
            seen.append((scope, name, old, new))

    with session(env={"old": old, "new": new}) as live:
        live.observe(Look())
        live.execute("[x] = `old`\n[x] := `new`\n[x] = `old`")
    (_, _, a, b), (_, _, c, d), (scope, name, e, f) = seen
    assert (a, name, scope.kind) == (MISSING, "x", "session")
    assert b is c is f is old
    assert d is e is new


def test_fanout_tells_everyone_in_order() -> None:
    one, two = Recorder(), Recorder()
    both = Fanout([one, two])
    source = "@f(x: int) -> int:\n  > if: `True`:\n    = `1 // x`\n  = `0`\n>> Some [a]\n= `f(0)`"
    with session() as live:
        live.observe(both)
        with pytest.raises(KediExecutionError):
            live.execute(source)
    assert one.log == two.log
    assert len(one.log) > 15


def test_fanout_passes_changes_on() -> None:
    from dataclasses import replace

    class Edit(Observer):
        def __init__(self, text: str) -> None:
            self.text = text

        def model_request(self, frame: RunFrame, request: Any) -> Any:
            return replace(request, prompt=request.prompt + self.text)

        def model_response(self, frame: RunFrame, record: Any, error: Any) -> Any:
            return {"a": record.values["a"] + self.text}

    with session() as live:
        live.observe(Fanout([Edit("1"), Edit("2"), Observer()]))
        live.execute(">> Some [a]")
        (call,) = live.calls
        assert call.record.prompt == "Some [a]12"
        assert live.evaluate("<a>") == "a1112"


def test_every_event_can_be_forwarded() -> None:
    """A new event must not be forgotten by ``Fanout``."""
    events = {name for name, item in vars(Observer).items() if isfunction(item)}
    assert events == {name for name, item in vars(Fanout).items() if isfunction(item)} - {
        "__init__"
    }


def test_python_is_told_to_whom_it_concerns() -> None:
    class Entered(Observer):
        def python_entered(self, frame: RunFrame, span: Any, kind: str) -> None:
            entered.append(span)

    entered: list[Any] = []
    with session() as live:
        for observer in (Observer(), Fanout([Recorder()]), Fanout([Observer(), Entered()])):
            live.observe(observer)
            live.execute("`len('')`")
        assert [str(span) for span in entered] == ["<interactive:3>:1:1"]


def test_runtimes_are_watched_too() -> None:
    recorder = Recorder()
    program = parse_program("[x] = 1\n= <x>", source_name="p.kedi")
    with compile_program(program) as runtime:
        runtime.observe(recorder)
        runtime.run_main()
        runtime.observe(None)
        runtime.run_main()
    assert recorder.log == [
        "start p.kedi", "1 assignment [x]", "bind x - '1'", "2 return", "finish p.kedi '1'"
    ]  # fmt: skip
