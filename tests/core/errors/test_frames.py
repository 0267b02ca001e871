"""Frames of every chain: kind, label, fragment, line and columns of each."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import (
    KediError,
    KediExecutionError,
    KediKeyExecutionError,
    KediNameError,
    KediTypeExecutionError,
    KediValueExecutionError,
    LoopIterationLimitError,
    SessionStateError,
)
from tests.core.errors.support import fails, short, trace

DIV = "@div(v: int) -> float:\n  = `100 / v`"


def _chains() -> dict[str, tuple[list[str], list[str]]]:
    """Fragments of which the last one fails, and the frames of its error."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    text = (Path(__file__).parent / "chains.txt").read_text("utf-8")
    for case in text.split("=== ")[1:]:
        name, *parts = case.split("\n--- ")
        *fragments, frames = (part.partition("\n")[2].rstrip("\n") for part in parts)
        found[name] = (fragments, frames.split("\n"))
    return found


CHAINS = {
    **_chains(),
    "crlf and tabs": (
        ["@f():\r\n\t[x] = é\t`1 / 0`\r\n\t= a\r\n[r] = <f()>"],
        [
            "program @1:4:1-12",
            "procedure f @1:2:2-17",
            "inline python @1:2:11-16 in f",
        ],
    ),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_chains(chain: str) -> None:
    fragments, frames = CHAINS[chain]
    error = fails(*fragments)
    assert trace(error) == frames
    for frame in error.frames:
        assert frame.source_line == fragment_line(fragments, frame.span)


def fragment_line(fragments: list[str], span: Any) -> str:
    number = int(span.source_name.removeprefix("<interactive:").removesuffix(">"))
    return fragments[number - 1].replace("\r\n", "\n").split("\n")[span.line - 1]


def places(error: KediExecutionError) -> list[tuple[str, str, int]]:
    return [
        (frame.kind, Path(frame.span.source_name).name, frame.span.line) for frame in error.frames
    ]


def test_template_frames() -> None:
    adapter = ScriptedAdapter([{"n": "many"}])
    error = fails(
        "@ask(x) -> int:\n  >> Count <x>: [n: int]\n  = `n`", "= <ask(a)>", adapter=adapter
    )
    assert trace(error) == [
        "program @2:1:1-11",
        "procedure ask @1:2:3-25",
        "template >> @1:2:3-25 in ask",
    ]


def test_frames_of_modules() -> None:
    Path("m.kedi").write_text("@f(x: int) -> int:\n  = `1 // x`\n> export:\n  f\n")
    Path("broken.kedi").write_text("[v: int] = `1 // 0`\n> export:\n  v\n")
    error = fails("> import: m\n= `f(0)`")
    assert [
        (frame.kind, Path(frame.span.source_name).name, frame.span.line) for frame in error.frames
    ] == [
        ("program", "<interactive:1>", 2),
        ("inline python", "<interactive:1>", 2),
        ("procedure", "m.kedi", 2),
        ("inline python", "m.kedi", 2),
    ]
    error = fails("[x] = 1\n> import: broken")
    assert [
        (frame.kind, Path(frame.span.source_name).name, frame.span.line) for frame in error.frames
    ] == [
        ("program", "<interactive:1>", 2),
        ("program", "broken.kedi", 1),
        ("inline python", "broken.kedi", 1),
    ]


def test_library_lines_follow_the_innermost_frame() -> None:
    error = fails("```\nimport json\n```\n[x] = 1\n= `json.loads('{')`")
    assert trace(error) == ["program @1:5:1-20", "inline python @1:5:4-19"]
    assert [item.embedded for item in error.python_traces] == [True, False, False, False]
    assert error.python_traces[0].column == 4
    assert error.python_traces[-1].source_name.endswith("decoder.py")
    assert error.python_traces[-1].function == "raw_decode"
    assert "scan_once" in error.python_traces[-1].source_line
    assert "json/decoder.py" in error.render().replace("\\", "/")


# ── what was caught between ───────────────────────────────────────────────────


def test_a_bare_raise_keeps_the_frames() -> None:
    again = "```\ntry:\n    div(0)\nexcept ZeroDivisionError:\n    raise\n```"
    assert trace(fails(DIV, again)) == [
        "program @2:1:1-…",
        "prelude @2:3:5-11",
        "procedure div @1:2:3-14",
        "inline python @1:2:6-13 in div",
    ]


def test_an_exception_that_is_kept_and_raised_again() -> None:
    error = fails(
        DIV,
        "```\nkept = []\ntry:\n    div(0)\nexcept ZeroDivisionError as problem:\n"
        "    kept.append(problem)\n```",
        "= `len(kept)`",
        "```\nraise kept[0]\n```",
    )
    assert trace(error) == [
        "program @4:1:1-…",
        "prelude @4:2:1-14",
        "prelude @2:4:5-11",
        "procedure div @1:2:3-14",
        "inline python @1:2:6-13 in div",
    ]


def test_one_exception_object_raised_by_two_fragments() -> None:
    with kedi.interactive() as session:
        session.execute("```\nERROR = ValueError('shared')\n@property\ndef unused(self): ...\n```")
        session.execute("@f():\n  `(_ for _ in ()).throw(ERROR)`\n  = x")
        for number in (3, 4):
            with pytest.raises(KediValueExecutionError) as caught:
                session.execute("[r] = <f()>")
            assert short(caught.value.frames[0]) == f"program @{number}:1:1-12"
            assert caught.value.original is session.evaluate("`ERROR`")
            assert "__kedi" not in str(vars(caught.value.original))


def test_an_error_that_another_one_replaces() -> None:
    source = (
        "```\ntry:\n    div(0)\nexcept ZeroDivisionError as problem:\n"
        "    raise KeyError('k') from problem\n```"
    )
    error = fails(DIV, source)
    assert isinstance(error, KediKeyExecutionError)
    assert trace(error) == ["program @2:1:1-…", "prelude @2:5:5-37"]
    (cause,) = error.causes
    assert (cause.relation, cause.type_name, cause.message) == (
        "cause",
        "ZeroDivisionError",
        "division by zero",
    )
    assert cause.span is not None
    assert (cause.span.source_name, cause.span.line) == ("<interactive:1>", 2)


def test_a_caught_exception_can_be_pickled_and_copied_by_the_program() -> None:
    source = (
        "```\nimport copy, pickle\ntry:\n    div(0)\nexcept ZeroDivisionError as problem:\n"
        "    other = pickle.loads(pickle.dumps(problem))\n"
        "    third = copy.copy(problem)\n```\n= `(str(other), str(third))`"
    )
    with kedi.interactive() as session:
        session.execute(DIV)
        assert session.execute(source) == ("division by zero",) * 2


# ── boundaries ────────────────────────────────────────────────────────────────


def test_a_procedure_called_by_the_host() -> None:
    with kedi.interactive() as session:
        session.execute(DIV)
        div = session.evaluate("`div`")
        with pytest.raises(KediExecutionError) as caught:
            div(0)
        assert trace(caught.value) == ["procedure div @1:2:3-14", "inline python @1:2:6-13 in div"]
        with pytest.raises(KediTypeExecutionError) as wrong:
            div("0")
        assert trace(wrong.value) == ["procedure div @1:1:2-5", "definition @div @1:1:2-5 in div"]
        with pytest.raises(TypeError, match="missing"):
            div()


def test_a_procedure_called_on_a_thread_of_the_program() -> None:
    error = fails(
        DIV,
        "```\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as pool:\n"
        "    pool.submit(div, 0).result()\n```",
    )
    assert trace(error) == [
        "program @2:1:1-…",
        "prelude @2:4:5-33",
        "procedure div @1:2:3-14",
        "inline python @1:2:6-13 in div",
    ]


def test_a_thread_that_outlives_its_fragment() -> None:
    uncaught: list[threading.ExceptHookArgs] = []
    hook, threading.excepthook = threading.excepthook, uncaught.append
    try:
        with kedi.interactive() as session:
            session.execute(DIV)
            thread = session.execute(
                "```\nimport threading\ngate = threading.Event()\ndef later():\n"
                "    gate.wait(30)\n    div(0)\n"
                "thread = threading.Thread(target=later)\nthread.start()\n```\n= `thread`"
            )
            assert session.execute("`gate.set()`\n= fine") == "fine"
            thread.join()
            assert session.execute("= still") == "still"
    finally:
        threading.excepthook = hook
    (args,) = uncaught
    assert isinstance(args.exc_value, KediExecutionError)
    assert trace(args.exc_value) == ["procedure div @1:2:3-14", "inline python @1:2:6-13 in div"]


def test_a_session_inside_a_session() -> None:
    error = fails(
        "```\nimport kedi\nwith kedi.interactive() as inner:\n"
        "    inner.execute('[a] = 1\\n= `1 / 0`')\n```"
    )
    assert trace(error) == [
        "program @1:1:1-…",
        "prelude @1:4:5-40",
        "program @1:2:1-10",
        "inline python @1:2:4-9",
    ]


def test_an_inner_session_raises_kedi_errors_to_the_program() -> None:
    source = (
        "```\nimport kedi\nwith kedi.interactive() as inner:\n    try:\n"
        "        inner.execute('= `1 / 0`')\n"
        "    except kedi.errors.KediExecutionError as error:\n"
        "        seen = type(error.original).__name__\n```\n= `seen`"
    )
    with kedi.interactive() as session:
        assert session.execute(source) == "ZeroDivisionError"


def test_reentrance_is_an_error_of_the_inner_call_only() -> None:
    with kedi.interactive(env={"again": lambda: session.execute("= inner")}) as session:
        with pytest.raises(KediExecutionError) as caught:
            session.execute("[x] = kept\n`again()`")
        assert isinstance(caught.value.original, SessionStateError)
        assert session.execute("= <x>") == "kept"


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "SystemExit", "GeneratorExit", "Own"])
@pytest.mark.parametrize("engine", ["sequential", "parallel"])
def test_exits_pass_unchanged(name: str, engine: str) -> None:
    class Own(BaseException):
        pass

    import builtins

    kind: type[BaseException] = getattr(builtins, name, Own)
    raised = kind("bye")

    def leave() -> None:
        raise raised

    with kedi.interactive(env={"leave": leave}, engine=engine) as session:
        with pytest.raises(kind) as caught:
            session.execute("[x] = 1\n@f():\n  > if: `True`:\n    `leave()`\n  = a\n[r] = <f()>")
        assert caught.value is raised
        assert vars(raised) == {}
        assert session.execute("= <x>") == "1"
        assert session.fragments[0].state == "failed"


