"""Ctrl+C while calls are under way: back at once, and the session goes on."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.core.engine.support import answer, session


class Stuck:
    """A model whose prompts with ``stuck`` never end until the test does."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.release = threading.Event()

    def __call__(self, prompt: str, schema: dict[str, Any]) -> Any:
        if "stuck" in prompt:
            self.reached.set()
            # Not ``release.wait()``: an interrupt in its Python code would break the event.
            while not self.release.is_set():
                time.sleep(0.005)
        return answer(prompt, schema)


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    model = Stuck()
    yield model
    model.release.set()


def interrupt_when(reached: threading.Event) -> Callable[[], None]:
    """Press Ctrl+C once ``reached`` is set; the result waits for the presser."""

    main = threading.main_thread().ident
    assert main is not None

    def press() -> None:
        if reached.wait(30):
            signal.pthread_kill(main, signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    return presser.join


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize(
    "source",
    [
        ">> stuck [a]\n= <a>",
        ">> stuck [a]",
        ">> Fine [b]\n>> stuck [a]\n>> Use <a>: [c]\n= <c>",
        "> if: stuck or not\n  [x] = y",
        "@f():\n  >> stuck [a]\n  = <a>\n[r] = <f()>",
        "> loop [i]: `range(3)`:\n  >> stuck <i> [a]\n> map:\n  `a`",
        "> loop [i]: `range(3)`:\n  `i`\n> map:\n  >> stuck <i> [a]\n  `a`",
        "```\ntry:\n    a\nexcept Exception:\n    pass\n```\n>> stuck [a]",
    ],
)
def test_interrupting_a_call(stuck: Stuck, source: str, workers: int) -> None:
    with session(stuck, parallel=True, max_workers=workers) as live:
        live.execute("[a] = before")
        joined = interrupt_when(stuck.reached)
        with pytest.raises(KeyboardInterrupt):
            live.execute(source)
        joined()
        assert not stuck.release.is_set()
        # Also with one worker, which the stuck call still has.
        assert live.execute(">> Again [b].\n= <b>").startswith("b")
        assert live.evaluate("<a>") == "before"
        assert any(call.record.error == "interrupted" for call in live.calls) or stuck.reached


def test_interrupting_python_in_map_stages() -> None:
    running = threading.Event()
    with session(parallel=True, max_workers=3, env={"running": running}) as live:
        joined = interrupt_when(running)
        with pytest.raises(KeyboardInterrupt):
            live.execute(
                "[n: int] = `0`\n> loop [i]: `range(3)`:\n  `i`\n> map:\n"
                "  ```\n  running.set()\n  while True:\n      pass\n  ```"
            )
        joined()
        # One that was only just being started when the interrupt came ends by itself.
        deadline = time.monotonic() + 30
        while any(item.name.startswith("kedi-map") for item in threading.enumerate()):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert live.execute("= `n`") == 0


@pytest.mark.parametrize("engine", ["sequential", "parallel"])
def test_a_model_that_raises_an_exit(engine: str) -> None:
    def model(prompt: str, schema: dict[str, Any]) -> Any:
        if "interrupt" in prompt:
            raise KeyboardInterrupt
        if "exit" in prompt:
            raise SystemExit(4)
        return answer(prompt, schema)

    with session(model, engine=engine) as live:
        with pytest.raises(KeyboardInterrupt):
            live.execute(">> interrupt [a]\n= <a>")
        with pytest.raises(SystemExit) as caught:
            live.execute(">> exit [a]\n= <a>")
        assert caught.value.code == 4
        assert live.execute(">> fine [a]\n= <a>")
        errors = [call.record.error for call in live.calls]
        assert errors == ["interrupted", "SystemExit", None]


def test_interrupting_a_sequential_call_keeps_its_record(stuck: Stuck) -> None:
    with session(stuck) as live:
        joined = interrupt_when(stuck.reached)
        with pytest.raises(KeyboardInterrupt):
            live.execute("[x] = kept\n>> stuck [a]")
        joined()
        (call,) = live.calls
        assert call.record.prompt == "stuck [a]"
        assert call.record.error == "interrupted"
        assert call.record.latency >= 0
        assert live.evaluate("<x>") == "kept"


def test_interrupting_an_asynchronous_call_cancels_it(stuck: Stuck) -> None:
    """Nothing more is asked of the provider, or paid, once nobody waits."""
    cancelled = threading.Event()

    class Slow:
        kind = "agent-framework"
        shortname = "slow"

        async def produce(self, *, template: str, output_schema: dict[str, Any], **_: Any) -> Any:
            if "stuck" not in template:
                return answer(template, output_schema)
            stuck.reached.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.set()
                raise

    for engine in ("sequential", "parallel"):
        stuck.reached.clear()
        cancelled.clear()
        with session(adapter=Slow(), engine=engine, max_workers=1) as live:
            joined = interrupt_when(stuck.reached)
            with pytest.raises(KeyboardInterrupt):
                live.execute(">> stuck [a]\n= <a>")
            joined()
            assert cancelled.wait(30)
            assert live.execute(">> Again [b].\n= <b>").startswith("b")
