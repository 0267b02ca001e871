"""Whole programs: ``compile_program(...)`` and the runtime it gives."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from kedi.agents.config import AgentConfig, check_parallel, current_config, make_config
from kedi.agents.pool import AdapterPool
from kedi.errors import SessionStateError
from kedi.runtime.calls import LoggedCall
from kedi.runtime.compiler import Compiler
from kedi.runtime.directory import absolute, working_directory
from kedi.runtime.engine import ExecutionEngine, make_engine
from kedi.runtime.frames import Unit
from kedi.runtime.imports import check_program
from kedi.runtime.interpreter import Interpreter
from kedi.runtime.scopes import Scope, dict_get, dict_set, new_scope, root_scope
from kedi.syntax.ast import Program

if TYPE_CHECKING:
    from kedi.executors import Executor
    from kedi.runtime.hooks import Observer


class ProgramArguments(SimpleNamespace):
    """The ``args`` binding: ``args.name``; an argument that was not given reads ``None``."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return None


def base_scope(env: Mapping[str, Any], args: Mapping[str, Any], args_name: str) -> Scope:
    """The scope below a session or program and its modules: ``env`` values and ``args``."""
    scope = new_scope(None, "session")
    dict_set(scope, args_name, ProgramArguments(**args))
    for name, value in env.items():
        dict_set(scope, name, value)
    scope.readonly = frozenset([args_name])
    return scope


def resolve_agents(engine: ExecutionEngine | str | None = None, /, **keywords: Any) -> AgentConfig:
    """The active configuration overlaid with ``keywords``, all of it checked.

    Raises :class:`~kedi.agents.errors.ConfigurationError` and ``TypeError``.
    """
    config = make_config(current_config(), **keywords)
    check_parallel(keywords, engine)
    if config.settings:
        from kedi.runtime.settings import check_settings

        check_settings(config)
    return config


def engine_for(config: AgentConfig, engine: ExecutionEngine | str | None = None) -> ExecutionEngine:
    """The engine a configuration asks for: explicit, from arguments, or from the environment."""
    if isinstance(engine, str):
        if engine not in ("sequential", "parallel"):
            from kedi.agents.errors import ConfigurationError

            raise ConfigurationError(
                f"`engine` must be 'sequential' or 'parallel', not {engine[:80]!r}"
            )
        return make_engine(engine == "parallel", config.max_workers)
    if engine is not None:
        if isinstance(engine, type):
            raise TypeError(f"engine is the class {engine.__name__}: write `{engine.__name__}(…)`")
        if not isinstance(engine, ExecutionEngine):
            raise TypeError(f"{type(engine).__name__} is not an execution engine")
        return engine
    parallel, workers = config.parallel, config.max_workers
    if parallel is None:
        parallel = False
        text = os.environ.get("KEDI_PARALLEL", "").strip()
        if text:
            from kedi.agents.config import parse_parallel

            parallel, count = parse_parallel(text)
            workers = count or workers
    return make_engine(parallel, workers)


