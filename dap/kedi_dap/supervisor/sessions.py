"""A launched or attached process from beginning to end."""

from __future__ import annotations

import os
import socket
import threading
from typing import TYPE_CHECKING, Any

from kedi_dap.handshake import HELLO_TIME, read_private
from kedi_dap.masking import Masker
from kedi_dap.messages import Incoming, encode, private
from kedi_dap.server.arguments import Arguments, RequestError
from kedi_dap.supervisor.debuggee import (
    Debuggee,
    Door,
    Process,
    StartFailed,
    command,
    spawn,
)
from kedi_dap.supervisor.launch import Launch, read_launch
from kedi_dap.supervisor.pump import Pump
from kedi_dap.transport import Closed, SocketLink

if TYPE_CHECKING:
    from kedi_dap.supervisor.adapter import Adapter

#: Characters of a failing start's output that its error shows.
_SHOWN = 2_000


class Session:
    """A process under debugging; ``request`` is what asked for it, ``owned`` whether it is ours."""

    owned = False

    def __init__(self, adapter: Adapter, request: Incoming, masker: Masker) -> None:
        self.adapter = adapter
        self.request = request
        self.masker = masker
        self.process: Process | None = None
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kedi-dap-pump", daemon=True)

    def start(self) -> None:
        """Begin, on a thread of its own. Raises :class:`RequestError` for what fails at once."""
        self._thread.start()

    def join(self) -> None:
        """Wait a moment for the end of a process that was killed."""
        self._thread.join(5.0)

    def settings(self) -> dict[str, Any]:
        """What the process is told at its start."""
        raise NotImplementedError

    def process_body(self, debuggee: Debuggee) -> dict[str, Any]:
        """The body of the ``process`` event."""
        raise NotImplementedError

    def connect(self) -> Debuggee:
        """The connected process. Raises :class:`StartFailed`."""
        raise NotImplementedError

    def kill(self) -> None:
        """End the process at once."""
        self.stopped.set()
        if self.process is not None:
            self.process.kill()

    def abandon(self) -> None:
        """The client is gone."""
        self.stopped.set()

    def release(self) -> None:
        """The process goes on without the client."""

    def _run(self) -> None:
        try:
            debuggee = self.connect()
        except StartFailed as error:
            self.adapter.failed(self, str(error))
            return
        try:
            self.adapter.connected(self, debuggee)
        except StartFailed:
            self.kill()
        Pump(debuggee, self.adapter.client, self.adapter.take).run()
        self.adapter.ended(self, self._status(debuggee))

    def _status(self, debuggee: Debuggee) -> int | None:
        status = debuggee.process.wait()
        return debuggee.said_status if status is None else status


class Launched(Session):
    """A program that this adapter starts."""

    owned = True

    def __init__(self, adapter: Adapter, request: Incoming, launch: Launch) -> None:
        super().__init__(adapter, request, launch.masker)
        self.launch = launch
        self._pipes: list[int] = []
        self._door = Door()
        self._released = False

    @classmethod
    def read(cls, adapter: Adapter, request: Incoming) -> Launched:
        """Check what is asked for. Raises :class:`RequestError`."""
        launch = read_launch(request.arguments)
        terminal = adapter.features.get("supportsRunInTerminalRequest") is True
        if launch.console == "integratedTerminal" and not terminal:
            raise RequestError(
                "`console`: this client cannot run programs in a terminal; use `internalConsole`"
            )
        return cls(adapter, request, launch)

    def start(self) -> None:
        """Start the process, then wait for it elsewhere."""
        for note in self.launch.notes:
            self.adapter.say(note)
        if self.launch.console == "integratedTerminal":
            self._ask_for_terminal()
        else:
            try:
                self.process, self._pipes = spawn(self.launch, self._door)
            except StartFailed as error:
                self.adapter.failed(self, str(error))
                raise RequestError(str(error)) from None
        super().start()

    def _ask_for_terminal(self) -> None:
        launch = self.launch
        inherited = {
            name: value
            for name, value in launch.environment.items()
            if os.environ.get(name) != value
        }
        removed = {name: None for name in os.environ if name not in launch.environment}

        def answered(message: dict[str, Any]) -> None:
            if message.get("success") is not True:
                self._problem = f"the client did not start it: {message.get('message')}"
                self.stopped.set()

        self.adapter.ask(
            "runInTerminal",
            {
                "kind": "integrated",
                "title": f"Kedi: {os.path.basename(launch.name)}",
                "cwd": launch.cwd,
                "args": command(launch),
                "env": {**removed, **inherited, "KEDI_DAP_LINK": self._door.address},
            },
            answered,
        )

    _problem: str | None = None

    def connect(self) -> Debuggee:
        """Wait for the process to report."""
        try:
            link, hello = self._door.accept(self.process, self.stopped)
        except StartFailed as error:
            said = self._said()
            self.kill()
            raise StartFailed(said or self._problem or str(error)) from None
        if self.process is None:
            pid = int(hello.get("pid", 0))
            self.process = Process(pid, group=hello.get("leader") is True, child=None)
        return Debuggee(link, self.process, self._pipes, owned=True)

    def _said(self) -> str | None:
        """Why a process that ended before it began did so, by its own words."""
        text = ""
        for descriptor in reversed(self._pipes):
            os.set_blocking(descriptor, False)
            try:
                text += os.read(descriptor, 1 << 20).decode("utf-8", "replace")
            except BlockingIOError:
                pass  # nothing there
            os.close(descriptor)
        self._pipes = []
        text = text.strip()
        if "No module named" in text and "kedi_dap" in text:
            return (
                f"`{self.launch.python[0]}` has no Kedi debugger: "
                "run `pip install 'kedi[dap]'` with it"
            )
        if not text:
            return None
        return f"the program's process ended before it began: {text[-_SHOWN:]}"

    def settings(self) -> dict[str, Any]:
        """The launch."""
        internal = self.launch.console == "internalConsole"
        return {"mode": "launch", "capture": internal, **self.launch.settings()}

    def process_body(self, debuggee: Debuggee) -> dict[str, Any]:
        """The program and its process."""
        return {
            "name": self.launch.name,
            "systemProcessId": debuggee.process.pid,
            "isLocalProcess": True,
            "startMethod": "launch",
        }

    def abandon(self) -> None:
        """End it: nothing is left behind."""
        if not self._released:
            self.kill()

    def release(self) -> None:
        """Let it go on; what it writes from now on goes nowhere."""
        self._released = True


