"""Letting debuggers attach to a running process: ``kedi.debugging.listen``."""

from __future__ import annotations

import atexit
import ipaddress
import os
import secrets
import socket
import sys
import threading
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING, Any

from kedi.runtime.living import unwatch, watch
from kedi_dap import endpoints
from kedi_dap.debuggee.outlet import Outlet
from kedi_dap.debuggee.tee import Tee
from kedi_dap.endpoints import Endpoint
from kedi_dap.handshake import knows, read_private
from kedi_dap.masking import BadPattern, masker_for
from kedi_dap.messages import PRIVATE_PREFIX, encode, private
from kedi_dap.server.server import DebugServer, Settings
from kedi_dap.transport import Closed, Malformed, SocketLink

if TYPE_CHECKING:
    from kedi.debugging.endpoint import Console

#: Characters of the shortest token that may guard a port which others can reach.
_MIN_TOKEN = 16


class Listener:
    """A port for one debugger at a time; see :class:`kedi.debugging.endpoint.Listening`."""

    def __init__(self, host: str, port: int, token: str, console: Console | None) -> None:
        self._socket = socket.create_server((host, port))
        self._socket.set_inheritable(False)
        self.host = host
        self.port: int = self._socket.getsockname()[1]
        self.token = token
        self.console = console
        self.name = _program_name()
        self.token_file: str | None = None
        self._client: Attachment | None = None
        self._configured = threading.Event()
        self._lock = threading.Lock()
        self._closed = False
        try:
            self.token_file = endpoints.write(
                Endpoint(self.host, self.port, token, os.getpid(), self.name)
            )
        except OSError:
            pass  # the token itself is known to the caller
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._in_child)
        threading.Thread(target=self._accept, name="kedi-dap-listener", daemon=True).start()

    @property
    def connected(self) -> bool:
        """Whether a debugger is attached."""
        return self._client is not None

    def wait_for_client(self, timeout: float | None = None) -> bool:
        """Wait until a debugger has attached and set its breakpoints; false when none came."""
        return self._configured.wait(timeout)

    def close(self) -> None:
        """Listen no more; a debugger that is attached leaves. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            client = self._client
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # some systems only close
        self._socket.close()
        if self.token_file is not None:
            endpoints.remove(self.token_file)
        if client is not None:
            client.leave()
        atexit.unregister(self.close)

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(
                target=self._greet, args=(connection,), name="kedi-dap-client", daemon=True
            ).start()

    def _greet(self, connection: socket.socket) -> None:
        link = SocketLink(connection)
        first = read_private(link)
        if first is None or first.get("kedi") != "attach":
            link.close()
            return
        if not knows(first, self.token):
            _refuse(link, "the token is wrong")
            return
        client = Attachment(self, link)
        with self._lock:
            taken = self._client is not None or self._closed
            if not taken:
                self._client = client
        if taken:
            _refuse(link, "another debugger is attached: one at a time")
            return
        try:
            link.send(encode(private("welcome", pid=os.getpid(), name=self.name)))
            client.serve()
        except Closed:
            pass  # gone already
        finally:
            link.close()
            with self._lock:
                self._client = None
                self._configured.clear()

    def configured(self) -> None:
        """The debugger has set its breakpoints."""
        self._configured.set()

    def _in_child(self) -> None:
        """A child that was forked neither listens nor is debugged."""
        self._closed = True
        self._lock = threading.Lock()
        self._socket.close()
        if self._client is not None:
            self._client.in_child()
            self._client = None


def _refuse(link: SocketLink, reason: str) -> None:
    try:
        link.send(encode(private("refused", reason=reason)))
    except Closed:
        pass  # it does not wait for the answer
    link.close()


class Attachment:
    """A debugger while it is attached."""

    def __init__(self, listener: Listener, link: SocketLink) -> None:
        self._listener = listener
        self._link = link
        self._server: DebugServer | None = None
        self._left = False

    def serve(self) -> None:
        """Answer until the debugger leaves; then the program goes on undebugged."""
        messages = self._link.messages()
        start = read_private(self._link)
        if start is None or start.get("kedi") != "start":
            return
        try:
            masker = masker_for(os.environ, start.get("redact") or ())
        except BadPattern:
            return  # the adapter has checked it
        outlet = Outlet(self._link, masker)
        server = self._server = DebugServer(
            outlet,
            Settings(client=start.get("client") or {}, just_my_code=start.get("justMyCode", True)),
        )
        server.main = server.debugger.thread_of(threading.main_thread())
        console = self._listener.console
        watch(server.debugger.attach)
        tee = Tee(outlet)
        tee.open()
        try:
            if console is not None:
                server.find_session = lambda: console.session
                server.door(server.main).wake = console.wake
                if console.wake is not None:
                    console.connect(_PromptJobs(server, tee))
            self._link.send(encode(private("ready")))
            for body in messages:
                if isinstance(body, Malformed):
                    continue  # the adapter passes on whole messages only
                if body.startswith(PRIVATE_PREFIX):
                    self._private(server, body)
                else:
                    server.receive(body)
        finally:
            unwatch(server.debugger.attach)
            tee.close()
            if console is not None:
                console.connect(None)
            server.close()

    def _private(self, server: DebugServer, body: bytes) -> None:
        import orjson

        message: dict[str, Any] = orjson.loads(body)
        match message.get("kedi"):
            case "configured":
                self._listener.configured()
            case "cancel":
                server.cancel(message.get("requestId"), message.get("progressId"))
            case "terminate":
                import signal

                server.debugger.detach()
                ident = threading.main_thread().ident
                if ident is not None:
                    signal.pthread_kill(ident, signal.SIGINT)
            case "detach":
                self.leave()
            case _:
                pass  # of a later adapter

    def leave(self) -> None:
        """End it, once what was written until now is sent."""
        if self._server is not None:
            self._server.outlet.flush()
        self._link.close()

    def in_child(self) -> None:
        """In a child process: the link is the parent's."""
        self._link.socket.close()
        if self._server is not None:
            self._server.outlet.after_fork()
            self._server.debugger.detach()


