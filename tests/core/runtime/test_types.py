"""Types and contracts: what needs Python to say, beyond the conformance cases."""

from __future__ import annotations

import inspect
import pickle
import sys
import typing
from typing import Any

import pytest

import kedi
from kedi import InteractiveSession
from kedi.errors import KediError, KediTypeExecutionError
from kedi.runtime.typeddicts import portable


@pytest.fixture
def session() -> typing.Iterator[InteractiveSession]:
    with kedi.interactive() as opened:
        yield opened


def test_signature_of_a_type(session: InteractiveSession) -> None:
    made = session.execute("~P(name, age: int, tags: list[str] = `[]`)\n= `P`")
    assert str(inspect.signature(made)) == "(name: str, age: int, tags: list[str] = [])"
    assert (made.__name__, made.__qualname__) == ("P", "P")
    assert made.__module__ == session.execute("= `__name__`")
    sub = session.execute("```\nclass Q(P):\n    extra: int = 3\n```\n= `Q`")
    assert issubclass(sub, made)
    assert sub("n", 1, [], 5).extra == 5


def test_descriptions_of_every_field_reach_the_schema(session: InteractiveSession) -> None:
    session.execute(
        '~Inner(a: Annotated[str, "An a"])\n'
        '~Outer(i: Annotated[Inner, "An inner"], l: Annotated[list[Inner], "Inners"] = `[]`)'
    )
    schema = session.execute("= `Outer.model_json_schema()`")
    assert schema["properties"]["i"]["description"] == "An inner"
    assert schema["properties"]["l"]["description"] == "Inners"
    assert schema["$defs"]["Inner"]["properties"]["a"]["description"] == "An a"


def test_instances_pickle_and_copy(session: InteractiveSession) -> None:
    value = session.execute("~P(a: int, p: P | None = `None`)\n= `P(1, P(2))`")
    assert pickle.loads(pickle.dumps(value)) == value
    assert value.model_copy(deep=True) == value
    nested = session.execute("@f() -> object:\n  ~L(a)\n  = `L('x')`\n= `f()`")
    with pytest.raises(pickle.PicklingError, match="L"):
        pickle.dumps(nested)


def test_self_references_of_every_form(session: InteractiveSession) -> None:
    session.execute(
        "~N(a: N | None = `None`, b: Optional[N] = `None`, c: list[N] = `[]`, "
        'd: dict[str, list[N]] = `{}`, e: Annotated[N | None, "e"] = `None`, '
        "f: `N | None` = `None`, g: tuple[N, ...] = `()`)"
    )
    value = session.execute("= `N(N(), N(), [N()], {'x': [N()]}, N(), N(), (N(),))`")
    kind = type(value)
    assert all(type(item) is kind for item in [value.a, value.b, value.c[0], value.d["x"][0]])
    assert all(type(item) is kind for item in [value.e, value.f, value.g[0]])
    with pytest.raises(KediError, match="N"):
        session.execute("= `N(5)`")


def test_types_are_made_anew_in_each_scope(session: InteractiveSession) -> None:
    first, second = session.execute(
        "@f() -> type:\n  ~L(a)\n  = `L`\n= `(f(), f())`".replace("-> type", "-> object")
    )
    assert first is not second
    assert "__kedi_replaced__" not in first.__dict__


def test_construction_is_pydantic_s(session: InteractiveSession) -> None:
    """Types are pydantic models: what pydantic converts by default, they convert."""
    session.execute("~P(n: int, d: date)\n~Q(p: P)")
    assert session.execute("= `P('5', '2020-01-02').n`") == 5
    assert session.execute("= `Q({'n': 1, 'd': '2020-01-02'}).p.n`") == 1
    with pytest.raises(KediTypeExecutionError):
        session.execute("[p: P] = `{'n': 1, 'd': '2020-01-02'}`")


def test_hidden_builtin_types_hide_only_where_they_are(session: InteractiveSession) -> None:
    session.execute("@f() -> object:\n  ~float(a)\n  [x: float] = `float('y')`\n  = `x.a`")
    assert session.execute("= `f()`") == "y"
    assert session.execute("[x: float] = `1.5`\n= `x`") == 1.5
    assert session.execute("@g(x: list[float]) -> float:\n  = `x[0]`\n= `g([2.5])`") == 2.5
    with kedi.interactive() as other:
        assert other.execute("[x: float | None] = `None`\n[x] := `2.5`\n= `x`") == 2.5


class Movie(typing.TypedDict, total=False):
    title: typing.Required[str]
    year: int


class Shelf(typing.TypedDict):
    movies: list[Movie]
    best: Movie | None


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes them as they are")
@pytest.mark.parametrize(
    "kind",
    [
        Movie,
        list[Movie],
        dict[str, list[Movie]],
        Movie | None,
        typing.Optional[Movie],  # noqa: UP045
        typing.Annotated[Movie, "d"],
        tuple[Movie, ...],
        Shelf,
    ],
)
def test_typed_dicts_of_the_standard_library(kind: Any) -> None:
    assert portable(kind) is not kind
    with kedi.interactive(env={"K": [kind]}) as session:
        session.execute("```\nT = K[0]\n```")
        good = {
            "Movie": {"title": "a"},
            "Shelf": {"movies": [{"title": "a", "year": 1}], "best": None},
        }
        movie = good["Movie"]
        for value in (movie, [movie], {"x": [movie]}, (movie,), good["Shelf"]):
            with kedi.interactive(env={"K": [kind], "V": [value]}) as inner:
                try:
                    inner.execute("```\nT = K[0]\n```\n[v: T] = `V[0]`")
                    assert inner.execute("= `v`") is value
                    break
                except KediTypeExecutionError:
                    continue
        else:
            raise AssertionError("no value has the type")
        with pytest.raises(KediTypeExecutionError):
            session.execute("[v: T] = `[{'year': 'x'}]`")


