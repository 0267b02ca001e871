"""Strict checks of native values and of model answers."""

from __future__ import annotations

import datetime as dt
import enum
import pickle
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from kedi.agents.validation import (
    TypeMismatch,
    UnusableType,
    check_native,
    ensure_type,
    from_model,
    type_label,
)


class Address(BaseModel):
    city: str


class Person(BaseModel):
    name: str
    age: int
    home: Address | None = None


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Thing:
    """A class that pydantic knows nothing about."""


class Row(TypedDict):
    n: int


THING = Thing()
PERSON = Person(name="Ada", age=36)
NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
UserId = NewType("UserId", int)

GOOD: list[tuple[Any, Any]] = [
    (1, int),
    (10**40, int),
    (1.5, float),
    (1, float),
    ("x", str),
    ("lone \ud800", str),
    (b"x", bytes),
    (True, bool),
    (None, None),
    (None, type(None)),
    (None, int | None),
    ("x", Optional[str]),  # noqa: UP045 - both spellings are types
    ([1, 2], list[int]),
    ([], list[str]),
    ({"a": [1]}, dict[str, list[int]]),
    ((1, "a"), tuple[int, str]),
    ({1}, set[int]),
    (frozenset({1}), frozenset[int]),
    (NOW, dt.datetime),
    (NOW.date(), dt.date),
    (NOW.time(), dt.time),
    (dt.timedelta(1), dt.timedelta),
    (Decimal("1.10"), Decimal),
    (uuid.UUID(int=1), uuid.UUID),
    (Path("a"), Path),
    (re.compile("a"), re.Pattern),
    (Colour.RED, Colour),
    ("red", Literal["red", "green"]),
    (3, Annotated[int, "a count"]),
    (3, Annotated[int, Field(gt=1)]),
    (PERSON, Person),
    ([PERSON], list[Person]),
    ({"x": PERSON}, dict[str, Person | None]),
    (THING, Thing),
    ([THING], list[Thing]),
    (len, Callable[[Any], int]),
    (THING, Any),
    (THING, object),
    ({"n": 1}, Row),
    (3, UserId),
    (int, type[int]),
]

BAD: list[tuple[Any, Any]] = [
    ("5", int),
    (True, int),
    (1.0, int),
    ("1.5", float),
    (True, float),
    (1, str),
    (b"x", str),
    ("x", bytes),
    (1, bool),
    (0, None),
    ("1", int | None),
    ((1, 2), list[int]),
    (["1"], list[int]),
    ({"a": ["1"]}, dict[str, list[int]]),
    ({"name": "Ada", "age": 36}, Person),
    ([{"name": "Ada", "age": 36}], list[Person]),
    ({"x": {"name": "Ada", "age": 36}}, dict[str, Person | None]),
    ("2026-01-02", dt.date),
    (NOW, dt.date),
    ("1.1", Decimal),
    ("a", Path),
    ("a", re.Pattern),
    ("red", Colour),
    ("blue", Literal["red", "green"]),
    (1, Annotated[int, Field(gt=1)]),
    (3, Thing),
    ([3], list[Thing]),
    (3, Callable[[Any], int]),
    ({"n": "1"}, Row),
]


@pytest.mark.parametrize(("value", "expected"), GOOD)
def test_native_value_is_given_back_itself(value: Any, expected: Any) -> None:
    assert check_native(value, expected) is value


@pytest.mark.parametrize(("value", "expected"), BAD)
def test_native_value_is_never_coerced(value: Any, expected: Any) -> None:
    with pytest.raises(TypeMismatch) as caught:
        check_native(value, expected)
    assert caught.value.expected == type_label(expected)
    assert caught.value.detail


@pytest.mark.parametrize(("value", "expected"), GOOD)
def test_models_may_answer_with_native_objects(value: Any, expected: Any) -> None:
    assert from_model(value, expected) == value


@pytest.mark.parametrize(
    ("answer", "expected", "value"),
    [
        (1, float, 1.0),
        ("2026-01-02", dt.date, NOW.date()),
        ("2026-01-02T03:04:05Z", dt.datetime, NOW),
        ("03:04:05", dt.time, dt.time(3, 4, 5)),
        ("P1D", dt.timedelta, dt.timedelta(1)),
        ("1.10", Decimal, Decimal("1.10")),
        (1.5, Decimal, Decimal("1.5")),
        (str(uuid.UUID(int=1)), uuid.UUID, uuid.UUID(int=1)),
        ("a/b", Path, Path("a/b")),
        ("abc", bytes, b"abc"),
        ([1, "a"], tuple[int, str], (1, "a")),
        ([1, 1, 2], set[int], {1, 2}),
        ([1], frozenset[int], frozenset({1})),
        ("green", Colour, Colour.GREEN),
        (["red"], list[Colour], [Colour.RED]),
        ({"1": "a"}, dict[int, str], {1: "a"}),
        ("a+", re.Pattern, re.compile("a+")),
        ({"name": "Ada", "age": 36}, Person, PERSON),
        ([{"name": "Ada", "age": 36}], list[Person], [PERSON]),
        (
            {"name": "Ada", "age": 36, "home": {"city": "London"}},
            Person | None,
            Person(name="Ada", age=36, home=Address(city="London")),
        ),
        ({"when": NOW}, dict[str, dt.datetime], {"when": NOW}),
        ({"when": "2026-01-02T03:04:05Z"}, dict[str, dt.datetime], {"when": NOW}),
    ],
)
def test_models_may_answer_in_json_forms(answer: Any, expected: Any, value: Any) -> None:
    got = from_model(answer, expected)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("3", int),
        ("3.5", float),
        (3.0, int),
        (True, int),
        (1, bool),
        ("true", bool),
        ("many", int | None),
        ({"name": "Ada", "age": "36"}, Person),
        ({"name": "Ada"}, Person),
        (["1"], list[int]),
        ("not a date", dt.date),
        ("blue", Colour),
        (None, str),
        ("x", Thing),
    ],
)
def test_models_may_not_answer_with_other_types(answer: Any, expected: Any) -> None:
    with pytest.raises(TypeMismatch):
        from_model(answer, expected)


