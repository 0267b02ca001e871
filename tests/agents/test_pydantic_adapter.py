"""The Pydantic AI adapter against a loopback server that speaks OpenAI's chat protocol."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from kedi.agents.adapters import pydantic_ai as adapter_module
from kedi.agents.adapters.pydantic_ai import PydanticAdapter, create
from kedi.agents.calls import ModelCallError, ModelRequest, call_model
from kedi.agents.contract import Attempt, Usage
from kedi.agents.errors import ConfigurationError
from tests.conftest import ROOT

pytest.importorskip("pydantic_ai", reason="the `pydantic` extra is not installed")

COUNT = ModelRequest("structured", "Count: [n]", {"n": int}, model="small")


class Address(BaseModel):
    city: str


class Person(BaseModel):
    name: str
    home: Address


class Tree(BaseModel):
    value: int
    kids: list[Tree] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        reply = self.server.replies.pop(0) if self.server.replies else 500
        if isinstance(reply, float):
            self.server.released.wait(reply)
            reply = "late"
        status, data = 200, _completion(reply, body)
        if isinstance(reply, int):
            status, data = reply, {"error": {"message": "nope", "type": "x"}}
        raw = json.dumps(data).encode()
        try:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None: ...


def _completion(reply: Any, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply}
    if isinstance(reply, dict) and body.get("tools"):
        name = body["tools"][0]["function"]["name"]
        function = {"name": name, "arguments": json.dumps(reply)}
        call = {"id": "c1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    elif isinstance(reply, dict):
        message["content"] = json.dumps(reply)
    finish = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "small-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


class Provider(ThreadingHTTPServer):
    """Replies in order: a dict of fields, text, a status, or seconds to wait."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[Any] = []
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = Provider()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


class Made(list[PydanticAdapter]):
    """Adapters of one test, closed with it."""

    def __call__(self, **keywords: Any) -> PydanticAdapter:
        self.append(PydanticAdapter(**keywords))
        return self[-1]


@pytest.fixture
def make() -> Iterator[Made]:
    made = Made()
    yield made
    for item in made:
        item.close()
    # What stays open is found here, in the test that left it.
    gc.collect()


@pytest.fixture
def adapter(provider: Provider, make: Made) -> PydanticAdapter:
    return make(base_url=provider.url, api_key="sk-test")


def test_structured_call(provider: Provider, adapter: PydanticAdapter) -> None:
    provider.replies = [{"n": 3}]
    record = call_model(adapter, COUNT)
    assert record.values == {"n": 3}
    assert record.usage == Usage(11, 7)
    assert record.model == "small-1"
    assert [json.loads(item.raw or "") for item in record.attempts] == [{"n": 3}]
    path, headers, body = provider.seen[0]
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer sk-test"
    assert body["model"] == "small"
    assert body["messages"][-1] == {"role": "user", "content": "Count: [n]"}
    schema = body["tools"][0]["function"]["parameters"]
    assert schema["properties"] == {"n": {"type": "integer"}}
    assert schema["required"] == ["n"]


def test_text_call(provider: Provider, adapter: PydanticAdapter) -> None:
    provider.replies = ["hello"]
    record = call_model(adapter, ModelRequest("raw", "Say hello", model="openai:small"))
    assert (record.text, record.usage) == ("hello", Usage(11, 7))
    assert provider.seen[0][2]["model"] == "small"
    assert provider.seen[0][2]["messages"] == [{"role": "user", "content": "Say hello"}]


def test_claim_is_explained_to_the_model(provider: Provider, adapter: PydanticAdapter) -> None:
    provider.replies = [{"claim": False}]
    record = call_model(adapter, ModelRequest("claim", "Rome is in Norway", model="small"))
    assert record.claim is False
    assert "cannot be established" in json.dumps(provider.seen[0][2]["messages"][0])


def test_system_settings_and_descriptions_are_sent(
    provider: Provider, adapter: PydanticAdapter
) -> None:
    provider.replies = [{"code": "FR"}]
    request = ModelRequest(
        "structured",
        "Code: [code]",
        {"code": Annotated[str, "ISO code"]},
        model="small",
        system="Be terse.",
        settings={"temperature": 0.5, "max_tokens": 40},
    )
    assert call_model(adapter, request).values == {"code": "FR"}
    body = provider.seen[0][2]
    assert "Be terse." in json.dumps(body["messages"][0])
    assert body["temperature"] == 0.5
    assert 40 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    code = body["tools"][0]["function"]["parameters"]["properties"]["code"]
    assert code["description"] == "ISO code"


