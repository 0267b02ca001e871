"""Numbers by which a client refers to frames and values of stopped threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedi.runtime.frames import Unit
    from kedi.session.debugger.threads import DebugThread


class Handles:
    """Numbers handed out for what stopped threads have; void when they go on."""

    def __init__(self) -> None:
        self._sources: dict[str, int] = {}

    def thread_of_frame(self, number: int) -> DebugThread | None:
        """The thread of a frame, ``None`` for a number that is void."""
        return None

    def thread_of_variables(self, number: int) -> DebugThread | None:
        """The thread on which a reference to variables is to be read; ``None`` when void."""
        return None

    def source_number(self, unit: Unit) -> int:
        """The reference by which a client asks for the text of a source that is no file."""
        return self._sources.setdefault(unit.name, len(self._sources) + 1)

    def reset(self, thread: DebugThread) -> None:
        """A thread goes on: everything handed out for it is void."""
