"""Running a program file, or a session whose console is the debug console."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kedi.errors import SessionLoadError
from kedi.repl import output as terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kedi.cli.options import Invocation
    from kedi.session.session import InteractiveSession
    from kedi_dap.debuggee.process import DebuggedProcess


def run_program(process: DebuggedProcess) -> int:
    """Compile the program, wait for the configuration, run it like ``kedi FILE``."""
    from kedi.cli.guard import guarded

    def run(arguments: Sequence[str]) -> int:
        from kedi.cli.programs import run_program

        return run_program(_invocation(process.start), lambda runtime: _begin(process, runtime))

    status = guarded((), _understood(run))
    _answer_until_configured(process)
    return status


def _begin(process: DebuggedProcess, runtime: Any) -> None:
    server, settings = process.server, process.server.settings
    server.runtime = runtime
    server.main = server.debugger.current()
    if not settings.no_debug:
        server.debugger.attach(runtime.interpreter, stop_on_entry=settings.stop_on_entry)
    process.listen()
    process.wait_for_configuration()
    if process.ending:
        raise KeyboardInterrupt


def run_session(process: DebuggedProcess) -> int:
    """A session that serves the console until the client ends it."""
    from kedi.cli.guard import guarded

    def run(arguments: Sequence[str]) -> int:
        try:
            session = _make_session(process.start)
        except SessionLoadError as error:
            terminal.complain(f"`{process.start['snapshot']}` cannot be loaded: {error.message}")
            return 1
        server = process.server
        server.find_session = lambda: session
        server.main = server.debugger.current()
        server.debugger.attach(session.interpreter)
        process.listen()
        process.wait_for_configuration()
        try:
            server.serve_idle()
        except KeyboardInterrupt:
            if not process.ending:
                raise
        finally:
            session.close()
        return 0

    status = guarded((), _understood(run))
    _answer_until_configured(process)
    return status


def _understood(run: Callable[[Sequence[str]], int]) -> Callable[[Sequence[str]], int]:
    """``run`` with its refusals said like those of a command line."""

    def safely(arguments: Sequence[str]) -> int:
        from kedi.cli.options import UsageError

        try:
            return run(arguments)
        except UsageError as error:
            terminal.complain(str(error), error.hint)
            return 2

    return safely


def _answer_until_configured(process: DebuggedProcess) -> None:
    """Answer a client that configures what could not begin."""
    if not process.configured.is_set():
        process.listen()
        process.wait_for_configuration()


def _make_session(start: dict[str, Any]) -> InteractiveSession:
    from kedi.cli.programs import configuration
    from kedi.runtime.directory import working_directory

    sys.path.append(str(working_directory()))
    keywords = configuration(_invocation(start))
    from kedi.repl.live import ReplSession

    if start["snapshot"] is None:
        return ReplSession(**keywords)
    from kedi.session.snapshot import load_session

    model = keywords.pop("model", None)
    session = load_session(start["snapshot"], session_type=ReplSession, **keywords)
    if model is not None:
        session.use_model(model)
    return session


def _invocation(start: dict[str, Any]) -> Invocation:
    from kedi.cli.options import Invocation, parse

    program = start["program"]
    # After two dashes everything is the program's, whatever it looks like.
    invocation = Invocation() if program is None else parse(["--", program, *start["args"]])
    invocation.adapter = start["adapter"]
    invocation.model = start["model"]
    return invocation
