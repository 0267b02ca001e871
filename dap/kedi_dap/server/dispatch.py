"""Handlers of requests: how they are registered, where they run and what they may give."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kedi_dap.messages import cancelled, failure, response
from kedi_dap.server.arguments import Arguments, RequestError
from kedi_dap.server.routes import HOMES

if TYPE_CHECKING:
    from kedi.session.debugger.events import Resume
    from kedi_dap.server.server import DebugServer

#: Where a handler runs: on the thread that reads the connection, which must never wait, or on
#: the program's thread that the request is about, while that stands still or is idle.
Place = Literal["reader", "thread"]


class Later:
    """What a handler gives that answers by the request's own methods."""


LATER = Later()


@dataclass(frozen=True, slots=True)
class Answer:
    """A body, and what happens once it was sent.

    ``resume`` lets the thread go on (only of handlers on a thread); ``after`` is called for
    events that have to follow the response.
    """

    body: dict[str, Any] | None = None
    resume: Resume | None = None
    after: Callable[[], None] | None = None


Reply: TypeAlias = "dict[str, Any] | Answer | Resume | Later | None"
Handler = Callable[["DebugServer", Arguments, "Request"], Reply]


@dataclass(frozen=True, slots=True)
class Route:
    """A registered handler."""

    command: str
    place: Place
    handler: Handler


_ROUTES: dict[str, Route] = {}


def request(command: str, *, place: Place) -> Callable[[Handler], Handler]:
    """Register a handler for a request, to be run at ``place``."""

    def register(handler: Handler) -> Handler:
        _ROUTES[command] = Route(command, place, handler)
        return handler

    return register


def find(command: str) -> Route | None:
    """The handler of a request; its module is imported when it is first asked for."""
    route = _ROUTES.get(command)
    if route is None and command in HOMES:
        import_module(HOMES[command])
        route = _ROUTES[command]
    return route


class Request:
    """A request under way. It is answered exactly once; later answers are dropped."""

    __slots__ = ("_answered", "_lock", "_on_cancel", "cancelled", "command", "seq", "server")

    def __init__(self, server: DebugServer, seq: int, command: str) -> None:
        self.server = server
        self.seq = seq
        self.command = command
        #: Whether the client asked to give it up. It may still be answered.
        self.cancelled = False
        self._on_cancel: Callable[[], None] | None = None
        self._answered = False
        self._lock = threading.Lock()

    @property
    def answered(self) -> bool:
        """Whether a response was sent."""
        return self._answered

    def respond(self, body: dict[str, Any] | None = None) -> None:
        """Answer with success."""
        self._send(response(self.seq, self.command, body))

    def fail(self, message: str, *, show_user: bool = True, error_id: int = 1) -> None:
        """Answer with an error for the user."""
        self._send(failure(self.seq, self.command, message, show_user=show_user, error_id=error_id))

    def give_up(self) -> None:
        """Answer that it was cancelled."""
        self._send(cancelled(self.seq, self.command))

    def on_cancel(self, act: Callable[[], None] | None) -> None:
        """Have ``act`` called, on the reading thread, when the client cancels; at once if it has.

        ``None`` takes it back: after that returns it is not called any more.
        """
        with self._lock:
            self._on_cancel = act
            if act is not None and self.cancelled:
                act()

    def cancel(self) -> None:
        """The client gives the request up."""
        with self._lock:
            self.cancelled = True
            if self._on_cancel is not None:
                self._on_cancel()

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock:
            if self._answered:
                return
            self._answered = True
        self.server.finished(self)
        self.server.send(message)


__all__ = [
    "LATER",
    "Answer",
    "Arguments",
    "Later",
    "Place",
    "Reply",
    "Request",
    "RequestError",
    "find",
    "request",
]
