"""Executors: a host's own runs whole programs; the default one reports its steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi import (
    DefaultExecutor,
    Executor,
    ExecutorDebugEvent,
    ExecutorDebugExporter,
    KediRuntime,
    MarkdownDebugExporter,
    default_debug_export_path,
)
from kedi.errors import (
    KediExecutionError,
    KediKeyExecutionError,
    KediNameError,
    KediTypeExecutionError,
)
from kedi.lang import compile_program, parse_program


class Plain:
    """A third party's executor, written to the documented protocol only."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.runtimes: set[type] = set()
        self.offsets: list[int] = []

    def _note(self, step: str, rt: Any) -> None:
        self.steps.append(step)
        self.runtimes.add(type(rt))

    def set_debug_exporter(self, exporter: ExecutorDebugExporter | None) -> None:
        pass

    def evaluate_inline(self, rt: Any, code: str, local_env: dict[str, Any]) -> Any:
        self._note("inline", rt)
        return eval(code, local_env)

    def execute_block(self, rt: Any, code: str, local_env: dict[str, Any]) -> Any:
        self._note("block", rt)
        lines = "".join(f"    {line}\n" for line in code.splitlines())
        exec(f"def block():\n{lines}", local_env)
        return local_env.pop("block")()

    def execute_side_effects(
        self, rt: Any, code: str, env_map: dict[str, Any], *, kedi_line_offset: int = 0
    ) -> None:
        self._note("effects", rt)
        self.offsets.append(kedi_line_offset)
        exec(code, env_map)

    def execute_prelude(self, rt: Any, code: str) -> dict[str, Any]:
        self._note("prelude", rt)
        names: dict[str, Any] = {}
        exec(code, names)
        return names

    def create_dynamic_function(
        self,
        name: str,
        params: list[str],
        body: Callable[..., Any],
        defaults: dict[str, Any] | None = None,
    ) -> Callable[..., Any]:
        self.steps.append(f"function {name}({', '.join(params)}) {defaults}")

        def call(*args: Any, **kwargs: Any) -> Any:
            return body(*args, **kwargs)

        return call

    def evaluate_type_expression(self, rt: Any, code: str, env: dict[str, Any]) -> Any:
        self._note("type", rt)
        return eval(code, env)