def test_effort_is_sent_to_a_model_that_reasons(provider: Provider, make: Made) -> None:
    provider.replies = ["x"]
    adapter = make(base_url=provider.url, api_key="sk")
    call_model(adapter, ModelRequest("raw", "x", model="openai:gpt-5", effort="low"))
    assert provider.seen[0][2]["reasoning_effort"] == "low"


def test_nested_and_recursive_types(provider: Provider, adapter: PydanticAdapter) -> None:
    provider.replies = [
        {"p": {"name": "Ada", "home": {"city": "London"}}},
        {"t": {"value": 1, "kids": [{"value": 2, "kids": []}]}},
    ]
    person = call_model(adapter, ModelRequest("structured", "[p]", {"p": Person}, model="small"))
    assert person.values["p"] == Person(name="Ada", home=Address(city="London"))
    tree = call_model(adapter, ModelRequest("structured", "[t]", {"t": Tree}, model="small"))
    assert tree.values["t"] == Tree(value=1, kids=[Tree(value=2)])


@pytest.mark.parametrize("mode", ["native", "prompted"])
def test_other_output_modes(provider: Provider, mode: str, make: Made) -> None:
    provider.replies = [{"n": 3}]
    adapter = make(base_url=provider.url, api_key="sk", output_mode=mode)
    assert call_model(adapter, COUNT).values == {"n": 3}
    assert "tools" not in provider.seen[0][2]


# ── answers that do not fit ──────────────────────────────────────────────────


def test_a_wrong_answer_is_sent_back_with_its_problem(
    provider: Provider, adapter: PydanticAdapter
) -> None:
    provider.replies = [{"n": "3"}, {"n": 3}]
    record = call_model(adapter, COUNT)
    assert record.values == {"n": 3}
    assert record.usage == Usage(22, 14)
    first, second = record.attempts
    assert "expected int, got str" in first.errors[0]
    assert second.errors == ()
    assert "expected int, got str" in json.dumps(provider.seen[1][2]["messages"])


def test_a_model_that_stays_wrong_is_an_error_with_all_attempts(
    provider: Provider, adapter: PydanticAdapter
) -> None:
    provider.replies = [{"n": "3"}, {"m": 4}]
    with pytest.raises(ModelCallError) as caught:
        call_model(adapter, COUNT)
    assert "after 2 attempts" in caught.value.message
    assert "n: this field is missing" in caught.value.message
    record = caught.value.record
    assert record is not None
    assert record.usage == Usage(22, 14)
    assert [bool(item.errors) for item in record.attempts] == [True, True]


def test_retries_can_be_turned_off(provider: Provider, make: Made) -> None:
    provider.replies = [{"n": "3"}, {"n": 3}]
    adapter = make(base_url=provider.url, api_key="sk", retries=0)
    with pytest.raises(ModelCallError, match="after 1 attempt:"):
        call_model(adapter, COUNT)
    assert len(provider.seen) == 1


# ── failures ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [400, 401, 404])
def test_refusals_of_the_provider(
    provider: Provider, adapter: PydanticAdapter, status: int
) -> None:
    provider.replies = [status]
    with pytest.raises(ModelCallError) as caught:
        call_model(adapter, COUNT)
    assert str(status) in caught.value.message
    assert "nope" in caught.value.message
    assert caught.value.original is not None
    assert "sk-test" not in caught.value.render()


def test_server_that_is_not_there(make: Made) -> None:
    adapter = make(base_url="http://127.0.0.1:9/v1", api_key="sk")
    request = ModelRequest("raw", "x", model="small", settings={"max_retries": 0})
    with pytest.raises(ModelCallError, match="`pydantic` failed"):
        call_model(adapter, request)


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (None, "needs a model"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("nobody:x", "Unknown model"),
        ("gpt-5", "Unknown model"),
    ],
)
def test_models_that_cannot_be_used(model: str | None, part: str, make: Made) -> None:
    with pytest.raises(ModelCallError) as caught:
        call_model(make(), ModelRequest("raw", "x", model=model))
    assert part in caught.value.message
    assert caught.value.hint


def test_unknown_setting_is_refused_before_io(provider: Provider, adapter: PydanticAdapter) -> None:
    request = ModelRequest("raw", "x", model="small", settings={"temprature": 1})
    with pytest.raises(ModelCallError) as caught:
        call_model(adapter, request)
    assert "temperature" in str(caught.value.hint)
    assert provider.seen == []


def test_settings_of_the_provider_are_known(provider: Provider, make: Made) -> None:
    provider.replies = ["x"]
    adapter = make(base_url=provider.url, api_key="sk")
    settings = {"openai_user": "me"}
    call_model(adapter, ModelRequest("raw", "x", model="openai:small", settings=settings))
    assert provider.seen[0][2]["user"] == "me"


