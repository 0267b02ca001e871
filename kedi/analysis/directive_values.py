"""What plain directive and setting values may be, as data.

A rule takes the text of a plain value and answers what was expected, or
``None`` when the value is fine. Values in backticks are Python and are only
looked at when they run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from kedi.syntax.directives import DIRECTIVES, ValueKind

Rule = Callable[[str], str | None]

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


FLAG = words("enabled", "disabled", "true", "false")

_POSITIVE = integer(1)
_SHARPER: dict[tuple[str, str], Rule] = {
    ("", "max_agents"): _POSITIVE,
    ("settings", "temperature"): number(0),
    ("settings", "max_tokens"): _POSITIVE,
    ("settings", "max_completion_tokens"): _POSITIVE,
    ("settings", "top_p"): number(0, 1),
    ("settings", "min_p"): number(0, 1),
    ("settings", "seed"): optional(integer()),
    ("settings", "timeout"): optional(number(0)),
    ("settings", "n"): _POSITIVE,
    ("settings", "max_turns"): _POSITIVE,
    ("settings", "max_budget_usd"): number(0),
    ("history", "compaction_threshold"): _POSITIVE,
    ("artifacts", "store"): words("memory", "file"),
    ("artifacts", "idle_ttl"): optional(duration),
    ("artifacts", "preview_chars"): _POSITIVE,
    ("artifacts", "read_max_chars"): _POSITIVE,
    ("artifacts", "max_artifacts"): _POSITIVE,
    ("codemode", "request_timeout"): number(0),
}
"""Bounds and words that the kinds of the directive table leave open, by block and setting."""

_KINDS: dict[ValueKind, Rule] = {
    "flag": FLAG,
    "count": integer(0),
    "number": number(),
    "bytes": byte_size,
    "duration": duration,
}

PYTHON_ONLY = frozenset({"hooks"})
"""Blocks whose ``python`` values cannot also be written as plain text."""


def _rule(owner: str, name: str, kind: ValueKind, allowed: tuple[str, ...]) -> Rule | None:
    sharper = _SHARPER.get((owner, name))
    if sharper is not None:
        return sharper
    return words(*allowed) if kind == "word" else _KINDS.get(kind)


@cache
def directive_rule(name: str) -> Rule | None:
    """What the plain value of ``> name: value`` must be, if that is fixed."""
    spec = DIRECTIVES.get(name)
    return _rule("", name, spec.value, spec.words) if spec is not None else None


@cache
def setting_rule(owner: str, name: str) -> Rule | None:
    """What the plain value of a setting in the block of ``> owner:`` must be, if that is fixed."""
    spec = DIRECTIVES.get(owner)
    for item in spec.fields if spec is not None else ():
        if item.name == name:
            return _rule(owner, name, item.kind, item.words)
    return None


@cache
def python_setting(owner: str, name: str) -> bool:
    """Whether a setting must be written in backticks."""
    spec = DIRECTIVES.get(owner)
    fields = spec.fields if spec is not None and owner in PYTHON_ONLY else ()
    return any(item.name == name and item.kind == "python" for item in fields)


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
