"""Step hooks: what an observer of a running program is told.

One observer is attached to an interpreter at a time (:class:`Fanout` joins
several), at any moment and from any thread; it is told from the next statement
on. Of what began before it was attached it is told the end, of what ends after it
was detached nothing. Each method is called on the thread that runs the program,
before the program goes on, and may block: that is how stopping works.

With the parallel engine there are several such threads: one for each model call
under way and for stages of ``> map:``, each with a frame of its own. An observer
for those programs must be ready to be called from several threads at a time.

An observer's exceptions are the program's: raise to abort it. A ``try`` of the
program can catch them like its own, unless they derive from ``BaseException`` alone.

Frames and scopes are handed over as they are, without copying. They are live:
read them during the call, or while that thread is blocked in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from kedi.errors import KediTypeExecutionError

if TYPE_CHECKING:
    from kedi.agents.calls import CallRecord, ModelRequest
    from kedi.runtime.frames import RunFrame, Unit
    from kedi.runtime.scopes import Scope
    from kedi.source import Span


class Observer:
    """Base of observers: every event, doing nothing. Override what you need, in the class."""

    #: Whether the class has events of embedded Python: their spans cost, so others go without.
    wants_python: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.wants_python = (
            cls.python_entered is not Observer.python_entered
            or cls.python_left is not Observer.python_left
        )

    def statement(self, frame: RunFrame) -> None:
        """A statement is about to run; ``frame.site`` says which.

        A loop is told once for each look at its header, a ``> map:`` once before its stages.
        """

    def procedure_entered(self, frame: RunFrame) -> None:
        """A procedure was called; its parameters are bound in ``frame.scope``."""

    def procedure_left(self, frame: RunFrame, value: Any, error: BaseException | None) -> None:
        """A procedure ends with a value, or with an error (then ``value`` is ``None``)."""

    def scope_opened(self, frame: RunFrame, scope: Scope) -> None:
        """A branch, an iteration or a map stage got its own scope, its binder bound."""

    def scope_closed(self, frame: RunFrame, scope: Scope) -> None:
        """That scope ends, also by an error or a return."""

    def binding_written(self, frame: RunFrame, scope: Scope, name: str, old: Any, new: Any) -> None:
        """``name`` of ``scope`` got a value; ``old`` is ``MISSING`` for a new binding.

        Also for definitions, imports and what Python assigns. With the parallel engine a
        field of a template gets a :class:`~kedi.KediPromise` when the call is scheduled;
        :meth:`model_response` tells its value.
        """

    def python_entered(self, frame: RunFrame, span: Span, kind: str) -> None:
        """Embedded Python begins; ``kind`` is ``expr``, ``stmt``, ``suite`` or ``prelude``."""

    def python_left(self, frame: RunFrame, span: Span, kind: str) -> None:
        """Embedded Python ended, also by an error."""

    def exception_raised(self, frame: RunFrame, error: BaseException, caught: bool) -> None:
        """An exception left a statement of ``frame``, or a call in it was refused, first there.

        ``caught`` says whether a ``try`` of Python further out will handle it. A handler that
        always re-raises does not count, nor does what the host does with the error. Told once
        per exception, before any scope of the program is closed.
        """

    def model_request(self, frame: RunFrame, request: ModelRequest) -> ModelRequest | None:
        """A call is assembled and about to be sent. Return another request to send that one.

        It may have another prompt, model, effort, system text and settings; fields stay.
        """

    def model_response(
        self, frame: RunFrame, record: CallRecord, error: BaseException | None
    ) -> dict[str, Any] | None:
        """An answer was validated, or the call failed or its answer was rejected with ``error``.

        Return a mapping of field values to go on with these instead, also after a failure;
        they are validated like an answer. A call without fields has the one value ``text``,
        a claim ``claim``.
        """

    def model_answer(self, frame: RunFrame, record: CallRecord) -> Mapping[str, Any] | None:
        """A call with fields was answered; ``record`` has the answer, not validated yet.

        Return a mapping of field values to have these validated in its place.
        """

    def tool_called(self, frame: RunFrame, name: str, arguments: dict[str, Any]) -> None:
        """A tool is about to run on behalf of a model."""

    def tool_answered(
        self, frame: RunFrame, name: str, result: Any, error: BaseException | None
    ) -> None:
        """A tool answered or failed."""

    def thread_entered(self, frame: RunFrame) -> None:
        """A thread of the parallel engine begins a model call or stages, in ``frame``."""

    def thread_left(self, frame: RunFrame) -> None:
        """It has ended that work, also by an error."""

    def unit_added(self, unit: Unit) -> None:
        """A source was compiled and is about to run: a fragment, a program or a module."""

    def fragment_started(self, frame: RunFrame, source_name: str) -> None:
        """A session's fragment, a program or a module begins; ``frame`` is its frame."""

    def fragment_finished(
        self, frame: RunFrame, source_name: str, value: Any, error: BaseException | None
    ) -> None:
        """It ended with a value or an error."""


def check_observer(observer: Any) -> None:
    """Raise ``TypeError`` for what is no observer, saying what is wanted."""
    if isinstance(observer, Observer):
        return
    if isinstance(observer, type):
        raise TypeError(
            f"the observer is the class {observer.__name__}: write `{observer.__name__}(…)`"
        )
    raise TypeError(
        f"an observer is an instance of a subclass of `kedi.debugging.Observer`, or None, "
        f"not {type(observer).__name__}"
    )


