"""Failures: nothing for what does not compile, what was committed for what fails while running."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from kedi import InteractiveSession, LoopIterationLimitError
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import (
    KediCompileError,
    KediExecutionError,
    KediKeyExecutionError,
    KediNameError,
    KediParseError,
    KediTypeExecutionError,
    KediValueExecutionError,
)

Make = Callable[..., InteractiveSession]


def state(session: InteractiveSession) -> list[tuple[str, str]]:
    return [(view.name, view.preview) for view in session.bindings()]


@pytest.mark.parametrize(
    "source",
    [
        "[b] = 1\n[c = 2",
        "[a] := `2`\n= <unclosed",
        "`a += 1`\n= `1 +`",
        "[b] = 1\n```\nx = (\n```",
        "[a] := `2`\nplain prose",
        "~T(x: int)\n[q: Nope] = `1`",
        "@f():\n  = `1`\n@g() -> Missing:\n  = `1`",
        "[b] = 1\n> import: nowhere",
        "[b] = 1\n= `b`\n[c] = 2",
        "@f():\n  = `1`\n  [dead] = 1",
        "[b] = 1\n> nonsense: x",
        "[b] = 1\n[args] = 2",
        "[b] = 1\n> package: demo:\n  source: src",
        "[b] = 1\n> export:\n  b",
        "[b] = 1\n> export: *",
        "[b] = 1\n@test: f:\n  > case: one:\n    `assert True`",
        "[b] = 1\n@eval: f:\n  > metric: m(rows):\n    = `1.0`",
        "[b] = 1\n```\nreturn\nyield 1\n```",
        "```\nimport os\n```\n[b: Nope] = 1",
    ],
)
def test_what_does_not_compile_changes_nothing(session: InteractiveSession, source: str) -> None:
    session.execute("[a: int] = `1`")
    before = state(session)
    with pytest.raises((KediParseError, KediCompileError)) as caught:
        session.execute(source)
    assert caught.value.diagnostics
    for item in caught.value.diagnostics:
        assert item.span.source_name == "<interactive:2>"
        assert item.message
    assert state(session) == before
    assert len(session.fragments) == 1
    session.execute("= `a`")
    assert session.fragments[1].name == "<interactive:2>"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("> package: demo:\n  source: src", "package.kedi"),
        ("> export:\n  x", "module"),
        ("> export: *", "module"),
        ("@test: f:\n  > case: one:\n    `assert True`", "file"),
        ("@eval: f:\n  > metric: m(rows):\n    = `1.0`", "file"),
    ],
)
def test_file_constructs_say_where_they_belong(
    session: InteractiveSession, source: str, words: str
) -> None:
    with pytest.raises(KediParseError) as caught:
        session.execute(source)
    assert words in str(caught.value)


def test_committed_state_stays_and_nothing_is_retried(
    session: InteractiveSession, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    session.execute(f"```\nfrom pathlib import Path\nLOG = Path({str(log)!r})\n```")
    with pytest.raises(KediExecutionError):
        session.execute(
            "[a: int] = `1`\n`LOG.write_text(LOG.read_text() + 'x' if LOG.exists() else 'x')`\n"
            "[b: int] = `a / 0`\n[c: int] = `3`"
        )
    assert session.execute("= `a`") == 1
    assert log.read_text() == "x"
    for name in ("b", "c"):
        with pytest.raises(KediNameError):
            session.execute(f"= `{name}`")
    assert [one.state for one in session.fragments] == [
        "done",
        "failed",
        "done",
        "failed",
        "failed",
    ]


def test_a_prelude_that_fails_keeps_what_it_bound(session: InteractiveSession) -> None:
    with pytest.raises(KediExecutionError):
        session.execute("```\nFIRST = 1\nraise ValueError('stop')\nSECOND = 2\n```")
    assert session.execute("= `FIRST`") == 1
    with pytest.raises(KediNameError):
        session.execute("= `SECOND`")


def test_write_back_before_the_failure_stays(session: InteractiveSession) -> None:
    session.execute("[n: int] = `0`")
    with pytest.raises(KediExecutionError):
        session.execute("[m] = 1\n```\nn = 5\nraise KeyError('x')\n```")
    assert session.execute("= `n`") == 5


def test_definitions_before_the_failure_stay(session: InteractiveSession) -> None:
    with pytest.raises(KediExecutionError):
        session.execute("@f() -> int:\n  = `1`\n~T(x: int)\n`f() / 0`\n@g() -> int:\n  = `2`")
    assert session.execute("= `(f(), T(3).x)`") == (1, 3)
    with pytest.raises(KediNameError):
        session.execute("= `g()`")


def test_frames_name_every_fragment(session: InteractiveSession) -> None:
    session.execute("[x: int] = `0`")
    session.execute("@div(v: int) -> float:\n  = `100 / v`")
    session.execute("@outer() -> float:\n  [w: int] = `x`\n  = `div(w)`", source_name="outer.kedi")
    with pytest.raises(KediExecutionError) as caught:
        session.execute("[y] = fine\n= `outer()`")
    error = caught.value
    assert isinstance(error.original, ZeroDivisionError)
    places = [(frame.span.source_name, frame.span.line) for frame in error.frames]
    assert places[0] == ("<interactive:4>", 2)
    assert ("outer.kedi", 3) in places
    assert places[-1] == ("<interactive:2>", 2)
    assert error.__cause__ is error.original
    text = error.render()
    assert "= `100 / v`" in text
    assert "site-packages" not in text
    assert "kedi/runtime" not in text
    assert "\x1b[" not in text
    assert "\x1b[" in error.render(use_color=True)


def test_python_lines_of_a_fence_are_mapped(session: InteractiveSession) -> None:
    with pytest.raises(KediExecutionError) as caught:
        session.execute("[x] = é\n= ```\ndef inner(v):\n    return v / 0\nreturn inner(1)\n```")
    error = caught.value
    assert error.span is not None
    assert (error.span.line, error.span.column) == (4, 12)
    assert [trace.line for trace in error.python_traces if trace.embedded] == [5, 4]


@pytest.mark.parametrize(
    ("source", "category", "python"),
    [
        ("`int([])`", KediTypeExecutionError, TypeError),
        ("`int('x')`", KediValueExecutionError, ValueError),
        ("`{}['x']`", KediKeyExecutionError, KeyError),
        ("`unknown_name`", KediNameError, NameError),
        ("[n: int] = five", KediTypeExecutionError, TypeError),
        ("`open('/does/not/exist')`", KediExecutionError, Exception),
        ("> loop: `True`:\n  `1`", LoopIterationLimitError, Exception),
        ("```\nclass Odd(Exception):\n    def __str__(self): raise SystemExit\nraise Odd\n```",
         KediExecutionError, Exception),
    ],
)  # fmt: skip
def test_categories(
    session: InteractiveSession, source: str, category: type[Exception], python: type[Exception]
) -> None:
    with pytest.raises(category) as caught:
        session.execute(source)
    assert isinstance(caught.value, python)
    assert isinstance(caught.value, KediExecutionError)
    assert caught.value.frames
    copied = pickle.loads(pickle.dumps(caught.value))
    assert type(copied) is type(caught.value)
    assert copied.frames == caught.value.frames
    assert session.execute("= `1`") == 1


def test_recursion_without_an_end(session: InteractiveSession) -> None:
    session.execute("@down(n: int) -> int:\n  = `down(n + 1)`")
    session.execute("```\ndef python(n):\n    return python(n + 1)\n```")
    session.execute("@ping() -> int:\n  = `pong()`\n@pong() -> int:\n  = `ping()`")
    for call in ("down(0)", "python(0)", "ping()"):
        with pytest.raises(KediExecutionError, match="recursion without an end") as caught:
            session.execute(f"= `{call}`")
        assert caught.value.hint
        assert len(str(caught.value)) < 20_000
    assert session.execute("= `1`") == 1


def test_deep_recursion_that_ends(session: InteractiveSession) -> None:
    session.execute("@down(n: int) -> int:\n  > if: `n == 0`:\n    = `0`\n  = `1 + down(n - 1)`")
    assert session.execute("= `down(400)`") == 400


@pytest.mark.parametrize("leave", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_exits_pass_through(session: InteractiveSession, leave: type[BaseException]) -> None:
    with pytest.raises(leave) as caught:
        session.execute(f"[a] = 1\n```\nraise {leave.__name__}(3)\n```")
    assert caught.value.args == (3,)
    assert session.execute("= <a>") == "1"
    assert session.fragments[0].state == "failed"


def test_an_exit_inside_a_procedure(session: InteractiveSession) -> None:
    session.execute("@leave():\n  `exit_now()`\n", source_name="leave")
    session.execute("```\nimport sys\ndef exit_now(): sys.exit(4)\n```")
    with pytest.raises(SystemExit) as caught:
        session.execute("= <leave()>")
    assert caught.value.code == 4
    assert session.execute("= `1`") == 1


def test_python_may_catch_what_kedi_raises(session: InteractiveSession) -> None:
    session.execute("@div(v: int) -> float:\n  = `1 / v`")
    fence = "try:\n    return div(0)\nexcept ZeroDivisionError as error:\n    return str(error)"
    assert session.execute(f"= ```\n{fence}\n```") == "division by zero"


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("no line"), {"a": "not an int"}, {}, {"b": 1}, None, 5, "text"],
)
def test_a_model_that_fails(make: Make, answer: object) -> None:
    session = make(adapter=ScriptedAdapter([answer, {"a": 3}]))
    with pytest.raises(KediExecutionError) as caught:
        session.execute("[before] = kept\n>> give [a: int]")
    assert caught.value.span is not None
    assert caught.value.span.line == 2
    assert session.execute("= <before>") == "kept"
    session.execute(">> give [a: int]")
    assert session.execute("= `a`") == 3


def test_without_a_model(session: InteractiveSession) -> None:
    with pytest.raises(KediExecutionError) as caught:
        session.execute("[before] = kept\n>> give [a: int]")
    assert "kedi model install" in str(caught.value)
    assert session.execute("= <before>") == "kept"
