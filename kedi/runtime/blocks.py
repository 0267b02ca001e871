"""Blocks of compiled statements: how they run, and where one may stop and jump.

A block is a list that its runner goes through, so a debugger can put a *trap* in the place of
a statement: where there is none, nothing is asked and nothing costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import ref

from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.scopes import Scope

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

#: Runs one statement; ``True`` when a return ended the procedure or program.
Step = Callable[[RunFrame, Scope], bool | None]
#: Called before a statement runs; what it raises is raised there.
Trap = Callable[[RunFrame, Scope], None]


class Unwinding(BaseException):
    """Raised by a debugger at a statement to go elsewhere in ``frame``. No error of a program."""

    def __init__(self, frame: RunFrame) -> None:
        super().__init__()
        self.frame = frame


class Jump(Unwinding):
    """Go on in ``frame`` with the statement at ``site``, of this block or one around it."""

    def __init__(self, frame: RunFrame, site: Site) -> None:
        super().__init__(frame)
        self.site = site


class Restart(Unwinding):
    """Call the procedure of ``frame`` again, with the arguments it was called with."""


class Block(list[tuple[Site, Step, Step]]):
    """The statements of one level as ``(site, step, observed step)``.

    ``procedure`` is the name of the procedure whose body it is, ``None`` for other blocks.
    """

    __slots__ = ("__weakref__", "plain", "procedure")

    def __init__(self, steps: Sequence[tuple[Site, Step, Step]], procedure: str | None) -> None:
        super().__init__(steps)
        self.procedure = procedure
        #: The steps without their traps, ``None`` while there is no trap.
        self.plain: tuple[Step, ...] | None = None

    def plant(self, index: int, trap: Trap | None) -> None:
        """Have ``trap`` called before that statement (``None``: no more). From any thread.

        While an observer is told of every statement the trap is left to it.
        """
        if self.plain is None:
            self.plain = tuple([step for _, step, _ in self])
        site, _, observed = self[index]
        step = self.plain[index]
        site.trap = trap
        self[index] = (site, step if trap is None else _trapped(trap, step), observed)


def _trapped(trap: Trap, step: Step) -> Step:
    def stop_first(frame: RunFrame, scope: Scope) -> bool | None:
        frame.scope = scope
        trap(frame, scope)
        return step(frame, scope)

    return stop_first


def sequence(
    interpreter: Interpreter, steps: Sequence[tuple[Site, Step]], procedure: str | None = None
) -> Step:
    """One step that runs others in order. This loop is the interpreter's heart."""
    if not steps:
        return lambda frame, scope: None
    # A statement may have a second form for when it is observed, so that the first need not look.
    block = Block(
        [(site, step, getattr(step, "observed", step)) for site, step in steps], procedure
    )
    steps[0][0].unit.blocks.append(ref(block))
    if interpreter.planter is not None:
        interpreter.planter(block)
    if len(block) == 1:

        def single(frame: RunFrame, scope: Scope) -> bool | None:
            site, only, observed = block[0]
            frame.site = site
            try:
                if interpreter.observer is None:
                    return only(frame, scope)
                return interpreter.observed_step(frame, scope, observed)
            except BaseException as error:
                if interpreter.watcher is None or _goes_on(frame, block, error) is None:
                    raise
            return run_from(interpreter, frame, scope, block, 0)

        return single

    def run(frame: RunFrame, scope: Scope) -> bool | None:
        try:
            for site, step, observed in block:
                frame.site = site
                if interpreter.observer is None:
                    if step(frame, scope):
                        return True
                elif interpreter.observed_step(frame, scope, observed):
                    return True
            return None
        except BaseException as error:
            if interpreter.watcher is None:
                raise
            index = _goes_on(frame, block, error)
            if index is None:
                raise
        return run_from(interpreter, frame, scope, block, index)

    return run


def run_from(
    interpreter: Interpreter, frame: RunFrame, scope: Scope, block: Block, index: int
) -> bool | None:
    """Run a block from one of its statements on, where a debugger has jumped to."""
    # The loop of ``sequence``, once more: a call between the two would cost every block.
    while True:
        # Blocks between here and where the jump began did not put it back.
        frame.scope = scope
        try:
            for site, step, observed in block[index:]:
                frame.site = site
                if interpreter.observer is None:
                    if step(frame, scope):
                        return True
                elif interpreter.observed_step(frame, scope, observed):
                    return True
            return None
        except BaseException as error:
            found = _goes_on(frame, block, error)
            if found is None:
                raise
            index = found


def _goes_on(frame: RunFrame, block: Block, error: BaseException) -> int | None:
    """Where the block goes on after what a statement raised; ``None`` when that leaves it."""
    if isinstance(error, Jump):
        if error.frame is frame:
            for index, (site, _, _) in enumerate(block):
                if site is error.site:
                    return index
        return None
    from kedi.runtime.catching import announce

    announce(error, frame)
    return None
