"""From an exception of a running program to a Kedi error with a readable trace.

While an exception leaves Kedi frames, each adds itself to the exception's
trail. At the outermost boundary the trail, and what Python's traceback says
about embedded code, become the frames of a :class:`KediExecutionError`.
Exceptions stay what they are until then, so that ``try`` in embedded Python
catches them by their own type.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

from kedi.errors import (
    Frame,
    FrameKind,
    KediExecutionError,
    KediNameError,
    PythonTrace,
    execution_class,
)
from kedi.runtime.frames import RunFrame, Site, Unit
from kedi.runtime.pycode import CODE_NAMES
from kedi.runtime.text import nearest, safe_str
from kedi.source import Span, from_units

_TRAIL = "__kedi_trail__"
#: File name of generated wrappers, which never show in traces.
INTERNAL_FILE = "<kedi>"
_PACKAGE = __file__.rpartition(os.sep)[0].rpartition(os.sep)[0] + os.sep
_BUNDLED = f"{_PACKAGE}modules{os.sep}"
_KINDS: dict[str, FrameKind] = {
    CODE_NAMES["expr"]: "inline python",
    CODE_NAMES["stmt"]: "python statement",
    CODE_NAMES["suite"]: "fenced python",
    CODE_NAMES["type"]: "type expression",
    CODE_NAMES["prelude"]: "prelude",
}
#: Functions of the interpreter in which a Kedi frame begins: their variable ``frame`` holds it
#: and ``caller`` the one around it.
_BOUNDARIES = frozenset({"run_boundary", "call"})
#: Exceptions of one chain that are looked at.
MAX_CHAIN = 50

Entry = tuple[CodeType, int, int]
Step = tuple[RunFrame, Site | None]


def _reader(name: str) -> Callable[[BaseException], Any]:
    return BaseException.__dict__[name].__get__


# What Python itself knows of an exception, whatever its class does about attribute access.
traceback_of = _reader("__traceback__")
cause_of = _reader("__cause__")
context_of = _reader("__context__")
suppresses_context = _reader("__suppress_context__")
_dict_of = _reader("__dict__")
set_traceback: Callable[[BaseException, TracebackType | None], Any] = BaseException.with_traceback


def marks_of(error: BaseException) -> dict[str, Any]:
    """The attributes of an exception, where Kedi keeps its own notes too."""
    return _dict_of(error)


class Trail:
    """The Kedi frames an exception has left so far, innermost first."""

    __slots__ = ("next", "steps")

    def __init__(self) -> None:
        self.next: RunFrame | None = None
        self.steps: list[Step] = []

    def add(self, frame: RunFrame) -> None:
        """Note that the exception leaves ``frame``."""
        self.steps.append((frame, frame.site))
        self.next = frame.parent

    def __reduce__(self) -> tuple[Any, ...]:
        # A program may pickle or copy an exception that it caught: frames stay here.
        return Trail, ()


def record(error: BaseException, frame: RunFrame) -> None:
    """Add ``frame`` to the trail of ``error``, starting a new one where it was caught between."""
    marks = marks_of(error)
    trail: Trail | None = marks.get(_TRAIL)
    if trail is None or trail.next is not frame:
        trail = marks[_TRAIL] = Trail()
    trail.add(frame)


def restart(error: BaseException, trace: TracebackType | None) -> None:
    """Forget where the error of a model call has been read: it belongs to its template alone."""
    marks_of(error).pop(_TRAIL, None)
    set_traceback(error, trace)


def hand_over(error: BaseException, own: RunFrame, frame: RunFrame) -> None:
    """Let ``error``, which left the frame ``own`` of a map stage, go on leaving ``frame``."""
    trail: Trail | None = marks_of(error).get(_TRAIL)
    if trail is not None and trail.next is own:
        trail.next = frame


def forget(error: BaseException) -> None:
    """Take Kedi's notes from an exception and from those it came from."""
    for item in _chain(error):
        marks = marks_of(item)
        marks.pop(_TRAIL, None)
        marks.pop(ANNOUNCED, None)


#: Mark of an exception that observers have been told of.
ANNOUNCED = "__kedi_announced__"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, its causes and contexts; each once."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo and len(seen) < MAX_CHAIN:
        item = todo.pop()
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        todo += (context_of(item), cause_of(item))


