"""The stages of a ``> map:`` on several threads."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kedi.runtime.engine import interrupt, log_failure
from kedi.runtime.frames import CURRENT, Outer, RunFrame
from kedi.runtime.pending import join
from kedi.runtime.scopes import Scope
from kedi.runtime.traces import hand_over

if TYPE_CHECKING:
    from kedi.runtime.blocks import Step
    from kedi.runtime.interpreter import Interpreter

#: Seconds that interrupted helpers get to leave what they do.
_GRACE = 1.0


@dataclass(slots=True)
class _Outcome:
    """How a stage ended: with a return, with an error, or (neither) at its end."""

    frame: RunFrame
    returned: bool
    error: BaseException | None


class Stages:
    """One run of a map stage over all kept iteration scopes."""

    def __init__(
        self, interpreter: Interpreter, frame: RunFrame, kept: Sequence[Scope], stage: Step
    ) -> None:
        self.interpreter = interpreter
        self.frame = frame
        self.kept = kept
        self.stage = stage
        self._guard = threading.Lock()
        self._next = 0
        #: Stages from here on need not start: an earlier one decided.
        self._limit = len(kept)
        self._outcomes: dict[int, _Outcome] = {}

    def run(self, helpers: int) -> bool | None:
        """Run all stages with that many threads beside this one, and join them."""
        here = Outer(sys._getframe(), CURRENT.outer)  # pyright: ignore[reportPrivateUsage]
        threads = [
            threading.Thread(
                target=contextvars.copy_context().run,
                args=(self._help, here),
                name=f"kedi-map-{number + 1}",
                daemon=True,
            )
            for number in range(helpers)
        ]
        try:
            for thread in threads:
                thread.start()
            self._work()
            for thread in threads:
                # A bounded wait in a loop keeps Ctrl+C responsive on every platform.
                while thread.is_alive():
                    thread.join(0.2)
        except BaseException:
            self._stop(threads)
            raise
        return self._decide()

    def _help(self, outer: Outer) -> None:
        CURRENT.outer = outer
        try:
            self._work(helping=True)
        except BaseException:
            # Only an interrupt comes here, sent because nobody waits for this stage any more.
            return
        finally:
            CURRENT.outer = None

    def _work(self, *, helping: bool = False) -> None:
        while True:
            with self._guard:
                index = self._next
                if index >= self._limit:
                    return
                self._next = index + 1
            outcome = contextvars.copy_context().run(self._stage, self.kept[index], helping)
            self._outcomes[index] = outcome
            if outcome.returned or outcome.error is not None:
                with self._guard:
                    self._limit = min(self._limit, index)
            if isinstance(outcome.error, KeyboardInterrupt):
                raise outcome.error

    def _stage(self, inner: Scope, helping: bool) -> _Outcome:
        """One stage on this thread, in a frame of its own that looks like the caller's."""
        interpreter, frame = self.interpreter, self.frame
        own = RunFrame(interpreter, frame.unit, frame.procedure, frame.parent, inner)
        own.site = frame.site
        own.value = frame.value
        before, CURRENT.frame = CURRENT.frame, own
        error: BaseException | None = None
        returned = False
        observer = interpreter.observer
        watcher = interpreter.watcher if helping else None
        try:
            if watcher is not None:
                watcher.thread_entered(own)
            if observer is not None:
                observer.scope_opened(own, inner)
            try:
                returned = bool(self.stage(own, inner))
            finally:
                observer = interpreter.observer
                if observer is not None:
                    observer.scope_closed(own, inner)
        except BaseException as problem:
            error = problem
        if own.calls is not None:
            error = join(own, error)
        watcher = interpreter.watcher if helping else None
        if watcher is not None:
            watcher.thread_left(own)
        CURRENT.frame = before
        return _Outcome(own, returned, error)

    def _decide(self) -> bool | None:
        """Do as the first stage in order that failed or returned; log later failures."""
        decided: _Outcome | None = None
        for index in sorted(self._outcomes):
            outcome = self._outcomes[index]
            if decided is None:
                if outcome.returned or outcome.error is not None:
                    decided = outcome
            elif outcome.error is not None and outcome.error is not decided.error:
                log_failure("a map stage", outcome.error)
        if decided is None:
            return None
        frame, own = self.frame, decided.frame
        if decided.error is not None:
            frame.site, frame.scope = own.site, own.scope
            hand_over(decided.error, own, frame)
            raise decided.error
        frame.value = own.value
        return True

    def _stop(self, threads: Sequence[threading.Thread]) -> None:
        with self._guard:
            self._limit = 0
        # One that is only just starting finds nothing to do.
        alive = [thread for thread in threads if thread.is_alive()]
        for thread in alive:
            assert thread.ident is not None
            interrupt(thread.ident)
        for thread in alive:
            thread.join(_GRACE / len(alive))
