"""What a model's answer may be for the types of a program."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

import kedi
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.agents.requests import ModelCallError
from kedi.errors import KediExecutionError, KediTypeExecutionError


def answered(fragment: str, answer: Any) -> Any:
    """The value of a fragment whose one model call is answered so."""
    with kedi.interactive(adapter=ScriptedAdapter([answer])) as session:
        return session.execute(fragment)


@pytest.mark.parametrize(
    ("fields", "kind", "answer"),
    [
        ("a: int", "T", {"a": "1"}),
        ("a: int", "T", {"a": True}),
        ("a: int", "T", {"a": 1.0}),
        ("a: float", "T", {"a": "2.5"}),
        ("a: bool", "T", {"a": "true"}),
        ("a: bool", "T", {"a": 1}),
        ("a: str", "T", {"a": 1}),
        ("a: int", "list[T]", [{"a": 1}, {"a": "1"}]),
        ("a: int", "dict[str, T]", {"k": {"a": "1"}}),
        ("a: int", "T | None", {"a": "1"}),
        ("a: list[int]", "T", {"a": ["1"]}),
        ("a: int, more: `list[T]` = `[]`", "T", {"a": 1, "more": [{"a": "2"}]}),
    ],
)
def test_text_becomes_no_number_inside_a_type(fields: str, kind: str, answer: Any) -> None:
    with pytest.raises(ModelCallError, match="does not fit"):
        answered(f"~T({fields})\n>> [t: {kind}]\n= `t`", {"t": answer})


def test_text_becomes_no_number_in_a_type_inside_a_type() -> None:
    fragment = "~Inner(n: int)\n~Outer(inner: Inner)\n>> [o: Outer]\n= `o.inner.n`"
    assert answered(fragment, {"o": {"inner": {"n": 3}}}) == 3
    with pytest.raises(ModelCallError, match=r"inner\.n: input should be a valid integer, got '3'"):
        answered(fragment, {"o": {"inner": {"n": "3"}}})


def test_json_forms_are_read_inside_a_type() -> None:
    fragment = (
        "~T(day: date, price: Decimal, parts: tuple[int, str], share: float)\n"
        ">> [ts: list[T]]\n= `[(t.day, t.price, t.parts, t.share) for t in ts]`"
    )
    answer = {"day": "2026-01-02", "price": "1.10", "parts": [1, "x"], "share": 2}
    expected = (dt.date(2026, 1, 2), Decimal("1.10"), (1, "x"), 2.0)
    assert answered(fragment, {"ts": [answer]}) == [expected]


def test_instances_are_taken_as_they_are() -> None:
    fragment = "~T(a: int)\n[made] = `T(1)`\n>> [ts: list[T]]\n= `ts[0].a`"
    assert answered(fragment, {"ts": [{"a": 7}]}) == 7


def test_construction_in_python_stays_lenient() -> None:
    with kedi.interactive() as session:
        fragment = "~In(n: int)\n~Out(i: In)\n= `(In('5').n, Out(i={'n': '6'}).i.n)`"
        assert session.execute(fragment) == (5, 6)
        assert session.execute("= `Out.model_validate({'i': {'n': '7', 'x': 1}}).i.n`") == 7


def test_a_class_that_json_cannot_hold_cannot_be_asked_for() -> None:
    from kedi.agents.adapters.local import LocalAdapter

    with (
        kedi.interactive(adapter=LocalAdapter()) as session,
        pytest.raises(ModelCallError) as caught,
    ):
        session.execute('>> [x: `type("Foo", (), {})`]')
    assert caught.value.message == (
        "[x: Foo] cannot be asked of a model: JSON has no form for its values"
    )
    assert "pydantic" not in str(caught.value).lower()


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        ("P('Ada', agee=1)", "P() has no field `agee`", "did you mean `age`?"),
        ("P('Ada', 1, zzz=1)", "P() has no field `zzz`", "its fields: name, age"),
        ("P('Ada', name='Bob')", "P() got the field 'name' twice", None),
        ("P('Ada', 1, 2)", "P() takes 2 fields, got 3", "its fields: name, age"),
    ],
)
def test_wrong_names_at_construction(call: str, message: str, hint: str | None) -> None:
    with kedi.interactive() as session:
        session.execute("~P(name, age: int = `0`)")
        with pytest.raises(KediTypeExecutionError) as caught:
            session.execute(f"= `{call}`")
        assert (caught.value.message, caught.value.hint) == (message, hint)
        assert not caught.value.python_traces or caught.value.python_traces[-1].embedded
        fence = f"```\ntry:\n    {call}\nexcept TypeError:\n    r = 'caught'\n```\n= `r`"
        assert session.execute("[r] = `''`\n" + fence) == "caught"


def test_a_subclass_says_what_extra_names_mean() -> None:
    with kedi.interactive() as session:
        session.execute("~P(a: int)")
        fence = "```\nclass Q(P):\n    model_config = {'extra': 'allow'}\nreturn Q(1, b=2).b\n```"
        assert session.execute(f"[r: int] = {fence}\n= `r`") == 2


@pytest.mark.parametrize("then", ["raise RuntimeError('r') from e", "raise RuntimeError('r')"])
def test_a_refused_construction_as_a_cause_speaks_of_no_internals(then: str) -> None:
    fence = f"```\ntry:\n    Z('x')\nexcept ValueError as e:\n    {then}\n```"
    with kedi.interactive() as session, pytest.raises(KediExecutionError) as caught:
        session.execute(f"~Z(a: int)\n[x] = y\n{fence}")
    (cause,) = caught.value.causes
    assert cause.type_name == "ValidationError"
    assert cause.message.startswith("the values do not fit `Z`:\n  a: input should be a valid int")
    assert "pydantic" not in str(caught.value)
