"""The one way in which Kedi calls a model.

A :class:`~kedi.agents.requests.ModelRequest` is checked against the adapter's
capabilities before any I/O, dispatched once, and its answer validated field by
field. The whole story is one :class:`~kedi.agents.requests.CallRecord`, also
when the call fails.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from kedi.agents.capabilities import (
    adapter_name,
    capabilities_of,
    check_request,
    check_requirements,
)
from kedi.agents.contract import Answer, Attempt, CallInfo, TextAnswer
from kedi.agents.dispatch import dispatch
from kedi.agents.reprs import cut, full_repr
from kedi.agents.requests import CallRecord, ModelCallError, ModelRequest, RequestKind
from kedi.agents.validation import TypeMismatch, UnusableType, from_model, type_label

#: Characters kept of an answer that is not even of the right shape.
_MAX_RAW = 10_000


class CallObserver:
    """What may watch and steer model calls; override what you need. Methods may block."""

    def assembled(self, request: ModelRequest) -> ModelRequest | None:
        """Called before dispatch and checks; a request that is returned takes its place."""

    def answered(self, record: CallRecord) -> Mapping[str, Any] | None:
        """Called before validation; values that are returned take the answer's place."""

    def finished(self, record: CallRecord) -> None:
        """Called once per call, also when it failed (``record.error``)."""


def call_model(
    adapter: Any, request: ModelRequest, observer: CallObserver | None = None
) -> CallRecord:
    """Make one model call and give its validated record.

    Raises :class:`ModelCallError` for a missing capability (before any I/O),
    for a failing adapter (``original`` is its exception) and for an answer that
    does not fit the schema. Nothing is retried here. ``KeyboardInterrupt`` and
    other non-``Exception`` exits pass through.
    """
    if observer is not None:
        request = observer.assembled(request) or request
    record = CallRecord(request, adapter_name(adapter), request.model, started=time.time())
    before = time.perf_counter()
    try:
        check_request(adapter, request)
        answer = dispatch(adapter, request)
        record = _with_answer(record, answer, time.perf_counter() - before)
        if observer is not None and request.output_schema:
            edited = observer.answered(record)
            if edited is not None:
                record = replace(record, values=dict(edited))
        record = _validated(record)
    except ModelCallError as failure:
        if failure.record is None:
            info = failure.info or CallInfo(record.usage, record.cost, None, record.attempts)
            failure.record = replace(
                _with_info(record, info),
                latency=record.latency or time.perf_counter() - before,
                error=failure.message,
            )
        if observer is not None:
            observer.finished(failure.record)
        raise
    if observer is not None:
        observer.finished(record)
    return record


def _with_info(record: CallRecord, info: CallInfo) -> CallRecord:
    return replace(
        record,
        model=info.model or record.model,
        usage=info.usage,
        cost=info.cost,
        attempts=info.attempts,
    )


def _with_answer(record: CallRecord, answer: Any, latency: float) -> CallRecord:
    info = answer.info if isinstance(answer, (Answer, TextAnswer)) else CallInfo()
    record = replace(_with_info(record, info), latency=latency)
    if not record.request.output_schema:
        if not isinstance(answer, str):
            raise _shape(record, f"answered with {_kind(answer)} where text was asked for", answer)
        text = str(answer)
        attempts = info.attempts or (Attempt(text),)
        return replace(record, text=text, attempts=attempts)
    if not isinstance(answer, Mapping):
        raise _shape(
            record, f"answered with {_kind(answer)} where a dict of fields was asked for", answer
        )
    values = dict(cast("Mapping[str, Any]", answer))
    return replace(record, values=values, attempts=info.attempts or (Attempt(_raw(values)),))


def _validated(record: CallRecord) -> CallRecord:
    schema = record.request.output_schema
    if not schema:
        return record
    missing = [name for name in schema if name not in record.values]
    extra = [str(name) for name in record.values if name not in schema]
    if missing or extra:
        parts = [f"did not fill {_names(missing)}"] if missing else []
        parts += [f"filled {_names(extra)}, which nobody asked for"] if extra else []
        raise _shape(record, " and ".join(parts))
    values: dict[str, Any] = {}
    problems: list[tuple[str, TypeMismatch]] = []
    for name, expected in schema.items():
        try:
            values[name] = from_model(record.values[name], expected)
        except TypeMismatch as problem:
            problems.append((name, problem))
        except UnusableType as problem:
            raise ModelCallError(f"`[{name}]` cannot be asked for: {problem}") from problem
    if problems:
        raise _refused(record, problems)
    return replace(record, values=values)


def _refused(record: CallRecord, problems: list[tuple[str, TypeMismatch]]) -> ModelCallError:
    lines = [
        f"`[{name}: {item.expected}]` cannot be {item.actual}: {item.detail}"
        for name, item in problems
    ]
    text = "the model's answer does not fit: " + "; ".join(lines)
    attempts = record.attempts
    if attempts and not attempts[-1].errors:
        attempts = (*attempts[:-1], replace(attempts[-1], errors=tuple(lines)))
    error = ModelCallError(text, hint="a more exact prompt or a stronger model may help")
    error.refused = True
    error.record = replace(record, attempts=attempts, values={}, error=text)
    return error


def _shape(record: CallRecord, what: str, answer: Any = None) -> ModelCallError:
    text = f"the adapter `{record.adapter}` {what}"
    error = ModelCallError(text)
    error.refused = True
    error.record = replace(_with_raw(record, answer), values={}, error=text)
    return error


def _with_raw(record: CallRecord, answer: Any) -> CallRecord:
    """The record with the answer as an attempt, unless it has attempts already."""
    if answer is None or record.attempts:
        return record
    raw = answer if isinstance(answer, str) else full_repr(answer)
    return replace(record, attempts=(Attempt(cut(raw, _MAX_RAW)),))


def _kind(answer: Any) -> str:
    return "nothing" if answer is None else type_label(cast("type[Any]", type(answer)))


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _raw(values: Mapping[str, Any]) -> str:
    """The answer as JSON text, or as Python writes it when JSON cannot hold it."""
    import json

    try:
        return json.dumps(values, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return full_repr(values)


__all__ = [
    "CallObserver",
    "CallRecord",
    "ModelCallError",
    "ModelRequest",
    "RequestKind",
    "adapter_name",
    "call_model",
    "capabilities_of",
    "check_request",
    "check_requirements",
]
