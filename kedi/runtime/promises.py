"""Promises: values of model calls that are still under way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar, cast

from kedi.errors import KediPromiseLeak
from kedi.runtime.scopes import MISSING

T = TypeVar("T")
R = TypeVar("R")


class KediPromise(Generic[T]):
    """A value that a model call on another thread will give.

    ``resolve()`` waits for it. ``map(fn)`` derives another promise without
    waiting and without a thread. Any use as if it were the value raises
    :class:`~kedi.errors.KediPromiseLeak`; ``repr`` never waits.
    """

    __slots__ = ("_done", "_error", "_hooks", "_label", "_lock", "_value")

    def __init__(self, label: str = "") -> None:
        self._label = label
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._value: Any = MISSING
        self._error: BaseException | None = None
        self._hooks: list[Callable[[], None]] = []

    @property
    def label(self) -> str:
        """What it is for, such as a field's name."""
        return self._label

    @property
    def done(self) -> bool:
        """Whether it has a value or an error."""
        return self._done.is_set()

    @property
    def error(self) -> BaseException | None:
        """The error it ended with, ``None`` otherwise."""
        return self._error

    def resolve(self) -> T:
        """Wait, and give the value or raise the error of the call."""
        # A bounded wait in a loop keeps Ctrl+C responsive on every platform.
        while not self._done.wait(0.2):
            pass
        if self._error is not None:
            raise self._error
        return self._value

    def map(self, function: Callable[[T], R]) -> KediPromise[R]:
        """A promise of ``function(value)``, computed once when the value is there."""
        derived: KediPromise[R] = KediPromise(self._label)

        def settle() -> None:
            if self._error is not None:
                derived.fail(self._error)
                return
            try:
                derived.fulfil(function(self._value))
            except BaseException as error:
                derived.fail(error)

        self.when_done(settle)
        return derived

    def when_done(self, hook: Callable[[], None]) -> None:
        """Call ``hook`` when settled, at once if it already is."""
        with self._lock:
            if not self._done.is_set():
                self._hooks.append(hook)
                return
        hook()

    def fulfil(self, value: T) -> None:
        """Give the value. Only the first of ``fulfil`` and ``fail`` counts."""
        self._settle(value, None)

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        self._settle(MISSING, error)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._done.is_set():
                return
            self._value = value
            self._error = error
            hooks, self._hooks = self._hooks, []
            self._done.set()
        for hook in hooks:
            hook()

    def __repr__(self) -> str:
        state = "failed" if self._error is not None else "done" if self.done else "pending"
        return f"<KediPromise {self._label or 'value'}: {state}>"

    def _leak(self, *_: Any, **__: Any) -> NoReturn:
        raise KediPromiseLeak(
            f"an unresolved promise ({self._label or 'value'}) was used as if it were its value",
            hint="use `kedi.force(promise)` or `promise.resolve()` first",
        )

    __str__ = __bytes__ = __format__ = _leak
    __bool__ = __int__ = __float__ = __complex__ = __index__ = _leak
    __len__ = __iter__ = __contains__ = __getitem__ = __call__ = _leak
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _leak
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __neg__ = __abs__ = _leak
    __lt__ = __le__ = __gt__ = __ge__ = _leak


def force(value: Any) -> Any:
    """The value of a promise, waiting for it; any other value as it is."""
    return cast("KediPromise[Any]", value).resolve() if isinstance(value, KediPromise) else value
