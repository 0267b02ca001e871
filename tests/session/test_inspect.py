"""The variable tree: bindings of a scope and children of values."""

from __future__ import annotations

import threading
import time
import types
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from kedi import InteractiveSession, KediPromise
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import KediExecutionError
from kedi.session.inspect import child_counts, children, view_scope
from tests.session.traps import TRAPS, Trap

Make = Callable[..., InteractiveSession]
Pair = namedtuple("Pair", "a b")


@dataclass
class Data:
    x: int
    y: list[int]


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


class Slots:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a = 1


class SlotsAndDict(Slots):
    def __init__(self) -> None:
        super().__init__()
        self.c = 3


class ListWith(list[int]):
    pass


def tree(value: Any, start: int = 0, count: int = 100) -> list[tuple[str, str, str | None]]:
    return [
        (one.name, one.preview, one.expression) for one in children(value, start, count).children
    ]


# ── bindings ──────────────────────────────────────────────────────────────────


def test_bindings(make: Make) -> None:
    session = make(env={"outer": 1})
    session.execute("```\nimport json\nRATE = 2\ndef helper(x): return x\nclass Own: pass\n```")
    session.execute("[n: int] = `5`\n[text] = hi\n[raw] = `[1, 2]`", source_name="values.kedi")
    session.execute("~T(x: int)\n@f(a: int) -> int:\n  = `a`\n> profile: p:\n  > effort: low")
    views = {view.name: view for view in session.bindings()}
    assert list(views) == ["json", "RATE", "helper", "Own", "n", "text", "raw", "T", "f", "p"]
    assert {name: view.kind for name, view in views.items()} == {
        "json": "python", "RATE": "value", "helper": "python", "Own": "python", "n": "value",
        "text": "value", "raw": "value", "T": "type", "f": "procedure", "p": "profile",
    }  # fmt: skip
    assert {name: view.declared for name, view in views.items() if view.declared} == {
        "n": "int",
        "text": "str",
    }
    assert [views[name].type_label for name in ("n", "text", "raw", "T", "f", "json")] == [
        "int", "str", "list", "type", "procedure", "module",
    ]  # fmt: skip
    assert (views["raw"].named, views["raw"].indexed, views["raw"].length) == (0, 2, 2)
    assert views["n"].value == 5
    assert {name: views[name].origin for name in ("RATE", "helper", "n", "raw", "T", "f")} == {
        "RATE": "<interactive:1>", "helper": "<interactive:1>", "n": "values.kedi",
        "raw": "values.kedi", "T": "<interactive:3>", "f": "<interactive:3>",
    }  # fmt: skip


def test_reprs_run_on_request_only(make: Make) -> None:
    class Speaks:
        def __init__(self) -> None:
            self.calls = 0

        def __repr__(self) -> str:
            self.calls += 1
            return "speaks"

    thing = Speaks()
    session = make(env={"thing": thing})
    session.execute("[kept] = `thing`\n[many] = `[thing]`")
    assert [view.preview for view in session.bindings()] == [
        "<Speaks calls=0>",
        "[<Speaks calls=0>]",
    ]
    session.complete("= <")
    session.complete("= `kept.")
    assert thing.calls == 0
    assert [view.preview for view in session.bindings(run_repr=True)] == ["speaks", "[speaks]"]


def test_an_origin_is_the_last_binding(session: InteractiveSession) -> None:
    session.execute("[a] = 1\n[b] = 1")
    session.execute("[a] = 2")
    with pytest.raises(Exception, match="division"):
        session.execute("[c] = 3\n`1 / 0`\n[b] = 4")
    assert {view.name: view.origin for view in session.bindings()} == {
        "a": "<interactive:2>",
        "b": "<interactive:1>",
        "c": "<interactive:3>",
    }


def test_pages_of_bindings(session: InteractiveSession) -> None:
    session.execute("\n".join(f"[v{i}: int] = `{i}`" for i in range(50)))
    scope = session._scope
    assert [view.name for view in view_scope(scope, start=10, count=3)] == ["v10", "v11", "v12"]
    assert [view.name for view in view_scope(scope, start=48)] == ["v48", "v49"]
    assert view_scope(scope, start=60) == []
    assert view_scope(scope, start=-5, count=1)[0].name == "v0"
    assert view_scope(scope, start=16, count=1, hex=True)[0].preview == "0x10"


