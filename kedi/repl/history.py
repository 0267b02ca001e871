"""The history file: inputs of former sessions, kept private.

Entries are lines that begin with ``+``, separated by blank lines and headed by a
comment with the time. Mode 0600; what looks like a secret is not written.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

#: Larger files lose their older half when they are read.
MAX_BYTES = 4_000_000
#: Larger inputs are not kept.
MAX_ENTRY = 100_000


def history_path() -> Path | None:
    """``KEDI_HISTORY``, else ``~/.kedi_history``; ``None`` when the variable is empty."""
    chosen = os.environ.get("KEDI_HISTORY")
    if chosen is None:
        return Path("~/.kedi_history").expanduser()
    return Path(chosen).expanduser() if chosen.strip() else None


class HistoryFile:
    """Reads and appends entries. A file that cannot be used is left alone; ``problem`` says why.

    ``withheld`` counts inputs that were kept out because they look like secrets.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.problem: str | None = None
        self.withheld = 0
        self._last: str | None = None

    def load(self) -> list[str]:
        """Entries, oldest first."""
        if self.path is None:
            return []
        try:
            descriptor = os.open(self.path, os.O_RDONLY | _NO_WAIT)
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            self._give_up(error)
            return []
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                return []
            size = state.st_size
            data = _tail(descriptor, size)
        except OSError as error:
            self._give_up(error)
            return []
        finally:
            os.close(descriptor)
        if size > MAX_BYTES:
            # The first entry may have been cut in the middle.
            data = data[max(0, data.find(b"\n\n") + 1) :]
        entries = _entries(data)
        if size > MAX_BYTES:
            self._shorten(entries[len(entries) // 2 :])
        if entries:
            self._last = entries[-1]
        return entries

    def append(self, text: str) -> None:
        """Add an input, unless it repeats the last one, is huge, or looks like a secret."""
        if self.path is None or not text.strip() or text == self._last or len(text) > MAX_ENTRY:
            return
        from kedi.repl.secrets import looks_secret

        if looks_secret(text):
            self.withheld += 1
            return
        try:
            descriptor = os.open(
                self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_WAIT, 0o600
            )
        except (OSError, ValueError) as error:
            self._give_up(error)
            return
        try:
            _make_private(descriptor)
            # One write: another REPL may append at the same time.
            os.write(descriptor, _entry(text))
            self._last = text
        except OSError as error:
            self._give_up(error)
        finally:
            os.close(descriptor)

    def _shorten(self, entries: list[str]) -> None:
        """Replace the file by ``entries`` in one step."""
        assert self.path is not None
        target = Path(os.path.realpath(self.path))
        new = target.with_name(f"{target.name}.{os.getpid()}")
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(b"".join(map(_entry, entries)))
                new.replace(target)
            except BaseException:
                new.unlink(missing_ok=True)
                raise
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) else None
        self.problem = f"no history is kept in {self.path}: {reason or error}"
        self.path = None


#: A FIFO must not make the REPL wait.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


def _tail(descriptor: int, size: int) -> bytes:
    """The last part of a file, as much as is read of one."""
    os.lseek(descriptor, max(0, size - MAX_BYTES), os.SEEK_SET)
    parts: list[bytes] = []
    room = MAX_BYTES
    while room > 0 and (part := os.read(descriptor, room)):
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


def _make_private(descriptor: int) -> None:
    """Take the file from others, where it is a file and ours."""
    state = os.fstat(descriptor)
    is_open = stat.S_ISREG(state.st_mode) and stat.S_IMODE(state.st_mode) != 0o600
    # Systems without it keep files private by other means.
    if is_open and hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o600)


def _entry(text: str) -> bytes:
    lines = "".join(f"+{line}\n" for line in text.split("\n"))
    return f"\n# {time.strftime('%Y-%m-%d %H:%M:%S')}\n{lines}".encode("utf-8", "replace")


def _entries(data: bytes) -> list[str]:
    found: list[str] = []
    lines: list[str] = []
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.startswith("+"):
            lines.append(line[1:])
        elif lines:
            found.append("\n".join(lines))
            lines = []
    if lines:
        found.append("\n".join(lines))
    return found
