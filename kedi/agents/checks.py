"""One check per configuration parameter: the value as it is stored, or a clear error."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from kedi.agents.contract import EFFORTS, AgentAdapterKind, ToolSpec
from kedi.agents.errors import ConfigurationError
from kedi.agents.registry import lookup
from kedi.agents.reprs import short_repr

HOOK_EVENTS = (
    "user_prompt_submit",
    "pre_tool_use",
    "post_tool_use",
    "post_tool_use_failure",
)
ARTIFACT_FIELDS = (
    "enabled",
    "store",
    "path",
    "threshold",
    "ttl",
    "idle_ttl",
    "preview_chars",
    "read_max_chars",
    "session_quota",
    "max_artifacts",
    "cleanup_interval",
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_WORKERS = 10_000


def _kind_of(value: Any) -> str:
    return cast("type[Any]", type(value)).__name__


def _refuse(name: str, wanted: str, value: Any) -> ConfigurationError:
    shown = f"{value[:60]!r}" if isinstance(value, str) else _kind_of(value)
    return ConfigurationError(f"`{name}` must be {wanted}, not {shown}")


def _text(name: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise _refuse(name, "a text that is not empty", value)
        return value

    return check


def _system(value: Any) -> str:
    if not isinstance(value, str):
        raise _refuse("system", "text", value)
    return value


def check_effort(value: Any) -> str:
    """One of the six efforts; the error names the nearest."""
    if value in EFFORTS:
        return cast("str", value)
    near = get_close_matches(value, EFFORTS, 1) if isinstance(value, str) else []
    advice = f"; did you mean `{near[0]}`?" if near else ""
    raise ConfigurationError(
        f"`effort` must be one of {', '.join(EFFORTS)}, not {short_repr(value)}" + advice
    )


def check_adapter(value: Any, kind: AgentAdapterKind) -> Any:
    """A known adapter name, or an instance with matching ``kind`` and a ``shortname``."""
    word, other = ("adapter", "agent") if kind == "agent-framework" else ("agent", "adapter")
    if isinstance(value, str):
        lookup(value, kind)
        return value
    if isinstance(value, type):
        raise ConfigurationError(
            f"`{word}` is the class {value.__name__}, not an instance of it; "
            f"write `{value.__name__}(…)`"
        )
    actual = getattr(value, "kind", None)
    shortname = getattr(value, "shortname", None)
    if actual not in ("agent-framework", "agent-harness"):
        raise ConfigurationError(
            f"the {word} {_kind_of(value)} needs `kind`, "
            'either "agent-framework" or "agent-harness"'
        )
    if not isinstance(shortname, str) or not shortname:
        raise ConfigurationError(f"the {word} {_kind_of(value)} needs a `shortname`, a short text")
    if actual != kind:
        raise ConfigurationError(
            f'`{shortname}` is of kind "{actual}": pass it as `{other}=`, not as `{word}=`'
        )
    if not any(callable(getattr(value, name, None)) for name in ("produce", "produce_sync")):
        raise ConfigurationError(
            f"the {word} `{shortname}` has neither `produce_sync` nor `produce`"
        )
    return value


def _mapping(name: str) -> Callable[[Any], dict[str, Any]]:
    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _refuse(name, "a mapping", value)
        copy = dict(cast("Mapping[Any, Any]", value))
        for key in copy:
            if not isinstance(key, str):
                raise ConfigurationError(f"the keys of `{name}` must be text, not {_kind_of(key)}")
        return cast("dict[str, Any]", copy)

    return check


def _env(value: Any) -> dict[str, Any]:
    values = _mapping("env")(value)
    for name in values:
        if not _NAME.fullmatch(name):
            raise ConfigurationError(f"`env` holds {name[:60]!r}, which is not a Kedi name")
        if name == "args":
            raise ConfigurationError("`env` holds `args`, which is kept for program arguments")
    return values


def _items(name: str, value: Any, what: str) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise _refuse(name, f"a list of {what}", cast("object", value))
    return list(cast("Sequence[Any]", value))


def _tools(value: Any) -> tuple[Any, ...]:
    items = _items("tools", value, "functions")
    seen: set[str] = set()
    for item in items:
        name = getattr(item, "name", None) or getattr(item, "__name__", None)
        if not (callable(item) or isinstance(item, ToolSpec)) or not isinstance(name, str):
            raise ConfigurationError(f"`tools` holds {_kind_of(item)}, which is not a function")
        if name == "<lambda>":
            raise ConfigurationError("`tools` holds a lambda, which has no name for a model")
        if name in seen:
            raise ConfigurationError(f"`tools` holds two tools named `{name}`")
        seen.add(name)
    return tuple(items)


def _mcp_servers(value: Any) -> tuple[Any, ...]:
    items = _items("mcp_servers", value, "server specifications")
    for item in items:
        if not isinstance(item, Mapping):
            raise ConfigurationError(f"`mcp_servers` holds {_kind_of(item)}, not a mapping")
        server = cast("Mapping[Any, Any]", item)
        if not ("command" in server or "url" in server):
            raise ConfigurationError(
                "a server of `mcp_servers` needs a `command` (stdio) or a `url` (sse, http)"
            )
    return tuple(items)


def _approval(value: Any) -> Any:
    if value in ("allow", "deny") or callable(value):
        return value
    raise _refuse("approval", '"allow", "deny" or a function', value)


def _hooks(value: Any) -> dict[str, Any]:
    hooks = _mapping("hooks")(value)
    for event, handlers in hooks.items():
        if event not in HOOK_EVENTS:
            near = get_close_matches(event, HOOK_EVENTS, 1)
            advice = f"did you mean `{near[0]}`?" if near else f"events: {', '.join(HOOK_EVENTS)}"
            raise ConfigurationError(f"`hooks` names the unknown event `{event[:60]}`: {advice}")
        listed = (
            [handlers] if callable(handlers) else _items(f"hooks.{event}", handlers, "handlers")
        )
        if not all(callable(item) for item in listed):
            raise ConfigurationError(f"`hooks` holds a handler of `{event}` that is not a function")
    return hooks


def _skills(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    return _mapping("skills")(value)


def _artifacts(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    fields = _mapping("artifacts")(value)
    for name in fields:
        if name not in ARTIFACT_FIELDS:
            near = get_close_matches(name, ARTIFACT_FIELDS, 1)
            advice = (
                f"did you mean `{near[0]}`?" if near else f"fields: {', '.join(ARTIFACT_FIELDS)}"
            )
            raise ConfigurationError(f"`artifacts` has no field `{name[:60]}`: {advice}")
    return fields


def _conversation(value: Any) -> Any:
    if isinstance(value, (str, bytes, bool, int, float)):
        raise _refuse("conversation", "a conversation state", value)
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refuse("parallel", "True or False", value)
    return value


def _count(name: str, most: int | None = None) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            shown = short_repr(value) if isinstance(value, (int, float)) else _kind_of(value)
            raise ConfigurationError(f"`{name}` must be a whole number from 1 up, not {shown}")
        if most is not None and value > most:
            raise ConfigurationError(f"`{name}` must be at most {most:,}")
        return value

    return check


CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "model": _text("model"),
    "adapter": lambda value: check_adapter(value, "agent-framework"),
    "agent": lambda value: check_adapter(value, "agent-harness"),
    "system": _system,
    "effort": check_effort,
    "settings": _mapping("settings"),
    "tools": _tools,
    "env": _env,
    "mcp_servers": _mcp_servers,
    "approval": _approval,
    "hooks": _hooks,
    "skills": _skills,
    "artifacts": _artifacts,
    "conversation": _conversation,
    "parallel": _flag,
    "max_workers": _count("max_workers", _MAX_WORKERS),
    "loop_iteration_limit": _count("loop_iteration_limit"),
}

__all__ = ["ARTIFACT_FIELDS", "CHECKS", "HOOK_EVENTS", "check_adapter", "check_effort"]
