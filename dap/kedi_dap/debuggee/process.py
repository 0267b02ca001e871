"""The debugged process once it is connected: its output, its reader, its program and its end."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import orjson

from kedi.agents.dotenv import leave_environment
from kedi_dap.debuggee.capture import capture, release
from kedi_dap.debuggee.outlet import Outlet
from kedi_dap.debuggee.programs import run_program, run_session
from kedi_dap.masking import masker_for
from kedi_dap.messages import PRIVATE_PREFIX, encode, private
from kedi_dap.server.server import DebugServer, Settings
from kedi_dap.transport import Closed, Malformed, SocketLink


class DebuggedProcess:
    """Joins the link, the server and the program that runs on the main thread."""

    def __init__(
        self, link: SocketLink, messages: Iterator[bytes | Malformed], start: dict[str, Any]
    ) -> None:
        self.link = link
        self.start = start
        self.outlet = Outlet(link, masker_for(os.environ, start["redact"]))
        self.server = DebugServer(self.outlet, settings_of(start))
        #: Set when the client has configured everything.
        self.configured = threading.Event()
        #: Whether the program is to end by itself.
        self.ending = False
        self._messages = messages
        self._detached = False
        self._captures = bool(start["capture"])
        self._main = threading.get_ident()

    def run(self) -> int:
        """Run what was asked for; its exit status."""
        if self._captures:
            self.outlet.settle = capture()
        os.register_at_fork(after_in_child=self._in_child)
        # First of all exits to be registered, so the last to be done.
        atexit.register(self._flush)
        # The adapter has read all there is for this environment.
        leave_environment()
        runner = run_program if self.start["program"] is not None else run_session
        try:
            status = runner(self)
        except SystemExit as leaving:
            from kedi.cli.guard import exit_status

            status = exit_status(leaving)
        self._say_status(status)
        return status

    def listen(self) -> None:
        """Begin to answer requests, on a thread of its own."""
        threading.Thread(target=self._read, name="kedi-dap-reader", daemon=True).start()

    def wait_for_configuration(self) -> None:
        """Wait until the client has set its breakpoints."""
        self.configured.wait()

    # ── reading ──────────────────────────────────────────────────────────────

    def _read(self) -> None:
        for body in self._messages:
            if isinstance(body, Malformed):
                continue  # the adapter passes on whole messages only
            if body.startswith(PRIVATE_PREFIX):
                self._private(orjson.loads(body))
            else:
                self.server.receive(body)
        if not self._detached:
            # Whoever debugged this program is gone without having said that it may go on.
            _end_with_all()

    def _private(self, message: dict[str, Any]) -> None:
        what = message.get("kedi")
        if what == "configured":
            self.configured.set()
        elif what == "cancel":
            self.server.cancel(message.get("requestId"), message.get("progressId"))
        elif what == "terminate":
            self.terminate()
        elif what == "detach":
            self.detach()

    def terminate(self) -> None:
        """Have the program end by an interrupt that no breakpoint stops any more."""
        self.ending = True
        self.server.debugger.detach()
        self.configured.set()
        self.server.leave_idle()
        signal.pthread_kill(self._main, signal.SIGINT)

    def detach(self) -> None:
        """Let the program go on alone; nobody reads its output any more."""
        self._detached = True
        if self._captures:
            release()
        self.server.close()
        self.configured.set()

    # ── ending ───────────────────────────────────────────────────────────────

    def _say_status(self, status: int) -> None:
        self.outlet.flush()
        try:
            self.link.send(encode(private("exit", status=status)))
        except Closed:
            pass  # nobody asks any more

    def _flush(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass  # closed or replaced by the program
        self.outlet.flush()

    def _in_child(self) -> None:
        """A child that was forked is not debugged; the link is its parent's."""
        self.outlet.after_fork()
        self._detached = True
        self.link.socket.close()
        self.server.debugger.detach()


def _end_with_all() -> None:
    if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid():
        try:
            os.killpg(os.getpid(), signal.SIGKILL)
        except OSError:
            pass  # it ends alone
    os._exit(1)


def settings_of(start: dict[str, Any]) -> Settings:
    """The server's settings from what the adapter said at the start."""
    return Settings(
        client=start["client"],
        just_my_code=start["justMyCode"],
        no_debug=start.get("noDebug", False),
        stop_on_entry=start.get("stopOnEntry", False),
    )


def run(link: SocketLink, messages: Iterator[bytes | Malformed], start: dict[str, Any]) -> int:
    """Run what a launch asked for; its exit status."""
    return DebuggedProcess(link, messages, start).run()
