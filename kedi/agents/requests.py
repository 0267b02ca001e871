"""What a model call consists of, what is known about it afterwards, and how it fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kedi.agents.contract import Attempt, CallInfo, Usage
from kedi.errors import KediModelError

RequestKind = Literal["structured", "raw", "claim"]


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything a model call consists of before it is made.

    ``schema`` maps field names to types, in the order of the template; a claim
    always has the one field ``claim: bool``, a raw request none. ``requires``
    holds names of ``REQUIREMENTS`` that the adapter must be known to support.
    Settings may hold secrets (such as headers) and are left out of the ``repr``.
    """

    kind: RequestKind
    prompt: str
    schema: Mapping[str, Any] = field(default_factory=_nothing)
    model: str | None = None
    effort: str | None = None
    system: str | None = None
    settings: Mapping[str, Any] = field(default_factory=_nothing, repr=False)
    tools: tuple[Any, ...] = ()
    requires: tuple[str, ...] = ()

    @property
    def output_schema(self) -> dict[str, Any]:
        """Field names to types, as the adapter gets them."""
        if self.kind == "claim":
            return {"claim": bool}
        return {} if self.kind == "raw" else dict(self.schema)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One model call: the request, what came back, and what it took.

    ``values`` are the validated fields; ``text`` is the answer of a raw call.
    ``latency`` is in seconds, ``started`` in seconds since the epoch, ``cost``
    in US dollars. ``error`` is the message of a failed call. Until an answer
    is validated, ``values`` holds it as the adapter gave it.
    """

    request: ModelRequest
    adapter: str
    model: str | None = None
    values: Mapping[str, Any] = field(default_factory=_nothing)
    text: str | None = None
    attempts: tuple[Attempt, ...] = ()
    usage: Usage | None = None
    cost: float | None = None
    started: float = 0.0
    latency: float = 0.0
    error: str | None = None

    @property
    def prompt(self) -> str:
        """The prompt that was sent."""
        return self.request.prompt

    @property
    def claim(self) -> bool:
        """The judgement of a claim."""
        return bool(self.values["claim"])


class ModelCallError(KediModelError):
    """A model call that failed.

    ``record`` tells its story. An adapter that raises this error may set
    ``info`` to what it knows about the failed call. Neither survives pickling.
    ``refused`` says that the model did answer, and with what cannot be used.
    """

    record: CallRecord | None = None
    info: CallInfo | None = None
    refused: bool = False


__all__ = ["CallRecord", "ModelCallError", "ModelRequest", "RequestKind"]
