"""Templates, raw calls and claims: the statements that call a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kedi.agents.calls import CallObserver, call_model
from kedi.agents.capabilities import adapter_name
from kedi.agents.config import ensure_supported
from kedi.agents.requests import CallRecord, ModelCallError, ModelRequest, RequestKind
from kedi.agents.validation import TypeMismatch, from_model
from kedi.errors import KediExecutionError
from kedi.runtime.blocks import Step
from kedi.runtime.compiler import Compiler, bind
from kedi.runtime.directives import requirements
from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.hooks import request_of, values_of
from kedi.runtime.mismatches import mismatch
from kedi.runtime.pending import pending_of, release, schedule
from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import Scope
from kedi.runtime.types import STR, TypeContract, TypeSource
from kedi.runtime.values import Render, rendered, text_runner
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

Fields = Sequence[tuple[str, TypeSource | None]]


def compile_model_call(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    """``>> text``, ``[name] << text``, ``> optimize:`` (its template) or ``> auto:``."""
    match stmt.node:
        case syntax.Template(parts=parts):
            return _template(compiler, stmt, line, parts)
        case syntax.RawCall(target=target, parts=parts):
            return _raw(compiler, stmt, line, target, parts)
        case syntax.Optimize():
            # Unoptimised, the span is its template: the directive only names it.
            block = compiler.block(stmt.body, line)
            return compiler.site(stmt, line, "directive", "> optimize"), block
        case _:
            return _auto(compiler, stmt, line)


def _template(
    compiler: Compiler, stmt: Stmt, line: int, parts: Sequence[syntax.Part]
) -> tuple[Site, Step]:
    interpreter = compiler.interpreter
    site = compiler.site(stmt, line, "template", ">>")
    fields = _fields(site, parts)
    if interpreter.engine.parallel:
        prompt = _Deferred(interpreter, site, parts)

        def start(frame: RunFrame, scope: Scope) -> None:
            contracts = _contracts(frame, scope, fields)
            _start(frame, scope, site, "structured", prompt, contracts)

        return site, start
    render = text_runner(interpreter, site, parts)

    def template(frame: RunFrame, scope: Scope) -> None:
        contracts = _contracts(frame, scope, fields)
        record = perform(frame, scope, site, "structured", render(frame, scope), contracts)
        for name, contract in contracts.items():
            bind(frame, scope, name, record.values[name], contract)

    return site, template


def _raw(
    compiler: Compiler,
    stmt: Stmt,
    line: int,
    target: syntax.Field,
    parts: Sequence[syntax.Part],
) -> tuple[Site, Step]:
    interpreter = compiler.interpreter
    name = target.name.text
    site = compiler.site(stmt, line, "template", f"[{name}] <<")
    if interpreter.engine.parallel:
        prompt = _Deferred(interpreter, site, parts)

        def start(frame: RunFrame, scope: Scope) -> None:
            _start(frame, scope, site, "raw", prompt, {name: STR})

        return site, start
    render = text_runner(interpreter, site, parts)

    def raw(frame: RunFrame, scope: Scope) -> None:
        record = perform(frame, scope, site, "raw", render(frame, scope), {})
        bind(frame, scope, name, record.text, STR)

    return site, raw


def _auto(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    site = compiler.site(stmt, line, "directive", "> auto")

    def auto(frame: RunFrame, scope: Scope) -> None:
        raise KediExecutionError(
            "`> auto:` needs a code generator, which this version does not have",
            hint="write the body of the procedure yourself",
        )

    return site, auto


def claim_runner(
    compiler: Compiler, site: Site, parts: Sequence[syntax.Part]
) -> Callable[[RunFrame, Scope], bool]:
    """A condition that the active model judges; an answer that is no judgement counts as false."""
    interpreter = compiler.interpreter
    render = text_runner(interpreter, site, parts)

    def judge(frame: RunFrame, scope: Scope) -> bool:
        return ask(frame, scope, site, "claim", render(frame, scope), {}).claim

    return judge


def ask(
    frame: RunFrame,
    scope: Scope,
    site: Site,
    kind: RequestKind,
    prompt: str,
    contracts: Mapping[str, TypeContract],
) -> CallRecord:
    """Make a call and wait for it."""
    interpreter = frame.interpreter
    if not interpreter.engine.parallel:
        return perform(frame, scope, site, kind, prompt, contracts)
    # On the engine all the same: it counts the calls that run at a time.
    adapter, request = build_request(interpreter, scope, kind, prompt, contracts)
    answers: list[CallRecord] = []

    def make(own: RunFrame) -> Mapping[str, Any]:
        answers.append(_sent(own, site, adapter, request))
        return {}

    call = schedule(frame, scope, site, (), {}, make)
    call.whole.resolve()
    release(frame, call)
    return answers[0]


def structured_runner(
    interpreter: Interpreter, site: Site, parts: Sequence[syntax.Part]
) -> Callable[[RunFrame, Scope], str]:
    """A mini template with fields, as an argument: one call, then its text with the answers in it.

    The fields are bound in the scope of the statement, as those of a template are.
    """
    runners = [text_runner(interpreter, site, [part]) for part in parts]
    fields = _fields(site, parts)
    names = [part.name.text if isinstance(part, syntax.Field) else None for part in parts]

    def fill(frame: RunFrame, scope: Scope) -> str:
        contracts = _contracts(frame, scope, fields)
        pieces = [run(frame, scope) for run in runners]
        record = ask(frame, scope, site, "structured", "".join(pieces), contracts)
        for name, contract in contracts.items():
            bind(frame, scope, name, record.values[name], contract)
        return "".join(
            piece if name is None else rendered(record.values[name])
            for name, piece in zip(names, pieces, strict=True)
        )

    return fill


def _fields(site: Site, parts: Sequence[syntax.Part]) -> list[tuple[str, TypeSource | None]]:
    return [
        (
            part.name.text,
            TypeSource(site.at(part.type, "type expression", part.type.text), part.type)
            if part.type is not None
            else None,
        )
        for part in parts
        if isinstance(part, syntax.Field)
    ]


def _contracts(frame: RunFrame, scope: Scope, fields: Fields) -> dict[str, TypeContract]:
    return {
        name: source.resolve(frame, scope) if source is not None else STR for name, source in fields
    }


# ── one call ──────────────────────────────────────────────────────────────────


def build_request(
    interpreter: Interpreter,
    scope: Scope,
    kind: RequestKind,
    prompt: str,
    contracts: Mapping[str, TypeContract],
) -> tuple[Any, ModelRequest]:
    """``(adapter, request)`` under the configuration that is active in ``scope``."""
    config = interpreter.agent_state(scope)
    ensure_supported(config)
    requires = requirements(config)
    adapter, model = interpreter.adapters.get(config)
    request = ModelRequest(
        kind,
        prompt,
        {name: contract.type for name, contract in contracts.items()},
        model=model,
        effort=config.effort,
        system=config.system,
        settings=config.settings,
        requires=requires,
    )
    return adapter, request


def perform(
    frame: RunFrame,
    scope: Scope,
    site: Site,
    kind: RequestKind,
    prompt: str,
    contracts: Mapping[str, TypeContract],
) -> CallRecord:
    """Make one call on this thread and keep its record."""
    adapter, request = build_request(frame.interpreter, scope, kind, prompt, contracts)
    return _sent(frame, site, adapter, request)


def _sent(frame: RunFrame, site: Site, adapter: Any, request: ModelRequest) -> CallRecord:
    """:func:`dispatch`; a claim whose answer is refused is not established, thus false."""
    if request.kind != "claim":
        return dispatch(frame, site, adapter, request)
    try:
        return dispatch(frame, site, adapter, request)
    except ModelCallError as error:
        if not error.refused or error.record is None:
            raise
        # The log has the record as it was, with the answer and why it was refused.
        return replace(error.record, values={"claim": False})


def dispatch(frame: RunFrame, site: Site, adapter: Any, request: ModelRequest) -> CallRecord:
    """Send a request and log its record, telling the observer before and after.

    The observer may send another request, and go on with other values than the
    answer's, also when the call failed.
    """
    interpreter = frame.interpreter
    watcher = _Watcher(frame, adapter)
    failure: ModelCallError | None = None
    try:
        record = call_model(adapter, request, watcher)
    except ModelCallError as error:
        if error.record is None:
            raise
        record, failure = error.record, error
    except BaseException as error:
        record = watcher.aborted(error)
        if record is not None:
            interpreter.calls.add(record, site, frame)
        raise
    observer = interpreter.watcher
    if observer is not None:
        try:
            edited = observer.model_response(frame, record, failure)
            if edited is not None:
                record, failure = _repaired(record, values_of(observer, edited)), None
        except BaseException:
            interpreter.calls.add(record, site, frame)
            raise
    interpreter.calls.add(record, site, frame)
    if failure is not None:
        raise failure
    return record


def _repaired(record: CallRecord, values: Mapping[str, Any]) -> CallRecord:
    """The record with an observer's values, checked like a model's."""
    schema: dict[str, Any] = record.request.output_schema or {"text": str}
    unknown = [str(name) for name in values if name not in schema]
    missing = [name for name in schema if name not in values]
    if unknown or missing:
        what = "lacks" if missing else "has no field"
        raise KediExecutionError(f"the repaired answer {what} `{(missing or unknown)[0]}`")
    checked: dict[str, Any] = {}
    for name, expected in schema.items():
        try:
            checked[name] = from_model(values[name], expected)
        except TypeMismatch as error:
            raise mismatch(error, name, values[name]) from None
    if record.request.output_schema:
        return replace(record, values=checked, error=None)
    return replace(record, text=checked["text"], error=None)


class _Watcher(CallObserver):
    """Between a model call and the interpreter's observer."""

    def __init__(self, frame: RunFrame, adapter: Any) -> None:
        self.frame = frame
        self.adapter = adapter
        self.request: ModelRequest | None = None
        self.started = 0.0

    def assembled(self, request: ModelRequest) -> ModelRequest | None:
        observer = self.frame.interpreter.watcher
        if observer is not None:
            other = observer.model_request(self.frame, request)
            if other is not None:
                request = _same_fields(request, request_of(observer, other))
        self.request = request
        self.started = time.time()
        return request

    def answered(self, record: CallRecord) -> Mapping[str, Any] | None:
        observer = self.frame.interpreter.watcher
        if observer is not None:
            given = observer.model_answer(self.frame, record)
            if given is not None:
                return values_of(observer, given, "model_answer")
        return None

    def aborted(self, error: BaseException) -> CallRecord | None:
        """The record of a call that an interrupt or another exit ended, if it was sent."""
        if self.request is None:
            return None
        return CallRecord(
            self.request,
            adapter_name(self.adapter),
            self.request.model,
            started=self.started,
            latency=max(0.0, time.time() - self.started),
            error="interrupted" if isinstance(error, KeyboardInterrupt) else type(error).__name__,
        )


