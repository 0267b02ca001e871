"""The client's side: numbering, masking and logging of what goes to it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from kedi_dap.masking import Masker
from kedi_dap.messages import numbered
from kedi_dap.transport import Closed, Framer, Link, Malformed, framed

_CHUNK = 256 * 1024


class StreamLink:
    """Messages over two descriptors, such as standard input and output."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._lock = threading.Lock()

    def send(self, body: bytes) -> None:
        """Write one message. Raises :class:`Closed`."""
        view = memoryview(framed(body))
        with self._lock:
            try:
                while view:
                    view = view[os.write(self._writing, view) :]
            except OSError as error:
                raise Closed(str(error)) from error

    def messages(self) -> Iterator[bytes | Malformed]:
        """Messages until the other end closes."""
        framer = Framer()
        while True:
            try:
                data = os.read(self._reading, _CHUNK)
            except OSError:
                return
            if not data:
                return
            yield from framer.feed(data)

    def close(self) -> None:
        """Nothing: the descriptors are the process's."""


class Log:
    """All messages, masked, one a line. Without a file it does nothing."""

    def __init__(self, path: str | None) -> None:
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()
        if path is not None:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._file = os.fdopen(handle, "ab", buffering=0)

    def write(self, direction: str, body: bytes, masker: Masker) -> None:
        """A message that came (``<``) or goes (``>``)."""
        if self._file is None:
            return
        line = masker.line(body)
        with self._lock:
            self._file.write(b"%.3f %b %b\n" % (time.time(), direction.encode(), line))

    @property
    def on(self) -> bool:
        """Whether anything is written."""
        return self._file is not None


class Client:
    """Sends to the client, from any thread, in the order of ``seq``."""

    def __init__(self, link: Link, log: Log, masker: Masker) -> None:
        self._link = link
        self._log = log
        self._lock = threading.Lock()
        self._seq = 0
        self.masker = masker
        self.gone = False

    def send(self, message: dict[str, Any]) -> int:
        """Send a message of the adapter's own; its number."""
        return self.forward(self.masker.encode(message))

    def forward(self, body: bytes) -> int:
        """Send a message that is encoded and masked already; its number."""
        with self._lock:
            self._seq += 1
            data = numbered(self._seq, body)
            if self._log.on:
                self._log.write(">", data, self.masker)
            if not self.gone:
                try:
                    self._link.send(data)
                except Closed:
                    self.gone = True
            return self._seq

    def received(self, body: bytes) -> None:
        """Note a message for the log."""
        if self._log.on:
            self._log.write("<", body, self.masker)
