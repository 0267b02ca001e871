"""The connection to a debugged process, whoever started it, and the end of that process."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from typing import Any

from kedi_dap.handshake import knows, read_private
from kedi_dap.messages import encode, private
from kedi_dap.supervisor.launch import Launch
from kedi_dap.transport import Closed, Framer, SocketLink

#: Seconds in which a started program has to connect.
CONNECT_TIME = 60.0


class StartFailed(Exception):
    """A program's process that did not come up. The message says why."""


class Process:
    """A process that this adapter may end.

    ``pid`` leads a process group when ``group`` is set. ``child`` is there when the adapter
    started it itself and so learns its status.
    """

    def __init__(self, pid: int, *, group: bool, child: subprocess.Popen[bytes] | None) -> None:
        self.pid = pid
        self.group = group
        self.child = child
        self.status: int | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()

    def wait(self, timeout: float | None = None) -> int | None:
        """Its exit status, negative for a signal; ``None`` when it runs still or is not ours."""
        child = self.child
        if child is None:
            return None
        with self._lock:
            if self.status is None:
                try:
                    self.status = child.wait(timeout)
                except subprocess.TimeoutExpired:
                    return None
            return self.status

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        if self.child is not None:
            return self.status is None and self.child.poll() is None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to it, or to everything it has started; nothing when it is gone."""
        if self.child is not None and self.child.returncode is not None:
            return
        try:
            if group and self.group:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except OSError:
            pass  # gone

    def kill(self) -> None:
        """End it and what it has started, at once."""
        self.signal(signal.SIGKILL, group=True)


class Door:
    """A port of this machine at which a process that was started reports with a token."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=8)
        self.token = secrets.token_hex(32)
        self.port: int = self._server.getsockname()[1]

    @property
    def address(self) -> str:
        """What the process gets to find here."""
        return f"{self.port}:{self.token}"

    def accept(self, process: Process | None, stopped: threading.Event) -> tuple[SocketLink, Any]:
        """The connection of the process and its greeting. Raises :class:`StartFailed`."""
        until = time.monotonic() + CONNECT_TIME
        self._server.settimeout(0.05)
        try:
            while time.monotonic() < until and not stopped.is_set():
                try:
                    connection, _ = self._server.accept()
                except TimeoutError:
                    if process is not None and not process.alive:
                        raise StartFailed("the program's process ended before it began") from None
                    continue
                greeted = greeting(connection, self.token)
                if greeted is not None:
                    return greeted
        finally:
            self._server.close()
        if stopped.is_set():
            raise StartFailed("it was ended before it began")
        raise StartFailed(f"the program's process did not report within {CONNECT_TIME:.0f} seconds")


def greeting(connection: socket.socket, token: str) -> tuple[SocketLink, Any] | None:
    """The link and the greeting of a process that knows the token; others are sent away."""
    link = SocketLink(connection)
    first = read_private(link)
    if first is not None and first.get("kedi") == "hello" and knows(first, token):
        return link, first
    link.close()
    return None


def spawn(launch: Launch, door: Door) -> tuple[Process, list[int]]:
    """Start the program's process; gives the ends of its output to read from too.

    Raises :class:`StartFailed`.
    """
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    environment = {**launch.environment, "KEDI_DAP_LINK": door.address}
    try:
        child = subprocess.Popen(
            command(launch),
            stdin=subprocess.DEVNULL,
            stdout=out_write,
            stderr=err_write,
            cwd=launch.cwd,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(out_read)
        os.close(err_read)
        raise StartFailed(
            f"`{launch.python[0]}` cannot be started: {getattr(error, 'strerror', None) or error}"
        ) from None
    finally:
        os.close(out_write)
        os.close(err_write)
    return Process(child.pid, group=True, child=child), [out_read, err_read]


def command(launch: Launch) -> list[str]:
    """The command line of the program's process."""
    return [*launch.python, "-m", "kedi_dap.debuggee"]


class Debuggee:
    """A connected process. Sending is safe from several threads."""

    def __init__(
        self, link: SocketLink, process: Process, pipes: list[int], *, owned: bool
    ) -> None:
        self.link = link
        self.process = process
        #: Ends of the process's output pipes: standard output and standard error, or none.
        self.pipes = pipes
        #: Whether this adapter started it, so that it ends with the adapter.
        self.owned = owned
        #: What it said its status will be, for processes that are no children.
        self.said_status: int | None = None

    @property
    def framer(self) -> Framer:
        """Cuts what is read from the link."""
        return self.link.framer

    def send(self, body: bytes) -> bool:
        """Pass a message on; false when the process is gone."""
        try:
            self.link.send(body)
        except Closed:
            return False
        return True

    def tell(self, what: str, **fields: Any) -> bool:
        """Send it a message of our own; false when it is gone."""
        return self.send(encode(private(what, **fields)))
