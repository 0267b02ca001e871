"""Saving the session from the REPL: where to, what when that fails, and how to come back."""

from __future__ import annotations

import os
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kedi.errors import KediError, SessionDumpError
from kedi.repl.output import OutputFailed

if TYPE_CHECKING:
    from kedi.repl.console import Console
    from kedi.repl.live import ReplSession

SUFFIX = ".kedi-state"
#: A fragment cannot begin so.
SNAPSHOT_BEGINS = b"{"

#: Reasons that are listed when a part of the session is not saved.
_SHOWN = 8
_PARTIAL = re.compile(r"\.partial(?:-\d+)?\Z")

Outcome = Literal["whole", "part", "nothing"]
"""What came of saving on the way out. ``whole`` is also a session that was not to be saved;
``part`` one that was saved in part, or elsewhere."""


class NotOurs(KediError):
    """A file that saving would overwrite although it is no snapshot."""


def sessions_directory() -> Path:
    """``$KEDI_HOME/sessions``, by default ``~/.kedi/sessions``."""
    home = os.environ.get("KEDI_HOME")
    return Path(home or "~/.kedi").expanduser().absolute() / "sessions"


def new_path() -> Path:
    """A path for a snapshot that no other session has."""
    import secrets

    stamp = time.strftime("%Y%m%dT%H%M%S")
    return sessions_directory() / f"idle-{stamp}-{secrets.token_hex(4)}{SUFFIX}"


def partial_path(path: Path) -> Path:
    """A path beside ``path`` for what can be saved of a session; nothing has it yet."""
    stem = _PARTIAL.sub("", path.stem)
    number = 1
    while True:
        mark = ".partial" if number == 1 else f".partial-{number}"
        found = path.with_name(f"{stem}{mark}{path.suffix}")
        if not os.path.lexists(found):
            return found
        number += 1


class Recorder:
    """Knows the snapshot file of a session, once it has one. ``active`` saves it at the end.

    ``partial`` says that the file holds a part of the session only.
    """

    def __init__(self, console: Console, *, active: bool, path: Path | None = None) -> None:
        self.console = console
        self.active = active
        self.path = path
        self.partial = False

    def went_on(self, session: ReplSession, path: Path) -> None:
        """Note that the session was restored from ``path``."""
        self.path = path
        self.partial = bool(session.holes)

    def save(
        self, session: ReplSession, path: Path | None = None, *, partial: bool = False
    ) -> None:
        """Write a snapshot; a ``partial`` one leaves out, and lists, what cannot be restored.

        Raises :class:`KediError` and ``OSError``.
        """
        target = self._target(path)
        try:
            self._write(session, target, partial=False)
        except SessionDumpError as error:
            if not partial or not error.problems:
                raise
            for line in _listed(error):
                self.console.note(f"left out: {line}")
            self._write(session, target, partial=True)

    def _target(self, path: Path | None) -> Path:
        chosen = path or self.path
        if chosen is None:
            chosen = new_path()
            chosen.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif chosen != self.path:
            _check(chosen)
        return chosen

    def _write(self, session: ReplSession, target: Path, *, partial: bool) -> None:
        with session.without_last():
            session.dump(target, partial=partial)
        self.path = target
        self.partial = partial

    def tell(self, session: ReplSession) -> None:
        """Say what was saved and how to resume it."""
        if self.path is not None:
            saved = "the rest" if self.partial else _count(session)
            self.console.out(f"saved {saved} to {self.path}")
            self.console.out(f"to resume: {resume_command(self.path)}")

    # ── on the way out ───────────────────────────────────────────────────────

    def finish(self, session: ReplSession) -> Outcome:
        """Save on the way out when that was asked for.

        What cannot be saved whole is saved in part, in a file beside the one that was meant;
        where nothing can be written, in the folder of sessions.
        """
        if not self.active:
            return "whole"
        try:
            outcome = self._keep(session)
        except KeyboardInterrupt:
            self.console.complain("interrupted: the session is not saved")
            return "nothing"
        if outcome != "nothing":
            try:
                self.tell(session)
            except (OSError, OutputFailed):
                pass  # nobody reads any more; it is saved
        return outcome

    def _keep(self, session: ReplSession) -> Outcome:
        meant = self.path
        try:
            return self._keep_at(session, meant)
        except (KediError, OSError) as error:
            self._unsaved(error, meant)
        if meant is None or meant.parent == sessions_directory():
            return "nothing"
        self.path = None
        try:
            self._keep_at(session, None)
        except (KediError, OSError) as error:
            self._unsaved(error, None)
            self.path = meant
            return "nothing"
        return "part"

    def _keep_at(self, session: ReplSession, path: Path | None) -> Outcome:
        known = {hole.path for hole in session.holes}
        target = self._target(path)
        try:
            self._write(session, target, partial=False)
        except SessionDumpError as error:
            if not error.problems:
                raise
            as_before = self.partial and all(item.path in known for item in error.problems)
            if as_before:
                self.console.note("still missing in the file:")
            else:
                self.console.complain("the session cannot be saved whole: the file will lack")
            for line in _listed(error):
                self.console.err(f"  {line}")
            # A file that was in part before may be so again; a whole one stays as it is.
            self._write(session, target if self.partial else partial_path(target), partial=True)
            if self.path != target and target.exists():
                self.console.note(f"{target} stays as it was")
            return "whole" if as_before else "part"
        return "whole"

    def _unsaved(self, error: KediError | OSError, path: Path | None) -> None:
        if isinstance(error, KediError):
            self.console.error(error)
        else:
            place = f" to {path}" if path is not None else ""
            self.console.complain(
                f"the session is not saved{place}: {error.strerror or error}",
                None if place else "set KEDI_HOME to a folder that can be written",
            )


def resume_command(path: Path) -> str:
    """The command line that goes on with a snapshot."""
    return f"kedi --idle --load {shlex.quote(str(path))}"


def is_snapshot(path: Path) -> bool:
    """Whether a file begins like a snapshot. Raises ``OSError``."""
    with path.open("rb") as file:
        return file.read(1) == SNAPSHOT_BEGINS


def _listed(error: SessionDumpError) -> list[str]:
    lines = [f"{item.path}: {item.reason}" for item in error.problems[:_SHOWN]]
    hidden = len(error.problems) - _SHOWN
    if hidden > 0:
        lines.append(f"… and {hidden:,} more")
    return lines


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
