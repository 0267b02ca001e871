"""Errors survive pickling, copying and ``raise … from``, with everything they say."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import kedi
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.agents.errors import ConfigurationError, ModelInstallError, NoModelSelected
from kedi.agents.requests import ModelCallError
from kedi.errors import (
    DumpProblem,
    KediCompileError,
    KediError,
    KediExecutionError,
    KediKeyExecutionError,
    KediModelError,
    KediNameError,
    KediParseError,
    KediPromiseLeak,
    KediTypeExecutionError,
    KediValueExecutionError,
    LoopIterationLimitError,
    OriginalError,
    SessionDumpError,
    SessionLoadError,
    SessionPersistenceError,
    SessionStateError,
)


def raised(source: str, **config: Any) -> KediError:
    with kedi.interactive(**config) as session:
        try:
            session.execute(source)
        except KediError as error:
            return error
    raise AssertionError("nothing was raised")


def closed() -> KediError:
    session = kedi.interactive()
    session.close()
    try:
        session.execute("= x")
    except SessionStateError as error:
        return error
    raise AssertionError("nothing was raised")


MAKERS: dict[type[KediError], Callable[[], KediError]] = {
    KediParseError: lambda: raised("[a] = <x\n[ok] = fine\nprose"),
    KediCompileError: lambda: raised("[x: strr] = a\n[y: nope] = b"),
    KediExecutionError: lambda: raised(
        "[x] = é\n```\ntry:\n    {}['k']\nexcept KeyError:\n    1 / 0\n```"
    ),
    KediTypeExecutionError: lambda: raised("[n: int] = text"),
    KediValueExecutionError: lambda: raised("`int('x')`"),
    KediKeyExecutionError: lambda: raised("`{}[('a', 1)]`"),
    KediNameError: lambda: raised("[alpha] = 1\n= `alhpa`"),
    LoopIterationLimitError: lambda: raised("> loop: `True`:\n  `1`", loop_iteration_limit=2),
    KediPromiseLeak: lambda: raised(
        ">> Some [a]\n= x `str(globals().get('a'))`",
        adapter=ScriptedAdapter([{"a": "x"}]),
        parallel=True,
    ),
    ModelCallError: lambda: raised(">> Some [n: int]", adapter=ScriptedAdapter([{"n": "x"}])),
    KediModelError: lambda: KediModelError("no answer", hint="try again"),
    NoModelSelected: lambda: raised(">> Some [a]"),
    ConfigurationError: lambda: ConfigurationError("no such adapter"),
    ModelInstallError: lambda: ModelInstallError("no space"),
    SessionStateError: closed,
    SessionPersistenceError: lambda: SessionPersistenceError("no"),
    SessionDumpError: lambda: SessionDumpError("2 problems", [DumpProblem("a[1]", "open", "<x>")]),
    SessionLoadError: lambda: SessionLoadError("corrupt"),
}


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling(kind: type[KediError], protocol: int) -> None:
    error = MAKERS[kind]()
    assert type(error) is kind
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is kind
    assert again.render() == error.render()
    assert again.render(use_color=True) == error.render(use_color=True)
    assert str(again) == str(error)
    assert again.args == error.args
    assert again.message == error.message
    assert again.__notes__ == ["a note"]
    for name in kind._state:
        if name != "original":
            assert getattr(again, name, None) == getattr(error, name, None)
    assert type(getattr(again, "original", None)) is type(getattr(error, "original", None))
    assert pickle.loads(pickle.dumps(again)).render() == error.render()


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_copying(kind: type[KediError], copier: Callable[[Any], Any]) -> None:
    error = MAKERS[kind]()
    error.add_note("a note")
    again = copier(error)
    assert again is not error
    assert type(again) is kind
    assert again.render() == error.render()
    assert getattr(again, "original", None) is getattr(error, "original", None)
    assert again.__cause__ is error.__cause__
    again.add_note("another")
    assert error.__notes__ == ["a note"]


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
def test_raise_from_and_printing(kind: type[KediError]) -> None:
    error = MAKERS[kind]()
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError("host") from error
    assert caught.value.__cause__ is error
    text = "".join(traceback.format_exception(caught.value))
    assert kind.__name__ in text
    assert "RuntimeError: host" in text
    with pytest.raises(kind) as again:
        raise error from ValueError("reason")
    assert isinstance(again.value.__cause__, ValueError)
    assert repr(error)


def test_every_class_is_here() -> None:
    public = {
        item
        for item in vars(kedi.errors).values()
        if isinstance(item, type) and issubclass(item, KediError) and item.__name__[0] != "_"
    }
    assert public - {KediError} <= set(MAKERS)


# ── original exceptions that do not pickle ────────────────────────────────────


class Picky(Exception):
    def __init__(self, code: int, *, reason: str) -> None:
        super().__init__(f"{code}: {reason}")


class Slotted(ValueError):
    __slots__ = ("extra",)


class Frozen(Exception):
    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __reduce__(self) -> Any:
        raise RuntimeError("no pickle")


class Nosy(Exception):
    def __getattr__(self, name: str) -> str:
        return "anything"


def local() -> Exception:
    class Local(Exception):
        pass

    return Local("here")


def holding() -> Exception:
    error = ValueError("holds a lock")
    error.lock = __import__("threading").Lock()  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("make", "kept"),
    [
        (lambda: Picky(3, reason="x"), False),
        (lambda: Slotted("s"), True),
        (lambda: Frozen("f"), True),
        (Mute, False),
        (lambda: Nosy("n"), True),
        (local, False),
        (holding, False),
        (lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), True),
        (lambda: OSError(2, "no file", "name"), True),
        (lambda: SystemError(), True),
    ],
)
def test_odd_exceptions(make: Callable[[], Exception], kept: bool) -> None:
    problem = make()

    def fail() -> None:
        raise problem

    with kedi.interactive(env={"fail": fail}) as session:
        with pytest.raises(KediExecutionError) as caught:
            session.execute("@f():\n  > if: `True`:\n    `fail()`\n  = x\n[y] = <f()>")
        assert session.execute("= ok") == "ok"
    error = caught.value
    assert error.original is problem
    assert [frame.kind for frame in error.frames] == ["program", "procedure", "python statement"]
    again = pickle.loads(pickle.dumps(error))
    assert type(again.original) is (type(problem) if kept else OriginalError)
    assert again.frames == error.frames
    assert again.message == error.message
    if not kept:
        assert type(problem).__name__ in str(again.original)


def _fail_in_child(_: int) -> None:
    with kedi.interactive() as session:
        session.execute("[x: int] = `0`\n```\nclass Own(Exception):\n    pass\n```\n= `1 / x`")


def test_through_processes() -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool, pytest.raises(KediExecutionError) as caught:
        pool.map(_fail_in_child, [1])
    error = caught.value
    assert isinstance(error.original, ZeroDivisionError)
    assert error.frames[-1].span.line == 6
    assert "= `1 / x`" in error.render()
