"""The prompt of a real terminal, on prompt_toolkit. Imported only where there is one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.history import History
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.lexers import DynamicLexer, Lexer, SimpleLexer
from prompt_toolkit.output import create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout

from kedi.repl.ahead import is_pasted, is_waiting, take
from kedi.repl.console import begin_line
from kedi.repl.transcript import CONTINUATION, PRIMARY, cleaned

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.output import Output

    from kedi.repl.completer import Suggest
    from kedi.repl.history import HistoryFile
    from kedi.repl.rules import Rules

INDENT = "  "
#: Longer inputs are shown plainly: highlighting would make typing slow.
MAX_HIGHLIGHTED = 20_000

KEYS = """\
Tab completes, and indents at the beginning of a line. Up and Down recall inputs, Ctrl+R
searches them. Alt+Enter submits as it is, Ctrl+X Ctrl+E opens an editor. Pasted text waits
for Enter. Ctrl+C drops the input or stops what runs; Ctrl+C and Ctrl+D leave when it is empty."""


class TerminalReader:
    """Reads inputs with an editor of several lines.

    ``ready`` is called once, after the first prompt was drawn.
    """

    keys = KEYS

    def __init__(
        self,
        rules: Callable[[], Rules],
        history: HistoryFile,
        suggest: Suggest,
        *,
        highlight: bool = False,
        ready: Callable[[], None] | None = None,
    ) -> None:
        self._rules = rules
        self._composing = False
        self._typed = False
        self._lexer = _highlighting() if highlight else SimpleLexer()
        self._session: PromptSession[str] = PromptSession(
            message=self._prompt,
            multiline=True,
            prompt_continuation=self._continued,
            key_bindings=self._bindings(),
            completer=SessionCompleter(suggest),
            complete_while_typing=False,
            history=FileBackedHistory(history),
            lexer=DynamicLexer(self._current_lexer),
            include_default_pygments_style=highlight,
            enable_suspend=True,
            enable_open_in_editor=True,
            tempfile_suffix=".kedi",
            output=_output(),
        )
        if ready is not None:
            self._start_after_drawing(ready)

    def read(self) -> str:
        """The next input; blank when Ctrl+C dropped it. Raises ``EOFError``."""
        begin_line()
        try:
            return self._ask()
        except KeyboardInterrupt:
            return ""

    def compose(self) -> str:
        """A fragment from the editor; blank when it was given up."""
        self._composing = True
        try:
            return self._ask()
        except (KeyboardInterrupt, EOFError):
            return ""
        finally:
            self._composing = False

    def _ask(self) -> str:
        self._take_ahead()
        try:
            # What threads of a fragment print meanwhile goes above the prompt.
            with patch_stdout(raw=True):
                return self._session.prompt()
        finally:
            # It came while pastes were marked, so that what has no mark was typed.
            self._typed = os.name != "nt" and is_waiting(self._session.input.fileno())

    def _take_ahead(self) -> None:
        """Get what came while something ran; several lines at once are kept as a paste."""
        if os.name == "nt":
            return  # its consoles give keys, not text
        from prompt_toolkit.input.vt100 import Vt100Input

        source = self._session.input
        if not isinstance(source, Vt100Input):
            return
        # From here on the terminal marks pastes.
        self._mark_pastes(True)
        try:
            text = take(source.fileno())
        except BaseException:
            self._mark_pastes(False)
            raise
        if not text:
            return
        if is_pasted(text) and not self._typed:
            text = f"\x1b[200~{text}\x1b[201~"
        source.vt100_parser.feed(text)
        store_typeahead(source, source.flush_keys())

    def _mark_pastes(self, on: bool) -> None:
        output = self._session.output
        (output.enable_bracketed_paste if on else output.disable_bracketed_paste)()
        output.flush()

    def _prompt(self) -> str:
        if self._composing:
            return CONTINUATION
        # A copied session brings its own prompts.
        return "" if self._session.default_buffer.text.startswith(PRIMARY) else PRIMARY

    def _continued(self, width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:
        if wrap_count:
            return [("", " " * len(CONTINUATION))]
        if not self._composing:
            lines = self._session.default_buffer.document.lines
            line = lines[line_number] if line_number < len(lines) else ""
            if lines[0].startswith(PRIMARY) and line.startswith(("+++", "...")):
                return []
        return [("", CONTINUATION)]

    def _current_lexer(self) -> Lexer:
        if len(self._session.default_buffer.text) > MAX_HIGHLIGHTED:
            return SimpleLexer()
        return self._lexer

    def _start_after_drawing(self, ready: Callable[[], None]) -> None:
        def once(_: object) -> None:
            self._session.app.after_render -= once
            threading.Thread(target=ready, name="kedi-preload", daemon=True).start()

        self._session.app.after_render += once

    # ── keys ─────────────────────────────────────────────────────────────────

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        typing = has_focus(DEFAULT_BUFFER)
        at_line_start = Condition(lambda: not get_app().current_buffer.document.
                                  current_line_before_cursor.strip())  # fmt: skip
        keys.add("enter", filter=typing)(self._enter)
        keys.add("escape", "enter", filter=typing)(_submit)
        keys.add("tab", filter=typing & at_line_start)(_indent)
        keys.add("tab", filter=typing & ~at_line_start)(_complete)
        keys.add("s-tab", filter=typing & at_line_start)(_dedent)
        keys.add(Keys.BracketedPaste, filter=typing)(_paste)
        for key in ("c-c", "<sigint>"):
            keys.add(key, filter=typing)(self._interrupt)
        return keys

    def _enter(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion:
            # It chooses the completion; the next Enter is for the line.
            buffer.complete_state = None
            return
        document = buffer.document
        after = document.text_after_cursor
        if after.strip():
            # In the middle of an input. Only the end of one line submits from everywhere.
            if self._composing or "\n" in document.text or self._is_open(document.text):
                buffer.newline(copy_margin=False)
                return
        elif not self._submits(document):
            buffer.newline(copy_margin=False)
            return
        _submit(event)

    def _submits(self, document: Document) -> bool:
        """Whether Enter at the end of the text submits it."""
        text = document.text.rstrip()
        blank = not document.current_line.strip()
        if self._composing:
            return blank and not self._rules().needs_more(text)
        if not text:
            return True
        if not blank:
            return "\n" not in document.text and not self._is_open(text)
        return not self._rules().takes_blank(text)

    def _is_open(self, text: str) -> bool:
        return self._rules().is_open(text)

    def _interrupt(self, event: KeyPressEvent) -> None:
        empty = not event.current_buffer.text
        leaving = empty and not self._composing
        event.app.exit(exception=EOFError if leaving else KeyboardInterrupt, style="class:aborting")


def _submit(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    buffer.cursor_position = len(buffer.text)
    buffer.validate_and_handle()


def _indent(event: KeyPressEvent) -> None:
    """Indent as far as the line above, one step more after a header, or by a step."""
    buffer = event.current_buffer
    document = buffer.document
    here = document.current_line_before_cursor
    above = next((line for line in reversed(document.lines[: document.cursor_position_row])
                  if line.strip()), "")  # fmt: skip
    wanted = above[: len(above) - len(above.lstrip())]
    if above.rstrip().endswith(":"):
        wanted += INDENT
    buffer.insert_text(wanted if not here and wanted else INDENT)


def _dedent(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    before = buffer.document.current_line_before_cursor
    if before:
        buffer.delete_before_cursor(min(len(before), len(INDENT)))


def _complete(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if buffer.complete_state is not None:
        buffer.complete_next()
    else:
        buffer.start_completion(insert_common_part=True)


def _paste(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text(cleaned(event.data))


# ── completion, history, colours ──────────────────────────────────────────────


class SessionCompleter(Completer):
    """Completions from the live session."""

    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Completions at the cursor."""
        at = document.cursor_position
        for item in self._suggest(document.text_before_cursor, 0):
            if item.end == at:
                yield Completion(
                    item.text,
                    start_position=item.start - item.end,
                    display=item.label,
                    display_meta=item.detail if item.detail != item.label else None,
                )


class FileBackedHistory(History):
    """Recalls the inputs of the history file and adds to it."""

    def __init__(self, file: HistoryFile) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """Entries, newest first."""
        return reversed(self._file.load())

    def store_string(self, string: str) -> None:
        """Keep an input."""
        self._file.append(string)


def _highlighting() -> Lexer:
    from prompt_toolkit.lexers import PygmentsLexer

    from kedi.repl.lexer import KediLexer

    return PygmentsLexer(KediLexer)


def _output() -> Output:
    output = create_output()
    if isinstance(output, Vt100_Output):
        # Asking for the place of the cursor delays every input, and its answer may come
        # when nobody waits for it any more.
        output.enable_cpr = False
    return output
