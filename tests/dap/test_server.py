"""The server in the debugged process: where requests run and in which order things are told."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

import kedi
from kedi.lang import compile_program, parse_program
from kedi.repl.prompt import Prompt
from kedi.session.debugger.events import BreakpointSpec, Resume
from kedi_dap.debuggee.outlet import Outlet
from kedi_dap.debuggee.tee import Tee
from kedi_dap.listener import _PromptJobs  # pyright: ignore[reportPrivateUsage]
from kedi_dap.masking import Masker
from kedi_dap.server import capabilities, dispatch
from kedi_dap.server.arguments import Arguments, RequestError
from kedi_dap.server.dispatch import LATER, Answer, Request, Route, find
from kedi_dap.server.routes import HOMES
from kedi_dap.server.server import DebugServer, Settings

Handler = Callable[[DebugServer, Arguments, Request], Any]


class FakeLink:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.changed = threading.Condition()

    def send(self, body: bytes) -> None:
        with self.changed:
            self.sent.append(orjson.loads(body))
            self.changed.notify_all()

    def close(self) -> None: ...

    def wait(self, find: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        with self.changed:
            assert self.changed.wait_for(lambda: any(map(find, self.sent)), 20), self.sent
            return next(filter(find, self.sent))


class Harness:
    """A server whose client is the test."""

    def __init__(self) -> None:
        self.link = FakeLink()
        self.server = DebugServer(Outlet(self.link, Masker()), Settings())
        self._seq = 0

    def send(self, command: str, **arguments: Any) -> int:
        self._seq += 1
        message = {"seq": self._seq, "type": "request", "command": command}
        self.server.receive(orjson.dumps({**message, "arguments": arguments}))
        return self._seq

    def answer(self, seq: int) -> dict[str, Any]:
        return self.link.wait(lambda m: m["type"] == "response" and m["request_seq"] == seq)

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self.answer(self.send(command, **arguments))

    def event(self, name: str, count: int = 1) -> dict[str, Any]:
        def enough(_: object) -> bool:
            return len(self.events(name)) >= count

        self.link.wait(enough)
        return self.events(name)[count - 1]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [m["body"] for m in self.link.sent if m.get("event") == name]

    def names(self) -> list[str]:
        return [m.get("event") or f"-> {m['command']}" for m in self.link.sent]


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Registers handlers for one test."""

    def add(command: str, handler: Handler, place: dispatch.Place = "thread") -> None:
        monkeypatch.setitem(
            dispatch._ROUTES,  # pyright: ignore[reportPrivateUsage]
            command,
            Route(command, place, handler),
        )

    add("go", lambda server, arguments, request: Resume())
    add("step", lambda server, arguments, request: Resume("next"))
    add("where", lambda server, arguments, request: {"name": threading.current_thread().name})
    return add


@pytest.fixture
def harness(routes: object) -> Iterator[Harness]:
    made = Harness()
    yield made
    made.server.close()


@pytest.fixture
def run(harness: Harness) -> Iterator[Callable[..., threading.Thread]]:
    """Runs a program on a thread of its own, with breakpoints at lines."""
    threads: list[threading.Thread] = []

    def start(text: str, *lines: int) -> threading.Thread:
        server = harness.server
        runtime = compile_program(parse_program(text, source_name="main.kedi"))
        server.debugger.breakpoints.set_source("main.kedi", [BreakpointSpec(n) for n in lines])

        def act() -> None:
            server.main = server.debugger.current()
            server.debugger.attach(runtime.interpreter)
            runtime.run_main()
            server.event("done")

        thread = threading.Thread(target=act, name="program")
        threads.append(thread)
        thread.start()
        return thread

    yield start
    harness.server.debugger.detach()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_every_advertised_capability_is_dispatched() -> None:
    offered = capabilities.advertised()
    for item in capabilities.CAPABILITIES:
        for command in item.commands if item.name in offered else ():
            route = find(command)
            assert (command in capabilities.SUPERVISED) != (route is not None), command
    for command in HOMES:
        route = find(command)
        assert route is not None
        assert route.command == command
        # Nothing is dispatched that no client may send.
        assert command in capabilities.implied() | {"threads"}


