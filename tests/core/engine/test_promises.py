"""Promises are opaque, and whoever reads the name gets the value."""

from __future__ import annotations

import copy
import json
import operator
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

import kedi
from kedi import KediPromise, KediPromiseLeak
from kedi.errors import KediExecutionError
from kedi.runtime.promises import force
from tests.core.engine.support import parallel


def waiting() -> KediPromise[Any]:
    return KediPromise("city")


USES: dict[str, Callable[[Any], Any]] = {
    "str": str,
    "f-string": lambda p: f"{p}",
    "format": lambda p: format(p, ">3"),
    "percent": lambda p: "%s" % p,  # noqa: UP031
    "bytes": bytes,
    "bool": bool,
    "not": operator.not_,
    "int": int,
    "float": float,
    "complex": complex,
    "index": lambda p: [1, 2][p],
    "len": len,
    "iter": iter,
    "next": next,
    "list": list,
    "star": lambda p: [*p],
    "double star": lambda p: {**p},
    "in": lambda p: 1 in p,
    "item": lambda p: p[0],
    "slice": lambda p: p[1:],
    "set item": lambda p: operator.setitem(p, 0, 1),
    "del item": lambda p: operator.delitem(p, 0),
    "call": lambda p: p(),
    "attribute": lambda p: p.upper(),
    "hash": hash,
    "dict key": lambda p: {p: 1},
    "set": lambda p: {p},
    "equal": lambda p: p == "a",
    "equal reversed": lambda p: p == "a",
    "unequal": lambda p: p != "a",
    "less": lambda p: p < 1,
    "greater": lambda p: p >= 1,
    "plus": lambda p: p + 1,
    "plus reversed": lambda p: 1 + p,
    "text plus": lambda p: "a" + p,
    "plus in place": lambda p: operator.iadd(p, 1),
    "minus": lambda p: 1 - p,
    "times": lambda p: "ab" * p,
    "divide": lambda p: 1 / p,
    "floor": lambda p: p // 2,
    "modulo": lambda p: 7 % p,
    "divmod": lambda p: divmod(p, 2),
    "power": lambda p: 2**p,
    "matrix": lambda p: p @ 1,
    "shift": lambda p: 1 << p,
    "and": lambda p: p & 1,
    "or": lambda p: 1 | p,
    "xor": lambda p: p ^ 1,
    "negative": operator.neg,
    "positive": operator.pos,
    "invert": operator.inv,
    "abs": abs,
    "round": round,
    "range": range,
    "reversed": reversed,
    "sorted": sorted,
    "path": os.fspath,
    "pickle": pickle.dumps,
    "with": lambda p: p.__enter__(),
    "sum": lambda p: sum([p]),
    "max": lambda p: max(p, 1),
}


@pytest.mark.parametrize("state", ["pending", "done"])
@pytest.mark.parametrize("use", USES)
def test_every_concrete_use_leaks(use: str, state: str) -> None:
    promise = waiting()
    if state == "done":
        promise.fulfil("x")
    with pytest.raises(KediPromiseLeak) as caught:
        USES[use](promise)
    assert "city" in caught.value.message
    assert "force" in (caught.value.hint or "")


def test_json_refuses_a_promise() -> None:
    with pytest.raises(TypeError):
        json.dumps({"a": waiting()})


def test_repr_and_copies_never_wait() -> None:
    promise = waiting()
    assert repr(promise) == "<KediPromise city: pending>"
    assert copy.copy(promise) is promise
    assert copy.deepcopy([promise])[0] is promise
    assert promise is promise
    assert isinstance(promise, KediPromise)
    promise.fulfil("Paris")
    assert repr(promise) == "<KediPromise city: done>"
    failed: KediPromise[Any] = KediPromise()
    failed.fail(ValueError("no"))
    assert repr(failed) == "<KediPromise value: failed>"


def test_force() -> None:
    promise = waiting()
    promise.fulfil("Paris")
    assert kedi.force(promise) == "Paris"
    assert force("Rome") == "Rome"
    assert force(None) is None


def test_only_the_first_end_counts() -> None:
    promise = waiting()
    assert promise.fulfil(1)
    assert not promise.fulfil(2)
    assert not promise.fail(ValueError())
    assert promise.resolve() == 1
    assert promise.error is None


def test_waiting_from_other_threads() -> None:
    promise = waiting()
    got: list[Any] = []
    threads = [threading.Thread(target=lambda: got.append(promise.resolve())) for _ in range(5)]
    for thread in threads:
        thread.start()
    promise.fulfil(7)
    for thread in threads:
        thread.join()
    assert got == [7] * 5


def test_a_failed_promise_fails_the_same_way_each_time() -> None:
    promise = waiting()
    error = ValueError("no")
    promise.fail(error)
    depth = []
    for _ in range(3):
        with pytest.raises(ValueError, match="no") as caught:
            promise.resolve()
        assert caught.value is error
        depth.append(len(caught.traceback))
    assert len(set(depth)) == 1


def test_map() -> None:
    promise = waiting()
    calls: list[Any] = []

    def upper(value: str) -> str:
        calls.append(value)
        return value.upper()

    derived = promise.map(upper)
    assert not derived.done
    assert calls == []
    promise.fulfil("paris")
    assert derived.resolve() == "PARIS"
    assert promise.map(len).resolve() == 5
    assert promise.map(upper).map(len).resolve() == 5
    assert derived.resolve() == "PARIS"
    assert calls == ["paris", "paris"]


