"""Running something that another thread can interrupt, and nothing else with it."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable
from typing import Any

from kedi.session.debugger.threads import DebugThread


class Interruptible:
    """Runs an act on a thread until it ends or :meth:`interrupt` is called, from any thread.

    The act is ended by ``KeyboardInterrupt``, as Ctrl+C would. Once :meth:`run` has returned no
    interrupt comes any more, however late it was asked for.
    """

    def __init__(self, thread: DebugThread) -> None:
        self._thread = thread
        self._lock = threading.Lock()
        self._active = False
        #: Whether an interrupt was asked for.
        self.interrupted = False

    def run(self, act: Callable[[], Any]) -> Any:
        """What ``act`` gives. Raises what it raises, ``KeyboardInterrupt`` when interrupted."""
        main = threading.current_thread() is threading.main_thread()
        before: Any = signal.getsignal(signal.SIGINT) if main else None
        try:
            if before is not None:
                signal.signal(signal.SIGINT, self._handler(before))
            with self._lock:
                if self.interrupted:
                    raise KeyboardInterrupt
                self._active = True
            return act()
        finally:
            self._end(before)

    def interrupt(self) -> None:
        """End the act, or keep it from beginning."""
        with self._lock:
            self.interrupted = True
            if not self._active:
                return
            if self._thread.ident == threading.main_thread().ident:
                _signal_main()
            else:
                _raise_on(self._thread.ident, KeyboardInterrupt)
                # It may wait for a job of a stop inside the act.
                self._thread.post(_nothing)

    def _handler(self, before: Any) -> Callable[[int, Any], Any]:
        def handle(number: int, frame: Any) -> Any:
            if not self.interrupted:
                # Somebody else's Ctrl+C.
                return before(number, frame) if callable(before) else None
            if self._active:
                # Once: what tidies up after it is left in peace.
                self._active = False
                raise KeyboardInterrupt
            return None

        return handle

    def _end(self, before: Any) -> None:
        while True:
            try:
                self._active = False
                with self._lock:
                    if self._thread.ident != threading.main_thread().ident and self.interrupted:
                        _raise_on(self._thread.ident, None)
                if before is not None:
                    signal.signal(signal.SIGINT, before)
                return
            except KeyboardInterrupt:
                continue  # It came a moment too late.


def _nothing() -> None:
    pass


def _signal_main() -> None:
    ident = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and ident is not None:
        signal.pthread_kill(ident, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()


def _raise_on(ident: int, kind: type[BaseException] | None) -> None:
    """Raise an exception on a thread at its next step of Python, or take one back."""
    raised = ctypes.c_void_p(None) if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), raised)
