"""The scripted adapter."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kedi.agents.adapters.scripted import ScriptedAdapter, create
from kedi.agents.calls import ModelCallError, ModelRequest, call_model
from kedi.agents.errors import ConfigurationError

FIELD = ModelRequest("structured", "Capital of France: [c]", {"c": str})


def ask(adapter: ScriptedAdapter, request: ModelRequest = FIELD) -> Any:
    record = call_model(adapter, request)
    return record.text if request.kind == "raw" else dict(record.values)


def test_list_answers_in_order() -> None:
    adapter = ScriptedAdapter([{"c": "Paris"}, "text", True])
    assert ask(adapter) == {"c": "Paris"}
    assert ask(adapter, ModelRequest("raw", "Say")) == "text"
    assert adapter.remaining == 1
    assert ask(adapter, ModelRequest("claim", "It is so")) == {"claim": True}
    assert adapter.prompts == ["Capital of France: [c]", "Say", "It is so"]
    assert adapter.calls[0][1] == {"c": str}


def test_exhausted_list_says_what_is_missing() -> None:
    adapter = ScriptedAdapter([{"c": "Paris"}])
    ask(adapter)
    with pytest.raises(ModelCallError) as caught:
        ask(adapter)
    assert "no answer left" in caught.value.message
    assert "call 2" in caught.value.message
    assert "Capital of France" in str(caught.value.hint)


def test_repeat_starts_over() -> None:
    adapter = ScriptedAdapter([{"c": "a"}, {"c": "b"}], repeat=True)
    assert [ask(adapter)["c"] for _ in range(5)] == ["a", "b", "a", "b", "a"]
    with pytest.raises(ModelCallError):
        ask(ScriptedAdapter([], repeat=True))


def test_mapping_by_prompt_and_by_pattern() -> None:
    adapter = ScriptedAdapter(
        {
            re.compile("Capital of"): {"c": "some"},
            "Capital of France: [c]": {"c": "Paris"},
            re.compile("^Say"): "text",
        }
    )
    assert ask(adapter) == {"c": "Paris"}
    assert ask(adapter, ModelRequest("structured", "Capital of X: [c]", {"c": str})) == {
        "c": "some"
    }
    assert ask(adapter, ModelRequest("raw", "Say more")) == "text"
    with pytest.raises(ModelCallError, match="no answer for the prompt 'Nothing'"):
        ask(adapter, ModelRequest("raw", "Nothing"))


def test_function_of_prompt_or_of_prompt_and_schema() -> None:
    assert ask(ScriptedAdapter(lambda prompt: {"c": prompt[:7]})) == {"c": "Capital"}

    def by_schema(prompt: str, schema: dict[str, Any]) -> Any:
        return dict.fromkeys(schema, "x")

    assert ask(ScriptedAdapter(by_schema)) == {"c": "x"}


def test_function_that_fails_is_reported() -> None:
    def broken(prompt: str) -> Any:
        raise LookupError("not there")

    with pytest.raises(ModelCallError, match="not there"):
        ask(ScriptedAdapter(broken))


def test_exceptions_are_raised() -> None:
    with pytest.raises(ModelCallError, match="refused"):
        ask(ScriptedAdapter([ConnectionError("refused")]))
    with pytest.raises(KeyboardInterrupt):
        ask(ScriptedAdapter([KeyboardInterrupt()]))


def test_answers_are_not_shared_between_calls() -> None:
    adapter = ScriptedAdapter([{"c": "Paris"}], repeat=True)
    call = adapter.produce_sync(template="", output_schema={"c": str})
    call["c"] = "changed"
    assert ask(adapter) == {"c": "Paris"}


def test_options_are_recorded() -> None:
    adapter = ScriptedAdapter(["x"])
    call_model(adapter, ModelRequest("raw", "x", effort="low", system="s"))
    assert adapter.options == [{"effort": "low", "system": "s"}]


def test_threads_get_each_answer_once() -> None:
    adapter = ScriptedAdapter([{"c": str(n)} for n in range(200)])
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: ask(adapter)["c"], range(200)))
    assert sorted(got, key=int) == [str(n) for n in range(200)]


@pytest.mark.parametrize("answers", ["text", b"x", 5, None])
def test_bad_scripts_are_refused(answers: Any) -> None:
    with pytest.raises(ConfigurationError, match="answers"):
        ScriptedAdapter(answers)
    with pytest.raises(ConfigurationError, match="answers"):
        create(answers=answers)


def test_an_error_of_the_function_is_only_that_error() -> None:
    adapter = ScriptedAdapter(lambda prompt: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        adapter.produce_sync(template="q", output_schema={"x": str})
    assert caught.value.__context__ is None
