"""``kedi model install``: fetch the local model and show how far it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kedi.agents.install import find_local_model, install_local_model
from kedi.repl import output as terminal

if TYPE_CHECKING:
    from kedi.agents.install import Phase

_WORDS: dict[Phase, str] = {
    "download": "downloading",
    "verify": "verifying",
    "extract": "unpacking",
}
_BAR = 30


def install_model() -> int:
    """Install the local model unless it is there, and say where it is."""
    terminal.load_environment()
    known = find_local_model() is not None
    progress = ProgressBar() if _is_terminal() else ProgressLines()
    fetched = False

    def update(phase: Phase, done: int, total: int) -> None:
        nonlocal fetched
        fetched = fetched or phase == "download"
        progress.update(phase, done, total)

    try:
        path = install_local_model(update)
    finally:
        progress.close()
    if not fetched:
        state = "is already installed"
    else:
        state = "was damaged and is installed again" if known else "is installed"
    terminal.out(f"The local model {state}: {path}")
    return 0


def _is_terminal() -> bool:
    stream = sys.stderr
    return stream is not None and stream.isatty()  # pyright: ignore[reportUnnecessaryComparison]


class ProgressBar:
    """One line that is drawn again, for a terminal; written only when it looks different."""

    def __init__(self) -> None:
        self._shown = ""

    def update(self, phase: Phase, done: int, total: int) -> None:
        """Draw ``done`` of ``total`` bytes."""
        part = min(1.0, done / total) if total else 1.0
        filled = round(part * _BAR)
        text = (
            f"{_WORDS[phase]:<11} [{'#' * filled}{'.' * (_BAR - filled)}] "
            f"{part:4.0%} of {total / 1e6:.0f} MB"
        )
        if text != self._shown:
            self._shown = text
            sys.stderr.write(f"\r{text}")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._shown:
            sys.stderr.write("\n")
            self._shown = ""


class ProgressLines:
    """One line at the start of each phase, for logs."""

    def __init__(self) -> None:
        self._phase: Phase | None = None

    def update(self, phase: Phase, done: int, total: int) -> None:
        """Say that a phase has begun."""
        if phase != self._phase:
            self._phase = phase
            terminal.err(f"{_WORDS[phase]} {total / 1e6:.0f} MB")

    def close(self) -> None:
        """Nothing is left open."""
