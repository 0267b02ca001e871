"""The adapter `local`: its prompts and schemas, its errors, and the real model when it is there."""

from __future__ import annotations

import datetime as dt
import enum
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from kedi.agents.adapters import local
from kedi.agents.adapters.local import LocalAdapter, create
from kedi.agents.adapters.local_prompts import bounded, fill_in_prompt, prompt_type
from kedi.agents.calls import ModelCallError, ModelRequest, call_model
from kedi.agents.contract import Usage
from kedi.agents.errors import ConfigurationError
from kedi.agents.install import model_path
from kedi.agents.schemas import json_schema

CAPITAL = ModelRequest("structured", "The capital of France is [capital].", {"capital": str})


class Address(BaseModel):
    city: str
    country: str


class Person(BaseModel):
    name: str
    age: int
    address: Address


class Tree(BaseModel):
    value: int
    kids: list[Tree] = []


class Colour(enum.Enum):
    RED = "red"


# ── prompts and schemas ──────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        (str, "str"),
        (list[str], "list[str]"),
        (Literal["a", "b"], "Literal['a','b']"),
        (Address, "Address(city: str, country: str)"),
        (Person, "Person(name: str, age: int, address: Address(city: str, country: str))"),
        (list[Address], "list[Address(city: str, country: str)]"),
        (Annotated[int, "how many"], "int"),
        (int | None, "int | None"),
    ],
)
def test_types_in_prompts(expected: Any, shown: str) -> None:
    assert prompt_type(expected) == shown


def test_recursive_types_end() -> None:
    assert len(prompt_type(Tree)) < 200


def test_fields_get_their_types_and_the_rest_stays() -> None:
    schema = {"capital": str, "people": int}
    text = fill_in_prompt("[capital] has [people] in [brackets].", schema)
    assert text == "[capital: str] has [people: int] in [brackets]."


def test_claims_become_sentences_about_truth() -> None:
    assert (
        fill_in_prompt("Rome is old.", {"claim": bool}) == "It is [claim: bool] that Rome is old."
    )


def test_fields_that_the_text_lacks_are_appended() -> None:
    assert fill_in_prompt("Say.", {"a": str}) == "Say.\n[a: str]"


def test_schema_is_one_object_of_the_fields_in_order() -> None:
    schema = json_schema({"_odd": str, "schema": Annotated[int, "a number"], "model_x": Person})
    assert list(schema["properties"]) == ["_odd", "schema", "model_x"]
    assert schema["required"] == ["_odd", "schema", "model_x"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["schema"]["description"] == "a number"
    assert set(schema["$defs"]) == {"Address", "Person"}


def test_a_field_may_be_called_title() -> None:
    class Book(BaseModel):
        title: str

    schema = json_schema({"title": str, "book": Book})
    assert schema["properties"]["title"] == {"type": "string"}
    assert "title" in schema["$defs"]["Book"]["properties"]
    assert "title" not in schema


def test_open_strings_and_arrays_are_bounded_everywhere() -> None:
    schema = bounded(json_schema({"names": list[str], "person": Person, "many": set[int]}))
    names = schema["properties"]["names"]
    assert (names["maxItems"], names["items"]["maxLength"]) == (6, 60)
    assert schema["properties"]["many"]["maxItems"] == 6
    assert schema["$defs"]["Address"]["properties"]["city"]["maxLength"] == 60


def test_closed_strings_and_given_bounds_are_kept() -> None:
    given = {"type": "array", "items": {"enum": ["a"], "type": "string"}, "minItems": 9}
    assert bounded(given) == {**given, "maxItems": 9}
    assert bounded({"type": "string", "maxLength": 5})["maxLength"] == 5
    assert bounded({"type": "string", "format": "date"}) == {"type": "string", "format": "date"}


def test_what_the_grammar_cannot_enforce_is_taken_out() -> None:
    schema = bounded({"type": "string", "pattern": "^(?!a)b$", "format": "path"})
    assert schema == {"type": "string", "maxLength": 60}
    assert "pattern" in bounded(json_schema({"d": dt.timedelta})["properties"]["d"])


def test_a_field_named_like_a_keyword_is_not_a_schema() -> None:
    schema = {"type": "object", "properties": {"type": {"type": "string"}, "format": {}}}
    assert bounded(schema)["properties"]["type"] == {"type": "string", "maxLength": 60}


# ── against a stand-in for the runtime ───────────────────────────────────────


class FakeServer:
    """Streams what it is told to, as llama.cpp does."""

    def __init__(self, reply: list[dict[str, Any]] | dict[str, Any] | BaseException) -> None:
        self.reply = reply
        self.requests: list[dict[str, Any]] = []

    def handle_chat_completions(
        self, request: dict[str, Any], receive: Callable[[dict[str, Any]], bool]
    ) -> dict[str, Any] | None:
        self.requests.append(request)
        if isinstance(self.reply, BaseException):
            raise self.reply
        if isinstance(self.reply, dict):
            return self.reply
        for chunk in self.reply:
            if receive(chunk):
                break
        return None


def stream(text: str, finish: str = "stop") -> list[dict[str, Any]]:
    pieces: list[Any] = [None, *text]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"finish_reason": None, "delta": {"content": piece}}]} for piece in pieces
    ]
    chunks.append({"choices": [{"finish_reason": finish, "delta": {}}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}})
    return chunks


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], tuple[LocalAdapter, FakeServer]]:
    def make(reply: Any) -> tuple[LocalAdapter, FakeServer]:
        server = FakeServer(reply)
        engine = object.__new__(local._Engine)
        engine._server = server
        engine._lock = threading.Lock()
        monkeypatch.setattr(local, "_engine_for", lambda path: engine)
        return LocalAdapter(path="some.gguf"), server

    return make


