"""From an exception of a running program to a Kedi error with a readable trace.

While an exception leaves Kedi frames, each adds itself to the exception's
trail. At the outermost boundary the trail, and what Python's traceback says
about embedded code, become the frames of a :class:`KediExecutionError`.
Exceptions stay what they are until then, so that ``try`` in embedded Python
catches them by their own type.
"""

from __future__ import annotations

import dis
import linecache
import os
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any, cast

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
_ANNOUNCED = "__kedi_announced__"
#: File name of generated wrappers, which never show in traces.
INTERNAL_FILE = "<kedi>"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_BUNDLED = os.path.join(_PACKAGE, "modules") + os.sep
_KINDS: dict[str, FrameKind] = {
    CODE_NAMES["expr"]: "inline python",
    CODE_NAMES["stmt"]: "python statement",
    CODE_NAMES["suite"]: "fenced python",
    CODE_NAMES["type"]: "type expression",
    CODE_NAMES["prelude"]: "prelude",
}


class Trail:
    """The Kedi frames an exception has left so far, innermost first."""

    __slots__ = ("detached", "innermost", "next", "steps")

    def __init__(self, frame: RunFrame) -> None:
        #: Set for a frame of another thread: whoever waits for it is the next step.
        self.detached = False
        self.innermost: RunFrame | None = frame
        self.next: RunFrame | None = None
        self.steps: list[tuple[Unit, str | None, Site | None]] = []

    def add(self, frame: RunFrame) -> None:
        """Note that the exception leaves ``frame``."""
        self.steps.append((frame.unit, frame.procedure, frame.site))
        self.next = frame.parent


def record(error: BaseException, frame: RunFrame, *, detached: bool = False) -> None:
    """Add ``frame`` to the trail of ``error``, starting a new one where it was caught between.

    ``detached`` is for the last frame of another thread.
    """
    trail: Trail | None = getattr(error, _TRAIL, None)
    if trail is None or not (trail.next is frame or trail.detached):
        trail = Trail(frame)
        try:
            setattr(error, _TRAIL, trail)
        except AttributeError:
            return  # An exception class with slots: it gets Python's lines only.
    trail.add(frame)
    trail.detached = detached


def finish(error: BaseException, frame: RunFrame) -> BaseException:
    """The error to raise at the boundary for ``error``, which has left ``frame``.

    Kedi's own errors get their frames; other exceptions are wrapped, with the
    original as cause. Exits (``SystemExit``, ``KeyboardInterrupt``) stay themselves.
    """
    if not isinstance(error, Exception):
        return error
    trail: Trail | None = getattr(error, _TRAIL, None)
    if trail is None:
        trail = Trail(frame)
        trail.add(frame)
    units = frame.interpreter.units
    frames = _kedi_frames(trail)
    tail = _python_tail(error.__traceback__)
    embedded = [item for item in tail if item[0].co_filename in units]
    innermost = embedded[-1] if embedded else _caller(error.__traceback__, trail, units)
    if innermost is not None:
        frames.append(_python_frame(innermost, units, frames))
    elif trail.steps and trail.steps[0][2] is not None:
        site = trail.steps[0][2]
        frames.append(_site_frame(site, trail.steps[0][1]))
    traces = [_python_trace(code, line, offset, units) for code, line, offset in tail]
    if isinstance(error, KediExecutionError):
        if not error.frames:
            error.frames = tuple(frames)
            error.python_traces = tuple(traces)
        elif trail.steps:
            error.frames = (*frames[: len(trail.steps)], *error.frames)
        result: KediExecutionError = error
    else:
        result = _wrapped(error, trail)
        result.frames = tuple(frames)
        result.python_traces = tuple(traces)
        error.__traceback__ = _public_traceback(error.__traceback__)
    for name in (_TRAIL, _ANNOUNCED):
        if name in getattr(error, "__dict__", ()):
            delattr(error, name)
    return result


def _wrapped(error: Exception, trail: Trail) -> KediExecutionError:
    message = safe_str(error)
    hint = None
    if isinstance(error, RecursionError):
        message = "recursion without an end: too many calls inside each other"
        hint = "give the recursion a case that ends it, or use `> loop:`"
    result = execution_class(error)(message, original=error, hint=hint)
    if isinstance(result, KediNameError):
        name = getattr(error, "name", None)
        if isinstance(name, str) and trail.innermost is not None:
            result.name = name
            scope = trail.innermost.scope
            visible = [key for part in scope.chain() for key in part.own_names()]
            guess = nearest(name, visible)
            result.hint = f"did you mean `{guess}`?" if guess else None
    result.__cause__ = error
    for note in getattr(error, "__notes__", ()):
        result.add_note(str(note))
    return result


def _kedi_frames(trail: Trail) -> list[Frame]:
    frames: list[Frame] = []
    for unit, procedure, site in reversed(trail.steps):
        kind: FrameKind = "program" if procedure is None else "procedure"
        span = site.span if site is not None else Span(unit.name, 1, 1, 1, 1)
        label = procedure or unit.name
        frames.append(Frame(kind, label, span, procedure, unit.line_text(span.line)))
    return frames


