"""Messages that leave the debugged process, in order with the program's output."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

from kedi_dap.masking import Masker, StreamMasker
from kedi_dap.messages import encode, event
from kedi_dap.transport import Closed, Link

Category = Literal["stdout", "stderr"]

#: Seconds that an unfinished line of output may wait for its rest.
_PATIENCE = 0.02
#: Characters of output that are sent without waiting for more, and of the largest event.
_ENOUGH = 16 * 1024
_MOST = 256 * 1024


class Outlet:
    """Writes masked messages to the link; output that was written before goes first.

    Output that :meth:`write` gets is collected for a moment, because ``print`` writes each line
    in two pieces. Whoever writes faster than the client reads waits: nothing is queued without
    bound.
    """

    def __init__(self, link: Link, masker: Masker) -> None:
        self.masker = masker
        self._link = link
        self._lock = threading.RLock()
        self._pieces: list[str] = []
        self._size = 0
        self._category: Category = "stdout"
        self._streams: dict[Category, StreamMasker] = self._fresh_streams()
        self._due = threading.Event()
        self._closed = False
        #: Waits until what the program wrote to its descriptors has been read.
        self.settle: Callable[[], None] = _nothing
        threading.Thread(target=self._send_late, name="kedi-dap-output", daemon=True).start()

    @property
    def closed(self) -> bool:
        """Whether the other end is gone; what is sent then is dropped."""
        return self._closed

    def use_masker(self, masker: Masker) -> None:
        """Mask by other rules from now on."""
        with self._lock:
            self._flush()
            self.masker = masker
            self._streams = self._fresh_streams()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message after all output before it."""
        data = self.masker.encode(message)
        with self._lock:
            self._flush()
            self.settle()
            self._put(data)

    def write(self, category: Category, text: str) -> None:
        """Program output."""
        if not text:
            return
        with self._lock:
            if self._closed:
                return
            if category != self._category and self._pieces:
                self._send_pieces()
            self._category = category
            first = not self._pieces
            self._pieces.append(text)
            self._size += len(text)
            if self._size >= _ENOUGH:
                self._send_pieces()
            elif first:
                self._due.set()

    def flush(self) -> None:
        """Send the output that waits."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Send what waits; drop everything from now on."""
        with self._lock:
            self._flush()
            self._closed = True
            self._due.set()

    def after_fork(self) -> None:
        """In a child process: the link is the parent's."""
        self._lock = threading.RLock()
        self._pieces, self._size = [], 0
        self._closed = True

    def _flush(self) -> None:
        self._send_pieces()
        for category, stream in self._streams.items():
            held = stream.flush()
            if held:
                self._output(category, held)

    def _send_pieces(self) -> None:
        if not self._pieces:
            return
        text = "".join(self._pieces)
        self._pieces, self._size = [], 0
        for start in range(0, len(text), _MOST):
            shown = self._streams[self._category].feed(text[start : start + _MOST])
            if shown:
                self._output(self._category, shown)

    def _output(self, category: Category, text: str) -> None:
        self._put(encode(event("output", {"category": category, "output": text})))

    def _put(self, data: bytes) -> None:
        if self._closed:
            return
        try:
            self._link.send(data)
        except Closed:
            self._closed = True

    def _send_late(self) -> None:
        while not self._closed:
            self._due.wait()
            self._due.clear()
            threading.Event().wait(_PATIENCE)
            self.flush()

    def _fresh_streams(self) -> dict[Category, StreamMasker]:
        return {"stdout": StreamMasker(self.masker), "stderr": StreamMasker(self.masker)}


def _nothing() -> None:
    pass
