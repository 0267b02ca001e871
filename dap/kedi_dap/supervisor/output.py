"""What a program writes to its descriptors: decoded, masked, as output events."""

from __future__ import annotations

import codecs
import os
import select
from array import array
from typing import TYPE_CHECKING

from kedi_dap.masking import Masker, StreamMasker
from kedi_dap.messages import encode, event

if TYPE_CHECKING:
    from kedi_dap.supervisor.client import Client

_MOST = 64 * 1024


class Pipe:
    """One output pipe of the program; ``category`` is ``stdout`` or ``stderr``."""

    def __init__(self, descriptor: int, category: str, masker: Masker, client: Client) -> None:
        self.descriptor = descriptor
        self._category = category
        self._client = client
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._stream = StreamMasker(masker)
        self.open = True
        #: Whether something may wait for its rest.
        self.holds = False

    def available(self) -> int:
        """Bytes that can be read at once; at least 1 when asked after ``poll`` said so."""
        try:
            from fcntl import ioctl
            from termios import FIONREAD
        except ImportError:
            return _MOST
        count = array("i", [0])
        ioctl(self.descriptor, FIONREAD, count)
        return count[0]

    def read(self, size: int) -> None:
        """Pass on up to ``size`` bytes, which are there; at the end, close."""
        left = max(size, 1)
        while left > 0 and self.open:
            data = os.read(self.descriptor, min(left, _MOST))
            left -= len(data)
            if not data:
                self.close()
                return
            self._pass(self._stream.feed(self._decoder.decode(data)))
            self.holds = True

    def flush(self) -> None:
        """Pass on what waits for a rest that does not come."""
        self.holds = False
        self._pass(self._stream.flush())

    def drain(self) -> None:
        """Pass on all that is there now."""
        while self.open and select.select([self.descriptor], [], [], 0)[0]:
            self.read(_MOST if self.available() > _MOST else self.available())

    def close(self) -> None:
        """No more is read."""
        if self.open:
            self.open = False
            self._pass(self._stream.feed(self._decoder.decode(b"", True)))
            self.flush()
            os.close(self.descriptor)

    def _pass(self, text: str) -> None:
        if text:
            self._client.forward(
                encode(event("output", {"category": self._category, "output": text}))
            )
