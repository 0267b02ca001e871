"""``kedi --idle``: the terminal REPL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kedi.cli.options import UsageError
from kedi.cli.programs import configuration
from kedi.errors import KediError, SessionLoadError
from kedi.repl import output as terminal
from kedi.runtime.directory import working_directory

if TYPE_CHECKING:
    from kedi.cli.options import Invocation


def _path(given: str) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise UsageError(
            f"`--load {given}`: there is no such user", "write the path without `~`"
        ) from None


def _is_source(path: Path | None) -> bool:
    return path is not None and path.suffix == ".kedi"


def run_idle(invocation: Invocation) -> int:
    """Start the REPL with what the command line and ``.env`` configure; its exit status."""
    from kedi.repl.start import Settings, start

    terminal.load_environment()
    # Embedded Python may import what lies here, unless the name is taken.
    sys.path.append(str(working_directory()))
    settings = Settings(
        configuration(invocation),
        invocation.record,
        _path(invocation.load) if invocation.load is not None else None,
        invocation.highlight,
    )
    try:
        return start(settings)
    except SessionLoadError as error:
        hint = "`:load FILE` in a session runs a source" if _is_source(settings.load) else None
        terminal.complain(f"`{invocation.load}` cannot be loaded: {error.message}", hint)
        return 1
    except OSError as error:
        if isinstance(error, KediError) or invocation.load is None or error.filename is None:
            raise
        terminal.complain(f"`{invocation.load}` cannot be loaded: {error.strerror or error}")
        return 2
