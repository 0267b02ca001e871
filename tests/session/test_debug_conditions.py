"""Conditions, hit counts and messages of breakpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kedi
from kedi import InteractiveSession
from kedi.debugging import Observer, RunFrame
from kedi.session.debugger.conditions import condition, hit_condition, log_message


class Asking(Observer):
    """Asks at the statement of a line; what it asks may come there again."""

    def __init__(self, line: int, ask: Callable[[RunFrame], Any]) -> None:
        self.line = line
        self.ask = ask
        self.answers: list[Any] = []
        self.asking = False

    def statement(self, frame: RunFrame) -> None:
        assert frame.site is not None
        if frame.site.line == self.line and not self.asking:
            self.asking = True
            self.answers.append(self.ask(frame))
            self.asking = False


SOURCE = """
[n: int] = `3`
[name] = Ada
[data] = `{"a": [1, 2], "}": "brace"}`
@deep(k: int) -> int:
  [local] = `k * 2`
  > loop [i]: `range(2)`:
    [x] = `i`
  = `local`
= `deep(5)`
""".strip()


def asked(session: InteractiveSession, ask: Callable[[RunFrame], Any], line: int = 7) -> list[Any]:
    """Answers at ``[x] = …``, in each of two iterations."""
    observer = Asking(line, ask)
    session.observe(observer)
    session.execute(SOURCE)
    session.observe(None)
    return observer.answers


HOLDS = {
    "i == 1": [False, True],
    "n == 3 and local == 10": [True, True],
    "<i>": [False, True],
    "`i`": [False, True],
    "= <name>": [True, True],
    "so <name>": [True, True],
    "<deep(`0`)>": [False, False],
    "sum(v for v in data['a'] if v > i) == 3": [True, False],
    "[v for v in range(i)]": [False, True],
    "(lambda: i)()": [False, True],
    "eval('i')": [False, True],
    "'k' in globals()": [True, True],
    "len(name) > 2": [True, True],
    "data": [True, True],
    "''": [False, False],
    "(t := i) and t": [False, True],
}


@pytest.mark.parametrize(("text", "expected"), HOLDS.items())
def test_conditions_see_the_frame(
    session: InteractiveSession, text: str, expected: list[bool]
) -> None:
    holds = condition(text)
    answers = asked(session, lambda frame: holds(frame, frame.scope))
    assert answers == expected
    assert all(type(answer) is bool for answer in answers)


@pytest.mark.parametrize("text", ["x y", "[x] = 1", "x = 1", ">> hi", "", "   ", "= 1\n= 2", "(1,"])
def test_what_is_no_condition_is_refused_at_once(text: str) -> None:
    with pytest.raises(kedi.KediParseError):
        condition(text)


def test_what_a_condition_raises_comes_out(session: InteractiveSession) -> None:
    holds = condition("nothing_here > 1")

    def ask(frame: RunFrame) -> str:
        with pytest.raises(NameError, match="nothing_here") as caught:
            holds(frame, frame.scope)
        return str(caught.value)

    assert len(asked(session, ask)) == 2


def test_one_condition_serves_several_sessions(make: Callable[..., InteractiveSession]) -> None:
    for text in ("i == 1", "= <i>"):
        holds = condition(text)
        for _ in range(2):
            answers = asked(make(), lambda frame: holds(frame, frame.scope))  # noqa: B023
            assert answers == ([False, True] if text == "i == 1" else [True, True])


def test_conditions_leave_the_frame_as_it_was(session: InteractiveSession) -> None:
    holds = condition("deep(1) and name")

    def ask(frame: RunFrame) -> Any:
        before = (frame.site, frame.scope, frame.value, frame.calls, dict(frame.scope.items()))
        holds(frame, frame.scope)
        after = (frame.site, frame.scope, frame.value, frame.calls, dict(frame.scope.items()))
        return before == after

    assert asked(session, ask) == [True, True]


MESSAGES = {
    "plain": "plain",
    "": "",
    "n is {n}": "n is 3",
    "{name}{n}": "Ada3",
    "{{n}} {{{n}}}": "{n} {3}",
    "} }} {{": "} } {",
    "{data['}']} {data['a'][0]}": "brace 1",
    "{ {'a': 1}['a'] }": "1",
    "{n!r} {name!r} {name!a} {name!s}": "3 'Ada' 'Ada' Ada",
    "{name:>5}|{n:03}|{name!r:<7}|": "  Ada|003|'Ada'  |",
    "{data['a'][0:1]}": "[1]",
    "<name> {<name>} {= <name>!}": "<name> Ada Ada!",
    "{1/0} {missing} {data['zz']}": (
        "<ZeroDivisionError: division by zero> <NameError: name 'missing' is not defined> "
        "<KeyError: 'zz'>"
    ),
    "{n:q}": "<ValueError: Unknown format code 'q' for object of type 'int'>",
    "é🙂 {name}\n{n}": "é🙂 Ada\n3",
    "{[v for v in data['a']]}": "[1, 2]",
    "{f'{n}!'}": "3!",
}


@pytest.mark.parametrize(("text", "expected"), MESSAGES.items())
def test_messages(session: InteractiveSession, text: str, expected: str) -> None:
    message = log_message(text)
    assert asked(session, lambda frame: message(frame, frame.scope)) == [expected] * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a {x y}", "Python: "),
        ("a {", "the brace is not closed"),
        ("a {}", "nothing stands in the braces"),
        ("{  }", "nothing stands in the braces"),
        ("{[x] = 1}", "Python: "),
        ("{x!z}", "Python: "),
    ],
)
def test_messages_that_are_wrong(text: str, said: str) -> None:
    with pytest.raises(kedi.KediParseError, match=said):
        log_message(text)


def test_a_message_shows_values_that_cannot_be_shown(session: InteractiveSession) -> None:
    session.execute("```\nclass Bad:\n  def __str__(self): raise RuntimeError('no text')\n```")
    session.execute("[bad] = `Bad()`")
    message = log_message("bad is {bad}")
    assert (
        asked(session, lambda frame: message(frame, frame.scope))
        == ["bad is <RuntimeError: no text>"] * 2
    )


COUNTS = {
    "5": [5],
    " == 5 ": [5],
    "=5": [5],
    ">= 9": [9, 10],
    "> 9": [10],
    "% 4": [4, 8],
    "<3": [1, 2],
    "<= 3": [1, 2, 3],
}


@pytest.mark.parametrize(("text", "expected"), COUNTS.items())
def test_hit_counts(text: str, expected: list[int]) -> None:
    holds = hit_condition(text)
    assert [count for count in range(1, 11) if holds(count)] == expected


@pytest.mark.parametrize("text", ["", "x", "5 5", "=> 5", "% 0", "-5", "5.0", "٥", "9" * 30])
def test_what_is_no_hit_count(text: str) -> None:
    with pytest.raises(ValueError, match="is no hit count"):
        hit_condition(text)
