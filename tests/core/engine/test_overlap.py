"""Calls really run at the same time, and no deeper nesting can lock them up."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import pytest

import kedi
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import KediExecutionError
from kedi.runtime.engine import ParallelEngine
from tests.core.engine.support import answer, parallel

#: Long enough for a slow machine; a barrier that breaks is a failure, not a delay.
PATIENCE = 30


def meeting(count: int) -> Any:
    """A model whose calls wait until ``count`` of them are there."""
    barrier = threading.Barrier(count)

    def model(prompt: str, schema: dict[str, Any]) -> Any:
        barrier.wait(PATIENCE)
        return answer(prompt, schema)

    return model


def test_independent_templates_overlap() -> None:
    with parallel(meeting(3)) as session:
        session.execute(">> One [a].\n>> Two [b].\n[c] << Three")
        assert session.evaluate("<a> <b> <c>") == "a9 b9 <Three>"


def test_a_loop_starts_all_its_calls() -> None:
    with parallel(meeting(4), max_workers=4) as session:
        session.execute(
            "[out: list[str]] = `[]`\n> loop [i]: `range(4)`:\n  >> Item <i>: [name]\n"
            "> map:\n  `out.append(name)`"
        )
        assert len(session.evaluate("`out`")) == 4


def test_two_chains_run_side_by_side() -> None:
    with parallel(meeting(2), max_workers=2) as session:
        session.execute(">> One [a].\n>> Two [b].\n>> On <a>: [c].\n>> On <b>: [d].")
        assert session.evaluate("<c><d>")


def test_map_stages_overlap() -> None:
    barrier = threading.Barrier(3)
    with parallel(env={"meet": lambda: barrier.wait(PATIENCE)}, max_workers=3) as session:
        session.execute("> loop [i]: `range(3)`:\n  `i`\n> map:\n  `meet()`")


def test_a_call_depending_on_another_takes_no_worker() -> None:
    # With one worker, a waiting job that held it would lock up.
    with parallel(max_workers=1) as session:
        source = ">> First [a0].\n" + "".join(f">> After <a{i}>: [a{i + 1}].\n" for i in range(20))
        session.execute(source)
        assert session.evaluate("<a20>").startswith("a20")


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_nested_maps_do_not_deadlock(workers: int) -> None:
    with parallel(max_workers=workers) as session:
        session.execute(
            """
[out: list[str]] = `[]`
> loop [i]: `range(3)`:
  [x] = <i>
> map:
  > loop [j]: `range(3)`:
    >> Pair <x> <j>: [name]
  > map:
    > loop [k]: `range(2)`:
      >> Triple <name> <k>: [last]
    > map:
      > if: <last> is long
        `out.append(last)`
      > else:
        `out.append(last)`