def test_structured_call_is_constrained_and_repeatable(fake: Any) -> None:
    adapter, server = fake(stream('{"capital": "Paris"}'))
    record = call_model(adapter, CAPITAL)
    assert record.values == {"capital": "Paris"}
    assert record.usage == Usage(12, 3)
    assert (record.cost, record.model) == (0.0, local.MODEL)
    request = server.requests[0]
    assert (request["temperature"], request["seed"], request["max_tokens"]) == (0, 0, 200)
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["capital"]["maxLength"] == 60
    assert request["messages"][-1]["content"] == "The capital of France is [capital: str]."
    assert len(request["messages"]) == 14


def test_raw_call_has_no_examples(fake: Any) -> None:
    adapter, server = fake(stream("Hello."))
    assert call_model(adapter, ModelRequest("raw", "Hi", system="Be kind")).text == "Hello."
    assert server.requests[0]["messages"] == [
        {"role": "system", "content": "Be kind"},
        {"role": "user", "content": "Hi"},
    ]
    assert "response_format" not in server.requests[0]


@pytest.mark.parametrize(
    ("reply", "part"),
    [
        (stream('{"capital": "Pa', "length"), "cut off after 200 tokens"),
        (stream('{"capital": '), "not JSON"),
        ({"error": {"code": 400, "message": "too long"}}, "too long"),
        ({"code": 500, "message": "odd"}, "odd"),
        ({}, "refused"),
        ([], "refused"),
        ([{"error": {"message": "in the stream"}}], "in the stream"),
        (RuntimeError("inside"), "inside"),
    ],
)
def test_bad_replies_are_clear_errors(fake: Any, reply: Any, part: str) -> None:
    adapter, _ = fake(reply)
    with pytest.raises(ModelCallError) as caught:
        call_model(adapter, CAPITAL)
    assert part in caught.value.message


def test_long_free_text_may_be_cut(fake: Any) -> None:
    adapter, server = fake(stream("Once upon", "length"))
    request = ModelRequest("raw", "Tell", settings={"max_tokens": 5})
    assert call_model(adapter, request).text == "Once upon"
    assert server.requests[0]["max_tokens"] == 5


@pytest.mark.parametrize("value", [0, -1, 10**6, "5", True, 1.5])
def test_max_tokens_is_checked(fake: Any, value: Any) -> None:
    adapter, server = fake(stream("x"))
    with pytest.raises(ModelCallError, match="max_tokens"):
        call_model(adapter, ModelRequest("raw", "x", settings={"max_tokens": value}))
    assert server.requests == []
    with pytest.raises(ConfigurationError, match="max_tokens"):
        create(max_tokens=value)


@pytest.mark.parametrize(
    "request_",
    [
        ModelRequest("raw", "x", model="other"),
        ModelRequest("raw", "x", effort="low"),
        ModelRequest("raw", "x", settings={"temperature": 1}),
        ModelRequest("raw", "x", tools=(print,)),
    ],
)
def test_what_it_cannot_do_is_refused_first(fake: Any, request_: ModelRequest) -> None:
    adapter, server = fake(stream("x"))
    with pytest.raises(ModelCallError, match="`local`"):
        call_model(adapter, request_)
    assert server.requests == []


def test_types_that_json_cannot_hold_are_refused(fake: Any) -> None:
    class Opaque:
        pass

    adapter, _ = fake(stream("{}"))
    with pytest.raises(ModelCallError, match="Opaque"):
        call_model(adapter, ModelRequest("structured", "[x]", {"x": Opaque}))


# ── files ────────────────────────────────────────────────────────────────────


def test_missing_model_says_how_to_get_it() -> None:
    pytest.importorskip("xllamacpp")
    with pytest.raises(ModelCallError) as caught:
        call_model(LocalAdapter(), CAPITAL)
    assert str(model_path()) in caught.value.message
    assert "kedi model install" in str(caught.value.hint)


def test_missing_runtime_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(ModelCallError) as caught:
        call_model(LocalAdapter(path="x.gguf"), CAPITAL)
    assert "pip install xllamacpp" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("content", "part"),
    [(None, "No such file"), (b"", "not a GGUF"), (b"PK\3\4", "not a GGUF"), (b"GGUFxx", "loaded")],
)
def test_broken_model_files(tmp_path: Path, content: bytes | None, part: str) -> None:
    pytest.importorskip("xllamacpp")
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelCallError) as caught:
        call_model(LocalAdapter(path=path), CAPITAL)
    assert part in caught.value.message