class _PromptJobs:
    """Jobs for the thread of a prompt."""

    def __init__(self, server: DebugServer, tee: Tee) -> None:
        self._server = server
        self._tee = tee

    def idle(self, idle: bool) -> None:
        """The thread waits at its prompt from now on, or does so no more."""
        main = self._server.main
        assert main is not None
        door = self._server.door(main)
        if idle:
            door.enter("idle")
        else:
            door.leave()

    def serve(self) -> None:
        """Do all jobs there are."""
        main = self._server.main
        assert main is not None
        while True:
            try:
                job = main.mailbox.get_nowait()
            except Empty:
                return
            with self._tee.over_current():
                job()


_active: Listener | None = None


def listen(
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    console: Console | None = None,
) -> Listener:
    """See :func:`kedi.debugging.listen`."""
    global _active
    if not _is_loopback(host):
        if token is None:
            raise ValueError(
                f"others can reach {host!r}, and a debugger can run anything: give a `token`"
            )
        if len(token) < _MIN_TOKEN:
            raise ValueError(f"a `token` for {host!r} has at least {_MIN_TOKEN} characters")
    if token == "":
        raise ValueError("the `token` is empty")
    active = _active
    if active is not None and not active._closed:  # pyright: ignore[reportPrivateUsage]
        if port not in (0, active.port) or (token is not None and token != active.token):
            raise ValueError(
                f"this process listens at port {active.port} already: close that first"
            )
        return active
    _active = Listener(host, port, token or secrets.token_hex(32), console)
    return _active


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _program_name() -> str:
    return " ".join([Path(sys.argv[0] or "python").name, *sys.argv[1:3]])[:200]
