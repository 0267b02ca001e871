"""Writing for the person at the terminal, or for whoever reads the pipes."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from kedi.repl import output

if TYPE_CHECKING:
    from kedi.errors import KediError

#: What a terminal shows of one value; `:more` has the rest. Pipes get everything.
MAX_CHARACTERS = 20_000
MAX_LINES = 200


class Console:
    """Results go to standard output, errors and remarks to standard error, in order.

    With ``shorten`` a long result shows its beginning, and ``rest`` keeps the whole.
    """

    def __init__(self, *, shorten: bool = False) -> None:
        self.shorten = shorten
        self.rest: str | None = None

    def out(self, text: str) -> None:
        """Write lines of result. Raises ``BrokenPipeError`` and ``OutputFailed``."""
        output.out(text, flush=True)

    def err(self, text: str) -> None:
        """Write lines for the person, after everything that was printed before."""
        for stream, line in ((sys.stdout, None), (sys.stderr, text)):
            if stream is None:  # pyright: ignore[reportUnnecessaryComparison]
                continue
            try:
                if line is None:
                    stream.flush()
                else:
                    print(line, file=stream, flush=True)
            except (OSError, ValueError):
                pass  # closed or gone: there is nobody to tell

    def error(self, error: KediError) -> None:
        """Write a rendered error; one without a trace says that it is an error."""
        color = output.use_color(sys.stderr)
        if hasattr(error, "diagnostics") or getattr(error, "frames", ()):
            self.err(error.render(color))
        else:
            self._labelled("error", "1;31", error.render(color))

    def complain(self, message: str, hint: str | None = None) -> None:
        """Write an error of the REPL itself, such as a command that is not there."""
        from kedi.diagnostics import readable

        self._labelled("error", "1;31", readable(message))
        if hint:
            self._labelled("  help", "1;36", readable(hint))

    def note(self, message: str) -> None:
        """Write a remark."""
        from kedi.diagnostics import readable

        self._labelled("note", "1;36", readable(message))

    def _labelled(self, label: str, style: str, text: str) -> None:
        from kedi.diagnostics import paint

        self.err(f"{paint(label, style, output.use_color(sys.stderr))}: {text}")

    def interrupted(self) -> None:
        """Say that something was interrupted, below the `^C` of the terminal."""
        if self.shorten:
            begin_line()
        self.err("interrupted")

    def result(self, text: str) -> None:
        """Write the text of a value: all of it, or its beginning and how to see the rest."""
        if not self.shorten:
            self.out(text)
            return
        shown = text[:MAX_CHARACTERS]
        lines = shown.split("\n", MAX_LINES)
        if len(lines) > MAX_LINES:
            shown = "\n".join(lines[:MAX_LINES])
        if len(shown) == len(text):
            self.rest = None
            self.out(text)
            return
        self.rest = text
        more = len(text) - len(shown)
        self.out(f"{shown}…")
        self.note(f"{more:,} more characters: `:more` shows all of it")

    @property
    def width(self) -> int:
        """Columns to write in."""
        return max(20, shutil.get_terminal_size((100, 24)).columns)


def begin_line() -> None:
    """Go to the beginning of a line of the terminal, of a new one below unfinished output.

    Nobody knows the column, so nearly as many spaces as fill a line are written: they
    stay on the line only when it was empty.
    """
    try:
        width = os.get_terminal_size(sys.stdout.fileno()).columns
        sys.stdout.write(f"{' ' * (width - 1)}\r\x1b[K")
        sys.stdout.flush()
    except (OSError, ValueError):
        pass  # no terminal any more: who writes next will tell
