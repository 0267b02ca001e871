"""Requests as jobs of the program's threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kedi_dap.server.doors import PostedJob

if TYPE_CHECKING:
    from kedi_dap.server.arguments import Arguments
    from kedi_dap.server.dispatch import Request, Route
    from kedi_dap.server.server import DebugServer


class ThreadJob(PostedJob):
    """Runs a handler on the thread that the request is about."""

    def __init__(
        self, server: DebugServer, request: Request, route: Route, arguments: Arguments
    ) -> None:
        self._server = server
        self._request = request
        self._route = route
        self._arguments = arguments

    def __call__(self) -> Any:
        """Run the handler and answer; gives how the thread goes on, or ``None`` to stay."""
        events = self._server.events
        resume = self._server.run(self._request, self._route, self._arguments)
        if resume is not None:
            events.resuming(resume)
        else:
            events.job_done()
        return resume

    def refuse(self) -> None:
        """The thread runs on: answer so."""
        if self._request.cancelled:
            self._request.give_up()
        else:
            self._request.fail("the program is running again; pause it first", show_user=False)
