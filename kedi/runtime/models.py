"""Templates, raw calls and claims: the statements that call a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from kedi.agents.calls import (
    CallObserver,
    CallRecord,
    ModelCallError,
    ModelRequest,
    RequestKind,
    call_model,
)
from kedi.agents.config import ensure_supported
from kedi.agents.validation import TypeMismatch, from_model
from kedi.errors import KediExecutionError
from kedi.runtime.compiler import Compiler, Step, bind
from kedi.runtime.directives import requirements
from kedi.runtime.frames import CURRENT, RunFrame, Site
from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import MISSING, Scope, dict_has
from kedi.runtime.types import STR, TypeContract, TypeSource, mismatch
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
    render = text_runner(interpreter, site, parts)
    fields = [
        (
            part.name.text,
            TypeSource(site.at(part.type, "type expression", part.type.text), part.type)
            if part.type is not None
            else None,
        )
        for part in parts
        if isinstance(part, syntax.Field)
    ]
    deferred = _Deferred(interpreter, site, parts)

    def template(frame: RunFrame, scope: Scope) -> None:
        contracts = _contracts(frame, scope, fields)
        if interpreter.engine.parallel:
            schedule(interpreter, frame, scope, site, "structured", contracts, deferred)
            return
        record = perform(
            interpreter, frame, scope, site, "structured", render(frame, scope), contracts
        )
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
    render = text_runner(interpreter, site, parts)
    deferred = _Deferred(interpreter, site, parts)

    def raw(frame: RunFrame, scope: Scope) -> None:
        if interpreter.engine.parallel:
            schedule(interpreter, frame, scope, site, "raw", {name: STR}, deferred)
            return
        record = perform(interpreter, frame, scope, site, "raw", render(frame, scope), {})
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
    """A condition that the active model judges."""
    interpreter = compiler.interpreter
    render = text_runner(interpreter, site, parts)

    def judge(frame: RunFrame, scope: Scope) -> bool:
        prompt = render(frame, scope)
        return perform(interpreter, frame, scope, site, "claim", prompt, {}).claim

    return judge


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
    interpreter: Interpreter,
    frame: RunFrame,
    scope: Scope,
    site: Site,
    kind: RequestKind,
    prompt: str,
    contracts: Mapping[str, TypeContract],
) -> CallRecord:
    """Make one call on this thread and keep its record."""
    adapter, request = build_request(interpreter, scope, kind, prompt, contracts)
    return dispatch(interpreter, frame, site, adapter, request, contracts)


def dispatch(
    interpreter: Interpreter,
    frame: RunFrame,
    site: Site,
    adapter: Any,
    request: ModelRequest,
    contracts: Mapping[str, TypeContract],
) -> CallRecord:
    """Send a request, telling the observer; a repaired answer goes on without another call."""
    watcher = _Watcher(interpreter, frame)
    try:
        record = call_model(adapter, request, watcher)
    except ModelCallError as error:
        record = error.record
        observer = interpreter.observer
        if record is None or observer is None or record.request.kind == "raw":
            raise
        repaired = observer.model_response(frame, record, error)
        if repaired is None:
            raise
        return _repaired(record, repaired)
    finally:
        if watcher.record is not None:
            interpreter.calls.add(watcher.record, site, frame)
    return record


def _repaired(record: CallRecord, values: Mapping[str, Any]) -> CallRecord:
    from dataclasses import replace

    checked: dict[str, Any] = {}
    for name, expected in record.request.output_schema.items():
        if name not in values:
            raise KediExecutionError(f"the repaired answer lacks `{name}`")
        try:
            checked[name] = from_model(values[name], expected)
        except TypeMismatch as error:
            raise mismatch(error, name, values[name]) from None
    return replace(record, values=checked, error=None)


class _Watcher(CallObserver):
    """Between a model call and the interpreter's observer."""

    def __init__(self, interpreter: Interpreter, frame: RunFrame) -> None:
        self.interpreter = interpreter
        self.frame = frame
        self.record: CallRecord | None = None

    def assembled(self, request: ModelRequest) -> ModelRequest | None:
        observer = self.interpreter.observer
        return observer.model_request(self.frame, request) if observer is not None else None

    def answered(self, record: CallRecord) -> Mapping[str, Any] | None:
        observer = self.interpreter.observer
        return observer.model_response(self.frame, record, None) if observer is not None else None

    def finished(self, record: CallRecord) -> None:
        self.record = record


