"""``sys.stdout`` and ``sys.stderr`` of a debugged program.

Text goes to descriptors 1 and 2, pipes that the adapter reads, at each end of a line: so it is in
order with what libraries in C and other processes write there, and survives a crash. To keep it
in order with the other pipe and with messages, whoever writes elsewhere first waits until the
pipe has been read.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from array import array
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

#: Seconds that a writer waits for a reader that does not come.
_LONGEST_WAIT = 1.0


class _Descriptor(io.RawIOBase):
    """Writes to a descriptor once the other pipe has been read."""

    def __init__(self, number: int, name: str, settle_other: Callable[[], None]) -> None:
        self._number = number
        self._settle_other = settle_other
        self.name = name
        self.mode = "wb"

    def write(self, data: Any, /) -> int:
        self._settle_other()
        return os.write(self._number, data)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number


def capture() -> Callable[[], None]:
    """Replace the process's text streams; gives what waits until all output has been read.

    They are like those of a terminal that takes any character: written at each end of a line,
    and standard error at once.
    """
    pipes = {number: _waiter(number) for number in (1, 2)}
    streams: list[io.TextIOWrapper] = []
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw = _Descriptor(number, f"<{name}>", pipes[3 - number])
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw),
            "utf-8",
            "backslashreplace",
            line_buffering=True,
            write_through=number == 2,
        )
        setattr(sys, name, stream)
        streams.append(stream)

    def settle() -> None:
        for stream in streams:
            try:
                stream.flush()
            except (OSError, ValueError, RuntimeError):
                pass  # closed by the program, or this interrupts its very writing
        for wait in pipes.values():
            wait()

    return settle


def release() -> None:
    """Send the output nowhere, also that of children: nobody reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)


def _waiter(number: int) -> Callable[[], None]:
    """A function that waits until a pipe is empty; it does nothing for other files."""
    place = _pipe(number)
    try:
        from fcntl import ioctl
        from termios import FIONREAD
    except ImportError:
        return _nothing  # a system where pipes cannot be asked
    if place is None:
        return _nothing
    count = array("i", [0])

    def waiting() -> bool:
        try:
            ioctl(number, FIONREAD, count)
        except OSError:
            return False  # closed by the program
        # The program may have led the descriptor elsewhere.
        return count[0] > 0 and _pipe(number) == place

    def wait() -> None:
        if waiting():
            until = monotonic() + _LONGEST_WAIT
            while waiting() and monotonic() < until:
                sleep(0.00005)

    return wait


def _pipe(number: int) -> tuple[int, int] | None:
    """What identifies the pipe at a descriptor, ``None`` for other files."""
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISFIFO(status.st_mode) else None


def _nothing() -> None:
    pass
