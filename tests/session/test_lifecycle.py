"""Closing, exclusive use, interruption, and what outlives a fragment."""

from __future__ import annotations

import gc
import linecache
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import kedi
from kedi import DefaultExecutor, InteractiveSession
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import KediExecutionError, SessionStateError

Make = Callable[..., InteractiveSession]


class Closing:
    """Something that counts how often it is closed."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.count = 0
        self.failure = failure

    def close(self) -> None:
        self.count += 1
        if self.failure is not None:
            raise self.failure


class ClosingAdapter(ScriptedAdapter, Closing):
    """A model that a session releases."""

    def __init__(self, answers: Any, failure: Exception | None = None) -> None:
        ScriptedAdapter.__init__(self, answers)
        Closing.__init__(self, failure)


class ClosingExecutor(DefaultExecutor, Closing):
    """An executor that a session releases."""

    def __init__(self, failure: Exception | None = None) -> None:
        DefaultExecutor.__init__(self)
        Closing.__init__(self, failure)


# ── closing ───────────────────────────────────────────────────────────────────


def test_close_is_idempotent(make: Make) -> None:
    executor = ClosingExecutor()
    session = make(executor=executor)
    session.execute("[a] = 1")
    assert not session.closed
    session.close()
    session.close()
    assert session.closed
    assert executor.count == 1


@pytest.mark.parametrize("call", ["execute", "evaluate"])
def test_a_closed_session_runs_nothing(make: Make, call: str) -> None:
    session = make()
    session.execute("[a] = 1")
    session.close()
    with pytest.raises(SessionStateError, match="closed") as caught:
        getattr(session, call)("= `1`")
    assert isinstance(caught.value, RuntimeError)
    with pytest.raises(SessionStateError), session:
        pass
    assert len(session.fragments) == 1


def test_the_context_closes_on_errors_too() -> None:
    executor = ClosingExecutor()
    with pytest.raises(KediExecutionError), kedi.interactive(executor=executor) as session:
        session.execute("`1 / 0`")
    assert session.closed
    assert executor.count == 1
    with pytest.raises(ZeroDivisionError), kedi.interactive() as session:
        raise ZeroDivisionError
    assert session.closed


def test_closing_releases_everything(make: Make) -> None:
    executor = ClosingExecutor()
    session = make(executor=executor, parallel=True)
    session.execute("[a] = 1")
    before = threading.active_count()
    session.close()
    assert executor.count == 1
    assert threading.active_count() <= before


def test_a_failing_close_still_closes(make: Make) -> None:
    session = make(executor=ClosingExecutor(OSError("busy")))
    with pytest.raises(OSError, match="busy"):
        session.close()
    assert session.closed
    session.close()


def test_a_named_adapter_belongs_to_the_session(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[ClosingAdapter] = []

    def create(**keywords: Any) -> ClosingAdapter:
        made.append(ClosingAdapter(keywords["answers"]))
        return made[-1]

    monkeypatch.setattr("kedi.agents.adapters.scripted.create", create)
    session = make(adapter="scripted", answers=[{"a": "1"}])
    session.execute(">> [a]")
    session.close()
    # One to have its keywords checked at once, one to call.
    assert [one.count for one in made] == [1, 1]


def test_an_adapter_that_was_passed_in_stays_open(make: Make) -> None:
    # Its owner made it and may use it in other sessions.
    adapter = ClosingAdapter([{"a": "1"}, {"a": "2"}])
    one, two = make(adapter=adapter), make(adapter=adapter)
    one.execute(">> [a]")
    one.close()
    two.execute(">> [a]")
    assert two.execute("= <a>") == "2"


def test_values_are_free_after_closing() -> None:
    class Value:
        pass

    value = Value()
    alive = weakref.ref(value)
    session = kedi.interactive(env={"value": value})
    session.execute("[kept] = `value`\n@f() -> int:\n  = `1`")
    session.close()
    del session, value
    gc.collect()
    assert alive() is None


# ── one call at a time ────────────────────────────────────────────────────────


class Gate:
    """Lets a fragment wait until the test says so."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def wait(self) -> None:
        """Called by the fragment."""
        self.entered.set()
        assert self.opened.wait(20)


@pytest.mark.parametrize(
    "call",
    [
        lambda session: session.execute("= `1`"),
        lambda session: session.evaluate("`1`"),
        lambda session: session.close(),
    ],
    ids=["execute", "evaluate", "close"],
)
def test_concurrent_calls_are_refused_at_once(
    make: Make, call: Callable[[InteractiveSession], Any]
) -> None:
    gate = Gate()
    session = make(env={"gate": gate})
    results: list[Any] = []
    worker = threading.Thread(
        target=lambda: results.append(session.execute("`gate.wait()`\n= `2`"))
    )
    worker.start()
    assert gate.entered.wait(20)
    with pytest.raises(SessionStateError, match="busy"):
        call(session)
    assert not session.closed
    gate.opened.set()
    worker.join(20)
    assert results == [2]
    assert session.execute("= `3`") == 3
    assert [one.state for one in session.fragments] == ["done", "done"]


