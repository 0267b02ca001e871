"""One client and its debugged process: the requests that are answered here, and their order."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from kedi_dap.masking import Masker, secrets_in
from kedi_dap.messages import (
    PRIVATE_PREFIX,
    Incoming,
    Unusable,
    answered,
    cancelled,
    encode,
    event,
    failure,
    read_request,
    response,
)
from kedi_dap.server.arguments import Arguments, RequestError
from kedi_dap.server.capabilities import advertised
from kedi_dap.supervisor.client import Client, Log
from kedi_dap.supervisor.debuggee import Debuggee, StartFailed
from kedi_dap.supervisor.launch import masker_of_request
from kedi_dap.supervisor.memory import Memory
from kedi_dap.supervisor.sessions import Attached, Launched, Session
from kedi_dap.transport import Link, Malformed

#: Seconds that a program gets to end by itself after ``terminate``.
GRACE = 5.0


class Adapter:
    """Serves one client on a link until that leaves.

    Three threads: the reader (:meth:`run`), which never waits for the program; a pump for each
    process, which starts it and passes on what it sends; timers of a ``terminate``.
    """

    def __init__(self, link: Link, log: Log, token: str | None = None) -> None:
        self._link = link
        self._token = token
        self.client = Client(link, log, Masker(secrets_in(os.environ)))
        self.features: dict[str, Any] = {}
        self.memory = Memory()
        self._lock = threading.RLock()
        self._session: Session | None = None
        self._debuggee: Debuggee | None = None
        #: Requests for the process, by number; what waits for it; whether it may begin.
        self._pending: dict[int, str] = {}
        self._waiting: list[tuple[Incoming, bytes]] = []
        self._configured = False
        self._initialized = False
        self._restarting: Incoming | None = None
        #: What asked for the process and is not answered yet.
        self._started: Incoming | None = None
        self._ended = False
        self._leaving = False
        self._over = threading.Event()
        self._reverse: dict[int, Callable[[dict[str, Any]], None]] = {}
        self._timer: threading.Timer | None = None

    # ── reading ──────────────────────────────────────────────────────────────

    def run(self, messages: Any) -> None:
        """Serve until the client leaves; then nothing of what was started here is left."""
        try:
            for body in messages:
                if isinstance(body, Malformed):
                    self.client.send(failure(0, "", f"unreadable input: {body.problem}"))
                    continue
                self._take(body)
                if self._over.is_set():
                    break
        finally:
            self.leave()

    def leave(self) -> None:
        """The client is gone: end what was started, leave what was attached to."""
        with self._lock:
            self._leaving = True
            session, debuggee = self._session, self._debuggee
            self._over.set()
        self.client.gone = True
        if session is not None:
            session.abandon()
        if debuggee is not None:
            debuggee.link.close()

    def _take(self, body: bytes) -> None:
        try:
            request = read_request(body)
        except Unusable as error:
            self.client.received(body)
            self.client.send(failure(error.seq, error.command, str(error)))
            return
        if request is not None and request.command in ("launch", "attach", "restart"):
            # What it brings is masked in the log from this very message on.
            self.client.masker = masker_of_request(request.arguments)
        self.client.received(body)
        if request is None:
            self._answered(body)
            return
        handler = _HANDLERS.get(request.command)
        try:
            if handler is None:
                self._pass(request, body)
            else:
                handler(self, request, Arguments(request.arguments))
        except RequestError as error:
            self.fail(request, error.message, show_user=error.show_user)
        except Exception as error:
            import traceback

            self.fail(request, f"Kedi's debug adapter failed: {type(error).__name__}: {error}")
            self.say("".join(traceback.format_exception(error)))

    def _pass(self, request: Incoming, body: bytes) -> None:
        with self._lock:
            if self._session is None and not request.command.startswith("set"):
                raise RequestError(
                    f"`{request.command}` needs a program: send `launch` or `attach` first",
                    show_user=False,
                )
            if self._ended:
                raise RequestError("the program has ended", show_user=False)
            self.memory.note(request)
            self._pending[request.seq] = request.command
            if self._debuggee is None:
                self._waiting.append((request, body))
                return
            sent = self._debuggee.send(body)
        if not sent:
            self._drop(request.seq, "the program has ended")

    def _answered(self, body: bytes) -> None:
        """A response of the client to a request of the adapter."""
        import orjson

        message = orjson.loads(body)
        act = self._reverse.pop(message.get("request_seq"), None)
        if act is not None:
            act(message)

    # ── sending ──────────────────────────────────────────────────────────────

    def respond(self, request: Incoming, body: dict[str, Any] | None = None) -> None:
        """Answer with success."""
        self.client.send(response(request.seq, request.command, body))

    def fail(self, request: Incoming, text: str, *, show_user: bool = True) -> None:
        """Answer with an error."""
        self.client.send(failure(request.seq, request.command, text, show_user=show_user))

    def say(self, text: str, category: str = "console") -> None:
        """Text for the client's console."""
        line = text if text.endswith("\n") else f"{text}\n"
        self.client.send(event("output", {"category": category, "output": line}))

    def ask(
        self, command: str, arguments: dict[str, Any], act: Callable[[dict[str, Any]], None]
    ) -> None:
        """Send the client a request; ``act`` gets the response, on the reading thread."""
        with self._lock:
            message = {"type": "request", "command": command, "arguments": arguments}
            # Secrets of the environment are what the client is to start the program with.
            self._reverse[self.client.forward(encode(message))] = act

    def _drop(self, seq: int, text: str) -> None:
        with self._lock:
            command = self._pending.pop(seq, None)
        if command is not None:
            self.client.send(failure(seq, command, text, show_user=False))

    # ── the process ──────────────────────────────────────────────────────────

    def connected(self, session: Session, debuggee: Debuggee) -> None:
        """The process is there: it gets what waited for it. Called on the pump's thread."""
        with self._lock:
            if self._leaving or session is not self._session:
                raise StartFailed("it was ended before it began")
            self._debuggee = debuggee
            debuggee.tell("start", client=self.features, **session.settings())
            restarting, self._restarting = self._restarting, None
            if restarting is not None:
                for body in self.memory.again():
                    debuggee.send(body)
            for _, body in self._waiting:
                debuggee.send(body)
            self._waiting.clear()
            if self._configured:
                debuggee.tell("configured")
            self._started = restarting or session.request
        self.client.send(event("process", session.process_body(debuggee)))
        if session.owned:
            self._ready()

    def _ready(self) -> None:
        """The process debugs from now on: what asked for it is answered."""
        request, self._started = self._started, None
        if request is not None:
            self.respond(request)

    def take(self, body: bytes) -> None:
        """A message of the process."""
        if body.startswith(PRIVATE_PREFIX):
            self._private(body)
            return
        seq = answered(body)
        if seq is not None:
            with self._lock:
                self._pending.pop(seq, None)
        for shown in self.memory.outgoing(body):
            self.client.forward(shown)

    def _private(self, body: bytes) -> None:
        import orjson

        message = orjson.loads(body)
        if message.get("kedi") == "ready":
            self._ready()
        elif message.get("kedi") == "exit" and self._debuggee is not None:
            self._debuggee.said_status = message.get("status")

    def failed(self, session: Session, text: str) -> None:
        """The process did not come up."""
        with self._lock:
            if session is not self._session:
                return
            request = self._restarting or session.request
            restarted, self._restarting = self._restarting is not None, None
            self._ended = restarted
            self._session = session if restarted else None
        self.fail(request, text)
        self._fail_pending("the program could not be started")
        if restarted:
            self.client.send(event("terminated"))

    def ended(self, session: Session, status: int | None) -> None:
        """The process is gone and everything it wrote has been passed on."""
        with self._lock:
            if session is not self._session or self._leaving:
                return
            self._debuggee = None
            self._ended = True
            if self._timer is not None:
                self._timer.cancel()
        self._fail_pending("the program has ended")
        if self._started is not None:
            self.fail(self._started, "the program ended before it could be debugged")
            self._started = None
        if status is not None:
            if status < 0:
                self.say(f"the program was ended by {_signal_name(-status)}", "important")
                status = 128 - status
            self.client.send(event("exited", {"exitCode": status}))
        self.client.send(event("terminated"))

    def _fail_pending(self, text: str) -> None:
        with self._lock:
            pending, self._pending = self._pending, {}
            self._waiting.clear()
        for seq, command in pending.items():
            self.client.send(failure(seq, command, text, show_user=False))

    # ── requests ─────────────────────────────────────────────────────────────

    def initialize(self, request: Incoming, arguments: Arguments) -> None:
        """Capabilities, at once."""
        if self._initialized:
            raise RequestError("`initialize` was sent already")
        if arguments.text("pathFormat", "path") != "path":
            raise RequestError("`pathFormat`: only paths are supported, not URIs")
        self._initialized = True
        self.features = request.arguments
        self.respond(request, advertised())

    def launch(self, request: Incoming, arguments: Arguments) -> None:
        """Start the process; the answer follows when it is there."""
        self._begin(request, arguments, Launched.read)

    def attach(self, request: Incoming, arguments: Arguments) -> None:
        """Connect to a process; the answer follows when it is connected."""
        self._begin(request, arguments, Attached.read)

    def _begin(
        self,
        request: Incoming,
        arguments: Arguments,
        read: Callable[[Adapter, Incoming], Session],
    ) -> None:
        if not self._initialized:
            raise RequestError(f"`initialize` comes before `{request.command}`")
        if self._session is not None:
            raise RequestError(f"a program is debugged already: `{request.command}` comes once")
        self._check_token(arguments)
        session = read(self, request)
        with self._lock:
            self._session, self._ended = session, False
            self.client.masker = session.masker
        session.start()
        self.client.send(event("initialized"))

    def _check_token(self, arguments: Arguments) -> None:
        import hmac

        if self._token is None:
            return
        given = arguments.text("adapterToken", "")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            raise RequestError("the token of this adapter has to come as `adapterToken`")

    def configuration_done(self, request: Incoming, _: Arguments) -> None:
        """The program may begin."""
        if self._session is None:
            raise RequestError("`configurationDone` comes after `launch` or `attach`")
        with self._lock:
            first, self._configured = not self._configured, True
            self.respond(request)
            if first and self._debuggee is not None:
                self._debuggee.tell("configured")

    def cancel(self, request: Incoming, arguments: Arguments) -> None:
        """Give up what waits here, and have the process give up what it has."""
        number = arguments.integer("requestId", None)
        progress = arguments.text("progressId", None)
        with self._lock:
            waiting = next((item for item in self._waiting if item[0].seq == number), None)
            if waiting is not None:
                self._waiting.remove(waiting)
                self._pending.pop(waiting[0].seq, None)
                self.client.send(cancelled(waiting[0].seq, waiting[0].command))
            elif self._debuggee is not None:
                self._debuggee.tell("cancel", requestId=number, progressId=progress)
        self.respond(request)

    def terminate(self, request: Incoming, _: Arguments) -> None:
        """Interrupt the program; when that does not end it, or the second time, kill it."""
        with self._lock:
            session, debuggee = self._session, self._debuggee
            again = self._timer is not None
        if session is None or self._ended:
            self.respond(request)
            return
        self.respond(request)
        if debuggee is None or again:
            session.kill()
            return
        debuggee.tell("terminate")
        with self._lock:
            self._timer = threading.Timer(GRACE, session.kill)
            self._timer.daemon = True
            self._timer.start()

    def disconnect(self, request: Incoming, arguments: Arguments) -> None:
        """End the debugging; a launched program ends too unless that is asked for."""
        with self._lock:
            session, debuggee = self._session, self._debuggee
        if session is not None and not self._ended:
            ends = arguments.flag("terminateDebuggee", session.owned)
            with self._lock:
                self._leaving = True
            if not ends and debuggee is not None:
                debuggee.tell("detach")
                session.release()
            else:
                session.kill()
        self.respond(request)
        self._over.set()

    def restart(self, request: Incoming, arguments: Arguments) -> None:
        """End the process and start another one, configured as this one is."""
        session = self._session
        if not isinstance(session, Launched):
            raise RequestError("only a launched program can be restarted")
        again = arguments.section("arguments", None)
        fresh = Launched.read(
            self,
            Incoming(
                request.seq,
                "launch",
                again.values if again is not None else session.request.arguments,
            ),
        )
        with self._lock:
            if self._restarting is not None:
                raise RequestError("it is being restarted already")
            self._session, self._debuggee = fresh, None
            self._restarting = request
            self._ended = False
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self.client.masker = fresh.masker
        self._fail_pending("the program is restarted")
        session.kill()
        session.join()
        fresh.start()


_HANDLERS: dict[str, Callable[[Adapter, Incoming, Arguments], None]] = {
    "initialize": Adapter.initialize,
    "launch": Adapter.launch,
    "attach": Adapter.attach,
    "configurationDone": Adapter.configuration_done,
    "cancel": Adapter.cancel,
    "terminate": Adapter.terminate,
    "disconnect": Adapter.disconnect,
    "restart": Adapter.restart,
}


def _signal_name(number: int) -> str:
    try:
        return f"the signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
