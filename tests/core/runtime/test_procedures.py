"""Procedures as what a host sees of them: real Python callables."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import kedi
from kedi import InteractiveSession
from kedi.errors import KediExecutionError, KediTypeExecutionError

SOURCE = """\
~Box(n: int)

@add(a: int, b: int = `2`) -> int:
  ###
  Add two numbers.

  Args:
    a: the first
  ###
  [n] := `n + 1`
  = `a + b`

@greet(name, greeting = `"Hello"`) -> str:
  = <greeting>, <name>

@fail(x) -> int:
  = `1 / 0`

@box(n: int) -> Box:
  = `Box(n)`

@inner() -> object:
  @nested() -> str:
    = nested
  = `nested`
"""


@pytest.fixture
def session() -> Iterator[InteractiveSession]:
    with kedi.interactive() as opened:
        opened.execute("[n: int] = `0`")
        opened.execute(SOURCE)
        yield opened


@pytest.fixture
def get(session: InteractiveSession) -> Callable[[str], Any]:
    return lambda name: session.execute(f"= `{name}`")


def test_the_signature_is_a_true_one(get: Callable[[str], Any]) -> None:
    add, greet = get("add"), get("greet")
    assert str(inspect.signature(add)) == "(a: int, b: int = 2) -> int"
    assert str(inspect.signature(greet)) == "(name: str, greeting: str = 'Hello') -> str"
    assert (add.__name__, add.__qualname__) == ("add", "add")
    assert add.__doc__ == "Add two numbers.\n\nArgs:\n  a: the first"
    assert add.__defaults__ == (2,)
    assert inspect.isfunction(add)
    assert get("box").__annotations__["return"] is get("Box")
    assert str(inspect.signature(get("Box"))) == "(n: int)"


def test_calls_of_every_form(get: Callable[[str], Any]) -> None:
    add = get("add")
    assert (add(1), add(1, 5), add(a=1), add(b=1, a=2), add(*[3], b=4)) == (3, 6, 3, 3, 7)
    assert functools.partial(add, 1)(b=9) == 10
    assert functools.reduce(add, [1, 2, 3]) == 6
    assert list(map(get("greet"), ["A", "B"])) == ["Hello, A", "Hello, B"]
    assert sorted([3, 1], key=functools.cmp_to_key(lambda a, b: add(a, -b))) == [1, 3]
    for wrong in [(), (1, 2, 3)]:
        with pytest.raises(TypeError, match="add"):
            add(*wrong)


def test_each_name_of_a_parameter_works() -> None:
    names = ["self", "cls", "values", "_kedi_call", "_kedi_call_", "call", "frame", "procedure"]
    with kedi.interactive() as session:
        for name in names:
            assert session.execute(f"@f({name}: int) -> int:\n  = `{name}`\n= `f({name}=3)`") == 3


def test_errors_of_a_direct_call_are_kedi_errors(get: Callable[[str], Any]) -> None:
    fail = get("fail")
    with pytest.raises(KediExecutionError) as caught:
        fail("x")
    error = caught.value
    assert [frame.span.line for frame in error.frames] == [17, 17]
    assert error.frames[-1].source_line == "  = `1 / 0`"
    assert isinstance(error.original, ZeroDivisionError)
    with pytest.raises(KediTypeExecutionError, match=r"add\(a\)"):
        get("add")("x")
    with pytest.raises(KediTypeExecutionError, match="Box"):
        get("box")(1.5)


def test_python_between_kedi_calls_catches_what_was_raised(session: InteractiveSession) -> None:
    session.execute(
        "[q] = q\n[kind] = ```\ntry:\n    fail('x')\nexcept ZeroDivisionError as error:\n"
        "    return type(error).__name__\n```"
    )
    assert session.execute("= <kind>") == "ZeroDivisionError"
    session.execute(
        "[kind] = ```\ntry:\n    add('x')\nexcept TypeError as error:\n"
        "    return str(error.hint)\n```"
    )
    assert "backticks" in session.execute("= <kind>")


def test_threads_may_call(session: InteractiveSession, get: Callable[[str], Any]) -> None:
    add, results = get("add"), list[int]()
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        results.extend(add(1) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [3] * 200
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(get("greet"), ["A", "B"])) == ["Hello, A", "Hello, B"]
        with pytest.raises(KediExecutionError) as caught:
            pool.submit(get("fail"), "x").result()
    assert caught.value.frames[-1].span.line == 17
    assert asyncio.run(asyncio.to_thread(add, 1)) == 3


def test_threads_of_embedded_python_reach_the_session(session: InteractiveSession) -> None:
    assert session.execute(
        "[q] = q\n= ```\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(2) as pool:\n    return list(pool.map(add, range(5)))\n```"
    ) == [2, 3, 4, 5, 6]


def test_a_procedure_outlives_its_session(session: InteractiveSession) -> None:
    add = session.execute("= `add`")
    session.close()
    assert add(1) == 3


def test_top_level_procedures_pickle_by_reference(get: Callable[[str], Any]) -> None:
    add = get("add")
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.deepcopy(add) is add
    box = pickle.loads(pickle.dumps(get("box")(5)))
    assert box == get("Box")(5)


def test_nested_procedures_do_not_pickle(get: Callable[[str], Any]) -> None:
    nested = get("inner")()
    with pytest.raises((pickle.PicklingError, AttributeError), match="nested"):
        pickle.dumps(nested)


def test_sessions_share_procedures(get: Callable[[str], Any]) -> None:
    with kedi.interactive(env={"add": get("add")}) as other:
        assert other.execute("= <add(`1`)>") == "3"
        assert other.execute("[q] = q\n= `add(1, b=4)`") == 5
        with pytest.raises(KediTypeExecutionError) as caught:
            other.execute("= `add('x')`")
    assert caught.value.frames[0].source_line == "= `add('x')`"


def test_defaults_are_shared_like_those_of_python() -> None:
    with kedi.interactive() as session:
        session.execute("@f(x: list[int] = `[]`) -> list[int]:\n  `x.append(1)`\n  = `x`")
        assert session.execute("= `(f(), f() is f(), len(f()))`") == ([1] * 4, True, 4)


def test_the_call_stack_is_clean_after_any_end(session: InteractiveSession) -> None:
    from kedi.runtime.frames import CURRENT

    for source in ["= `add(1)`", "= `fail('x')`", "= `add('x')`", "= `add()`"]:
        try:
            session.execute(source)
        except KediExecutionError:
            pass
        assert CURRENT.frame is None


@pytest.mark.parametrize(
    ("result", "text"),
    [("'x'", "`g()` must return int, got str"), ("[1]", "`g()` must return int, got list")],
)
def test_the_message_for_a_wrong_result(result: str, text: str) -> None:
    with kedi.interactive() as session, pytest.raises(KediTypeExecutionError) as caught:
        session.execute(f"@g() -> int:\n  = `{result}`\n= `g()`")
    assert caught.value.message.startswith(text)
