"""Promises: values of model calls that are still under way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, NoReturn, TypeVar, cast

from kedi.errors import KediPromiseLeak
from kedi.runtime.scopes import MISSING

T = TypeVar("T")
R = TypeVar("R")

#: Seconds between looks for Ctrl+C where a wait cannot be interrupted otherwise.
_POLL = 0.2


class _Waiting(threading.local):
    #: Set on the threads of an engine: wraps a wait, so that a waiting thread frees its place.
    wait: Callable[[Callable[[], None]], None] | None = None


#: How this thread waits for promises.
WAITING = _Waiting()


class KediPromise(Generic[T]):
    """A value that a model call on another thread will give.

    ``resolve()`` waits for it. ``map(fn)`` derives another promise without
    waiting and without a thread. Any use as if it were the value raises
    :class:`~kedi.errors.KediPromiseLeak`; ``repr`` never waits. Copies are the promise
    itself, and it cannot be pickled.
    """

    # No ``threading.Event``: an interrupt inside its Python code can leave its lock taken.
    __slots__ = (
        "_done",
        "_error",
        "_hooks",
        "_label",
        "_lock",
        "_settler",
        "_trace",
        "_value",
        "_waiters",
    )

    def __init__(self, label: str = "") -> None:
        self._label = label
        self._lock = threading.Lock()
        self._done = False
        self._value: Any = MISSING
        self._error: BaseException | None = None
        self._trace: TracebackType | None = None
        self._hooks: list[Callable[[], None]] = []
        self._waiters: list[threading.Lock] = []
        self._settler = 0

    @property
    def label(self) -> str:
        """What it is for, such as a field's name."""
        return self._label

    @property
    def done(self) -> bool:
        """Whether it has a value or an error."""
        return self._done

    @property
    def error(self) -> BaseException | None:
        """The error it ended with, ``None`` otherwise."""
        return self._error if self._done else None

    @property
    def trace(self) -> TracebackType | None:
        """The traceback of the error as the call raised it."""
        return self._trace

    def resolve(self) -> T:
        """Wait, and give the value or raise the error of the call."""
        self.wait()
        error = self._error
        if error is not None:
            # Each reader gets the call's own traceback, not those of the readers before it.
            raise BaseException.with_traceback(error, self._trace)
        return self._value

    def wait(self) -> None:
        """Wait until it is settled, one way or the other."""
        if self._done or self._settler == threading.get_ident():
            return
        around = WAITING.wait
        if around is None:
            self._block()
        else:
            around(self._block)

    def _block(self) -> None:
        waiter = threading.Lock()
        waiter.acquire()
        with self._lock:
            if self._done:
                return
            self._waiters.append(waiter)
        # A bounded wait in a loop keeps Ctrl+C responsive on every platform.
        while not waiter.acquire(timeout=_POLL):
            pass

    def map(self, function: Callable[[T], R]) -> KediPromise[R]:
        """A promise of ``function(value)``, computed once, before anyone can read the value.

        So the function sees the value as the call gave it. It runs on the thread that
        settles this promise, or here when it is settled already.
        """
        derived: KediPromise[R] = KediPromise(self._label)

        def settle() -> None:
            if self._error is not None:
                derived.fail(self._error)
                return
            try:
                value = function(self._value)
            except BaseException as error:
                derived.fail(error)
            else:
                derived.fulfil(value)

        self.when_done(settle)
        return derived

    def when_done(self, hook: Callable[[], None]) -> None:
        """Call ``hook`` just before readers go on, at once if it is settled already.

        The hook must not raise.
        """
        with self._lock:
            if not self._done:
                self._hooks.append(hook)
                return
        hook()

    def fulfil(self, value: T) -> bool:
        """Give the value. Only the first of ``fulfil`` and ``fail`` counts: whether this was it."""
        return self._settle(value, None)

    def fail(self, error: BaseException) -> bool:
        """End with an error; see :meth:`fulfil`."""
        return self._settle(MISSING, error)

    def _settle(self, value: Any, error: BaseException | None) -> bool:
        with self._lock:
            if self._done or self._settler:
                return False
            self._settler = threading.get_ident()
            self._value = value
            self._error = error
            if error is not None:
                self._trace = BaseException.__dict__["__traceback__"].__get__(error)
        while True:
            with self._lock:
                hooks, self._hooks = self._hooks, []
                if not hooks:
                    self._done = True
                    self._settler = 0
                    waiters, self._waiters = self._waiters, []
                    break
            for hook in hooks:
                hook()
        for waiter in waiters:
            waiter.release()
        return True

    # ── opaque ───────────────────────────────────────────────────────────────

    def __repr__(self) -> str:
        state = "pending" if not self._done else "failed" if self._error is not None else "done"
        return f"<KediPromise {self._label or 'value'}: {state}>"

    def __copy__(self) -> KediPromise[T]:
        return self

    def __deepcopy__(self, memo: Any) -> KediPromise[T]:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            # Tools probe objects for special methods; that is not a use of the value.
            raise AttributeError(name)
        self._leak()

    def _leak(self, *_: Any, **__: Any) -> NoReturn:
        raise KediPromiseLeak(
            f"the promise of `{self._label or 'a value'}` was used as if it were the value",
            hint="take its value with `kedi.force(promise)` or `promise.resolve()` first",
        )

    __str__ = __bytes__ = __format__ = _leak
    __bool__ = __int__ = __float__ = __complex__ = __index__ = _leak
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _leak  # pyright: ignore[reportAssignmentType]
    __len__ = __iter__ = __reversed__ = __next__ = __contains__ = _leak
    __getitem__ = __setitem__ = __delitem__ = __call__ = _leak
    __enter__ = __exit__ = __await__ = __aiter__ = __anext__ = __aenter__ = __aexit__ = _leak
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _leak
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _leak
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _leak
    __matmul__ = __rmatmul__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _leak
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _leak
    __neg__ = __pos__ = __abs__ = __invert__ = _leak
    __round__ = __trunc__ = __floor__ = __ceil__ = __fspath__ = _leak
    __reduce_ex__ = __reduce__ = _leak  # pyright: ignore[reportAssignmentType]


def force(value: Any) -> Any:
    """The value of a promise, waiting for it; any other value as it is."""
    return cast("KediPromise[Any]", value).resolve() if isinstance(value, KediPromise) else value


__all__ = ["WAITING", "KediPromise", "force"]