def test_pending_names_are_not_waited_for(make: Make) -> None:
    release, started = threading.Event(), threading.Event()

    def slow(prompt: str) -> dict[str, str]:
        started.set()
        assert release.wait(20)
        return {"a": "answer"}

    session = make(adapter=ScriptedAdapter(slow), parallel=True)
    worker = threading.Thread(
        target=session.execute, args=("[before] = 1\n>> go [a]\n[after] = 2",)
    )
    worker.start()
    assert started.wait(20)
    deadline = time.monotonic() + 20
    views: dict[str, Any] = {}
    while "after" not in views and time.monotonic() < deadline:
        views = {view.name: view for view in session.bindings()}
    assert views["a"].kind == "promise"
    assert isinstance(views["a"].value, KediPromise)
    assert child_counts(views["a"].value) == (0, 0)
    assert ("a", "promise") in [(one.label, one.kind) for one in session.complete("= <")]
    assert session.complete("= `a.up") == []
    release.set()
    worker.join(20)
    assert session.execute("= <a>") == "answer"
    assert {view.name: view.kind for view in session.bindings()}["a"] == "value"


def test_procedure_scopes(session: InteractiveSession) -> None:
    from kedi.debugging import Observer

    seen: list[Any] = []

    class Look(Observer):
        def statement(self, frame: Any) -> None:
            if frame.procedure:
                seen.append([(v.name, v.preview, v.readonly) for v in view_scope(frame.scope)])

    session.execute("@f(a: int, b):\n  [c] = x\n  = <c>")
    session.observe(Look())
    session.execute("= <f(`1`, two)>")
    assert seen == [
        [("a", "1", True), ("b", "'two'", True)],
        [("a", "1", True), ("b", "'two'", True), ("c", "'x'", False)],
    ]


