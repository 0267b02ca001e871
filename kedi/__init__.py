"""Kedi: a small language for prompt programs.

Names are loaded when they are first used, so that ``import kedi`` stays light.
"""

from __future__ import annotations

from kedi._version import __version__

# ``typing`` and ``importlib`` would cost a third of the start of ``kedi --version``.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedi.agents.config import configure, context, parallel, reset_config
    from kedi.errors import (
        KediCompileError,
        KediError,
        KediExecutionError,
        KediKeyExecutionError,
        KediModelError,
        KediNameError,
        KediParseError,
        KediPromiseLeak,
        KediTypeExecutionError,
        KediValueExecutionError,
        LoopIterationLimitError,
        SessionDumpError,
        SessionLoadError,
        SessionPersistenceError,
        SessionStateError,
    )
    from kedi.executors import (
        DefaultExecutor,
        Executor,
        ExecutorDebugEvent,
        ExecutorDebugExporter,
        MarkdownDebugExporter,
        default_debug_export_path,
    )
    from kedi.lang import compile_program, parse_program
    from kedi.runtime.program import KediRuntime
    from kedi.runtime.promises import KediPromise, force
    from kedi.session.session import InteractiveSession
    from kedi.session.snapshots.api import dump_session, load_session

_HOMES = {
    "configure": "kedi.agents.config",
    "context": "kedi.agents.config",
    "parallel": "kedi.agents.config",
    "reset_config": "kedi.agents.config",
    "KediPromiseLeak": "kedi.errors",
    "KediCompileError": "kedi.errors",
    "KediError": "kedi.errors",
    "KediExecutionError": "kedi.errors",
    "KediKeyExecutionError": "kedi.errors",
    "KediModelError": "kedi.errors",
    "KediNameError": "kedi.errors",
    "KediParseError": "kedi.errors",
    "KediTypeExecutionError": "kedi.errors",
    "KediValueExecutionError": "kedi.errors",
    "SessionStateError": "kedi.errors",
    "compile_program": "kedi.lang",
    "parse_program": "kedi.lang",
    "LoopIterationLimitError": "kedi.errors",
    "SessionDumpError": "kedi.errors",
    "SessionLoadError": "kedi.errors",
    "SessionPersistenceError": "kedi.errors",
    "DefaultExecutor": "kedi.executors",
    "Executor": "kedi.executors",
    "ExecutorDebugEvent": "kedi.executors",
    "ExecutorDebugExporter": "kedi.executors",
    "MarkdownDebugExporter": "kedi.executors",
    "default_debug_export_path": "kedi.executors",
    "KediRuntime": "kedi.runtime.program",
    "KediPromise": "kedi.runtime.promises",
    "force": "kedi.runtime.promises",
    "InteractiveSession": "kedi.session.session",
    "dump_session": "kedi.session.snapshots.api",
    "load_session": "kedi.session.snapshots.api",
}


def interactive(**config: Any) -> InteractiveSession:
    """Create a session that executes fragments one by one.

    All keywords are optional: ``model``, ``adapter`` or ``agent``, ``system``,
    ``effort``, ``settings``, ``tools``, ``env`` (host values the fragments can
    read), ``mcp_servers``, ``approval``, ``hooks``, ``skills``, ``artifacts``,
    ``conversation``, ``parallel``, ``max_workers``, ``loop_iteration_limit``,
    ``executor``, ``engine``, ``cwd``, ``subagent_max_depth`` (5),
    ``subagent_max_concurrency`` (4), ``subagent_timeout_seconds`` (120.0, ``None``
    is no limit), ``subagent_usage_limits``, ``subagent_state_path``, and keywords
    of the chosen adapter. They are resolved now; later calls of
    :func:`configure` do not change the session.

    Raises ``TypeError`` for an unknown keyword, naming the nearest, and
    ``ConfigurationError`` (a ``ValueError``) for a value that cannot be used.
    """
    from kedi.session.session import InteractiveSession

    return InteractiveSession(**config)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kedi' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "DefaultExecutor",
    "Executor",
    "ExecutorDebugEvent",
    "ExecutorDebugExporter",
    "InteractiveSession",
    "KediCompileError",
    "KediError",
    "KediExecutionError",
    "KediKeyExecutionError",
    "KediModelError",
    "KediNameError",
    "KediParseError",
    "KediPromise",
    "KediPromiseLeak",
    "KediRuntime",
    "KediTypeExecutionError",
    "KediValueExecutionError",
    "LoopIterationLimitError",
    "MarkdownDebugExporter",
    "SessionDumpError",
    "SessionLoadError",
    "SessionPersistenceError",
    "SessionStateError",
    "__version__",
    "compile_program",
    "configure",
    "context",
    "default_debug_export_path",
    "dump_session",
    "force",
    "interactive",
    "load_session",
    "parallel",
    "parse_program",
    "reset_config",
]
