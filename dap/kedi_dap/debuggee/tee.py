"""Output of an attached process: it stays where it goes, and the client gets a copy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from kedi_dap.debuggee.outlet import Category, Outlet


class Tee:
    """Copies what is written to ``sys.stdout`` and ``sys.stderr`` as output of the program.

    The ``write`` of the streams themselves is wrapped: others may hold the streams, or put
    others in their place for a while.
    """

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._undo: list[Callable[[], None]] = []

    def open(self) -> None:
        """Begin to copy."""
        self._wrap(sys.stdout, "stdout")
        self._wrap(sys.stderr, "stderr")

    def close(self) -> None:
        """Copy no more."""
        for undo in self._undo:
            undo()
        self._undo.clear()

    @contextmanager
    def over_current(self) -> Generator[None]:
        """Copy also what stands in the place of the streams now, as long as the block lasts."""
        before = len(self._undo)
        self._wrap(sys.stdout, "stdout")
        self._wrap(sys.stderr, "stderr")
        try:
            yield
        finally:
            added = self._undo[before:]
            del self._undo[before:]
            for undo in added:
                undo()

    def _wrap(self, stream: Any, category: Category) -> None:
        write = getattr(stream, "write", None)
        if write is None or getattr(write, "_kedi_tee", None) is self:
            return
        outlet = self._outlet

        def copied(text: str) -> int:
            count: int = write(text)
            if isinstance(text, str):
                outlet.write(category, text)
            return count

        copied._kedi_tee = self  # pyright: ignore[reportFunctionMemberAccess]
        try:
            stream.write = copied
        except AttributeError:
            return  # a stream of C that takes no attributes: what is written there is not copied

        def undo() -> None:
            if stream.__dict__.get("write") is copied:
                del stream.write

        self._undo.append(undo)