def test_the_running_fragment_is_listed(make: Make) -> None:
    gate = Gate()
    session = make(env={"gate": gate})
    worker = threading.Thread(target=session.execute, args=("[early] = 1\n`gate.wait()`\n[a] = 1",))
    worker.start()
    assert gate.entered.wait(20)
    assert [one.state for one in session.fragments] == ["running"]
    assert [view.name for view in session.bindings()] == ["early"]
    assert [one.label for one in session.complete("= <ea")] == ["early"]
    gate.opened.set()
    worker.join(20)
    assert [one.state for one in session.fragments] == ["done"]


@pytest.mark.parametrize("call", ["execute('= 1')", "evaluate('1')", "close()"])
def test_re_entrant_calls_are_refused(make: Make, call: str) -> None:
    box: dict[str, InteractiveSession] = {}
    session = make(env={"box": box})
    box["session"] = session
    with pytest.raises(KediExecutionError, match="busy") as caught:
        session.execute(f"[a] = 1\n`box['session'].{call}`\n[b] = 2")
    assert isinstance(caught.value.original or caught.value.__cause__, SessionStateError)
    assert not session.closed
    assert [view.name for view in session.bindings()] == ["a"]
    caught_inside = f"""
= ```
try:
    box['session'].{call}
except RuntimeError as error:
    return type(error).__name__
```
""".strip()
    assert session.execute(caught_inside) == "SessionStateError"
    assert session.execute("= `1`") == 1


def test_another_session_may_run_inside(make: Make) -> None:
    inner = make()
    session = make(env={"inner": inner})
    assert session.execute("= `inner.evaluate('1 + 1')`") == "1 + 1"
    with pytest.raises(KediExecutionError, match="division by zero") as caught:
        session.execute("```\ninner.execute('= \\x601 / 0\\x60', source_name='within')\n```")
    assert "<interactive:2>" in str(caught.value)
    assert "within" in str(caught.value)
    assert session.execute("= `1`") == 1
    assert inner.execute("= `1`") == 1


def test_many_threads_never_mix(make: Make) -> None:
    session = make()
    session.execute("[n: int] = `0`")
    done: list[int] = []
    refused: list[int] = []

    def work() -> None:
        for _ in range(200):
            try:
                session.execute("`n += 1`")
                done.append(1)
            except SessionStateError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(done) + len(refused) == 800
    assert session.execute("= `n`") == len(done)
    numbers = [one.number for one in session.fragments]
    assert numbers == list(range(1, len(numbers) + 1))


def test_any_thread_may_use_an_idle_session(make: Make) -> None:
    session = make()
    session.execute("[n: int] = `1`\n@f() -> int:\n  = `n`")
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(session.execute("`n += 1`\n= `f()`")))
    thread.start()
    thread.join(20)
    assert results == [2]


def test_a_thread_outlives_its_fragment(make: Make) -> None:
    gate = Gate()
    session = make(env={"gate": gate})
    session.execute("@double(v: int) -> int:\n  = `v * 2`\n[total: int] = `1`")
    session.execute(
        """
```
import threading
seen = []
def later():
    gate.wait()
    global total
    seen.append(double(total))
    try:
        double('x')
    except TypeError as error:
        seen.append(type(error).__name__)
worker = threading.Thread(target=later)
worker.start()
```
""".strip()
    )
    assert gate.entered.wait(20)
    session.execute("`total = 5`")
    gate.opened.set()
    assert session.execute("```\nworker.join(20)\n```\n= `seen`") == [10, "KediTypeExecutionError"]


def test_procedures_work_after_closing(make: Make) -> None:
    session = make()
    session.execute("@double(v: int) -> int:\n  = `v * 2`")
    double = session.execute("= `double`")
    session.close()
    assert double(4) == 8


# ── interruption ──────────────────────────────────────────────────────────────


def interrupt_when(ready: threading.Event, delay: float = 0.05) -> threading.Thread:
    """Send Ctrl+C to this process once a fragment says that it is under way."""

    def send() -> None:
        assert ready.wait(20)
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@needs_signals
@pytest.mark.parametrize(
    "source",
    [
        "`ready.set()`\n```\nwhile True:\n    count += 1\n```",
        "`ready.set()`\n> loop: `True`:\n  `count += 1`",
        "`ready.set()`\n> loop [i]: `forever()`:\n  `count += 1`",
        "`ready.set()`\n`sleep(30)`",
        "@f():\n  `ready.set()`\n  `sleep(30)`\n> show: <f()>",
    ],
    ids=["python", "loop", "each", "sleep", "procedure"],
)
def test_ctrl_c_ends_a_fragment_and_keeps_the_session(make: Make, source: str) -> None:
    import itertools

    ready = threading.Event()
    env = {"ready": ready, "sleep": time.sleep, "forever": itertools.count}
    session = make(env=env, loop_iteration_limit=10**12)
    session.execute("[count: int] = `0`")
    sender = interrupt_when(ready)
    with pytest.raises(KeyboardInterrupt):
        session.execute(f"[before] = kept\n{source}\n[after] = no")
    sender.join(20)
    assert session.execute("= <before>") == "kept"
    assert session.execute("= `isinstance(count, int)`") is True
    assert "after" not in [view.name for view in session.bindings()]
    assert session.fragments[1].state == "failed"
    assert session.execute("@g() -> int:\n  = `1`\n= `g()`") == 1