def test_a_stopped_thread_does_the_jobs(harness: Harness, run: Callable[..., Any]) -> None:
    run("[x] = `1`\n[y] = `2`\n[z] = `3`\n", 2)
    stopped = harness.event("stopped")
    assert stopped["reason"] == "breakpoint"
    assert stopped["allThreadsStopped"] is True
    assert stopped["hitBreakpointIds"] == [1]
    assert harness.request("where", threadId=1)["body"] == {"name": "program"}
    assert harness.request("where")["body"] == {"name": "program"}
    assert harness.request("step", threadId=1)["success"]
    harness.event("stopped", 2)
    assert harness.request("go", threadId=1)["success"]
    harness.event("done")
    names = harness.names()
    # A control request is answered before what it causes.
    assert names.index("-> step") < names.index("stopped", names.index("stopped") + 1)
    assert names.index("-> go") < names.index("done")
    assert "continued" not in names


def test_a_running_thread_refuses(
    harness: Harness, run: Callable[..., Any], routes: Callable[..., None]
) -> None:
    gate = threading.Event()
    harness.server.debugger  # noqa: B018 - made before the program runs
    import builtins

    builtins.gate = gate  # pyright: ignore[reportAttributeAccessIssue]
    try:
        run("[x] = `1`\n[y] = `gate.wait(20)`\n[z] = `3`\n", 1)
        harness.event("stopped")
        release = threading.Event()
        routes("wait", lambda s, a, r: {"waited": release.wait(20)})
        # These come while a job runs; one of them after the thread was told to go on.
        first = harness.send("wait")
        second, third, fourth = harness.send("where"), harness.send("go"), harness.send("where")
        release.set()
        assert harness.answer(first)["body"] == {"waited": True}
        assert harness.answer(second)["success"]
        assert harness.answer(third)["success"]
        refused = harness.answer(fourth)
        assert not refused["success"]
        assert "running again; pause it first" in refused["message"]
        refused = harness.request("where")
        assert "is running; pause it first" in refused["message"]
    finally:
        gate.set()
        del builtins.gate  # pyright: ignore[reportAttributeAccessIssue]
    harness.event("done")


def test_a_stop_inside_of_a_job_unwinds_to_the_outer_one(
    harness: Harness, run: Callable[..., Any], routes: Callable[..., None]
) -> None:
    def evaluate(server: DebugServer, arguments: Arguments, request: Request) -> dict[str, Any]:
        thread = server.debugger.current()
        assert thread.stop is not None
        with server.being(thread, "running"):
            value = eval("f()", dict(thread.stop.scope))  # pyright: ignore
        return {"value": value}

    routes("evaluate", evaluate)
    run("@f() -> int:\n  [a] = `5`\n  = `a`\n\n[x] = `1`\n[y] = `2`\n", 2, 6)
    harness.event("stopped")
    seq = harness.send("evaluate")
    harness.event("stopped", 2)
    assert len([m for m in harness.link.sent if m["type"] == "response"]) == 0
    # Jobs are done at the inner stop.
    assert harness.request("where")["success"]
    assert harness.request("go", threadId=1)["success"]
    assert harness.answer(seq)["body"] == {"value": 5}
    again = harness.event("stopped", 3)
    assert again == harness.events("stopped")[0]
    assert harness.request("go", threadId=1)["success"]
    harness.event("done")


def test_an_idle_session_does_jobs(harness: Harness) -> None:
    server = harness.server
    with kedi.interactive() as session:
        ready = threading.Event()

        def idle() -> None:
            server.find_session = lambda: session
            server.main = server.debugger.current()
            server.debugger.attach(session.interpreter)
            ready.set()
            server.serve_idle()

        thread = threading.Thread(target=idle, name="console")
        thread.start()
        ready.wait(20)
        while server.state(server.main) != "idle":  # pyright: ignore[reportArgumentType]
            pass
        assert harness.request("where")["body"] == {"name": "console"}
        # Going on means nothing there.
        assert harness.request("go")["success"]
        assert harness.request("where")["success"]
        server.leave_idle()
        thread.join(20)
        assert not thread.is_alive()
        assert not harness.request("where")["success"]


