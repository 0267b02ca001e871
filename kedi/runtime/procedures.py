"""Procedures: real Python functions around compiled bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from kedi.errors import KediTypeExecutionError
from kedi.runtime.blocks import Restart, Step
from kedi.runtime.compiler import Compiler
from kedi.runtime.frames import CURRENT, NOTHING, RunFrame, Site
from kedi.runtime.promises import force
from kedi.runtime.python import Run, python_runner
from kedi.runtime.scopes import MISSING, Contract, Scope, dict_set, new_scope
from kedi.runtime.traces import INTERNAL_FILE, finish, record
from kedi.runtime.types import ANY as ANY_CONTRACT
from kedi.runtime.types import EPOCH, STR, TypeContract, TypeSource
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from kedi.agents.config import AgentConfig
    from kedi.runtime.frames import Unit
    from kedi.runtime.interpreter import Interpreter


class TypeSources:
    """Where the types of parameters and result are written, ``None`` for untyped ones.

    ``by_name`` says whether one of them depends on what a name means in the procedure's scope.
    """

    __slots__ = ("by_name", "parameters", "returns")

    def __init__(
        self, parameters: tuple[TypeSource | None, ...], returns: TypeSource | None
    ) -> None:
        self.parameters = parameters
        self.returns = returns
        self.by_name = any(
            item is not None and item.constant is None for item in (*parameters, returns)
        )


class ProcedureInfo:
    """What is known of a defined procedure; ``info_of(function)`` finds it.

    ``parameters`` are ``(name, contract)`` in order; ``returns`` is ``None``
    for an untyped one. ``agent`` is the model configuration captured where it
    was defined.
    """

    __slots__ = (
        "_epoch",
        "_sources",
        "agent",
        "annotations",
        "body",
        "contracts",
        "docstring",
        "interpreter",
        "name",
        "parameters",
        "readonly",
        "returns",
        "scope",
        "site",
        "unit",
    )

    def __init__(
        self,
        interpreter: Interpreter,
        unit: Unit,
        site: Site,
        name: str,
        scope: Scope,
        body: Step,
        parameters: tuple[tuple[str, TypeContract], ...],
        returns: TypeContract | None,
        agent: AgentConfig | None,
        docstring: str | None,
        sources: TypeSources | None = None,
    ) -> None:
        self.interpreter = interpreter
        self.unit = unit
        self.site = site
        self.name = name
        self.scope = scope
        self.body = body
        self.parameters = parameters
        self.returns = returns
        self.agent = agent
        self.docstring = docstring
        #: What the Python function shows of the types.
        self.annotations: dict[str, Any] = {}
        # Types that are looked up by name: again when one of them may have been replaced.
        self._sources = sources
        self._epoch = EPOCH[0]
        #: Parameter names, which ``:=`` may not assign.
        self.readonly = frozenset(name for name, _ in parameters)
        self.contracts: dict[str, Contract] = {}
        self._annotate()

    def _annotate(self) -> None:
        self.contracts = {
            name: contract for name, contract in self.parameters if contract is not ANY_CONTRACT
        }
        self.annotations.update((name, contract.type) for name, contract in self.parameters)
        self.annotations["return"] = (self.returns or STR).type

    def _refresh(self, frame: RunFrame, sources: TypeSources) -> None:
        """Look the types of the signature up again, by the names they were written with."""
        self._epoch = EPOCH[0]
        self.parameters = tuple(
            (name, contract if source is None else source.resolve(frame, self.scope))
            for (name, contract), source in zip(self.parameters, sources.parameters, strict=True)
        )
        if sources.returns is not None:
            self.returns = sources.returns.resolve(frame, self.scope)
        self._annotate()

    def call(self, values: tuple[Any, ...]) -> Any:
        """Run the body with checked arguments. The boundary of a trace when called from outside."""
        interpreter = self.interpreter
        current = CURRENT
        caller = current.frame
        scope = new_scope(self.scope, "procedure")
        scope.readonly = self.readonly
        scope.agent = self.agent
        frame = RunFrame(interpreter, self.unit, self.name, caller, scope)
        if caller is None:
            interpreter.make_room()
        entered = False
        try:
            if self._sources is not None and self._epoch != EPOCH[0]:
                self._refresh(frame, self._sources)
            if self.contracts:
                scope.contracts = self.contracts.copy()
            if frame.depth > interpreter.max_depth:
                raise RecursionError(f"more than {interpreter.max_depth} calls inside each other")
            for (name, contract), value in zip(self.parameters, values, strict=True):
                if type(value) is not contract.exact:
                    value = force(value)
                    contract.check(value, f"{self.name}({name})")
                dict_set(scope, name, value)
            current.frame = frame
            entered = True
            if interpreter.observer is None:
                self.body(frame, scope)
                if frame.calls is not None:
                    _joined(frame)
                value = self.result(frame)
            else:
                value = self._observed(frame, scope)
        except BaseException as error:
            if not entered:
                # A wrong argument is the caller's fault: it is reported where the call stands.
                if caller is None:
                    frame.site = self.site
                if interpreter.watcher is not None:
                    from kedi.runtime.catching import announce

                    announce(error, caller or frame)
                if caller is not None:
                    raise
            elif type(error) is Restart and error.frame is frame:
                if frame.calls is not None:
                    interpreter.join(frame, error)
                current.frame = caller
                if caller is None:
                    interpreter.leave_room()
                return self.call(values)
            raised = error if frame.calls is None else interpreter.join(frame, error) or error
            record(raised, frame)
            current.frame = caller
            if caller is None:
                raised = finish(raised, frame)
                interpreter.leave_room()
            if raised is error:
                raise
        else:
            current.frame = caller
            if caller is None:
                interpreter.leave_room()
            return value
        # Not while the other one is handled, of which it knows nothing.
        raise raised

    def result(self, frame: RunFrame) -> Any:
        """The frame's value, checked against the declared return type."""
        value = force(frame.value)
        returns = self.returns
        if value is NOTHING:
            if returns is None or returns is STR or returns.type in (str, None, type(None)):
                return None if returns is not None and returns.type in (None, type(None)) else ""
            frame.site = self.site
            raise KediTypeExecutionError(
                f"procedure `{self.name}` ended without a return, but promises {returns.label}",
                hint="end every path with `= …`",
            )
        contract = returns or STR
        if type(value) is contract.exact:
            return value
        try:
            contract.check(value, f"{self.name}()", "must return")
        except KediTypeExecutionError as error:
            if returns is None:
                error.hint = (
                    f"declare what it returns: `@{self.name}(…) -> {type(value).__name__}:`"
                )
            raise
        return value

    def _observed(self, frame: RunFrame, scope: Scope) -> Any:
        observer = self.interpreter.observer
        if observer is not None:
            observer.procedure_entered(frame)
        try:
            self.body(frame, scope)
            if frame.calls is not None:
                _joined(frame)
            value = self.result(frame)
        except BaseException as error:
            raised = error if frame.calls is None else self.interpreter.join(frame, error) or error
            observer = self.interpreter.observer
            if observer is not None:
                observer.procedure_left(frame, None, raised)
            if raised is error:
                raise
        else:
            observer = self.interpreter.observer
            if observer is not None:
                observer.procedure_left(frame, value, None)
            return value
        raise raised