@pytest.mark.parametrize(
    "kind",
    [
        int,
        list[int],
        int | None,
        typing.Literal["a"],
        typing.Any,
        typing.Callable[[int], str],
        "x",
        5,
    ],
)
def test_other_types_stay_as_they_are(kind: Any) -> None:
    assert portable(kind) is kind


@pytest.mark.parametrize(
    ("contract", "value", "text"),
    [
        ("int", "'5'", "`x` expects int, got str"),
        ("list[int]", "[1, 'a']", "[1]"),
        ("dict[str, list[int]]", "{'k': [1, 'a']}", "k[1]"),
        ("int | str", "1.5", "int | str"),
        ("Literal['a', 'b']", "'c'", "'a' or 'b'"),
        ("bool", "'true'", "`True`"),
        ("str", "5", "str(...)"),
        ("Email", "'x'", "e-mail"),
        ("tuple[int, str]", "(1,)", "tuple[int, str]"),
    ],
)
def test_mismatches_say_what_and_where(contract: str, value: str, text: str) -> None:
    with kedi.interactive() as session, pytest.raises(KediTypeExecutionError) as caught:
        session.execute(f"[x: {contract}] = `{value}`")
    shown = str(caught.value)
    assert text in shown
    assert "pydantic" not in shown
    assert caught.value.frames[-1].label == "[x]"


def test_mismatches_of_huge_and_odd_values_are_short(session: InteractiveSession) -> None:
    session.execute(
        "```\nclass Odd:\n    def __repr__(self):\n        raise ValueError('no repr')\n"
        "loop = []\nloop.append(loop)\n```"
    )
    for value in ["'x' * 10**6", "list(range(10**6))", "Odd()", "loop", "{'k': Odd()}"]:
        with pytest.raises(KediTypeExecutionError) as caught:
            session.execute(f"[x: int] = `{value}`")
        assert len(caught.value.message) < 500


def test_procedures_follow_replaced_types(session: InteractiveSession) -> None:
    session.execute(
        "~Box(a: int)\n@make(n: int) -> Box:\n  = `Box(n)`\n"
        "@many(bs: list[Box]) -> int:\n  = `len(bs)`"
    )
    make = session.execute("= `make`")
    old = make(1)
    session.execute("~Box(a: int, b: int = `2`)")
    assert make(1).b == 2
    assert make.__annotations__["return"] is type(make(1))
    assert session.execute("= `many([make(1), Box(2)])`") == 2
    with pytest.raises(KediTypeExecutionError, match="earlier definition"):
        session.execute("= `many`")([old])


def test_procedures_follow_replaced_classes_of_python(session: InteractiveSession) -> None:
    session.execute(
        "```\nclass Box:\n    size = 1\n```\n@f(b: Box) -> int:\n  = `b.size`\n= `f(Box())`"
    )
    session.execute("```\nclass Box:\n    size = 2\n```")
    assert session.execute("= `f(Box())`") == 2


def test_imported_types_are_followed_too(session: InteractiveSession) -> None:
    from pathlib import Path

    Path("m.kedi").write_text("~Box(a: int, b: int = `7`)\n> export: *\n", encoding="utf-8")
    session.execute("~Box(a: int)\n@make() -> Box:\n  = `Box(1)`")
    session.execute("> import: m")
    assert session.execute("= `make().b`") == 7


SHORT = ["int", "float", "str", "bool", "bytes", "None", "int | None", "float | str", "list[int]"]
SHORT += ["list[float | None]", 'Annotated[int, "d"]', "Optional[list[str]]", "list[list[int]]"]
VALUES = ["1", "1.5", "'x'", "True", "b'x'", "None", "[1]", "[1, 1.5]", "[True]", "['x']", "[None]"]
VALUES += ["[]", "[[1]]", "[['x']]", "(1,)", "{1}", "float('nan')", "10**30"]


@pytest.mark.parametrize("kind", SHORT)
def test_short_checks_agree_with_the_whole_check(kind: str) -> None:
    """What is decided without pydantic is what pydantic's strict mode would decide."""
    from kedi.agents.validation import TypeMismatch, check_native

    for text in VALUES:
        value = eval(text)
        with kedi.interactive(env={"v": value}) as session:
            resolved = session.execute(f"@f(x: {kind}) -> object:\n  = `x`\n= `f`").__annotations__
            try:
                check_native(value, resolved["x"])
                expected = True
            except TypeMismatch:
                expected = False
            try:
                assert session.execute(f"[x: {kind}] = `v`\n= `x`") is value
                found = True
            except KediTypeExecutionError:
                found = False
        assert found is expected, (kind, text)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("`5`", "`5` is not a type: it is a value of type int"),
        ("`'x' * 2`", "`'x' * 2` is not a type: it is a value of type str"),
    ],
)
def test_the_message_for_a_value_in_place_of_a_type(
    session: InteractiveSession, written: str, message: str
) -> None:
    with pytest.raises(KediTypeExecutionError) as caught:
        session.execute(f"[x: {written}] = `1`")
    assert caught.value.message == message
