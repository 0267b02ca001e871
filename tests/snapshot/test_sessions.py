"""A restored session is the session that was saved: results, types, traces, numbering."""

from __future__ import annotations

import datetime as dt
import inspect
import linecache
import re
import traceback
from collections import OrderedDict, deque
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kedi
from kedi.errors import KediExecutionError, KediTypeExecutionError, SessionStateError
from tests.snapshot.support import columns, content_of, distinct, same, session_with, values


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work.kedi-state"


def reload(session: kedi.InteractiveSession, path: Path, **options: Any) -> kedi.InteractiveSession:
    """Save and load; and the loaded session saves the very same bytes."""
    kedi.dump_session(session, path)
    restored = kedi.load_session(path, **options)
    again = path.with_suffix(".again")
    kedi.dump_session(restored, again)
    assert again.read_bytes() == path.read_bytes()
    return restored


def run(*fragments: str, **config: Any) -> kedi.InteractiveSession:
    session = kedi.interactive(**config)
    for fragment in fragments:
        session.execute(fragment)
    return session


def test_the_example_of_the_guide(path: Path) -> None:
    with kedi.interactive() as session:
        session.execute("[base: int] = `40`")
        session.execute("@add_two() -> int:\n    = `base + 2`")
        kedi.dump_session(session, path)
    with kedi.load_session(path) as session:
        assert session.execute("= `add_two()`") == 42


def test_methods_do_the_same(path: Path) -> None:
    with run("[a] = 1") as session:
        session.dump(path)
    with kedi.InteractiveSession.load(path) as session:
        assert session.execute("= <a>") == "1"


@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=60,
)
@given(st.lists(values | columns(values), min_size=1, max_size=3).map(distinct))
def test_any_values_in_a_session(path: Path, items: list[Any]) -> None:
    names = [f"v{index}" for index in range(len(items))]
    with session_with(**dict(zip(names, items, strict=True))) as session:
        restored = reload(session, path)
    with restored:
        for name, item in zip(names, items, strict=True):
            assert same(restored.evaluate(f"`{name}`"), item)