def _caller(
    tb: TracebackType | None, trail: Trail, units: dict[str, Unit]
) -> tuple[CodeType, int, int] | None:
    """The embedded code that called into the interpreter, when it failed right there.

    A wrong argument, say, is found by the interpreter but stands in the Python that calls.
    """
    last: tuple[CodeType, int, int] | None = None
    for entry in _entries(tb):
        if entry[0].co_filename in units:
            last = entry
    site = trail.steps[0][2]
    if last is None or site is None or last[0].co_filename != site.unit.name:
        return None
    span = site.span
    return last if span.line <= last[1] <= span.end_line else None


def _site_frame(site: Site, procedure: str | None) -> Frame:
    span = site.span
    return Frame(site.kind, site.label, span, procedure, site.unit.line_text(span.line))


def _entries(tb: TracebackType | None) -> Iterator[tuple[CodeType, int, int]]:
    while tb is not None:
        yield tb.tb_frame.f_code, tb.tb_lineno, tb.tb_lasti
        tb = tb.tb_next


def is_internal(filename: str) -> bool:
    """Whether a file is part of the interpreter rather than of a program or a library."""
    return filename == INTERNAL_FILE or (
        filename.startswith(_PACKAGE) and not filename.startswith(_BUNDLED)
    )


def _python_tail(tb: TracebackType | None) -> list[tuple[CodeType, int, int]]:
    """Traceback entries below the last one of the interpreter itself."""
    tail: list[tuple[CodeType, int, int]] = []
    for entry in _entries(tb):
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


def _python_span(code: CodeType, line: int, offset: int, unit: Unit) -> Span:
    text = unit.line_text(line)
    end_line, column, end_column = _columns(code, offset)
    start = from_units(text, column, "utf-8") + 1 if column is not None else 1
    if end_column is None or end_line is None:
        return Span(unit.name, line, start, line, len(text) + 1)
    if end_line < line:
        end_line = line
    end = from_units(unit.line_text(end_line), end_column, "utf-8") + 1
    return Span(unit.name, line, start, end_line, end)


def _python_frame(
    entry: tuple[CodeType, int, int], units: dict[str, Unit], frames: list[Frame]
) -> Frame:
    code, line, offset = entry
    unit = units[code.co_filename]
    kind = _KINDS.get(code.co_name, "fenced python")
    label = "" if code.co_name in _KINDS else code.co_qualname
    procedure = (
        frames[-1].procedure if frames and frames[-1].span.source_name == unit.name else None
    )
    span = _python_span(code, line, offset, unit)
    return Frame(kind, label, span, procedure, unit.line_text(line))


def _python_trace(code: CodeType, line: int, offset: int, units: dict[str, Unit]) -> PythonTrace:
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


# ── will anything catch it? ───────────────────────────────────────────────────


def announce(error: BaseException, frame: RunFrame) -> bool:
    """Whether ``error`` has not been announced to the observer yet (then it counts as such)."""
    if getattr(error, _ANNOUNCED, False):
        return False
    try:
        setattr(error, _ANNOUNCED, True)
    except AttributeError:
        return True
    return True


def will_be_caught(error: BaseException) -> bool:
    """Whether a ``try … except`` of Python further out on this thread handles ``error``.

    Looks at the running Python frames outward from the Kedi statement up to the
    boundary of the outermost Kedi frame, and for each at the handlers that guard its
    current instruction. A handler of a class that cannot be told from its
    bytecode counts as catching.
    """
    import sys

    running = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    current = running.f_back
    while current is not None:
        code = current.f_code
        if not is_internal(code.co_filename) and _guarded(code, current.f_lasti, error, current):
            return True
        if code.co_name == "run_boundary" and is_internal(code.co_filename):
            return False
        current = current.f_back
    return False


def _guarded(code: CodeType, lasti: int, error: BaseException, frame: Any) -> bool:
    parse = getattr(dis, "_parse_exception_table", None)
    if parse is None:
        return False
    for entry in parse(code):
        if entry.start <= lasti < entry.end and _handles(code, entry.target, error, frame):
            return True
    return False


def _handles(code: CodeType, target: int, error: BaseException, frame: Any) -> bool:
    """Whether the handler at ``target`` is an ``except`` that takes ``error``."""
    names: list[str] = []
    for step in dis.get_instructions(code):
        if step.offset < target:
            continue
        match step.opname:
            case "LOAD_GLOBAL" | "LOAD_NAME" | "LOAD_FAST" | "LOAD_DEREF" | "LOAD_ATTR":
                names.append(str(step.argval))
            case "CHECK_EXC_MATCH":
                if _matches(names, error, frame):
                    return True
                names.clear()
            case "POP_TOP" if not names and step.offset <= target + 4:
                return True  # a bare ``except:``
            case "RERAISE" | "RETURN_VALUE" | "WITH_EXCEPT_START":
                return False
            case _:
                pass
    return False


def _matches(names: list[str], error: BaseException, frame: Any) -> bool:
    import builtins

    found = False
    for name in names:
        value = frame.f_locals.get(name, None)
        if value is None:
            try:
                value = frame.f_globals[name]
            except KeyError:
                value = getattr(builtins, name, None)
        classes = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
        for cls in classes:
            if isinstance(cls, type):
                found = True
                if issubclass(cls, BaseException) and isinstance(error, cls):
                    return True
    return not found
