"""The server inside the debugged process: it reads requests and tells events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kedi.session.debugger.debugger import Debugger
from kedi.session.debugger.events import Resume
from kedi_dap.debuggee.outlet import Outlet
from kedi_dap.messages import Unusable, event, failure, read_request
from kedi_dap.server.arguments import Arguments, RequestError
from kedi_dap.server.dispatch import Answer, Later, Reply, Request, Route, find
from kedi_dap.server.doors import Door, PostedJob, State
from kedi_dap.server.events import Events
from kedi_dap.server.jobs import ThreadJob

if TYPE_CHECKING:
    from kedi.runtime.program import KediRuntime
    from kedi.session.debugger.threads import DebugThread
    from kedi.session.session import InteractiveSession


def _no_session() -> InteractiveSession | None:
    return None


def _no_features() -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Settings:
    """How the client counts and what it asked for.

    ``client`` are the arguments of its ``initialize``.
    """

    client: Mapping[str, Any] = field(default_factory=_no_features)
    just_my_code: bool = True
    no_debug: bool = False
    stop_on_entry: bool = False

    @property
    def lines_start_at_1(self) -> bool:
        """Whether the client's lines begin with 1."""
        return self.client.get("linesStartAt1") is not False

    @property
    def columns_start_at_1(self) -> bool:
        """Whether the client's columns begin with 1."""
        return self.client.get("columnsStartAt1") is not False

    def supports(self, feature: str) -> bool:
        """Whether the client has a feature, such as ``supportsProgressReporting``."""
        return self.client.get(feature) is True


