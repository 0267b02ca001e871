"""Interactive sessions: fragments executed one by one against one persistent state."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar

from kedi.agents.pool import AdapterPool
from kedi.errors import KediError, KediParseError, SessionStateError
from kedi.runtime.blocks import Step
from kedi.runtime.calls import LoggedCall
from kedi.runtime.compiler import Compiler
from kedi.runtime.frames import Unit
from kedi.runtime.imports import check_program
from kedi.runtime.interpreter import Interpreter
from kedi.runtime.program import base_scope
from kedi.runtime.scopes import root_scope
from kedi.session.config import resolve_config
from kedi.session.gate import Gate
from kedi.session.origins import Origins, names_of
from kedi.source import SourceFile
from kedi.syntax.parser import parse

if TYPE_CHECKING:
    from pathlib import Path

    from kedi.runtime.hooks import Observer
    from kedi.runtime.scopes import Scope
    from kedi.session.completion import Completion, Memory
    from kedi.session.inspect import BindingView
    from kedi.session.snapshots.parts import Hole, HoleView, SessionParts
    from kedi.syntax.ast import ParseResult, Program


S = TypeVar("S", bound="InteractiveSession")


class Fragment(NamedTuple):
    """One executed fragment: its number from 1, its name, its source, and how it went."""

    number: int
    name: str
    source: str
    state: Literal["running", "done", "failed"]


class InteractiveSession:
    """A live Kedi session: values, procedures, types and imports persist between fragments.

    Create it with :func:`kedi.interactive`. It belongs to one caller at a time:
    concurrent, re-entrant and late calls raise :class:`kedi.errors.SessionStateError`
    at once and leave it as it was. Use it as a context manager, or call :meth:`close`.
    """

    def __init__(self, **config: Any) -> None:
        self.config = resolve_config(**config)
        agents = self.config.agents
        self._interpreter = Interpreter(
            config=agents,
            adapters=AdapterPool(),
            engine=self.config.engine,
            executor=self.config.executor,
        )
        self._interpreter.handle = self
        self._base = base_scope(agents.env, {}, self._interpreter.args_name)
        self._scope: Scope = root_scope(self._base, "session", "session")
        self._interpreter.base = self._base
        self._fragments: list[Fragment] = []
        self._names: set[str] = set()
        self._origins = Origins()
        self._completions: Memory | None = None
        self._evaluations = 0
        self._gate = Gate()
        self._holes: Sequence[Hole] = ()
        #: Fragments that ran before the snapshot this session comes from.
        self._restored = 0

    # ── executing ────────────────────────────────────────────────────────────

    def execute(self, source: str, *, source_name: str | os.PathLike[str] | None = None) -> Any:
        """Run one complete fragment, exactly once, against everything before it.

        Gives the object of a native top-level return (``= `value```), the text of
        a rendered one (``= <value>``), ``None`` without a return.

        ``source_name`` names the fragment in errors; a path is also the base of
        relative imports. It must be new in this session (``ValueError``).

        Raises :class:`kedi.errors.KediParseError` or
        :class:`kedi.errors.KediCompileError` before anything runs, leaving the session as
        it was, and :class:`kedi.errors.KediExecutionError` for a failure while
        running: what was committed before it stays, nothing is retried.
        """
        _check_text("a fragment", source)
        with self._gate.entered("executing a fragment"):
            name = self._new_name(source_name)
            unit = self._unit(source, name, named=source_name is not None)
            body, program = self._compile(unit)
            bound = names_of(program)
            number = len(self._fragments) + 1
            self._names.add(name)
            self._fragments.append(Fragment(number, name, source, "running"))
            self._interpreter.add_unit(unit)
            state: Literal["done", "failed"] = "failed"
            try:
                value = self._interpreter.run(unit, body, self._scope)
                state = "done"
            finally:
                ended = self._fragments[number - 1] = Fragment(number, name, source, state)
                self._origins.ended(ended, bound)
            return value

    def evaluate(self, expression: str) -> Any:
        """The value of what a return accepts, such as ``<name>`` or a backtick expression.

        Not a fragment: it is not numbered or listed. It may still call procedures
        and models, whose effects stay.
        """
        _check_text("an expression", expression)
        with self._gate.entered("evaluating an expression"):
            from kedi.session.expressions import as_return

            self._evaluations += 1
            name = f"<expression:{self._evaluations}>"
            placed = as_return(expression)
            unit = self._unit(placed.text, name, named=False)
            try:
                body, _ = self._compile(unit)
                self._interpreter.add_unit(unit)
                return self._interpreter.run(unit, body, self._scope)
            except KediError as error:
                raise placed.moved(error, name) from error.__cause__
            finally:
                self._interpreter.forget_unit(unit)

    def check(self, source: str) -> ParseResult:
        """Whether ``source`` is a complete fragment, needs more input, or is invalid. Runs nothing.

        Names and types are checked too when it is complete; the diagnostics say what is wrong.
        """
        from kedi.session.checking import check_fragment

        _check_text("a fragment", source)
        return check_fragment(self._interpreter, self._scope, self._unit, source)

    def _compile(self, unit: Unit) -> tuple[Step, Program]:
        result = parse(unit.source.text, unit.name, path=unit.source.path, mode="fragment")
        if result.status != "complete":
            raise KediParseError(result.diagnostics)
        # The text that all positions count in: without a byte order mark.
        unit.source = result.program.source
        check_program(self._interpreter, result.program, self._scope, unit)
        return Compiler(self._interpreter, unit).program(result.program), result.program

    def _new_name(self, source_name: str | os.PathLike[str] | None) -> str:
        if source_name is not None:
            given = source_name
            name: Any = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
            if not isinstance(name, str):
                raise TypeError(
                    f"source_name must be text or a path of text, not {type(given).__name__}"
                )
            if not name.strip() or "\0" in name or "\n" in name:
                raise ValueError(f"source_name {name!r} cannot name a fragment")
            if len(name) > _NAME_LIMIT:
                raise ValueError(
                    f"source_name has {len(name):,} characters, and at most {_NAME_LIMIT:,} "
                    f"can name a fragment: {name[:60]!r}…"
                )
            if name in self._names:
                raise ValueError(f"source_name {name!r} already names a fragment of this session")
            return name
        number = len(self._fragments) + 1
        while f"<interactive:{number}>" in self._names:
            number += 1
        return f"<interactive:{number}>"

    def _unit(self, source: str, name: str, *, named: bool) -> Unit:
        if named:
            return fragment_unit(self.config.cwd, source, name)
        return Unit(SourceFile(name, source), "fragment", str(self.config.cwd))

    # ── reading ──────────────────────────────────────────────────────────────

    def bindings(self, *, run_repr: bool = False) -> list[BindingView]:
        """The session's own names with kind, declared type, value and origin; nothing is run.

        ``run_repr`` lets objects that hold little show themselves by their own ``__repr__``.
        """
        from kedi.session.inspect import view_scope

        origins = self._origins.update(self._fragments)
        return view_scope(self._scope, origins=origins, run_repr=run_repr)

    def complete(self, text: str, cursor: int | None = None) -> list[Completion]:
        """Completions for ``text`` at the offset ``cursor`` (its end by default), best first."""
        from kedi.session.completion import Memory, complete

        _check_text("what is completed", text)
        if cursor is not None and (isinstance(cursor, bool) or not isinstance(cursor, int)):
            raise TypeError(f"cursor is an offset into the text, not {type(cursor).__name__}")
        if self._completions is None:
            self._completions = Memory()
        return complete(
            self._interpreter,
            self._scope,
            text,
            len(text) if cursor is None else cursor,
            directory=self.config.cwd,
            memory=self._completions,
        )

    @property
    def fragments(self) -> tuple[Fragment, ...]:
        """Executed fragments in order, failed ones included."""
        return tuple(self._fragments)

    @property
    def calls(self) -> tuple[LoggedCall, ...]:
        """Model calls of this session, oldest first."""
        return self._interpreter.calls.all()

    @property
    def closed(self) -> bool:
        """Whether the session is closed."""
        return self._gate.closed

    def observe(self, observer: Observer | None) -> None:
        """Attach a step observer (or detach with ``None``); takes effect at the next statement.

        Raises ``TypeError`` for what is no :class:`~kedi.debugging.Observer`.
        """
        self._interpreter.attach(observer)

    # ── snapshots ────────────────────────────────────────────────────────────

    def dump(self, path: str | os.PathLike[str], *, partial: bool = False) -> None:
        """Save the session to a file, all or nothing; see :func:`kedi.dump_session`."""
        from kedi.session.snapshots.api import write_snapshot

        with self._gate.entered("saving a snapshot"):
            write_snapshot(self._parts(), path, partial=partial)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """A session of this class from a file; for the options see :func:`kedi.load_session`."""
        from kedi.session.snapshots.api import load_session

        return load_session(path, session_type=cls, **options)

    @staticmethod
    def adopt(session: S, parts: SessionParts) -> S:
        """Give a fresh session the state in ``parts``, which was read from a snapshot.

        Raises ``TypeError`` for what is no fresh session.
        """
        if not isinstance(session, InteractiveSession):
            raise TypeError(f"session_type made a {type(session).__name__}, which is no session")
        if session._fragments or session._gate.closed:
            session.close()
            raise TypeError("session_type must make an open session that has executed nothing")
        with session._gate.entered("being restored"):
            parts.interpreter.handle = session
            session.config = parts.config
            session._interpreter = parts.interpreter
            session._base = parts.base
            session._scope = parts.scope
            session._fragments = list(parts.fragments)
            session._names = {item.name for item in parts.fragments}
            session._evaluations = parts.evaluations
            session._holes = parts.holes
            session._restored = parts.restored
        return session

    @property
    def holes(self) -> tuple[HoleView, ...]:
        """What the snapshot this session comes from could not hold, and nobody has bound since."""
        if not self._holes:
            return ()
        from kedi.session.snapshots.parts import HoleView, open_holes

        found = open_holes(self._parts())
        return tuple(HoleView(item.path, item.reason, item.fragment) for item in found)

    def _parts(self) -> SessionParts:
        from kedi.session.snapshots.parts import SessionParts

        return SessionParts(
            self.config,
            self._interpreter,
            self._base,
            self._scope,
            self._fragments,
            self._evaluations,
            self._holes,
            self._restored,
        )

    # ── life cycle ───────────────────────────────────────────────────────────

    def close(self) -> None:
        """End the session and release executors, engines and adapters. Idempotent.

        Raises :class:`kedi.errors.SessionStateError` while a fragment runs.
        """
        if self._gate.closed:
            return
        with self._gate.entered("closing"):
            self._gate.closed = True
            try:
                self._interpreter.close()
            finally:
                self._interpreter.forget_units()

    def __enter__(self) -> Self:
        if self._gate.closed:
            raise SessionStateError("the session is closed")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._gate.closed else self._gate.activity or "idle"
        return f"<InteractiveSession {state}, {len(self._fragments)} fragments>"


#: Characters of the longest name of a fragment: what systems allow a path to have.
_NAME_LIMIT = 4_096


def _check_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{what} is text, not {type(value).__name__}")


def fragment_unit(cwd: Path, source: str, name: str) -> Unit:
    """The unit of a fragment; one that is named after a file imports from where that is."""
    directory = cwd
    path: str | None = None
    if not (name.startswith("<") and name.endswith(">")):
        file = cwd / name
        try:
            if file.parent.is_dir():
                directory = file.parent
            if file.is_file():
                path = str(file)
        except OSError:
            pass  # a name that no file of this system can have
    return Unit(SourceFile(name, source, path), "fragment", str(directory))
