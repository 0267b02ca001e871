"""Which adapter and which model a call uses.

An explicit argument or directive wins, then ``KEDI_ADAPTER`` or ``KEDI_AGENT``,
then a provider key; ``KEDI_ADAPTER_MODEL`` names the model. ``.env`` of the
working directory counts as environment, without overriding it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

from kedi.agents.config import AgentConfig
from kedi.agents.contract import AgentAdapterKind
from kedi.agents.errors import ConfigurationError, NoModelSelected
from kedi.agents.pool import AdapterPool
from kedi.agents.registry import ADAPTERS, AdapterEntry, lookup

# A key that is set says: this provider may be used. Order is order of mention.
PROVIDER_KEYS: tuple[str, ...] = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "CO_API_KEY",
    "TOGETHER_API_KEY",
    "FIREWORKS_API_KEY",
    "CEREBRAS_API_KEY",
    "HF_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
)


_INSTALL_PYDANTIC = "pip install 'pydantic-ai-slim[openai]'"


@dataclass(frozen=True, slots=True)
class Environment:
    """What the environment says about models, read once."""

    adapter: str | None = None
    agent: str | None = None
    model: str | None = None
    provider_key: str | None = None

    @classmethod
    def capture(cls, environ: Mapping[str, str] | None = None) -> Environment:
        """Read the process environment, or the mapping given. Empty values count as unset."""
        source = os.environ if environ is None else environ

        def get(name: str) -> str | None:
            return (source.get(name) or "").strip() or None

        return cls(
            get("KEDI_ADAPTER"),
            get("KEDI_AGENT"),
            get("KEDI_ADAPTER_MODEL"),
            next((name for name in PROVIDER_KEYS if get(name)), None),
        )

    def check(self) -> None:
        """Raise :class:`ConfigurationError` for a selection that cannot be."""
        if self.adapter and self.agent:
            raise ConfigurationError(
                f"KEDI_ADAPTER={self.adapter} and KEDI_AGENT={self.agent} are both set: unset one"
            )
        choices: tuple[tuple[str, str | None, AgentAdapterKind], ...] = (
            ("KEDI_ADAPTER", self.adapter, "agent-framework"),
            ("KEDI_AGENT", self.agent, "agent-harness"),
        )
        for variable, name, kind in choices:
            if name:
                try:
                    lookup(name, kind)
                except ConfigurationError as problem:
                    raise ConfigurationError(f"{variable}={name[:80]}: {problem.message}") from None


@dataclass(frozen=True, slots=True)
class Selection:
    """A decision: a named adapter with its construction keywords, or an instance."""

    source: Literal["argument", "environment", "model", "provider key"]
    entry: AdapterEntry | None = None
    instance: Any = None
    keywords: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model: str | None = None


def select(config: AgentConfig, environment: Environment | None = None) -> Selection:
    """Decide for a configuration (arguments and directives merged).

    Raises :class:`NoModelSelected` when nothing chooses a model and
    :class:`ConfigurationError` for a choice that cannot be.
    """
    environment = environment or Environment.capture()
    kind: AgentAdapterKind = "agent-harness" if config.agent is not None else "agent-framework"
    chosen = config.adapter if config.agent is None else config.agent
    if chosen is not None and not isinstance(chosen, str):
        return Selection("argument", instance=chosen, model=config.model)
    if chosen is not None:
        return _named("argument", lookup(chosen, kind), config, environment)
    environment.check()
    if environment.adapter:
        entry = lookup(environment.adapter, "agent-framework")
        return _named("environment", entry, config, environment)
    if environment.agent:
        entry = lookup(environment.agent, "agent-harness")
        return _named("environment", entry, config, environment)
    model = config.model or environment.model
    if model or environment.provider_key:
        return _by_model(model, environment)
    raise NoModelSelected(_nothing_selected())


def _named(
    source: Literal["argument", "environment"],
    entry: AdapterEntry,
    config: AgentConfig,
    environment: Environment,
) -> Selection:
    # The ambient default means a provider's model; adapters without a choice of
    # model are not asked for one.
    ambient = environment.model if entry.takes_model else None
    return Selection(source, entry, keywords=config.adapter_kwargs, model=config.model or ambient)


def _by_model(model: str | None, environment: Environment) -> Selection:
    key = environment.provider_key
    why = f"the model `{model}` is chosen" if model else f"{key} is set"
    if find_spec("pydantic_ai") is None:
        raise NoModelSelected(
            f"No adapter can be used: {why}, but Pydantic AI, which talks to providers, is not "
            f"installed. Install it with `{_INSTALL_PYDANTIC}`, or use the model on this "
            f"machine: {_local_advice()}."
        )
    if model is None:
        raise NoModelSelected(
            f"No model is selected: {key} is set, so the `pydantic` adapter can be used, but not "
            "which model. Set KEDI_ADAPTER_MODEL to `provider:model`, or write `> model:` in the "
            f"program. Or use the model on this machine: {_local_advice()}."
        )
    source: Literal["model", "provider key"] = "model" if key is None else "provider key"
    return Selection(source, ADAPTERS["pydantic"], model=model)


def _local_advice() -> str:
    from kedi.agents.install import find_local_model

    steps: list[str] = []
    if find_spec("xllamacpp") is None:
        steps.append("`pip install xllamacpp`")
    if find_local_model() is None:
        steps.append("`kedi model install`")
    steps.append("KEDI_ADAPTER=local (or `> adapter: local`)")
    return ", then ".join(steps)


def _nothing_selected() -> str:
    provider = ["set its key (such as OPENAI_API_KEY) and KEDI_ADAPTER_MODEL=provider:model"]
    if find_spec("pydantic_ai") is None:
        provider.insert(0, f"`{_INSTALL_PYDANTIC}`")
    return (
        "No model is selected, and this statement needs one. To use the small model that runs on "
        f"this machine without a key: {_local_advice()}. To use a provider: "
        f"{', then '.join(provider)}. To answer yourself, in tests: pass `adapter=` an adapter, "
        "such as kedi.agents.adapters.scripted.ScriptedAdapter([...])."
    )


__all__ = ["PROVIDER_KEYS", "AdapterPool", "Environment", "Selection", "select"]