class DebugServer:
    """Serves one client of the process: dispatches requests and sends events.

    ``session`` is the live session that the console runs fragments in, ``runtime`` the program;
    at most one of them is set. ``debugger`` is the core. Handlers get the server.
    """

    def __init__(self, outlet: Outlet, settings: Settings | None = None) -> None:
        from kedi_dap.server.handles import Handles

        self.outlet = outlet
        self.settings = settings or Settings()
        #: Gives the session; a host may replace it.
        self.find_session: Callable[[], InteractiveSession | None] = _no_session
        self.runtime: KediRuntime | None = None
        self.handles = Handles()
        self.events = Events(self)
        self.debugger = Debugger(self.events)
        #: What a client's ``cancel`` of a progress calls, by the progress's id.
        self.cancellable: dict[str, Callable[[], None]] = {}
        #: The program's main thread, once it is known.
        self.main: DebugThread | None = None
        self._doors: dict[int, Door] = {}
        self._requests: dict[int, Request] = {}
        self._lock = threading.Lock()
        self._left = threading.Event()

    @property
    def session(self) -> InteractiveSession | None:
        """The live session that the console runs fragments in."""
        return self.find_session()

    # ── sending ──────────────────────────────────────────────────────────────

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the client, masked, after all output before it."""
        self.outlet.send(message)

    def event(self, name: str, body: dict[str, Any] | None = None) -> None:
        """Send an event."""
        self.send(event(name, body))

    def output(self, text: str, category: str = "console", **more: Any) -> None:
        """Send text for the client's console; ``more`` are further fields of the event."""
        self.event("output", {"category": category, "output": text, **more})

    # ── requests ─────────────────────────────────────────────────────────────

    def receive(self, body: bytes) -> None:
        """Take a message of the client. Called on the reading thread; returns soon."""
        try:
            incoming = read_request(body)
        except Unusable as error:
            self.send(failure(error.seq, error.command, str(error)))
            return
        if incoming is None:
            return
        request = Request(self, incoming.seq, incoming.command)
        try:
            route = find(incoming.command)
        except ImportError as error:
            request.fail(f"`{incoming.command}` cannot be answered: {error}")
            return
        if route is None:
            request.fail(f"there is no request `{incoming.command}`", show_user=False)
            return
        with self._lock:
            self._requests[request.seq] = request
        arguments = Arguments(incoming.arguments)
        if route.place == "reader":
            self.run(request, route, arguments)
        else:
            self._post(request, route, arguments)

    def _post(self, request: Request, route: Route, arguments: Arguments) -> None:
        try:
            thread = self.thread_of(arguments)
        except RequestError as error:
            request.fail(error.message, show_user=error.show_user)
            return
        if thread is None or not self.door(thread).post(ThreadJob(self, request, route, arguments)):
            name = "the program" if thread is None or thread is self.main else f"`{thread.name}`"
            request.fail(
                f"{name} is running; pause it first", show_user=request.command != "evaluate"
            )

    def thread_of(self, arguments: Arguments) -> DebugThread | None:
        """The thread that a request is about: by ``threadId``, frame or variables, else the main.

        Raises :class:`RequestError` for one that is not there (any more).
        """
        number = arguments.integer("threadId", None)
        if number is not None:
            thread = self.thread(number)
            if thread is None:
                raise RequestError(f"there is no thread {number} (any more)")
            return thread
        for name, owner in (
            ("frameId", self.handles.thread_of_frame),
            ("variablesReference", self.handles.thread_of_variables),
        ):
            handle = arguments.integer(name, None)
            if handle:
                thread = owner(handle)
                if thread is None:
                    raise RequestError(
                        f"`{name}` {handle} is of a moment that is over: the program has gone on",
                        show_user=False,
                    )
                return thread
        return self.main

    def run(self, request: Request, route: Route, arguments: Arguments) -> Any:
        """Run a handler here and answer; gives how the thread goes on, or ``None`` to stay."""
        if request.cancelled:
            request.give_up()
            return None
        try:
            reply = route.handler(self, arguments, request)
        except RequestError as error:
            request.fail(error.message, show_user=error.show_user, error_id=error.error_id)
        except Exception as error:
            self._failed(request, error)
        else:
            return self._reply(request, reply)
        return None

    def _reply(self, request: Request, reply: Reply) -> Any:
        if isinstance(reply, Later):
            return None
        if reply is None or isinstance(reply, dict):
            request.respond(reply)
            return None
        if isinstance(reply, Answer):
            request.respond(reply.body)
            if reply.after is not None:
                reply.after()
            return reply.resume
        request.respond()
        return reply

    def _failed(self, request: Request, error: Exception) -> None:
        """A handler has a fault: the client gets an error, the session goes on."""
        import traceback

        request.fail(
            f"Kedi's debugger failed at `{request.command}`: {type(error).__name__}: {error}. "
            "Please report this with the lines in the debug console"
        )
        self.output("".join(traceback.format_exception(error)), "console")

    def pending(self, seq: int) -> Request | None:
        """The request of that number, while it is under way."""
        with self._lock:
            return self._requests.get(seq)

    def finished(self, request: Request) -> None:
        """A request has its answer."""
        with self._lock:
            self._requests.pop(request.seq, None)

    # ── threads ──────────────────────────────────────────────────────────────

    def thread(self, number: int) -> DebugThread | None:
        """The thread with that number."""
        main = self.main
        if main is not None and main.number == number:
            return main
        return next((t for t in list(self.debugger.threads.values()) if t.number == number), None)

    def door(self, thread: DebugThread) -> Door:
        """The way to give a thread jobs."""
        with self._lock:
            door = self._doors.get(thread.number)
            if door is None:
                door = self._doors[thread.number] = Door(thread)
            return door

    def forget(self, thread: DebugThread) -> None:
        """A thread has ended."""
        with self._lock:
            door = self._doors.pop(thread.number, None)
        if door is not None and door.state != "running":
            door.enter("running")

    def state(self, thread: DebugThread) -> State:
        """Whether a thread runs, stands still or is idle."""
        return self.door(thread).state

    def post(self, thread: DebugThread, job: PostedJob) -> bool:
        """Have a thread do a job while it stands still or is idle; false when it runs."""
        return self.door(thread).post(job)

    def being(self, thread: DebugThread, state: State) -> AbstractContextManager[None]:
        """The thread is in that state as long as the block lasts.

        A job that runs code of the user says ``running``: requests that come meanwhile are
        refused rather than kept until it ends.
        """
        return self.door(thread).being(state)

    def serve_idle(self) -> None:
        """Do the jobs of an idle main thread, this one, until :meth:`leave_idle`."""
        main = self.main
        assert main is not None
        with self.being(main, "idle"):
            while not self._left.is_set():
                main.serve()

    def leave_idle(self) -> None:
        """Have :meth:`serve_idle` return once the job under way is done."""
        self._left.set()
        if self.main is not None:
            self.main.post(Resume)

    def cancel(self, seq: int | None, progress: str | None) -> None:
        """Give up a request or a progress; what is over already is left alone."""
        pending = None if seq is None else self.pending(seq)
        if pending is not None:
            pending.cancel()
        act = None if progress is None else self.cancellable.get(progress)
        if act is not None:
            act()

    # ── beginning and end ────────────────────────────────────────────────────

    def close(self) -> None:
        """The client is gone or leaves: the program goes on undebugged."""
        self.debugger.detach()
        with self._lock:
            requests = list(self._requests.values())
        for request in requests:
            request.cancel()
        self.outlet.close()
