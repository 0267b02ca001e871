"""Values as bounded text."""

from __future__ import annotations

import sys
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from kedi import InteractiveSession
from kedi.session.preview import full_text, preview
from tests.session.traps import TRAPS

Pair = namedtuple("Pair", "a b")


@dataclass
class Data:
    x: int
    y: list[int]


class Model(BaseModel):
    x: int
    y: str = "z"


class Slots:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a = 1


class Plain:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class Color(Enum):
    RED = 1


class MyList(list[int]):
    pass


class MyInt(int):
    def __repr__(self) -> str:
        return "mine"


def function(a: int, /, b: str = "x", *rest: int, key: bool = True, **more: object) -> list[int]:
    return []


SIGNATURE = "(a: int, /, b: str = 'x', *rest, key: bool = True, **more) -> list[int]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (-5, "-5"),
        (True, "True"),
        (None, "None"),
        (..., "Ellipsis"),
        (1.5, "1.5"),
        (float("nan"), "nan"),
        (2j, "2j"),
        ("a'b", '"a\'b"'),
        ("\ud800", "'\\ud800'"),
        ("a\nb", "'a\\nb'"),
        (b"\x00", "b'\\x00'"),
        (bytearray(b"a"), "bytearray(b'a')"),
        ([], "[]"),
        ((), "()"),
        ((1,), "(1,)"),
        ({}, "{}"),
        (set(), "set()"),
        (frozenset(), "frozenset()"),
        ({1}, "{1}"),
        (frozenset([1]), "frozenset({1})"),
        ({"a": [1, {"b": (2,)}]}, "{'a': [1, {'b': (2,)}]}"),
        (range(3), "range(0, 3)"),
        (deque([1], 3), "deque([1], maxlen=3)"),
        (deque([1]), "deque([1])"),
        (OrderedDict(a=1), "OrderedDict({'a': 1})"),
        (Counter("aa"), "Counter({'a': 2})"),
        (defaultdict(list, a=1), "defaultdict(list, {'a': 1})"),
        ({"a": 1}.keys(), "dict_keys(['a'])"),
        ({"a": 1}.values(), "dict_values([1])"),
        ({"a": 1}.items(), "dict_items([('a', 1)])"),
        (types.MappingProxyType({"a": 1}), "mappingproxy({'a': 1})"),
        (Pair(1, "x"), "Pair(a=1, b='x')"),
        (Data(1, [2]), "Data(x=1, y=[2])"),
        (Model(x=1), "Model(x=1, y='z')"),
        (Slots(), "<Slots a=1>"),
        (Plain(), "<Plain object>"),
        (Plain(a=1, b="x"), "<Plain a=1 b='x'>"),
        (types.SimpleNamespace(a=1), "namespace(a=1)"),
        (ValueError("x", 2), "ValueError('x', 2)"),
        (Color.RED, "<Color.RED: 1>"),
        (MyList([1]), "[1]"),
        (MyInt(3), "mine"),
        (Decimal("1.50"), "Decimal('1.50')"),
        (Fraction(1, 3), "Fraction(1, 3)"),
        (date(2024, 2, 3), "datetime.date(2024, 2, 3)"),
        (PurePosixPath("/a"), "PurePosixPath('/a')"),
        (int, "<class int>"),
        (Data, f"<class {__name__}.Data>"),
        (sys, "<module sys>"),
        (len, "<builtin len>"),
        (function, "<function function" + SIGNATURE + ">"),
        (Plain().__init__, "<method __init__(**values)>"),
    ],
    ids=repr,
)  # fmt: skip
def test_known_kinds(value: Any, text: str) -> None:
    shown = preview(value)
    assert (shown.text, shown.cut) == (text, False)
    assert full_text(value) == text


