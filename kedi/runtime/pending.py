"""Model calls under way: scheduling them, and joining them where their frame ends.

A call belongs to the frame that scheduled it. Its fields are *pending* names of the
frame's scope. When the frame ends, all its calls are waited for: those that succeeded
become ordinary bindings, and the first in source order that failed decides how the frame
ends, as if it had been made on the spot.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from kedi.errors import KediExecutionError
from kedi.runtime.engine import Job, log_failure
from kedi.runtime.frames import CURRENT, Outer, RunFrame, Site
from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import MISSING, Contract, Scope, dict_del, dict_get, dict_has, dict_set
from kedi.runtime.traces import frame_boundary, restart

if TYPE_CHECKING:
    from kedi.runtime.types import TypeContract

#: Calls of one frame after which those that ended well are let go.
_TIDY = 64

#: Makes a call: frame it runs in, and gives the value of each field.
Make = Callable[[RunFrame], Mapping[str, Any]]


class PendingCall:
    """A model call that a frame has scheduled."""

    __slots__ = ("before", "contracts", "fields", "frame", "job", "scope", "whole")

    def __init__(self, frame: RunFrame, scope: Scope, site: Site) -> None:
        #: The call's own frame: the scheduling one, stopped at the template.
        self.frame = RunFrame(frame.interpreter, frame.unit, frame.procedure, frame.parent, scope)
        self.frame.site = site
        self.scope = scope
        self.whole: KediPromise[None] = KediPromise(site.label or "a model call")
        self.fields: dict[str, KediPromise[Any]] = {}
        self.contracts: Mapping[str, TypeContract] = {}
        #: ``(value, contract)`` that the fields' names had before.
        self.before: dict[str, tuple[Any, Contract | None]] = {}
        self.job: Job | None = None

    def settle_all(self, error: BaseException) -> None:
        """End the call and every field with an error; the first end counts."""
        for promise in self.fields.values():
            promise.fail(error)
        self.whole.fail(error)


def schedule(
    frame: RunFrame,
    scope: Scope,
    site: Site,
    after: Sequence[KediPromise[Any]],
    contracts: Mapping[str, TypeContract],
    make: Make,
) -> PendingCall:
    """Start a call on the interpreter's engine and bind its fields, still pending.

    ``make`` runs on a thread of the engine once ``after`` are settled and gives the fields'
    values. It sees the context variables of now.
    """
    call = PendingCall(frame, scope, site)
    call.contracts = contracts
    call.fields = {name: KediPromise(name) for name in contracts}
    context = contextvars.copy_context()
    here = frame_boundary(sys._getframe(), frame)  # pyright: ignore[reportPrivateUsage]
    outer = Outer(here, CURRENT.outer) if here is not None else None
    call.job = Job(
        lambda: context.run(_run, call, after, make, outer),
        lambda: call.settle_all(KediExecutionError("the execution engine was closed")),
    )
    engine = frame.interpreter.engine
    if frame.calls is None:
        frame.calls = []
    elif len(frame.calls) % _TIDY == 0:
        _tidy(frame)
    frame.calls.append(call)
    try:
        engine.submit(call.job, after)
    except BaseException as error:
        # Refused, or interrupted on the way: nobody may wait for it.
        engine.abandon([call.job])
        call.settle_all(error)
        raise
    for name in contracts:
        _bind(frame, call, name)
    return call


def _run(
    call: PendingCall, after: Sequence[KediPromise[Any]], make: Make, outer: Outer | None
) -> None:
    if call.whole.done:
        return
    for promise in after:
        if promise.error is not None:
            # What this call needs will never be there: it fails for the same reason.
            call.settle_all(promise.error)
            return
    CURRENT.frame, CURRENT.outer = call.frame, outer
    watcher = call.frame.interpreter.watcher
    try:
        if watcher is not None:
            watcher.thread_entered(call.frame)
        values = make(call.frame)
    except BaseException as error:
        call.settle_all(_announced(error, call.frame))
        return
    finally:
        watcher = call.frame.interpreter.watcher
        if watcher is not None:
            watcher.thread_left(call.frame)
        CURRENT.frame = CURRENT.outer = None
    for name, promise in call.fields.items():
        promise.fulfil(values[name])
    call.whole.fulfil(None)


def _announced(error: BaseException, frame: RunFrame) -> BaseException:
    """Tell the observer; what it raises takes the error's place."""
    if frame.interpreter.watcher is None:
        return error
    from kedi.runtime.catching import announce

    try:
        announce(error, frame)
    except BaseException as other:
        return other
    return error


