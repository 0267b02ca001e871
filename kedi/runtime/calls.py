"""The log of model calls a runtime has made."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedi.agents.calls import CallRecord
    from kedi.runtime.frames import RunFrame, Site
    from kedi.source import Span

#: Calls kept; older ones are dropped, so that a long session stays bounded.
MAX_CALLS = 10_000


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call with the statement that made it. ``number`` counts from 1 in a runtime."""

    number: int
    record: CallRecord
    span: Span
    procedure: str | None


class CallLog:
    """Thread-safe, bounded list of calls in order of completion."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: deque[LoggedCall] = deque(maxlen=MAX_CALLS)
        self._count = 0

    def add(self, record: CallRecord, site: Site, frame: RunFrame) -> LoggedCall:
        """Append a finished (or failed) call."""
        with self._lock:
            self._count += 1
            call = LoggedCall(self._count, record, site.span, frame.procedure)
            self._calls.append(call)
        return call

    def all(self) -> tuple[LoggedCall, ...]:
        """The kept calls, oldest first."""
        with self._lock:
            return tuple(self._calls)

    def __len__(self) -> int:
        return self._count
