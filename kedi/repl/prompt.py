"""Jobs of a debugger, done by the main thread while it waits at its prompt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedi.debugging.endpoint import ConsoleServer
    from kedi.repl.shell import Shell
    from kedi.session.session import InteractiveSession

#: Ignored by default, sent by nobody else, and it interrupts every way to wait for input.
_SIGNAL: signal.Signals | None = getattr(signal, "SIGURG", None)


class Prompt:
    """The console of a debugger that is attached to a REPL; see :class:`kedi.debugging.endpoint`.

    A signal wakes the thread inside whatever waits for input, and its handler does the jobs:
    that works the same in an editor, at a plain prompt and where lines come from a pipe.
    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._server: ConsoleServer | None = None
        self._lock = threading.RLock()
        self._waits = False
        self._serves = False
        self._thread = 0

    @property
    def session(self) -> InteractiveSession:
        """The session of the REPL."""
        return self._shell.session

    @property
    def wake(self) -> Callable[[], None] | None:
        """Has the waiting thread do its jobs; ``None`` where there is no such signal."""
        return self._wake if self._thread else None

    def open(self) -> None:
        """Take the signal. Called on the main thread."""
        if _SIGNAL is not None and hasattr(signal, "pthread_kill"):
            signal.signal(_SIGNAL, self._signalled)
            self._thread = threading.get_ident()

    def connect(self, server: ConsoleServer | None) -> None:
        """Have ``server`` told and served from now on, or nobody."""
        with self._lock:
            before, self._server = self._server, server
            if self._waits:
                if before is not None:
                    before.idle(False)
                if server is not None:
                    server.idle(True)

    @contextmanager
    def waiting(self) -> Generator[None]:
        """The thread waits for input as long as the block lasts."""
        self._set_waits(True)
        try:
            yield
        finally:
            self._set_waits(False)

    def _set_waits(self, waits: bool) -> None:
        with self._lock:
            self._waits = waits
            if self._server is not None:
                self._server.idle(waits)

    def _wake(self) -> None:
        assert _SIGNAL is not None
        signal.pthread_kill(self._thread, _SIGNAL)

    def _signalled(self, number: int, frame: object) -> None:
        server = self._server
        if server is None or not self._waits or self._serves:
            return
        self._serves = True
        try:
            server.serve()
        finally:
            self._serves = False
