"""Run a coroutine to its end from synchronous code, also below a running event loop.

One daemon thread owns one event loop; every asynchronous adapter call of the
process runs there, so connection pools that belong to a loop stay usable
between calls. The caller blocks until the answer is there; Ctrl+C cancels the
coroutine and goes on to the caller.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

#: Seconds between looks for an interrupt.
_POLL = 0.2
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def in_running_loop() -> bool:
    """Whether this thread is below a running event loop. Does not import asyncio."""
    asyncio_module = sys.modules.get("asyncio")
    if asyncio_module is None:
        return False
    running: bool = asyncio_module._get_running_loop() is not None
    return running


def run_coroutine(make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """The result of the coroutine that ``make`` gives; what it raises is raised here.

    The coroutine sees the caller's context variables.
    """
    loop, thread = _running()
    if threading.current_thread() is thread:
        # A model call inside a model call: this loop is busy with the outer one.
        return _run_apart(make)

    call = _Call(make)
    try:
        loop.call_soon_threadsafe(call.start)
        return call.wait()
    except BaseException:
        loop.call_soon_threadsafe(call.cancel)
        raise


class _Call:
    """One coroutine on the loop, and a thread that waits for it.

    With a plain lock: an interrupt inside the Python code of a ``Future`` or ``Event`` can
    leave its lock taken, and the loop would then hang on it.
    """

    def __init__(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self.make = make
        self.done = threading.Lock()
        self.done.acquire()
        self.task: asyncio.Task[None] | None = None
        self.abandoned = False
        self.value: Any = None
        self.problem: BaseException | None = None

    def start(self) -> None:
        """Begin, on the loop's thread."""
        import asyncio

        if not self.abandoned:
            self.task = asyncio.get_running_loop().create_task(self.run())

    def cancel(self) -> None:
        """Stop it, on the loop's thread; nobody waits any more."""
        self.abandoned = True
        if self.task is not None:
            self.task.cancel()

    async def run(self) -> None:
        """The task: keeps what the coroutine gives or raises, so that the loop outlives an exit."""
        try:
            self.value = await self.make()
        except BaseException as problem:
            self.problem = problem
        finally:
            self.done.release()

    def wait(self) -> Any:
        """The coroutine's value, in short waits: interrupts may come on any thread."""
        while not self.done.acquire(timeout=_POLL):
            pass
        problem = self.problem
        if problem is None:
            return self.value
        if type(problem).__name__ == "CancelledError":
            from concurrent.futures import CancelledError

            raise CancelledError from problem
        raise problem


def _running() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    global _loop, _thread
    with _lock:
        # A forked child has the objects but not the thread.
        if _loop is None or _thread is None or not _thread.is_alive():
            import asyncio

            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="kedi-models", daemon=True)
            _thread.start()
        return _loop, _thread


def _run_apart(make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    import asyncio
    from concurrent.futures import Future
    from contextvars import copy_context

    done: Future[Any] = Future()

    async def call() -> Any:
        return await make()

    def work() -> None:
        try:
            done.set_result(asyncio.run(call()))
        except BaseException as problem:
            done.set_exception(problem)

    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    return done.result()


__all__ = ["in_running_loop", "run_coroutine"]