class Extending(Plain):
    """The same with the operation that incremental sessions need."""

    def execute_prelude_incremental(
        self, rt: Any, code: str, env: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        self._note("prelude+", rt)
        names = dict(env or {})
        exec(code, names)
        return names


class Subclassed(DefaultExecutor):
    """A host's variant of the default executor."""


@pytest.fixture(params=[Plain, Extending, Subclassed, DefaultExecutor])
def executor(request: pytest.FixtureRequest) -> Executor:
    return request.param()


FRAGMENTS: list[tuple[str, Any]] = [
    ("```\nK = 2\ndef helper(x):\n    return x * K\n```\n[a: int] = `helper(4)`\n= `a`", 8),
    ("`a += 1`\n= `a`", 9),
    ("[q] = q\n```\na = a * 2\nfresh = 3\n```\n= `a`", 18),
    ("= ```\nreturn a + 1\n```", 19),
    (
        (
            "~T(x: int, y: `list[int]` = `[1]`)\n[t: T] = `T(3)`\n[ts: list[T]] = `[t]`\n"
            "= `(t.x, t.y, ts[0] is t)`"
        ),
        (3, [1], True),
    ),
    (
        (
            "@f(n: int, m: int = `K`) -> int:\n  [l: int] = `n + m`\n  `l += 1`\n  > if: `l > 5`:\n"
            "    `l = 100`\n  = `l`\n= `(f(1), f(10), f(n=2, m=0))`"
        ),
        (4, 100, 3),
    ),
    ("= <f(`3`)> and <t>", "100 and x=3 y=[1]"),
    ("> loop [i]: `range(3)`:\n  `a += i`\n= `a`", 21),
    ("[fs] = `[lambda: a]`\n= `fs[0]()`", 21),
    ("@deep(n: int) -> int:\n  = `0 if n == 0 else deep(n - 1) + 1`\n= `deep(50)`", 50),
]


def test_the_protocol_can_be_checked(executor: Executor) -> None:
    assert isinstance(executor, Executor)
    assert not isinstance(object(), Executor)


def test_a_session_runs_on_any_executor(executor: Executor) -> None:
    with kedi.interactive(executor=executor) as session:
        for source, value in FRAGMENTS:
            assert session.execute(source) == value, source
        for source, error in [
            ("= `fresh`", KediNameError),
            ("`a = 'x'`", KediTypeExecutionError),
            ("[q] = q\n```\na = 1\nraise KeyError('k')\n```", KediKeyExecutionError),
            ("= `f('x')`", KediTypeExecutionError),
            ("[w: `K`] = `1`", KediTypeExecutionError),
        ]:
            with pytest.raises(error) as caught:
                session.execute(source)
            assert caught.value.frames[-1].source_line or caught.value.frames[0].source_line
        assert session.execute("= `a`") == 1


def test_a_program_runs_on_any_executor(executor: Executor) -> None:
    source = (
        "```\nK = 2\n```\n[a: int] = `K`\n```\na += 40\n```\n"
        "@f(n: int) -> int:\n  = `n`\n= `f(a)`\n"
    )
    with compile_program(parse_program(source, "<memory>"), executor=executor) as runtime:
        assert runtime.run_main() == 42
        assert runtime.run_main() == 42


def test_an_executor_does_every_step() -> None:
    executor = Plain()
    program = parse_program(
        "```\nK = 1\n```\n[a: `int`] = `K`\n`a += 1`\n"
        "@f(n: int = `K`) -> int:\n  = ```\n  return n\n  ```\n"
        "```\na = f()\n```\n= `a`\n"
    )
    assert compile_program(program, executor=executor).run_main() == 1
    assert executor.runtimes == {KediRuntime}
    assert executor.steps == [
        *("prelude", "type", "inline", "effects", "inline", "function f(n) {'n': 1}"),
        *("effects", "block", "inline"),
    ]
    assert executor.offsets == [4, 10]


def test_a_second_prelude_needs_the_incremental_operation() -> None:
    with kedi.interactive(executor=Plain()) as session:
        session.execute("```\nA = 1\n```")
        with pytest.raises(KediExecutionError, match="execute_prelude_incremental"):
            session.execute("```\nB = A + 1\n```")
        assert session.execute("= `A`") == 1


def test_preludes_extend_what_is_visible_now() -> None:
    with kedi.interactive(executor=Extending(), env={"base": 40}) as session:
        session.execute("```\nA = 1\n```")
        session.execute("[A] = text\n[n: int] = `1`")
        session.execute("```\nB = A + str(base)\nn = 2\n```")
        assert session.execute("= `(A, B, n)`") == ("text", "text40", 2)
        with pytest.raises(KediTypeExecutionError):
            session.execute("```\nn = 'x'\n```")
        with pytest.raises(KediExecutionError, match="args"):
            session.execute("```\nargs = 1\n```")


def test_write_back_is_all_or_nothing() -> None:
    with kedi.interactive(executor=Plain()) as session:
        session.execute("[a: int] = `1`\n[b: int] = `2`")
        with pytest.raises(KediTypeExecutionError):
            session.execute("[q] = q\n```\na = 10\nb = 'x'\n```")
        assert session.execute("= `(a, b)`") == (1, 2)


class Refusing(Plain):
    def evaluate_inline(self, rt: Any, code: str, local_env: dict[str, Any]) -> Any:
        raise PermissionError("not here")

    def create_dynamic_function(self, *args: Any, **kwargs: Any) -> Any:
        raise PermissionError("no functions")

    def execute_prelude(self, rt: Any, code: str) -> Any:
        return None


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("= `1`", "PermissionError: not here"),
        ("@f() -> str:\n  = a", "PermissionError: no functions"),
        ("```\nx = 1\n```", "`Refusing.execute_prelude` must give a mapping"),
    ],
)
def test_what_an_executor_raises_is_a_kedi_error(source: str, text: str) -> None:
    with kedi.interactive(executor=Refusing()) as session:
        with pytest.raises(KediExecutionError) as caught:
            session.execute(source)
        assert text in str(caught.value)
        assert caught.value.frames[-1].span.source_name == "<interactive:1>"
        assert session.execute("= still here") == "still here"


# ── debug exporters ───────────────────────────────────────────────────────────