def test_nothing_of_the_old_session_is_run(path: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("")
    file = f"__import__('pathlib').Path({str(trace)!r})"
    log = f"{file}.write_text({file}.read_text() + 'x')"
    with run(
        f"[n: int] = `{log}`",
        f"@f(a: int = `1`) -> int:\n  `{log}`\n  = `a`",
        f"~T(a: int)\n[t: T] = `T({log})`",
        f"`{log}`",
        f"> show: `{log}`",
        f"> if: `bool({log})`:\n  [inner] = `{log}`",
        f"> profile: p:\n  > system: `str({log})`",
    ) as session:
        before = trace.read_text()
        kedi.dump_session(session, path)
        assert trace.read_text() == before
    with kedi.load_session(path) as session:
        assert trace.read_text() == before
        session.execute("`f()`")
        assert trace.read_text() == before + "x"


# ── numbering, sources, traces ────────────────────────────────────────────────


def test_fragments_keep_their_numbers_names_sources_and_states(path: Path) -> None:
    session = run("[a] = 1")
    with pytest.raises(KediExecutionError):
        session.execute("`1 / 0`")
    session.execute("[b] = 2", source_name="cells/two.kedi")
    session.execute("= `a`\r\n# Ünï 😀")
    with session, reload(session, path) as restored:
        assert restored.fragments == session.fragments
        assert [item.state for item in restored.fragments] == ["done", "failed", "done", "done"]
        restored.execute("[c] = 3")
        assert restored.fragments[-1].name == "<interactive:5>"
        with pytest.raises(ValueError, match="already names"):
            restored.execute("= `1`", source_name="cells/two.kedi")


def test_evaluations_go_on_counting(path: Path) -> None:
    with run("[a] = 1") as session:
        session.evaluate("<a>")
        with reload(session, path) as restored:
            with pytest.raises(KediExecutionError) as caught:
                restored.evaluate("`1 / 0`")
            assert caught.value.frames[0].span.source_name == "<expression:2>"


def test_traces_name_the_old_fragments(path: Path) -> None:
    with run("[x: int] = `0`", "# a comment\n@div(v: int) -> float:\n  = `100 / v`") as session:
        restored = reload(session, path)
        with pytest.raises(KediExecutionError) as expected:
            session.execute("= `div(x)`")
    with restored, pytest.raises(KediExecutionError) as caught:
        restored.execute("= `div(x)`")
    assert caught.value.frames == expected.value.frames
    assert caught.value.render() == expected.value.render()
    assert caught.value.frames[-1].source_line == "  = `100 / v`"


def test_python_tools_see_the_old_sources(path: Path) -> None:
    with run("@f() -> int:\n  = `1 / 0`") as session:
        kedi.dump_session(session, path)
    with kedi.load_session(path) as session:
        assert linecache.getline("<interactive:1>", 2) == "  = `1 / 0`"
        with pytest.raises(KediExecutionError) as caught:
            session.execute("`f()`")
        assert "1 / 0" in "".join(traceback.format_exception(caught.value))
    assert linecache.getline("<interactive:1>", 2) == ""


# ── procedures ────────────────────────────────────────────────────────────────


AREA = """
@area(width: float, height: float = `2.0`, label = `'x'`) -> float:
  ###
  The area.

  Args:
    width: in metres
  ###
  = `width * height`
"""


def test_procedures_are_what_they_were(path: Path) -> None:
    with run(AREA) as session, reload(session, path) as restored:
        before, after = session.evaluate("`area`"), restored.evaluate("`area`")
        assert after is not before
        assert inspect.signature(after) == inspect.signature(before)
        assert (after.__name__, after.__doc__) == (before.__name__, before.__doc__)
        assert after(3.0) == 6.0
        assert after(height=1.0, width=2.0) == 2.0
        with pytest.raises(KediTypeExecutionError, match="width"):
            after("3")


def test_procedures_see_later_values_and_write_to_them(path: Path) -> None:
    with run("[n: int] = `0`", "@tick() -> int:\n  [n] := `n + 1`\n  = `n`") as session:
        session.execute("`tick()`")
        with reload(session, path) as restored:
            assert restored.execute("= `tick()`") == 2
            restored.execute("[n] := `10`")
            assert restored.execute("= `tick()`") == 11


def test_a_default_keeps_what_was_done_to_it(path: Path) -> None:
    with run(
        "@push(x: int, xs: list[int] = `[]`) -> list[int]:\n  `xs.append(x)`\n  = `list(xs)`"
    ) as s:
        s.execute("`push(1)`")
        with reload(s, path) as restored:
            assert restored.execute("= `push(2)`") == [1, 2]


def test_aliases_and_procedures_inside_values(path: Path) -> None:
    with (
        run(
            "@a() -> str:\n  = A",
            "@b() -> str:\n  = B",
            "[f] = `a`",
            "[table] = `{'a': a, 'all': [a, b]}`",
        ) as session,
        reload(session, path) as restored,
    ):
        assert restored.evaluate("`f is a and table['all'][0] is a`")
        assert restored.evaluate("`[g() for g in table['all']]`") == ["A", "B"]


def test_an_older_procedure_that_is_still_bound(path: Path) -> None:
    with (
        run("@f() -> str:\n  = old", "[kept] = `f`", "@f() -> str:\n  = new") as session,
        reload(session, path) as restored,
    ):
        assert restored.evaluate("`(kept(), f())`") == ("old", "new")


def test_nested_procedures_and_types_come_back_with_their_outer_one(path: Path) -> None:
    source = (
        "@outer(n: int) -> int:\n  ~Pair(a: int, b: int)\n  @inner(p: Pair) -> int:\n"
        "    = `p.a + p.b + n`\n  = `inner(Pair(1, 2))`"
    )
    with run(source) as session, reload(session, path) as restored:
        assert restored.execute("= `outer(10)`") == 13


def test_recursion_and_mutual_calls(path: Path) -> None:
    with (
        run(
            "@even(n: int) -> bool:\n  = `True if n == 0 else odd(n - 1)`\n"
            "@odd(n: int) -> bool:\n  = `False if n == 0 else even(n - 1)`"
        ) as session,
        reload(session, path) as restored,
    ):
        assert restored.execute("= `even(101)`") is False


# ── types ─────────────────────────────────────────────────────────────────────


def test_instances_keep_fields_defaults_and_what_was_given(path: Path) -> None:
    with (
        run(
            "~Tag(name)\n~Item(id: int, tags: list[Tag] = `[]`, note: str | None = `None`)",
            "[one] = `Item(1)`\n[two] = `Item(2, [Tag('x')], note='n')`",
            "[many] = `[Item(i, note=str(i)) for i in range(30)]`",
            "`two.note = 5`",  # fields are not checked on assignment: the odd value stays
        ) as session,
        reload(session, path) as restored,
    ):
        for name in ("one", "two", "many"):
            new, old = restored.evaluate(f"`{name}`"), session.evaluate(f"`{name}`")
            assert repr(new) == repr(old)
        assert restored.evaluate("`one.model_fields_set`") == {"id"}
        assert restored.evaluate("`two.model_fields_set`") == {"id", "tags", "note"}
        assert restored.evaluate("`many[7].model_fields_set`") == {"id", "note"}
        assert restored.evaluate("`one.model_dump(exclude_unset=True)`") == {"id": 1}
        assert restored.evaluate("`type(one) is Item and type(two.tags[0]) is Tag`")
        assert restored.evaluate("`Item(3, [Tag('y')])`").tags[0].name == "y"
        assert restored.evaluate("`Item(9).tags is not Item(9).tags`")
        assert restored.evaluate("`Item.model_json_schema()`") == session.evaluate(
            "`Item.model_json_schema()`"
        )


def test_instances_made_without_all_fields(path: Path) -> None:
    with (
        run(
            "~P(a: int, b: int, c: int)",
            "[p] = `P.model_construct(c=1, a=2)`\n[q] = `P(1, 2, 3)`",
            "`del q.b`",
            "[r] = `P.model_construct({'a'}, b=1, a=2, c=3)`",
        ) as session,
        reload(session, path) as restored,
    ):
        assert list(restored.evaluate("`p.__dict__`")) == list(session.evaluate("`p.__dict__`"))
        assert restored.evaluate("`r.model_fields_set`") == {"a"}
        assert restored.evaluate("`q.__dict__`") == {"a": 1, "c": 3}
        assert restored.evaluate("`q.model_fields_set`") == session.evaluate("`q.model_fields_set`")


def test_types_that_refer_to_themselves_and_each_other(path: Path) -> None:
    with (
        run(
            "~Node(value: int, next: Node | None = `None`)",
            "~Tree(root: Node, notes: dict[str, list[Node]] = `{}`)",
            "[t: Tree] = `Tree(Node(1, Node(2)), {'n': [Node(3)]})`",
        ) as session,
        reload(session, path) as restored,
    ):
        assert restored.evaluate("`t.root.next.value + t.notes['n'][0].value`") == 5
        restored.execute("[more: Node] = `Node(1, Node(2, t.root))`")
        with pytest.raises(KediTypeExecutionError):
            restored.execute("[bad: Tree] = `Node(1)`")


def test_a_long_chain_of_instances(path: Path) -> None:
    with (
        run(
            "~Node(value: int, next: Node | None = `None`)",
            "[head: Node] = `Node(0)`",
            "> loop [i]: `range(1, 3000)`:\n  [head] := `Node.model_construct(value=i, next=head)`",
        ) as session,
        reload(session, path) as restored,
    ):
        count, node = 0, restored.evaluate("`head`")
        while node is not None:
            count, node = count + 1, node.next
        assert count == 3000


def test_redefined_types_keep_their_instances_apart(path: Path) -> None:
    with (
        run(
            "~P(x: int)\n[old: P] = `P(1)`\n@make() -> P:\n  = `P(5)`",
            "~Holder(p: P)\n[h] = `Holder(P(7))`",
            "~P(x: int, y: str = `'new'`)\n[new: P] = `P(2)`",
            "[again: P] = `P(3)`",
        ) as session,
        reload(session, path) as restored,
    ):
        assert restored.evaluate("`type(old) is not P and type(new) is P`")
        assert restored.evaluate("`type(h.p) is type(old)`")
        assert restored.evaluate("`again.y`") == "new"
        restored.execute("[old] := `old`")  # the declared type of `old` is still the first one
        for bad in ("[old] := `new`", "[again] := `old`"):
            with pytest.raises(KediTypeExecutionError) as expected:
                session.execute(bad)
            with pytest.raises(KediTypeExecutionError) as caught:
                restored.execute(bad)
            assert caught.value.message == expected.value.message


def test_declared_types_of_bindings_hold(path: Path) -> None:
    declared = {
        "a": ("int", "1", "'x'"),
        "b": ("list[int]", "[1]", "['x']"),
        "c": ("dict[str, int | None]", "{'k': None}", "{'k': 'v'}"),
        "d": ("Literal['on', 'off']", "'on'", "'maybe'"),
        "e": ("tuple[int, ...]", "(1, 2)", "(1, 'x')"),
        "f": ("Optional[datetime]", "None", "5"),
        "g": ("Annotated[int, 'in metres']", "1", "'x'"),
        "h": ("Email", "'ada@example.org'", "'nobody'"),
        "i": ("Regex", "__import__('re').compile('x')", "'x'"),
        "j": ("set[str] | frozenset[str]", "{'a'}", "{1}"),
        "k": ("Decimal", "__import__('decimal').Decimal(1)", "1"),
        "l": ("None", "None", "1"),
        "m": ("`complex`", "1j", "'x'"),
        "n": ("type", None, None),
    }
    session = kedi.interactive()
    for name, (kind, good, _) in declared.items():
        if good is not None:
            session.execute(f"[{name}: {kind}] = `{good}`")
    session.execute("[text] = words\n[any: Any] = `5`")
    with session, reload(session, path) as restored:
        for name, (_, good, bad) in declared.items():
            if good is None:
                continue
            restored.execute(f"[{name}] := `{good}`")
            with pytest.raises(KediTypeExecutionError) as expected:
                session.execute(f"[{name}] := `{bad}`")
            with pytest.raises(KediTypeExecutionError) as caught:
                restored.execute(f"[{name}] := `{bad}`")
            assert caught.value.message == expected.value.message
        with pytest.raises(KediTypeExecutionError):
            restored.execute("[text] := `5`")
        assert [v.declared for v in restored.bindings()] == [v.declared for v in session.bindings()]
        assert [v.name for v in restored.bindings()] == [v.name for v in session.bindings()]


def test_a_type_that_shadows_a_builtin_one(path: Path) -> None:
    with (
        run("~list(only: int)\n[x: list] = `list(1)`") as session,
        reload(session, path) as restored,
    ):
        with pytest.raises(KediTypeExecutionError):
            restored.execute("[x] := `[1]`")
        restored.execute("[y: list] = `list(2)`")


# ── host values ───────────────────────────────────────────────────────────────


def test_env_and_args(path: Path) -> None:
    with kedi.interactive(env={"limit": 5, "rows": [{"a": 1}]}) as session:
        session.execute("`args.mode = 'fast'`")
        session.execute("`rows.append(2)`")
        session.execute("[limit] := `6`")
        with reload(session, path) as restored:
            assert restored.evaluate("`(limit, rows, args.mode, args.other)`") == (
                6,
                [{"a": 1}, 2],
                "fast",
                None,
            )
            assert dict(restored.config.agents.env) == {"limit": 6, "rows": [{"a": 1}, 2]}
            with pytest.raises(KediExecutionError):
                restored.execute("`args = 1`")


def test_names_python_would_call_its_own_are_kept(path: Path) -> None:
    with (
        run("[class] = 2", "`globals().__setitem__('__mine__', 1)`") as session,
        reload(session, path) as restored,
    ):
        assert restored.execute("= <`__mine__`><class>") == "12"


def test_what_fragments_with_fences_bound(path: Path) -> None:
    source = "[x: int] = `0`\n```\nx = 5\nlocal = 6\n```"
    with run(source) as session, reload(session, path) as restored:
        assert restored.evaluate("`x`") == 5


def test_python_blocks_that_need_a_bridge(path: Path) -> None:
    # A class body makes Python look names up in a way that needs help from the scope.
    block = "```\nclass A:\n    value = x\ny = A.value\n```"
    with (
        run(f"[x: int] = `1`\n[y: int] = `0`\n{block}") as session,
        reload(session, path) as restored,
    ):
        restored.execute(f"[x] := `7`\n{block}")
        assert restored.evaluate("`y`") == 7


# ── loading ───────────────────────────────────────────────────────────────────


class Notebook(kedi.InteractiveSession):
    """A session of an application."""

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self.title = "untitled"


def test_a_subclass_can_be_restored(path: Path) -> None:
    with run("[a] = 1") as session:
        kedi.dump_session(session, path)
    for restored in (kedi.load_session(path, session_type=Notebook), Notebook.load(path)):
        with restored:
            assert type(restored) is Notebook
            assert restored.title == "untitled"
            assert restored.execute("= <a>") == "1"


def test_a_factory_can_make_the_session(path: Path) -> None:
    with run("[a] = 1", env={"e": 5}) as session:
        kedi.dump_session(session, path)
    seen: dict[str, Any] = {}

    def make(**config: Any) -> Notebook:
        seen.update(config)
        return Notebook(**config)

    with kedi.load_session(path, session_type=make) as restored:
        assert restored.evaluate("`e`") == 5
    assert seen["env"] == {"e": 5}
    assert seen["cwd"] == Path.cwd()


def test_a_factory_that_makes_something_else_is_refused(path: Path) -> None:
    with run("[a] = 1") as session:
        kedi.dump_session(session, path)
    with pytest.raises(TypeError, match="no session"):
        kedi.load_session(path, session_type=lambda **_: object())  # type: ignore[arg-type,return-value]

    def used(**config: Any) -> kedi.InteractiveSession:
        session = kedi.InteractiveSession(**config)
        session.execute("[b] = 2")
        return session

    with pytest.raises(TypeError, match="executed nothing"):
        kedi.load_session(path, session_type=used)


def test_closed_and_busy_sessions_are_not_saved(path: Path) -> None:
    session = run("[a] = 1")
    errors: list[Exception] = []

    def save() -> int:
        try:
            session.dump(path)
        except SessionStateError as error:
            errors.append(error)
        return 1

    with kedi.interactive(env={"save": save}) as other:
        session = other
        other.execute("`save()`")
    assert len(errors) == 1
    with pytest.raises(SessionStateError, match="closed"):
        session.dump(path)
    assert not path.exists()


def test_the_folder_of_the_session(path: Path, tmp_path: Path) -> None:
    cells = tmp_path / "cells"
    cells.mkdir()
    (cells / "helpers.kedi").write_text("> export: *\n[answer: int] = `42`\n")
    with run("[a] = 1", cwd=cells) as session, reload(session, path) as restored:
        assert restored.config.cwd == cells
        assert restored.execute("> import: helpers\n= `answer`") == 42
    elsewhere = tmp_path / "elsewhere"
    cells.rename(elsewhere)
    with pytest.raises(kedi.SessionLoadError, match="cwd="):
        kedi.load_session(path)
    with kedi.load_session(path, cwd=elsewhere) as restored:
        assert restored.execute("> import: helpers\n= `answer`") == 42


def test_what_is_stored_reads_like_what_it_is(path: Path) -> None:
    with run("[n: int] = `1`\n[rows] = `[{'a': 1}, {'b': [1, 2.5, None, True, 'x']}]`") as session:
        kedi.dump_session(session, path)
    assert content_of(path)["bindings"] == [
        {"name": "n", "plain": 1, "type": "int"},
        {"name": "rows", "plain": [{"a": 1}, {"b": [1, 2.5, None, True, "x"]}]},
    ]


def test_every_listed_kind_in_one_session(path: Path) -> None:
    kinds = {
        "a": None,
        "b": 2**100,
        "c": b"\x00\xff",
        "d": bytearray(b"x"),
        "e": Decimal("1.10"),
        "f": dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=dt.timezone(dt.timedelta(hours=5.5))),
        "g": Path("/tmp/x"),
        "h": re.compile(r"(?i)a+", re.M),
        "i": {1, 2},
        "j": frozenset("ab"),
        "k": OrderedDict(z=1, a=2),
        "l": deque([1], 3),
        "m": {1: "i", "1": "s", 1.5: (1,)},
    }
    with session_with(**kinds) as session, reload(session, path) as restored:
        for name, value in kinds.items():
            assert same(restored.evaluate(f"`{name}`"), value)
