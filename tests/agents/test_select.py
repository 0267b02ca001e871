"""Which adapter and model a call uses, and what is said when there is none."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from kedi.agents import select as selection
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.agents.config import AgentConfig, make_config
from kedi.agents.errors import ConfigurationError, NoModelSelected
from kedi.agents.install import MODEL_BYTES, model_path
from kedi.agents.pool import AdapterPool
from kedi.agents.select import Environment, select


def environment(**values: str) -> Environment:
    return Environment.capture(values)


def name_of(config: AgentConfig, **values: str) -> tuple[str, str | None]:
    choice = select(config, environment(**values))
    assert choice.entry is not None
    return choice.entry.name, choice.model


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Packages that selection believes to be installed."""
    names = {"pydantic_ai", "xllamacpp"}
    monkeypatch.setattr(selection, "find_spec", lambda name: name if name in names else None)
    return names


def test_argument_wins_over_environment() -> None:
    config = make_config(adapter="local")
    assert name_of(config, KEDI_ADAPTER="pydantic", KEDI_ADAPTER_MODEL="m") == ("local", None)


def test_instance_wins_and_keeps_only_its_own_model() -> None:
    adapter = ScriptedAdapter([])
    choice = select(make_config(adapter=adapter), environment(KEDI_ADAPTER_MODEL="m"))
    assert choice.instance is adapter
    assert choice.model is None


def test_environment_chooses() -> None:
    assert name_of(AgentConfig(), KEDI_ADAPTER="local") == ("local", None)
    assert name_of(AgentConfig(), KEDI_ADAPTER="pydantic", KEDI_ADAPTER_MODEL="m") == (
        "pydantic",
        "m",
    )


def test_model_of_the_program_wins_over_the_environment() -> None:
    config = make_config(model="b")
    assert name_of(config, KEDI_ADAPTER="pydantic", KEDI_ADAPTER_MODEL="a") == ("pydantic", "b")


