"""What a debugger front end is told, and the data that passes between it and the core.

Of model calls, exception filters and data breakpoints the core tells nothing yet.

Nothing here knows a wire protocol. Lines and columns are 1-based, columns count code points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from kedi.agents.requests import CallRecord, ModelRequest
    from kedi.runtime.calls import LoggedCall
    from kedi.runtime.frames import RunFrame, Site, Unit
    from kedi.runtime.scopes import Scope
    from kedi.session.debugger.threads import DebugThread

StopReason = Literal[
    "entry",
    "step",
    "pause",
    "breakpoint",
    "function breakpoint",
    "data breakpoint",
    "exception",
    "goto",
    "restart",
]
StepKind = Literal["continue", "next", "in", "out"]
#: Phases of a model call at which one can stop.
Phase = Literal["request", "answer", "validate", "bind"]
#: Names of the exception filters, in the order in which they are offered.
FILTERS = ("raised", "uncaught", "model_input", "model_result", "model_invalid", "tool_call")


@dataclass(frozen=True, slots=True)
class BreakpointSpec:
    """What a user asked for at a line: all conditions must hold for a hit.

    ``condition`` is an expression, ``hit`` a count such as ``5``, ``>= 5`` or ``% 5``,
    ``log`` a message with ``{expression}`` parts, which never stops.
    """

    line: int
    column: int | None = None
    condition: str | None = None
    hit: str | None = None
    log: str | None = None


@dataclass(slots=True, eq=False, weakref_slot=True)
class Breakpoint:
    """A breakpoint as it stands. Changes are told by :meth:`Listener.breakpoint_changed`.

    ``line`` and ``column`` are where it is now, once ``verified``; ``message`` says why it is
    not. ``source`` is the source's name: an absolute path, a fragment's or a module's name.
    """

    id: int
    kind: Literal["line", "function", "data"]
    spec: BreakpointSpec
    source: str | None = None
    name: str | None = None
    verified: bool = False
    message: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    hits: int = 0


@dataclass(slots=True)
class ModelStep:
    """The model call that a thread is making, or made last in its frame.

    ``request`` may be replaced while stopped in the phase ``request``, ``values`` in the phases
    ``validate`` (also of an answer that was refused): what is then set goes on. ``record`` is
    there from the phase ``answer`` on. ``number`` counts calls from 1 in the debugger.
    """

    number: int
    site: Site
    frame: RunFrame
    request: ModelRequest
    phase: Phase = "request"
    record: CallRecord | None = None
    error: BaseException | None = None
    values: Mapping[str, Any] | None = None
    started: float = 0.0


@dataclass(slots=True)
class Stop:
    """Why and where a thread stands still.

    ``frame`` is the innermost Kedi frame, ``description`` a sentence for the user,
    ``error`` the exception of the reason ``exception`` (``filter`` names the filter that caught
    it, ``caught`` says whether the program will handle it), ``returned`` the procedure that just
    ended and its value, ``call`` the model call of its phase, ``python`` whether it stands inside
    embedded Python rather than between statements.
    """

    reason: StopReason
    frame: RunFrame
    scope: Scope
    site: Site | None
    description: str = ""
    breakpoints: tuple[Breakpoint, ...] = ()
    error: BaseException | None = None
    filter: str | None = None
    caught: bool = False
    returned: tuple[str, Any] | None = None
    written: tuple[str, Any, Any] | None = None
    call: ModelStep | None = None
    python: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class FilterSpec:
    """An exception filter that is on, with its condition (an expression, ``None`` for always).

    In it ``error`` is the exception; in those of models ``call`` is the call with ``prompt``,
    ``tokens`` (estimated before it is sent), ``cost``, ``latency`` and ``model``.
    """

    name: str
    condition: str | None = None


class Listener(Protocol):
    """What the debugger tells its front end, on the thread concerned. Must not block for long."""

    def stopped(self, thread: DebugThread, stop: Stop) -> None:
        """The thread stands still and now serves its mailbox."""
        ...

    def resumed(self, thread: DebugThread) -> None:
        """The thread goes on; everything handed out for its stop is void."""
        ...

    def thread_started(self, thread: DebugThread) -> None:
        """A thread runs Kedi for the first time."""
        ...

    def thread_ended(self, thread: DebugThread) -> None:
        """It will not run Kedi again."""
        ...

    def breakpoint_changed(self, breakpoint: Breakpoint) -> None:
        """A breakpoint was verified, moved or lost its source."""
        ...

    def source_loaded(self, unit: Unit) -> None:
        """A fragment, program or module is known from now on."""
        ...

    def logged(self, thread: DebugThread, site: Site, text: str) -> None:
        """A logpoint was hit."""
        ...

    def call_started(self, thread: DebugThread, call: ModelStep) -> None:
        """A model call is about to be sent (its request is final)."""
        ...

    def call_ended(self, thread: DebugThread, call: ModelStep, logged: LoggedCall | None) -> None:
        """It was answered, repaired, refused, or failed."""
        ...


@dataclass(frozen=True, slots=True)
class Resume:
    """What a mailbox job gives to let its thread go on.

    ``single`` keeps other stopped threads where they are. ``jump`` is run on the thread right
    before it goes on, to raise what unwinds to another place (``goto``, ``restartFrame``).
    """

    kind: StepKind = "continue"
    single: bool = False
    jump: Callable[[], None] | None = field(default=None, compare=False)
