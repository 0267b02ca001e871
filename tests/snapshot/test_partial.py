"""Partial snapshots: what cannot be saved is a named hole that says how to rebuild it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi.errors import KediExecutionError, KediModelError, SessionDumpError
from kedi.session.snapshots.parts import Hole
from tests.snapshot.support import content_of
from tests.snapshot.test_refusals import Script, handler
from tests.snapshot.test_sessions import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work.kedi-state"


def partly(session: kedi.InteractiveSession, path: Path, **options: Any) -> kedi.InteractiveSession:
    """Save and load partly; the restored session is saved partly to the same bytes."""
    with pytest.raises(SessionDumpError) as strict:
        session.dump(path)
    session.dump(path, partial=True)
    restored = kedi.load_session(path, **options)
    # With a type that cannot be restored its binding is one hole, whatever it holds.
    problems = [(item.path, item.reason, item.fragment) for item in strict.value.problems]
    assert set(problems) >= {(hole.path, hole.reason, hole.fragment) for hole in restored.holes}
    assert len({path.partition("[")[0] for path, _, _ in problems}) == len(
        {hole.path.partition("[")[0] for hole in restored.holes}
    )
    again = path.with_suffix(".again")
    restored.dump(again, partial=True)
    assert again.read_bytes() == path.read_bytes()
    return restored


def test_a_whole_session_is_the_same_either_way(path: Path) -> None:
    with run("[a] = `[{'n': i} for i in range(50)]`") as session:
        session.dump(path)
        whole = path.read_bytes()
        kedi.dump_session(session, path, partial=True)
        assert path.read_bytes() == whole
    with kedi.load_session(path) as restored:
        assert restored.holes == ()


def test_a_binding_that_is_a_hole(path: Path) -> None:
    with run("[a: int] = `1`", "[f: object] = `lambda: 1`\n[b] = 2") as session:
        restored = partly(session, path)
    with restored:
        assert restored.evaluate("`a`") == 1
        for touch in ("`f`", "<f>", "`f()`", "`[f]`", "<`f`>"):
            with pytest.raises(KediExecutionError) as caught:
                restored.evaluate(touch)
            assert "`f` is missing" in caught.value.message
            assert "lambda" in caught.value.message
            assert "<interactive:2>" in (caught.value.hint or "")
            assert "bind `f`" in (caught.value.hint or "")
        with pytest.raises(KediExecutionError, match="is missing"):
            restored.execute("[c] = `f`")
        with pytest.raises(SessionDumpError) as strict:
            restored.dump(path)
        assert [item.path for item in strict.value.problems] == ["f"]
        # Binding it fills the hole, and then the session is whole again.
        restored.execute("[f: object] = `5`")
        assert restored.holes == ()
        restored.dump(path)
    with kedi.load_session(path) as again:
        assert again.evaluate("`f`") == 5


def test_assigning_fills_a_hole_too(path: Path) -> None:
    with run("[f: object] = `lambda: 1`") as session, partly(session, path) as restored:
        restored.execute("[f] := `7`")
        assert restored.evaluate("`f`") == 7
        assert restored.holes == ()


def test_a_hole_inside_a_value(path: Path) -> None:
    with run("[values] = `{'retries': [1, 2, 3, open], 'ok': (1, len), 'n': 5}`") as session:
        restored = partly(session, path)
    with restored:
        values = restored.evaluate("`values`")
        assert values["retries"][:3] == [1, 2, 3]
        assert values["n"] == 5
        hole = values["retries"][3]
        assert type(hole) is Hole
        assert (hole.path, hole.fragment) == ('values["retries"][3]', "<interactive:1>")
        assert "builtin function" in repr(values)
        with pytest.raises(KediExecutionError, match=r'`values\["ok"\]\[1\]` is missing'):
            restored.evaluate("`values['ok'][1]('x')`")
        restored.execute("`values['retries'].pop()`\n[values] := `{'whole': values['retries']}`")
        restored.dump(path)


@pytest.mark.parametrize(
    "use",
    [
        str,
        bool,
        int,
        len,
        iter,
        hash,
        lambda hole: hole(),
        lambda hole: hole.name,
        lambda hole: hole[0],
        lambda hole: hole == 1,
        lambda hole: hole + 1,
        lambda hole: 1 + hole,
        lambda hole: f"{hole}",
        lambda hole: hole < 1,
        lambda hole: {hole},
        copy.copy,
        lambda hole: setattr(hole, "x", 1) or hole.x,
    ],
)
def test_any_use_of_a_hole(use: Any) -> None:
    hole = Hole("a.b[0]", "it is a lambda", "<interactive:1>")
    with pytest.raises((KediExecutionError, AttributeError)) as caught:
        use(hole)
    assert isinstance(caught.value, KediExecutionError) or "x" in str(caught.value)
    assert repr(hole) == "<hole a.b[0]: it is a lambda>"


def test_keys_and_elements_make_their_container_a_hole(path: Path) -> None:
    with run("[a] = `{'s': {len, 1}, 'd': {len: 1}, 'ok': {1}}`") as session:
        session.dump(path, partial=True)
    with kedi.load_session(path) as restored:
        assert [hole.path for hole in restored.holes] == ['a["s"]', 'a["d"]']
        assert restored.evaluate("`a['ok']`") == {1}
        assert '`a["s"]{…}` cannot be saved' in restored.holes[0].reason


def test_shared_objects_keep_their_first_place(path: Path) -> None:
    with run("[a] = `[1]`", "[b] = `{'x': a, 'y': 2}`", "[c] = `a`") as session:
        restored = partly(session, path)
    with restored:
        assert restored.evaluate("`a`") == [1]
        assert restored.evaluate("`b['y']`") == 2
        with pytest.raises(KediExecutionError, match="also `a`"):
            restored.evaluate("`c`")


def test_definitions_and_their_instances(path: Path) -> None:
    with (
        run(
            "~T(x: int = `len('ab')`)\n~U(y: int)",
            "@f(x: int = `len('ab')`) -> int:\n  = `x`\n@g() -> int:\n  = `f() + 1`",
            "[t] = `T()`\n[u: U] = `U(5)`\n[typed: list[T]] = `[T()]`",
        ) as session,
        partly(session, path) as restored,
    ):
        assert restored.evaluate("`u.y`") == 5
        assert {hole.path for hole in restored.holes} >= {"T", "f", "t", "typed"}
        with pytest.raises(KediExecutionError, match="`f` is missing"):
            restored.evaluate("`g()`")
        restored.execute("@f(x: int = `2`) -> int:\n  = `x`")
        assert restored.evaluate("`g()`") == 3


def test_preludes_and_imports(path: Path, tmp_path: Path) -> None:
    (tmp_path / "helpers.kedi").write_text("> export: *\n@double(x: int) -> int:\n  = `2 * x`\n")
    with run(
        "```\nimport math\nlimit = 5\ndef area(r):\n    return math.pi * r\n```",
        "> import: helpers",
        "@use() -> int:\n  = `double(limit)`",
        cwd=tmp_path,
    ) as session:
        session.dump(path, partial=True)
        with pytest.raises(SessionDumpError) as strict:
            session.dump(path)
    with kedi.load_session(path) as restored:
        paths = [hole.path for hole in restored.holes]
        assert sorted(paths) == sorted(item.path for item in strict.value.problems)
        assert {'fragments["<interactive:1>"]', 'fragments["<interactive:2>"]'} <= set(paths)
        assert restored.evaluate("`limit`") == 5
        with pytest.raises(KediExecutionError, match="`double` is missing"):
            restored.evaluate("`use()`")
        restored.execute("> import: helpers")
        assert restored.evaluate("`use()`") == 10


def test_a_hole_in_the_configuration_stops_every_call(path: Path) -> None:
    """A policy that is lost must not be lost silently."""
    adapter = Script()
    with run("@ask() -> str:\n  >> say [x]\n  = <x>", adapter=adapter, approval=handler) as session:
        restored = partly(session, path, adapter=adapter)
    with restored:
        for fragment in (">> say [x]", "= <ask()>", "> model: m\n>> say [x]"):
            with pytest.raises(KediModelError, match=r"config\.approval"):
                restored.execute(fragment)
        assert restored.calls == () or all(call.record.error for call in restored.calls)


def test_host_values_that_are_holes(path: Path) -> None:
    with (
        run("[a] = 1", env={"limit": 5, "fn": handler}) as session,
        partly(session, path) as restored,
    ):
        assert restored.evaluate("`limit`") == 5
        assert [hole.path for hole in restored.holes] == ['env["fn"]']
        with pytest.raises(KediExecutionError, match="is missing"):
            restored.evaluate("`fn`")


def test_bindings_are_listed_with_their_holes(path: Path) -> None:
    with run("[a] = 1", "[f] = `lambda: 1`") as session, partly(session, path) as restored:
        views = {view.name: view for view in restored.bindings()}
        assert list(views) == ["a", "f"]
        assert "hole" in views["f"].preview or "lambda" in views["f"].preview
        assert restored.complete("= `") is not None
        assert restored.check("= <f>").status == "complete"


def test_a_template_can_fill_a_hole(path: Path) -> None:
    with run("[f] = `lambda: 1`") as session:
        session.dump(path, partial=True)
    for engine in ("sequential", "parallel"):
        with kedi.load_session(path, adapter=Script(), engine=engine) as restored:
            restored.execute(">> say [f]")
            assert restored.evaluate("`f`") == "answer"
            assert restored.holes == ()


def test_failures_of_the_file_are_the_same(path: Path, tmp_path: Path) -> None:
    with run("[f] = `lambda: 1`") as session:
        with pytest.raises(FileNotFoundError):
            session.dump(tmp_path / "missing" / "x", partial=True)
        session.dump(path, partial=True)
    assert content_of(path)["holes"][0]["path"] == "f"


def test_holes_that_are_nested_deeply(path: Path) -> None:
    with (
        run(
            "[a] = `[]`\n[deep] = `len`\n> loop [i]: `range(300)`:\n  [deep] := `[deep]`"
        ) as session,
        partly(session, path) as restored,
    ):
        value = restored.evaluate("`deep`")
        while type(value) is list:
            value = value[0]
        assert type(value) is Hole


def test_what_a_prelude_left_is_filled_once_every_binding_is_there(path: Path) -> None:
    with kedi.interactive() as session:
        session.execute("```\nlimit = 5\ndef f():\n    return limit\n```")
        session.dump(path, partial=True)
    with kedi.load_session(path) as restored:
        assert [hole.path for hole in restored.holes] == ["f", 'fragments["<interactive:1>"]']
        restored.execute("@f() -> int:\n  = `limit`")
        assert restored.holes == ()
        restored.dump(path)
    with kedi.load_session(path) as again:
        assert again.execute("= `f()`") == 5
        again.execute("```\nfresh = 1\n```")
        with pytest.raises(SessionDumpError, match="`fresh`"):
            again.dump(path)


def test_holes_are_described_in_text(path: Path) -> None:
    with run("[f] = `lambda: 1`") as session, partly(session, path) as restored:
        (hole,) = restored.holes
        assert str(hole) == f"{hole}" == f"f: {hole.reason} (made by <interactive:1>)"
        assert hole.path in repr(hole)