@pytest.mark.parametrize("expected", ["int", 5, 1.5, ["int"], object()])
def test_what_is_not_a_type_is_refused(expected: Any) -> None:
    for check in (check_native, from_model):
        with pytest.raises(UnusableType):
            check(THING, expected)
    with pytest.raises(UnusableType):
        ensure_type(expected)


def test_unfinished_models_are_refused() -> None:
    Broken: Any = type("Broken", (BaseModel,), {"__annotations__": {"x": "Nowhere"}})
    with pytest.raises(UnusableType, match="Broken"):
        from_model({"x": 1}, Broken)


def test_types_that_cannot_be_hashed_work() -> None:
    assert check_native(3, Annotated[int, ["a", "b"]]) == 3
    with pytest.raises(TypeMismatch):
        check_native("3", Annotated[int, ["a", "b"]])


def test_the_problem_inside_is_named() -> None:
    with pytest.raises(TypeMismatch) as caught:
        from_model([{"name": "Ada", "age": "old"}], list[Person])
    assert caught.value.expected == "list[Person]"
    assert caught.value.actual == "list"
    assert "[0].age" in caught.value.detail
    assert "'old'" in caught.value.detail


def test_many_problems_are_cut() -> None:
    with pytest.raises(TypeMismatch) as caught:
        check_native(["x"] * 1000, list[int])
    assert "and 995 more" in caught.value.detail
    assert len(caught.value.detail.splitlines()) == 6


def test_an_instance_of_a_replaced_class_says_so() -> None:
    Old: Any = type("Person", (BaseModel,), {"__annotations__": {"name": str}})
    with pytest.raises(TypeMismatch, match="Person of an earlier definition"):
        check_native(Old(name="x"), Person)


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_hostile_and_huge_values_give_small_errors() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    values: list[Any] = [Hostile(), "x" * 10**7, list(range(10**6)), deep, cyclic, 10**3000]
    for value in values:
        for check in (check_native, from_model):
            with pytest.raises(TypeMismatch) as caught:
                check(value, dict[str, int])
            assert len(str(caught.value)) < 1000
    with pytest.raises(TypeMismatch):
        from_model(cyclic, list[list[int]])


def test_mismatch_survives_pickling() -> None:
    error = TypeMismatch("int", "str", "'x'")
    again = pickle.loads(pickle.dumps(error))
    assert (again.expected, again.actual, again.detail) == ("int", "str", "'x'")
    assert str(again) == str(error)


@pytest.mark.parametrize(
    ("expected", "label"),
    [
        (int, "int"),
        (None, "None"),
        (type(None), "None"),
        (list[int], "list[int]"),
        (str | None, "str | None"),
        (Optional[Person], "Person | None"),  # noqa: UP045 - both spellings are types
        (dict[str, list[Person]], "dict[str, list[Person]]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (Literal["a", 1, None], "Literal['a', 1, None]"),
        (Annotated[int, "x"], "int"),
        (re.Pattern, "Regex"),
        (dt.datetime, "datetime"),
        (Any, "Any"),
        (Callable[[int], str], "Callable[[int], str]"),
        (Iterator[int], "Iterator[int]"),
        ("Later", "Later"),
    ],
)
def test_labels_are_readable(expected: Any, label: str) -> None:
    assert type_label(expected) == label


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
TYPES: list[Any] = [int, float, str, bool, list[int], dict[str, int], Person, int | None, dt.date]


@given(JSON, st.sampled_from(TYPES))
def test_any_answer_is_of_the_type_or_refused(answer: Any, expected: Any) -> None:
    try:
        value = from_model(answer, expected)
    except TypeMismatch:
        return
    check_native(value, expected)


@given(JSON, st.sampled_from(TYPES))
def test_native_checks_give_the_value_itself_or_refuse(value: Any, expected: Any) -> None:
    try:
        assert check_native(value, expected) is value
    except TypeMismatch:
        pass


def test_exact_checks_do_not_import_pydantic(outside_env: dict[str, str]) -> None:
    code = (
        "import sys\n"
        "from kedi.agents.validation import check_native, type_label\n"
        "check_native(1, int); check_native('x', str); type_label(list[int])\n"
        "import kedi.agent_adapter, kedi.agents.calls, kedi.agents.select\n"
        "heavy = {'pydantic', 'pydantic_ai', 'asyncio', 'xllamacpp'} & set(sys.modules)\n"
        "print(', '.join(sorted(heavy)))\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=outside_env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