def test_kedi_values(session: InteractiveSession) -> None:
    session.execute("~Person(name, age: int = `3`, tags: list[str] = `[]`)")
    session.execute("@greet(who: Person, loud: bool = `False`) -> str:\n  = `''`\n@quiet():\n  = x")
    session.execute("> profile: calm:\n  > effort: low")
    shown = {view.name: view.preview for view in session.bindings()}
    assert shown == {
        "Person": "~Person(name: str, age: int = 3, tags: list[str] = [])",
        "greet": "@greet(who: Person, loud: bool = False) -> str",
        "quiet": "@quiet() -> str",
        "calm": "<profile calm>",
    }
    assert preview(session.evaluate("`Person('x')`")).text == "Person(name='x', age=3, tags=[])"


# ── bounds ────────────────────────────────────────────────────────────────────


class Counting:
    """Counts how many of its items are rendered."""

    rendered = 0

    def __repr__(self) -> str:
        Counting.rendered += 1
        return "item"


@pytest.mark.parametrize("build", [list, tuple, deque, lambda items: dict(enumerate(items))])
def test_a_preview_of_a_large_container_is_cheap(build: Any) -> None:
    Counting.rendered = 0
    shown = preview(build([Counting()] * 200_000))
    assert shown.cut
    assert shown.length == 200_000
    assert len(shown.text) <= 200
    assert Counting.rendered < 100


@pytest.mark.parametrize("text", ["x" * 5_000_000, b"x" * 5_000_000, bytearray(5_000_000)])
def test_a_preview_of_a_long_text(text: Any) -> None:
    shown = preview(text)
    assert (len(shown.text), shown.cut, shown.length) == (200, True, 5_000_000)
    assert shown.text.endswith("…")
    whole = full_text(text)
    assert whole.startswith(shown.text[:-1])
    assert len(whole) >= 5_000_000


class Box:
    def __init__(self, items: Any) -> None:
        self.items = items

    def __repr__(self) -> str:
        return f"Box({self.items!r})"


def test_a_repr_that_would_render_everything_is_not_run() -> None:
    assert preview(Box([1])).text == "Box([1])"
    shown = preview(Box({"inner": list(range(100_000))}))
    assert shown.text.startswith("<Box items={'inner': [0, 1, 2,")
    assert shown.cut
    assert full_text(Box(list(range(20_000)))).startswith("Box([0, 1")


@pytest.mark.parametrize("limit", [1, 2, 3, 10, 199])
def test_the_limit_holds(limit: int) -> None:
    for value in (
        [1] * 500,
        "x" * 500,
        {"a" * 300: 1},
        Data(1, [2] * 500),
        10**400,
        Plain(a="é" * 400),
    ):
        shown = preview(value, limit=limit)
        assert len(shown.text) <= limit
        assert shown.cut


def test_huge_numbers() -> None:
    value = 10**5_000
    shown = preview(value)
    assert shown.cut
    assert shown.text == "1.000000e+5000…"
    assert preview(-value).text.startswith("-1.0")
    assert full_text(value) == "1" + "0" * 5_000
    assert full_text(-value) == "-1" + "0" * 5_000
    assert preview(value, hex=True).text.startswith("0x")
    assert full_text(value, hex=True) == hex(value)


def test_hex() -> None:
    assert preview([255, -1, {16: True}], hex=True).text == "[0xff, -0x1, {0x10: True}]"
    assert full_text(Data(10, [11]), hex=True) == "Data(x=0xa, y=[0xb])"


def test_cycles() -> None:
    items: list[Any] = []
    items.append(items)
    assert preview(items).text == full_text(items) == "[[...]]"
    mapping: dict[str, Any] = {}
    mapping["me"] = (mapping, items)
    assert full_text(mapping) == "{'me': ({...}, [[...]])}"
    thing = Plain()
    thing.me = thing
    assert full_text(thing) == "<Plain me=Plain(...)>"


def test_one_object_twice_is_no_cycle() -> None:
    inner = [1]
    assert full_text([inner, inner]) == "[[1], [1]]"


