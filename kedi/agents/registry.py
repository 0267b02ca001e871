"""The adapters that can be chosen by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from kedi.agents.contract import AgentAdapterKind
from kedi.agents.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class AdapterEntry:
    """One name: where its adapter is made and which keywords that takes.

    ``module`` holds ``create(**keywords)``; ``None`` means that the name is
    reserved for an adapter which this version does not have. ``takes_model``
    says whether a model is chosen with it, so that an ambient default applies.
    """

    name: str
    kind: AgentAdapterKind
    module: str | None = None
    keywords: frozenset[str] = frozenset()
    takes_model: bool = False


_HERE = "kedi.agents.adapters"

ADAPTERS: Mapping[str, AdapterEntry] = {
    entry.name: entry
    for entry in (
        AdapterEntry(
            "local", "agent-framework", f"{_HERE}.local", frozenset({"path", "max_tokens"})
        ),
        AdapterEntry(
            "pydantic",
            "agent-framework",
            f"{_HERE}.pydantic_ai",
            frozenset({"base_url", "api_key", "retries", "output_mode"}),
            takes_model=True,
        ),
        AdapterEntry(
            "scripted", "agent-framework", f"{_HERE}.scripted", frozenset({"answers", "repeat"})
        ),
        AdapterEntry("cassette", "agent-framework"),
        AdapterEntry("langchain", "agent-framework", takes_model=True),
        AdapterEntry("dspy", "agent-framework", takes_model=True),
        AdapterEntry("claude", "agent-harness", takes_model=True),
        AdapterEntry("codex", "agent-harness", takes_model=True),
        AdapterEntry("acp", "agent-harness", takes_model=True),
    )
}


def available(kind: AgentAdapterKind | None = None) -> tuple[str, ...]:
    """Names of the adapters of this version, of one kind or of both."""
    return tuple(
        entry.name
        for entry in ADAPTERS.values()
        if entry.module is not None and kind in (None, entry.kind)
    )


def lookup(name: str, kind: AgentAdapterKind) -> AdapterEntry:
    """The entry of a name chosen by ``adapter`` (frameworks) or ``agent`` (harnesses).

    Raises :class:`ConfigurationError` for an unknown name, with the nearest
    known one, for a name of the other kind, saying how to choose it, and for
    an adapter that this version does not have.
    """
    word = "adapter" if kind == "agent-framework" else "agent"
    entry = ADAPTERS.get(name)
    if entry is None:
        near = get_close_matches(name.lower(), ADAPTERS, 1)
        names = ", ".join(available(kind)) or "none in this version"
        advice = f"did you mean `{near[0]}`?" if near else f"available: {names}"
        raise ConfigurationError(f"there is no {word} `{name[:80]}`: {advice}")
    if entry.kind != kind:
        other = "agent" if word == "adapter" else "adapter"
        what = "an agent harness" if word == "adapter" else "a framework adapter"
        raise ConfigurationError(f"`{name}` is {what}: choose it with `{other}`, not with `{word}`")
    if entry.module is None:
        raise ConfigurationError(
            f"the {word} `{name}` is not available in this version; "
            + (
                f"available: {', '.join(available(kind))}"
                if available(kind)
                else f"it has no {word}, only adapters: {', '.join(available())}"
            )
        )
    return entry


def check_keywords(entry: AdapterEntry, names: Mapping[str, Any]) -> None:
    """Raise ``TypeError`` for a keyword that the adapter's construction does not take."""
    for name in names:
        if name not in entry.keywords:
            near = get_close_matches(name, entry.keywords, 1)
            listed = ", ".join(sorted(entry.keywords))
            advice = f"did you mean `{near[0]}`?" if near else f"it takes: {listed}"
            raise TypeError(f"the adapter `{entry.name}` takes no keyword `{name}`: {advice}")


def create(entry: AdapterEntry, keywords: Mapping[str, Any]) -> Any:
    """Make the adapter of an entry. Imports its module, not yet the library behind it."""
    check_keywords(entry, keywords)
    if entry.module is None:
        lookup(entry.name, entry.kind)
        raise AssertionError(entry.name)
    return import_module(entry.module).create(**keywords)


__all__ = ["ADAPTERS", "AdapterEntry", "available", "check_keywords", "create", "lookup"]
