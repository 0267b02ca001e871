"""Messages on a stream of bytes: ``Content-Length`` framing, both ways.

A message is one ``send``, so that no message waits for the acknowledgement of its first half.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

#: Bytes of the longest header block, and of the largest message.
MAX_HEADER = 64 * 1024
MAX_BODY = 256 * 1024 * 1024
_CHUNK = 256 * 1024

_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(
    rb"^content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
_START = re.compile(rb"(?i)content-length[ \t]*:")


@dataclass(frozen=True, slots=True)
class Malformed:
    """Bytes that were no message and have been skipped; ``problem`` says why."""

    problem: str


class Framer:
    """Cuts a stream of bytes into the bodies of messages.

    After garbage it goes on at the next header, and holds no more than one message and a chunk.
    """

    __slots__ = ("_buffer", "_junk", "_scanned", "_skip", "_wanted")

    def __init__(self) -> None:
        self._buffer = bytearray()
        #: Bytes of the body that comes next, ``-1`` while a header is read.
        self._wanted = -1
        #: Bytes of a body that is too large and still to come.
        self._skip = 0
        #: Whether what precedes the next header was reported already.
        self._junk = False
        self._scanned = 0

    @property
    def pending(self) -> bool:
        """Whether the stream stands in the middle of a message."""
        return bool(self._buffer) or self._wanted >= 0 or self._skip > 0

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[bytes | Malformed]:
        """The bodies that ``data`` completes, in order. Consume them before feeding on."""
        self._buffer += data
        while True:
            if self._skip:
                dropped = min(self._skip, len(self._buffer))
                del self._buffer[:dropped]
                self._skip -= dropped
                if self._skip:
                    return
            if self._wanted < 0:
                found = yield from self._header()
                if not found:
                    return
                continue
            if len(self._buffer) < self._wanted:
                return
            body = bytes(memoryview(self._buffer)[: self._wanted])
            del self._buffer[: self._wanted]
            self._wanted = -1
            yield body

    def _header(self) -> Generator[Malformed, None, bool]:
        """Read a header block; its value is whether there was one."""
        end = _HEADER_END.search(self._buffer, max(0, self._scanned - 3))
        if end is None:
            self._scanned = len(self._buffer)
            if len(self._buffer) > MAX_HEADER:
                yield from self._resync("a header without an end", keep_last=True)
            return False
        self._scanned = 0
        block = bytes(self._buffer[: end.start()])
        match = _LENGTH.search(block)
        if match is None or len(block) > MAX_HEADER:
            yield from self._resync("a header without Content-Length", upto=end.end())
            return True
        if not self._junk and _first_line_is_junk(block):
            yield Malformed("bytes that belong to no message")
        self._junk = False
        del self._buffer[: end.end()]
        length = int(match[1])
        if length > MAX_BODY:
            self._skip = length
            yield Malformed(f"a message of {length:,} bytes; at most {MAX_BODY:,} are taken")
        else:
            self._wanted = length
        return True

    def _resync(
        self, problem: str, *, upto: int | None = None, keep_last: bool = False
    ) -> Iterator[Malformed]:
        """Drop what is no header: up to the next one, or to ``upto``."""
        if not self._junk:
            self._junk = True
            yield Malformed(problem)
        start = _START.search(self._buffer, 1)
        if start is not None and (upto is None or start.start() < upto):
            del self._buffer[: start.start()]
        elif upto is not None:
            del self._buffer[:upto]
        elif keep_last:
            # The next header may have begun at the end.
            del self._buffer[: len(self._buffer) - 64]
        self._scanned = 0


def _first_line_is_junk(block: bytes) -> bool:
    for line in block.splitlines():
        name, colon, _ = line.partition(b":")
        if not colon or not name.strip().replace(b"-", b"").isalnum():
            return True
    return False


def framed(body: bytes) -> bytes:
    """A body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Closed(Exception):
    """The other end is gone."""


class Link(Protocol):
    """A connection that carries whole messages. Writing is safe from several threads."""

    def send(self, body: bytes) -> None:
        """Write one message. Raises :class:`Closed`."""
        ...

    def close(self) -> None:
        """End it; the reader sees the end. Idempotent."""
        ...


class SocketLink:
    """Messages over a connected socket; :meth:`messages` is for one reading thread."""

    def __init__(self, connection: socket.socket) -> None:
        prepare(connection)
        self.socket = connection
        self.framer = Framer()
        self._lock = threading.Lock()

    def send(self, body: bytes) -> None:
        """Write one message; blocks while the reader is behind. Raises :class:`Closed`.

        An interrupt that comes meanwhile is raised once the message is out: half of one would
        make everything after it unreadable.
        """
        with self._lock:
            try:
                write_whole(self.socket, framed(body))
            except (OSError, ValueError) as error:
                raise Closed(str(error)) from error

    def messages(self) -> Iterator[bytes | Malformed]:
        """Messages until the other end closes."""
        data = b""  # what came before may hold some
        while True:
            yield from self.framer.feed(data)
            try:
                data = self.socket.recv(_CHUNK)
            except (OSError, ValueError):
                return
            if not data:
                return

    def close(self) -> None:
        """End the connection in both directions, also for a thread that reads it."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # not connected any more
        self.socket.close()


def write_whole(connection: socket.socket, data: bytes) -> None:
    """Send all of ``data``, whatever signal handlers raise meanwhile; that is raised at the end."""
    view = memoryview(data)
    sent: list[int] = []
    interrupted: BaseException | None = None
    while (done := sum(sent)) < len(view):
        try:
            # The count is in the list before any handler can run.
            sent.extend(map(connection.send, (view[done:],)))
        except (OSError, ValueError):
            raise
        except BaseException as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted


def prepare(connection: socket.socket) -> None:
    """Send at once and notice a peer that is gone; not handed to programs that are run."""
    connection.setblocking(True)
    if connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.set_inheritable(False)
