"""The interpreter: what all units of one session or program share."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kedi.errors import KediError
from kedi.runtime.frames import CURRENT, NOTHING, RunFrame, Unit
from kedi.runtime.living import born
from kedi.runtime.promises import force
from kedi.runtime.scopes import Scope
from kedi.runtime.traces import finish, record

if TYPE_CHECKING:
    from kedi.agents.config import AgentConfig
    from kedi.agents.pool import AdapterPool
    from kedi.executors import DefaultExecutor, Executor
    from kedi.runtime.blocks import Block, Step
    from kedi.runtime.calls import CallLog
    from kedi.runtime.engine import ExecutionEngine
    from kedi.runtime.hooks import Observer
    from kedi.runtime.imports import ModuleLoader
    from kedi.runtime.procedures import ProcedureInfo
    from kedi.runtime.python import Around

#: Kedi calls inside each other before "recursion without an end".
MAX_DEPTH = 1_000
#: Python frames that one Kedi call takes at most, and room for what embedded code does itself.
_FRAMES_PER_CALL = 8
_PYTHON_LIMIT = MAX_DEPTH * _FRAMES_PER_CALL + 2_000


class Interpreter:
    """Configuration, observer, engine, executor, sources and modules of one runtime.

    ``units`` maps source names to compiled sources. ``observer`` may be set and
    cleared at any time, from any thread; it takes effect at the next statement.
    """

    def __init__(
        self,
        *,
        config: AgentConfig,
        adapters: AdapterPool,
        engine: ExecutionEngine,
        executor: Executor | None = None,
        show: Callable[[str], None] | None = None,
        args_name: str = "args",
    ) -> None:
        from kedi.runtime.calls import CallLog

        #: Told of every step, or ``None``: what each statement looks at.
        self.observer: Observer | None = None
        #: Told of what is rare: fragments, exceptions, model calls, threads. The observer too.
        self.watcher: Observer | None = None
        #: Runs pieces of embedded Python in between, for who wants to know of them.
        self.around: Around | None = None
        #: Sees each block as it is compiled, to plant its traps.
        self.planter: Callable[[Block], None] | None = None
        self._attached: Observer | None = None
        self._debugger: Observer | None = None
        self._every_step = False
        self._python: Around | None = None
        self.config = config
        self.adapters = adapters
        self.engine = engine
        self.loop_limit: int = config.loop_iteration_limit
        self.max_depth = MAX_DEPTH
        self.units: dict[str, Unit] = {}
        self.calls: CallLog = CallLog()
        self.args_name = args_name
        self.executor = executor
        #: The executor that runs embedded Python itself, ``None`` when it is compiled in.
        self.foreign_executor: Executor | None = None
        #: The default executor when a host gave it: it may have a debug exporter.
        self.reporting_executor: DefaultExecutor | None = None
        if executor is not None:
            self._place(executor)
        #: What executors of hosts get as their runtime argument.
        self.handle: Any = None
        self.show: Callable[[str], None] = show or print
        #: Scope below every root scope: ``env`` values and ``args``.
        self.base: Scope | None = None
        self._modules: ModuleLoader | None = None
        #: What this runtime has put into ``linecache``, by source name.
        self._lines: dict[str, object] = {}
        # For a runtime that nobody closes; at exit there is nothing to tidy.
        weakref.finalize(self, _hide_all, self._lines).atexit = False
        born(self)

    def _place(self, executor: Executor) -> None:
        from kedi.executors import DefaultExecutor

        if type(executor) is DefaultExecutor:
            self.reporting_executor = executor
        else:
            self.foreign_executor = executor

    @property
    def modules(self) -> ModuleLoader:
        """The modules of this runtime, each initialised once."""
        if self._modules is None:
            from kedi.runtime.imports import ModuleLoader

            self._modules = ModuleLoader(self)
        return self._modules

    def add_unit(self, unit: Unit) -> None:
        """Make a source known to traces, and its text to ``linecache`` and so to Python's tools."""
        self.units[unit.name] = unit
        watcher = self.watcher
        if watcher is not None:
            watcher.unit_added(unit)
        if unit.kind == "fragment" or unit.source.path is None:
            self._show_lines(unit)

    def forget_unit(self, unit: Unit) -> None:
        """Drop a source that nothing defined in it will be called from again."""
        self.units.pop(unit.name, None)
        self._hide_lines(unit.name)

    def _show_lines(self, unit: Unit) -> None:
        import linecache

        # A whole entry: ``linecache`` does not ask the lazy kind for names such as
        # ``<interactive:1>``. Without a time of change it is never looked for on disk.
        text = unit.source.text
        entry = linecache.cache[unit.name] = (len(text), None, text.splitlines(True), unit.name)
        self._lines[unit.name] = entry

    def _hide_lines(self, name: str) -> None:
        _hide(self._lines, name)

    def forget_units(self) -> None:
        """Take this runtime's in-memory sources out of ``linecache``."""
        _hide_all(self._lines)

    def attach(self, observer: Observer | None) -> None:
        """Attach an observer, or detach it with ``None``. Raises ``TypeError``."""
        if observer is not None:
            from kedi.runtime.hooks import check_observer

            check_observer(observer)
        self._attached = observer
        self._arrange()

    def attach_debugger(
        self,
        debugger: Observer | None,
        *,
        every_step: bool = False,
        python: Around | None = None,
    ) -> None:
        """Attach a debugger beside any observer; ``None`` detaches it.

        It is always told of fragments, exceptions, model calls and threads; of statements,
        bindings, procedures, scopes and Python only while it asks for ``every_step``, so that
        breakpoints, which are traps in blocks, cost nothing where they are not. Pieces of
        embedded Python are run by ``python``, when it is given.
        """
        self._debugger = debugger
        self._every_step = every_step
        self._python = python
        self._arrange()

    def _arrange(self) -> None:
        own, debugger = self._attached, self._debugger
        if own is None or debugger is None:
            self.watcher = own or debugger
        else:
            from kedi.runtime.hooks import Fanout

            self.watcher = Fanout((own, debugger))
        wanted = own is not None or (debugger is not None and self._every_step)
        observer = self.observer = self.watcher if wanted else None
        if self._python is not None or (observer is not None and observer.wants_python):
            from kedi.runtime.python import observed

            self.around = self._python or observed
        else:
            self.around = None

    # ── configuration in scopes ──────────────────────────────────────────────

    def agent_state(self, scope: Scope) -> AgentConfig:
        """The model configuration that is active in ``scope``: its own or the nearest outer one."""
        part: Scope | None = scope
        while part is not None:
            if part.agent is not None:
                return part.agent
            part = part.parent
        return self.config

    # ── running ──────────────────────────────────────────────────────────────

    def run(self, unit: Unit, body: Step, scope: Scope) -> Any:
        """Run a compiled unit in ``scope``; its returned value, or ``None``.

        Exceptions come out as :class:`kedi.errors.KediExecutionError` when this
        is the outermost Kedi frame of the thread; exits stay as they are.
        """
        try:
            with ROOM:
                return self.run_boundary(unit, body, scope)
        except KediError as error:
            # Its text is the trace; the steps of the interpreter would only hide it.
            error.__traceback__ = None
            raise

    def run_boundary(self, unit: Unit, body: Step, scope: Scope) -> Any:
        """The frame in which traces begin. ``traces`` knows this name and those of its variables.

        A fragment or program is a boundary also inside another one: whoever executes it gets
        a Kedi error. A module belongs to the program that imports it.
        """
        caller = CURRENT.frame
        frame = RunFrame(self, unit, None, caller, scope)
        CURRENT.frame = frame
        failure: BaseException | None = None
        value: Any = None
        try:
            try:
                watcher = self.watcher
                if watcher is not None:
                    watcher.fragment_started(frame, unit.name)
                body(frame, scope)
                if frame.value is not NOTHING:
                    value = force(frame.value)
            except BaseException as error:
                failure = error
            if frame.calls is not None:
                failure = self.join(frame, failure)
        finally:
            CURRENT.frame = caller
        if failure is not None:
            value = None
            record(failure, frame)
            if caller is None or unit.kind != "module":
                failure = finish(failure, frame)
        watcher = self.watcher
        if watcher is not None:
            try:
                watcher.fragment_finished(frame, unit.name, value, failure)
            except BaseException as error:
                failure = self._objected(error, failure, frame)
        if failure is not None:
            try:
                raise failure
            finally:
                # The error holds this frame by its traceback: no cycle through the variable.
                failure = None
        return value

    def _objected(
        self, error: BaseException, failure: BaseException | None, frame: RunFrame
    ) -> BaseException:
        """How a unit ends whose observer raised ``error`` at its end."""
        if error is failure:
            return error
        if failure is not None and failure.__cause__ is not error and error.__context__ is None:
            error.__context__ = failure
        record(error, frame)
        if frame.parent is not None and frame.unit.kind == "module":
            return error
        return finish(error, frame)

    @staticmethod
    def make_room() -> None:
        """Allow the depth of Kedi calls; for each time, :meth:`leave_room`."""
        ROOM.__enter__()

    @staticmethod
    def leave_room() -> None:
        """Undo :meth:`make_room`."""
        ROOM.__exit__()

    def join(self, frame: RunFrame, error: BaseException | None) -> BaseException | None:
        """Wait for the model calls that ``frame`` has started; the error that it ends with."""
        from kedi.runtime.pending import join

        return join(frame, error)

    def observed_step(self, frame: RunFrame, scope: Scope, step: Step) -> bool | None:
        """Run one statement with an observer attached."""
        observer = self.observer
        if observer is None:
            return step(frame, scope)
        frame.scope = scope
        observer.statement(frame)
        return step(frame, scope)

    def make_function(self, info: ProcedureInfo, defaults: tuple[Any, ...]) -> Callable[..., Any]:
        """The Python function of a procedure, by the host's executor when it makes its own."""
        from kedi.runtime.procedures import build_function

        function = build_function(info, defaults)
        executor = self.foreign_executor
        if executor is None:
            return function
        names = [name for name, _ in info.parameters]
        made = executor.create_dynamic_function(
            info.name,
            names,
            function,
            dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)),
        )
        if not hasattr(made, "__kedi_procedure__"):
            try:
                made.__kedi_procedure__ = info  # pyright: ignore[reportFunctionMemberAccess]
            except AttributeError:
                pass
        return made

    def close(self) -> None:
        """Release the engine, adapters and a closable executor. Every one is tried."""
        first: Exception | None = None
        for item in (self.engine, self.adapters, self.executor):
            close = getattr(item, "close", None)
            if callable(close):
                try:
                    close()
                except Exception as error:
                    first = first or error
        self._attached = self._debugger = self._python = self.planter = None
        self._arrange()
        if first is not None:
            raise first


