"""The seam between a program and its model: what an observer sees, changes and repairs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.agents.contract import AdapterCapabilities
from kedi.agents.requests import CallRecord, ModelCallError, ModelRequest
from kedi.debugging import Observer, RunFrame
from kedi.errors import KediExecutionError
from tests.core.engine.support import answer, session

ENGINES = pytest.mark.parametrize("engine", ["sequential", "parallel"])


class Watcher(Observer):
    """Collects calls; ``edit`` and ``repair`` decide what goes on."""

    def __init__(
        self,
        edit: Callable[[ModelRequest], Any] | None = None,
        repair: Callable[[CallRecord, BaseException | None], Any] | None = None,
    ) -> None:
        self.edit = edit
        self.repair = repair
        self.events: list[tuple[Any, ...]] = []
        self.frames: list[RunFrame] = []

    def model_request(self, frame: RunFrame, request: ModelRequest) -> ModelRequest | None:
        self.events.append(("request", request.prompt))
        self.frames.append(frame)
        return self.edit(request) if self.edit else None

    def model_response(
        self, frame: RunFrame, record: CallRecord, error: BaseException | None
    ) -> dict[str, Any] | None:
        self.events.append(("response", dict(record.values), record.text, error is not None))
        return self.repair(record, error) if self.repair else None


@ENGINES
def test_one_request_and_one_response_per_call(engine: str) -> None:
    watcher = Watcher()
    with session(engine=engine) as live:
        live.observe(watcher)
        live.execute(">> Some [n: int].")
        live.execute("[raw] << Text")
        live.execute(">> Nothing")
        live.execute("> if: it holds\n  [x] = y")
    assert watcher.events == [
        ("request", "Some [n]."),
        ("response", {"n": 10}, None, False),
        ("request", "Text"),
        ("response", {}, "<Text>", False),
        ("request", "Nothing"),
        ("response", {}, "<Nothing>", False),
        ("request", "it holds"),
        ("response", {"claim": False}, None, False),
    ]
    assert [frame.site.label for frame in watcher.frames if frame.site] == [
        ">>", "[raw] <<", ">>", "> if"
    ]  # fmt: skip


@ENGINES
def test_the_request_can_be_replaced(engine: str) -> None:
    adapter = ScriptedAdapter(answer)
    watcher = Watcher(edit=lambda request: replace(request, prompt="Other", system="be kind"))
    with session(adapter=adapter, engine=engine) as live:
        live.observe(watcher)
        live.execute(">> Some [a].")
        assert live.evaluate("<a>") == "a6"
        (call,) = live.calls
    assert adapter.prompts == ["Other"]
    assert adapter.options == [{"system": "be kind"}]
    assert call.record.prompt == "Other"


@ENGINES
@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda request: replace(request, schema={"other": str}), "kind or fields"),
        (lambda request: replace(request, kind="raw"), "kind or fields"),
        (lambda request: "Other prompt", "ModelRequest or None, not str"),
    ],
)
def test_a_request_that_cannot_be(engine: str, edit: Any, message: str) -> None:
    with session(engine=engine) as live:
        live.observe(Watcher(edit=edit))
        with pytest.raises(KediExecutionError, match=message) as caught:
            live.execute("[x] = kept\n>> Some [a].")
        assert caught.value.frames[-1].span.line == 2
        assert live.calls == ()
        live.observe(None)
        assert live.execute(">> Some [a].\n= <a> <x>") == "a10 kept"


@ENGINES
def test_the_answer_can_be_replaced(engine: str) -> None:
    watcher = Watcher(repair=lambda record, error: {"n": 7, "d": "2024-05-06"})
    model = {"Some [n] [d].": {"n": 1, "d": "2020-01-01"}}
    with session(adapter=ScriptedAdapter(model), engine=engine) as live:
        live.observe(watcher)
        live.execute(">> Some [n: int] [d: date].")
        assert live.evaluate("`(n, d.year)`") == (7, 2024)
        (call,) = live.calls
        assert call.record.values["n"] == 7
        live.observe(Watcher(repair=lambda record, error: dict(record.values)))
        live.execute(">> Some [n: int] [d: date].")
        assert live.evaluate("`(n, d.year)`") == (1, 2020)


@ENGINES
def test_a_raw_answer_can_be_replaced(engine: str) -> None:
    with session(engine=engine) as live:
        live.observe(Watcher(repair=lambda record, error: {"text": "better"}))
        live.execute("[raw] << Text")
        assert live.evaluate("<raw>") == "better"


@ENGINES
def test_a_judgement_can_be_replaced(engine: str) -> None:
    with session(engine=engine) as live:
        live.observe(Watcher(repair=lambda record, error: {"claim": True}))
        source = "[r] = no\n> if: it holds\n  [r] := yes\n= <r>"
        assert live.execute(source) == "yes"
        live.observe(None)
        assert live.execute(source) == "no"


@ENGINES
def test_a_rejected_answer_can_be_repaired(engine: str) -> None:
    watcher = Watcher(repair=lambda record, error: {"n": 3})
    with session(adapter=ScriptedAdapter([{"n": "many"}]), engine=engine) as live:
        live.observe(watcher)
        assert live.execute(">> Count: [n: int]\n= `n`") == 3
        (call,) = live.calls
    assert watcher.events == [("request", "Count: [n]"), ("response", {}, None, True)]
    assert call.record.error is None
    assert call.record.attempts[-1].errors  # the story of what the model said stays


@ENGINES
def test_a_failed_call_can_be_repaired(engine: str) -> None:
    with session(engine=engine) as live:
        live.observe(Watcher(repair=lambda record, error: {"a": "by hand"} if error else None))
        assert live.execute(">> FAIL [a]\n= <a>") == "by hand"


@ENGINES
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "lacks `n`"),
        ({"n": "three"}, "`n` expects int"),
        ({"n": 1, "m": 2}, "no field `m`"),
        (3, "mapping of fields or None, not int"),
    ],
)
def test_repairs_are_checked(engine: str, values: Any, message: str) -> None:
    with session(engine=engine) as live:
        live.observe(Watcher(repair=lambda record, error: values))
        with pytest.raises(KediExecutionError, match=message) as caught:
            live.execute(">> Some [n: int].")
        assert caught.value.frames[-1].kind == "template"
        assert len(live.calls) == 1


@ENGINES
def test_records_of_failures(engine: str) -> None:
    with session(engine=engine) as live:
        for source in (">> FAIL [a]", ">> Fine [a]", "> if: FAIL\n  [x] = y", "[r] << FAIL"):
            try:
                live.execute(source)
            except ModelCallError:
                continue
        calls = live.calls
    assert [call.number for call in calls] == [1, 2, 3, 4]
    assert [call.record.error is None for call in calls] == [False, True, False, False]
    assert all(call.record.latency >= 0 and call.record.started > 0 for call in calls)
    assert [call.span.source_name for call in calls] == [f"<interactive:{n}>" for n in range(1, 5)]
    assert [call.record.request.kind for call in calls] == [
        "structured", "structured", "claim", "raw"
    ]  # fmt: skip


@ENGINES
def test_capabilities_are_checked_before_any_io(engine: str) -> None:
    class Plain:
        kind = "agent-framework"
        shortname = "plain"
        capabilities = AdapterCapabilities(supports_structured_output=False)
        asked = 0

        def produce_sync(self, **_: Any) -> Any:
            self.asked += 1

        def invoke_sync(self, *, prompt: str, **_: Any) -> str:
            return "text"

    adapter = Plain()
    with session(adapter=adapter, engine=engine) as live:
        with pytest.raises(ModelCallError, match="structured output") as caught:
            live.execute(">> Some [a].")
        assert caught.value.frames[-1].span.line == 1
        assert live.execute("[t] << Some\n= <t>") == "text"
    assert adapter.asked == 0


@ENGINES
def test_an_observer_that_raises_aborts_the_call(engine: str) -> None:
    class Abort(Exception):
        pass

    def refuse(request: ModelRequest) -> None:
        raise Abort("not this one")

    with session(engine=engine) as live:
        live.observe(Watcher(edit=refuse))
        with pytest.raises(KediExecutionError) as caught:
            live.execute("[x] = kept\n>> Some [a].\n= <a>")
        assert isinstance(caught.value.original, Abort)
        assert live.calls == ()
        assert live.evaluate("<x>") == "kept"


@ENGINES
def test_an_observer_may_block_a_call(engine: str) -> None:
    """That is how a debugger stops before a call is sent."""
    asked, go = threading.Event(), threading.Event()

    def wait(request: ModelRequest) -> None:
        asked.set()
        assert go.wait(30)

    adapter = ScriptedAdapter(answer)
    with session(adapter=adapter, engine=engine) as live:
        live.observe(Watcher(edit=wait))
        seen: list[int] = []

        def later() -> None:
            assert asked.wait(30)
            seen.append(len(adapter.calls))
            go.set()

        helper = threading.Thread(target=later)
        helper.start()
        live.execute(">> Some [a].")
        helper.join()
    assert seen == [0]


def test_calls_of_parallel_jobs_have_their_template_as_frame() -> None:
    watcher = Watcher()
    with session(parallel=True) as live:
        live.observe(watcher)
        live.execute("@ask(x):\n  [y] = <x>\n  >> About <y>: [a]\n  = <a>\n= <ask(one)>")
    (frame,) = watcher.frames
    assert frame.procedure == "ask"
    assert frame.site is not None
    assert frame.site.span.line == 3
    assert [item.label for item in frame.stack()] == ["ask", "<interactive:1>"]
    assert "y" in frame.scope.own_names()


def test_the_log_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from kedi.runtime import calls

    assert calls.MAX_CALLS >= 1_000
    monkeypatch.setattr(calls, "MAX_CALLS", 3)
    with session() as live:
        live.execute("> loop [i]: `range(5)`:\n  >> Item <i> [a]")
        assert [call.number for call in live.calls] == [3, 4, 5]