def test_ambient_model_is_not_forced_on_adapters_without_a_choice() -> None:
    assert name_of(AgentConfig(), KEDI_ADAPTER="local", KEDI_ADAPTER_MODEL="m") == ("local", None)


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"KEDI_ADAPTER": "local", "KEDI_AGENT": "claude"}, "both set"),
        ({"KEDI_ADAPTER": "claude"}, "KEDI_ADAPTER=claude: `claude` is an agent harness"),
        ({"KEDI_AGENT": "local"}, "KEDI_AGENT=local: `local` is a framework adapter"),
        ({"KEDI_ADAPTER": "locl"}, "did you mean `local`"),
        ({"KEDI_AGENT": "codex"}, "not available"),
    ],
)
def test_bad_environment_names_the_variable(values: dict[str, str], part: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        select(AgentConfig(), environment(**values))
    assert part in caught.value.message


def test_empty_variables_count_as_unset(installed: set[str]) -> None:
    with pytest.raises(NoModelSelected):
        select(AgentConfig(), environment(KEDI_ADAPTER=" ", KEDI_AGENT="", OPENAI_API_KEY=""))


def test_nothing_selected_says_what_to_do_local_first(installed: set[str]) -> None:
    installed.clear()
    with pytest.raises(NoModelSelected) as caught:
        select(AgentConfig(), environment())
    text = caught.value.message
    assert "\n" not in text
    order = [
        "pip install xllamacpp",
        "kedi model install",
        "KEDI_ADAPTER=local",
        "pydantic-ai-slim[openai]",
    ]
    places = [text.index(item) for item in [*order, "OPENAI_API_KEY", "KEDI_ADAPTER_MODEL"]]
    assert places == sorted(places)


def test_advice_leaves_out_what_is_done(installed: set[str]) -> None:
    path = model_path()
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(MODEL_BYTES)
    with pytest.raises(NoModelSelected) as caught:
        select(AgentConfig(), environment())
    assert "xllamacpp" not in caught.value.message
    assert "kedi model install" not in caught.value.message
    assert "KEDI_ADAPTER=local" in caught.value.message


def test_provider_key_chooses_pydantic_with_a_model(installed: set[str]) -> None:
    values = {"OPENAI_API_KEY": "sk", "KEDI_ADAPTER_MODEL": "openai:m"}
    assert name_of(AgentConfig(), **values) == ("pydantic", "openai:m")
    assert name_of(make_config(model="openai:n"), OPENAI_API_KEY="sk") == ("pydantic", "openai:n")


def test_provider_key_without_a_model_says_so(installed: set[str]) -> None:
    with pytest.raises(NoModelSelected) as caught:
        select(AgentConfig(), environment(ANTHROPIC_API_KEY="sk-secret"))
    assert "ANTHROPIC_API_KEY is set" in caught.value.message
    assert "KEDI_ADAPTER_MODEL" in caught.value.message
    assert "sk-secret" not in caught.value.message


def test_provider_key_without_the_library_says_so(installed: set[str]) -> None:
    installed.clear()
    with pytest.raises(NoModelSelected, match=r"pydantic-ai-slim\[openai\]"):
        select(AgentConfig(), environment(OPENAI_API_KEY="sk"))


def test_model_alone_chooses_pydantic(installed: set[str]) -> None:
    assert name_of(make_config(model="ollama:x")) == ("pydantic", "ollama:x")


# ── pools ────────────────────────────────────────────────────────────────────


def test_pool_makes_an_adapter_once() -> None:
    pool = AdapterPool()
    answers = ["a"]
    config = make_config(adapter="scripted", answers=answers)
    first, _ = pool.get(config)
    second, _ = pool.get(make_config(config, effort="low"))
    assert first is second
    other, _ = pool.get(make_config(adapter="scripted", answers=["a"]))
    assert other is not first


def test_pool_makes_one_adapter_for_many_threads() -> None:
    pool = AdapterPool()
    config = make_config(adapter="scripted", answers=["a"])
    seen: list[Any] = []
    threads = [threading.Thread(target=lambda: seen.append(pool.get(config)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(item) for item in seen}) == 1


def test_pool_reads_dotenv_once_without_overriding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEDI_ADAPTER_MODEL", raising=False)
    Path(".env").write_text("KEDI_ADAPTER=scripted\nKEDI_ADAPTER_MODEL='m'\n", encoding="utf-8")
    monkeypatch.setenv("KEDI_ADAPTER", "local")
    pool = AdapterPool()
    adapter, model = pool.get(AgentConfig())
    assert (adapter.shortname, model) == ("local", None)
    monkeypatch.setenv("KEDI_ADAPTER", "pydantic")
    assert pool.get(AgentConfig())[0] is adapter
    monkeypatch.delenv("KEDI_ADAPTER_MODEL", raising=False)


def test_pool_warns_about_a_broken_dotenv() -> None:
    Path(".env").write_text("this is no assignment\n", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match="line 1"):
        AdapterPool()


class Closable:
    kind = "agent-framework"
    shortname = "mine"
    closed = 0

    def produce_sync(self, **_: Any) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        self.closed += 1
        raise OSError("cannot close")


def test_pool_closes_what_it_made_and_nothing_else() -> None:
    mine = Closable()
    pool = AdapterPool()
    assert pool.get(make_config(adapter=mine))[0] is mine
    pool.get(make_config(adapter="local"))
    pool.close()
    pool.close()
    assert mine.closed == 0
    with pytest.raises(ConfigurationError, match="closed"):
        pool.get(make_config(adapter="local"))


def test_pool_raises_the_first_closing_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from kedi.agents import registry

    made: list[Closable] = []

    def create(*_: Any) -> Closable:
        made.append(Closable())
        return made[-1]

    monkeypatch.setattr(registry, "create", create)
    pool = AdapterPool()
    pool.get(make_config(adapter="local"))
    pool.get(make_config(adapter="pydantic"))
    with pytest.raises(OSError, match="cannot close"):
        pool.close()
    assert [item.closed for item in made] == [1, 1]
