"""The gate of a session: one call at a time, none after close."""

from __future__ import annotations

import threading
from typing import Self

from kedi.errors import SessionStateError


class Gate:
    """Lets one call in; a second one, from any thread or from within, is refused at once.

    ``activity`` says what goes on, ``closed`` that nothing may any more. Use as
    ``with gate.entered("executing a fragment"):``.
    """

    __slots__ = ("_coming", "_lock", "activity", "closed")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._coming = ""
        self.activity = ""
        self.closed = False

    def entered(self, activity: str) -> Self:
        """The gate itself, entered by a ``with``. Raises :class:`SessionStateError`."""
        if self.closed:
            raise SessionStateError("the session is closed")
        if not self._lock.acquire(blocking=False):
            raise SessionStateError(
                f"the session is busy {self.activity or 'with another call'}: "
                "one call at a time, and none from within a fragment"
            )
        if self.closed:
            self._lock.release()
            raise SessionStateError("the session is closed")
        self._coming = activity
        return self

    def __enter__(self) -> None:
        self.activity = self._coming

    def __exit__(self, *_: object) -> None:
        self.activity = ""
        self._lock.release()