def _hide(lines: dict[str, object], name: str) -> None:
    import linecache

    entry = lines.pop(name, None)
    if entry is not None and linecache.cache.get(name) is entry:
        del linecache.cache[name]  # Another session may have put its source there since.


def _hide_all(lines: dict[str, object]) -> None:
    for name in list(lines):
        _hide(lines, name)


class RoomForCalls:
    """Raises Python's recursion limit while Kedi runs anywhere, and puts it back.

    A Kedi call takes several Python frames, so the default limit of 1,000 would
    end at some 150 calls. Python 3.11 keeps its frames off the C stack, so the
    higher limit is safe; ``MAX_DEPTH`` bounds Kedi's own recursion. The limit is one for
    all threads: the first to come raises it, the last to go puts it back.
    """

    __slots__ = ()
    _lock = threading.Lock()
    _inside = 0
    _before = 0

    def __enter__(self) -> None:
        cls = RoomForCalls
        with cls._lock:
            cls._inside += 1
            if cls._inside == 1:
                cls._before = sys.getrecursionlimit()
                if cls._before < _PYTHON_LIMIT:
                    sys.setrecursionlimit(_PYTHON_LIMIT)

    def __exit__(self, *_: object) -> None:
        cls = RoomForCalls
        with cls._lock:
            cls._inside -= 1
            # Left alone where the program has set a limit of its own.
            if cls._inside or sys.getrecursionlimit() != _PYTHON_LIMIT:
                return
            try:
                sys.setrecursionlimit(cls._before)
            except RecursionError:
                pass  # a host is deeper than its own limit: leave the room


ROOM = RoomForCalls()
