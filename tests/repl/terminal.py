"""A real pseudo-terminal with a screen that can be read: what a person sees and types."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte

from tests.conftest import ROOT

#: Generous: it bounds a hang, on a machine with other work.
PATIENCE = 60.0

ENTER, TAB, BACKSPACE = "\r", "\t", "\x7f"
UP, DOWN, LEFT, END = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[F"
ALT_ENTER, SHIFT_TAB = "\x1b\r", "\x1b[Z"
CTRL_C, CTRL_D, CTRL_R, CTRL_U = "\x03", "\x04", "\x12", "\x15"

# The child gets the terminal as its controlling one, so that Ctrl+C signals it. Python forks
# nothing here itself: that is not safe where threads run.
_LAUNCHER = (
    "import fcntl, os, sys, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execvp(sys.argv[1], sys.argv[1:])\n"
)


class Terminal:
    """Runs a command in a pseudo-terminal. ``raw`` is all that it wrote."""

    def __init__(
        self,
        *command: str | Path,
        rows: int = 40,
        columns: int = 100,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=20_000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = bytearray()
        self._master, slave = pty.openpty()
        self._size(rows, columns)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        kept.pop("COLUMNS", None)
        kept.pop("LINES", None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCHER, *map(str, command)],
            stdin=slave, stdout=slave, stderr=slave, cwd=cwd, start_new_session=True,
            env={**kept, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "PAGER": "cat",
                 **(env or {})},
        )  # fmt: skip
        os.close(slave)

    # ── typing ───────────────────────────────────────────────────────────────

    def send(self, text: str) -> None:
        """Type, reading meanwhile, so that neither side waits for the other."""
        data = text.encode("utf-8", "surrogateescape")
        while data:
            _, ready, _ = select.select([self._master], [self._master], [], 0.05)
            if ready:
                written = os.write(self._master, data[:4096])
                data = data[written:]
            self.read(0)

    def type(self, text: str) -> None:
        """Type within a line and wait until all of it is shown."""
        self.send(text)
        shown = text.rstrip()
        self.until(lambda: self._at_cursor().endswith(shown), f"the echo of {shown!r}")

    def line(self, text: str) -> None:
        """Type a line, wait until it is shown, and press Enter."""
        self.type(text)
        self.send(ENTER)

    def run(self, *lines: str) -> None:
        """Type lines, each at its prompt, and wait for the next primary prompt."""
        for number, line in enumerate(lines):
            if number:
                self.continuation()
            self.line(line)
        self.prompt()

    def continuation(self) -> None:
        """Wait for an empty continuation prompt."""
        self.until(lambda: self._at_cursor() == "...", "a continuation prompt")

    def _at_cursor(self) -> str:
        """The line of the cursor up to it, without what is blank at the end."""
        cursor = self.screen.cursor
        # Wide characters take two cells, and the second is empty.
        cells = self.screen.buffer[cursor.y]
        return "".join(cells[x].data for x in range(cursor.x)).rstrip()

    def paste(self, text: str) -> None:
        """Paste as terminals do: with marks where the program asked for them."""
        text = text.replace("\n", "\r")
        raw = bytes(self.raw)
        marked = raw.rfind(b"\x1b[?2004h") > raw.rfind(b"\x1b[?2004l")
        self.send(f"\x1b[200~{text}\x1b[201~" if marked else text)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the window."""
        self.screen.resize(rows, columns)
        self._size(rows, columns)
        os.killpg(os.getpgid(self.process.pid), signal.SIGWINCH)

    def _size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # ── reading ──────────────────────────────────────────────────────────────

    def read(self, seconds: float) -> bool:
        """Take in what was written; false when nothing came within ``seconds``."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            return False  # the other side is closed
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    @property
    def lines(self) -> list[str]:
        """The screen, without trailing blanks."""
        lines = [line.rstrip() for line in self.screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.lines)

    def until(self, condition: Callable[[], bool], what: str = "") -> None:
        """Read until ``condition`` holds; fails with the screen when it does not."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or (not self.read(0.2) and self.process.poll() is not None):
                self.read(0)
                if condition():
                    return
                raise AssertionError(f"waited in vain for {what}; the screen:\n{self.text}")

    def see(self, text: str) -> None:
        """Wait until the screen shows ``text``."""
        self.until(lambda: text in self.text, repr(text))

    def shows(self, *lines: str) -> None:
        """Wait until the screen ends with these lines; the last one is where the cursor is."""
        wanted = [line.rstrip() for line in lines]
        self.until(lambda: self.lines[-len(wanted) :] == wanted, "\n".join(wanted))

    def prompt(self) -> None:
        """Wait for an empty primary prompt."""
        self.until(self.at_prompt, "an empty prompt")

    def at_prompt(self) -> bool:
        """Whether the cursor stands at an empty primary prompt, and nothing is below."""
        return (
            self.screen.cursor.x == 4
            and self._at_cursor() == "+++"
            and bool(self.lines)
            and self.lines[-1] == "+++"
        )

    # ── ending ───────────────────────────────────────────────────────────────

    def status(self) -> int:
        """Wait for the end of the command; its exit status."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise AssertionError(f"it does not end; the screen:\n{self.text}")
            self.read(0.05)
        while self.read(0.05):
            pass
        return self.process.returncode

    def hang_up(self) -> None:
        """Close the window while the command runs."""
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        """End the command if it still runs, and the terminal."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._master >= 0:
            os.close(self._master)
