"""Configuration: what a session is made from, how it merges, and the context's defaults.

Scalars replace, ``settings`` and ``env`` merge by key, ``tools`` by name, MCP
servers append. Everything is validated when it is given; what this version
cannot do yet is stored and refused by :func:`ensure_supported` when a model is
first called with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

from kedi.errors import KediModelError

# The checks, the registry and `.env` are imported when something is configured:
# a program that only runs with the defaults does not wait for them.
if TYPE_CHECKING:
    from kedi.agents.contract import AgentAdapterKind

DEFAULT_LOOP_ITERATION_LIMIT = 10_000
DEFAULT_MAX_WORKERS = 8


def _empty() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """A resolved configuration. ``None`` means "not chosen"; containers are never ``None``.

    ``adapter`` (frameworks) and ``agent`` (harnesses) hold a name or an
    instance, never both. ``adapter_kwargs`` go to the construction of a named
    adapter. ``parallel`` is ``None`` where the environment decides. What may
    hold secrets is left out of the ``repr``.
    """

    model: str | None = None
    adapter: Any = None
    agent: Any = None
    system: str | None = None
    effort: str | None = None
    settings: Mapping[str, Any] = field(default_factory=_empty, repr=False)
    tools: tuple[Any, ...] = ()
    env: Mapping[str, Any] = field(default_factory=_empty, repr=False)
    mcp_servers: tuple[Any, ...] = field(default=(), repr=False)
    approval: Any = None
    hooks: Any = None
    skills: Any = None
    artifacts: Any = None
    conversation: Any = None
    parallel: bool | None = None
    max_workers: int = DEFAULT_MAX_WORKERS
    loop_iteration_limit: int = DEFAULT_LOOP_ITERATION_LIMIT
    adapter_kwargs: Mapping[str, Any] = field(default_factory=_empty, repr=False)


PARAMETERS: tuple[str, ...] = tuple(
    item.name for item in fields(AgentConfig) if item.name != "adapter_kwargs"
)
# Values for which None, given on purpose, means "as it was".
_INHERIT_NONE = frozenset({"parallel", "max_workers", "loop_iteration_limit"})


def make_config(base: AgentConfig | None = None, /, **keywords: Any) -> AgentConfig:
    """``base`` (or the built-in defaults) overlaid with validated ``keywords``.

    Names that are not parameters go to the construction of the chosen adapter.
    Raises :class:`~kedi.agents.errors.ConfigurationError` (a ``ValueError``)
    for a value that cannot be used and ``TypeError`` for an unknown keyword,
    naming the nearest.
    """
    base = base or AgentConfig()
    if not keywords:
        return base
    from kedi.agents.checks import CHECKS

    changes: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in keywords.items():
        if name not in PARAMETERS:
            extra[name] = value
        elif value is not None:
            changes[name] = CHECKS[name](value)
        elif name not in _INHERIT_NONE:
            changes[name] = None
    _check_exclusive(changes)
    if changes.get("adapter") is not None or changes.get("agent") is not None:
        changes = {"adapter": None, "agent": None, **changes, "adapter_kwargs": {}}
    for name, merge in (
        ("settings", _merge_mappings),
        ("env", _merge_mappings),
        ("tools", _merge_tools),
        ("mcp_servers", _append),
    ):
        if name in changes:
            changes[name] = merge(getattr(base, name), changes[name])
    config = replace(base, **changes)
    return _with_adapter_keywords(config, extra) if extra else config


def _check_exclusive(changes: Mapping[str, Any]) -> None:
    if changes.get("adapter") is not None and changes.get("agent") is not None:
        from kedi.agents.errors import ConfigurationError

        raise ConfigurationError(
            "`adapter` and `agent` exclude each other: "
            "frameworks are chosen with `adapter`, harnesses with `agent`"
        )


def _with_adapter_keywords(config: AgentConfig, extra: dict[str, Any]) -> AgentConfig:
    from difflib import get_close_matches

    from kedi.agents.registry import check_keywords, create, lookup

    kind: AgentAdapterKind = "agent-framework" if config.agent is None else "agent-harness"
    chosen = config.adapter if config.agent is None else config.agent
    for name in extra:
        near = get_close_matches(name, PARAMETERS, 1)
        if not isinstance(chosen, str):
            raise TypeError(
                f"there is no parameter `{name}`"
                + (f": did you mean `{near[0]}`?" if near else "")
                + ("" if near else "; keywords for an adapter need `adapter=` with its name")
            )
        entry = lookup(chosen, kind)
        nearest = get_close_matches(name, [*entry.keywords, *PARAMETERS], 1)
        if name not in entry.keywords and near and nearest == near:
            raise TypeError(f"there is no parameter `{name}`: did you mean `{near[0]}`?")
        check_keywords(entry, {name: extra[name]})
    keywords = {**config.adapter_kwargs, **extra}
    if isinstance(chosen, str):
        # Made to have the values checked now; adapters load nothing before their first call.
        close = getattr(create(lookup(chosen, kind), keywords), "close", None)
        if callable(close):
            close()
    return replace(config, adapter_kwargs=keywords)


def check_parallel(keywords: Mapping[str, Any], engine: Any = None) -> None:
    """Refuse keywords of one call that contradict each other about how calls run.

    ``engine`` is a name or an engine. Raises
    :class:`~kedi.agents.errors.ConfigurationError`.
    """
    parallel, workers = keywords.get("parallel"), keywords.get("max_workers")
    problem: str | None = None
    if engine is not None and not isinstance(engine, str):
        pass  # An engine of the host's decides itself.
    elif (
        engine in ("sequential", "parallel")
        and parallel is not None
        and (engine == "parallel") != parallel
    ):
        problem = f"`engine={engine!r}` and `parallel={parallel}` contradict each other"
    elif workers is not None and workers != 1 and (parallel is False or engine == "sequential"):
        other = "parallel=False" if parallel is False else "engine='sequential'"
        problem = f"`{other}` makes calls one by one: `max_workers` has no meaning with it"
    if problem is not None:
        from kedi.agents.errors import ConfigurationError

        raise ConfigurationError(problem)


def _merge_mappings(old: Mapping[str, Any], new: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {**old, **(new or {})}


def _merge_tools(old: Sequence[Any], new: Sequence[Any] | None) -> tuple[Any, ...]:
    merged = {tool_name(item): item for item in old}
    for item in new or ():
        merged[tool_name(item)] = item
    return tuple(merged.values())


def _append(old: Sequence[Any], new: Sequence[Any] | None) -> tuple[Any, ...]:
    return (*old, *(new or ()))


def tool_name(tool: Any) -> str:
    """The name under which a tool is registered."""
    name = getattr(tool, "name", None)
    return name if isinstance(name, str) else cast("str", tool.__name__)


# Inputs whose machinery this version does not have, and when one counts as used.
_LATER: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("tools", "model calls with tools", bool),
    ("mcp_servers", "MCP servers", bool),
    ("approval", "approval handlers", callable),
    ("hooks", "lifecycle hooks", bool),
    ("skills", "skills", lambda value: value is not None and value is not False),
    ("artifacts", "artifacts", lambda value: value is not None and value is not False),
    ("conversation", "conversations", lambda value: value is not None),
)


def ensure_supported(config: AgentConfig) -> None:
    """Refuse to call a model with an input that this version validates but cannot honour.

    Raises :class:`~kedi.errors.KediModelError` that names the input. The fixed
    approval policies ``allow`` and ``deny`` are fine: without tools there is
    nothing to approve.
    """
    for name, what, used in _LATER:
        if used(getattr(config, name)):
            raise KediModelError(
                f"`{name}` is set, but this version cannot run {what} yet",
                hint=f"configure without `{name}` to call the model",
            )


def unsupported_inputs() -> tuple[str, ...]:
    """Names of the parameters that :func:`ensure_supported` may refuse."""
    return tuple(name for name, _, _ in _LATER)


_current: ContextVar[AgentConfig | None] = ContextVar("kedi_config", default=None)


def current_config() -> AgentConfig:
    """The active configuration of this context."""
    return _current.get() or AgentConfig()


def configure(**keywords: Any) -> None:
    """Replace this context's defaults; nothing of an earlier ``configure`` stays.

    Loads ``.env`` of the working directory without overriding the environment
    and warns about lines that cannot be used.
    """
    import warnings

    from kedi.agents.dotenv import load_env

    config = make_config(None, **keywords)
    check_parallel(keywords)
    for problem in load_env():
        warnings.warn(problem, RuntimeWarning, stacklevel=2)
    if config.adapter is None and config.agent is None:
        from kedi.agents.select import Environment

        Environment.capture().check()
    _current.set(config)


def reset_config() -> None:
    """Go back to the built-in defaults in this context."""
    _current.set(None)


class ConfigContext:
    """Overlay of the active configuration, for ``with`` and ``async with``; may be nested."""

    def __init__(self, **keywords: Any) -> None:
        make_config(current_config(), **keywords)
        check_parallel(keywords)
        self._keywords = keywords
        self._tokens: list[Token[AgentConfig | None]] = []

    def __enter__(self) -> AgentConfig:
        config = make_config(current_config(), **self._keywords)
        self._tokens.append(_current.set(config))
        return config

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())

    async def __aenter__(self) -> AgentConfig:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()


def context(**keywords: Any) -> ConfigContext:
    """Overlay the active configuration inside a ``with`` or ``async with`` block."""
    return ConfigContext(**keywords)


def parallel(*, max_workers: int = DEFAULT_MAX_WORKERS) -> ConfigContext:
    """Run independent model calls at the same time inside the block."""
    return ConfigContext(parallel=True, max_workers=max_workers)


def parse_parallel(text: str) -> tuple[bool, int | None]:
    """``(parallel, workers or None)`` of a ``KEDI_PARALLEL`` value.

    ``1/true/yes/on``, ``0/false/no/off`` or a number of workers; anything else
    is a :class:`~kedi.agents.errors.ConfigurationError`.
    """
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True, None
    if word in ("0", "false", "no", "off"):
        return False, None
    if word.isascii() and word.isdigit() and len(word) < 6 and int(word) > 0:
        return True, int(word)
    from kedi.agents.errors import ConfigurationError

    raise ConfigurationError(
        f"KEDI_PARALLEL is {text[:80]!r}: use 1/true/yes/on, 0/false/no/off or a number of workers"
    )


__all__ = [
    "DEFAULT_LOOP_ITERATION_LIMIT",
    "DEFAULT_MAX_WORKERS",
    "PARAMETERS",
    "AgentConfig",
    "ConfigContext",
    "check_parallel",
    "configure",
    "context",
    "current_config",
    "ensure_supported",
    "make_config",
    "parallel",
    "parse_parallel",
    "reset_config",
    "tool_name",
    "unsupported_inputs",
]
