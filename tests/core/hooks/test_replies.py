"""What observers may give back for requests and answers of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import kedi
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.debugging import Observer
from kedi.errors import KediTypeExecutionError
from kedi.runtime.hooks import Fanout


class Replying(Observer):
    """Puts something else in place of requests and answers."""

    def __init__(self, request: Any = None, response: Any = None) -> None:
        self.request = request
        self.response = response

    def model_request(self, frame: Any, request: Any) -> Any:
        return self.request

    def model_response(self, frame: Any, record: Any, error: Any) -> Any:
        return self.response


def run(observer: Observer, fragment: str = ">> [x]\n= <x>") -> Any:
    with kedi.interactive(adapter=ScriptedAdapter([{"x": "asked"}])) as session:
        session.observe(observer)
        return session.execute(fragment)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("given", [5, 0, False, "", "x", [], ["x"], object()], ids=repr)
def test_nonsense_names_the_method(given: Any, joined: bool) -> None:
    for observer, method in (
        (Replying(request=given), "model_request"),
        (Replying(response=given), "model_response"),
    ):
        told = Fanout([Observer(), observer, Observer()]) if joined else observer
        with pytest.raises(KediTypeExecutionError) as caught:
            run(told)
        assert caught.value.message.startswith(f"`Replying.{method}` must give a ")
        assert caught.value.message.endswith(f"or None, not {type(given).__name__}")


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize(
    ("field", "value"), [("prompt", 5), ("model", 5), ("system", b"x"), ("settings", [1])]
)
def test_requests_of_nonsense_name_the_field(field: str, value: Any, joined: bool) -> None:
    class Changing(Observer):
        def model_request(self, frame: Any, request: Any) -> Any:
            return replace(request, **{field: value})

    with pytest.raises(KediTypeExecutionError, match=f"`Changing.model_request` .* `{field}` is"):
        run(Fanout([Changing()]) if joined else Changing())


@pytest.mark.parametrize("joined", [False, True])
def test_mappings_are_taken(joined: bool) -> None:
    observer = Replying(response={"x": "given"})
    assert run(Fanout([observer]) if joined else observer) == "given"
