"""Configuration: checks, merging, contexts, and what this version cannot do yet."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kedi.agent_adapter import AdapterCapabilities, ToolSpec
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.agents.calls import ModelRequest
from kedi.agents.config import (
    PARAMETERS,
    AgentConfig,
    configure,
    context,
    current_config,
    ensure_supported,
    make_config,
    parallel,
    parse_parallel,
    reset_config,
    unsupported_inputs,
)
from kedi.agents.errors import ConfigurationError
from kedi.errors import KediError, KediModelError


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    reset_config()
    yield
    reset_config()


def tool_a() -> None: ...


def tool_b() -> None: ...


class Harness:
    kind = "agent-harness"
    shortname = "mine"
    capabilities = AdapterCapabilities()

    def produce_sync(self, **_: Any) -> dict[str, Any]:
        return {}


# ── values ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("model", "", "model"),
        ("model", 3, "not int"),
        ("system", 3, "text"),
        ("effort", "hihg", "`high`"),
        ("effort", ["high"], "minimal"),
        ("settings", [1], "mapping"),
        ("settings", {1: 2}, "keys"),
        ("tools", tool_a, "list"),
        ("tools", ["x"], "not a function"),
        ("tools", [lambda: 1], "lambda"),
        ("tools", [tool_a, tool_a], "two tools"),
        ("env", {"a b": 1}, "not a Kedi name"),
        ("env", {"args": 1}, "program arguments"),
        ("mcp_servers", {"command": "x"}, "list"),
        ("mcp_servers", [{}], "command"),
        ("approval", "ask", "allow"),
        ("hooks", {"pre_tool": tool_a}, "pre_tool_use"),
        ("hooks", {"pre_tool_use": [3]}, "not a function"),
        ("skills", 3, "mapping"),
        ("artifacts", {"treshold": 1}, "threshold"),
        ("conversation", "x", "conversation"),
        ("parallel", 1, "True or False"),
        ("max_workers", 0, "from 1"),
        ("max_workers", True, "from 1"),
        ("max_workers", 10**9, "at most"),
        ("loop_iteration_limit", -1, "from 1"),
        ("adapter", "pydntic", "`pydantic`"),
        ("adapter", "nothing-like-it", "available: local"),
        ("adapter", "claude", "`agent`"),
        ("agent", "pydantic", "`adapter`"),
        ("agent", "codex", "not available in this version"),
        ("adapter", "cassette", "not available in this version"),
        ("adapter", "langchain", "not available in this version"),
        ("adapter", ScriptedAdapter, "class ScriptedAdapter"),
        ("adapter", Harness(), "`agent=`"),
        ("agent", ScriptedAdapter([]), "`adapter=`"),
        ("adapter", object(), "`kind`"),
    ],
)
def test_bad_values_are_refused_with_advice(name: str, value: Any, part: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_config(**{name: value})
    assert part in caught.value.message
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, KediError)


def test_instances_need_a_shortname_and_methods() -> None:
    class NoName:
        kind = "agent-framework"

    class NoMethods:
        kind = "agent-framework"
        shortname = "empty"

    with pytest.raises(ConfigurationError, match="shortname"):
        make_config(adapter=NoName())
    with pytest.raises(ConfigurationError, match="produce_sync"):
        make_config(adapter=NoMethods())


def test_adapter_and_agent_exclude_each_other() -> None:
    with pytest.raises(ConfigurationError, match="exclude each other"):
        make_config(adapter="local", agent=Harness())


@pytest.mark.parametrize(
    ("name", "near"),
    [("modle", "model"), ("adapterr", "adapter"), ("max_worker", "max_workers")],
)
def test_unknown_keyword_names_the_nearest(name: str, near: str) -> None:
    with pytest.raises(TypeError, match=f"did you mean `{near}`"):
        make_config(**{name: "x"})
    with pytest.raises(TypeError, match=f"did you mean `{near}`"):
        make_config(adapter="local", **{name: "x"})


def test_keywords_go_to_a_named_adapter() -> None:
    config = make_config(adapter="pydantic", base_url="http://x")
    assert config.adapter_kwargs == {"base_url": "http://x"}
    with pytest.raises(TypeError, match="did you mean `base_url`"):
        make_config(adapter="pydantic", base_ur="x")
    with pytest.raises(TypeError, match="zzz"):
        make_config(adapter=ScriptedAdapter([]), zzz=1)
    with pytest.raises(TypeError, match="need `adapter=`"):
        make_config(zzz=1)


def test_every_parameter_of_the_specification_exists() -> None:
    wanted = (
        "model adapter agent system effort settings tools env mcp_servers approval hooks skills "
        "artifacts conversation parallel max_workers loop_iteration_limit"
    )
    assert set(wanted.split()) == set(PARAMETERS)


# ── merging ──────────────────────────────────────────────────────────────────


def test_scalars_replace_and_mappings_merge() -> None:
    base = make_config(
        model="a", system="s", settings={"t": 0, "k": 1}, env={"x": 1}, tools=[tool_a]
    )
    config = make_config(
        base, model="b", settings={"t": 1}, env={"y": 2}, tools=[tool_b], mcp_servers=[{"url": "u"}]
    )
    assert (config.model, config.system) == ("b", "s")
    assert config.settings == {"t": 1, "k": 1}
    assert config.env == {"x": 1, "y": 2}
    assert config.tools == (tool_a, tool_b)
    again = make_config(config, mcp_servers=[{"url": "u"}])
    assert len(again.mcp_servers) == 2
    assert base.settings == {"t": 0, "k": 1}


def test_tools_replace_by_name() -> None:
    spec = ToolSpec("tool_a", print)
    config = make_config(make_config(tools=[tool_a, tool_b]), tools=[spec])
    assert config.tools == (spec, tool_b)


def test_none_clears_a_scalar_but_not_a_mode() -> None:
    base = make_config(model="a", parallel=True)
    config = make_config(base, model=None, parallel=None)
    assert config.model is None
    assert config.parallel is True


def test_choosing_an_adapter_drops_the_other_choice_and_its_keywords() -> None:
    base = make_config(adapter="pydantic", base_url="http://x")
    config = make_config(base, agent=Harness())
    assert config.adapter is None
    assert config.adapter_kwargs == {}
    assert make_config(config, adapter="local").agent is None


def test_callers_cannot_change_a_configuration_afterwards() -> None:
    settings = {"t": 0}
    config = make_config(settings=settings)
    settings["t"] = 1
    assert config.settings == {"t": 0}


# ── contexts ─────────────────────────────────────────────────────────────────


def test_configure_replaces_and_does_not_merge() -> None:
    configure(model="a", system="s")
    configure(model="b")
    assert (current_config().model, current_config().system) == ("b", None)
    reset_config()
    assert current_config() == AgentConfig()


def test_context_overlays_and_restores_also_after_errors() -> None:
    configure(model="a", settings={"t": 0})

    def inside() -> None:
        with context(model="b", settings={"k": 1}):
            assert current_config().model == "b"
            assert current_config().settings == {"t": 0, "k": 1}
            with context(effort="low"):
                assert (current_config().model, current_config().effort) == ("b", "low")
            raise LookupError

    with pytest.raises(LookupError):
        inside()
    assert (current_config().model, current_config().settings) == ("a", {"t": 0})


def test_context_can_be_entered_again_and_nested_in_itself() -> None:
    overlay = context(model="b")
    with overlay, overlay:
        assert current_config().model == "b"
    with overlay:
        assert current_config().model == "b"
    assert current_config().model is None


def test_context_works_asynchronously_and_per_task() -> None:
    async def task(name: str) -> str | None:
        async with context(model=name):
            await asyncio.sleep(0)
            return current_config().model

    async def main() -> list[str | None]:
        return list(await asyncio.gather(task("a"), task("b")))

    assert asyncio.run(main()) == ["a", "b"]
    assert current_config().model is None


def test_bad_context_is_refused_when_it_is_made() -> None:
    with pytest.raises(ConfigurationError):
        context(effort="huge")


def test_other_threads_start_with_the_defaults() -> None:
    configure(model="a")
    seen: list[str | None] = []
    thread = threading.Thread(target=lambda: seen.append(current_config().model))
    thread.start()
    thread.join()
    assert seen == [None]


def test_parallel_context() -> None:
    with parallel(max_workers=3):
        assert (current_config().parallel, current_config().max_workers) == (True, 3)
    with pytest.raises(ConfigurationError):
        parallel(max_workers=0)


def test_configure_reads_dotenv_and_warns(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDI_ADAPTER", "local")
    with open(".env", "w", encoding="utf-8") as file:  # noqa: PTH123 - the working directory
        file.write("KEDI_ADAPTER=scripted\nNEW_NAME=1\nnonsense\n")
    monkeypatch.delenv("NEW_NAME", raising=False)
    import os

    with pytest.warns(RuntimeWarning, match="line 3"):
        configure()
    assert os.environ["KEDI_ADAPTER"] == "local"
    assert os.environ.pop("NEW_NAME") == "1"


def test_configure_refuses_contradicting_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDI_ADAPTER", "local")
    monkeypatch.setenv("KEDI_AGENT", "claude")
    with pytest.raises(ConfigurationError, match="both set"):
        configure(model="a")


# ── what comes later ─────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tools", [tool_a]),
        ("mcp_servers", [{"command": "x"}]),
        ("approval", lambda request: None),
        ("hooks", {"pre_tool_use": tool_a}),
        ("skills", True),
        ("artifacts", {"enabled": True}),
        ("conversation", object()),
    ],
)
def test_inputs_of_later_versions_are_stored_and_refused_when_used(name: str, value: Any) -> None:
    config = make_config(**{name: value})
    assert getattr(config, name)
    with pytest.raises(KediModelError, match=f"`{name}`") as caught:
        ensure_supported(config)
    assert caught.value.hint
    assert name in unsupported_inputs()


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"tools": []},
        {"skills": False},
        {"artifacts": False},
        {"approval": "deny"},
        {"hooks": {}},
    ],
)
def test_inputs_that_ask_for_nothing_are_fine(keywords: dict[str, Any]) -> None:
    ensure_supported(make_config(**keywords))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", (True, None)),
        ("YES", (True, None)),
        (" on ", (True, None)),
        ("0", (False, None)),
        ("off", (False, None)),
        ("4", (True, 4)),
    ],
)
def test_kedi_parallel(text: str, value: tuple[bool, int | None]) -> None:
    assert parse_parallel(text) == value


@pytest.mark.parametrize("text", ["", "maybe", "-1", "1.5", "٤", "9" * 50])
def test_kedi_parallel_refuses(text: str) -> None:
    with pytest.raises(ConfigurationError, match="KEDI_PARALLEL"):
        parse_parallel(text)


def test_secrets_do_not_show_in_a_repr() -> None:
    config = make_config(
        adapter="pydantic",
        api_key="sk-1",
        env={"key": "sk-2"},
        settings={"extra_headers": {"x": "sk-3"}},
        mcp_servers=[{"url": "u", "headers": {"x": "sk-4"}}],
    )
    assert "sk-" not in repr(config)
    assert "sk-" not in repr(ModelRequest("raw", "x", settings=config.settings))