def finish(error: BaseException, frame: RunFrame) -> BaseException:
    """The error to raise at the boundary for ``error``, which has left ``frame``.

    Kedi's own errors get their frames; other exceptions are wrapped, with the
    original as cause. Exits (``SystemExit``, ``KeyboardInterrupt``) stay themselves.
    """
    if not isinstance(error, Exception):
        forget(error)
        return error
    trail: Trail | None = marks_of(error).get(_TRAIL)
    if trail is None:
        trail = Trail()
        trail.add(frame)
    from kedi.runtime.causes import causes_of

    units = frame.interpreter.units
    trace = traceback_of(error)
    entries = list(entries_of(trace))
    result = error if isinstance(error, KediExecutionError) else _wrapped(error, trail)
    if result.frames:
        # It comes from another runtime, whose frames lie inside these.
        result.frames = (*_frames(trail.steps[::-1], trace, units), *result.frames)
    else:
        steps = _steps(trail, trace)
        frames = _frames(steps, trace, units)
        innermost, site = steps[-1]
        if site is not None and frames[-1].kind in ("program", "procedure"):
            frames.append(_site_frame(site, innermost.procedure))
        tail = _tail(entries)
        result.frames = tuple(frames)
        if _is_validation(error):
            # The line that makes the value tells all; how pydantic checks it, nothing.
            tail = [entry for entry in tail if entry[0].co_filename in units]
        result.python_traces = tuple(_python_trace(*entry, units) for entry in tail)
        result.causes = causes_of(result.original if result is error else error, units)
    for item in _chain(error):
        if item is not result:
            set_traceback(item, _public_traceback(traceback_of(item)))
    forget(error)
    return result


def _wrapped(error: Exception, trail: Trail) -> KediExecutionError:
    message = message_of(error)
    hint = None
    if isinstance(error, RecursionError):
        message = "recursion without an end: too many calls inside each other"
        hint = "give the recursion a case that ends it, or use `> loop:`"
    result = execution_class(error)(message, original=error, hint=hint)
    if isinstance(result, KediNameError):
        name = getattr(error, "name", None)
        if isinstance(name, str):
            result.name = name
            visible = [key for part in trail.steps[0][0].scope.chain() for key in part.own_names()]
            guess = nearest(name, visible)
            result.hint = f"did you mean `{guess}`?" if guess else None
    result.__cause__ = error
    notes: Any = marks_of(error).get("__notes__", ())
    if isinstance(notes, (list, tuple)):
        for note in notes:  # pyright: ignore[reportUnknownVariableType]
            result.add_note(safe_str(note))  # pyright: ignore[reportUnknownArgumentType]
    return result


def message_of(error: BaseException) -> str:
    """The exception's text; for a refused Kedi type what is wrong, in Kedi's words."""
    if not _is_validation(error):
        return safe_str(error)
    from kedi.agents.validation import problem_lines

    refused: Any = error
    lines = problem_lines(refused).replace("\n", "\n  ")
    return f"the values do not fit `{refused.title}`:\n  {lines}"


def _is_validation(error: BaseException) -> bool:
    """Whether pydantic refused values (without importing it)."""
    core = sys.modules.get("pydantic_core")
    return core is not None and isinstance(error, core.ValidationError)


# ── frames ────────────────────────────────────────────────────────────────────


def _steps(trail: Trail, trace: TracebackType | None) -> list[Step]:
    """Kedi frames that the exception has left, outermost first.

    One that was caught, kept and raised again has left more of them before: those are in
    its traceback only.
    """
    calls = list(_calls(trace))
    known = {id(run_frame): site for run_frame, site in trail.steps}
    if not known.keys() <= {id(item) for item in calls}:
        return trail.steps[::-1]  # It comes from another thread.
    return [
        (item, known.get(id(item), item.site))
        for item in calls
        if id(item) in known or item.site is not None
    ]


def _frames(steps: list[Step], trace: TracebackType | None, units: dict[str, Unit]) -> list[Frame]:
    """Each program or procedure, and the embedded Python that ran in it."""
    frames: list[Frame] = []
    embedded = _embedded(trace, units)
    for run_frame, site in steps:
        unit, procedure = run_frame.unit, run_frame.procedure
        kind: FrameKind = "program" if procedure is None else "procedure"
        span = site.span if site is not None else Span(unit.name, 1, 1, 1, 1)
        frames.append(Frame(kind, run_frame.label, span, procedure, unit.line_text(span.line)))
        for entry in embedded.get(id(run_frame), ()):
            frames.append(_python_frame(entry, units, run_frame))
    return frames


def _site_frame(site: Site, procedure: str | None) -> Frame:
    span = site.span
    return Frame(site.kind, site.label, span, procedure, site.unit.line_text(span.line))


def entries_of(tb: TracebackType | None) -> Iterator[Entry]:
    """Code, line and instruction offset of each entry, outermost first."""
    while tb is not None:
        yield tb.tb_frame.f_code, tb.tb_lineno, tb.tb_lasti
        tb = tb.tb_next