@pytest.mark.parametrize("how", ["pipe", "select", "busy"])
def test_a_prompt_does_jobs_while_it_waits(harness: Harness, how: str) -> None:
    """On this, the main thread: it waits for input as a REPL does, and a signal wakes it."""
    server = harness.server

    class Shell:
        session = None

    prompt = Prompt(Shell())  # pyright: ignore[reportArgumentType]
    prompt.open()
    server.main = server.debugger.thread_of(threading.main_thread())
    server.door(server.main).wake = prompt.wake
    tee = Tee(server.outlet)
    prompt.connect(_PromptJobs(server, tee))
    reading, writing = os.pipe()
    answers: list[dict[str, Any]] = []

    def ask() -> None:
        while server.state(server.main) != "idle":  # pyright: ignore[reportArgumentType]
            pass
        answers.extend(harness.request("where") for _ in range(20))
        os.write(writing, b"x")

    asker = threading.Thread(target=ask)
    asker.start()
    try:
        with prompt.waiting():
            if how == "pipe":
                assert os.read(reading, 1) == b"x"
            elif how == "select":
                import select

                assert select.select([reading], [], [], 20)[0]
            else:
                while asker.is_alive():
                    pass
        asker.join(20)
        assert [answer["body"]["name"] for answer in answers] == ["MainThread"] * 20
        assert "is running" in harness.request("where")["message"]
    finally:
        prompt.connect(None)
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("place", ["reader", "thread"])
def test_handlers_answer_in_many_ways(
    harness: Harness,
    run: Callable[..., Any],
    routes: Callable[..., None],
    place: dispatch.Place,
) -> None:
    run("[x] = `1`\n[y] = `2`\n", 2)
    harness.event("stopped")

    def refuse(*_: object) -> None:
        raise RequestError("not {this} way", show_user=False)

    def fail(*_: object) -> None:
        raise ZeroDivisionError("oops")

    def later(server: DebugServer, arguments: Arguments, request: Request) -> Any:
        threading.Thread(target=lambda: request.respond({"late": True})).start()
        return LATER

    def twice(server: DebugServer, arguments: Arguments, request: Request) -> Any:
        request.respond({"first": True})
        request.fail("no")
        return {"second": True}

    routes("nothing", lambda *_: None, place)
    routes("body", lambda *_: {"a": 1}, place)
    routes("after", lambda s, a, r: Answer({"a": 2}, after=lambda: s.event("then")), place)
    routes("refuse", refuse, place)
    routes("fail", fail, place)
    routes("later", later, place)
    routes("twice", twice, place)
    assert "body" not in harness.request("nothing")
    assert harness.request("body")["body"] == {"a": 1}
    assert harness.request("after")["body"] == {"a": 2}
    harness.event("then")
    names = harness.names()
    assert names.index("-> after") < names.index("then")
    refused = harness.request("refuse")
    assert refused["message"] == "not {this} way"
    assert refused["body"]["error"]["variables"] == {"text": "not {this} way"}
    assert refused["body"]["error"]["showUser"] is False
    failed = harness.request("fail")
    assert "ZeroDivisionError: oops" in failed["message"]
    assert "Traceback" in harness.event("output")["output"]
    assert harness.request("later")["body"] == {"late": True}
    assert harness.request("twice")["body"] == {"first": True}
    assert harness.request("body")["success"]
    assert sum(m.get("command") == "twice" for m in harness.link.sent) == 1


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "a JSON object"),
        (b"\xff\xfe", "not JSON"),
        (b'{"type":"event"}', "`type`"),
        (b'{"type":"request","seq":1}', "`command`"),
        (b'{"type":"request","command":"x"}', "`seq`"),
        (b'{"type":"request","command":"x","seq":"1"}', "`seq`"),
        (b'{"type":"request","command":"x","seq":1,"arguments":[]}', "`arguments`"),
        (b'{"type":"request","command":"nonesuch","seq":1}', "there is no request `nonesuch`"),
    ],
)
def test_malformed_requests_get_an_error(harness: Harness, sent: bytes, said: str) -> None:
    harness.server.receive(sent)
    assert said in harness.link.sent[-1]["message"]
    assert harness.link.sent[-1]["success"] is False
    assert harness.request("threads")["success"]