def test_processor_without_avx2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("flags\t\t: fpu sse4_2 avx\n", encoding="utf-8")
    monkeypatch.setattr(local.sys, "platform", "linux")
    monkeypatch.setattr(local, "_CPUINFO", info)
    with pytest.raises(ModelCallError, match="AVX2"):
        local._check_processor()
    info.write_text("flags\t\t: fpu avx avx2\n", encoding="utf-8")
    local._check_processor()


# ── the real model ───────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def real() -> LocalAdapter:
    """One adapter, so that the model is loaded and primed once."""
    return LocalAdapter()


@pytest.mark.local_model
def test_real_model_fills_fields_of_the_right_types(real: LocalAdapter) -> None:
    prompt = "The capital of France is [capital] and has [population] inhabitants."
    record = call_model(
        real, ModelRequest("structured", prompt, {"capital": str, "population": int})
    )
    assert record.values["capital"] == "Paris"
    assert type(record.values["population"]) is int
    assert record.usage is not None
    assert record.usage.output_tokens


@pytest.mark.local_model
@pytest.mark.parametrize(
    "expected",
    [
        *(str, int, float, bool, Decimal, dt.date, dt.datetime, dt.timedelta, bytes, Path, Colour),
        *(list[str], set[int], tuple[int, str], dict[str, int], int | None, Person, list[Address]),
        *(Literal["a", "b"], Tree),
    ],
)
def test_real_model_keeps_to_the_type(real: LocalAdapter, expected: Any) -> None:
    record = call_model(real, ModelRequest("structured", "A value: [x].", {"x": expected}))
    assert list(record.values) == ["x"]


@pytest.mark.local_model
def test_real_model_reads_nested_objects(real: LocalAdapter) -> None:
    prompt = (
        "From the text 'Maria Lopez is 34 years old and lives in Madrid, Spain.' the person is "
        "[person]."
    )
    record = call_model(real, ModelRequest("structured", prompt, {"person": Person}))
    person = record.values["person"]
    assert (person.name, person.age, person.address.city) == ("Maria Lopez", 34, "Madrid")


@pytest.mark.local_model
def test_real_model_judges_claims_and_answers_freely(real: LocalAdapter) -> None:
    assert isinstance(call_model(real, ModelRequest("claim", "Water is wet.")).claim, bool)
    assert call_model(real, ModelRequest("raw", "Say hello.")).text


@pytest.mark.local_model
def test_real_model_gives_the_same_text_in_fresh_processes() -> None:
    code = (
        "from kedi.agents.adapters.local import LocalAdapter\n"
        "from kedi.agents.calls import ModelRequest, call_model\n"
        "a = LocalAdapter()\n"
        "for name in ('France', 'Japan', 'Spain'):\n"
        "    prompt = f'The capital of {name} is [capital]. It is known for [fame].'\n"
        "    schema = {'capital': str, 'fame': str}\n"
        "    record = call_model(a, ModelRequest('structured', prompt, schema))\n"
        "    print(record.attempts[0].raw)\n"
    )
    root = Path(__file__).parents[2]
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env=dict(os.environ),
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout
    assert json.loads(runs[0].stdout.splitlines()[0])["capital"] == "Paris"
    assert runs[0].stderr == ""


@pytest.mark.local_model
def test_too_long_a_prompt_is_refused_by_the_real_model(real: LocalAdapter) -> None:
    with pytest.raises(ModelCallError, match="context size"):
        call_model(real, ModelRequest("raw", "word " * 5000))


@pytest.mark.local_model
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_real_model_can_be_interrupted_and_goes_on(real: LocalAdapter) -> None:
    call_model(real, CAPITAL)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    long = ModelRequest("raw", "Tell a long story.", settings={"max_tokens": 1500})
    with pytest.raises(KeyboardInterrupt):
        call_model(real, long)
    assert call_model(real, CAPITAL).values == {"capital": "Paris"}


def test_advice_for_a_file_that_is_no_model(tmp_path: Path) -> None:
    from kedi.agents.adapters.local import _check_file, model_path

    for path, advice in (
        (tmp_path / "other.gguf", "must name a GGUF file"),
        (model_path(), "`kedi model install`"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"junk")
        with pytest.raises(ModelCallError, match="is not a GGUF model file") as caught:
            _check_file(path)
        assert advice in (caught.value.hint or "")


def test_advice_for_a_prompt_that_is_too_long() -> None:
    from kedi.agents.adapters.local import _read_reply

    message = "the request exceeds the available context size, try increasing it"
    with pytest.raises(
        ModelCallError, match=r"prompt is too long .* context size is 2048"
    ) as caught:
        _read_reply({"error": {"code": 400, "message": message}}, 10, True)
    assert "increas" not in str(caught.value)
    assert (caught.value.hint or "").startswith("write a shorter prompt")
