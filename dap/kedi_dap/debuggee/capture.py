"""``sys.stdout`` and ``sys.stderr`` of a debugged program: text that becomes output events."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable
from typing import Any

from kedi_dap.debuggee.outlet import Category, Outlet

#: Seconds that a message waits for a reader of the pipes that does not come.
_LONGEST_WAIT = 2.0


class CapturedStream(io.TextIOBase):
    """A text stream whose lines go to the client, in order with everything else."""

    def __init__(self, outlet: Outlet, category: Category, descriptor: int) -> None:
        self._outlet = outlet
        self._category: Category = category
        self._descriptor = descriptor
        self._buffer = _Bytes(self)

    encoding = "utf-8"  # pyright: ignore[reportAssignmentType]
    errors = "backslashreplace"  # pyright: ignore[reportAssignmentType]
    newlines = None
    line_buffering = True
    write_through = True
    mode = "w"

    @property
    def name(self) -> str:
        """What Python calls the stream."""
        return f"<{self._category}>"

    @property
    def buffer(self) -> io.BufferedIOBase:
        """Takes bytes in UTF-8, between the texts that are written."""
        return self._buffer

    def write(self, text: str, /) -> int:
        """Write text; its length. Raises ``ValueError`` when closed, ``TypeError``."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        self._outlet.write(self._category, text)
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Write texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Send what waits. Raises ``ValueError`` when closed."""
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        self._outlet.flush()

    def reconfigure(self, **_: Any) -> None:
        """Accepted as by other text streams; a client takes any text."""

    def writable(self) -> bool:
        """Always."""
        return True

    def isatty(self) -> bool:
        """Never: a client is no terminal."""
        return False

    def fileno(self) -> int:
        """The descriptor that processes and libraries in C write to."""
        return self._descriptor


class _Bytes(io.BufferedIOBase):
    """The ``buffer`` of a captured stream."""

    def __init__(self, stream: CapturedStream) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    raw: Any = None
    mode = "wb"

    @property
    def name(self) -> str:
        return self._stream.name

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        self._stream.write(self._decoder.decode(bytes(view)))
        return len(view)

    def flush(self) -> None:
        self._stream.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._stream.fileno()


def capture(outlet: Outlet) -> None:
    """Send this process's text output through ``outlet``; children keep the descriptors."""
    outlet.settle = settler()
    sys.stdout = CapturedStream(outlet, "stdout", 1)
    sys.stderr = CapturedStream(outlet, "stderr", 2)
    os.register_at_fork(after_in_child=_write_to_descriptors)


def release() -> None:
    """Send the output nowhere, also that of children: nobody reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
    _write_to_descriptors()


def _write_to_descriptors() -> None:
    """Write text to the descriptors themselves."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        if isinstance(getattr(sys, name), CapturedStream):
            stream = open(  # noqa: SIM115 - lives as long as the process
                number, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
            )
            setattr(sys, name, stream)


def settler() -> Callable[[], None]:
    """A function that waits until what was written to descriptors 1 and 2 has been read.

    The supervisor reads those pipes; once they are empty, what is sent by the link comes after.
    """
    try:
        from fcntl import ioctl
        from termios import FIONREAD
    except ImportError:
        return _nothing  # a system where pipes cannot be asked
    from array import array
    from time import monotonic, sleep

    count = array("i", [0])
    pipes = [(number, place) for number in (1, 2) if (place := _pipe(number)) is not None]

    def waiting() -> bool:
        for number, place in pipes:
            try:
                ioctl(number, FIONREAD, count)
            except OSError:
                continue  # closed by the program
            # The program may have led the descriptor elsewhere.
            if count[0] and _pipe(number) == place:
                return True
        return False

    def settle() -> None:
        if waiting():
            until = monotonic() + _LONGEST_WAIT
            while waiting() and monotonic() < until:
                sleep(0.0001)

    return settle


def _pipe(number: int) -> tuple[int, int] | None:
    """What identifies the pipe at a descriptor, ``None`` for other files."""
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISFIFO(status.st_mode) else None


def _nothing() -> None:
    pass
