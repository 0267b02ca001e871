"""Hang-ups and terminations: they end the REPL like an exit, so that it can save."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

_NAMES = ("SIGHUP", "SIGTERM")


class Ending:
    """Ends the process once: what comes on the way out is ignored, so that saving is not cut short.

    A closing window sends more than one signal. Code of a fragment may keep the exit from
    leaving it; while such code is ``running``, every signal raises another.
    """

    def __init__(self) -> None:
        self.leaving = False
        self._running = False

    @contextmanager
    def by_signals(self) -> Generator[None]:
        """Raise ``SystemExit`` with 128 and the number of the signal."""
        before: list[tuple[int, Any]] = []
        for name in _NAMES:
            number = getattr(signal, name, None)
            try:
                # What is ignored on purpose (`nohup`) stays ignored.
                if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                    before.append((number, signal.signal(number, self._end)))
            except ValueError:
                break  # not in the main thread
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    @contextmanager
    def running(self) -> Generator[None]:
        """Code of the user runs."""
        self._running = True
        try:
            yield
        finally:
            self._running = False

    def _end(self, number: int, _: FrameType | None) -> None:
        _leave_lost_terminal()
        if self._running or not self.leaving:
            self.leaving = True
            raise SystemExit(128 + number)


def _leave_lost_terminal() -> None:
    """Write to nowhere instead of to a terminal that is gone: each write to it would fail."""
    for descriptor in (1, 2):
        try:
            if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
        except OSError:
            pass  # closed already
