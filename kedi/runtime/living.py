"""The interpreters of this process, for tools that watch all of them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

_lock = threading.Lock()
_living: weakref.WeakSet[Interpreter] = weakref.WeakSet()
_watchers: list[Callable[[Interpreter], None]] = []


def born(interpreter: Interpreter) -> None:
    """An interpreter was made."""
    with _lock:
        _living.add(interpreter)
        watchers = list(_watchers)
    for tell in watchers:
        tell(interpreter)


def watch(tell: Callable[[Interpreter], None]) -> None:
    """Have ``tell`` called with every interpreter that lives, and each one made from now on."""
    with _lock:
        living = list(_living)
        _watchers.append(tell)
    for interpreter in living:
        tell(interpreter)


def unwatch(tell: Callable[[Interpreter], None]) -> None:
    """Take :func:`watch` back."""
    with _lock:
        _watchers[:] = [item for item in _watchers if item is not tell]
