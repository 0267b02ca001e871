"""Model calls: capability checks, dispatch, validation and records."""

from __future__ import annotations

import asyncio
import contextvars
import os
import pickle
import signal
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import BaseModel

from kedi.agent_adapter import (
    AdapterCapabilities,
    AgentAdapter,
    Answer,
    Attempt,
    CallInfo,
    LazyAdapter,
    TextAnswer,
    Usage,
)
from kedi.agents.calls import (
    CallObserver,
    CallRecord,
    ModelCallError,
    ModelRequest,
    call_model,
)
from kedi.errors import KediModelError


class Base:
    kind = "agent-framework"
    shortname = "fake"
    capabilities = AdapterCapabilities(supports_structured_output=True)


class Sync(Base):
    """Answers with what it was given; has the synchronous half only."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.seen: list[dict[str, Any]] = []

    def produce_sync(self, *, template: str, output_schema: dict[str, Any], **kw: Any) -> Any:
        self.seen.append({"template": template, "schema": output_schema, **kw})
        return self.reply()

    def invoke_sync(self, *, prompt: str, **kw: Any) -> Any:
        self.seen.append({"prompt": prompt, **kw})
        return self.reply()

    def reply(self) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Async(Base):
    """Has the asynchronous half only."""

    def __init__(self, answer: Any = None, delay: float = 0.0) -> None:
        self.answer = answer
        self.delay = delay
        self.threads: list[threading.Thread] = []
        self.cancelled = threading.Event()

    async def produce(self, *, template: str, output_schema: dict[str, Any]) -> Any:
        return await self.reply()

    async def invoke(self, *, prompt: str) -> Any:
        return await self.reply()

    async def reply(self) -> Any:
        self.threads.append(threading.current_thread())
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return self.answer


FIELD = ModelRequest("structured", "Count: [n]", {"n": int})


def failing(adapter: Any, request: ModelRequest) -> ModelCallError:
    with pytest.raises(ModelCallError) as caught:
        call_model(adapter, request)
    return caught.value


def test_structured_call() -> None:
    adapter = Sync({"n": 3})
    record = call_model(adapter, FIELD)
    assert record.values == {"n": 3}
    assert adapter.seen == [{"template": "Count: [n]", "schema": {"n": int}}]
    assert (record.adapter, record.prompt, record.error) == ("fake", "Count: [n]", None)
    assert record.attempts == (Attempt('{"n": 3}'),)
    assert record.latency >= 0
    assert record.usage is None


def test_raw_call() -> None:
    record = call_model(Sync("hello"), ModelRequest("raw", "Say"))
    assert (record.text, record.values) == ("hello", {})


def test_claim_is_one_bool_field_named_claim() -> None:
    adapter = Sync({"claim": True})
    record = call_model(adapter, ModelRequest("claim", "It rains"))
    assert record.claim is True
    assert adapter.seen == [{"template": "It rains", "schema": {"claim": bool}}]


def test_template_without_fields_asks_for_text() -> None:
    adapter = Sync("ignored")
    record = call_model(adapter, ModelRequest("structured", "Note."))
    assert adapter.seen == [{"prompt": "Note."}]
    assert record.values == {}


def test_only_set_options_are_passed() -> None:
    adapter = Sync({"n": 1})
    request = ModelRequest(
        "structured",
        "[n]",
        {"n": int},
        model="m",
        effort="low",
        system="s",
        settings={"temperature": 0},
    )
    call_model(adapter, request)
    seen = adapter.seen[0]
    assert (seen["model"], seen["effort"], seen["system"]) == ("m", "low", "s")
    assert seen["settings"] == {"temperature": 0}
    assert "tools" not in seen


# ── capabilities ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("known", "request_", "directive"),
    [
        ({"supports_structured_output": False}, FIELD, "template with fields"),
        ({"supports_structured_output": False}, ModelRequest("claim", "x"), "> if:"),
        ({"supports_model_override": False}, ModelRequest("raw", "x", model="m"), "> model:"),
        ({"supports_effort": False}, ModelRequest("raw", "x", effort="low"), "> effort:"),
        ({"supports_profile": False}, ModelRequest("raw", "x", system="s"), "> system:"),
        ({"supports_settings": False}, ModelRequest("raw", "x", settings={"a": 1}), "> settings:"),
        ({"supports_tools": False}, ModelRequest("raw", "x", tools=(print,)), "> use:"),
        ({}, ModelRequest("raw", "x", requires=("mcp",)), "> requires:"),
    ],
)
def test_missing_capability_is_an_error_before_io(
    known: dict[str, bool], request_: ModelRequest, directive: str
) -> None:
    adapter = Sync("x")
    adapter.capabilities = AdapterCapabilities(**known)
    error = failing(adapter, request_)
    assert adapter.seen == []
    assert "`fake`" in error.message
    assert directive in error.message
    assert error.hint
    assert error.record is not None
    assert error.record.error == error.message


def test_raw_calls_need_no_structured_output() -> None:
    adapter = Sync("x")
    adapter.capabilities = AdapterCapabilities(supports_structured_output=False)
    assert call_model(adapter, ModelRequest("raw", "x")).text == "x"


def test_unknown_setting_names_the_nearest() -> None:
    adapter = Sync("x")
    adapter.capabilities = AdapterCapabilities(setting_names=frozenset({"temperature"}))
    error = failing(adapter, ModelRequest("raw", "x", settings={"temprature": 1}))
    assert "`temprature`" in error.message
    assert "temperature" in str(error.hint)
    assert adapter.seen == []


def test_unknown_requirement_names_the_nearest() -> None:
    error = failing(Sync("x"), ModelRequest("raw", "x", requires=("structured_ouput",)))
    assert "structured_output" in str(error.hint)


def test_met_requirement_is_fine() -> None:
    request = ModelRequest("raw", "x", requires=("structured_output",))
    assert call_model(Sync("x"), request).text == "x"


def test_option_that_the_method_cannot_take_is_not_dropped() -> None:
    adapter = Async("x")
    error = failing(adapter, ModelRequest("raw", "x", system="be kind"))
    assert "`system`" in error.message
    assert "> system:" in error.message
    assert adapter.threads == []


def test_wrong_capabilities_object_is_named() -> None:
    adapter: Any = Sync("x")
    adapter.capabilities = {"supports_tools": True}
    assert "AdapterCapabilities" in str(failing(adapter, FIELD))


def test_adapter_without_any_metadata_is_tried() -> None:
    class Bare:
        def invoke_sync(self, *, prompt: str) -> str:
            return prompt.upper()

    record = call_model(Bare(), ModelRequest("raw", "x"))
    assert (record.text, record.adapter) == ("X", "Bare")


def test_aliased_capabilities_agree() -> None:
    known = AdapterCapabilities(supports_tool_registration=True, supports_history_replay=True)
    assert known.supports_tools is True
    assert known.supports_history is True
    assert known.get("tool_registration") is True
    with pytest.raises(ValueError, match="contradicts"):
        AdapterCapabilities(supports_tools=True, supports_tool_registration=False)


# ── halves ───────────────────────────────────────────────────────────────────


def test_asynchronous_half_alone_works() -> None:
    assert call_model(Async({"n": 1}), FIELD).values == {"n": 1}
    assert call_model(Async("x"), ModelRequest("raw", "x")).text == "x"


def test_asynchronous_half_works_inside_a_running_loop() -> None:
    adapter = Async({"n": 1})

    async def main() -> Mapping[str, Any]:
        return call_model(adapter, FIELD).values

    assert asyncio.run(main()) == {"n": 1}
    assert adapter.threads[0] is not threading.current_thread()


def test_synchronous_half_works_inside_a_running_loop() -> None:
    async def main() -> Mapping[str, Any]:
        return call_model(Sync({"n": 1}), FIELD).values

    assert asyncio.run(main()) == {"n": 1}


def test_synchronous_half_that_starts_a_loop_is_not_used_inside_one() -> None:
    class Both(Async):
        def produce_sync(self, *, template: str, output_schema: dict[str, Any]) -> Any:
            return asyncio.run(self.produce(template=template, output_schema=output_schema))

    async def main() -> Mapping[str, Any]:
        return call_model(Both({"n": 1}), FIELD).values

    assert asyncio.run(main()) == {"n": 1}
    assert call_model(Both({"n": 1}), FIELD).values == {"n": 1}


def test_inherited_stubs_do_not_count_as_a_half() -> None:
    class Half(AgentAdapter):
        kind = "agent-framework"
        shortname = "half"
        capabilities = AdapterCapabilities()

        async def produce(self, *, template: str, output_schema: dict[str, Any], **kw: Any) -> Any:
            return {"n": 1}

    adapter = Half()
    assert call_model(adapter, FIELD).values == {"n": 1}
    error = failing(adapter, ModelRequest("raw", "x"))
    assert "neither `invoke_sync` nor `invoke`" in error.message


def test_not_implemented_stub_falls_back_to_the_other_half() -> None:
    class Stub(Async):
        def produce_sync(self, **_: Any) -> Any:
            raise NotImplementedError

    assert call_model(Stub({"n": 1}), FIELD).values == {"n": 1}


def test_not_implemented_from_deeper_is_a_failure() -> None:
    calls: list[int] = []

    def deeper() -> None:
        calls.append(1)
        raise NotImplementedError("this provider")

    class Deep(Async):
        def produce_sync(self, **_: Any) -> Any:
            return deeper()

    assert "this provider" in failing(Deep({"n": 1}), FIELD).message
    assert calls == [1]


def test_call_inside_an_asynchronous_call() -> None:
    class Outer(Base):
        async def produce(self, *, template: str, output_schema: dict[str, Any]) -> Any:
            return dict(call_model(Async({"n": 7}), FIELD).values)

    assert call_model(Outer(), FIELD).values == {"n": 7}


def test_context_variables_reach_the_coroutine() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")

    class Reader(Base):
        async def invoke(self, *, prompt: str) -> str:
            return who.get()

    who.set("me")
    assert call_model(Reader(), ModelRequest("raw", "x")).text == "me"


def test_concurrent_calls_do_not_wait_for_each_other() -> None:
    adapter = Async({"n": 1}, delay=0.2)
    with ThreadPoolExecutor(8) as pool:
        records = list(pool.map(lambda _: call_model(adapter, FIELD), range(8)))
    assert [record.values for record in records] == [{"n": 1}] * 8


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_keyboard_interrupt_cancels_an_asynchronous_call() -> None:
    adapter = Async({"n": 1}, delay=60)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        call_model(adapter, FIELD)
    assert adapter.cancelled.wait(10)
    assert time.monotonic() - before < 30


@pytest.mark.parametrize("exit_", [KeyboardInterrupt(), SystemExit(3)])
def test_exits_pass_through_synchronous_calls(exit_: BaseException) -> None:
    with pytest.raises(type(exit_)):
        call_model(Sync(exit_), FIELD)


def test_lazy_adapter_is_checked_before_it_is_built() -> None:
    built: list[int] = []

    def build() -> Any:
        built.append(1)
        return Async({"n": 1})

    lazy = LazyAdapter(
        build, shortname="slow", capabilities=AdapterCapabilities(supports_effort=False)
    )
    error = failing(lazy, ModelRequest("structured", "[n]", {"n": int}, effort="low"))
    assert "`slow`" in error.message
    assert not lazy.loaded
    assert call_model(lazy, FIELD).values == {"n": 1}
    assert call_model(lazy, FIELD).values == {"n": 1}
    assert built == [1]


def test_lazy_adapter_that_cannot_be_built() -> None:
    def build() -> Any:
        raise ImportError("no such library")

    error = failing(LazyAdapter(build, shortname="slow"), FIELD)
    assert "no such library" in error.message
    assert isinstance(error.original, ImportError)


# ── failures ─────────────────────────────────────────────────────────────────


def test_adapter_exceptions_become_model_errors_with_their_cause() -> None:
    problem = ConnectionError("refused")
    error = failing(Sync(problem), FIELD)
    assert isinstance(error, KediModelError)
    assert error.original is problem
    assert error.__cause__ is problem
    assert "`fake` failed: refused" in error.message
    assert "ConnectionError" in error.render()


def test_adapter_is_asked_once_only() -> None:
    adapter = Sync(TimeoutError("slow"))
    failing(adapter, FIELD)
    assert len(adapter.seen) == 1


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        (None, ["nothing", "dict"]),
        ("text", ["str", "dict"]),
        ([("n", 1)], ["list", "dict"]),
        ({}, ["did not fill `n`"]),
        ({"m": 1}, ["did not fill `n`", "filled `m`"]),
        ({"n": 1, "extra": 2}, ["filled `extra`"]),
        ({"n": "many"}, ["n", "int", "'many'"]),
    ],
)
def test_answer_that_does_not_fit(answer: Any, parts: list[str]) -> None:
    error = failing(Sync(answer), FIELD)
    for part in parts:
        assert part in error.message
    assert error.record is not None
    assert error.record.values == {}
    assert error.record.error == error.message


def test_every_wrong_field_is_named() -> None:
    request = ModelRequest("structured", "[a] [b] [c]", {"a": int, "b": bool, "c": str})
    error = failing(Sync({"a": "x", "b": 1, "c": "fine"}), request)
    assert "[a: int]" in error.message
    assert "[b: bool]" in error.message
    assert "[c" not in error.message
    assert error.record is not None
    assert len(error.record.attempts[-1].errors) == 2


def test_raw_answer_must_be_text() -> None:
    assert "dict" in failing(Sync({"n": 1}), ModelRequest("raw", "x")).message


def test_type_that_cannot_be_asked_for() -> None:
    error = failing(Sync({"n": 1}), ModelRequest("structured", "[n]", {"n": "int"}))
    assert "`[n]`" in error.message


def test_model_instances_and_dicts_are_accepted() -> None:
    class Ticket(BaseModel):
        urgency: int

    request = ModelRequest("structured", "[t]", {"t": Ticket})
    assert call_model(Sync({"t": {"urgency": 3}}), request).values == {"t": Ticket(urgency=3)}
    ticket = Ticket(urgency=4)
    assert call_model(Sync({"t": ticket}), request).values["t"] is ticket
    assert "urgency" in failing(Sync({"t": {"urgency": "3"}}), request).message


def test_answer_that_json_cannot_hold_is_still_recorded() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError("no")

    odd = Odd()
    record = call_model(Sync({"n": odd}), ModelRequest("structured", "[n]", {"n": Odd}))
    assert record.values["n"] is odd
    assert "ValueError" in str(record.attempts[0].raw)


def test_errors_survive_pickling() -> None:
    error = failing(Sync({"n": "x"}), FIELD)
    again = pickle.loads(pickle.dumps(error))
    assert again.message == error.message
    assert again.hint == error.hint
    assert again.record is None


# ── what adapters may tell, and observers ────────────────────────────────────


def test_answers_may_carry_usage_cost_and_attempts() -> None:
    info = CallInfo(Usage(10, 5), 0.25, "model-1", (Attempt("no", ("bad",)), Attempt('{"n": 1}')))
    record = call_model(Sync(Answer({"n": 1}, info)), FIELD)
    assert record.usage == Usage(10, 5)
    assert record.usage.total_tokens == 15
    assert (record.cost, record.model) == (0.25, "model-1")
    assert record.attempts == info.attempts
    text = call_model(Sync(TextAnswer("hi", info)), ModelRequest("raw", "x"))
    assert text.text == "hi"
    assert type(text.text) is str
    assert text.usage == Usage(10, 5)


def test_failing_adapters_may_tell_too() -> None:
    problem = ModelCallError("gave up")
    problem.info = CallInfo(Usage(3, 4), attempts=(Attempt("bad"),))
    error = failing(Sync(problem), FIELD)
    assert error is problem
    assert error.record is not None
    assert error.record.usage == Usage(3, 4)
    assert error.record.attempts == (Attempt("bad"),)


class Watcher(CallObserver):
    def __init__(self) -> None:
        self.request: ModelRequest | None = None
        self.values: Mapping[str, Any] | None = None
        self.events: list[str] = []
        self.records: list[CallRecord] = []

    def assembled(self, request: ModelRequest) -> ModelRequest | None:
        self.events.append("assembled")
        return self.request

    def answered(self, record: CallRecord) -> Mapping[str, Any] | None:
        self.events.append("answered")
        return self.values

    def finished(self, record: CallRecord) -> None:
        self.events.append("finished")
        self.records.append(record)


def test_observer_sees_the_whole_call() -> None:
    watcher = Watcher()
    record = call_model(Sync({"n": 1}), FIELD, watcher)
    assert watcher.events == ["assembled", "answered", "finished"]
    assert watcher.records == [record]


def test_observer_sees_failures() -> None:
    watcher = Watcher()
    with pytest.raises(ModelCallError):
        call_model(Sync(OSError("x")), FIELD, watcher)
    assert watcher.events == ["assembled", "finished"]
    assert "x" in str(watcher.records[0].error)


def test_observer_may_edit_prompt_and_answer() -> None:
    watcher = Watcher()
    watcher.request = ModelRequest("structured", "edited [n]", {"n": int})
    watcher.values = {"n": 9}
    adapter = Sync({"n": "wrong"})
    record = call_model(adapter, FIELD, watcher)
    assert adapter.seen[0]["template"] == "edited [n]"
    assert record.values == {"n": 9}


def test_edited_answers_are_validated() -> None:
    watcher = Watcher()
    watcher.values = {"n": "nine"}
    with pytest.raises(ModelCallError, match="nine"):
        call_model(Sync({"n": 1}), FIELD, watcher)


def test_an_observer_that_raises_is_not_blamed_on_the_adapter() -> None:
    class Broken(CallObserver):
        def answered(self, record: CallRecord) -> Mapping[str, Any] | None:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        call_model(Sync({"n": 1}), FIELD, Broken())