# ── classes ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "kind", "also"),
    [
        ("`int('x')`", KediValueExecutionError, ValueError),
        ("`b'\\xff'.decode()`", KediValueExecutionError, ValueError),
        ("`{}[1]`", KediKeyExecutionError, KeyError),
        ("`'a' + 1`", KediTypeExecutionError, TypeError),
        ("= `nope_`", KediNameError, NameError),
        ("```\nprint(late)\nlate = 1\n```", KediNameError, NameError),
        ("[n: int] = x", KediTypeExecutionError, TypeError),
        ("`1 / 0`", KediExecutionError, Exception),
        ("`[][1]`", KediExecutionError, Exception),
        ("> loop: `True`:\n  `1`", LoopIterationLimitError, Exception),
    ],
)
def test_classes(source: str, kind: type[KediExecutionError], also: type[Exception]) -> None:
    error = fails(source, loop_iteration_limit=3)
    assert type(error) is kind
    assert isinstance(error, also)
    assert isinstance(error, KediError)
    if error.original is not None:
        assert error.__cause__ is error.original
        assert isinstance(error.original, also)


def test_a_name_error_names_the_name_and_a_near_one() -> None:
    error = fails("[alpha] = 1", "= `alhpa`")
    assert isinstance(error, KediNameError)
    assert error.name == "alhpa"
    assert error.hint == "did you mean `alpha`?"


