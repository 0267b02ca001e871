"""Sessions over a model that answers by a rule, the same for every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kedi
from kedi.agents.adapters.scripted import ScriptedAdapter


def answer(prompt: str, schema: dict[str, Any]) -> Any:
    """Fields that follow from the prompt alone, so that the order of calls does not matter."""
    if "FAIL" in prompt:
        raise ValueError(f"refused: {prompt}")
    if not schema:
        return f"<{prompt}>"
    return {name: field(prompt, name, kind) for name, kind in schema.items()}


def field(prompt: str, name: str, kind: Any) -> Any:
    size = len(prompt) + len(name)
    if kind is int:
        return size
    if kind is bool:
        return size % 2 == 0
    if kind is str:
        return f"{name}{size}"
    return [f"{name}{size}", prompt[:5]]


def session(model: Callable[..., Any] | None = None, **config: Any) -> kedi.InteractiveSession:
    """A session with a scripted model. An ``engine`` decides over ``parallel`` here."""
    config.setdefault("adapter", ScriptedAdapter(model or answer))
    if config.get("engine") == "sequential":
        config.pop("max_workers", None)
    if "engine" in config:
        config.pop("parallel", None)
    return kedi.interactive(**config)


def parallel(model: Callable[..., Any] | None = None, **config: Any) -> kedi.InteractiveSession:
    """A session whose model calls run side by side."""
    return session(model, parallel=True, **config)
