"""Threads of a debugged program and their mailboxes.

Session state is touched only on the program's own threads: whoever wants to look at a
stopped thread posts a job to its mailbox, which that thread runs while it stands still.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from kedi.session.debugger.events import Resume, Stop

#: A job gives :class:`Resume` to let the thread go on, anything else to stay. It must not raise.
Job = Callable[[], Any]


class DebugThread:
    """One thread that runs Kedi code.

    ``stops`` are its nested stops, innermost last: a job may evaluate something that stops again.
    ``number`` is the id that front ends use, from 1.
    """

    __slots__ = ("ident", "mailbox", "name", "number", "stops")

    def __init__(self, number: int, name: str, ident: int | None = None) -> None:
        self.number = number
        self.name = name
        self.ident = threading.get_ident() if ident is None else ident
        self.mailbox: SimpleQueue[Job] = SimpleQueue()
        self.stops: list[Stop] = []

    @property
    def stop(self) -> Stop | None:
        """The innermost stop, ``None`` while it runs."""
        return self.stops[-1] if self.stops else None

    def post(self, job: Job) -> None:
        """Have the thread run ``job`` once it stands still (or at once when it does)."""
        self.mailbox.put(job)

    def serve(self) -> Resume:
        """Run jobs, on this thread, until one lets it go on."""
        while True:
            outcome = self.mailbox.get()()
            if isinstance(outcome, Resume):
                return outcome

    def __repr__(self) -> str:
        return f"<DebugThread {self.number} {self.name!r} {'stopped' if self.stops else 'running'}>"
