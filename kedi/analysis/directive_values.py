"""What plain directive and setting values may be, as data.

A rule takes the text of a plain value and answers what was expected, or
``None`` when the value is fine. Values in backticks are Python and are only
looked at when they run.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Rule = Callable[[str], str | None]

EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
FRAMEWORKS = ("pydantic", "dspy", "langchain", "local", "scripted", "cassette")
HARNESSES = ("claude", "codex", "acp")
CAPABILITIES = (
    "structured_output",
    "tools",
    "mcp",
    "profile",
    "model_override",
    "effort",
    "settings",
    "approvals",
    "history",
    "artifacts",
    "subagents",
    "stream",
    "codemode",
    "hooks",
    "skills",
)

_BYTES = re.compile(r"\d+(?:\.\d+)?\s*(?:b|kb|mb|gb|kib|mib|gib)", re.IGNORECASE)
_DURATION = re.compile(r"\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?\d(?:_?\d)*")
_NUMBER = re.compile(r"[+-]?(?:\d(?:_?\d)*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


def words(*allowed: str) -> Rule:
    """One of a few words."""

    def rule(text: str) -> str | None:
        return None if text in allowed else one_of(allowed)

    return rule


def one_of(allowed: tuple[str, ...]) -> str:
    """``a, b or c`` with each word marked as code."""
    marked = [f"`{word}`" for word in allowed]
    return marked[0] if len(marked) == 1 else f"{', '.join(marked[:-1])} or {marked[-1]}"


def integer(low: int | None = None, high: int | None = None) -> Rule:
    """A whole number within bounds, ends included."""

    def rule(text: str) -> str | None:
        if _INTEGER.fullmatch(text) and _within(_as_float(text), low, high):
            return None
        return f"a whole number{_bounds(low, high)}"

    return rule


def number(low: float | None = None, high: float | None = None) -> Rule:
    """A number within bounds, ends included."""

    def rule(text: str) -> str | None:
        if _NUMBER.fullmatch(text) and _within(_as_float(text), low, high):
            return None
        return f"a number{_bounds(low, high)}"

    return rule


def _as_float(text: str) -> float:
    # A whole number of hundreds of digits is out of any bound, and no error.
    return float(text.replace("_", ""))


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _bounds(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f" of at least {low:g}"
    return "" if high is None else f" of at most {high:g}"


def boolean(text: str) -> str | None:
    """``true`` or ``false``."""
    return None if text in ("true", "false", "True", "False") else "`true` or `false`"


def byte_size(text: str) -> str | None:
    """A number of bytes with its unit."""
    return (
        None if _BYTES.fullmatch(text) or text.isdecimal() else "a size such as `100kb` or `1mib`"
    )


def duration(text: str) -> str | None:
    """A stretch of time with its unit, more than nothing."""
    match = _DURATION.fullmatch(text)
    if match and float(re.match(r"[\d.]+", text)[0]) > 0:  # type: ignore[index]
        return None
    return "a time such as `500ms`, `30s`, `5m` or `1h`"


def optional(rule: Rule) -> Rule:
    """``none``, or what ``rule`` takes."""

    def either(text: str) -> str | None:
        if text in ("none", "null", "None"):
            return None
        wanted = rule(text)
        return wanted and f"`none` or {wanted}"

    return either


SWITCH = words("enabled", "disabled")

WORD_RULES: dict[str, Rule] = {
    "effort": words(*EFFORTS),
    "history": SWITCH,
    "hooks": SWITCH,
    "skills": SWITCH,
    "codemode": SWITCH,
    "artifacts": SWITCH,
    "workflow": words("delegate", "dynamic"),
    "max_agents": integer(1),
}
"""``> name: value`` with a plain value."""

_POSITIVE = integer(1)

BLOCK_RULES: dict[str, dict[str, Rule]] = {
    "settings": {
        "temperature": number(0),
        "max_tokens": _POSITIVE,
        "top_p": number(0, 1),
        "top_k": integer(0),
        "seed": optional(integer()),
        "timeout": optional(number(0)),
        "parallel_tool_calls": boolean,
        "presence_penalty": number(),
        "frequency_penalty": number(),
        "num_retries": integer(0),
        "max_turns": _POSITIVE,
        "max_budget_usd": number(0),
    },
    "history": {
        "enabled": boolean,
        "compaction_mode": words("native", "disabled"),
        "compaction_threshold": _POSITIVE,
    },
    "artifacts": {
        "enabled": boolean,
        "query_artifacts": SWITCH,
        "store": words("memory", "file"),
        "threshold": byte_size,
        "ttl": duration,
        "idle_ttl": optional(duration),
        "preview_chars": _POSITIVE,
        "read_max_chars": _POSITIVE,
        "session_quota": byte_size,
        "max_artifacts": _POSITIVE,
        "cleanup_interval": duration,
    },
    "skills": {"enabled": boolean},
    "codemode": {
        "enabled": boolean,
        "default_search_limit": _POSITIVE,
        "max_search_limit": _POSITIVE,
        "max_hydrated_tools": _POSITIVE,
        "max_discovery_result_bytes": _POSITIVE,
        "max_code_chars": _POSITIVE,
        "max_nested_calls": _POSITIVE,
        "max_concurrent_calls": _POSITIVE,
        "max_tool_result_bytes": _POSITIVE,
        "max_total_tool_result_bytes": _POSITIVE,
        "max_print_bytes": _POSITIVE,
        "request_timeout": number(0),
    },
    "mcp": {"transport": words("stdio", "sse", "http", "streamable-http")},
    "tool": {
        "risk": words("read_only", "mutating", "sensitive"),
        "retries": integer(0),
    },
}
"""Plain values of the settings in directive blocks; a setting that is missing here takes any."""

HOOK_EVENTS = (
    "user_prompt_submit",
    "pre_tool_use",
    "post_tool_use",
    "post_tool_use_failure",
)

SINGLETONS = (
    "adapter",
    "agent",
    "model",
    "effort",
    "system",
    "approval",
    "history",
    "artifacts",
    "codemode",
    "skills",
    "output",
    "max_agents",
    "workflow",
)
"""Members that a profile may hold once."""
