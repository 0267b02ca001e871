"""The debugger: an observer that stops threads of a program at statements.

While nothing but breakpoints is asked for it is told only of what is rare, and breakpoints are
traps in compiled blocks; it looks at every statement only while a thread steps or is to pause.
All of it runs on the program's threads, except :meth:`Debugger.pause`, :meth:`Debugger.attach`
and what sets breakpoints, which may come from any.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from kedi.errors import KediParseError
from kedi.runtime.blocks import Jump, Restart
from kedi.runtime.hooks import Observer
from kedi.session.debugger.breakpoints import Breakpoints, live_blocks
from kedi.session.debugger.events import Breakpoint, Listener, Resume, Stop
from kedi.session.debugger.threads import DebugThread

if TYPE_CHECKING:
    from kedi.runtime.blocks import Block
    from kedi.runtime.frames import RunFrame, Site, Unit
    from kedi.runtime.interpreter import Interpreter
    from kedi.runtime.scopes import Scope
    from kedi.session.debugger.conditions import Condition, Message


class _Plan(NamedTuple):
    """What a thread was told to do: stop at the next statement of one of ``frames`` (or of any)."""

    frames: tuple[RunFrame, ...] | None

    def stops_at(self, frame: RunFrame) -> bool:
        return self.frames is None or any(item is frame for item in self.frames)


class _Checks(NamedTuple):
    """The conditions of a breakpoint, compiled once."""

    condition: Condition | None
    hit: Callable[[int], bool] | None
    log: Message | None


class Debugger(Observer):
    """Breakpoints and stepping for the interpreters it is attached to; tells a ``listener``."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.breakpoints = Breakpoints(self._trapped, listener.breakpoint_changed)
        #: Threads that run Kedi, by their number from 1.
        self.threads: dict[int, DebugThread] = {}
        #: Sources known so far, by name, the latest of each.
        self.units: dict[str, Unit] = {}
        self.wants_python = False
        self._lock = threading.RLock()
        self._by_ident: dict[int, DebugThread] = {}
        self._numbers = 0
        self._interpreters: list[Interpreter] = []
        self._plans: dict[DebugThread, _Plan] = {}
        self._pausing: set[DebugThread] = set()
        self._returned: dict[DebugThread, tuple[str, Any]] = {}
        self._checks: WeakKeyDictionary[Breakpoint, _Checks] = WeakKeyDictionary()
        self._stop_on_entry = False

    # ── attaching ────────────────────────────────────────────────────────────

    def attach(self, interpreter: Interpreter, *, stop_on_entry: bool = False) -> None:
        """Debug what an interpreter runs, from its next statement on."""
        with self._lock:
            if interpreter not in self._interpreters:
                self._interpreters.append(interpreter)
            self._stop_on_entry = self._stop_on_entry or stop_on_entry
        interpreter.planter = self.breakpoints.add_block
        for unit in list(interpreter.units.values()):
            self.unit_added(unit)
        self._arrange()

    def detach(self) -> None:
        """Let every thread go on and be told of nothing more."""
        self.breakpoints.clear()
        with self._lock:
            interpreters, self._interpreters = self._interpreters, []
            self._plans.clear()
            self._pausing.clear()
            threads = list(self.threads.values())
        for interpreter in interpreters:
            interpreter.planter = None
            interpreter.attach_debugger(None)
        for thread in threads:
            for _ in thread.stops:
                thread.post(Resume)

    def _arrange(self) -> None:
        with self._lock:
            every = bool(self._plans or self._pausing or self._stop_on_entry)
            for interpreter in self._interpreters:
                interpreter.attach_debugger(self, every_step=every)

    # ── threads ──────────────────────────────────────────────────────────────

    def current(self) -> DebugThread:
        """The debug thread of the running thread, made when it is met first."""
        ident = threading.get_ident()
        thread = self._by_ident.get(ident)
        if thread is not None:
            return thread
        with self._lock:
            self._numbers += 1
            thread = DebugThread(self._numbers, threading.current_thread().name, ident)
            self._by_ident[ident] = self.threads[thread.number] = thread
        self.listener.thread_started(thread)
        return thread

    def thread_entered(self, frame: RunFrame) -> None:
        """A job of the parallel engine is a thread of its own, named after its template."""
        thread = self.current()
        thread.name = f"{frame.site.label} line {frame.site.line}" if frame.site else thread.name

    def thread_left(self, frame: RunFrame) -> None:
        """The job has ended, and the thread with it."""
        thread = self._by_ident.pop(threading.get_ident(), None)
        if thread is None:
            return
        with self._lock:
            self.threads.pop(thread.number, None)
            self._pausing.discard(thread)
            self._plans.pop(thread, None)
        self.listener.thread_ended(thread)

    # ── control ──────────────────────────────────────────────────────────────

    def pause(self, thread: DebugThread | None = None) -> None:
        """Stop a thread, or every one, at its next statement."""
        with self._lock:
            chosen = list(self.threads.values()) if thread is None else [thread]
            self._pausing.update(item for item in chosen if item.stop is None)
        self._arrange()

    def jump(self, frame: RunFrame, line: int) -> Callable[[], None] | None:
        """For :class:`Resume`: go on in ``frame`` at a line of the blocks it is in now.

        ``None`` when no statement of these begins there.
        """
        for site in self.targets(frame):
            if site.line == line:

                def leave(site: Site = site) -> None:
                    raise Jump(frame, site)

                return leave
        return None

    def targets(self, frame: RunFrame) -> list[Site]:
        """The statements to which ``frame`` can jump: of its block and the blocks around it."""
        here = frame.site
        if here is None:
            return []
        found: list[Site] = []
        inside: Site | None = here
        blocks = list(live_blocks(frame.unit))
        while inside is not None:
            around = next((item for item in blocks if any(s is inside for s, _, _ in item)), None)
            if around is None:
                break
            found += [site for site, _, _ in around]
            if around.procedure is not None:
                break
            inside = _owner(around[0][0], blocks)
        return found

    def restart(self, frame: RunFrame) -> Callable[[], None]:
        """For :class:`Resume`: call the procedure of ``frame`` again with its arguments."""

        def leave() -> None:
            raise Restart(frame)

        return leave

    # ── what the interpreter tells ───────────────────────────────────────────

    def unit_added(self, unit: Unit) -> None:
        """A source is known: its breakpoints are bound."""
        if self.units.get(unit.name) is unit:
            return
        self.units[unit.name] = unit
        self.breakpoints.add_unit(unit)
        self.listener.source_loaded(unit)

    def statement(self, frame: RunFrame) -> None:
        """While something is asked of every statement: whether to stop at this one."""
        site = frame.site
        assert site is not None
        thread = self.current()
        found = self.breakpoints.at(site)
        if found and self._stopped_by(thread, frame, frame.scope, site, found):
            return
        plan = self._plans.get(thread)
        if thread in self._pausing:
            self._stand(thread, Stop("pause", frame, frame.scope, site, "Paused"))
        elif self._stop_on_entry:
            self._stop_on_entry = False
            self._stand(thread, Stop("entry", frame, frame.scope, site, "Stopped on entry"))
        elif plan is not None and plan.stops_at(frame):
            returned = self._returned.pop(thread, None)
            stop = Stop("step", frame, frame.scope, site, "Stepped", returned=returned)
            self._stand(thread, stop)

    def procedure_left(self, frame: RunFrame, value: Any, error: BaseException | None) -> None:
        """While a thread steps: what the procedure gave, to be shown at the next stop."""
        thread = self.current()
        if error is None and thread in self._plans:
            self._returned[thread] = (frame.label, value)

    def _trapped(
        self, frame: RunFrame, scope: Scope, site: Site, found: tuple[Breakpoint, ...]
    ) -> None:
        self._stopped_by(self.current(), frame, scope, site, found)

    # ── stopping ─────────────────────────────────────────────────────────────

    def _stopped_by(
        self,
        thread: DebugThread,
        frame: RunFrame,
        scope: Scope,
        site: Site,
        found: tuple[Breakpoint, ...],
    ) -> bool:
        """Count and log the breakpoints of a statement, and stop when one of them says so."""
        hits = tuple([item for item in found if self._hits(thread, frame, scope, site, item)])
        if not hits:
            return False
        kind = "function breakpoint" if hits[0].kind == "function" else "breakpoint"
        self._stand(thread, Stop(kind, frame, scope, site, f"Paused on {kind}", breakpoints=hits))
        return True

    def _hits(
        self, thread: DebugThread, frame: RunFrame, scope: Scope, site: Site, item: Breakpoint
    ) -> bool:
        checks = self._checks_of(thread, site, item)
        if checks is None:
            return False
        if checks.condition is not None:
            try:
                if not checks.condition(frame, scope):
                    return False
            except Exception as error:
                text = f"the condition of the breakpoint failed: {error}"
                self.listener.logged(thread, site, text)
                return False
        item.hits += 1
        if checks.hit is not None and not checks.hit(item.hits):
            return False
        if checks.log is not None:
            self.listener.logged(thread, site, checks.log(frame, scope))
            return False
        return True

    def _checks_of(self, thread: DebugThread, site: Site, item: Breakpoint) -> _Checks | None:
        """Compiled conditions of a breakpoint; ``None`` for those that cannot be, which is told."""
        known = self._checks.get(item)
        if known is not None:
            return known
        from kedi.session.debugger.conditions import condition, hit_condition, log_message

        spec = item.spec
        try:
            made = _Checks(
                None if spec.condition is None else condition(spec.condition),
                None if spec.hit is None else hit_condition(spec.hit),
                None if spec.log is None else log_message(spec.log),
            )
        except (KediParseError, ValueError) as error:
            self.listener.logged(thread, site, f"the breakpoint cannot be used: {error}")
            return None
        self._checks[item] = made
        return made

    def _stand(self, thread: DebugThread, stop: Stop) -> None:
        """Stand still and serve the mailbox, until a job lets the thread go on."""
        with self._lock:
            self._plans.pop(thread, None)
            self._pausing.discard(thread)
        self._arrange()
        thread.stops.append(stop)
        try:
            self.listener.stopped(thread, stop)
            resume = thread.serve()
        finally:
            thread.stops.pop()
        self._go_on(thread, stop.frame, resume)

    def _go_on(self, thread: DebugThread, frame: RunFrame, resume: Resume) -> None:
        with self._lock:
            self._returned.pop(thread, None)
            if resume.kind == "in":
                self._plans[thread] = _Plan(None)
            elif resume.kind != "continue":
                stack = tuple(frame.stack())
                self._plans[thread] = _Plan(stack if resume.kind == "next" else stack[1:])
            others = [] if resume.single else [item for item in self.threads.values() if item.stop]
        self._arrange()
        self.listener.resumed(thread)
        for other in others:
            if other is not thread:
                other.post(Resume)
        if resume.jump is not None:
            resume.jump()


def _owner(first: Site, blocks: list[Block]) -> Site | None:
    """The statement in whose body the block that begins with ``first`` stands."""
    for block in blocks:
        for site, _, _ in block:
            if any(item is first.stmt for item in site.stmt.body):
                return site
    return None
