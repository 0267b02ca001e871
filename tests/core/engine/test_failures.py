"""What a failing call does is what it does when calls are made one by one."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from kedi.errors import KediError, KediExecutionError
from tests.core.engine.support import answer, parallel, session

FAILING = {
    "unread": ">> FAIL [a]",
    "read at once": ">> FAIL [a]\n= <a>",
    "read much later": ">> FAIL [a]\n[x] = one\n>> Fine [b]\n[y] = <b>\n= <a>",
    "never read": ">> FAIL [a]\n>> Fine [b]\n= <b>",
    "without fields": ">> FAIL\n= done",
    "raw": "[a] << FAIL\n= <a>",
    "dependent": ">> FAIL [a]\n>> Use <a>: [b]\n= <b>",
    "dependent on a dependent": ">> FAIL [a]\n>> Use <a>: [b]\n>> Use <b>: [c]\n= <c>",
    "two failures": ">> FAIL one [a]\n>> FAIL two [b]\n= <b><a>",
    "a later python error": ">> FAIL [a]\n`1 / 0`",
    "an earlier python error": "[n: int] = `1`\n`1 / 0`\n>> FAIL [a]",
    "claim": "> if: FAIL or not\n  [x] = y",
    "claim after a failing call": ">> FAIL [a]\n> if: <a> is fine\n  [x] = y",
    "caught read": ">> FAIL [a]\n```\ntry:\n    a\nexcept Exception:\n    pass\n```\n= done",
    "in a procedure": "@f(x):\n  >> FAIL <x> [a]\n  = <a>\n[r] = <f(q)>",
    "unread in a procedure": "@f():\n  >> FAIL [a]\n  = ok\n[r] = <f()>",
    "called from python": "@f():\n  >> FAIL [a]\n  = ok\n```\nfor _ in range(2):\n    f()\n```",
    "caught by python": (
        "@f():\n  >> FAIL [a]\n  = ok\n[r] = ```\ntry:\n    return f()\n"
        "except Exception as error:\n    return type(error).__name__\n```\n= <r>"
    ),
    "in a branch": "> if: `True`:\n  >> FAIL [a]\n  [x] = <a>",
    "in a loop": "> loop [i]: `range(3)`:\n  >> FAIL <i> [a]",
    "in the second round": "> loop [i]: `['ok', 'FAIL', 'ok']`:\n  >> Item <i> [a]\n  `a`",
    "in a map": "> loop [i]: `range(3)`:\n  `i`\n> map:\n  >> FAIL <i> [a]\n  `a`",
    "in one stage of a map": (
        "> loop [i]: `['ok', 'FAIL', 'ok']`:\n  `i`\n> map:\n  >> Item <i> [a]"
    ),
    "python in a map": "> loop [i]: `[1, 0, 1]`:\n  `i`\n> map:\n  `1 / i`",
    "a procedure in a map": (
        "@f(x: int) -> int:\n  = `1 // x`\n> loop [i]: `[1, 0, 0]`:\n  `i`\n> map:\n  `f(i)`"
    ),
    "a call read in a map": (
        "> loop [i]: `['ok', 'FAIL']`:\n  >> Item <i> [a]\n> map:\n  > show: <a>"
    ),
    "wrong type": ">> Wrong [n: float]",
    "nested procedures": (
        "@outer():\n  @inner(x):\n    >> FAIL <x> [a]\n    = <a>\n  [v] = <inner(deep)>\n  = <v>\n"
        "= <outer()>"
    ),
    "module-level after definitions": "@f():\n  = <a>\n>> FAIL [a]\n= <f()>",
    "exit after a failing call": ">> FAIL [a]\n```\nraise SystemExit(3)\n```",
}  # fmt: skip


def outcome(source: str, engine: str, **config: Any) -> tuple[Any, ...]:
    with session(engine=engine, **config) as live:
        live.execute("[a] = before\n[b] = before")
        try:
            ended: tuple[Any, ...] = ("value", live.execute(source))
        except KediError as error:
            ended = (type(error), error.message, getattr(error, "frames", ()), error.render())
        except SystemExit as error:
            ended = (SystemExit, error.code)
        assert live.execute("= usable") == "usable"
        return (*ended, live.evaluate("<a>"))


@pytest.mark.parametrize("case", FAILING)
@pytest.mark.parametrize("workers", [1, 4])
def test_errors_equal_those_of_sequential_runs(case: str, workers: int) -> None:
    expected = outcome(FAILING[case], "sequential")
    assert outcome(FAILING[case], "parallel", max_workers=workers) == expected


def test_the_frame_is_that_of_the_template() -> None:
    with parallel() as live:
        live.execute("@ask(x):\n  [y] = <x>\n  >> FAIL about <y>: [a]\n  [z] = more\n  = <a>")
        with pytest.raises(KediExecutionError) as caught:
            live.execute("[x] = one\n= <ask(two)>")
    frames = caught.value.frames
    assert [(frame.kind, frame.span.source_name, frame.span.line) for frame in frames] == [
        ("program", "<interactive:2>", 2),
        ("procedure", "<interactive:1>", 3),
        ("template", "<interactive:1>", 3),
    ]
    assert frames[-1].source_line == "  >> FAIL about <y>: [a]"


def test_other_failures_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "kedi")
    with parallel(max_workers=1) as live, pytest.raises(KediExecutionError, match="FAIL 1"):
        live.execute(">> FAIL 1 [a]\n>> FAIL 2 [b]\n>> FAIL 3 [c]\n>> After <a>: [d]")
    logged = [record.getMessage() for record in caplog.records if record.name == "kedi"]
    assert len(logged) == 2
    assert "FAIL 2" in logged[0]
    assert "FAIL 3" in logged[1]


def test_other_failures_of_a_map_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    barrier = threading.Barrier(2)

    def meet(i: int) -> None:
        barrier.wait(30)
        raise ValueError(f"stage {i}")

    caplog.set_level(logging.ERROR, "kedi")
    live = parallel(max_workers=2, env={"meet": meet})
    with live, pytest.raises(KediExecutionError, match="stage 0"):
        live.execute("> loop [i]: `range(2)`:\n  `i`\n> map:\n  `meet(i)`")
    assert [record.getMessage() for record in caplog.records] == [
        "a map stage failed too: ValueError: stage 1"
    ]


def test_everything_is_drained_before_the_fragment_ends() -> None:
    ended: list[str] = []
    gate = threading.Event()

    def model(prompt: str, schema: dict[str, Any]) -> Any:
        if "slow" in prompt:
            gate.wait(30)
        ended.append(prompt)
        return answer(prompt, schema)

    with parallel(model, env={"gate": gate}) as live:
        with pytest.raises(KediExecutionError):
            live.execute(">> slow [a]\n```\ngate.set()\nraise ValueError('no')\n```")
        assert ended == ["slow [a]"]
        assert live.evaluate("<a>")


def test_names_of_a_failed_call_keep_what_they_had() -> None:
    with parallel() as live:
        live.execute("[a: int] = `1`")
        with pytest.raises(KediExecutionError):
            live.execute(">> FAIL [a] and [fresh]")
        assert live.evaluate("`a`") == 1
        with pytest.raises(KediExecutionError, match="int"):
            live.execute("[a] := text")
        with pytest.raises(KediExecutionError, match="not defined"):
            live.evaluate("<fresh>")


def test_a_failed_promise_fails_every_read() -> None:
    source = """
