"""Reading lines without a terminal editor: pipes and files, and terminals without the extra."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kedi.errors import KediError
from kedi.repl import transcript
from kedi.repl.rules import Blanks, Rules
from kedi.repl.shell import Unreadable
from kedi.repl.transcript import CONTINUATION, PRIMARY

if TYPE_CHECKING:
    from kedi.repl.completer import Suggest
    from kedi.repl.history import HistoryFile

#: A line that never ends is not read for ever.
MAX_LINE = 64_000_000


class InputBroken(KediError):
    """Standard input that cannot be read on."""


class LineReader:
    """Puts lines together to inputs. ``next_line(prompt)`` gives a line without its end.

    At the end of the lines, what is open is the last input. In a copied session
    (see :mod:`kedi.repl.transcript`) lines without a prompt are skipped.
    """

    keys = ""

    def __init__(self, next_line: Callable[[str], str], rules: Callable[[], Rules]) -> None:
        self._next_line = next_line
        self._rules = rules
        self._pushed: str | None = None
        self._copied = False

    def read(self) -> str:
        """The next input. Raises ``EOFError``."""
        line = self._line(PRIMARY)
        begun = transcript.primary(line)
        if begun is not None:
            self._copied = self.skips_output
            line = begun
        elif self._copied or (self.skips_output and transcript.is_banner(line)):
            self._copied = True
            return ""
        lines = [line]
        blanks: Blanks | None = None
        while len(lines) > 1 or self._rules().is_open(line):
            try:
                line = self._continued()
            except EOFError:
                if not self.ends_open:
                    raise
                break
            if line is None:
                break
            if not line.strip():
                blanks = blanks or Blanks(self._rules())
                if not blanks.belong(lines):
                    break
            lines.append(line)
        return "\n".join(lines)

    #: Whether the end of the lines submits what is open.
    ends_open = True
    #: Whether lines between the inputs of a copied session are dropped.
    skips_output = True

    def compose(self) -> str:
        """Lines up to a blank one after which they are complete."""
        lines: list[str] = []
        rules = self._rules()
        blanks = Blanks(rules)
        while True:
            try:
                line = self._continued()
            except EOFError:
                if not self.ends_open:
                    raise
                break
            if line is None:
                break
            blank = not line.strip()
            if blank and not (blanks.belong(lines) or rules.needs_more("\n".join(lines))):
                break
            lines.append(line)
        return "\n".join(lines)

    def _continued(self) -> str | None:
        """A further line of the input; ``None`` when the next input begins instead."""
        line = self._line(CONTINUATION)
        if transcript.primary(line) is not None:
            self._pushed = line
            return None
        inner = transcript.continued(line)
        return line if inner is None else inner

    def _line(self, prompt: str) -> str:
        if self._pushed is not None:
            line, self._pushed = self._pushed, None
            return line
        return self._next_line(prompt)


def read_stdin(_: str) -> str:
    """A line of standard input. Raises ``EOFError``, :class:`Unreadable`, :class:`InputBroken`.

    Read through ``sys.stdin``, so that ``input()`` of embedded Python gets what follows.
    """
    stream = sys.stdin
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise EOFError
    try:
        line = stream.readline(MAX_LINE)
    except (OSError, ValueError) as error:
        raise InputBroken(f"standard input cannot be read: {error}") from None
    if not line:
        raise EOFError
    if len(line) >= MAX_LINE and not line.endswith("\n"):
        raise InputBroken(f"a line of standard input is longer than {MAX_LINE:,} characters")
    if not line.isascii():
        try:
            line.encode("utf-8")
        except UnicodeEncodeError:
            raise Unreadable("a line of standard input is not UTF-8") from None
    return line.removesuffix("\n")


def prepare_stdin() -> None:
    """Let standard input be UTF-8, whatever the locale; bytes that are not become surrogates."""
    reconfigure = getattr(sys.stdin, "reconfigure", None)
    if reconfigure is not None:
        try:
            reconfigure(encoding="utf-8", errors="surrogateescape")
        except (OSError, ValueError):
            pass  # closed, or already read from: it stays as it is


class InputReader(LineReader):
    """Lines from a terminal by ``input()``, with readline where Python has it."""

    keys = "Tab completes. Ctrl+C drops the input, Ctrl+D leaves."
    ends_open = False
    skips_output = False

    def __init__(self, rules: Callable[[], Rules], history: HistoryFile, suggest: Suggest) -> None:
        super().__init__(self._ask, rules)
        self._history = history
        self._readline = _load_readline()
        self._suggest = suggest
        self._found: list[str] = []
        self._lines: list[str] = []
        self._waiting = False
        self._rest: list[str] = []
        if self._readline is not None:
            self._set_up()

    def read(self) -> str:
        """The next input; blank when Ctrl+C dropped it. Raises ``EOFError``."""
        self._lines = []
        try:
            text = super().read()
        except KeyboardInterrupt:
            return self._dropped()
        self._history.append(text)
        return text

    def compose(self) -> str:
        """A fragment; blank when Ctrl+C or Ctrl+D gave it up."""
        self._lines = [""]
        try:
            text = super().compose()
        except (KeyboardInterrupt, EOFError):
            print()
            return ""
        self._history.append(text)
        return text

    def _dropped(self) -> str:
        typed = self._readline.get_line_buffer() if self._readline is not None else ""
        self._rest.clear()
        print()
        if self._waiting and not self._lines and not typed.strip():
            raise EOFError
        return ""

    def _ask(self, prompt: str) -> str:
        if not self._rest:
            self._waiting = True
            # A paste may come as one line with line breaks in it.
            self._rest = _input(prompt).split("\n")
            self._waiting = False
        line = self._rest.pop(0)
        self._lines.append(line)
        return line

    def _set_up(self) -> None:
        readline = self._readline
        for entry in self._history.load():
            for line in entry.split("\n"):
                if line.strip():
                    readline.add_history(line)
        readline.set_completer(self._complete)
        readline.set_completer_delims(" \t\n`<>()[]{},=:+-*/%&|^!@~")
        readline.parse_and_bind("tab: complete")

    def _complete(self, word: str, state: int) -> str | None:
        if state == 0:
            readline = self._readline
            line = readline.get_line_buffer()[: readline.get_endidx()]
            begin: int = readline.get_begidx()
            if not line.strip():
                # Tab at the beginning of a line indents it.
                self._found = [line + "  "]
                return self._found[0]
            before = "\n".join([*self._lines, ""])
            self._found = [
                (line[: item.start] + item.text)[begin:]
                for item in self._suggest(before + line, len(before))
                if item.text and item.start >= 0
            ]
        return self._found[state] if state < len(self._found) else None


def _input(prompt: str) -> str:
    """A line typed at ``prompt``, which must not get into output that goes elsewhere."""
    if sys.stdout.isatty():
        return input(prompt)
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return input()


def _load_readline() -> Any:
    try:
        import readline
    except ImportError:
        return None
    return readline
