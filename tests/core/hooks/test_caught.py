"""Whether an exception will be caught is known before anything is unwound."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

from kedi.debugging import Observer, RunFrame
from kedi.errors import KediError, KediExecutionError, KediTypeExecutionError
from tests.core.engine.support import session
from tests.core.hooks.support import Recorder


def _fences() -> dict[str, tuple[str, bool]]:
    """Code around ``f()``, which raises ``ZeroDivisionError``, and whether it catches that."""
    found: dict[str, tuple[str, bool]] = {}
    text = (Path(__file__).parent / "handlers.txt").read_text("utf-8")
    for part in text.split("### ")[1:]:
        head, _, code = part.partition("\n")
        fate, _, name = head.partition(": ")
        found[name] = (code.rstrip("\n"), {"caught": True, "uncaught": False}[fate])
    return found


FENCES = _fences()


class Raised(Observer):
    """The exceptions it was told of: class name, where, whether caught."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, bool]] = []

    def exception_raised(self, frame: RunFrame, error: BaseException, caught: bool) -> None:
        self.told.append((type(error).__name__, frame.label, caught))


def run(source: str, **config: Any) -> tuple[list[tuple[str, str, bool]], bool]:
    """What was told, and whether the fragment went well."""
    observer = Raised()
    with session(**config) as live:
        live.execute("@f() -> int:\n  = `1 // 0`")
        live.observe(observer)
        try:
            live.execute(source)
        except KediError:
            return observer.told, False
    return observer.told, True


@pytest.mark.parametrize("fence", FENCES)
def test_what_is_said_is_what_happens(fence: str) -> None:
    code, caught = FENCES[fence]
    told, well = run(f"[q] = q\n```\n{code}\n```")
    assert told[0] == ("ZeroDivisionError", "f", caught)
    if fence == "replaced":
        assert told[1] == ("ValueError", "<interactive:2>", False)
    else:
        assert len(told) == 1
        assert well == caught


@pytest.mark.parametrize("fence", FENCES)
def test_the_same_through_procedures(fence: str) -> None:
    """Two Kedi frames between the raise and the handler, and the handler in a procedure."""
    code, caught = FENCES[fence]
    if "f()" not in code:
        pytest.skip("has no call")
    body = "\n".join("  " + line for line in code.replace("f()", "inner()").splitlines())
    source = (
        f"@inner() -> int:\n  > if: `True`:\n    = `f()`\n  = `0`\n"
        f"@outer():\n  ```\n{body}\n  ```\n  = ok\n> loop [i]: `[1]`:\n  [r] = <outer()>"
    )
    told, _ = run(source)
    assert told[0] == ("ZeroDivisionError", "f", caught)


@pytest.mark.parametrize("code", ["try:\n    f()\nexcept Exception:\n    pass", "f()"])
def test_handlers_further_out_count(code: str) -> None:
    body = "\n".join("  " + line for line in code.splitlines())
    source = (
        f"@outer():\n  ```\n{body}\n  ```\n  = ok\n"
        "```\ntry:\n    outer()\nexcept ArithmeticError:\n    pass\n```"
    )
    told, well = run(f"[q] = q\n{source}")
    assert well
    assert told == [("ZeroDivisionError", "f", True)]


def test_each_exception_is_told_once() -> None:
    source = (
        "@mid() -> int:\n  > if: `True`:\n    = `f()`\n  = `1`\n"
        "```\ntry:\n    try:\n        mid()\n    except Exception:\n        raise\nfinally:\n"
        "    pass\n```"
    )
    told, well = run(f"[q] = q\n{source}")
    assert not well
    assert told == [("ZeroDivisionError", "f", False)]


def test_two_exceptions_are_told_apart() -> None:
    told, well = run(
        "```\nfor _ in range(2):\n    try:\n        f()\n    except Exception:\n        pass\n```"
    )
    assert well
    assert told == [("ZeroDivisionError", "f", True)] * 2