def _calls(tb: TracebackType | None) -> Iterator[RunFrame]:
    """Kedi frames that began in a traceback, each once, outermost first."""
    seen: set[int] = set()
    while tb is not None:
        if is_boundary(tb.tb_frame.f_code):
            run_frame: Any = tb.tb_frame.f_locals.get("frame")
            if isinstance(run_frame, RunFrame) and id(run_frame) not in seen:
                seen.add(id(run_frame))
                yield run_frame
        tb = tb.tb_next


def _embedded(tb: TracebackType | None, units: dict[str, Unit]) -> dict[int, list[Entry]]:
    """Traceback entries of embedded code, by the ``id`` of the Kedi frame they ran in."""
    found: dict[int, list[Entry]] = {}
    current: list[Entry] = []
    while tb is not None:
        frame = tb.tb_frame
        code = frame.f_code
        if is_boundary(code):
            current = found.setdefault(id(frame.f_locals.get("frame")), [])
        elif code.co_filename in units:
            current.append((code, tb.tb_lineno, tb.tb_lasti))
        tb = tb.tb_next
    return found


def is_internal(filename: str) -> bool:
    """Whether a file is part of the interpreter rather than of a program or a library."""
    return filename == INTERNAL_FILE or (
        filename.startswith(_PACKAGE) and not filename.startswith(_BUNDLED)
    )


def is_boundary(code: CodeType) -> bool:
    """Whether a Kedi frame begins in a Python frame of this code."""
    return code.co_name in _BOUNDARIES and is_internal(code.co_filename)


def frame_boundary(start: FrameType, frame: RunFrame) -> FrameType | None:
    """The running Python frame, from ``start`` out, in which ``frame`` (or its stage) began."""
    current: FrameType | None = start
    while current is not None:
        code = current.f_code
        if is_internal(code.co_filename):
            names = {"run_boundary": "frame", "call": "frame", "_stage": "own"}
            name = names.get(code.co_name)
            if name is not None and current.f_locals.get(name) is frame:
                return current
        current = current.f_back
    return None


def _tail(entries: list[Entry]) -> list[Entry]:
    """Traceback entries below the last one of the interpreter itself."""
    tail: list[Entry] = []
    for entry in entries:
        if is_internal(entry[0].co_filename):
            tail.clear()
        else:
            tail.append(entry)
    return tail


def _columns(code: CodeType, offset: int) -> tuple[int | None, int | None, int | None]:
    """``(end_line, column, end_column)`` of an instruction: UTF-8 bytes, 0-based."""
    if offset < 0:
        return None, None, None
    for index, (_, end_line, column, end_column) in enumerate(code.co_positions()):
        if index == offset // 2:
            return end_line, column, end_column
    return None, None, None


def python_span(code: CodeType, line: int, offset: int, unit: Unit) -> Span:
    """Where an instruction of embedded code stands in its unit."""
    text = unit.line_text(line)
    end_line, column, end_column = _columns(code, offset)
    start = from_units(text, column, "utf-8") + 1 if column is not None else 1
    if end_column is None or end_line is None:
        return Span(unit.name, line, start, line, len(text) + 1)
    if end_line < line:
        end_line = line
    end = from_units(unit.line_text(end_line), end_column, "utf-8") + 1
    return Span(unit.name, line, start, end_line, end)


def _python_frame(entry: Entry, units: dict[str, Unit], around: RunFrame) -> Frame:
    code, line, offset = entry
    unit = units[code.co_filename]
    kind = _KINDS.get(code.co_name, "fenced python")
    label = "" if code.co_name in _KINDS else code.co_qualname.replace("<prelude>.", "")
    procedure = around.procedure if unit is around.unit else None
    span = python_span(code, line, offset, unit)
    return Frame(kind, label, span, procedure, unit.line_text(line))


def _python_trace(code: CodeType, line: int, offset: int, units: dict[str, Unit]) -> PythonTrace:
    import linecache

    unit = units.get(code.co_filename)
    text = (
        unit.line_text(line) if unit is not None else linecache.getline(code.co_filename, line)
    ).rstrip("\n")
    end_line, column, end_column = _columns(code, offset)
    same_line = end_line == line and column is not None and end_column is not None
    return PythonTrace(
        code.co_filename,
        line,
        code.co_name,
        text,
        from_units(text, column or 0, "utf-8") + 1 if same_line else 0,
        from_units(text, end_column or 0, "utf-8") + 1 if same_line else 0,
        embedded=unit is not None,
    )


def _public_traceback(tb: TracebackType | None) -> TracebackType | None:
    """The same traceback without the interpreter's own frames."""
    kept: list[TracebackType] = []
    while tb is not None:
        if not is_internal(tb.tb_frame.f_code.co_filename):
            kept.append(tb)
        tb = tb.tb_next
    result: TracebackType | None = None
    for item in reversed(kept):
        result = TracebackType(result, item.tb_frame, item.tb_lasti, item.tb_lineno)
    return result
