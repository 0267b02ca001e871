"""Claims that cannot be established, and calls that fail all the same."""

from __future__ import annotations

from typing import Any

import pytest

import kedi
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.agents.requests import ModelCallError

CLAIM = "> if: the sky is green\n  = yes\n> else:\n  = no"
UNUSABLE: list[Any] = [
    {"claim": None},
    {},
    "yes",
    None,
    {"claim": "maybe"},
    {"claim": "true"},
    {"claim": 1},
    {"claim": True, "why": "so"},
    {"other": True},
    [True],
]


@pytest.mark.parametrize("answer", UNUSABLE, ids=repr)
@pytest.mark.parametrize("parallel", [False, True])
def test_an_answer_that_is_no_judgement_is_false(answer: Any, parallel: bool) -> None:
    with kedi.interactive(adapter=ScriptedAdapter([answer]), parallel=parallel) as session:
        assert session.execute(CLAIM) == "no"
        (record,) = [call.record for call in session.calls]
        assert record.error
        if answer is not None:
            (attempt,) = record.attempts
            assert "yes" in attempt.raw or attempt.raw[0] in "{["


def test_judgements_are_what_they_are() -> None:
    answers = [{"claim": True}, {"claim": False}, True, False]
    with kedi.interactive(adapter=ScriptedAdapter(answers)) as session:
        assert [session.execute(CLAIM) for _ in answers] == ["yes", "no", "yes", "no"]


def test_a_loop_ends_with_a_claim_that_cannot_be_established() -> None:
    answers = [{"claim": True}, {"claim": True}, {"claim": "done?"}]
    with kedi.interactive(adapter=ScriptedAdapter(answers)) as session:
        fragment = "[n: int] = `0`\n> loop: more is needed\n  `n += 1`\n= `n`"
        assert session.execute(fragment) == 2


class Lacking(ScriptedAdapter):
    """An adapter that cannot fill fields."""

    capabilities = ScriptedAdapter.capabilities.__class__(supports_structured_output=False)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(
    "adapter",
    [ScriptedAdapter([OSError("down")]), ScriptedAdapter([]), Lacking([True])],
    ids=["failing", "exhausted", "lacking"],
)
def test_calls_that_fail_stay_errors(adapter: Any, parallel: bool) -> None:
    with (
        kedi.interactive(adapter=adapter, parallel=parallel) as session,
        pytest.raises(ModelCallError),
    ):
        session.execute(CLAIM)


def test_templates_refuse_such_answers() -> None:
    with (
        kedi.interactive(adapter=ScriptedAdapter([{"x": None}])) as session,
        pytest.raises(ModelCallError, match="does not fit"),
    ):
        session.execute(">> [x: bool]")
