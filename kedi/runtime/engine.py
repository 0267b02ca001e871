"""Engines: where model calls and map stages run.

The sequential engine runs everything on the program's thread. The parallel
one starts model calls on a pool of daemon threads and lets helper threads
take stages of ``> map:``; results equal those of the sequential one, since
inputs are taken when a call is scheduled. Which calls belong together, and
what follows from a failure, is decided in :mod:`kedi.runtime.pending`.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kedi.agents.reprs import short_repr
from kedi.errors import KediExecutionError
from kedi.runtime.frames import RunFrame
from kedi.runtime.promises import WAITING, KediPromise
from kedi.runtime.scopes import Scope

if TYPE_CHECKING:
    from kedi.runtime.blocks import Step
    from kedi.runtime.interpreter import Interpreter

#: Seconds after which an idle worker thread ends.
_IDLE = 5.0


def log_failure(what: str, error: BaseException) -> None:
    """Log a failure that cannot be raised, because another one is."""
    # Imported when something fails: logging takes a tenth of the start of a small program.
    import logging

    from kedi.errors import KediError
    from kedi.runtime.text import safe_str

    text = error.message if isinstance(error, KediError) else safe_str(error)
    logging.getLogger("kedi").error("%s failed too: %s: %s", what, type(error).__name__, text)


class Job:
    """One piece of work for an engine.

    ``run`` does it and ``drop`` says that it will never run; neither raises. An engine
    calls one of them, once.
    """

    __slots__ = ("drop", "run", "worker")

    def __init__(self, run: Callable[[], None], drop: Callable[[], None]) -> None:
        self.run = run
        self.drop = drop
        #: The worker that runs it now; kept by the parallel engine.
        self.worker: _Worker | None = None


@runtime_checkable
class ExecutionEngine(Protocol):
    """What the interpreter asks of an engine. All methods may be called from several threads."""

    parallel: bool

    def run_map(
        self,
        interpreter: Interpreter,
        frame: RunFrame,
        scope: Scope,
        kept: Sequence[Scope],
        stage: Step,
    ) -> bool | None:
        """Run a map stage once per kept iteration scope; all have ended when it returns.

        The first stage in source order that failed or returned decides.
        """
        ...

    def submit(self, job: Job, after: Sequence[KediPromise[Any]]) -> None:
        """Run ``job`` once the promises ``after`` are settled."""
        ...

    def abandon(self, jobs: Iterable[Job]) -> None:
        """Nobody waits for these jobs any more: drop or interrupt them."""
        ...

    def drain(self) -> None:
        """Wait until every submitted job has ended."""
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

    def submit(self, job: Job, after: Sequence[KediPromise[Any]]) -> None:
        """Run the job now."""
        for promise in after:
            promise.wait()
        job.run()

    def abandon(self, jobs: Iterable[Job]) -> None:
        """Nothing is ever outstanding."""

    def drain(self) -> None:
        """Nothing is ever outstanding."""

    def close(self) -> None:
        """Nothing to release."""


class _Worker:
    """A thread of the pool. ``counted`` says whether it takes one of the pool's places."""

    __slots__ = ("counted", "ident", "job", "lost")

    def __init__(self) -> None:
        self.counted = True
        self.ident = 0
        self.job: Job | None = None
        #: Its job was given up: the thread ends with it.
        self.lost = False