# ── children ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, "a"], [("0", "1", "[0]"), ("1", "'a'", "[1]")]),
        ((1,), [("0", "1", "[0]")]),
        (range(5, 7), [("0", "5", "[0]"), ("1", "6", "[1]")]),
        (deque([1]), [("0", "1", "[0]")]),
        ({1}, [("0", "1", None)]),
        ({"a": 1, 2: 3}, [("'a'", "1", "['a']"), ("2", "3", "[2]")]),
        ({(1, "x"): 1}, [("(1, 'x')", "1", "[(1, 'x')]")]),
        ({None: 1, b"k": 2}, [("None", "1", "[None]"), ("b'k'", "2", "[b'k']")]),
        ({1.5: 1}, [("1.5", "1", None)]),
        ({"x" * 500: 1}, [("'" + "x" * 78 + "…", "1", None)]),
        (OrderedDict(a=1), [("'a'", "1", "['a']")]),
        (types.MappingProxyType({"a": 1}), [("'a'", "1", "['a']")]),
        ({"a": 1}.keys(), [("0", "'a'", None)]),
        ({"a": 1}.items(), [("0", "('a', 1)", None)]),
        (Pair(1, 2), [("a", "1", ".a"), ("b", "2", ".b")]),
        (Data(1, [2]), [("x", "1", ".x"), ("y", "[2]", ".y")]),
        (Model(x=1, extra=2), [("x", "1", ".x"), ("extra", "2", ".extra")]),
        (Slots(), [("a", "1", ".a")]),
        (SlotsAndDict(), [("a", "1", ".a"), ("c", "3", ".c")]),
        (types.SimpleNamespace(a=1), [("a", "1", ".a")]),
        (ValueError("x"), [("args", "('x',)", ".args")]),
        ("text", []),
        (5, []),
        (None, []),
        (b"x", []),
        (len, []),
        (object(), []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_children(value: Any, expected: list[tuple[str, str, str | None]]) -> None:
    assert tree(value) == expected


def test_expressions_lead_to_the_child(session: InteractiveSession) -> None:
    value = {"a b": [Data(1, [2]), {3: Slots()}], ("k", 1): deque([Pair(5, 6)])}
    stack: list[tuple[str, Any]] = [("value", value)]
    seen = 0
    while stack:
        expression, item = stack.pop()
        for child in children(item).children:
            assert child.expression is not None
            path = expression + child.expression
            assert eval(path, {"value": value}) is child.value
            seen += 1
            stack.append((path, child.value))
    assert seen >= 12


def test_an_exception_and_what_caused_it() -> None:
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner
    except ValueError as error:
        names = [one.name for one in children(error).children]
    assert names == ["args", "__cause__", "__context__"]


def test_modules_classes_and_methods() -> None:
    module = types.ModuleType("m")
    module.a = 1  # type: ignore[attr-defined]
    assert tree(module) == [("a", "1", ".a")]
    assert [one.name for one in children(SlotsAndDict().__init__).children] == [
        "__self__",
        "__func__",
    ]
    assert {"a", "b"} <= {one.name for one in children(Slots).children}


def test_pages() -> None:
    items = list(range(1_000_000))
    page = children(items, 500_000, 3)
    assert [one.value for one in page.children] == [500_000, 500_001, 500_002]
    assert (page.named, page.indexed) == (0, 1_000_000)
    assert children(items, 2_000_000, 3).children == ()
    assert children(items, -4, 2).children[0].value == 0
    assert children(items, 0, 0).children == ()
    assert children(items, 0, -1).children == ()
    many = {index: index for index in range(5_000)}
    page = children(many, 4_998, 10, which="indexed")
    assert [(one.name, one.expression) for one in page.children] == [
        ("4998", "[4998]"),
        ("4999", "[4999]"),
    ]
    assert (page.named, page.indexed) == (0, 5_000)
    few = {index: index for index in range(500)}
    assert child_counts(few) == (500, 0)
    assert len(children(set(range(10)), 7, 10).children) == 3
    assert child_counts(range(10**30)) == (0, 0)


def test_named_and_indexed_together() -> None:
    value = ListWith([10, 20])
    value.label = "x"  # type: ignore[attr-defined]
    page = children(value)
    assert [(one.name, one.preview) for one in page.children] == [
        ("label", "'x'"),
        ("0", "10"),
        ("1", "20"),
    ]
    assert (page.named, page.indexed) == (1, 2)
    assert [one.name for one in children(value, which="named").children] == ["label"]
    assert [one.name for one in children(value, 1, 5, which="indexed").children] == ["1"]
    assert [one.name for one in children(value, 1, 1).children] == ["0"]


def test_grandchildren_are_counted() -> None:
    page = children({"a": [1, 2], "b": Slots()})
    assert [(one.named, one.indexed) for one in page.children] == [(0, 2), (1, 0)]


def test_promises() -> None:
    promise: KediPromise[Any] = KediPromise("x")
    assert children(promise).children == ()
    failed: KediPromise[Any] = KediPromise("y")
    failed.fail(ValueError("no"))
    assert children(failed).children == ()
    promise.fulfil([1])
    assert tree(promise) == [("value", "[1]", ".resolve()")]


def test_a_session_scope_as_a_value(session: InteractiveSession) -> None:
    session.execute("[a: int] = `1`\n[names] = `globals()`")
    shown = {one.name: one.preview for one in children(session.evaluate("`names`")).children}
    assert shown["a"] == "1"
    assert shown["names"].startswith("<session scope")


@pytest.mark.parametrize("name", TRAPS)
def test_user_code_never_runs(name: str) -> None:
    value = TRAPS[name]()
    page = children(value)
    for one in page.children:
        assert one.preview
        children(one.value)


def test_a_scope_of_traps(make: Make) -> None:
    session = make(env={"traps": [trap() for trap in TRAPS.values()]})
    session.execute("[t] = `traps[0]`\n[all] = `traps`")
    assert session.bindings()[0].preview == "<Trap stored=1>"
    assert tree(Trap()) == [("stored", "1", ".stored")]


def test_a_container_that_other_threads_change() -> None:
    shared: dict[int, int] = {}
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            shared[number % 3_000] = number
            if number % 7 == 0:
                shared.pop(number % 1_000, None)
            number += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            page = children(shared, 0, 50)
            assert len(page.children) <= 50
    finally:
        stop.set()
        thread.join(20)


@given(st.lists(st.integers(), max_size=40), st.integers(0, 50), st.integers(0, 50))
def test_pages_are_slices(items: list[int], start: int, count: int) -> None:
    for value in (items, tuple(items), deque(items), dict(enumerate(items))):
        page = children(value, start, count)
        assert [one.value for one in page.children] == items[start : start + count]


def test_a_name_has_the_origin_of_the_fragment_that_bound_it_last(
    session: InteractiveSession,
) -> None:
    session.execute("[a] = 1\n[b] = 2", source_name="first")
    session.execute("[b] = 3", source_name="second")
    with pytest.raises(KediExecutionError):
        session.execute("[c] = `1 / 0`\n[a] = 4", source_name="third")
    origins = {item.name: item.origin for item in session.bindings()}
    assert origins == {"a": "first", "b": "second"}
