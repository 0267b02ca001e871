"""Exceptions that say nothing are named, with no colon that promises more."""

from __future__ import annotations

import pickle

import pytest

import kedi
from kedi.errors import KediExecutionError
from kedi.runtime.text import described


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_described(text: str) -> None:
    assert described(StopIteration(text)) == "StopIteration"
    assert described(StopIteration("end")) == "StopIteration: end"


@pytest.mark.parametrize("raised", ["StopIteration", "ValueError('')", "AssertionError()"])
def test_rendered(raised: str) -> None:
    with kedi.interactive() as session, pytest.raises(KediExecutionError) as caught:
        session.execute(f"[x] = y\n```\nraise {raised}\n```")
    name = raised.partition("(")[0]
    assert str(caught.value).splitlines()[-1] == name
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_stand_in_of_one_that_cannot_be_pickled() -> None:
    fence = "```\ne = ValueError()\ne.held = lambda: 0\nraise e\n```"
    with kedi.interactive() as session, pytest.raises(KediExecutionError) as caught:
        session.execute(f"[x] = y\n{fence}")
    original = pickle.loads(pickle.dumps(caught.value)).original
    assert (type(original).__name__, str(original)) == ("OriginalError", "ValueError")
