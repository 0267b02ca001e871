"""Values in messages: bounded, and no failure of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import kedi
from kedi.agents.checks import CHECKS
from kedi.agents.errors import ConfigurationError
from kedi.agents.reprs import full_repr, short_repr
from kedi.agents.validation import TypeMismatch, check_native
from kedi.errors import KediTypeExecutionError


class Failing:
    """A value whose repr raises what it is given."""

    def __init__(self, problem: BaseException) -> None:
        self.problem = problem

    def __repr__(self) -> str:
        raise self.problem


HUGE = 10**10000


@pytest.mark.parametrize("show", [full_repr, short_repr])
def test_of_values_that_python_will_not_show(show: Callable[[Any], str]) -> None:
    assert show(HUGE) == "<int of 33,220 bits>"
    assert show(-HUGE) == "<int of 33,220 bits>"
    assert show(Failing(ValueError("no"))) == "<Failing whose repr raised ValueError>"
    assert show(Failing(SystemExit(3))) == "<Failing whose repr raised SystemExit>"
    assert show(Failing(GeneratorExit())) == "<Failing whose repr raised GeneratorExit>"
    with pytest.raises(KeyboardInterrupt):
        show(Failing(KeyboardInterrupt()))
    assert show("lone \ud800") == r"'lone \ud800'"
    assert (show(12), show("x"), show([1, None]), show(True)) == ("12", "'x'", "[1, None]", "True")


def test_inside_containers() -> None:
    assert short_repr([HUGE]) == "[<int of 33,220 bits>]"
    assert short_repr({"a": Failing(SystemExit())}) == (
        "{'a': <Failing whose repr raised SystemExit>}"
    )
    assert full_repr([1, HUGE]) == "<list of 2 items whose repr raised ValueError>"


def test_is_short() -> None:
    assert len(short_repr("x" * 10**6)) <= 81
    assert len(short_repr([["x" * 50] * 50] * 50)) <= 81
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert short_repr(deep).startswith("[[[")
    assert full_repr(deep) == "<list of 1 items whose repr raised RecursionError>"


@pytest.mark.parametrize(
    "value",
    [HUGE, Failing(ValueError()), Failing(SystemExit()), [Failing(SystemExit())]],
    ids=["huge", "error", "exit", "inside"],
)
def test_the_mismatch_is_told(value: Any) -> None:
    with pytest.raises(TypeMismatch):
        check_native(value, str)
    with pytest.raises(TypeMismatch):
        check_native([value], list[str])


@pytest.mark.parametrize(
    "value",
    ["10**10000", "[10**10000]", "{'k': -10**10000}", "Bad()", "[Bad()]", "'\\ud800'.encode"],
)
def test_the_mismatch_is_told_to_the_user(value: str) -> None:
    prelude = "```\nclass Bad:\n    def __repr__(self):\n        raise SystemExit(3)\n```\n"
    with kedi.interactive() as session, pytest.raises(KediTypeExecutionError) as caught:
        session.execute(f"{prelude}[z: str] = `{value}`")
    assert caught.value.message.startswith("`z` expects str, got ")


def test_settings_of_any_size_are_refused_as_such() -> None:
    for name, value in (("max_workers", -HUGE), ("effort", HUGE), ("effort", [HUGE])):
        with pytest.raises(ConfigurationError, match=name):
            CHECKS[name](value)


def test_the_limit_of_digits_may_be_lower_still() -> None:
    code = (
        "import sys; sys.set_int_max_str_digits(640)\n"
        "from kedi.agents.validation import *\n"
        "try: check_native(10**1000, str)\n"
        "except TypeMismatch as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "expected str, got int" in done.stdout, done.stderr
