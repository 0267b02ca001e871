"""Configurations, directives, profiles and tools: data comes back, the host supplies the rest."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi.agents.errors import ConfigurationError
from kedi.errors import KediModelError, SessionLoadError
from kedi.runtime.engine import ParallelEngine, SequentialEngine
from tests.snapshot.support import content_of
from tests.snapshot.test_refusals import Handlers, Script, handler
from tests.snapshot.test_sessions import reload, run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work.kedi-state"


def active(session: kedi.InteractiveSession) -> Any:
    """The configuration that the next fragment would call a model with."""
    return session._interpreter.agent_state(session._scope)  # pyright: ignore[reportPrivateUsage]


def captured(session: kedi.InteractiveSession, name: str) -> Any:
    return session.evaluate(f"`{name}`").__kedi_procedure__.agent


def test_every_plain_input(path: Path) -> None:
    config: dict[str, Any] = {
        "model": "m",
        "adapter": "pydantic",
        "system": "be brief \ud800",
        "effort": "high",
        "settings": {"temperature": 0.5, "stop": ("a", b"b"), "metadata": {"x": [1]}},
        "env": {"limit": 5},
        "mcp_servers": [{"command": "server", "args": ["x"]}],
        "approval": "deny",
        "skills": {"roots": ["skills"]},
        "artifacts": {"enabled": False, "path": "x"},
        "parallel": True,
        "max_workers": 3,
        "loop_iteration_limit": 50,
        "subagent_max_depth": 2,
        "subagent_max_concurrency": 3,
        "subagent_timeout_seconds": None,
        "subagent_usage_limits": {"requests": 5},
        "subagent_state_path": "state.json",
    }
    with run("[a] = 1", **config) as session, reload(session, path) as restored:
        assert restored.config.agents == session.config.agents
        assert restored.config.subagents == session.config.subagents
        assert restored.config.cwd == session.config.cwd
        assert isinstance(restored.config.engine, ParallelEngine)
        assert restored.config.engine.max_workers == 3


def test_a_plain_session(path: Path) -> None:
    with run("[a] = 1") as session, reload(session, path) as restored:
        assert restored.config.agents == session.config.agents
        assert isinstance(restored.config.engine, SequentialEngine)


def test_later_defaults_do_not_reach_a_restored_session(path: Path) -> None:
    with run("[a] = 1", model="saved") as session:
        session.dump(path)
    with (
        kedi.context(model="other", system="other", env={"b": 1}),
        kedi.load_session(path) as restored,
    ):
        assert restored.config.agents.model == "saved"
        assert restored.config.agents.system is None
        assert "b" not in restored.config.agents.env


def test_the_engine_can_be_chosen_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with run("[a] = 1", engine="parallel", max_workers=2) as session:
        session.dump(path)
    monkeypatch.setenv("KEDI_PARALLEL", "off")
    with kedi.load_session(path) as restored:
        assert isinstance(restored.config.engine, ParallelEngine)
    with kedi.load_session(path, engine="sequential") as restored:
        assert isinstance(restored.config.engine, SequentialEngine)
    engine = ParallelEngine(1)
    with kedi.load_session(path, engine=engine) as restored:
        assert restored.config.engine is engine
    with pytest.raises((TypeError, ValueError, SessionLoadError)):
        kedi.load_session(path, engine="fast")


# ── directives ────────────────────────────────────────────────────────────────


def test_directives_and_what_procedures_captured(path: Path) -> None:
    with (
        run(
            "@plain() -> str:\n  = x",
            "> model: one\n> settings:\n  temperature: 0.5\n@first() -> str:\n  = x",
            "> effort: low\n> requires: structured_output\n@second() -> str:\n  = x",
            "> codemode: enabled\n[a] = 1",
            model="base",
        ) as session,
        reload(session, path) as restored,
    ):
        assert active(restored) == active(session)
        for name in ("plain", "first", "second"):
            assert captured(restored, name) == captured(session, name)
        assert captured(restored, "plain") is restored.config.agents
        assert active(restored).requires == ("structured_output",)
        assert active(restored).features == {"codemode": True}
        restored.execute("> model: two")
        assert active(restored).model == "two"
        assert active(restored).settings == {"temperature": 0.5}
        assert captured(restored, "first").model == "one"


def test_profiles_in_use_and_to_be_used(path: Path) -> None:
    with (
        run(
            "> profile: quick:\n  ###\n  Fast answers.\n  ###\n  > effort: low\n  > model: small",
            "> profile: slow:\n  > effort: max",
            "> use: quick",
        ) as session,
        reload(session, path) as restored,
    ):
        assert active(restored).effort == "low"
        restored.execute("> use: slow")
        assert (active(restored).effort, active(restored).model) == ("max", "small")
        assert restored.evaluate("`quick`").docstring == session.evaluate("`quick`").docstring


def test_procedures_as_tools(path: Path) -> None:
    with (
        run(
            "@look(where: str) -> str:\n  = <where>",
            "> use: look",
            "@ask() -> str:\n  = x",
            "@look(where: str) -> str:\n  = new <where>",
        ) as session,
        reload(session, path) as restored,
    ):
        (tool,) = active(restored).tools
        assert tool("here") == "here"  # the one that was registered, not the later one
        assert restored.execute("= <look(here)>") == "new here"
        assert captured(restored, "ask").tools == (tool,)


# ── adapters ──────────────────────────────────────────────────────────────────


def test_an_adapter_by_name(path: Path) -> None:
    with run("[a] = 1", adapter="local") as session, reload(session, path) as restored:
        assert restored.config.agents.adapter == "local"


def test_an_adapter_object_has_to_be_given_again(path: Path) -> None:
    with run("@ask() -> str:\n  >> say [word]\n  = <word>", adapter=Script("mine")) as session:
        assert session.execute("= <ask()>") == "answer"
        with reload(session, path) as restored:
            for fragment in (">> say [b]", "[b] << say", "= <ask()>"):
                with pytest.raises(KediModelError) as caught:
                    restored.execute(fragment)
                assert "`mine`" in caught.value.message
                assert "adapter=" in (caught.value.hint or "")
    with kedi.load_session(path, adapter=Script("other")) as restored:
        assert restored.execute("= <ask()>") == "answer"
        restored.execute(">> say [b]")
        assert restored.calls[-1].record.adapter == "other"


def test_an_adapter_made_with_keywords_has_to_be_given_again(path: Path) -> None:
    with run("[a] = 1", adapter="pydantic", api_key="secret-key", model="m") as session:
        session.dump(path)
    assert b"secret-key" not in path.read_bytes()
    with kedi.load_session(path) as restored, pytest.raises(KediModelError, match="pydantic"):
        restored.execute(">> say [b]")


def test_another_adapter_replaces_the_session_s_own_only(path: Path) -> None:
    with run(
        "@mine() -> str:\n  = x", "> adapter: local\n@chosen() -> str:\n  = x", adapter="pydantic"
    ) as session:
        session.dump(path)
    other = Script()
    with kedi.load_session(path, adapter=other) as restored:
        assert restored.config.agents.adapter is other
        assert captured(restored, "mine").adapter is other
        assert captured(restored, "chosen").adapter == "local"


def test_an_agent_in_place_of_an_adapter(path: Path) -> None:
    with run("[a] = 1", adapter="local") as session:
        session.dump(path)
    harness = Script("harness")
    harness.kind = "agent-harness"
    with kedi.load_session(path, agent=harness) as restored:
        assert restored.config.agents.agent is harness
        assert restored.config.agents.adapter is None


def test_wrong_adapters_are_the_caller_s_mistake(path: Path) -> None:
    with run("[a] = 1") as session:
        session.dump(path)
    with pytest.raises(ConfigurationError, match="no adapter"):
        kedi.load_session(path, adapter="nope")
    harness = Script("harness")
    harness.kind = "agent-harness"
    with pytest.raises(ConfigurationError, match="exclude"):
        kedi.load_session(path, adapter="local", agent=harness)
    with pytest.raises(TypeError):
        kedi.load_session(path, executor=5)
    with pytest.raises(TypeError):
        kedi.load_session(path, unknown=1)  # type: ignore[call-arg]


def test_a_conversation_can_be_gone_on_with(path: Path) -> None:
    with run("[a] = 1\n> model: m\n@f() -> str:\n  = x") as session:
        session.dump(path)
    state = object()
    with kedi.load_session(path, conversation_state=state) as restored:
        assert restored.config.agents.conversation is state
        assert active(restored).conversation is state
        assert captured(restored, "f").conversation is state


def test_an_executor_is_given_again(path: Path) -> None:
    class Counting(kedi.DefaultExecutor):
        count = 0

        def evaluate_inline(self, *args: Any, **kwargs: Any) -> Any:
            type(self).count += 1
            return super().evaluate_inline(*args, **kwargs)

    with run("[a: int] = `1`", "@f(x: int = `2`) -> int:\n  = `x + a`") as session:
        session.dump(path)
    executor = Counting()
    with kedi.load_session(path, executor=executor) as restored:
        assert Counting.count == 0
        assert restored.config.executor is executor
        assert restored.execute("= `f()`") == 3
        assert Counting.count == 2


# ── hooks ─────────────────────────────────────────────────────────────────────


def test_importable_handlers(path: Path) -> None:
    hooks = {"pre_tool_use": handler, "post_tool_use": [handler, Handlers.of_class, len]}
    with run("[a] = 1", hooks=hooks) as session, reload(session, path) as restored:
        assert restored.config.agents.hooks == hooks
    assert content_of(path)["configs"][0]["hooks"]["pre_tool_use"] == {
        "module": handler.__module__,
        "name": "handler",
    }


def test_loading_imports_the_module_of_a_handler_and_runs_no_handler(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "handlers_of_a_test.py").write_text(
        "calls = []\n\ndef check(event):\n    calls.append(event)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import handlers_of_a_test  # pyright: ignore[reportMissingImports]

    with run("[a] = 1", hooks={"pre_tool_use": handlers_of_a_test.check}) as session:
        session.dump(path)
    monkeypatch.delitem(sys.modules, "handlers_of_a_test")
    with kedi.load_session(path) as restored:
        again = sys.modules["handlers_of_a_test"]
        assert restored.config.agents.hooks["pre_tool_use"] is again.check
        assert again.calls == []
    monkeypatch.delitem(sys.modules, "handlers_of_a_test")
    (tmp_path / "handlers_of_a_test.py").write_text("raise ZeroDivisionError('no')\n")
    with pytest.raises(SessionLoadError, match="ZeroDivisionError: no") as caught:
        kedi.load_session(path)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    (tmp_path / "handlers_of_a_test.py").write_text("check = print\n")
    with pytest.raises(SessionLoadError, match="not a function that can be"):
        kedi.load_session(path)


def test_a_wrapped_function_is_not_the_function_its_name_finds(path: Path) -> None:
    @functools.wraps(handler)
    def wrapper(event: Any) -> Any:
        return event

    with (
        run("[a] = 1", hooks={"pre_tool_use": wrapper}) as session,
        pytest.raises(kedi.SessionDumpError, match="is not this handler"),
    ):
        session.dump(path)