def test_missing_library_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, make: Made) -> None:
    monkeypatch.setattr(adapter_module, "find_spec", lambda name: None)
    for request in (COUNT, ModelRequest("raw", "x", model="small")):
        with pytest.raises(ModelCallError) as caught:
            call_model(make(), request)
        assert "pydantic-ai-slim[openai]" in str(caught.value.hint)


@pytest.mark.parametrize(
    "keywords",
    [{"retries": -1}, {"retries": True}, {"output_mode": "xml"}, {"base_url": ""}, {"api_key": 3}],
)
def test_bad_keywords_are_refused(keywords: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(keywords))):
        create(**keywords)


# ── the environment, threads, loops, interrupts ──────────────────────────────


def test_base_url_and_key_from_the_environment(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, make: Made
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    provider.replies = ["a", "b"]
    adapter = make()
    assert call_model(adapter, ModelRequest("raw", "x", model="openai:small")).text == "a"
    assert call_model(adapter, ModelRequest("raw", "x", model="plain/name")).text == "b"
    assert provider.seen[0][1]["authorization"] == "Bearer sk-env"
    assert [body["model"] for _, _, body in provider.seen] == ["small", "plain/name"]


def test_many_threads(provider: Provider, adapter: PydanticAdapter) -> None:
    provider.replies = [{"n": 1}] * 12
    with ThreadPoolExecutor(6) as pool:
        records = list(pool.map(lambda _: call_model(adapter, COUNT), range(12)))
    assert all(record.values == {"n": 1} and record.usage == Usage(11, 7) for record in records)


def test_inside_a_running_loop_and_again_outside(
    provider: Provider, adapter: PydanticAdapter
) -> None:
    provider.replies = [{"n": 1}, {"n": 2}, {"n": 3}]

    async def main() -> int:
        return call_model(adapter, COUNT).values["n"]

    assert [asyncio.run(main()), asyncio.run(main())] == [1, 2]
    assert call_model(adapter, COUNT).values == {"n": 3}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_interrupt_while_waiting_for_the_provider(
    provider: Provider, adapter: PydanticAdapter
) -> None:
    provider.replies = ["warm", 60.0, "again"]
    raw = ModelRequest("raw", "x", model="small")
    call_model(adapter, raw)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        call_model(adapter, raw)
    assert time.monotonic() - before < 30
    assert call_model(adapter, raw).text == "again"


def test_attempts_of_text_calls(provider: Provider, adapter: PydanticAdapter) -> None:
    provider.replies = ["hello"]
    record = call_model(adapter, ModelRequest("raw", "x", model="small"))
    assert record.attempts == (Attempt("hello"),)


def test_close_can_be_repeated_and_calls_go_on(provider: Provider, make: Made) -> None:
    provider.replies = ["a", "b"]
    adapter = make(base_url=provider.url, api_key="sk")
    raw = ModelRequest("raw", "x", model="small")
    assert call_model(adapter, raw).text == "a"
    adapter.close()
    adapter.close()
    assert call_model(adapter, raw).text == "b"


def test_a_test_cannot_reach_a_provider_by_accident(
    network_attempts: list[str], make: Made
) -> None:
    adapter = make(base_url="https://api.openai.com/v1", api_key="sk")
    request = ModelRequest("raw", "x", model="small", settings={"max_retries": 0})
    with pytest.raises(ModelCallError):
        call_model(adapter, request)
    assert network_attempts
    network_attempts.clear()


# ── the terminal ─────────────────────────────────────────────────────────────

# What Pydantic AI itself would print is left on, and its reasons to be silent in tests are not.
_FIRST_CALL = (
    "import os, sys\n"
    "from kedi.cli.main import main\n"
    "line = ['--adapter', 'pydantic', '--adapter-model', 'test', '-c', '>> Count: [n: int]']\n"
    "status = main(line)\n"
    "print(status, repr(os.environ['PYDANTIC_AI_NO_BANNER']))\n"
)


def _first_call(**given: str) -> tuple[str, str]:
    silent = ("PYTEST_VERSION", "CI", "PYDANTIC_AI_NO_BANNER")
    kept = {name: value for name, value in os.environ.items() if name not in silent}
    # With an agent at the terminal, the banner is written to streams that are no terminals, too.
    env = {**kept, "AI_AGENT": "1", "PYTHONPATH": str(ROOT), **given}
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_CALL], capture_output=True, text=True, env=env, timeout=60
    )
    return done.stdout, done.stderr


def test_the_first_call_prints_no_banner() -> None:
    assert _first_call() == ("0 '1'\n", "")


def test_a_value_of_the_user_stays() -> None:
    assert _first_call(PYDANTIC_AI_NO_BANNER="mine") == ("0 'mine'\n", "")
