"""Whether a thread of the program takes jobs now: it stands still, is idle, or runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from queue import Empty
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from kedi.session.debugger.threads import DebugThread

State = Literal["running", "stopped", "idle"]


class PostedJob:
    """A job for a program's thread that can be refused while it waits."""

    def __call__(self) -> Any:
        """Do it, on that thread."""
        raise NotImplementedError

    def refuse(self) -> None:
        """Say that the thread goes on without having done it."""
        raise NotImplementedError


class Door:
    """Takes jobs for one thread while it can do them, so that none is left lying."""

    def __init__(self, thread: DebugThread) -> None:
        self.thread = thread
        self._states: list[State] = ["running"]
        self._lock = threading.RLock()
        #: Has an idle thread look for jobs, where it does not wait for them.
        self.wake: Callable[[], None] | None = None

    @property
    def state(self) -> State:
        """What the thread does now. A stopped one may be busy with an evaluation."""
        return self._states[-1]

    def post(self, job: PostedJob) -> bool:
        """Give the thread a job; false when it runs."""
        with self._lock:
            if self._states[-1] == "running":
                return False
            self.thread.post(job)
            if self._states[-1] == "idle" and self.wake is not None:
                self.wake()
            return True

    def enter(self, state: State) -> None:
        """The thread begins to be stopped, idle, or to run from there."""
        with self._lock:
            self._states.append(state)
            if state == "running":
                self._refuse_waiting()

    def leave(self) -> None:
        """What was entered last ends."""
        with self._lock:
            if len(self._states) > 1:
                self._states.pop()
            if self._states[-1] == "running":
                self._refuse_waiting()

    @contextmanager
    def being(self, state: State) -> Generator[None]:
        """In that state as long as the block lasts."""
        self.enter(state)
        try:
            yield
        finally:
            self.leave()

    def _refuse_waiting(self) -> None:
        mailbox, others = self.thread.mailbox, list[Any]()
        while True:
            try:
                job = mailbox.get_nowait()
            except Empty:
                break
            if isinstance(job, PostedJob):
                job.refuse()
            else:
                others.append(job)
        for job in others:
            mailbox.put(job)