class KediRuntime:
    """A compiled program with everything it needs to run.

    ``run_main()`` runs it; a program can be run again and then starts afresh.
    Close it (``close``, ``aclose`` or ``with``) to release engines and adapters.
    """

    def __init__(self, program: Program, interpreter: Interpreter, base: Scope, unit: Unit) -> None:
        self.program = program
        self.interpreter = interpreter
        #: The compiled source of the program itself.
        self.unit = unit
        self._base = base
        #: What the host gave, which each run begins with.
        self._given = {name: dict_get(base, name) for name in base.own_names()}
        self.scope = self._fresh_scope()
        self._running = threading.Lock()
        self._closed = False
        interpreter.handle = self
        interpreter.base = base
        check_program(interpreter, program, self.scope, unit)
        self._body = Compiler(interpreter, unit).program(program)
        interpreter.add_unit(unit)

    def run_main(self) -> Any:
        """Run the program once from its start.

        Gives the object of a native top-level return, the text of a rendered one,
        ``None`` without a return. Raises :class:`kedi.errors.KediExecutionError`.
        """
        with self.claimed() as scope:
            return self.interpreter.run(self.unit, self._body, scope)

    @contextmanager
    def claimed(self) -> Generator[Scope]:
        """A fresh root scope, and the runtime for one caller as long as the block lasts.

        For other ways of running a program than :meth:`run_main`, such as its suites.
        Raises :class:`kedi.errors.SessionStateError` when it is closed or running.
        """
        if self._closed:
            raise SessionStateError("this runtime is closed")
        if not self._running.acquire(blocking=False):
            raise SessionStateError("this runtime is already running")
        try:
            self.scope = self._fresh_scope()
            yield self.scope
        finally:
            self._running.release()

    def _fresh_scope(self) -> Scope:
        path = self.unit.source.path
        for name, value in self._given.items():
            dict_set(self._base, name, value)
        return root_scope(self._base, "session", "main", str(absolute(path)) if path else None)

    def set_initial_globals(self, values: Mapping[str, Any]) -> None:
        """Bind host values that the program and its modules can read."""
        for name, value in make_config(None, env=dict(values)).env.items():
            self._given[name] = value
            dict_set(self._base, name, value)

    def observe(self, observer: Observer | None) -> None:
        """Attach a step observer, or detach it with ``None``.

        Raises ``TypeError`` for what is no :class:`~kedi.debugging.Observer`.
        """
        self.interpreter.attach(observer)

    @property
    def calls(self) -> tuple[LoggedCall, ...]:
        """Model calls made so far."""
        return self.interpreter.calls.all()

    def drain(self) -> None:
        """Wait for scheduled model calls; raise the first failure."""
        self.interpreter.engine.drain()

    def close(self) -> None:
        """Release engines, adapters and executors. Idempotent.

        Raises :class:`kedi.errors.SessionStateError` while the program runs.
        """
        if self._closed:
            return
        if not self._running.acquire(blocking=False):
            raise SessionStateError("this runtime is running: close it when the program has ended")
        try:
            self._closed = True
            self.interpreter.close()
        finally:
            self.interpreter.forget_units()
            self._running.release()

    async def aclose(self) -> None:
        """:meth:`close` without blocking the running event loop."""
        import asyncio

        await asyncio.to_thread(self.close)

    def __enter__(self) -> KediRuntime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def compile_program(
    program: Program,
    *,
    executor: Executor | None = None,
    engine: ExecutionEngine | str | None = None,
    runtime_globals: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    args_name: str = "args",
    show: Callable[[str], None] | None = None,
    **config: Any,
) -> KediRuntime:
    """Compile a parsed program.

    ``config`` are the configuration keywords of :func:`kedi.interactive`
    (``model``, ``adapter``, ``env``, ``parallel`` …), overlaid on the active
    configuration. ``runtime_globals`` are host values, ``arguments`` the
    program's ``args``. Raises :class:`kedi.errors.KediCompileError` and
    :class:`kedi.errors.KediParseError`, and ``TypeError`` for other kinds of values.
    """
    _check_inputs(program, runtime_globals, arguments, args_name)
    merged = resolve_agents(engine, **config)
    env = {**merged.env, **make_config(None, env=dict(runtime_globals or {})).env}
    path = program.source.path
    directory = absolute(path).parent if path else working_directory()
    unit = Unit(program.source, "program", str(directory))
    interpreter = Interpreter(
        config=merged,
        adapters=AdapterPool(),
        engine=engine_for(merged, engine),
        executor=executor,
        show=show,
        args_name=args_name,
    )
    base = base_scope(env, arguments or {}, args_name)
    return KediRuntime(program, interpreter, base, unit)


def _check_inputs(program: Any, runtime_globals: Any, arguments: Any, args_name: Any) -> None:
    if not isinstance(program, Program):
        raise TypeError(
            f"compile_program takes a parsed program, not {type(program).__name__}: "
            "write `compile_program(parse_program(…))`"
        )
    for name, values in (("runtime_globals", runtime_globals), ("arguments", arguments)):
        if values is not None and not isinstance(values, Mapping):
            raise TypeError(
                f"`{name}` is a mapping from names to values, not {type(values).__name__}"
            )
        for key in cast("Mapping[Any, Any]", values or {}):
            if not isinstance(key, str):
                raise TypeError(f"the keys of `{name}` are text, not {type(key).__name__}")
    if not isinstance(args_name, str):
        raise TypeError(f"`args_name` is text, not {type(args_name).__name__}")