def _bind(frame: RunFrame, call: PendingCall, name: str) -> None:
    scope, promise = call.scope, call.fields[name]
    contract = scope.contract_of(name)
    shown = old = dict_get(scope, name, MISSING)
    if scope.pending is None:
        scope.pending = {}
    if old is MISSING:
        shown = scope.pending.get(name, MISSING)
    else:
        dict_del(scope, name)
    call.before[name] = (shown, contract)
    scope.pending[name] = promise
    if scope.contracts is None:
        scope.contracts = {}
    scope.contracts[name] = call.contracts[name]
    observer = frame.interpreter.observer
    if observer is not None:
        observer.binding_written(frame, scope, name, shown, promise)


def pending_of(scope: Scope, name: str) -> KediPromise[Any] | None:
    """The promise behind a visible name, ``None`` when it already has a value."""
    owner = scope.owner_of(name)
    if owner is None or dict_has(owner, name):
        return None
    promise = owner.pending.get(name) if owner.pending is not None else None
    return cast("KediPromise[Any]", promise) if isinstance(promise, KediPromise) else None


def release(frame: RunFrame, call: PendingCall) -> None:
    """Let go of a call without fields that has ended well."""
    if frame.calls is not None and call in frame.calls:
        frame.calls.remove(call)


def _tidy(frame: RunFrame) -> None:
    calls: list[PendingCall] = []
    for call in frame.calls or ():
        if call.whole.done and call.whole.error is None:
            _keep(call)
        else:
            calls.append(call)
    frame.calls = calls


def join(frame: RunFrame, error: BaseException | None) -> BaseException | None:
    """Wait for the calls of a frame that ends (with ``error``, if any).

    Gives the error it ends with now: the first call in source order that failed, else
    ``error``. A call that failed leaves its names as they were before. Other failures
    are logged. ``KeyboardInterrupt`` ends the waiting; what still runs is abandoned.
    """
    calls, frame.calls = frame.calls or [], None
    if not isinstance(error, KeyboardInterrupt):
        try:
            for call in calls:
                call.whole.wait()
        except KeyboardInterrupt as stop:
            error = stop
    if isinstance(error, KeyboardInterrupt):
        _abandon(frame, calls, error)
    failed: PendingCall | None = None
    for call in calls:
        if call.whole.error is None:
            _keep(call)
    # Backwards, so that of several calls for one name the first puts back what was there.
    for call in reversed(calls):
        if call.whole.error is not None:
            _undo(call)
            failed = call
    _forget_pending(calls)
    if failed is None or isinstance(error, KeyboardInterrupt):
        return error
    first = failed.whole.error
    assert first is not None
    reported = {id(first)}
    others = [call.whole.error for call in calls]
    for other in (*others, error):
        if other is not None and id(other) not in reported:
            reported.add(id(other))
            log_failure("a model call" if other is not error else "the program", other)
    frame.site, frame.scope = failed.frame.site, failed.frame.scope
    restart(first, failed.whole.trace)
    return first


def _abandon(frame: RunFrame, calls: Sequence[PendingCall], error: BaseException) -> None:
    running = [call.job for call in calls if not call.whole.done and call.job is not None]
    frame.interpreter.engine.abandon(running)
    for call in calls:
        call.settle_all(error)


def _keep(call: PendingCall) -> None:
    """Make the fields that are still pending ordinary bindings."""
    pending = call.scope.pending
    if pending is None:
        return
    for name, promise in call.fields.items():
        if pending.get(name) is promise:
            dict_set(call.scope, name, promise.resolve())
            pending.pop(name, None)


def _undo(call: PendingCall) -> None:
    """Give the names that are still pending what they had before the call."""
    scope = call.scope
    pending = scope.pending
    if pending is None:
        return
    for name, promise in call.fields.items():
        if pending.get(name) is not promise:
            continue
        old, contract = call.before[name]
        pending.pop(name, None)
        if isinstance(old, KediPromise):
            if old.error is None:
                dict_set(scope, name, cast("KediPromise[Any]", old).resolve())
            else:
                pending[name] = cast("KediPromise[Any]", old)
        elif old is not MISSING:
            dict_set(scope, name, old)
        if scope.contracts is not None:
            if contract is not None:
                scope.contracts[name] = contract
            else:
                scope.contracts.pop(name, None)


def _forget_pending(calls: Sequence[PendingCall]) -> None:
    for call in calls:
        if not call.scope.pending:
            call.scope.pending = None
