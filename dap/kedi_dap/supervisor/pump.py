"""The thread that passes on what a debugged process sends, until that ends."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from kedi_dap.supervisor.output import Pipe
from kedi_dap.transport import Malformed

if TYPE_CHECKING:
    from kedi_dap.supervisor.client import Client
    from kedi_dap.supervisor.debuggee import Debuggee

_CHUNK = 256 * 1024
#: Milliseconds that unfinished output waits for its rest.
_PATIENCE = 20
#: Milliseconds in which output must follow after the process has ended, as long as children of
#: it hold its output open.
_QUIET = 100


class Pump:
    """Passes on messages and output of a process in the order in which they were written.

    A process sends a message only once its pipes are empty. So what the link holds when a pipe
    is found to hold bytes was sent before these, and is passed on first.
    """

    def __init__(self, debuggee: Debuggee, client: Client, take: Callable[[bytes], None]) -> None:
        self._debuggee = debuggee
        self._take = take
        self._link_open = True
        self._pipes = [
            Pipe(descriptor, category, client.masker, client)
            for descriptor, category in zip(debuggee.pipes, ("stdout", "stderr"), strict=False)
        ]

    def run(self) -> None:
        """Pass on until the process is gone or has closed its link and all output is read."""
        poll = select.poll()
        link = self._debuggee.link.socket
        poll.register(link, select.POLLIN)
        by_number = {pipe.descriptor: pipe for pipe in self._pipes}
        for number in by_number:
            poll.register(number, select.POLLIN)
        wake = self._watch_end()
        if wake is not None:
            poll.register(wake, select.POLLIN)
        self._read_link()  # what came with the greeting
        ended = False
        while self._link_open and not ended:
            holding = any(pipe.holds for pipe in self._pipes)
            ready = [number for number, _ in poll.poll(_PATIENCE if holding else None)]
            if not ready:
                for pipe in self._pipes:
                    pipe.flush()
            ended = wake in ready
            waiting = [by_number[number] for number in ready if number in by_number]
            sizes = [pipe.available() for pipe in waiting]
            self._read_link()
            for pipe, size in zip(waiting, sizes, strict=True):
                pipe.read(size)
                if not pipe.open:
                    poll.unregister(pipe.descriptor)
        self._finish()
        if wake is not None:
            os.close(wake)

    def _read_link(self) -> None:
        """Take every message that is there."""
        if not self._link_open:
            return
        link, framer = self._debuggee.link.socket, self._debuggee.framer
        data = b""
        while True:
            for body in framer.feed(data):
                if not isinstance(body, Malformed):
                    self._take(body)
            try:
                data = link.recv(_CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._link_open = False
                return

    def _finish(self) -> None:
        """Read what the process left in its pipes; its children may write on for a while."""
        open_pipes = [pipe for pipe in self._pipes if pipe.open]
        while open_pipes:
            numbers = [pipe.descriptor for pipe in open_pipes]
            alive = self._debuggee.process.alive
            ready, _, _ = select.select(numbers, [], [], _QUIET / 1000)
            if not ready and not alive:
                break
            self._read_link()
            for pipe in open_pipes:
                if pipe.descriptor in ready:
                    pipe.read(pipe.available())
            open_pipes = [pipe for pipe in open_pipes if pipe.open]
        for pipe in self._pipes:
            pipe.close()

    def _watch_end(self) -> int | None:
        """A descriptor that can be read once the process has ended, for a child of ours."""
        child = self._debuggee.process.child
        if child is None:
            return None
        reading, writing = os.pipe()

        def wait() -> None:
            self._debuggee.process.wait()
            os.close(writing)

        threading.Thread(target=wait, name="kedi-dap-wait", daemon=True).start()
        return reading
