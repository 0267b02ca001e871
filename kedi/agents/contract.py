"""What an adapter is: the protocol, its capabilities, its answers and its tools.

An adapter is any object with ``kind``, ``shortname``, ``capabilities`` and the
synchronous half (``produce_sync``, ``invoke_sync``), the asynchronous half
(``produce``, ``invoke``) or both. Nothing has to be inherited.

Adapters may be called from several threads at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, runtime_checkable

AgentAdapterKind = Literal["agent-framework", "agent-harness"]
Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]
Risk = Literal["read_only", "mutating", "sensitive"]

EFFORTS: tuple[Effort, ...] = ("minimal", "low", "medium", "high", "xhigh", "max")

# Pairs of names for one capability: the short name and the one that adapters
# published for other versions of the contract use.
_ALIASES: tuple[tuple[str, str], ...] = (
    ("supports_tools", "supports_tool_registration"),
    ("supports_profile", "supports_profile_override"),
    ("supports_approvals", "supports_native_approvals"),
    ("supports_stream", "supports_stream_events"),
)


@dataclass(frozen=True, slots=True)
class AdapterCapabilities:
    """What an adapter can do. ``True`` yes, ``False`` no, ``None`` not known.

    A call that needs a capability that is ``False`` fails before any I/O; an
    unknown one is tried. ``setting_names`` lists the accepted keys of
    ``settings`` and ``schema_formats`` the JSON-schema string formats that are
    enforced; ``None`` means any. Both spellings of an aliased capability may
    be given and read; giving two different answers is a ``ValueError``.
    """

    supports_structured_output: bool | None = None
    supports_tools: bool | None = None
    supports_mcp: bool | None = None
    supports_profile: bool | None = None
    supports_model_override: bool | None = None
    supports_effort: bool | None = None
    supports_settings: bool | None = None
    supports_approvals: bool | None = None
    supports_history: bool | None = None
    supports_artifacts: bool | None = None
    supports_subagents: bool | None = None
    supports_stream: bool | None = None
    supports_codemode: bool | None = None
    supports_hooks: bool | None = None
    supports_skills: bool | None = None
    supports_tool_registration: bool | None = None
    supports_profile_override: bool | None = None
    supports_native_approvals: bool | None = None
    supports_native_approval_handler: bool | None = None
    supports_background_subagents: bool | None = None
    supports_native_artifacts: bool | None = None
    supports_stateful_history: bool | None = None
    supports_history_replay: bool | None = None
    supports_native_compaction: bool | None = None
    supports_stream_events: bool | None = None
    setting_names: frozenset[str] | None = None
    schema_formats: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for short, long in _ALIASES:
            first, second = getattr(self, short), getattr(self, long)
            if first is not None and second is not None and first != second:
                raise ValueError(f"{short}={first} contradicts {long}={second}")
            known = second if first is None else first
            object.__setattr__(self, short, known)
            object.__setattr__(self, long, known)
        if self.supports_history is None and (
            self.supports_stateful_history or self.supports_history_replay
        ):
            object.__setattr__(self, "supports_history", True)
        for name in ("setting_names", "schema_formats"):
            names = getattr(self, name)
            if names is not None and not isinstance(names, frozenset):
                object.__setattr__(self, name, frozenset(names))

    def get(self, requirement: str) -> bool | None:
        """The answer for a name of ``REQUIREMENTS``; ``KeyError`` for any other name."""
        answer: bool | None = getattr(self, REQUIREMENTS[requirement])
        return answer


# What `> requires:` may ask for, and the capability that answers.
REQUIREMENTS: dict[str, str] = {
    item.name.removeprefix("supports_"): item.name
    for item in fields(AdapterCapabilities)
    if item.name.startswith("supports_")
}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call; ``None`` where the provider does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def total_tokens(self) -> int | None:
        """Both together, when both are known."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer of a model: its text as it came, and why it was refused, if it was."""

    raw: str | None = None
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallInfo:
    """What an adapter may say about the call behind an answer.

    ``cost`` is in US dollars; ``model`` is the model that answered; ``attempts``
    are all answers of the model in order, the accepted one last.
    """

    usage: Usage | None = None
    cost: float | None = None
    model: str | None = None
    attempts: tuple[Attempt, ...] = ()


class Answer(dict[str, Any]):
    """A structured answer that also carries a :class:`CallInfo`.

    Adapters return it in place of a plain ``dict`` when they know more. The
    information travels with the answer, so concurrent calls cannot mix it up.
    """

    info: CallInfo

    def __init__(self, values: Mapping[str, Any], info: CallInfo | None = None) -> None:
        super().__init__(values)
        self.info = info or CallInfo()


