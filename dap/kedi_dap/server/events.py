"""Events for the client, from what the debugger's core tells."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from kedi.session.debugger.events import Resume

if TYPE_CHECKING:
    from kedi.runtime.calls import LoggedCall
    from kedi.runtime.frames import Site, Unit
    from kedi.session.debugger.events import Breakpoint, ModelStep, Stop
    from kedi.session.debugger.threads import DebugThread
    from kedi_dap.server.server import DebugServer

#: Characters of a description that clients show in one line.
_SHORT = 200


class Events:
    """The listener of the debugger's core. Its methods run on the thread concerned."""

    def __init__(self, server: DebugServer) -> None:
        self._server = server
        self._local = threading.local()

    # ── stopping and going on ────────────────────────────────────────────────

    def stopped(self, thread: DebugThread, stop: Stop) -> None:
        """A thread stands still: it takes jobs, and the client is told."""
        self._server.door(thread).enter("stopped")
        self._tell_stopped(thread, stop)

    def _tell_stopped(self, thread: DebugThread, stop: Stop) -> None:
        body: dict[str, Any] = {
            "reason": stop.reason,
            "threadId": thread.number,
            "allThreadsStopped": self._all_stand(),
        }
        if stop.description:
            body["description"] = stop.description
        if stop.text:
            body["text"] = stop.text
        elif stop.error is not None:
            body["text"] = type(stop.error).__name__
        if stop.breakpoints:
            body["hitBreakpointIds"] = [item.id for item in stop.breakpoints]
        self._server.event("stopped", body)

    def _all_stand(self) -> bool:
        threads = list(self._server.debugger.threads.values())
        return all(self._server.state(item) != "running" for item in threads)

    def resuming(self, resume: Resume) -> None:
        """A request lets the calling thread go on, so the client knows it."""
        self._local.asked = True

    def resumed(self, thread: DebugThread) -> None:
        """A thread goes on."""
        self._server.handles.reset(thread)
        door = self._server.door(thread)
        door.leave()
        asked, self._local.asked = getattr(self._local, "asked", False), False
        if thread.stops:
            # It returns into an evaluation, and then to the stop in which that was asked for.
            self._local.inner = True
        if not asked:
            self._server.event(
                "continued", {"threadId": thread.number, "allThreadsContinued": False}
            )

    def job_done(self) -> None:
        """A job ended on this thread; after stops inside it, the outer stop is told again."""
        if not getattr(self._local, "inner", False):
            return
        self._local.inner = False
        thread = self._server.debugger.current()
        stop = thread.stop
        if stop is not None:
            self._tell_stopped(thread, stop)

    # ── threads, breakpoints, sources ────────────────────────────────────────

    def thread_started(self, thread: DebugThread) -> None:
        """A thread runs Kedi for the first time."""
        self._server.event("thread", {"reason": "started", "threadId": thread.number})

    def thread_ended(self, thread: DebugThread) -> None:
        """A thread will not run Kedi again."""
        self._server.handles.reset(thread)
        self._server.forget(thread)
        self._server.event("thread", {"reason": "exited", "threadId": thread.number})

    def breakpoint_changed(self, breakpoint: Breakpoint) -> None:
        """A breakpoint was verified, moved or lost its source."""
        from kedi_dap.convert import breakpoint_body

        body = breakpoint_body(self._server, breakpoint)
        self._server.event("breakpoint", {"reason": "changed", "breakpoint": body})

    def source_loaded(self, unit: Unit) -> None:
        """A fragment, program or module is known."""
        from kedi_dap.convert import source_body

        body = source_body(self._server, unit)
        self._server.event("loadedSource", {"reason": "new", "source": body})

    def logged(self, thread: DebugThread, site: Site, text: str) -> None:
        """A logpoint was hit."""
        from kedi_dap.convert import place_body

        self._server.output(f"{text}\n", "console", **place_body(self._server, site))

    # ── model calls ──────────────────────────────────────────────────────────

    def call_started(self, thread: DebugThread, call: ModelStep) -> None:
        """A model call is about to be sent."""
        if self._server.settings.supports("supportsProgressReporting"):
            self._server.event(
                "progressStart",
                {
                    "progressId": f"call:{call.number}",
                    "title": "Model call",
                    "message": _short(call.request.prompt),
                    "cancellable": False,
                },
            )

    def call_ended(self, thread: DebugThread, call: ModelStep, logged: LoggedCall | None) -> None:
        """It was answered, repaired, refused, or failed."""
        if self._server.settings.supports("supportsProgressReporting"):
            self._server.event("progressEnd", {"progressId": f"call:{call.number}"})


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"