""".strip()
        )
        assert len(session.evaluate("`out`")) == 18


def test_threads_of_nested_maps_are_bounded() -> None:
    seen: set[int] = set()
    guard = threading.Lock()

    def note() -> None:
        with guard:
            seen.add(threading.get_ident())

    with parallel(env={"note": note}, max_workers=3) as session:
        session.execute(
            "> loop [i]: `range(6)`:\n  `i`\n> map:\n"
            "  > loop [j]: `range(6)`:\n    `j`\n  > map:\n    `note()`"
        )
    assert 1 <= len(seen) <= 3 + 6  # helpers end and start anew between inner maps


def test_a_model_that_calls_a_procedure_with_a_template() -> None:
    """A call inside a call: the outer one gives its worker away while it waits."""
    held: dict[str, Any] = {}

    def model(prompt: str, schema: dict[str, Any]) -> Any:
        if prompt.startswith("Outer"):
            return {"a": held["inner"](prompt)}
        return answer(prompt, schema)

    with parallel(model, max_workers=1) as session:
        session.execute("@inner(text) -> str:\n  >> Inner <text>: [b]\n  >> More <b>: [c]\n  = <c>")
        held["inner"] = session.evaluate("`inner`")
        session.execute(">> Outer [a]")
        assert session.evaluate("<a>").startswith("c")


def test_at_most_max_workers_calls_at_a_time() -> None:
    running = 0
    most = 0
    guard = threading.Lock()
    both = threading.Event()

    def model(prompt: str, schema: dict[str, Any]) -> Any:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
            if running == 2:
                both.set()
        both.wait(PATIENCE)
        with guard:
            running -= 1
        return answer(prompt, schema)

    with parallel(model, max_workers=2) as session:
        session.execute(
            "> loop [i]: `range(8)`:\n  >> Item <i>: [n]\n> map:\n  > if: <n> is fine\n    `n`"
        )
    assert most == 2


def test_context_variables_reach_calls_and_stages() -> None:
    color: contextvars.ContextVar[str] = contextvars.ContextVar("color", default="none")
    seen: list[str] = []

    def model(prompt: str, schema: dict[str, Any]) -> Any:
        seen.append(color.get())
        return answer(prompt, schema)

    with parallel(model, env={"look": lambda: seen.append(color.get())}, max_workers=2) as session:
        token = color.set("red")
        try:
            session.execute(
                ">> One [a].\n> loop [i]: `range(3)`:\n  `i`\n> map:\n  `look()`\n"
                "> if: all is well\n  [x] = y"
            )
        finally:
            color.reset(token)
    assert seen == ["red"] * 5


def test_the_configuration_of_a_call_is_that_of_its_template() -> None:
    adapter = ScriptedAdapter(answer)
    with parallel(adapter=adapter) as session:
        session.execute("> system: first\n>> One [a].\n> system: second\n>> Two [b].")
    systems = {
        prompt: options.get("system")
        for (prompt, _), options in zip(adapter.calls, adapter.options, strict=True)
    }
    assert systems == {"One [a].": "first", "Two [b].": "second"}


# ── choosing an engine ────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "workers"),
    [
        ("1", 8), ("true", 8), ("YES", 8), (" on ", 8), ("2", 2), ("16", 16),
        ("0", None), ("false", None), ("No", None), ("off", None), ("", None),
    ],
)  # fmt: skip
def test_environment(monkeypatch: pytest.MonkeyPatch, text: str, workers: int | None) -> None:
    monkeypatch.setenv("KEDI_PARALLEL", text)
    with kedi.interactive() as session:
        engine = session.config.engine
    assert engine.parallel == (workers is not None)
    assert getattr(engine, "max_workers", None) == workers


@pytest.mark.parametrize("text", ["maybe", "1.5", "-", "truee", "٣x"])
def test_environment_refuses_other_texts(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("KEDI_PARALLEL", text)
    with pytest.raises(ValueError, match="KEDI_PARALLEL"):
        kedi.interactive()


def test_arguments_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDI_PARALLEL", "1")
    with kedi.interactive(parallel=False) as session:
        assert not session.config.engine.parallel
    monkeypatch.setenv("KEDI_PARALLEL", "0")
    with kedi.parallel(max_workers=3), kedi.interactive() as session:
        engine = session.config.engine
        assert isinstance(engine, ParallelEngine)
        assert engine.max_workers == 3
    with kedi.interactive() as session:
        assert not session.config.engine.parallel


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2"])
def test_max_workers_is_checked(count: Any) -> None:
    with pytest.raises(ValueError, match="max_workers"):
        ParallelEngine(count)
    with pytest.raises(ValueError, match="max_workers"):
        kedi.interactive(parallel=True, max_workers=count)


def test_an_engine_can_be_given() -> None:
    engine = ParallelEngine(2)
    with parallel(meeting(2), engine=engine) as session:
        assert session.config.engine is engine
        session.execute(">> One [a].\n>> Two [b].")
    with kedi.interactive(engine=engine, adapter=ScriptedAdapter(answer)) as session:
        with pytest.raises(KediExecutionError, match="closed"):
            session.execute(">> One [a].")
        assert session.execute("= ok") == "ok"


def test_two_sessions_can_share_an_engine() -> None:
    engine = ParallelEngine(2)
    one, two = parallel(engine=engine), parallel(engine=engine)
    one.execute(">> One [a].")
    two.execute(">> Two [b].")
    with pytest.raises(KediExecutionError):
        one.execute(">> FAIL [c].")
    two.execute(">> Three [c].")
    assert two.evaluate("<c>")
    two.close()
    one.close()


@pytest.mark.parametrize("engine", [object(), 3, ParallelEngine])
def test_other_engines_are_refused(engine: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        kedi.interactive(engine=engine)


def test_idle_workers_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kedi.runtime.engine._IDLE", 0.01)
    before = set(threading.enumerate())
    session = parallel()
    session.execute(">> One [a].\n>> Two [b].\n>> Three [c].")
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    session.execute(">> Again [d].")
    assert session.evaluate("<d>")
    session.close()


def test_closing_ends_the_workers() -> None:
    before = set(threading.enumerate())
    with parallel() as session:
        session.execute(">> One [a].\n>> Two [b].")
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
        assert not thread.is_alive()
