"""Starting the REPL: which reader fits, what is loaded when, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedi._version import __version__
from kedi.repl.console import Console
from kedi.repl.records import Recorder
from kedi.repl.rules import Rules
from kedi.repl.shell import Reader, Shell, resumed

if TYPE_CHECKING:
    from kedi.repl.completer import Suggestion
    from kedi.repl.history import HistoryFile
    from kedi.repl.live import ReplSession

#: Variables that decide about a session and may be wrong: then it is made before the prompt.
_DECIDING = ("KEDI_ADAPTER", "KEDI_AGENT", "KEDI_ADAPTER_MODEL", "KEDI_PARALLEL")


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``kedi --idle`` was started with.

    ``config`` are keywords of :func:`kedi.interactive`; ``record`` saves the session on
    the way out; ``load`` is the snapshot to go on with, which then is recorded to.
    """

    config: Mapping[str, Any] = field(default_factory=_nothing)
    record: bool = False
    load: Path | None = None
    highlight: bool = False


def start(settings: Settings) -> int:
    """Run the REPL on the process's streams; its exit status.

    Raises what makes a session impossible (configuration, snapshot, ``OSError``), and the
    ``SystemExit`` of a fragment.
    """
    terminal = _is_terminal(sys.stdin)
    console = Console(shorten=terminal and _is_terminal(sys.stdout))
    path = settings.load.absolute() if settings.load is not None else None
    recorder = Recorder(console, active=settings.record or path is not None, path=path)

    def make_session() -> ReplSession:
        return _restored(path, settings) if path is not None else _fresh(settings)

    shell = Shell(
        make_session,
        console,
        recorder,
        interactive=terminal,
        restore=lambda other: _restored(other, settings),
    )
    if path is not None or settings.config or any(map(os.environ.get, _DECIDING)):
        session = shell.session  # what is wrong is said at once, not after the first input
        if path is not None:
            recorder.went_on(session, path)
        if path is not None and terminal:
            _greet()
            console.out(resumed(session))
        elif terminal:
            _greet()
    elif terminal:
        _greet()
    with shell.ending.by_signals():
        if not terminal:
            from kedi.repl.plain import LineReader, prepare_stdin, read_stdin

            prepare_stdin()
            return shell.run(LineReader(read_stdin, lambda: Rules(shell.session.check)))
        return _run_in_terminal(shell, settings)


def _run_in_terminal(shell: Shell, settings: Settings) -> int:
    from kedi.repl.history import HistoryFile, history_path

    history = HistoryFile(history_path())
    try:
        return shell.run(_reader(shell, settings, history))
    finally:
        if history.problem:
            shell.console.note(history.problem)
        if history.withheld:
            count = history.withheld
            shell.console.note(
                f"{count} input{'' if count == 1 else 's'} that may hold a secret "
                f"{'is' if count == 1 else 'are'} not in the history file"
            )


def _reader(shell: Shell, settings: Settings, history: HistoryFile) -> Reader:
    def rules() -> Rules:
        return Rules(shell.session.check)

    def suggest(text: str, origin: int) -> list[Suggestion]:
        from kedi.repl.completer import suggestions

        return suggestions(shell.session, text, origin)

    if _is_terminal(sys.stdout) and os.environ.get("TERM") != "dumb":
        try:
            from kedi.repl.terminal import TerminalReader

            return TerminalReader(
                rules, history, suggest, highlight=settings.highlight, ready=_preload
            )
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in _EXTRA:
                raise
            shell.console.note(
                f"{error.name} is not installed: lines are read plainly; "
                "for the full prompt run `pip install 'kedi[repl]'`"
            )
    from kedi.repl.plain import InputReader

    return InputReader(rules, history, suggest)


_EXTRA = ("prompt_toolkit", "pygments", "wcwidth")


def _fresh(settings: Settings) -> ReplSession:
    import warnings

    from kedi.repl.live import ReplSession

    with warnings.catch_warnings():
        # What `.env` has wrong was said by the command.
        warnings.simplefilter("ignore", RuntimeWarning)
        return ReplSession(**settings.config)


def _restored(path: Path, settings: Settings) -> ReplSession:
    import kedi
    from kedi.repl.live import ReplSession

    config = dict(settings.config)
    model = config.pop("model", None)
    session = kedi.load_session(path, session_type=ReplSession, **config)
    if model is not None:
        session.use_model(model)
    return session


def _preload() -> None:
    """Load what the first input will need, while the person thinks about it."""
    from importlib import import_module

    for name in _LATER:
        import_module(name)


_LATER = ("kedi.repl.live", "kedi.session.checking", "kedi.repl.commands", "kedi.repl.completer")


def _greet() -> None:
    print(f"Kedi {__version__} on {sys.platform}")
    print('Type "help" for help, ":multiline" for an editor, ":dump" to save, ":exit" to leave.')


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except ValueError:
        return False  # closed


__all__ = ["Settings", "start"]
