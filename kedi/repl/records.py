"""Saving the session from the REPL: where to, and how to come back."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kedi.errors import KediError, SessionDumpError

if TYPE_CHECKING:
    from kedi.repl.console import Console
    from kedi.repl.live import ReplSession

SUFFIX = ".kedi-state"


class NotOurs(KediError):
    """A file that saving would overwrite although it is no snapshot."""


def sessions_directory() -> Path:
    """``$KEDI_HOME/sessions``, by default ``~/.kedi/sessions``."""
    home = os.environ.get("KEDI_HOME")
    return Path(home or "~/.kedi").expanduser() / "sessions"


def new_path() -> Path:
    """A path for a snapshot that no other session has."""
    import secrets

    stamp = time.strftime("%Y%m%dT%H%M%S")
    return sessions_directory() / f"idle-{stamp}-{secrets.token_hex(4)}{SUFFIX}"


class Recorder:
    """Knows the snapshot file of a session, once it has one. ``active`` saves it at the end."""

    def __init__(self, console: Console, *, active: bool, path: Path | None = None) -> None:
        self.console = console
        self.active = active
        self.path = path

    def save(
        self, session: ReplSession, path: Path | None = None, *, partial: bool = False
    ) -> None:
        """Write a snapshot; a ``partial`` one leaves out, and lists, what cannot be restored.

        Raises :class:`KediError` and ``OSError``.
        """
        chosen = path or self.path
        target = chosen or new_path()
        if chosen is None:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif target != self.path:
            _check(target)
        with session.without_last():
            try:
                session.dump(target)
            except SessionDumpError as error:
                if not partial:
                    raise
                for problem in error.problems:
                    self.console.note(f"left out: {problem.path}: {problem.reason}")
                session.dump(target, partial=True)
        self.path = target

    def tell(self, session: ReplSession) -> None:
        """Say what was saved and how to resume it."""
        if self.path is not None:
            self.console.out(f"saved {_count(session)} to {self.path}")
            self.console.out(f"to resume: {resume_command(self.path)}")

    def finish(self, session: ReplSession) -> bool:
        """Save on the way out when that was asked for; false when it failed."""
        if not self.active:
            return True
        try:
            self.save(session)
        except KediError as error:
            self.console.error(error)
        except OSError as error:
            self.console.complain(f"the session is not saved: {error.strerror or error}")
        except KeyboardInterrupt:
            self.console.complain("interrupted: the session is not saved")
        else:
            try:
                self.tell(session)
            except OSError:
                pass  # nobody reads any more; it is saved
            return True
        return False


def resume_command(path: Path) -> str:
    """The command line that goes on with a snapshot."""
    return f"kedi --idle --load {shlex.quote(str(path))}"


def is_snapshot(path: Path) -> bool:
    """Whether a file begins like a snapshot; a fragment cannot begin so. Raises ``OSError``."""
    with path.open("rb") as file:
        return file.read(1) == b"{"


def _check(path: Path) -> None:
    """Refuse to overwrite what is not a snapshot."""
    try:
        taken = path.is_file() and path.stat().st_size > 0 and not is_snapshot(path)
    except OSError:
        return  # whoever writes says what is wrong
    if taken:
        raise NotOurs(f"`{path}` is no snapshot and stays as it is: choose another name")


def _count(session: ReplSession) -> str:
    fragments, names = len(session.fragments), len(session.bindings())
    return (
        f"{fragments} fragment{'' if fragments == 1 else 's'} and "
        f"{names} name{'' if names == 1 else 's'}"
    )