>> FAIL [a]
[log: list[str]] = `[]`
```
for _ in range(2):
    try:
        a
    except Exception as error:
        log.append(type(error).__name__)
```
""".strip()
    with parallel() as live:
        with pytest.raises(KediExecutionError, match="FAIL"):
            live.execute(source)
        assert live.evaluate("`log`") == ["ModelCallError", "ModelCallError"]


def test_a_return_in_an_earlier_stage_decides_over_a_later_failure() -> None:
    source = (
        "@f() -> int:\n  > loop [i]: `range(4)`:\n    `i`\n  > map:\n    > if: `i == 1`:\n"
        "      = `i`\n    > if: `i == 3`:\n      `1 / 0`\n  = `-1`\n= `f()`"
    )
    for engine in ("sequential", "parallel"):
        with session(engine=engine, max_workers=4) as live:
            assert live.execute(source) == 1


def test_a_closed_engine_fails_calls_that_wait_for_it() -> None:
    """Another session closes the engine that both use."""
    from kedi.runtime.engine import ParallelEngine

    engine = ParallelEngine(1)
    started, release = threading.Event(), threading.Event()

    def model(prompt: str, schema: dict[str, Any]) -> Any:
        started.set()
        release.wait(30)
        return answer(prompt, schema)

    scheduled = threading.Event()

    def close() -> None:
        started.wait(30)
        scheduled.wait(30)
        engine.close()
        release.set()

    closer = threading.Thread(target=close)
    closer.start()
    live = session(model, engine=engine, env={"scheduled": scheduled})
    with live, pytest.raises(KediExecutionError, match="engine was closed"):
        live.execute(">> One [a]\n>> Two [b]\n>> Three [c]\n`scheduled.set()`")
    closer.join()
