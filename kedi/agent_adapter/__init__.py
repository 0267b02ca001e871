"""The public face of the adapter contract: what a third party's adapter imports."""

from kedi.agents.contract import (
    AdapterCapabilities,
    AgentAdapter,
    AgentAdapterKind,
    Answer,
    Attempt,
    CallInfo,
    LazyAdapter,
    SupportsToolRegistration,
    TextAnswer,
    ToolSpec,
    Usage,
)

__all__ = [
    "AdapterCapabilities",
    "AgentAdapter",
    "AgentAdapterKind",
    "Answer",
    "Attempt",
    "CallInfo",
    "LazyAdapter",
    "SupportsToolRegistration",
    "TextAnswer",
    "ToolSpec",
    "Usage",
]