@needs_signals
@pytest.mark.parametrize("parallel", [False, True])
def test_ctrl_c_while_waiting_for_a_model(make: Make, parallel: bool) -> None:
    ready = threading.Event()

    def slow(prompt: str) -> dict[str, str]:
        if "slow" in prompt:
            ready.set()
            time.sleep(1.5 if parallel else 30)
        return {"a": prompt}

    session = make(adapter=ScriptedAdapter(slow), parallel=parallel)
    sender = interrupt_when(ready, 0.2)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.execute("[before] = kept\n>> slow [a]\n= <a>")
    assert time.monotonic() - started < 20
    sender.join(20)
    assert session.execute("= <before>") == "kept"
    session.execute(">> quick [a]")
    assert session.execute("= <a>") == "quick [a]"


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program in a process of its own."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_an_exit_in_a_session_ends_the_process_with_its_status() -> None:
    program = textwrap.dedent(
        """
        import kedi
        with kedi.interactive() as session:
            session.execute("```\\nraise SystemExit(7)\\n```")
        """
    )
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


def test_a_forgotten_session_does_not_keep_the_process() -> None:
    program = textwrap.dedent(
        """
        import kedi, time
        from kedi.agents.adapters.scripted import ScriptedAdapter
        def slow(prompt):
            time.sleep(60)
            return {}
        session = kedi.interactive(adapter=ScriptedAdapter(slow), parallel=True, max_workers=2)
        session.execute("[a] = 1")
        print(session.execute("= <a>"))
        """
    )
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


# ── executors ─────────────────────────────────────────────────────────────────


class Recording(DefaultExecutor):
    """An executor of a host: it notes what it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []

    def evaluate_inline(self, rt: Any, code: str, local_env: dict[str, Any]) -> Any:
        self.ran.append(code)
        return super().evaluate_inline(rt, code, local_env)


class Failing(DefaultExecutor):
    """An executor that fails at everything it is asked to do."""

    def evaluate_inline(self, rt: Any, code: str, local_env: dict[str, Any]) -> Any:
        raise PermissionError(f"not allowed: {code}")

    def execute_side_effects(
        self, rt: Any, code: str, env_map: dict[str, Any], *, kedi_line_offset: int = 0
    ) -> None:
        raise PermissionError(f"not allowed: {code}")

    execute_block = evaluate_inline  # type: ignore[assignment]

    def execute_prelude(self, rt: Any, code: str) -> dict[str, Any]:
        raise PermissionError(f"not allowed: {code}")

    def execute_prelude_incremental(self, rt: Any, code: str, env: Any) -> dict[str, Any]:
        raise PermissionError(f"not allowed: {code}")


def test_an_executor_runs_the_python(make: Make) -> None:
    executor = Recording()
    session = make(executor=executor)
    session.execute("[base: int] = `40`")
    session.execute("@add_two() -> int:\n  = `base + 2`")
    assert session.execute("= `add_two()`") == 42
    assert executor.ran == ["40", "add_two()", "base + 2"]


@pytest.mark.parametrize(
    "source",
    ["= `1`", "[a: int] = `1`", "`print()`", "[b] = 1\n```\nx = 1\n```", "```\nx = 1\n```",
     "= ```\nreturn 1\n```", "> if: `True`:\n  [a] = 1", "> loop [i]: `[1]`:\n  [a] = 1"],
)  # fmt: skip
def test_an_executor_that_raises(make: Make, source: str) -> None:
    session = make(executor=Failing())
    session.execute("[kept] = yes")
    with pytest.raises(KediExecutionError, match="not allowed") as caught:
        session.execute(source)
    assert isinstance(caught.value.original, PermissionError)
    assert caught.value.span is not None
    assert caught.value.span.source_name == "<interactive:2>"
    assert session.execute("= <kept>") == "yes"


def test_a_session_that_nobody_closes_leaves_nothing_in_linecache() -> None:
    name = "dropped-session.kedi"
    session = kedi.interactive()
    session.execute("@f() -> str:\n  = `1 / 0`", source_name=name)
    with pytest.raises(KediExecutionError):
        session.execute("= <f()>")
    assert linecache.getline(name, 2) == "  = `1 / 0`"
    del session
    gc.collect()
    assert name not in linecache.cache
