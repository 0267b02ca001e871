"""What a session is created with, validated once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedi.agents.config import PARAMETERS, AgentConfig
from kedi.agents.errors import ConfigurationError, DirectoryError
from kedi.agents.reprs import short_repr
from kedi.runtime.directory import absolute, working_directory
from kedi.runtime.engine import ExecutionEngine
from kedi.runtime.program import engine_for, resolve_agents
from kedi.runtime.text import nearest

if TYPE_CHECKING:
    from kedi.executors import Executor


@dataclass(frozen=True, slots=True)
class SubagentLimits:
    """Bounds of delegation: depth, runs at a time, seconds per run (``None`` is no limit).

    ``usage`` are ceilings of requests and tokens, ``state_path`` a file for the state
    of running children.
    """

    max_depth: int = 5
    max_concurrency: int = 4
    timeout_seconds: float | None = 120.0
    usage: Any = None
    state_path: Path | None = None


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """A session's resolved inputs. ``cwd`` is absolute."""

    agents: AgentConfig
    engine: ExecutionEngine
    executor: Executor | None
    cwd: Path
    subagents: SubagentLimits


_OWN = (
    "executor",
    "engine",
    "cwd",
    "subagent_max_depth",
    "subagent_max_concurrency",
    "subagent_timeout_seconds",
    "subagent_usage_limits",
    "subagent_state_path",
)
_EXECUTOR_METHODS = (
    "set_debug_exporter",
    "evaluate_inline",
    "execute_block",
    "execute_side_effects",
    "execute_prelude",
    "create_dynamic_function",
    "evaluate_type_expression",
)


def resolve_config(
    *,
    executor: Any = None,
    engine: Any = None,
    cwd: str | os.PathLike[str] | None = None,
    subagent_max_depth: int = 5,
    subagent_max_concurrency: int = 4,
    subagent_timeout_seconds: float | None = 120.0,
    subagent_usage_limits: Any = None,
    subagent_state_path: str | os.PathLike[str] | None = None,
    **agents: Any,
) -> SessionConfig:
    """Validate and resolve everything; raises ``TypeError`` and ``ConfigurationError``."""
    for name in agents:
        if name not in PARAMETERS:
            guess = nearest(name, _OWN)
            if guess is not None and nearest(name, PARAMETERS) is None:
                raise TypeError(f"there is no parameter `{name}`: did you mean `{guess}`?")
    config = resolve_agents(engine, **agents)
    return SessionConfig(
        config,
        engine_for(config, engine),
        _executor(executor),
        _directory(cwd),
        SubagentLimits(
            _count("subagent_max_depth", subagent_max_depth),
            _count("subagent_max_concurrency", subagent_max_concurrency),
            _seconds(subagent_timeout_seconds),
            _usage(subagent_usage_limits),
            _path("subagent_state_path", subagent_state_path)
            if subagent_state_path is not None
            else None,
        ),
    )


def _executor(executor: Any) -> Executor | None:
    if executor is None:
        return None
    if isinstance(executor, type):
        raise TypeError(
            f"executor is the class {executor.__name__}: write `{executor.__name__}(…)`"
        )
    missing = [name for name in _EXECUTOR_METHODS if not callable(getattr(executor, name, None))]
    if missing:
        raise TypeError(
            f"{type(executor).__name__} is not an executor: it lacks {', '.join(missing)}"
        )
    return executor


def _directory(cwd: str | os.PathLike[str] | None) -> Path:
    if cwd is None:
        return working_directory()
    path = absolute(_path("cwd", cwd))
    if not path.is_dir():
        raise DirectoryError(f"`cwd` is not a directory: {path}")
    return path


def _path(name: str, value: str | os.PathLike[str]) -> Path:
    try:
        text: Any = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise ConfigurationError(f"`{name}` must be a path, not {type(value).__name__}")
    if not text or "\0" in text:
        raise ConfigurationError(f"`{name}` is no path: {text!r}")
    return Path(text)


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError(
            f"`{name}` must be a whole number from 1 up, not {short_repr(value)}"
        )
    return value


def _seconds(value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
        raise ConfigurationError(
            f"`subagent_timeout_seconds` must be a positive number or None, not {short_repr(value)}"
        )
    return float(value)


def _usage(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, (str, bytes, int, float)):
        raise ConfigurationError(
            "`subagent_usage_limits` must be a mapping or a limits object, "
            f"not {type(value).__name__}"
        )
    return value
