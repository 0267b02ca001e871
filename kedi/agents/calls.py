"""The one way in which Kedi calls a model.

A :class:`ModelRequest` is checked against the adapter's capabilities before
any I/O, dispatched once, and its answer validated field by field. The whole
story is one :class:`CallRecord`, also when the call fails.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn, cast

from kedi.agents.async_bridge import in_running_loop, run_coroutine
from kedi.agents.contract import (
    REQUIREMENTS,
    AdapterCapabilities,
    AgentAdapter,
    Answer,
    Attempt,
    CallInfo,
    LazyAdapter,
    TextAnswer,
    Usage,
)
from kedi.agents.validation import TypeMismatch, UnusableType, from_model, type_label
from kedi.errors import KediError, KediModelError

RequestKind = Literal["structured", "raw", "claim"]


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything a model call consists of before it is made.

    ``schema`` maps field names to types, in the order of the template; a claim
    always has the one field ``claim: bool``, a raw request none. ``requires``
    holds names of ``REQUIREMENTS`` that the adapter must be known to support.
    """

    kind: RequestKind
    prompt: str
    schema: Mapping[str, Any] = field(default_factory=_nothing)
    model: str | None = None
    effort: str | None = None
    system: str | None = None
    settings: Mapping[str, Any] = field(default_factory=_nothing)
    tools: tuple[Any, ...] = ()
    requires: tuple[str, ...] = ()

    @property
    def output_schema(self) -> dict[str, Any]:
        """Field names to types, as the adapter gets them."""
        if self.kind == "claim":
            return {"claim": bool}
        return {} if self.kind == "raw" else dict(self.schema)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One model call: the request, what came back, and what it took.

    ``values`` are the validated fields; ``text`` is the answer of a raw call.
    ``latency`` is in seconds, ``started`` in seconds since the epoch, ``cost``
    in US dollars. ``error`` is the message of a failed call. Until an answer
    is validated, ``values`` holds it as the adapter gave it.
    """

    request: ModelRequest
    adapter: str
    model: str | None = None
    values: Mapping[str, Any] = field(default_factory=_nothing)
    text: str | None = None
    attempts: tuple[Attempt, ...] = ()
    usage: Usage | None = None
    cost: float | None = None
    started: float = 0.0
    latency: float = 0.0
    error: str | None = None

    @property
    def prompt(self) -> str:
        """The prompt that was sent."""
        return self.request.prompt

    @property
    def claim(self) -> bool:
        """The judgement of a claim."""
        return bool(self.values["claim"])


class ModelCallError(KediModelError):
    """A model call that failed.

    ``record`` tells its story. An adapter that raises this error may set
    ``info`` to what it knows about the failed call. Neither survives pickling.
    """

    record: CallRecord | None = None
    info: CallInfo | None = None


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
        answer = _dispatch(adapter, request)
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


def adapter_name(adapter: Any) -> str:
    """The adapter's short name, or its class's name when it has none."""
    name = getattr(adapter, "shortname", None)
    return name if isinstance(name, str) and name else type(adapter).__name__


def check_request(adapter: Any, request: ModelRequest) -> None:
    """Raise :class:`ModelCallError` for anything the adapter is known not to do."""
    known = capabilities_of(adapter)
    if request.output_schema and known.supports_structured_output is False:
        what = "`> if:` with a claim" if request.kind == "claim" else "a template with fields"
        _gap(
            adapter,
            "structured output",
            what,
            "take the whole answer as text with `[name] << …`, or choose another adapter",
        )
    check_requirements(adapter, request.requires)
    for used, answer, what, directive in (
        (request.model, known.supports_model_override, "a choice of model", "> model:"),
        (request.effort, known.supports_effort, "effort", "> effort:"),
        (request.system, known.supports_profile, "a system text", "> system:"),
        (request.settings, known.supports_settings, "settings", "> settings:"),
        (request.tools, known.supports_tools, "tools", "> use:"),
    ):
        if used and answer is False:
            _gap(adapter, what, f"`{directive}`", f"remove `{directive}` or choose another adapter")
    names = known.setting_names
    if names is not None:
        for name in request.settings:
            if name not in names:
                near = _close(name, names, 1)
                listed = ", ".join(sorted(names)) or "none"
                raise ModelCallError(
                    f"the adapter `{adapter_name(adapter)}` has no setting `{name}`",
                    hint=f"did you mean `{near[0]}`?" if near else f"its settings: {listed}",
                )


def check_requirements(adapter: Any, requires: tuple[str, ...]) -> None:
    """Raise :class:`ModelCallError` unless the adapter is known to have all of ``requires``."""
    known = capabilities_of(adapter)
    for name in requires:
        if name not in REQUIREMENTS:
            near = _close(name, REQUIREMENTS, 1)
            raise ModelCallError(
                f"`> requires:` names the unknown capability `{name}`",
                hint=f"did you mean `{near[0]}`?"
                if near
                else f"capabilities: {', '.join(sorted(REQUIREMENTS))}",
            )
        if known.get(name) is not True:
            _gap(adapter, f"`{name}`", "`> requires:`", "choose an adapter that supports it")


def _close(name: str, known: Iterable[str], count: int) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, list(known), count)


def capabilities_of(adapter: Any) -> AdapterCapabilities:
    """What the adapter says about itself; all unknown when it says nothing."""
    known = getattr(adapter, "capabilities", None)
    if isinstance(known, AdapterCapabilities):
        return known
    if known is None:
        return AdapterCapabilities()
    raise ModelCallError(
        f"`capabilities` of the adapter `{adapter_name(adapter)}` is "
        f"{type_label(cast('type[Any]', type(known)))}, not AdapterCapabilities",
        hint="use `from kedi.agent_adapter import AdapterCapabilities`",
    )


def _gap(adapter: Any, capability: str, user: str, hint: str) -> NoReturn:
    raise ModelCallError(
        f"the adapter `{adapter_name(adapter)}` does not support {capability}, which {user} needs",
        hint=hint,
    )


def _dispatch(adapter: Any, request: ModelRequest) -> Any:
    """Ask the adapter once; whatever it raises becomes a :class:`ModelCallError`."""
    try:
        return _ask(adapter, request)
    except ModelCallError:
        raise
    except Exception as problem:
        message = problem.message if isinstance(problem, KediError) else str(problem)
        hint = getattr(problem, "hint", None)
        raise ModelCallError(
            f"the adapter `{adapter_name(adapter)}` failed: {message or type(problem).__name__}",
            original=problem,
            hint=hint if isinstance(hint, str) else None,
        ) from problem


def _ask(adapter: Any, request: ModelRequest) -> Any:
    if isinstance(adapter, LazyAdapter):
        adapter = adapter.load()
    schema = request.output_schema
    arguments: dict[str, Any]
    if schema:
        name, arguments = "produce", {"template": request.prompt, "output_schema": schema}
    else:
        # A template without fields asks for nothing that a schema could hold.
        name, arguments = "invoke", {"prompt": request.prompt}
    options = {
        key: value
        for key, value in (
            ("model", request.model),
            ("effort", request.effort),
            ("system", request.system),
            ("settings", dict(request.settings)),
            ("tools", list(request.tools)),
        )
        if value
    }
    sync, asynchronous = _half(adapter, f"{name}_sync"), _half(adapter, name)
    if sync is None and asynchronous is None:
        raise ModelCallError(
            f"the adapter `{adapter_name(adapter)}` has neither `{name}_sync` nor `{name}`",
            hint="an adapter implements the synchronous or the asynchronous half of the contract",
        )
    # Below a running loop a synchronous half may not start its own.
    first, second = (asynchronous, sync) if in_running_loop() else (sync, asynchronous)
    method = first or second
    assert method is not None
    try:
        return _finish(method, arguments | _accepted(adapter, method, options))
    except NotImplementedError as problem:
        other = second if method is first else None
        if other is None or not _raised_by_stub(problem, method):
            raise
        return _finish(other, arguments | _accepted(adapter, other, options))


def _half(adapter: Any, name: str) -> Callable[..., Any] | None:
    method = getattr(adapter, name, None)
    if not callable(method):
        return None
    # The protocol's own empty bodies are inherited by adapters that subclass it.
    if getattr(method, "__func__", None) is getattr(AgentAdapter, name):
        return None
    return method


def _finish(method: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(method):
        return run_coroutine(lambda: method(**arguments))
    answer = method(**arguments)
    if inspect.isawaitable(answer):
        pending = answer

        async def wait() -> Any:
            return await pending

        return run_coroutine(wait)
    return answer


def _raised_by_stub(problem: NotImplementedError, method: Callable[..., Any]) -> bool:
    """Whether the method's own body raised it: it is a stub and has done nothing yet."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    code = getattr(method, "__code__", None)
    return trace is not None and trace.tb_frame.f_code is code


def _accepted(adapter: Any, method: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options, which the method must be able to take: none is dropped silently."""
    if not options:
        return options
    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return options
    if any(item.kind is item.VAR_KEYWORD for item in parameters.values()):
        return options
    for name in options:
        if name not in parameters:
            directive = "> use:" if name == "tools" else f"> {name}:"
            _gap(
                adapter,
                f"the keyword `{name}`",
                f"`{directive}`",
                f"remove `{directive}` or choose another adapter",
            )
    return options


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
            raise _shape(record, f"answered with {_kind(answer)} where text was asked for")
        text = str(answer)
        attempts = info.attempts or (Attempt(text),)
        return replace(record, text=text, attempts=attempts)
    if not isinstance(answer, Mapping):
        raise _shape(record, f"answered with {_kind(answer)} where a dict of fields was asked for")
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
    error.record = replace(record, attempts=attempts, values={}, error=text)
    return error


def _shape(record: CallRecord, what: str) -> ModelCallError:
    text = f"the adapter `{record.adapter}` {what}"
    error = ModelCallError(text)
    error.record = replace(record, values={}, error=text)
    return error


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
        try:
            return repr(values)
        except Exception as problem:
            return f"<answer whose repr fails: {type(problem).__name__}>"


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