def _joined(frame: RunFrame) -> None:
    """Wait for the model calls of a frame that ends well; raise the first failure."""
    error = frame.interpreter.join(frame, None)
    if error is not None:
        raise error


_INFO = "__kedi_procedure__"


def info_of(value: Any) -> ProcedureInfo | None:
    """The procedure behind a Python function, ``None`` for other values."""
    if type(value) is not FunctionType:
        return None
    return value.__dict__.get(_INFO)


@lru_cache(maxsize=512)
def _wrapper_code(parameters: tuple[str, ...]) -> CodeType:
    """Code of ``def f(a, b): return call((a, b))``; the signature is a true one."""
    inner = "_kedi_call"
    while inner in parameters:
        inner += "_"
    packed = "".join(f"{name}, " for name in parameters)
    text = f"def procedure({', '.join(parameters)}):\n    return {inner}(({packed}))"
    module = compile(text, INTERNAL_FILE, "exec", dont_inherit=True)
    return next(const for const in module.co_consts if isinstance(const, CodeType))


def build_function(info: ProcedureInfo, defaults: tuple[Any, ...]) -> Callable[..., Any]:
    """The Python function of a procedure: true signature, name, docstring and annotations."""
    names = tuple(name for name, _ in info.parameters)
    code = _wrapper_code(names).replace(co_name=info.name, co_qualname=info.name)
    inner = code.co_names[0]
    module = info.scope.lookup("__name__")
    names_of_module = {
        inner: info.call,
        "__name__": info.unit.name if module is MISSING else module,
    }
    function = FunctionType(code, names_of_module, info.name, defaults or None)
    function.__doc__ = info.docstring
    function.__annotations__ = info.annotations
    function.__dict__[_INFO] = info
    return function