def test_any_depth() -> None:
    deep: Any = "core"
    for _ in range(100_000):
        deep = [deep]
    assert preview(deep).cut
    whole = full_text(deep)
    assert whole.startswith("[[[")
    assert "'core'" in whole


def test_shared_structure_cannot_explode() -> None:
    value: Any = [1]
    for _ in range(200):
        value = [value, value]
    assert len(preview(value).text) <= 200
    assert len(full_text(value, limit=10_000)) <= 10_000


# ── hostile objects ───────────────────────────────────────────────────────────


def bad(action: Any) -> Any:
    return type("Bad", (), {"__repr__": action})()


def raising(error: BaseException) -> Any:
    def action(self: object) -> str:
        raise error

    return bad(action)


def endless(self: object) -> str:
    return repr(self)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (raising(ValueError("x")), "<Bad: its repr failed with ValueError>"),
        (raising(SystemExit()), "<Bad: its repr failed with SystemExit>"),
        (bad(lambda self: 3), "<Bad: its repr failed with TypeError>"),
        (bad(lambda self: None), "<Bad: its repr failed with TypeError>"),
        (bad(endless), "<Bad: its repr failed with RecursionError>"),
        (bad(lambda self: "a\n   b\tc\x1b[31m\ud800"), "a b    c\\x1b[31m\\ud800"),
        (bad(lambda self: ""), ""),
        (bad("not callable"), "<Bad: its repr failed with TypeError>"),
        (bad([]), "<Bad: its repr failed with TypeError>"),
    ],
)
def test_bad_reprs(value: Any, text: str) -> None:
    assert preview(value).text == text
    assert preview([value, 1]).text == f"[{text}, 1]"
    full_text([value]).encode()


def test_a_repr_may_be_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt):
        preview(raising(KeyboardInterrupt()))


def test_a_repr_that_prints_is_not_heard(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(self: object) -> str:
        sys.stdout.write("SHOUT")
        sys.stderr.write("SHOUT")
        return "loud"

    before = sys.stdout, sys.stderr
    assert preview(bad(loud)).text == "loud"
    assert (sys.stdout, sys.stderr) == before
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_other_threads_are_heard_meanwhile(capsys: pytest.CaptureFixture[str]) -> None:
    inside, printed = threading.Event(), threading.Event()

    def waits(self: object) -> str:
        inside.set()
        assert printed.wait(20)
        return "done"

    def speak() -> None:
        assert inside.wait(20)
        sys.stdout.write("other thread\n")
        printed.set()

    thread = threading.Thread(target=speak)
    thread.start()
    assert preview(bad(waits)).text == "done"
    thread.join(20)
    assert capsys.readouterr().out == "other thread\n"


def test_a_class_that_changes_while_it_is_read() -> None:
    mapping = {index: index for index in range(10)}

    class Grows:
        def __repr__(self) -> str:
            mapping[len(mapping)] = 0
            return "grows"

    mapping[0] = Grows()  # type: ignore[assignment]
    shown = preview(mapping)
    assert shown.cut
    assert shown.text.startswith("{0: grows")


@pytest.mark.parametrize("name", TRAPS)
def test_user_code_never_runs(name: str) -> None:
    value = TRAPS[name]()
    for shown in (preview(value), preview([value]), preview(value, run_repr=False)):
        assert shown.text
    assert full_text(value)


def test_without_reprs() -> None:
    assert preview(Box([1]), run_repr=False).text == "<Box items=[1]>"
    assert preview(raising(ValueError()), run_repr=False).text == "<Bad object>"
    assert preview(Decimal(1), run_repr=False).text == "Decimal('1')"
    assert preview(MyInt(3), run_repr=False).text == "MyInt(3)"


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=15,
)


@given(json_like, st.integers(1, 60))
def test_what_python_writes(value: Any, limit: int) -> None:
    assert full_text(value) == repr(value).encode("utf-8", "backslashreplace").decode()
    shown = preview(value, limit=limit)
    assert len(shown.text) <= limit
    if not shown.cut:
        assert shown.text == repr(value)