class TextAnswer(str):
    """A text answer that also carries a :class:`CallInfo`."""

    info: CallInfo

    def __new__(cls, text: str, info: CallInfo | None = None) -> TextAnswer:
        """Text with what is known about the call."""
        self = super().__new__(cls, text)
        self.info = info or CallInfo()
        return self


@runtime_checkable
class AgentAdapter(Protocol):
    """The contract between Kedi and a model.

    ``output_schema`` maps field names to resolved Python types (or
    ``Annotated``); the answer holds exactly these names. ``template`` and
    ``prompt`` are fully rendered; fields stand in a template as ``[name]``.
    Keywords that may follow, each only when it is set and the method takes it:
    ``model``, ``effort``, ``system``, ``settings``, ``tools``. Implement the
    synchronous methods, the asynchronous ones, or both.
    """

    kind: AgentAdapterKind
    shortname: str
    capabilities: AdapterCapabilities

    async def produce(
        self, *, template: str, output_schema: dict[str, Any], **kw: Any
    ) -> dict[str, Any]:
        """Fill the fields of a template."""
        ...

    def produce_sync(
        self, *, template: str, output_schema: dict[str, Any], **kw: Any
    ) -> dict[str, Any]:
        """Fill the fields of a template."""
        ...

    async def invoke(self, *, prompt: str, **kw: Any) -> str:
        """The whole answer to a prompt, as text."""
        ...

    def invoke_sync(self, *, prompt: str, **kw: Any) -> str:
        """The whole answer to a prompt, as text."""
        ...


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A function that a model may call.

    ``parameters`` is the JSON schema of its arguments and ``returns`` that of
    its result, when known. Tools are ``mutating`` unless they say otherwise.
    """

    name: str
    call: Callable[..., Any]
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    returns: Mapping[str, Any] | None = None
    risk: Risk = "mutating"
    retries: int = 0
    retry_on: tuple[type[BaseException], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@runtime_checkable
class SupportsToolRegistration(Protocol):
    """An adapter that takes tools. Scopes restore what was registered before them."""

    def register_tool(self, tool: ToolSpec) -> None:
        """Offer one tool in the current scope."""
        ...

    def tool_scope(self, tools: Sequence[object] = ()) -> AbstractContextManager[None]:
        """Offer tools until the scope ends."""
        ...


class LazyAdapter:
    """An adapter that is built when it is first needed.

    ``kind``, ``shortname`` and ``capabilities`` are known at once, so checks
    need no import; ``factory`` runs once, at the first call. Thread-safe.
    """

    def __init__(
        self,
        factory: Callable[[], Any],
        *,
        shortname: str,
        kind: AgentAdapterKind = "agent-framework",
        capabilities: AdapterCapabilities | None = None,
    ) -> None:
        import threading

        self.kind: AgentAdapterKind = kind
        self.shortname = shortname
        self.capabilities = capabilities or AdapterCapabilities()
        self._factory = factory
        self._lock = threading.Lock()
        self._adapter: Any = None

    @property
    def loaded(self) -> bool:
        """Whether the real adapter has been built."""
        return self._adapter is not None

    def load(self) -> Any:
        """The real adapter; what the factory raises is raised here and tried anew next time."""
        if self._adapter is None:
            with self._lock:
                if self._adapter is None:
                    self._adapter = self._factory()
        return self._adapter

    async def produce(
        self, *, template: str, output_schema: dict[str, Any], **kw: Any
    ) -> dict[str, Any]:
        """Fill the fields of a template with the real adapter."""
        answer: dict[str, Any] = await self.load().produce(
            template=template, output_schema=output_schema, **kw
        )
        return answer

    def produce_sync(
        self, *, template: str, output_schema: dict[str, Any], **kw: Any
    ) -> dict[str, Any]:
        """Fill the fields of a template with the real adapter."""
        answer: dict[str, Any] = self.load().produce_sync(
            template=template, output_schema=output_schema, **kw
        )
        return answer

    async def invoke(self, *, prompt: str, **kw: Any) -> str:
        """Ask the real adapter for text."""
        answer: str = await self.load().invoke(prompt=prompt, **kw)
        return answer

    def invoke_sync(self, *, prompt: str, **kw: Any) -> str:
        """Ask the real adapter for text."""
        answer: str = self.load().invoke_sync(prompt=prompt, **kw)
        return answer

    def close(self) -> None:
        """Close the real adapter when it was built and can be closed."""
        closer = getattr(self._adapter, "close", None)
        if callable(closer):
            closer()


__all__ = [
    "EFFORTS",
    "REQUIREMENTS",
    "AdapterCapabilities",
    "AgentAdapter",
    "AgentAdapterKind",
    "Answer",
    "Attempt",
    "CallInfo",
    "Effort",
    "LazyAdapter",
    "Risk",
    "SupportsToolRegistration",
    "TextAnswer",
    "ToolSpec",
    "Usage",
]