def test_threads_that_are_not_there(harness: Harness, run: Callable[..., Any]) -> None:
    run("[x] = `1`\n[y] = `2`\n", 2)
    harness.event("stopped")
    assert "no thread 99" in harness.request("where", threadId=99)["message"]
    assert "a whole number" in harness.request("where", threadId="1")["message"]
    assert "a moment that is over" in harness.request("where", frameId=12345)["message"]


def test_cancelled_requests_are_dropped(
    harness: Harness, run: Callable[..., Any], routes: Callable[..., None]
) -> None:
    run("[x] = `1`\n[y] = `2`\n", 2)
    harness.event("stopped")
    told: list[str] = []
    begun, release = threading.Event(), threading.Event()

    def slow(server: DebugServer, arguments: Arguments, request: Request) -> dict[str, Any]:
        request.on_cancel(release.set)
        begun.set()
        release.wait(20)
        request.on_cancel(None)
        return {"cancelled": request.cancelled}

    routes("slow", slow)
    routes("tell", lambda *_: told.append("ran"))
    first = harness.send("slow")
    second = harness.send("tell")
    begun.wait(20)
    harness.server.cancel(second, None)
    harness.server.cancel(first, None)
    assert harness.answer(first)["body"] == {"cancelled": True}
    assert harness.answer(second)["message"] == "cancelled"
    assert told == []
    harness.server.cancel(first, "no such progress")
    harness.server.cancel(999, None)


def test_when_the_client_leaves_the_program_goes_on(
    harness: Harness, run: Callable[..., threading.Thread]
) -> None:
    thread = run("[x] = `1`\n[y] = `2`\n", 1, 2)
    harness.event("stopped")
    sent = len(harness.link.sent)
    harness.server.close()
    thread.join(20)
    assert not thread.is_alive()
    assert len(harness.link.sent) <= sent + 1


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda a: a.text("n"), "`n` is text, not a number"),
        (lambda a: a.text("no"), "`no` is missing"),
        (lambda a: a.integer("t"), "`t` is a whole number, not text"),
        (lambda a: a.integer("f"), "`f` is a whole number"),
        (lambda a: a.integer("b"), "`b` is a whole number, not true or false"),
        (lambda a: a.flag("t"), "`t` is true or false, not text"),
        (lambda a: a.items("l"), r"`l\[0\]` is an object, not a number"),
        (lambda a: a.texts("l"), r"`l\[0\]` is text"),
        (lambda a: a.integers("m"), r"`m\[1\]` is a whole number"),
        (lambda a: a.section("o").text("p"), "`o.p` is text"),
        (lambda a: a.items("s")[1].text("q"), r"`s\[1\].q` is missing"),
        (lambda a: a.one_of("t", ("a", "b")), "`t` is one of 'a', 'b', not 'text'"),
    ],
)
def test_arguments_of_another_kind_are_named(read: Callable[[Arguments], Any], said: str) -> None:
    values = {
        **{"n": 1, "t": "text", "f": 1.5, "b": True, "l": [1], "m": [1, "x"], "o": {"p": 1}},
        **{"s": [{"q": "x"}, {}]},
    }
    with pytest.raises(RequestError, match=said):
        read(Arguments(values))


def test_arguments() -> None:
    given = Arguments({"a": "x", "b": 2.0, "c": None, "d": {"e": [1]}, "f": False})
    assert given.text("a") == "x"
    assert given.integer("b") == 2
    assert given.text("c", None) is None
    assert not given.has("c")
    assert given.section("d").integers("e") == [1]
    assert given.section("none", None) is None
    assert given.items("none", None) == []
    assert given.flag("f", True) is False
    assert given.flag("g", True) is True
