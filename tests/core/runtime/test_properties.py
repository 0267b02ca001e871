"""Properties: text of any kind, calls of any shape, and scopes against a model of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

import kedi
from kedi.errors import KediNameError

# ── text ──────────────────────────────────────────────────────────────────────

_ESCAPED = dict.fromkeys("<>[]()=@,#~`\\")
_WRITTEN = {"\t": "\\t", "\n": "\\n"}
TEXTS = st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), max_size=30)


def written(text: str) -> str:
    """How a program writes ``text`` so that nothing of it means anything."""
    return "".join(
        f"\\{char}" if char in _ESCAPED else _WRITTEN.get(char, "\\s" if char == " " else char)
        for char in text
    )


@given(TEXTS)
@example("")
@example(" a ")
@example("`<b>` ~~ \\n")
def test_any_text_can_be_written(text: str) -> None:
    with kedi.interactive() as session:
        assert session.execute(f"= {written(text)}") == text
        session.execute(f"[x] = {written(text)}\n@f(a, b) -> str:\n  = <a>|<b>")
        assert session.execute("= `x`") == text
        assert session.execute(f"= <f({written(text)}, <x>)>") == f"{text}|{text}"


@given(st.lists(st.one_of(TEXTS, st.integers(), st.floats(allow_nan=False), st.none())))
def test_rendering_is_the_text_of_the_parts(parts: list[Any]) -> None:
    names = [f"v{number}" for number in range(len(parts))]
    with kedi.interactive(env=dict(zip(names, parts, strict=True))) as session:
        expected = "·".join(str(part) for part in parts)
        assert session.execute("= " + "·".join(f"<{name}>" for name in names)) == expected
        assert session.execute("= " + "·".join(f"<`{name}`>" for name in names)) == expected
        assert session.execute("= ·" + "·".join(f"`{name}`" for name in names)) == f"·{expected}"
        for name, part in zip(names, parts, strict=True):
            assert session.execute(f"[copy] = <{name}>\n= `copy`") is part


# ── calls ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Call | int | str, ...]


CALLS = st.recursive(
    st.one_of(st.integers(), st.text("abc xyz", max_size=5)),
    lambda inner: st.builds(
        Call,
        st.sampled_from("fgh"),
        st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=12,
).filter(lambda value: isinstance(value, Call))


def source_of(value: Call | int | str) -> str:
    if isinstance(value, Call):
        return f"<{value.name}({', '.join(map(source_of, value.arguments))})>"
    return f"`{value}`" if isinstance(value, int) else written(value)


def result_of(value: Call | int | str, log: list[Any]) -> Any:
    if not isinstance(value, Call):
        return value
    made = (value.name, *[result_of(item, log) for item in value.arguments])
    log.append(made)
    return made


def _is_empty(value: Call | int | str) -> bool:
    """``f()`` has no argument rather than an empty one."""
    if not isinstance(value, Call):
        return False
    return value.arguments == ("",) or any(_is_empty(item) for item in value.arguments)


@given(CALLS.filter(lambda value: not _is_empty(value)))
def test_calls_nest_and_run_once_from_the_inside(call: Call) -> None:
    log: list[Any] = []

    def make(name: str) -> Any:
        def function(*arguments: Any) -> Any:
            made = (name, *arguments)
            log.append(made)
            return made

        return function

    with kedi.interactive(env={name: make(name) for name in "fgh"}) as session:
        session.execute(f"[made] = {source_of(call)}")
        expected: list[Any] = []
        assert session.execute("= `made`") == result_of(call, expected)
        assert log == expected


# ── scopes ────────────────────────────────────────────────────────────────────

NAMES = "abc"
_name = st.sampled_from(NAMES)
_value = st.integers(0, 99)

SIMPLE = st.one_of(
    st.tuples(st.just("init"), _name, _value),
    st.tuples(st.just("assign"), _name, _value),
    st.tuples(st.just("python"), _name, _value),
    st.tuples(st.just("fence"), st.lists(st.tuples(_name, _value), min_size=1, max_size=3)),
    st.tuples(st.just("nested"), _name, _value),
    st.tuples(st.just("globals"), _name, _value),
)


def _blocks(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    body = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("if"), st.booleans(), body, body),
        st.tuples(st.just("loop"), st.integers(0, 2), body),
        st.tuples(st.just("each"), _name, st.integers(0, 2), body),
        st.tuples(st.just("procedure"), body),
    )


PROGRAMS = st.lists(st.recursive(SIMPLE, _blocks, max_leaves=8), min_size=1, max_size=6)
LOG = "log.append([globals().get(name) for name in 'abc'])"


class Writer:
    """Writes a program; every statement is followed by one that notes what is visible."""

    def __init__(self) -> None:
        self.count = 0

    def block(self, body: list[Any], indent: str) -> Iterator[str]:
        for item in body:
            yield from self.statement(item, indent)
            yield f"{indent}`{LOG}`"

    def statement(self, item: Any, indent: str) -> Iterator[str]:
        self.count += 1
        inner = indent + "  "
        match item:
            case ("init", name, value):
                yield f"{indent}[{name}] = `{value}`"
            case ("assign", name, value):
                yield f"{indent}[{name}] := `{value}`"
            case ("python", name, value):
                yield f"{indent}`{name} = {value}`"
            case ("globals", name, value):
                yield f"{indent}`globals()['{name}'] = {value}`"
            case ("fence", pairs):
                yield f"{indent}```"
                yield from (f"{indent}{name} = {value}" for name, value in pairs)
                yield f"{indent}```"
            case ("nested", name, value):
                yield f"{indent}```"
                yield f"{indent}def store():"
                yield f"{indent}    global {name}"
                yield f"{indent}    {name} = {value}"
                yield f"{indent}store()"
                yield f"{indent}```"
            case ("if", condition, yes, no):
                yield f"{indent}> if: `{condition}`:"
                yield from self.block(yes, inner)
                yield f"{indent}> else:"
                yield from self.block(no, inner)
            case ("loop", count, body):
                counter = f"n{self.count}"
                yield f"{indent}[{counter}] = `0`"
                yield f"{indent}> loop: `{counter} < {count}`:"
                yield f"{inner}`{counter} += 1`"
                yield from self.block(body, inner)
            case ("each", name, count, body):
                yield f"{indent}> loop [{name}]: `range({count})`:"
                yield from self.block(body, inner)
            case ("procedure", body):
                made = f"p{self.count}"
                yield f"{indent}@{made}():"
                yield from self.block(body, inner)
                yield f"{indent}`{made}()`"
            case _:
                raise AssertionError(item)


class Model:
    """What the language says that a program does, in the plainest way."""

    def __init__(self) -> None:
        self.log: list[list[Any]] = []

    def block(self, body: list[Any], scope: list[dict[str, int]]) -> None:
        for item in body:
            self.statement(item, scope)
            self.log.append([self.visible(name, scope) for name in NAMES])

    @staticmethod
    def owner(name: str, scope: list[dict[str, int]]) -> dict[str, int] | None:
        return next((part for part in reversed(scope) if name in part), None)

    def visible(self, name: str, scope: list[dict[str, int]]) -> int | None:
        owner = self.owner(name, scope)
        return None if owner is None else owner[name]

    def store(self, name: str, value: int, scope: list[dict[str, int]]) -> None:
        owner = self.owner(name, scope)
        if owner is not None:
            owner[name] = value

    def statement(self, item: Any, scope: list[dict[str, int]]) -> None:
        match item:
            case ("init", name, value):
                scope[-1][name] = value
            case ("assign", name, value):
                if self.owner(name, scope) is None:
                    raise NameError(name)
                self.store(name, value, scope)
            case ("python" | "nested" | "globals", name, value):
                self.store(name, value, scope)
            case ("fence", pairs):
                for name, value in pairs:
                    self.store(name, value, scope)
            case ("if", condition, yes, no):
                self.block(yes if condition else no, [*scope, {}])
            case ("loop", count, body):
                for _ in range(count):
                    self.block(body, [*scope, {}])
            case ("each", name, count, body):
                for number in range(count):
                    self.block(body, [*scope, {name: number}])
            case ("procedure", body):
                self.block(body, [*scope, {}])
            case _:
                raise AssertionError(item)


@given(PROGRAMS)
@settings(max_examples=150)
@example([("init", "a", 1), ("if", True, [("globals", "a", 5)], [("init", "b", 1)])])
@example([("init", "a", 1), ("procedure", [("each", "a", 2, [("nested", "a", 7)])])])
def test_scopes_behave_like_their_model(program: list[Any]) -> None:
    source = "\n".join(["[q] = q", *Writer().block(program, "")])
    model, log = Model(), list[list[Any]]()
    expected: type[Exception] | None = None
    try:
        model.block(program, [{}])
    except NameError:
        expected = KediNameError
    with kedi.interactive(env={"log": log}) as session:
        try:
            session.execute(source)
            raised = None
        except Exception as error:
            raised = type(error)
    assert raised is expected, source
    assert log == model.log, source
