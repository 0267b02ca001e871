"""Writing to the terminal: colour, odd encodings, streams that are closed or gone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from kedi.errors import KediError


def soften() -> None:
    """Let no character be unprintable: what a stream's encoding lacks becomes an escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            try:
                reconfigure(errors="backslashreplace")
            except (OSError, ValueError):
                pass  # closed, or not to be reconfigured: it stays as strict as it is


def use_color(stream: TextIO | None) -> bool:
    """Whether to write ANSI colours: a terminal, and neither ``NO_COLOR`` nor a dumb one."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    try:
        return stream.isatty()
    except ValueError:
        return False


class OutputFailed(Exception):
    """Standard output cannot be written, for another reason than a reader that left."""


def out(text: str, *, flush: bool = False) -> None:
    """Write a line of result. Raises ``BrokenPipeError`` and :class:`OutputFailed`."""
    try:
        print(text, flush=flush)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(error.strerror or str(error)) from error
    except UnicodeError as error:
        raise OutputFailed(str(error)) from error
    except ValueError:
        raise OutputFailed("standard output was closed") from None


def err(text: str) -> None:
    """Write a line for the person at the terminal, after what was printed before it."""
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            pass  # gone or closed: said elsewhere
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        try:
            print(text, file=sys.stderr)
        except (OSError, ValueError):
            pass  # the exit status still tells


def report(error: KediError) -> None:
    """Write a rendered error."""
    err(error.render(use_color(sys.stderr)))


def complain(message: str, hint: str | None = None) -> None:
    """Write an error of the command itself, such as a file that is not there."""
    from kedi.diagnostics import paint, printable

    color = use_color(sys.stderr)
    err(f"{paint('error', '1;31', color)}: {printable(message)}")
    if hint:
        err(f"  {paint('help', '1;36', color)}: {printable(hint)}")


def note(message: str) -> None:
    """Write a remark that changes nothing."""
    from kedi.diagnostics import paint, printable

    err(f"{paint('note', '1;36', use_color(sys.stderr))}: {printable(message)}")


def load_environment() -> None:
    """Add ``.env`` of the working directory to the environment; say what of it is unusable."""
    from kedi.agents.dotenv import load_env

    for problem in load_env():
        note(problem)
