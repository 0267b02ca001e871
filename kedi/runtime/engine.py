"""Engines: where model calls and map stages run.

The sequential engine runs everything on the program's thread. The parallel
one starts model calls on a pool of daemon threads and runs the stages of
``> map:`` on threads of their own; results equal those of the sequential one,
since inputs are taken when a call is scheduled.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kedi.runtime.frames import CURRENT, RunFrame
from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import Scope

if TYPE_CHECKING:
    from kedi.runtime.compiler import Step
    from kedi.runtime.interpreter import Interpreter


def log_failure(what: str, error: BaseException) -> None:
    """Log a failure that cannot be raised, because another one is."""
    import logging

    logging.getLogger("kedi").error("%s failed too: %s: %s", what, type(error).__name__, error)


@runtime_checkable
class ExecutionEngine(Protocol):
    """What the interpreter asks of an engine."""

    parallel: bool

    def run_map(
        self,
        interpreter: Interpreter,
        frame: RunFrame,
        scope: Scope,
        kept: Sequence[Scope],
        stage: Step,
    ) -> bool | None:
        """Run a map stage once per kept iteration scope; all have ended when it returns."""
        ...

    def submit(
        self, job: Callable[[], None], whole: KediPromise[Any], after: Sequence[KediPromise[Any]]
    ) -> None:
        """Run ``job`` once the promises ``after`` are settled; it settles ``whole``."""
        ...

    def drain(self) -> None:
        """Wait for all jobs; raise the first failure in order of scheduling, log the others."""
        ...

    def close(self) -> None:
        """Stop. Jobs that have not started are dropped. Idempotent."""
        ...


class SequentialEngine:
    """Everything on the program's own thread, in source order."""

    parallel = False

    def run_map(
        self,
        interpreter: Interpreter,
        frame: RunFrame,
        scope: Scope,
        kept: Sequence[Scope],
        stage: Step,
    ) -> bool | None:
        """Run the stages one after another. The first failure ends the stage."""
        from kedi.runtime.control import run_in_child

        for inner in kept:
            if run_in_child(interpreter, frame, scope, inner, stage):
                return True
        return None

    def submit(
        self, job: Callable[[], None], whole: KediPromise[Any], after: Sequence[KediPromise[Any]]
    ) -> None:
        """Run the job now."""
        job()

    def drain(self) -> None:
        """Nothing is ever outstanding."""

    def close(self) -> None:
        """Nothing to release."""


class ParallelEngine:
    """Model calls on up to ``max_workers`` threads at a time."""

    parallel = True

    def __init__(self, max_workers: int = 8) -> None:
        if max_workers < 1:
            raise ValueError("max_workers must be at least 1")
        self.max_workers = max_workers
        self._lock = threading.Condition()
        self._ready: deque[Callable[[], None]] = deque()
        self._idle = 0
        self._threads = 0
        self._outstanding: list[KediPromise[Any]] = []
        self._closed = False

    def submit(
        self, job: Callable[[], None], whole: KediPromise[Any], after: Sequence[KediPromise[Any]]
    ) -> None:
        """Queue the job; it takes a worker only when everything it waits for is there."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the engine is closed")
            self._outstanding.append(whole)
        missing = len(after)
        if not missing:
            self._enqueue(job)
            return
        count = [missing]
        guard = threading.Lock()

        def ready() -> None:
            with guard:
                count[0] -= 1
                last = count[0] == 0
            if last:
                self._enqueue(job)

        for promise in after:
            promise.when_done(ready)

    def _enqueue(self, job: Callable[[], None]) -> None:
        with self._lock:
            if self._closed:
                return
            self._ready.append(job)
            if self._idle:
                self._lock.notify()
            elif self._threads < self.max_workers:
                self._threads += 1
                # Daemon threads: a call that never ends must not keep the process.
                threading.Thread(
                    target=self._work, name=f"kedi-model-{self._threads}", daemon=True
                ).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._ready:
                    if self._closed:
                        self._threads -= 1
                        return
                    self._idle += 1
                    self._lock.wait()
                    self._idle -= 1
                job = self._ready.popleft()
            job()

    def run_map(
        self,
        interpreter: Interpreter,
        frame: RunFrame,
        scope: Scope,
        kept: Sequence[Scope],
        stage: Step,
    ) -> bool | None:
        """Run the stages on threads of their own and join them all; first failure is raised."""
        results: list[tuple[bool | None, Any, BaseException | None]] = [(None, None, None)] * len(
            kept
        )
        todo = iter(list(enumerate(kept)))
        guard = threading.Lock()
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                with guard:
                    item = next(todo, None)
                if item is None:
                    return
                index, inner = item
                results[index] = _run_stage(interpreter, frame, inner, stage)

        import contextvars

        workers = [
            threading.Thread(
                target=contextvars.copy_context().run,
                args=(work,),
                name=f"kedi-map-{number + 1}",
                daemon=True,
            )
            for number in range(min(self.max_workers, len(kept)))
        ]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                while worker.is_alive():
                    worker.join(0.2)
        except BaseException:
            stop.set()
            raise
        return self._joined(frame, results)

    @staticmethod
    def _joined(
        frame: RunFrame, results: Sequence[tuple[bool | None, Any, BaseException | None]]
    ) -> bool | None:
        failures = [error for _, _, error in results if error is not None]
        for error in failures[1:]:
            log_failure("a map stage", error)
        if failures:
            raise failures[0]
        for ended, value, _ in results:
            if ended:
                frame.value = value
                return True
        return None

    def drain(self) -> None:
        """Wait for every scheduled call."""
        first: BaseException | None = None
        while True:
            with self._lock:
                outstanding, self._outstanding = self._outstanding, []
            if not outstanding:
                break
            for promise in outstanding:
                try:
                    promise.resolve()
                except Exception as error:
                    if first is None:
                        first = error
                    elif error is not first:
                        log_failure("a model call", error)
        if first is not None:
            raise first

    def abandon(self) -> None:
        """Drop jobs that have not started and stop waiting for the others (after Ctrl+C)."""
        with self._lock:
            self._ready.clear()
            outstanding, self._outstanding = self._outstanding, []
        for promise in outstanding:
            promise.fail(KeyboardInterrupt())

    def close(self) -> None:
        """Let idle workers end and drop what has not started."""
        self.abandon()
        with self._lock:
            self._closed = True
            self._lock.notify_all()


def _run_stage(
    interpreter: Interpreter, frame: RunFrame, inner: Scope, stage: Step
) -> tuple[bool | None, Any, BaseException | None]:
    """One map stage on this thread, in a frame of its own that looks like the caller's."""
    from kedi.runtime.traces import record

    own = RunFrame(interpreter, frame.unit, frame.procedure, frame.parent, inner)
    own.site = frame.site
    own.value = frame.value
    CURRENT.frame = own
    observer = interpreter.observer
    try:
        if observer is not None:
            observer.scope_opened(own, inner)
        try:
            ended = stage(own, inner)
        finally:
            if interpreter.observer is not None:
                interpreter.observer.scope_closed(own, inner)
        return ended, own.value, None
    except BaseException as error:
        record(error, own, detached=True)
        return None, None, error
    finally:
        CURRENT.frame = None


def make_engine(parallel: bool, max_workers: int) -> ExecutionEngine:
    """The engine for a resolved configuration."""
    return ParallelEngine(max_workers) if parallel else SequentialEngine()