class ParallelEngine:
    """Model calls on up to ``max_workers`` threads at a time, which start when needed.

    A worker that itself waits for another call (a model call may run a procedure that calls
    a model) gives its place away meanwhile, so that one worker is enough for any depth.
    """

    parallel = True

    def __init__(self, max_workers: int = 8) -> None:
        if not isinstance(max_workers, int) or isinstance(max_workers, bool) or max_workers < 1:
            raise ValueError(
                f"max_workers must be a whole number from 1 up, not {short_repr(max_workers)}"
            )
        # Here rather than when first needed: Ctrl+C should not find an import half done.
        from kedi.runtime.stages import Stages

        self.max_workers = max_workers
        self._stages = Stages
        self._reset()
        self._closed = False

    def _reset(self) -> None:
        # Plain locks throughout: interrupts can leave the Python code of a Condition half done.
        self._lock = threading.Lock()
        self._ready: deque[Job] = deque()
        self._sleeping: deque[threading.Lock] = deque()
        self._places = 0
        self._unfinished: set[Job] = set()
        self._helpers = 0
        self._idlers: list[threading.Lock] = []
        self._pid = os.getpid()

    # ── jobs ─────────────────────────────────────────────────────────────────

    def submit(self, job: Job, after: Sequence[KediPromise[Any]]) -> None:
        """Queue the job; it takes a worker only when everything it waits for is there.

        Raises :class:`~kedi.errors.KediExecutionError` once the engine is closed.
        """
        if self._pid != os.getpid():
            self._reset()  # A forked child has the counters but not the threads.
        with self._lock:
            if self._closed:
                raise KediExecutionError(
                    "the execution engine is closed",
                    hint="make a new engine, or leave `engine=` out",
                )
            self._unfinished.add(job)
        if not after:
            self._enqueue(job)
            return
        count = [len(after)]
        guard = threading.Lock()

        def ready() -> None:
            with guard:
                count[0] -= 1
                last = count[0] == 0
            if last:
                self._enqueue(job)

        for promise in after:
            promise.when_done(ready)

    def _enqueue(self, job: Job) -> None:
        with self._lock:
            if not self._closed:
                if job in self._unfinished:
                    self._ready.append(job)
                    self._wake()
                return
            self._finished(job)
        job.drop()

    def _wake(self) -> None:
        """Have someone look at the queue. The lock is held."""
        if self._sleeping:
            self._sleeping.popleft().release()
        elif self._places < self.max_workers:
            self._places += 1
            worker = _Worker()
            # Daemon threads: a call that never ends must not keep the process.
            threading.Thread(
                target=self._work, args=(worker,), name="kedi-model", daemon=True
            ).start()

    def _work(self, worker: _Worker) -> None:
        worker.ident = threading.get_ident()
        WAITING.wait = lambda block: self._wait(worker, block)
        try:
            while True:
                job = self._next(worker)
                if job is None:
                    return
                job.run()
                with self._lock:
                    worker.job = job.worker = None
                    self._finished(job)
        except KeyboardInterrupt:
            pass  # sent by ``abandon``, after the job ended

    def _next(self, worker: _Worker) -> Job | None:
        """A job that can start, or ``None`` when this thread is not needed any more."""
        waited = False
        while True:
            with self._lock:
                if worker.lost:
                    return None
                if self._ready and self._places <= self.max_workers:
                    job = self._ready.popleft()
                    worker.job, job.worker = job, worker
                    return job
                if self._closed or waited or self._places > self.max_workers:
                    self._places -= 1
                    return None
                nap = threading.Lock()
                nap.acquire()
                self._sleeping.append(nap)
            if not nap.acquire(timeout=_IDLE):
                with self._lock:
                    # Woken between the time-out and now: the queue has something.
                    waited = nap in self._sleeping
                    if waited:
                        self._sleeping.remove(nap)

    def _wait(self, worker: _Worker, block: Callable[[], None]) -> None:
        """Wait on a worker's thread while another one takes its place."""
        with self._lock:
            if worker.counted:
                worker.counted = False
                self._places -= 1
                if self._ready:
                    self._wake()
        try:
            block()
        finally:
            with self._lock:
                if not worker.lost:
                    worker.counted = True
                    self._places += 1

    def _finished(self, job: Job) -> None:
        """The job ended, or nobody waits for it. The lock is held."""
        self._unfinished.discard(job)
        if not self._unfinished:
            idlers, self._idlers = self._idlers, []
            for idler in idlers:
                idler.release()

    def abandon(self, jobs: Iterable[Job]) -> None:
        """Drop the jobs that have not started; interrupt the others and the threads they are on."""
        with self._lock:
            for job in jobs:
                if job in self._ready:
                    self._ready.remove(job)
                worker = job.worker
                if worker is not None and not worker.lost:
                    worker.lost = True
                    if worker.counted:
                        worker.counted = False
                        self._places -= 1
                    interrupt(worker.ident)
                self._finished(job)
            for _ in range(min(len(self._ready), self.max_workers - self._places)):
                self._wake()

    def drain(self) -> None:
        """Wait for every submitted job. Failures stay with the promises of the jobs."""
        idler = threading.Lock()
        idler.acquire()
        with self._lock:
            if not self._unfinished:
                return
            self._idlers.append(idler)
        while not idler.acquire(timeout=0.2):
            pass

    def close(self) -> None:
        """Let idle workers end and drop what has not started."""
        with self._lock:
            self._closed = True
            dropped = list(self._ready)
            self._ready.clear()
            for job in dropped:
                self._finished(job)
            while self._sleeping:
                self._sleeping.popleft().release()
        for job in dropped:
            job.drop()

    # ── map stages ───────────────────────────────────────────────────────────

    def run_map(
        self,
        interpreter: Interpreter,
        frame: RunFrame,
        scope: Scope,
        kept: Sequence[Scope],
        stage: Step,
    ) -> bool | None:
        """Run the stages here and on helper threads, in all of the engine never more than workers.

        Stages after one that failed or returned are not started any more.
        """
        with self._lock:
            helpers = max(0, min(self.max_workers - 1 - self._helpers, len(kept) - 1))
            self._helpers += helpers
        try:
            return self._stages(interpreter, frame, kept, stage).run(helpers)
        finally:
            with self._lock:
                self._helpers -= helpers


def interrupt(ident: int) -> None:
    """Raise ``KeyboardInterrupt`` on a thread, at the next step of its Python code."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt)
    )


def make_engine(parallel: bool, max_workers: int) -> ExecutionEngine:
    """The engine for a resolved configuration."""
    return ParallelEngine(max_workers) if parallel else SequentialEngine()


__all__ = [
    "ExecutionEngine",
    "Job",
    "ParallelEngine",
    "SequentialEngine",
    "interrupt",
    "make_engine",
]
