"""Every parameter of ``kedi.interactive``: what it takes, what it refuses, what it does."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi import DefaultExecutor, InteractiveSession
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.agents.errors import ConfigurationError
from kedi.errors import KediError, KediExecutionError, LoopIterationLimitError
from kedi.lang import compile_program, parse_program

Make = Callable[..., InteractiveSession]


def tool(x: int) -> int:
    """Double a number."""
    return 2 * x


class Harness(ScriptedAdapter):
    kind = "agent-harness"
    shortname = "harness"


GOOD: dict[str, list[Any]] = {
    "model": ["some-model", None],
    "adapter": ["local", ScriptedAdapter([]), None],
    "agent": [Harness([]), None],
    "system": ["be brief", "", None],
    "effort": ["minimal", "low", "medium", "high", "xhigh", "max", None],
    "settings": [{}, {"temperature": 0.5}, OrderedDict(seed=1), None],
    "tools": [[], [tool], (tool,), None],
    "env": [{}, {"x": 1, "_y": object()}, None],
    "mcp_servers": [[], [{"name": "s", "command": "x"}], [{"url": "http://localhost/sse"}], None],
    "approval": ["allow", "deny", lambda request: None, None],
    "hooks": [{}, {"pre_tool_use": tool}, {"post_tool_use": [tool, tool]}, None],
    "skills": [True, False, {"path": "skills"}, None],
    "artifacts": [True, False, {"threshold": "4kb"}, None],
    "conversation": [object(), None],
    "parallel": [True, False, None],
    "max_workers": [1, 8, None],
    "loop_iteration_limit": [1, 10**9, None],
    "executor": [DefaultExecutor(), None],
    "engine": ["sequential", "parallel", None],
    "cwd": [".", Path(), None],
    "subagent_max_depth": [1, 5],
    "subagent_max_concurrency": [1, 4],
    "subagent_timeout_seconds": [1, 0.5, None],
    "subagent_usage_limits": [{}, {"requests": 3}, None],
    "subagent_state_path": ["state.json", Path("state.json"), None],
}  # fmt: skip

BAD: dict[str, list[Any]] = {
    "model": ["", "  ", 5, b"m", ["m"]],
    "adapter": ["nothing-like-it", "claude", ScriptedAdapter, object(), 5, Harness([])],
    "agent": ["nothing-like-it", "local", Harness, object(), 5, ScriptedAdapter([])],
    "system": [5, ["text"], b"text"],
    "effort": ["hgih", "", 3, True, ["low"]],
    "settings": [5, "temperature", [("a", 1)], {1: 2}],
    "tools": [tool, "tool", [5], [lambda x: x], [tool, tool], {"tool": tool}],
    "env": [5, "x", [("x", 1)], {1: 2}, {"not a name": 1}, {"": 1}, {"args": 1}, {"é": 1}],
    "mcp_servers": ["server", {"command": "x"}, [5], ["server"], [{"name": "no command"}]],
    "approval": ["perhaps", "", 5, True],
    "hooks": [5, [tool], {"pre_tool_usee": tool}, {"pre_tool_use": 5}, {"pre_tool_use": [5]}],
    "skills": [5, "enabled", [1]],
    "artifacts": [5, "enabled", {"thresholdd": 1}],
    "conversation": [5, "state", True],
    "parallel": [1, "yes", 0],
    "max_workers": [0, -1, 1.5, "8", True, 10**6],
    "loop_iteration_limit": [0, -1, 1.5, "8", True],
    "executor": [5, DefaultExecutor, object()],
    "engine": ["quick", 5, object()],
    "cwd": [5, "no/such/folder", b".", "", "a\0b"],
    "subagent_max_depth": [0, -1, 1.5, "5", None, True],
    "subagent_max_concurrency": [0, -1, 1.5, "4", None, True],
    "subagent_timeout_seconds": [0, -1, "120", True, float("nan")],
    "subagent_usage_limits": [5, "many", b"x"],
    "subagent_state_path": [5, ["x"]],
}


def test_every_parameter_has_cases() -> None:
    assert GOOD.keys() == BAD.keys()


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in GOOD.items() for value in values]
)
def test_good_values(make: Make, name: str, value: Any) -> None:
    assert make(**{name: value}).execute("= `1`") == 1


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_bad_values_are_named(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError, OSError)) as caught:
        kedi.interactive(**{name: value})
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("modle", "model"),
        ("adaptr", "adapter"),
        ("settngs", "settings"),
        ("executer", "executor"),
        ("cdw", "cwd"),
        ("subagent_depth", "subagent_max_depth"),
        ("subagent_timeout", "subagent_timeout_seconds"),
        ("loop_limit", "loop_iteration_limit"),
        ("mcp_server", "mcp_servers"),
        ("enviroment", "env"),
    ],
)
def test_an_unknown_parameter_names_the_nearest(name: str, nearest: str) -> None:
    for others in ({}, {"adapter": "scripted", "answers": []}):
        with pytest.raises(TypeError, match=f"`{name}`") as caught:
            kedi.interactive(**{name: 1, **others})
        if name != "enviroment":
            assert f"`{nearest}`" in str(caught.value)


def test_adapter_keywords(make: Make) -> None:
    session = make(adapter="scripted", answers=[{"a": "1"}], repeat=True)
    session.execute(">> [a]\n>> [a]")
    with pytest.raises(TypeError, match="did you mean `answers`"):
        kedi.interactive(adapter="scripted", answer=[])
    with pytest.raises(TypeError, match="`answers`"):
        kedi.interactive(answers=[])
    with pytest.raises(TypeError, match="`answers`"):
        kedi.interactive(adapter=ScriptedAdapter([]), answers=[])


def test_adapter_and_agent_exclude_each_other() -> None:
    with pytest.raises(ConfigurationError, match="exclude each other"):
        kedi.interactive(adapter=ScriptedAdapter([]), agent=Harness([]))


def test_the_wrong_kind_is_corrected() -> None:
    with pytest.raises(ConfigurationError, match="agent="):
        kedi.interactive(adapter=Harness([]))
    with pytest.raises(ConfigurationError, match="adapter="):
        kedi.interactive(agent=ScriptedAdapter([]))


def test_configuration_is_resolved_at_creation(make: Make) -> None:
    first, second = ScriptedAdapter([{"a": "1"}] * 3), ScriptedAdapter([{"a": "2"}] * 3)
    try:
        kedi.configure(adapter=first, env={"base": 40})
        session = make()
        kedi.configure(adapter=second, env={"base": 0})
        assert session.execute("= `base + 2`") == 42
        session.execute(">> [a]")
        assert session.execute("= <a>") == "1"
        later = make(env={"more": 1})
        later.execute(">> [a]")
        assert later.execute("= `(a, base, more)`") == ("2", 0, 1)
        with kedi.context(env={"base": 7}):
            assert make().execute("= `base`") == 7
    finally:
        kedi.reset_config()
    with pytest.raises(KediError):
        make().execute("= `base`")


def test_the_environment_is_read_at_creation_or_first_use(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("2", "on", "off", "0"):
        monkeypatch.setenv("KEDI_PARALLEL", value)
        assert make().execute("= `1`") == 1
    monkeypatch.setenv("KEDI_PARALLEL", "perhaps")
    with pytest.raises(ConfigurationError, match="KEDI_PARALLEL"):
        kedi.interactive()
    # An explicit choice does not need the variable.
    assert make(parallel=False).execute("= `1`") == 1
    assert make(engine="sequential").execute("= `1`") == 1


def test_env_values_are_visible_and_shielded(make: Make) -> None:
    env = {"base": 40, "items": [1]}
    session = make(env=env)
    env["late"] = 1
    assert session.execute("= `base + 2`") == 42
    assert session.execute("= <base>") == "40"
    with pytest.raises(KediError):
        session.execute("= `late`")
    session.execute("[base: int] = `1`")
    assert session.execute("= `base`") == 1
    assert env["base"] == 40


def test_the_loop_limit(make: Make) -> None:
    session = make(loop_iteration_limit=5, env={"seen": (seen := [])})
    with pytest.raises(LoopIterationLimitError, match="5"):
        session.execute("> loop: `True`:\n  `seen.append(1)`")
    assert len(seen) == 5
    session.execute("[n: int] = `0`\n> loop: `n < 5`:\n  `n += 1`")
    assert session.execute("= `n`") == 5


def test_settings_system_and_effort_reach_the_model(make: Make) -> None:
    model = ScriptedAdapter(lambda prompt: {"a": "x"})
    session = make(
        adapter=model, system="be brief", effort="low", settings={"temperature": 0}, model="m1"
    )
    session.execute(">> [a]")
    said = repr(model.options[-1])
    for word in ("be brief", "low", "temperature", "m1"):
        assert word in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tools", [tool]),
        ("mcp_servers", [{"command": "server"}]),
        ("approval", lambda request: None),
        ("hooks", {"pre_tool_use": tool}),
        ("skills", True),
        ("artifacts", True),
        ("conversation", object()),
    ],
)
def test_nothing_is_silently_ignored(make: Make, name: str, value: Any) -> None:
    model = ScriptedAdapter(lambda prompt: {"a": "x"})
    session = make(adapter=model, **{name: value})
    assert session.execute("= `1`") == 1
    with pytest.raises(KediExecutionError) as caught:
        session.execute(">> [a]")
    assert name.split("_")[0] in str(caught.value)
    assert model.calls == []


def test_relative_cwd_is_fixed_at_creation(make: Make, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    os.chdir(tmp_path)
    session = make(cwd="a")
    os.chdir("/")
    assert session.config.cwd == tmp_path / "a"


def test_only_keywords() -> None:
    with pytest.raises(TypeError):
        kedi.interactive("model")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        InteractiveSession("model")  # type: ignore[call-arg]


# ── options that contradict each other or that nobody reads ──────────────────


class Choosy(ScriptedAdapter):
    """An adapter with a setting of its own."""

    capabilities = dataclasses.replace(
        ScriptedAdapter.capabilities, setting_names=frozenset({"mood", "temperature"})
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temprature": 0}, "unknown name `temprature`: did you mean `temperature`"),
        ({"zzz": 0}, "unknown name `zzz`: see `> settings:`"),
        ({"temperature": "hot"}, "`temperature` must be a number of at least 0, not 'hot'"),
        ({"temperature": object()}, "`temperature` must be a number of at least 0, not <object"),
        ({"temperature": float("nan")}, "not nan"),
        ({"temperature": True}, "not True"),
        ({"temperature": -1}, "not -1"),
        ({"temperature": 10**5_000}, "not <int of"),
        ({"top_p": 1.5}, "`top_p` must be a number from 0 to 1, not 1.5"),
        ({"max_tokens": 2.5}, "`max_tokens` must be a whole number of at least 1, not 2.5"),
        ({"cache": 1}, "`cache` must be True or False, not 1"),
        ({"user": 1}, "`user` must be text, not 1"),
    ],
)
def test_settings_follow_the_table_of_the_directive(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        kedi.interactive(settings=settings)
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        compile_program(parse_program("= ok"), settings=settings)
    with (
        kedi.context(settings=settings),
        pytest.raises(ConfigurationError, match=re.escape(said)),
    ):
        kedi.interactive()


def test_settings_of_the_table_and_of_the_adapter_are_taken() -> None:
    good = {"temperature": 0.2, "max_tokens": 5, "seed": None, "stop": ["."], "timeout": 1e20}
    with kedi.interactive(settings=good) as session:
        assert session.config.agents.settings == good
    own = {"mood": "fine", "temperature": "x"}
    with kedi.interactive(adapter=Choosy(["a"]), settings=own) as s:
        assert s.execute("= ok") == "ok"
    with pytest.raises(ConfigurationError, match="did you mean `mood`"):
        kedi.interactive(adapter=Choosy(["a"]), settings={"moood": "fine"})


def test_a_directive_checks_what_python_gives_it() -> None:
    with kedi.interactive(adapter=ScriptedAdapter(["a"])) as session:
        with pytest.raises(ValueError, match="`temperature` must be a number") as caught:
            session.execute("> settings:\n  temperature: `'hot'`\n>> a")
        assert isinstance(caught.value, KediError)
        session.execute("> settings:\n  temperature: `0.5`\n>> a")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_workers": 3, "parallel": False}, "`max_workers` has no meaning"),
        ({"max_workers": 3, "engine": "sequential"}, "`max_workers` has no meaning"),
        ({"engine": "parallel", "parallel": False}, "contradict each other"),
        ({"engine": "sequential", "parallel": True}, "contradict each other"),
        ({"engine": "foo"}, "`engine` must be 'sequential' or 'parallel', not 'foo'"),
        ({"adapter": "scripted", "answers": 5}, "`answers` of the adapter `scripted` must be"),
        ({"adapter": "scripted", "repeat": True}, "needs answers"),
        ({"adapter": "local", "path": "/nope"}, "`path` of the adapter `local` is no file: /nope"),
        ({"adapter": "local", "path": 5}, "`path` of the adapter `local` must be a path, not int"),
        ({"adapter": "local", "max_tokens": 0}, "`max_tokens` of the adapter `local`"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_given(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        kedi.interactive(**options)
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        compile_program(parse_program("= ok"), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "parallel", "parallel": True, "max_workers": 3},
        {"engine": "parallel", "max_workers": 3},
        {"engine": "sequential", "parallel": False, "max_workers": 1},
        {"adapter": "scripted", "answers": ["a"]},
    ],
)
def test_what_agrees_is_taken(options: dict[str, Any]) -> None:
    with kedi.interactive(**options) as session:
        assert session.execute("= ok") == "ok"


def test_contexts_may_go_back_to_one_call_at_a_time() -> None:
    with kedi.context(parallel=True, max_workers=3), kedi.context(parallel=False):
        kedi.interactive().close()
    with pytest.raises(ConfigurationError, match="no meaning"):
        kedi.context(parallel=False, max_workers=3)
    with pytest.raises(ConfigurationError, match="no meaning"):
        kedi.configure(parallel=False, max_workers=3)
