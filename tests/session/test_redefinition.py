"""What a later fragment may define anew, and whom that reaches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedi import InteractiveSession
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import KediExecutionError, KediTypeExecutionError

Make = Callable[..., InteractiveSession]


def test_a_procedure_is_replaced_for_earlier_callers(session: InteractiveSession) -> None:
    session.execute("@a() -> int:\n  = `1`")
    session.execute("@b() -> int:\n  = `a() + 10`\n@c() -> str:\n  = <a()>")
    old = session.execute("= `a`")
    session.execute("@a() -> int:\n  = `2`")
    assert session.execute("= `(b(), c(), old())`".replace(", old()", "")) == (12, "2")
    assert old() == 1


def test_a_signature_may_change(session: InteractiveSession) -> None:
    session.execute("@f(x: int) -> int:\n  = `x`")
    session.execute("@f(x: str, y: str = `'!'`) -> str:\n  = <x><y>")
    assert session.execute("= <f(hi)>") == "hi!"
    with pytest.raises(KediTypeExecutionError):
        session.execute("= `f(1)`")


def test_values_of_a_replaced_type_keep_their_class(session: InteractiveSession) -> None:
    session.execute("~Point(x: int)\n[old: Point] = `Point(1)`")
    session.execute("@show(p: Point) -> int:\n  = `p.x`")
    session.execute("~Point(x: int, y: int = `0`)")
    assert session.execute("= `(old.x, isinstance(old, Point), Point(2).y)`") == (1, False, 0)
    # The procedure looks its parameter's type up by name, so it takes the new one.
    assert session.execute("= `show(Point(5))`") == 5
    with pytest.raises(KediTypeExecutionError, match="earlier definition"):
        session.execute("= `show(old)`")
    with pytest.raises(KediTypeExecutionError) as caught:
        session.execute("[new: Point] = `old`")
    text = str(caught.value)
    assert "Point" in text
    assert "<interactive:1>" in text or "earlier" in text or "another" in text


def test_a_value_may_become_something_else(session: InteractiveSession) -> None:
    session.execute("[x: int] = `1`")
    session.execute("[x] = text")
    assert session.execute("= <x>") == "text"
    session.execute("[x] := other")
    with pytest.raises(KediTypeExecutionError):
        session.execute("[x] := `5`")
    session.execute("@x() -> int:\n  = `7`")
    assert session.execute("= `x()`") == 7
    session.execute("~x(a: int)")
    assert session.execute("= `x(3).a`") == 3
    session.execute("[x: list[int]] = `[1]`")
    assert session.execute("= `x`") == [1]


def test_a_declared_type_lasts_until_the_name_is_bound_again(session: InteractiveSession) -> None:
    session.execute("[n: int] = `1`")
    for source in ("[n] := text", "[n] := `'2'`", "`n = 'x'`", "```\nglobal n\nn = None\n```"):
        with pytest.raises(KediTypeExecutionError):
            session.execute(source)
        assert session.execute("= `n`") == 1
    session.execute("[n: int | None] = `None`")
    session.execute("`n = 4`")
    assert session.execute("= `n`") == 4


def test_nested_procedures_see_the_latest_values(session: InteractiveSession) -> None:
    session.execute("[total: int] = `0`")
    session.execute(
        "@add(n: int) -> int:\n  @inner():\n    [total] := `total + n`\n  `inner()`\n  = `total`"
    )
    assert session.execute("= `add(2)`") == 2
    session.execute("[total: int] = `40`")
    assert session.execute("= `add(2)`") == 42


def test_a_prelude_may_be_extended_and_replaced(session: InteractiveSession) -> None:
    session.execute("```\nRATE = 2\ndef scale(x):\n    return x * RATE\n```")
    assert session.execute("= `scale(3)`") == 6
    session.execute("```\nRATE = 5\n```")
    assert session.execute("= `scale(3)`") == 15
    session.execute("```\ndef scale(x):\n    return -x\n```\n[r: int] = `scale(1)`")
    assert session.execute("= `r`") == -1


def test_directives_are_captured_where_a_procedure_is_defined(make: Make) -> None:
    model = ScriptedAdapter(lambda prompt: {"a": "x"})
    session = make(adapter=model)
    session.execute("> effort: low")
    session.execute("@ask():\n  >> q [a]\n  = <a>")
    session.execute("> effort: high")
    session.execute("= <ask()>")
    session.execute(">> q [a]")
    assert [options["effort"] for options in model.options] == ["low", "high"]


def test_branches_do_not_leak(session: InteractiveSession) -> None:
    session.execute("[kept: int] = `1`\n> if: `True`:\n  [inner] = 1\n  [kept] := `2`")
    assert [view.name for view in session.bindings()] == ["kept"]
    assert session.execute("= `kept`") == 2
    with pytest.raises(KediExecutionError):
        session.execute("= <inner>")


def test_python_locals_vanish(session: InteractiveSession) -> None:
    session.execute("[a: int] = `1`\n```\nb = a + 1\na = b\n```")
    assert [view.name for view in session.bindings()] == ["a"]
    assert session.execute("= `a`") == 2