class Attached(Session):
    """A process that listens."""

    def __init__(self, adapter: Adapter, request: Incoming, masker: Masker, target: Any) -> None:
        super().__init__(adapter, request, masker)
        self.target = target

    @classmethod
    def read(cls, adapter: Adapter, request: Incoming) -> Attached:
        """Find out whom to attach to. Raises :class:`RequestError`."""
        from kedi_dap.masking import BadPattern, masker_for
        from kedi_dap.supervisor.attach import read_target

        given = Arguments(request.arguments)
        target = read_target(given)
        try:
            masker = masker_for(os.environ, given.texts("redact", None))
        except BadPattern as error:
            raise RequestError(str(error)) from None
        return cls(adapter, request, masker, target)

    def connect(self) -> Debuggee:
        """Connect and show the token."""
        target = self.target
        where = f"{target.host}:{target.port}"
        try:
            connection = socket.create_connection((target.host, target.port), HELLO_TIME)
        except OSError as error:
            raise StartFailed(
                f"nothing listens at {where}: {error.strerror or error}. "
                "Start the program with `kedi.debugging.listen()` or `kedi --idle --listen`"
            ) from None
        link = SocketLink(connection)
        try:
            link.send(encode(private("attach", token=target.token)))
        except Closed:
            pass  # what it answers tells why
        reply = read_private(link)
        if reply is None or reply.get("kedi") not in ("welcome", "refused"):
            link.close()
            raise StartFailed(f"what listens at {where} does not answer as a Kedi program")
        if reply["kedi"] == "refused":
            link.close()
            raise StartFailed(f"{where} refused: {reply.get('reason')}")
        self.name = str(reply.get("name"))
        pid = int(reply.get("pid", 0))
        self.process = Process(pid, group=False, child=None)
        return Debuggee(link, self.process, [], owned=False)

    name = ""

    def kill(self) -> None:
        """End the process it is attached to, where that is on this machine."""
        from kedi_dap.supervisor.attach import is_loopback

        self.stopped.set()
        if self.process is not None and is_loopback(self.target.host):
            self.process.kill()

    def settings(self) -> dict[str, Any]:
        """What of the request the process needs."""
        given = Arguments(self.request.arguments)
        return {
            "mode": "attach",
            "justMyCode": given.flag("justMyCode", True),
            "redact": given.texts("redact", None),
        }

    def process_body(self, debuggee: Debuggee) -> dict[str, Any]:
        """The process that was found."""
        from kedi_dap.supervisor.attach import is_loopback

        return {
            "name": self.name,
            "systemProcessId": debuggee.process.pid,
            "isLocalProcess": is_loopback(self.target.host),
            "startMethod": "attach",
        }
