"""What a process that debuggers can attach to offers, and what a host with a prompt gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kedi.session.session import InteractiveSession


class Listening(Protocol):
    """A port at which one debugger at a time can attach."""

    host: str
    port: int
    token: str
    #: A file with all of this that only this user can read; ``None`` when it cannot be written.
    token_file: str | None

    @property
    def connected(self) -> bool:
        """Whether a debugger is attached."""
        ...

    def wait_for_client(self, timeout: float | None = None) -> bool:
        """Wait until a debugger has attached and set its breakpoints; false when none came.

        ``timeout`` is in seconds, ``None`` waits for ever.
        """
        ...

    def close(self) -> None:
        """Listen no more; a debugger that is attached leaves. Idempotent."""
        ...


class ConsoleServer(Protocol):
    """Who has jobs for the thread of a console."""

    def idle(self, idle: bool) -> None:
        """The thread waits at its prompt from now on, or does so no more."""
        ...

    def serve(self) -> None:
        """Do all jobs there are, on this thread."""
        ...


class Console(Protocol):
    """A host whose main thread waits at a prompt between fragments of one session."""

    @property
    def session(self) -> InteractiveSession:
        """The session, which the host may replace."""
        ...

    def connect(self, server: ConsoleServer | None) -> None:
        """Have ``server`` told and served from now on, or nobody."""
        ...

    @property
    def wake(self) -> Callable[[], None] | None:
        """Has the waiting thread call ``serve`` soon; ``None`` where it cannot be woken."""
        ...
