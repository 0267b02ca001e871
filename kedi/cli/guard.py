"""What surrounds every command: exit statuses, interrupts, pipes that break."""

from __future__ import annotations

import gc
import os
import select
import sys
from collections.abc import Sequence

from kedi.errors import KediError, KediExecutionError
from kedi.repl import output as terminal

INTERRUPTED = 130
PIPE_BROKEN = 141


def guarded(arguments: Sequence[str]) -> int:
    """Run a command line; its status, whatever happens."""
    terminal.soften()
    collecting, path = gc.isenabled(), list(sys.path)
    # Nothing that is loaded on the way to the program is garbage; it begins when that runs.
    gc.disable()
    try:
        status = _attempt(arguments)
    except KeyboardInterrupt:
        status = _interrupted()
    finally:
        (gc.enable if collecting else gc.disable)()
        sys.path[:] = path
    try:
        return _flushed(status)
    except KeyboardInterrupt:
        return _interrupted()


def _attempt(arguments: Sequence[str]) -> int:
    from kedi.cli.commands import dispatch

    try:
        return dispatch(arguments)
    except KeyboardInterrupt:
        raise
    except SystemExit as leaving:
        return exit_status(leaving)
    except BrokenPipeError:
        return PIPE_BROKEN
    except terminal.OutputFailed as failure:
        return _output_failed(str(failure))
    except KediExecutionError as error:
        if isinstance(error.original, BrokenPipeError) and _nobody_reads():
            return PIPE_BROKEN
        terminal.report(error)
    except KediError as error:
        if hasattr(error, "diagnostics"):
            terminal.report(error)
        else:
            terminal.complain(error.message)
    except Exception as error:
        _internal(error)
    except BaseException as error:
        _ended(error)
    return 1


def exit_status(leaving: SystemExit) -> int:
    """The status that Python would exit with; a text is printed to stderr, as Python does."""
    code = leaving.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code)
    terminal.err(str(code))
    return 1


def _interrupted() -> int:
    terminal.err("interrupted")
    return INTERRUPTED


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose reader has gone."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (OSError, ValueError, AttributeError):
        return False  # closed, no file at all, or a system without poll


def _internal(error: Exception) -> None:
    import traceback

    terminal.err("".join(traceback.format_exception(error)).rstrip())
    terminal.complain(
        f"Kedi itself failed: {type(error).__name__}", "please report this with the lines above"
    )


def _ended(error: BaseException) -> None:
    """Report an exception that asks for an end and is neither an exit nor an interrupt."""
    import traceback

    from kedi.runtime.text import safe_str
    from kedi.runtime.traces import is_internal

    text = safe_str(error)
    terminal.complain(
        f"the program ended with {type(error).__name__}{': ' if text else ''}{text}",
        "raise a subclass of Exception to have it handled as an error",
    )
    for place in traceback.extract_tb(error.__traceback__):
        if not is_internal(place.filename):
            terminal.err(f"  {place.filename}, line {place.lineno}")


def _output_failed(reason: str) -> int:
    _discard_output()
    terminal.complain(f"the output cannot be written: {reason}")
    return 1


def _flushed(status: int) -> int:
    """Flush now: an error while the interpreter ends could not be told any more."""
    stream = sys.stdout
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison]
        return status
    try:
        stream.flush()
    except BrokenPipeError:
        status = PIPE_BROKEN
    except OSError as error:
        return _output_failed(error.strerror or str(error))
    except ValueError:
        return status  # the program closed it
    if status == PIPE_BROKEN:
        _discard_output()
    return status


def _discard_output() -> None:
    """Point stdout at nothing, so that what is still buffered is not tried again at exit."""
    try:
        target = sys.stdout.fileno()
        nothing = os.open(os.devnull, os.O_WRONLY)
        if nothing != target:
            os.dup2(nothing, target)
            os.close(nothing)
    except (OSError, ValueError, AttributeError):
        pass  # not a real file: nothing is flushed at exit