@dataclass(frozen=True, slots=True)
class ProcedureSource:
    """A procedure's statement with its compiled body: what does not depend on a scope."""

    site: Site
    name: str
    body: Step
    docstring: str | None
    types: TypeSources

    def make(
        self,
        interpreter: Interpreter,
        scope: Scope,
        parameters: tuple[tuple[str, TypeContract], ...],
        returns: TypeContract | None,
        agent: AgentConfig | None,
        defaults: tuple[Any, ...],
    ) -> Callable[..., Any]:
        """The procedure as a closure of ``scope``; ``defaults`` belong to the last parameters."""
        info = ProcedureInfo(
            interpreter,
            self.site.unit,
            self.site,
            self.name,
            scope,
            self.body,
            parameters,
            returns,
            agent,
            self.docstring,
            self.types if self.types.by_name else None,
        )
        return interpreter.make_function(info, defaults)


def read_procedure(compiler: Compiler, stmt: Stmt, line: int) -> ProcedureSource:
    """Compile the body of a ``@name(…):`` statement; nothing is evaluated."""
    node = stmt.node
    assert isinstance(node, syntax.Procedure)
    name = node.name.text
    site = compiler.site(stmt, line, "definition", f"@{name}").at(node.name)
    body = compiler.block(stmt.body, line, name)
    types = TypeSources(
        tuple(
            TypeSource(site.at(item.type, "type expression", item.name.text), item.type)
            if item.type is not None
            else None
            for item in node.parameters
        ),
        TypeSource(site.at(node.returns, "type expression", node.returns.text), node.returns)
        if node.returns is not None
        else None,
    )
    return ProcedureSource(site, name, body, _docstring(stmt), types)


def compile_procedure(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    """``@name(parameters) -> type:``: the step that defines it."""
    node = stmt.node
    assert isinstance(node, syntax.Procedure)
    interpreter = compiler.interpreter
    procedure = read_procedure(compiler, stmt, line)
    name, site, result = procedure.name, procedure.site, procedure.types.returns
    sources: list[tuple[str, TypeSource | None, Run | None]] = []
    for item, source in zip(node.parameters, procedure.types.parameters, strict=True):
        where = site.at(item, "type expression", item.name.text)
        default = (
            python_runner(interpreter, where.at(item.default), item.default)
            if item.default is not None
            else None
        )
        sources.append((item.name.text, source, default))

    def define(frame: RunFrame, scope: Scope) -> None:
        parameters: list[tuple[str, TypeContract]] = []
        defaults: list[Any] = []
        for parameter, source, default in sources:
            contract = source.resolve(frame, scope) if source is not None else None
            if default is not None:
                value = default(frame, scope)
                if contract is None:
                    # An untyped default keeps its native value, whatever its type.
                    contract = STR if type(value) is str else ANY_CONTRACT
                else:
                    contract.check(value, f"{name}({parameter})")
                defaults.append(value)
            parameters.append((parameter, contract or STR))
        returns = result.resolve(frame, scope) if result is not None else None
        agent = interpreter.agent_state(scope)
        function = procedure.make(
            interpreter, scope, tuple(parameters), returns, agent, tuple(defaults)
        )
        from kedi.runtime.compiler import bind

        bind(frame, scope, name, function, None)

    return site, define


def _docstring(stmt: Stmt) -> str | None:
    first = stmt.body[0].node if stmt.body else None
    # The parser has taken the indentation off.
    return first.text.strip() if isinstance(first, syntax.Docstring) else None