def test_map_hands_on_failures() -> None:
    promise = waiting()
    derived, broken = promise.map(len), promise.map(lambda value: 1 / 0)
    promise.fulfil("x")
    assert derived.resolve() == 1
    with pytest.raises(ZeroDivisionError):
        broken.resolve()
    failed = waiting()
    after = failed.map(len)
    failed.fail(KeyError("k"))
    with pytest.raises(KeyError):
        after.resolve()


def test_map_runs_before_anyone_reads_the_value() -> None:
    promise = waiting()
    order: list[str] = []
    reader = threading.Thread(target=lambda: (promise.resolve(), order.append("read")))
    reader.start()
    promise.map(lambda value: order.append("map"))
    promise.map(lambda value: order.append("again"))
    promise.fulfil("x")
    reader.join()
    assert order == ["map", "again", "read"]


def test_a_mapped_function_may_read_the_promise_itself() -> None:
    promise = waiting()
    derived = promise.map(lambda value: (value, promise.resolve()))
    promise.fulfil(1)
    assert derived.resolve() == (1, 1)


# ── in programs ───────────────────────────────────────────────────────────────

READS = {
    "inline": ("= `city`", "city16"),
    "rendered": ("= <city>", "city16"),
    "f-string": ("= `f'{city}!'`", "city16!"),
    "fence": ("= ```\nreturn city + '?'\n```", "city16?"),
    "comprehension": ("= `[city for _ in range(2)]`", ["city16", "city16"]),
    "lambda": ("= `(lambda: city)()`", "city16"),
    "nested def": ("= ```\ndef f():\n    return city\nreturn f()\n```", "city16"),
    "class body": ("= ```\nclass C:\n    name = city\nreturn C.name\n```", "city16"),
    "eval": ("= `eval('city')`", "city16"),
    "globals item": ("= `globals()['city']`", "city16"),
    "globals in": ("= `'city' in globals()`", True),
    "globals get": ("= `__import__('kedi').force(globals().get('city'))`", "city16"),
    "dict of globals": ("= `dict(globals())['city']`", "city16"),
    "assignment": ("[b] = <city>\n= <b>", "city16"),
    "native": ("[b: str] = `city`\n= <b>", "city16"),
    "argument": ("@f(x):\n  = <x>\n= <f(<city>)>", "city16"),
    "outer of a procedure": ("@f():\n  = <city>\n= <f()>", "city16"),
    "write-back": ("`city += '!'`\n= <city>", "city16!"),
    "augmented in a fence": ("```\ncity += '!'\n```\n= <city>", "city16!"),
    "global in def": (
        "```\ndef f():\n    global city\n    city = city * 2\nf()\n```\n= <city>",
        "city16city16",
    ),
    "assigned anew": ("[city] := Rome\n= <city>", "Rome"),
    "initialised anew": ("[city] = Rome\n= <city>", "Rome"),
    "branch": ("> if: `city == 'city16'`:\n  [r] = yes\n  = <r>", "yes"),
    "loop": ("[n: int] = `0`\n> loop [c]: `city`:\n  `n += 1`\n= `n`", 6),
    "delete": ("```\ndel city\n```\n= <city>", "city16"),
    "type error": ("`city.nothing`", AttributeError),
}  # fmt: skip


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("engine", ["sequential", "parallel"])
def test_every_read_gets_the_value(read: str, engine: str) -> None:
    source, expected = READS[read]
    with parallel(engine=engine) as session:
        if isinstance(expected, type):
            with pytest.raises(KediExecutionError) as caught:
                session.execute(f">> Some [city].\n{source}")
            assert isinstance(caught.value.original, expected)
        else:
            assert session.execute(f">> Some [city].\n{source}") == expected


def test_show_waits(capsys: pytest.CaptureFixture[str]) -> None:
    with parallel() as session:
        session.execute(">> Some [city].\n> show: It is <city>\n> show: `city`")
    assert capsys.readouterr().out == "It is city16\ncity16\n"


def test_a_fragment_leaves_no_promise_behind() -> None:
    with parallel() as session:
        session.execute(">> Some [city: str] and [n: int].\n[raw] << More")
        assert {"city", "n", "raw"} <= {view.name for view in session.bindings()}
        assert session.execute("= `globals().get('city')`").startswith("city")
        before = session.evaluate("`n`")
        assert session.execute("[n] := `n + 1`\n= `n`") == before + 1
        with pytest.raises(KediExecutionError, match="int"):
            session.execute("[n] := text")


def test_promises_can_be_passed_on() -> None:
    source = """
>> Some [city].
[size] = `globals().get('city').map(len)`
= `__import__('kedi').force(size)`
""".strip()
    with parallel() as session:
        assert session.execute(source) == 6
        with pytest.raises(KediPromiseLeak) as caught:
            session.execute(">> Other [town].\n[p] = `globals().get('town')`\n= about <p>")
        assert caught.value.frames[-1].span.line == 3


def test_a_returned_promise_is_forced() -> None:
    with parallel() as session:
        assert session.execute(">> Some [city].\n= `globals().get('city')`") == "city16"
        session.execute("@f() -> str:\n  >> Some [town].\n  = `globals().get('town')`")
        assert session.evaluate("`f()`") == "town16"
        assert session.evaluate("`f`")() == "town16"


def test_a_promise_as_argument_is_forced() -> None:
    with parallel() as session:
        session.execute("@f(x: str) -> int:\n  = `len(x)`")
        assert session.execute(">> Some [city].\n= `f(globals().get('city'))`") == 6
