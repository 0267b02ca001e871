"""Hang-ups and terminations: they end the REPL like an exit, so that it can save."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_NAMES = ("SIGHUP", "SIGTERM")


@contextmanager
def ended_by_signals() -> Generator[None]:
    """Raise ``SystemExit`` with 128 and the number of the signal; what is ignored stays so."""
    # `nohup` ignores the hang-up on purpose.
    with _replaced(signal.SIG_DFL, _end):
        yield


@contextmanager
def shielded() -> Generator[None]:
    """Ignore further ones while the session is saved: a closing window sends more than one."""
    with _replaced(_end, signal.SIG_IGN):
        yield


@contextmanager
def _replaced(old: object, new: object) -> Generator[None]:
    replaced: list[int] = []
    for name in _NAMES:
        number = getattr(signal, name, None)
        try:
            if number is not None and signal.getsignal(number) == old:
                signal.signal(number, new)  # pyright: ignore[reportArgumentType]
                replaced.append(number)
        except ValueError:
            break  # not in the main thread
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, old)  # pyright: ignore[reportArgumentType]


def _end(number: int, _: FrameType | None) -> None:
    _leave_lost_terminal()
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
