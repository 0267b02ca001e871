"""What surrounds every command: exit statuses, interrupts, pipes that break."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from kedi.cli import terminal
from kedi.errors import KediError, KediExecutionError

INTERRUPTED = 130
PIPE_BROKEN = 141


def guarded(arguments: Sequence[str]) -> int:
    """Run a command line; its status, whatever happens."""
    terminal.soften()
    collecting = gc.isenabled()
    # Nothing that is loaded on the way to the program is garbage; it begins when that runs.
    gc.disable()
    try:
        status = _attempt(arguments)
    except KeyboardInterrupt:
        status = _interrupted()
    finally:
        (gc.enable if collecting else gc.disable)()
    try:
        return _flushed(status)
    except KeyboardInterrupt:
        return _interrupted()


def _attempt(arguments: Sequence[str]) -> int:
    from kedi.cli.commands import dispatch

    try:
        return dispatch(arguments)
    except SystemExit as leaving:
        return exit_status(leaving)
    except BrokenPipeError:
        return PIPE_BROKEN
    except KediExecutionError as error:
        if isinstance(error.original, BrokenPipeError) and _output_is_gone():
            return PIPE_BROKEN
        terminal.report(error)
        return 1
    except KediError as error:
        terminal.report(error)
        return 1
    except Exception as error:
        return _internal(error)


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
    try:
        terminal.err("interrupted")
    except (OSError, ValueError):
        pass  # nobody is left to read it
    return INTERRUPTED


def _output_is_gone() -> bool:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return True
    return False


def _internal(error: Exception) -> int:
    import traceback

    if isinstance(error, OSError) and _stdout_failed():
        return _flushed(1)
    terminal.err("".join(traceback.format_exception(error)).rstrip())
    terminal.complain(
        f"Kedi itself failed: {type(error).__name__}", "please report this with the lines above"
    )
    return 1


def _stdout_failed() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


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
        status = status or 1
        _discard_output()
        terminal.complain(f"the output cannot be written: {error.strerror or error}")
        return status
    except ValueError:
        return status  # the program closed it
    if status == PIPE_BROKEN:
        _discard_output()
    return status


def _discard_output() -> None:
    """Point stdout at nothing, so that what is still buffered is not tried again at exit."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
    except (OSError, ValueError, AttributeError):
        pass  # not a real file: nothing is flushed at exit
