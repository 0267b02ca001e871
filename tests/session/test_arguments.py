"""What calls of sessions and programs refuse at once, and where errors of expressions stand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import kedi
from kedi import InteractiveSession
from kedi.debugging import Fanout, Observer
from kedi.errors import (
    KediExecutionError,
    KediParseError,
    KediValueExecutionError,
    SessionStateError,
)
from kedi.lang import compile_program, parse_program

# ── observers ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (5, "not int"),
        (object(), "not object"),
        ([Observer()], "not list"),
        (Observer, r"the class Observer: write `Observer\(…\)`"),
    ],
)
def test_only_observers_are_attached(session: InteractiveSession, wrong: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        session.observe(wrong)
    with compile_program(parse_program("= ok")) as runtime:
        with pytest.raises(TypeError, match=said):
            runtime.observe(wrong)
        assert runtime.run_main() == "ok"
    with pytest.raises(TypeError, match=said):
        Fanout([wrong])
    assert session.execute("= ok") == "ok"


class Last(Observer):
    """Raises at the end of a fragment."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def fragment_finished(self, *_: Any) -> None:
        raise self.error


def test_an_observer_may_abort_the_end_of_a_fragment(session: InteractiveSession) -> None:
    session.observe(Last(ValueError("not that")))
    with pytest.raises(KediValueExecutionError, match="not that") as caught:
        session.execute("[a] = 1\n= <a>")
    assert isinstance(caught.value.original, ValueError)
    assert caught.value.frames[0].span.source_name == "<interactive:1>"
    assert session.fragments[0].state == "failed"
    session.observe(None)
    assert session.execute("= <a>") == "1"


def test_what_failed_before_is_not_lost(session: InteractiveSession) -> None:
    session.observe(Last(ValueError("not that")))
    with pytest.raises(KediValueExecutionError) as caught:
        session.execute("= `1 / 0`")
    assert [item.relation for item in caught.value.causes][:1] == ["context"]
    assert "division by zero" in str(caught.value)


def test_an_observer_may_end_the_process(session: InteractiveSession) -> None:
    session.observe(Last(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        session.execute("= ok")
    session.observe(None)
    assert session.execute("= ok") == "ok"


def test_an_observer_may_raise_the_error_again(session: InteractiveSession) -> None:
    class Again(Observer):
        def fragment_finished(self, *args: Any) -> None:
            raise args[-1]

    session.observe(Again())
    with pytest.raises(KediExecutionError, match="division by zero") as caught:
        session.execute("= `1 / 0`")
    assert caught.value.causes == ()


# ── programs ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compile_program("= a"), r"not str: write `compile_program\(parse_program\(…\)\)`"),
        (lambda: parse_program(b"= a"), "the text of a program, not bytes"),
        (lambda: parse_program("= a", 5), "`source_path` is text or a path of text, not int"),
        (lambda: parse_program("= a", source_name=5), "`source_name` is text"),
        (lambda: compile_program(parse_program("= a"), arguments=5), "`arguments` is a mapping"),
        (lambda: compile_program(parse_program("= a"), arguments={1: 2}), "keys of `arguments`"),
        (
            lambda: compile_program(parse_program("= a"), runtime_globals=[1]),
            "`runtime_globals` is a mapping",
        ),
        (lambda: compile_program(parse_program("= a"), args_name=1), "`args_name` is text"),
    ],
)
def test_programs_name_what_they_take(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()


def test_a_runtime_is_not_closed_while_it_runs() -> None:
    inside, goes_on = threading.Event(), threading.Event()

    def wait() -> str:
        inside.set()
        assert goes_on.wait(20)
        return "ended"

    runtime = compile_program(parse_program("= `wait()`"), runtime_globals={"wait": wait})
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(runtime.run_main()))
    thread.start()
    assert inside.wait(20)
    with pytest.raises(SessionStateError, match="is running"):
        runtime.close()
    with pytest.raises(SessionStateError, match="already running"):
        runtime.run_main()
    goes_on.set()
    thread.join(20)
    assert results == ["ended"]
    assert runtime.run_main() == "ended"
    runtime.close()
    runtime.close()
    with pytest.raises(SessionStateError, match="closed"):
        runtime.run_main()


# ── sessions ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda s: s.check(5), TypeError, "a fragment is text, not int"),
        (lambda s: s.complete(5), TypeError, "what is completed is text, not int"),
        (lambda s: s.complete("= <", "a"), TypeError, "cursor is an offset into the text, not str"),
        (lambda s: s.execute("= a", source_name=5), TypeError, "not int"),
        (lambda s: s.execute("= a", source_name=b"a"), TypeError, "not bytes"),
        (lambda s: s.execute("= a", source_name="a" * 5_000), ValueError, "5,000 characters"),
        (lambda s: kedi.interactive(cwd="/nonexistent"), ValueError, "`cwd` is not a directory"),
        (lambda s: kedi.interactive(cwd="/nonexistent"), NotADirectoryError, "is not a directory"),
    ],
)
def test_sessions_name_what_they_take(
    session: InteractiveSession, call: Callable[[Any], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        call(session)
    assert session.fragments == ()
    assert session.execute("= ok", source_name="a/" * 1_000) == "ok"


# ── places in expressions ─────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("expression", "place", "line"),
    [
        ("`1/0`", (1, 2, 1, 5), "`1/0`"),
        ("  `1/0`", (1, 4, 1, 7), "  `1/0`"),
        ("\n\n `1/0` ", (3, 3, 3, 6), " `1/0` "),
        ("= `1/0`", (1, 4, 1, 7), "= `1/0`"),
        ("<`1/0`>", (1, 3, 1, 6), "<`1/0`>"),
    ],
)
def test_failures_stand_where_the_expression_has_them(
    session: InteractiveSession, expression: str, place: tuple[int, ...], line: str
) -> None:
    with pytest.raises(KediExecutionError) as caught:
        session.evaluate(expression)
    frame = caught.value.frames[-1]
    assert (tuple(frame.span)[1:], frame.source_line) == (place, line)


@pytest.mark.parametrize(
    ("expression", "place", "line"),
    [
        ("<1>", (1, 2, 1, 3), "<1>"),
        (" <1>", (1, 3, 1, 4), " <1>"),
        ("\r\n<1>", (2, 2, 2, 3), "<1>"),
        ("=<1>", (1, 3, 1, 4), "=<1>"),
    ],
)
def test_syntax_errors_stand_where_the_expression_has_them(
    session: InteractiveSession, expression: str, place: tuple[int, ...], line: str
) -> None:
    with pytest.raises(KediParseError) as caught:
        session.evaluate(expression)
    error = caught.value
    found = error.diagnostics[0]
    assert (tuple(found.span)[1:], found.source_line) == (place, line)
    assert (error.lineno, error.offset, error.text) == (*place[:2], line)


def test_other_sources_keep_their_places(session: InteractiveSession) -> None:
    session.execute("@fails() -> str:\n  = `1 / 0`")
    with pytest.raises(KediExecutionError) as caught:
        session.evaluate("<fails()>")
    inner = caught.value.frames[-1]
    assert (inner.span.source_name, inner.span.line) == ("<interactive:1>", 2)
    assert inner.source_line == "  = `1 / 0`"


def test_what_hosts_need_stands_at_the_top() -> None:
    import kedi.errors
    import kedi.lang

    assert kedi.compile_program is kedi.lang.compile_program
    assert kedi.parse_program is kedi.lang.parse_program
    for name, value in vars(kedi.errors).items():
        if name in kedi.__all__:
            assert getattr(kedi, name) is value
    assert issubclass(kedi.KediParseError, kedi.KediError)
