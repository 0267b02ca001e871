"""What a refused watch would cost."""

from __future__ import annotations

import pytest

from kedi import InteractiveSession
from kedi.runtime.scopes import dict_set, new_scope
from kedi.session.debugger.price import price

PREPARED = """
[long] = abcdefgh
[number: int] = `12`
@hi(x) -> str:
  = hello <x>
@ask(topic) -> str:
  >> Tell me of <topic>: [answer]
  = <answer>
@many(n: int) -> str:
  > loop [i]: `range(n)`:
    [a] = <ask(<i>)>
  = <a>
@both(t) -> str:
  [a] = <ask(<t>)>
  [b] = `ask(a)`
  = <a><b>
@branch(t) -> str:
  > if: `len(t) > 3`:
    = short
  > else:
    >> A much longer prompt than nothing [x]
  = x
@claims(t) -> str:
  > if: is <t> good
    = yes
  = no
@rec(n: int) -> str:
  > if: `n > 0`:
    = `rec(n - 1)`
  = x
@endless(n) -> str:
  >> Say [x]
  = `endless(n)`
~Kind(name)
""".strip()

PRICES = {
    "1 + 1": None,
    "long.upper()": None,
    "len(long)": None,
    "": None,
    "hi('a')": "would call the procedure `hi`",
    "<hi(a)>": "would call the procedure `hi`",
    "= <hi(a)> and more": "would call the procedure `hi`",
    # `Tell me of cats: [answer]`, 26 characters.
    "ask('cats')": "would call the model (about 7 tokens)",
    "<ask(cats)>": "would call the model (about 7 tokens)",
    "ask(topic='cats')": "would call the model (about 7 tokens)",
    "ask(long * 100)": "would call the model (about 206 tokens)",
    "ask(number)": "would call the model (about 6 tokens)",
    "ask(unknown)": "would call the model (at least 6 tokens)",
    "ask(helper())": "would call the model (at least 6 tokens)",
    "many(3)": "would call the model at least once (at least 6 tokens)",
    "[ask(c) for c in 'abc']": "would call the model at least once (at least 6 tokens)",
    "both('x')": "would call the model twice (at least 11 tokens)",
    "branch('x')": "would call the model (about 10 tokens)",
    "claims('x')": "would call the model (about 3 tokens)",
    "rec(3)": "would call the procedure `rec`",
    "endless('')": "would call the model at least once (at least 2 tokens)",
    "helper()": "would run Python: `helper`",
    "print(1)": "would run Python: `print`",
    "nowhere()": "would run Python: `nowhere`",
    "Kind(name='a')": "would run Python: `Kind`",
    "x = 1": "would run Python",
    "`x = 1`": "would run Python",
    ">> Say [x: int] please": "would call the model (about 4 tokens)",
    "[q] << say <long>": "would call the model (about 3 tokens)",
    "[x] = <ask(cats)>": "would call the model (about 7 tokens)",
    "> show: <ask(cats)>": "would call the model (about 7 tokens)",
    "foo bar": None,
}


@pytest.fixture
def prepared(session: InteractiveSession) -> InteractiveSession:
    session.execute("```\ndef helper(): raise SystemExit\n```\n" + PREPARED)
    return session


@pytest.mark.parametrize(("text", "expected"), PRICES.items())
def test_prices(prepared: InteractiveSession, text: str, expected: str | None) -> None:
    assert price(prepared._interpreter, text, prepared._scope) == expected
    assert prepared.calls == ()


def test_the_scope_of_the_frame_counts(prepared: InteractiveSession) -> None:
    inner = new_scope(prepared._scope, "procedure")
    dict_set(inner, "topic", "x" * 4_000)
    said = price(prepared._interpreter, ">> About <topic>: [a]", inner)
    assert said == "would call the model (about 1,003 tokens)"


def test_system_text_counts(prepared: InteractiveSession) -> None:
    prepared.execute("> system: " + "be kind " * 50)
    assert price(prepared._interpreter, ">> Hi [x]", prepared._scope) == (
        "would call the model (about 102 tokens)"
    )


def test_hostile_values_are_only_measured(prepared: InteractiveSession) -> None:
    prepared.execute(
        "```\nclass Bad:\n  def __str__(self): raise SystemExit\n  __repr__ = __str__\n```"
    )
    prepared.execute("[bad] = `Bad()`")
    assert (price(prepared._interpreter, "ask(bad)", prepared._scope) or "").startswith(
        "would call the model ("
    )
