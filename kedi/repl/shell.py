"""The loop: read an input, run it, show what came of it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kedi.errors import KediError, KediExecutionError
from kedi.repl.console import Console
from kedi.repl.output import OutputFailed
from kedi.repl.rules import command_in
from kedi.repl.signals import Ending
from kedi.repl.transcript import inputs

if TYPE_CHECKING:
    from kedi.repl.live import ReplSession
    from kedi.repl.records import Recorder


class Unreadable(KediError):
    """An input that is no text; what comes after it may be."""


class Reader(Protocol):
    """Where inputs come from."""

    @property
    def keys(self) -> str:
        """Lines of help about the keyboard, empty where there is none."""
        ...

    def read(self) -> str:
        """The next input, perhaps blank. Raises ``EOFError`` and :class:`Unreadable`."""
        ...

    def compose(self) -> str:
        """A fragment from the editor, blank when it was given up. Raises ``EOFError``."""
        ...


class Shell:
    """Runs inputs against one session, which is made when it is first needed.

    ``failed`` says whether the last input failed. When a fragment is interrupted,
    an ``interactive`` shell goes on; another one ends.
    """

    def __init__(
        self,
        make_session: Callable[[], ReplSession],
        console: Console,
        recorder: Recorder,
        *,
        interactive: bool,
        restore: Callable[[Path], ReplSession],
    ) -> None:
        self.console = console
        self.recorder = recorder
        self.interactive = interactive
        self.failed = False
        self.reader: Reader = _Nothing()
        self.ending = Ending()
        self._make_session = make_session
        self._restore = restore
        self._session: ReplSession | None = None

    @property
    def session(self) -> ReplSession:
        """The session."""
        if self._session is None:
            self._session = self._make_session()
        return self._session

    def run(self, reader: Reader) -> int:
        """Read and run until the end; the exit status. Exits of fragments come out as they are."""
        from kedi.repl.commands import Leave

        self.reader = reader
        saved = True
        try:
            try:
                while True:
                    self._turns()
            except (EOFError, Leave):
                pass
        finally:
            saved = self._end()
        return 0 if saved and not (self.failed and not self.interactive) else 1

    def _turns(self) -> None:
        try:
            while True:
                self.ending.leaving = False
                try:
                    text = self.reader.read()
                except Unreadable as error:
                    self.failed = True
                    self.console.error(error)
                    continue
                gc.enable()
                self.submit(text)
        except KeyboardInterrupt:
            if not self.interactive:
                raise
            # It came between two inputs, or while one ended.
            self.console.interrupted()

    def submit(self, text: str) -> None:
        """Run an input: a command, a fragment, or a copied session with several of them."""
        for item in inputs(text) or [text]:
            if item.strip() and not self._one(item):
                return

    def _one(self, text: str) -> bool:
        """Run one input; false when it was interrupted."""
        from kedi.repl.commands import CommandError, run_command

        command = command_in(text)
        if command is None:
            return self.execute(text)
        self.failed = False
        try:
            return self._guarded(lambda: run_command(self, command))
        except CommandError as error:
            self.failed = True
            self.console.complain(str(error), error.hint)
            return True

    def execute(self, source: str, *, source_name: str | None = None) -> bool:
        """Run a fragment and show its result; false when it was interrupted."""
        from kedi.repl.live import LAST, asks_text

        self.failed = False

        def run() -> None:
            options = {} if source_name is None else {"source_name": source_name}
            value = self.session.execute(source, **options)
            if value is not None:
                self.show(value)
            if value == LAST and asks_text(source):
                self.console.note(f"this is a text; the last result is `= `{LAST}``")

        return self._guarded(run)

    def show(self, value: Any) -> None:
        """Write ``repr()`` of a value."""
        try:
            text = repr(value)
        except Exception as error:
            from kedi.runtime.text import described

            self.failed = True
            self.console.complain(
                f"the result is a {type(value).__name__}, but its repr failed: {described(error)}"
            )
        else:
            self.console.result(text)

    def _guarded(self, run: Callable[[], None]) -> bool:
        """Run something of the user's; its failures are shown, and false means interrupted."""
        from kedi.repl.commands import CommandError, Leave

        try:
            with self.ending.running():
                run()
        except (SystemExit, EOFError, Leave, CommandError, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            self.failed = True
            if not self.interactive:
                raise
            self.console.interrupted()
            return False
        except OutputFailed as failure:
            self.failed = True
            self.console.complain(f"the output cannot be written: {failure}")
        except KediError as error:
            self.failed = True
            if isinstance(error, KediExecutionError) and _output_is_gone(error.original):
                raise
            self.console.error(error)
        except Exception as error:
            self.failed = True
            self._internal(error)
        except BaseException as error:
            self.failed = True
            self._ended(error)
        return True

    def resume(self, path: Path) -> None:
        """Go on with a snapshot in place of this session. Raises ``KediError``, ``OSError``."""
        restored = self._restore(path)
        before = self._session
        if before is not None:
            self._leave_session(before, restored)
        self._session = restored
        self.recorder.went_on(restored, path.absolute())
        self.console.out(resumed(restored))

    def _leave_session(self, session: ReplSession, following: ReplSession) -> None:
        """Save, if that was asked for, and close; a session that cannot be saved stays."""
        from kedi.repl.commands import CommandError

        if self.recorder.finish(session) == "nothing":
            following.close()
            raise CommandError(
                "nothing is loaded, since the session could not be saved",
                "`:dump PATH` saves it elsewhere; or leave with `:exit`",
            )
        count = len(session.fragments)
        if count and not self.recorder.active:
            self.console.note(
                f"the session before, of {count} fragment{'' if count == 1 else 's'}, is closed"
            )
        session.close()

    def _end(self) -> bool:
        """Save if that was asked for, and close; false unless all was saved as it was asked for."""
        self.ending.leaving = True
        if self._session is None and not self.recorder.active:
            return True
        try:
            return self.recorder.finish(self.session) == "whole"
        except Exception as error:
            self._internal(error)
            return False
        finally:
            if self._session is not None:
                self._session.close()

    def _internal(self, error: Exception) -> None:
        import traceback

        self.console.err("".join(traceback.format_exception(error)).rstrip())
        self.console.complain(
            f"Kedi itself failed: {type(error).__name__}", "please report this with the lines above"
        )

    def _ended(self, error: BaseException) -> None:
        """An exception that asks for an end and is neither an exit nor an interrupt."""
        from kedi.runtime.text import safe_str

        text = safe_str(error)
        self.console.complain(
            f"the fragment ended with {type(error).__name__}{': ' if text else ''}{text}",
            "raise a subclass of Exception to have it handled as an error",
        )


class _Nothing:
    keys = ""

    def read(self) -> str:
        raise EOFError

    def compose(self) -> str:
        raise EOFError


def resumed(session: ReplSession) -> str:
    """What is there again after a restore."""
    fragments, names = len(session.fragments), [view.name for view in session.bindings()]
    listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    text = f"resumed after {fragments} fragment{'' if fragments == 1 else 's'}"
    if names:
        text += f": {listed}"
    for hole in session.holes:
        text += f"\nmissing: {hole.path}: {hole.reason}"
    return text


def _output_is_gone(error: BaseException | None) -> bool:
    """Whether it says that the reader of standard output went away."""
    return isinstance(error, BrokenPipeError) and sys.stdout is not None  # pyright: ignore[reportUnnecessaryComparison]