def _same_fields(request: ModelRequest, other: ModelRequest) -> ModelRequest:
    """An observer's request, refused when it would fill other fields than the template."""
    if other.kind != request.kind or dict(other.schema) != dict(request.schema):
        raise KediExecutionError(
            "`model_request` may change the prompt, model, effort, system text and settings of a "
            "call, not its kind or fields"
        )
    return other


# ── calls on the engine ───────────────────────────────────────────────────────


class _Deferred:
    """A prompt whose inputs are taken now, except promises, which join when they are there."""

    __slots__ = ("names", "runners")

    def __init__(self, interpreter: Interpreter, site: Site, parts: Sequence[syntax.Part]) -> None:
        self.names = [part.name.text if isinstance(part, syntax.Read) else None for part in parts]
        self.runners: list[Render] = [text_runner(interpreter, site, [part]) for part in parts]

    def capture(self, frame: RunFrame, scope: Scope) -> list[str | KediPromise[str]]:
        """Texts and promises of texts, left to right."""
        pieces: list[str | KediPromise[str]] = []
        for name, run in zip(self.names, self.runners, strict=True):
            promise = pending_of(scope, name) if name is not None else None
            # Rendered when it arrives, before the program can change the value.
            pieces.append(promise.map(rendered) if promise is not None else run(frame, scope))
        return pieces


def _start(
    frame: RunFrame,
    scope: Scope,
    site: Site,
    kind: RequestKind,
    prompt: _Deferred,
    contracts: Mapping[str, TypeContract],
) -> None:
    """Start a call on the engine and bind its fields as promises."""
    pieces = prompt.capture(frame, scope)
    waiting = [piece for piece in pieces if isinstance(piece, KediPromise)]
    # Configuration is read here, so that a later directive does not change this call.
    schema: Mapping[str, TypeContract] = contracts if kind == "structured" else {}
    adapter, request = build_request(frame.interpreter, scope, kind, "", schema)

    def make(own: RunFrame) -> Mapping[str, Any]:
        text = "".join(
            [piece.resolve() if isinstance(piece, KediPromise) else piece for piece in pieces]
        )
        record = dispatch(own, site, adapter, replace(request, prompt=text))
        return record.values if kind == "structured" else dict.fromkeys(contracts, record.text)

    schedule(frame, scope, site, waiting, contracts, make)