def request_of(observer: Observer, given: Any) -> ModelRequest:
    """What ``model_request`` gave, or ``KediTypeExecutionError`` when it is no request."""
    from kedi.agents.requests import ModelRequest

    where = f"`{type(observer).__name__}.model_request`"
    if not isinstance(given, ModelRequest):
        raise KediTypeExecutionError(
            f"{where} must give a ModelRequest or None, not {type(given).__name__}",
            hint="use `dataclasses.replace(request, prompt=…)`",
        )
    values: tuple[tuple[str, Any, Any, str], ...] = (
        ("prompt", given.prompt, str, "text"),
        ("model", given.model, str | None, "text or None"),
        ("effort", given.effort, str | None, "text or None"),
        ("system", given.system, str | None, "text or None"),
        ("settings", given.settings, Mapping, "a mapping"),
    )
    for name, value, kind, wanted in values:
        if not isinstance(value, kind):
            raise KediTypeExecutionError(
                f"{where} gave a request whose `{name}` is {type(value).__name__}, not {wanted}"
            )
    return given


def values_of(observer: Observer, given: Any, method: str = "model_response") -> dict[str, Any]:
    """What that method gave, or ``KediTypeExecutionError`` when it is no mapping."""
    if not isinstance(given, Mapping):
        raise KediTypeExecutionError(
            f"`{type(observer).__name__}.{method}` must give a mapping of fields or None, "
            f"not {type(given).__name__}"
        )
    return dict(cast("Mapping[str, Any]", given))


class Fanout(Observer):
    """Hands every event to several observers, in order; what one replaces the next one sees."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = tuple(observers)
        for item in self.observers:
            check_observer(item)
        self.wants_python = any(item.wants_python for item in self.observers)

    def statement(self, frame: RunFrame) -> None:
        for item in self.observers:
            item.statement(frame)

    def procedure_entered(self, frame: RunFrame) -> None:
        for item in self.observers:
            item.procedure_entered(frame)

    def procedure_left(self, frame: RunFrame, value: Any, error: BaseException | None) -> None:
        for item in self.observers:
            item.procedure_left(frame, value, error)

    def scope_opened(self, frame: RunFrame, scope: Scope) -> None:
        for item in self.observers:
            item.scope_opened(frame, scope)

    def scope_closed(self, frame: RunFrame, scope: Scope) -> None:
        for item in self.observers:
            item.scope_closed(frame, scope)

    def binding_written(self, frame: RunFrame, scope: Scope, name: str, old: Any, new: Any) -> None:
        for item in self.observers:
            item.binding_written(frame, scope, name, old, new)

    def python_entered(self, frame: RunFrame, span: Span, kind: str) -> None:
        for item in self.observers:
            item.python_entered(frame, span, kind)

    def python_left(self, frame: RunFrame, span: Span, kind: str) -> None:
        for item in self.observers:
            item.python_left(frame, span, kind)

    def exception_raised(self, frame: RunFrame, error: BaseException, caught: bool) -> None:
        for item in self.observers:
            item.exception_raised(frame, error, caught)

    def model_request(self, frame: RunFrame, request: ModelRequest) -> ModelRequest | None:
        replaced: ModelRequest | None = None
        for item in self.observers:
            answer = item.model_request(frame, replaced or request)
            if answer is not None:
                replaced = request_of(item, answer)
        return replaced

    def model_response(
        self, frame: RunFrame, record: CallRecord, error: BaseException | None
    ) -> dict[str, Any] | None:
        replaced: dict[str, Any] | None = None
        for item in self.observers:
            answer = item.model_response(frame, record, error)
            if answer is not None:
                from dataclasses import replace

                answer = values_of(item, answer)
                replaced, error = answer, None
                if record.request.output_schema:
                    record = replace(record, values=answer, error=None)
                else:
                    record = replace(record, text=answer.get("text"), error=None)
        return replaced

    def model_answer(self, frame: RunFrame, record: CallRecord) -> Mapping[str, Any] | None:
        replaced: Mapping[str, Any] | None = None
        for item in self.observers:
            answer = item.model_answer(frame, record)
            if answer is not None:
                from dataclasses import replace

                replaced = values_of(item, answer, "model_answer")
                record = replace(record, values=replaced)
        return replaced

    def thread_entered(self, frame: RunFrame) -> None:
        for item in self.observers:
            item.thread_entered(frame)

    def thread_left(self, frame: RunFrame) -> None:
        for item in self.observers:
            item.thread_left(frame)

    def unit_added(self, unit: Unit) -> None:
        for item in self.observers:
            item.unit_added(unit)

    def tool_called(self, frame: RunFrame, name: str, arguments: dict[str, Any]) -> None:
        for item in self.observers:
            item.tool_called(frame, name, arguments)

    def tool_answered(
        self, frame: RunFrame, name: str, result: Any, error: BaseException | None
    ) -> None:
        for item in self.observers:
            item.tool_answered(frame, name, result, error)

    def fragment_started(self, frame: RunFrame, source_name: str) -> None:
        for item in self.observers:
            item.fragment_started(frame, source_name)

    def fragment_finished(
        self, frame: RunFrame, source_name: str, value: Any, error: BaseException | None
    ) -> None:
        for item in self.observers:
            item.fragment_finished(frame, source_name, value, error)