# ── scheduled calls ───────────────────────────────────────────────────────────


class _Deferred:
    """A prompt whose inputs are taken now, except promises, which join when they are there."""

    __slots__ = ("parts", "runners")

    def __init__(self, interpreter: Interpreter, site: Site, parts: Sequence[syntax.Part]) -> None:
        self.parts = parts
        self.runners: list[Render] = [text_runner(interpreter, site, [part]) for part in parts]

    def capture(self, frame: RunFrame, scope: Scope) -> list[str | KediPromise[Any]]:
        """Texts and promises, left to right."""
        pieces: list[str | KediPromise[Any]] = []
        for part, run in zip(self.parts, self.runners, strict=True):
            promise = pending_of(scope, part.name.text) if isinstance(part, syntax.Read) else None
            pieces.append(promise if promise is not None else run(frame, scope))
        return pieces


def pending_of(scope: Scope, name: str) -> KediPromise[Any] | None:
    """The promise behind a visible name, ``None`` when it already has a value."""
    owner: Scope | None = scope
    while owner is not None:
        if dict_has(owner, name):
            return None
        if owner.pending is not None and name in owner.pending:
            promise = owner.pending[name]
            return cast("KediPromise[Any]", promise) if isinstance(promise, KediPromise) else None
        owner = owner.parent
    return None


def schedule(
    interpreter: Interpreter,
    frame: RunFrame,
    scope: Scope,
    site: Site,
    kind: RequestKind,
    contracts: Mapping[str, TypeContract],
    deferred: _Deferred,
) -> None:
    """Start a call on the engine's pool and bind its fields as promises."""
    pieces = deferred.capture(frame, scope)
    waiting = [piece for piece in pieces if isinstance(piece, KediPromise)]
    # Configuration and capabilities are checked here, before anything is started.
    schema: Mapping[str, TypeContract] = contracts if kind == "structured" else {}
    adapter, request = build_request(interpreter, scope, kind, "", schema)
    job_frame = RunFrame(interpreter, frame.unit, frame.procedure, frame.parent, scope)
    job_frame.site = site
    promises: dict[str, KediPromise[Any]] = {name: KediPromise(name) for name in contracts}
    whole: KediPromise[Any] = KediPromise(f"call at {site.span}")

    def job() -> None:
        from dataclasses import replace

        from kedi.runtime.traces import record as add_frame

        CURRENT.frame = job_frame
        try:
            prompt = "".join(
                rendered(piece.resolve()) if isinstance(piece, KediPromise) else piece
                for piece in pieces
            )
            answer = dispatch(
                interpreter, job_frame, site, adapter, replace(request, prompt=prompt), schema
            )
        except BaseException as error:
            add_frame(error, job_frame, detached=True)
            for promise in (*promises.values(), whole):
                promise.fail(error)
            return
        finally:
            CURRENT.frame = None
        for name, promise in promises.items():
            promise.fulfil(answer.text if kind == "raw" else answer.values[name])
        whole.fulfil(answer)

    for name, promise in promises.items():
        _bind_pending(frame, scope, name, promise, contracts[name])
    interpreter.engine.submit(job, whole, waiting)


def _bind_pending(
    frame: RunFrame, scope: Scope, name: str, promise: KediPromise[Any], contract: TypeContract
) -> None:
    from kedi.runtime.scopes import dict_del

    old = MISSING
    if dict_has(scope, name):
        old = scope[name]
        dict_del(scope, name)
    if scope.pending is None:
        scope.pending = {}
    scope.pending[name] = promise
    if scope.contracts is None:
        scope.contracts = {}
    scope.contracts[name] = contract
    observer = frame.interpreter.observer
    if observer is not None:
        observer.binding_written(frame, scope, name, old, promise)