class Collector:
    def __init__(self) -> None:
        self.events: list[ExecutorDebugEvent] = []

    def export(self, event: ExecutorDebugEvent) -> None:
        self.events.append(event)


@pytest.mark.parametrize("kind", [DefaultExecutor, Subclassed])
def test_an_exporter_gets_every_step(kind: type[DefaultExecutor]) -> None:
    collector = Collector()
    assert isinstance(collector, ExecutorDebugExporter)
    before = datetime.now(UTC)
    with kedi.interactive(executor=kind(debug_exporter=collector)) as session:
        session.execute("```\nK = 1\n```\n[a: int] = `K`\n`a += 1`\n= ```\nreturn a\n```")
        with pytest.raises(KediExecutionError):
            session.execute("= `a / 0`")
    assert [(event.step, event.event) for event in collector.events] == [
        ("execute_prelude", "completed"),
        ("evaluate_inline", "completed"),
        ("execute_side_effects", "completed"),
        ("execute_block", "completed"),
        ("evaluate_inline", "failed"),
    ]
    assert {event.executor for event in collector.events} == {kind.__name__}
    assert all(before <= event.timestamp <= datetime.now(UTC) for event in collector.events)
    effects, block, failure = collector.events[2:]
    assert effects.payload["code"] == "a += 1"
    assert effects.payload["environment"]["a"] == "1"
    assert block.payload["output"] == "2"
    assert failure.payload["error"] == "ZeroDivisionError: division by zero"


def test_an_exporter_may_come_and_go() -> None:
    executor, collector = DefaultExecutor(), Collector()
    with kedi.interactive(executor=executor) as session:
        session.execute("[a: int] = `1`\n@f() -> int:\n  = `a`")
        executor.set_debug_exporter(collector)
        assert session.execute("= `f()`") == 1
        executor.set_debug_exporter(None)
        assert session.execute("= `f()`") == 1
    assert [event.payload["code"] for event in collector.events] == ["a", "f()"]


def test_the_default_executor_keeps_true_positions() -> None:
    executor = DefaultExecutor(debug_exporter=Collector())
    with kedi.interactive(executor=executor) as session:
        with pytest.raises(KediExecutionError) as caught:
            session.execute("[q] = q\n```\nx = 1\ny = x / 0\n```")
        assert caught.value.frames[-1].span[1:3] == (4, 5)


def test_an_exporter_must_be_one() -> None:
    with pytest.raises(TypeError, match="export"):
        DefaultExecutor(debug_exporter=object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="export"):
        DefaultExecutor().set_debug_exporter("file.md")  # type: ignore[arg-type]


def test_markdown_export(tmp_path: Path) -> None:
    path = tmp_path / "steps.md"
    executor = DefaultExecutor(debug_exporter=MarkdownDebugExporter(path))
    with kedi.interactive(executor=executor) as session:
        session.execute("[a] = `chr(96) * 3 + chr(10)`")
        with pytest.raises(KediExecutionError):
            session.execute("= ```\nreturn 1 / 0  # `" + "``\n```")
    text = path.read_text(encoding="utf-8")
    assert "## evaluate_inline" in text
    assert "gave ````'```\\n'````" in text
    assert "## execute_block" in text
    assert "````python\nreturn 1 / 0  # ```\n````" in text
    assert "raised `ZeroDivisionError: division by zero`" in text


def test_default_export_path() -> None:
    path = default_debug_export_path("some dir/My Program.kedi")
    assert path.parent == Path.cwd()
    assert re.fullmatch(r"my_program_debug_export_\d{8}T\d{6}Z\.md", path.name)
    assert MarkdownDebugExporter().path.parent == Path.cwd()


class Odd:
    def __repr__(self) -> str:
        raise ValueError("no repr")


def test_values_that_cannot_be_shown_are_reported_all_the_same() -> None:
    collector = Collector()
    executor = DefaultExecutor(debug_exporter=collector)
    with kedi.interactive(
        executor=executor, env={"odd": Odd(), "big": list(range(10**5))}
    ) as session:
        assert session.execute("= `odd is not None`") is True
    environment = collector.events[0].payload["environment"]
    assert "Odd" in environment["odd"]
    assert len(environment["big"]) < 500