def test_what_python_catches_itself_is_not_told() -> None:
    told, well = run("[q] = q\n```\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    pass\n```")
    assert well
    assert told == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("```\nraise SystemExit\n```", "SystemExit"),
        ("= <nope>", "KediNameError"),
        ("[n: int] = text", "KediTypeExecutionError"),
        ("> if: `1`:\n  [x] = y", "KediTypeExecutionError"),
        (">> FAIL [a]", "ModelCallError"),
    ],
)
def test_every_kind_of_error_is_told(source: str, name: str) -> None:
    observer = Raised()
    with session() as live:
        live.observe(observer)
        with pytest.raises((KediExecutionError, SystemExit)):
            live.execute(source)
    assert observer.told == [(name, "<interactive:1>", False)]


def test_errors_that_refuse_attributes() -> None:
    class Stubborn(Exception):
        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

        def __getattribute__(self, name: str) -> object:
            if name == "__dict__":
                raise RuntimeError("no")
            return super().__getattribute__(name)

    def fail() -> None:
        raise Stubborn("x")

    observer = Raised()
    with session(env={"fail": fail}) as live:
        live.observe(observer)
        with pytest.raises(KediExecutionError) as caught:
            live.execute("@g():\n  `fail()`\n  = x\n> if: `True`:\n  [r] = <g()>")
    assert observer.told == [("Stubborn", "g", False)]
    assert caught.value.frames[-1].span.line == 2


# ── on other threads ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("caught", [True, False])
def test_failed_jobs(caught: bool) -> None:
    """A job's error comes out where its frame ends, whatever reads it before that."""
    source = (
        "@ask():\n  >> FAIL [a]\n  ```\n  try:\n      a\n  except Exception:\n      pass\n  ```\n"
        "  = <a>\n"
    )
    call = "try:\n    ask()\nexcept Exception:\n    pass" if caught else "ask()"
    observer = Raised()
    with session(parallel=True) as live:
        live.observe(observer)
        try:
            live.execute(f"{source}```\n{call}\n```")
            well = True
        except KediExecutionError:
            well = False
    assert well == caught
    assert observer.told == [("ModelCallError", "ask", caught)]


@pytest.mark.parametrize("caught", [True, False])
def test_failed_stages(caught: bool) -> None:
    barrier = threading.Barrier(3)

    def meet(i: int) -> None:
        barrier.wait(30)
        if i == 1:
            raise KeyError(i)

    source = "@each():\n  > loop [i]: `range(3)`:\n    `i`\n  > map:\n    `meet(i)`\n  = ok\n"
    call = "try:\n    each()\nexcept LookupError:\n    pass" if caught else "each()"
    observer = Raised()
    with session(parallel=True, max_workers=3, env={"meet": meet}) as live:
        live.observe(observer)
        try:
            live.execute(f"{source}```\n{call}\n```")
            well = True
        except KediExecutionError:
            well = False
    assert well == caught
    assert observer.told == [("KeyError", "each", caught)]


def test_a_host_that_catches_does_not_count() -> None:
    observer = Raised()
    with session() as live:
        live.execute("@f() -> int:\n  = `1 // 0`")
        live.observe(observer)
        function = live.evaluate("`f`")
        try:
            function()
        except ZeroDivisionError:
            pass
        except KediExecutionError:
            pass
    assert observer.told == [("ZeroDivisionError", "f", False)]


@pytest.mark.parametrize("guarded", [True, False])
def test_a_refused_argument_is_told_where_the_call_stands(guarded: bool) -> None:
    call = "    f('a')\n" if guarded else "f('a')\n"
    around = ("try:\n", "except TypeError:\n    pass\n") if guarded else ("", "")
    source = f"@f(n: int) -> int:\n  = `n`\n[x] = y\n```\n{around[0]}{call}{around[1]}```"
    recorder = Recorder()
    with session() as live:
        live.observe(recorder)
        with contextlib.suppress(KediTypeExecutionError):
            live.execute(source)
    fate = "caught" if guarded else "uncaught"
    raised = [item for item in recorder.log if item.startswith("raise ")]
    assert raised == [f"raise KediTypeExecutionError <interactive:1>:4 {fate}"]