def test_recursion_without_an_end() -> None:
    error = fails("@f(n: int) -> int:\n  = `f(n + 1)`", "= `f(0)`")
    assert "recursion" in error.message
    assert error.hint
    assert len(error.render().splitlines()) < 20
    error = fails("```\ndef g(n):\n    return g(n + 1)\n```\n= `g(0)`")
    assert "recursion" in error.message
    assert len(error.render().splitlines()) < 20
    error = fails("@a(n: int) -> int:\n  = `b(n)`\n@b(n: int) -> int:\n  = `a(n)`", "= `a(0)`")
    assert len(error.render().splitlines()) < 60


def test_syntax_errors_at_run_time_are_errors_of_the_program() -> None:
    error = fails("`compile('a b', 'some.py', 'exec')`")
    assert isinstance(error.original, SyntaxError)
    assert "some.py" in error.message
    assert trace(error)[-1] == "python statement @1:1:2-35"


def test_a_fence_that_begins_with_a_blank_line_keeps_its_lines() -> None:
    with kedi.interactive() as session, pytest.raises(KediExecutionError) as caught:
        session.execute("@f():\n  ```\n\n  x = 1 / 0\n  ```\n  = x\n= <f()>")
    assert caught.value.frames[-1].span[1:] == (4, 7, 4, 12)
    assert caught.value.frames[-1].source_line == "  x = 1 / 0"
