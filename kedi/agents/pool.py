"""The adapters of one session. Imports little: most programs never call a model."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from kedi.agents.config import AgentConfig


class AdapterPool:
    """Adapters chosen by configuration, made once, closed together.

    The environment, ``.env`` of ``directory`` included, is read when the pool
    is made. Thread-safe. Instances that a user passed are used, never closed.
    """

    def __init__(self, directory: Path | str | None = None) -> None:
        if os.path.lexists(os.path.join(directory or ".", ".env")):  # noqa: PTH118 - pathlib is slow
            import warnings

            from kedi.agents.dotenv import load_env

            for problem in load_env(directory):
                warnings.warn(problem, RuntimeWarning, stacklevel=3)
        self._environ = dict(os.environ)
        self._lock = threading.Lock()
        self._made: list[tuple[str, Mapping[str, Any], Any]] = []
        self._closed = False

    def get(self, config: AgentConfig) -> tuple[Any, str | None]:
        """``(adapter, model)`` for a call.

        Raises :class:`~kedi.agents.errors.NoModelSelected` when nothing chooses
        a model and :class:`~kedi.agents.errors.ConfigurationError` for a choice
        that cannot be, or after :meth:`close`.
        """
        from kedi.agents.errors import ConfigurationError
        from kedi.agents.registry import create
        from kedi.agents.select import Environment, select

        choice = select(config, Environment.capture(self._environ))
        if choice.entry is None:
            return choice.instance, choice.model
        with self._lock:
            if self._closed:
                raise ConfigurationError("the session's adapters are closed")
            for name, keywords, adapter in self._made:
                if name == choice.entry.name and _same(keywords, choice.keywords):
                    return adapter, choice.model
            adapter = create(choice.entry, choice.keywords)
            self._made.append((choice.entry.name, dict(choice.keywords), adapter))
            return adapter, choice.model

    def close(self) -> None:
        """Close every adapter made here. Idempotent; the first error is raised after all closed."""
        with self._lock:
            self._closed = True
            made, self._made = self._made, []
        first: Exception | None = None
        for _, _, adapter in made:
            closer = getattr(adapter, "close", None)
            if callable(closer):
                try:
                    closer()
                except Exception as problem:
                    first = first or problem
        if first is not None:
            raise first


def _same(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    # By identity: comparing a user's objects could run their code.
    return left.keys() == right.keys() and all(
        left[name] is right[name] or (isinstance(left[name], str) and left[name] == right[name])
        for name in left
    )


__all__ = ["AdapterPool"]
