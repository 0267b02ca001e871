"""The exceptions a Kedi user can meet.

Every one is a :class:`KediError`. Parse and compile errors carry
``diagnostics``; everything raised while running is a
:class:`KediExecutionError` with ``frames``. Common Python categories have
subclasses that are also that Python type, so ``except ValueError`` works in a
host. All of them survive pickling: what cannot be pickled (the original
exception of some library, say) is replaced by an :class:`OriginalError` with
the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeVar

from kedi.diagnostics import Diagnostic, excerpt, paint, printable, readable, render_diagnostics
from kedi.source import Span

FrameKind = Literal[
    "program",
    "procedure",
    "template",
    "assignment",
    "return",
    "inline python",
    "fenced python",
    "python statement",
    "prelude",
    "type expression",
    "directive",
    "condition",
    "loop",
    "definition",
    "import",
    "show",
]


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a Kedi trace, outermost first in ``KediExecutionError.frames``.

    ``label`` names the thing (``div``, ``[x]``, ``> if``); ``procedure`` is the
    procedure it runs in, ``None`` at the top level; ``source_line`` is the text
    of the span's first line.
    """

    kind: FrameKind
    label: str
    span: Span
    procedure: str | None = None
    source_line: str = ""


@dataclass(frozen=True, slots=True)
class PythonTrace:
    """A Python line below a Kedi frame: embedded code or a library it called.

    ``line`` is 1-based; ``column`` and ``end_column`` are 1-based code points of
    that line, 0 when Python does not say. ``embedded`` is true for code that
    stands in a Kedi source.
    """

    source_name: str
    line: int
    function: str
    source_line: str = ""
    column: int = 0
    end_column: int = 0
    embedded: bool = False


@dataclass(frozen=True, slots=True)
class Cause:
    """An exception that another one came from, or a member of an exception group.

    ``relation`` is ``cause`` (``raise … from``), ``context`` (raised while that one was
    handled) or ``member``; ``depth`` is 0 for what belongs to the error itself and one
    more inside each group; ``span`` is the embedded line that raised it, when known.
    """

    relation: Literal["cause", "context", "member"]
    type_name: str
    message: str
    span: Span | None = None
    depth: int = 0


class OriginalError(Exception):
    """Stands for an original exception that could not be pickled; keeps its type name and text.

    ``type_name`` is the name of the lost type, as errors are shown under it.
    """

    type_name: str = ""


class KediError(Exception):
    """Base of all Kedi errors. ``str(error)`` is the rendered text without colour."""

    _state: ClassVar[tuple[str, ...]] = ()

    def render(self, use_color: bool = False) -> str:
        """Readable text with source lines, for a terminal when ``use_color``."""
        return self.message

    @property
    def message(self) -> str:
        """The error in one line, without places."""
        return str(self.args[0]) if self.args else type(self).__name__

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: _picklable(getattr(self, name, None)) for name in self._state}
        if hasattr(self, "__notes__"):
            state["__notes__"] = [_text(note) for note in self.__notes__]
        return _rebuild, (type(self), self.args, state, _picklable(self.__cause__))

    def __copy__(self) -> Self:
        state = {name: getattr(self, name, None) for name in self._state}
        if hasattr(self, "__notes__"):
            state["__notes__"] = list(self.__notes__)
        return _rebuild(type(self), self.args, state, self.__cause__)

    def __deepcopy__(self, memo: Any) -> Self:
        # What an error holds is never changed; the original exception stays the original.
        return self.__copy__()


def _picklable(value: Any) -> Any:
    if isinstance(value, BaseException):
        import pickle

        try:
            # Only what comes back whole counts: many exceptions pickle but do not unpickle.
            pickle.loads(pickle.dumps(value))
        except Exception:
            name = type_name(value)
            stand_in = OriginalError(f"{name}: {_text(value)}".removesuffix(": "))
            stand_in.type_name = name
            return stand_in
    return value


def type_name(error: BaseException) -> str:
    """The name of an exception's type, also of one that did not survive pickling."""
    return (isinstance(error, OriginalError) and error.type_name) or type(error).__name__


def _text(value: object) -> str:
    """``str(value)``, also when that fails."""
    try:
        return str(value)
    except Exception as error:
        return f"<{type(value).__name__} whose text failed: {type(error).__name__}>"


_Error = TypeVar("_Error", bound="KediError")


def _rebuild(
    cls: type[_Error], args: tuple[Any, ...], state: dict[str, Any], cause: BaseException | None
) -> _Error:
    error = cls.__new__(cls, *args)
    error.args = args
    for name, value in state.items():
        setattr(error, name, value)
    if cause is not None:
        error.__cause__ = cause
    return error


class _DiagnosticError(KediError):
    """An error found before anything ran; ``diagnostics`` is never empty."""

    diagnostics: tuple[Diagnostic, ...]
    _state = ("diagnostics",)

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("; ".join(item.message for item in self.diagnostics))

    def render(self, use_color: bool = False) -> str:
        return render_diagnostics(self.diagnostics, use_color)

    @property
    def span(self) -> Span:
        """Where the first finding is."""
        return self.diagnostics[0].span


class KediParseError(_DiagnosticError, SyntaxError):
    """A source that does not parse. Reports every broken statement."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics)
        first = self.diagnostics[0]
        self.msg = first.message
        self.filename = first.span.source_name
        self.lineno = first.span.line
        self.offset = first.span.column
        self.end_lineno = first.span.end_line
        self.end_offset = first.span.end_column
        self.text = first.source_line

    _state = (
        "diagnostics",
        "msg",
        "filename",
        "lineno",
        "offset",
        "end_lineno",
        "end_offset",
        "text",
    )


class KediCompileError(_DiagnosticError):
    """A source that parses but means nothing: unknown types, bad imports, dead statements."""


class KediExecutionError(KediError):
    """Anything raised while a program runs.

    ``frames`` go from the top-level call to the failure. ``original`` is the
    exception that Python raised, or ``None`` when Kedi itself found the fault.
    ``python_traces`` are the Python lines below the innermost Kedi frame.
    ``hint`` says what to do, when that is known. ``causes`` are the exceptions that the
    original came from, nearest first, and the members of an exception group.
    """

    frames: tuple[Frame, ...] = ()
    python_traces: tuple[PythonTrace, ...] = ()
    original: BaseException | None = None
    hint: str | None = None
    causes: tuple[Cause, ...] = ()
    _state = ("frames", "python_traces", "original", "hint", "causes")

    def __init__(
        self,
        message: str = "",
        *,
        frames: Sequence[Frame] = (),
        python_traces: Sequence[PythonTrace] = (),
        original: BaseException | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.frames = tuple(frames)
        self.python_traces = tuple(python_traces)
        self.original = original
        self.hint = hint

    @property
    def span(self) -> Span | None:
        """Where it failed: the innermost Kedi frame."""
        return self.frames[-1].span if self.frames else None

    def render(self, use_color: bool = False) -> str:
        """The trace, the error and what it came from, advice and notes."""
        out: list[str] = []
        if self.frames:
            out.append("Kedi trace (outermost call first):")
            out += _render_frames(self.frames, use_color)
        shown = {frame.span[:2] for frame in self.frames}
        for trace in self.python_traces:
            if not trace.embedded or (trace.source_name, trace.line) not in shown:
                out += _render_python(trace, use_color)
        name = paint(type_name(self if self.original is None else self.original), "1;31", use_color)
        message = readable(self.message)
        out.append(f"{name}: {message}" if message else name)
        for cause in self.causes:
            out.append(_render_cause(cause, use_color))
        if self.hint:
            out.append(f"{paint('help', '1;36', use_color)}: {readable(self.hint)}")
        for note in getattr(self, "__notes__", ()):
            out.append(readable(_text(note)))
        return "\n".join(out)


#: Frames shown at each end of a long trace.
_SHOWN_ENDS = 12
_CALLS = ("program", "procedure")


def _folds(frame: Frame, inner: Frame | None) -> bool:
    """Whether ``inner`` is the part of ``frame``'s own statement that failed: it tells more."""
    return (
        inner is not None
        and inner.kind not in _CALLS
        and inner.span.source_name == frame.span.source_name
        and frame.span.line <= inner.span.line <= frame.span.end_line
    )


def _render_frames(frames: Sequence[Frame], use_color: bool) -> list[str]:
    out: list[str] = []
    frames = [
        frame
        for frame, inner in zip(frames, [*frames[1:], None], strict=True)
        if not (frame.kind in _CALLS and _folds(frame, inner))
    ]
    alike = _repeats(frames)
    frames = [frame for frame, count in zip(frames, alike, strict=True) if count >= 0]
    alike = [count for count in alike if count >= 0]
    hidden = len(frames) - 2 * _SHOWN_ENDS
    for index, frame in enumerate(frames):
        if hidden > 0 and _SHOWN_ENDS <= index < len(frames) - _SHOWN_ENDS:
            if index == _SHOWN_ENDS:
                out.append(f"  … {hidden} more frames …")
            continue
        span = frame.span
        place = printable(f"{span.source_name}, line {span.line}")
        where = f" in {frame.procedure}" if frame.procedure else ""
        known = ("", frame.kind, frame.procedure, span.source_name)
        what = frame.kind if frame.label in known else f"{frame.kind} {printable(frame.label)}"
        out.append(f"  {paint(place, '36', use_color)}{where} ({what})")
        if frame.source_line.strip():
            end = span.end_column if span.end_line == span.line else len(frame.source_line) + 1
            line, marker = excerpt(frame.source_line, span.column, end)
            stripped = line.lstrip()
            out.append(f"    {stripped}")
            if index == len(frames) - 1:
                marker = marker[len(line) - len(stripped) :]
                out.append(f"    {paint(marker, '31', use_color)}")
        if alike[index]:
            out.append(f"  … the same {alike[index]:,} more times …")
    return out


def _repeats(frames: Sequence[Frame]) -> list[int]:
    """For each frame how many equal ones after it are left out, -1 for one of those.

    The last of a row is kept, in which the error is.
    """
    counts = [0] * len(frames)
    start = 0
    for index in range(1, len(frames) + 1):
        if index < len(frames) and frames[index] == frames[start]:
            continue
        omitted = index - start - 2
        if omitted > 1:
            counts[start] = omitted
            counts[start + 1 : index - 1] = [-1] * omitted
        start = index
    return counts


def _render_python(trace: PythonTrace, use_color: bool) -> list[str]:
    place = printable(f"{trace.source_name}, line {trace.line}")
    out = [f"    {paint('Python', '35', use_color)} {place}, in {printable(trace.function)}"]
    if trace.source_line.strip():
        line, _ = excerpt(trace.source_line, max(1, trace.column), trace.end_column)
        out.append(f"      {line.strip()}")
    return out


_RELATIONS = {"cause": "caused by ", "context": "while handling ", "member": "- "}


def _render_cause(cause: Cause, use_color: bool) -> str:
    pad = "  " * (cause.depth + 1)
    name = paint(cause.type_name, "31", use_color)
    text = readable(cause.message).replace("\n", f"\n{pad}  ")
    text = f": {text}" if text else ""
    place = f" ({printable(cause.span.source_name)}, line {cause.span.line})" if cause.span else ""
    return f"{pad}{_RELATIONS[cause.relation]}{name}{text}{place}"


class KediTypeExecutionError(KediExecutionError, TypeError):
    """A value of the wrong type: arguments, returns, declared bindings, conditions."""


class KediValueExecutionError(KediExecutionError, ValueError):
    """Python raised a ``ValueError`` or a subclass of it."""


class KediKeyExecutionError(KediExecutionError, KeyError):
    """Python raised a ``KeyError`` or a subclass of it."""


class KediNameError(KediExecutionError, NameError):
    """A name that nothing visible binds. ``name`` is that name."""

    _state = (*KediExecutionError._state, "name")


class LoopIterationLimitError(KediExecutionError):
    """A conditional loop that went round more often than ``loop_iteration_limit``."""


class KediPromiseLeak(KediExecutionError):
    """An unresolved promise was used as if it were its value."""


class KediModelError(KediExecutionError):
    """A model call that could not be made or whose answer could not be used."""


class SessionStateError(KediError, RuntimeError):
    """A call that the session's state forbids: after close, or while it executes."""


@dataclass(frozen=True, slots=True)
class DumpProblem:
    """One thing that a snapshot cannot hold: where, why, and which fragment made it."""

    path: str
    reason: str
    fragment: str | None = None


_SHOWN_PROBLEMS = 50


class SessionPersistenceError(KediError):
    """Saving or restoring a session failed."""


class SessionDumpError(SessionPersistenceError):
    """A session that cannot be saved whole; ``problems`` lists every reason."""

    problems: tuple[DumpProblem, ...]
    _state = ("problems",)

    def __init__(self, message: str, problems: Sequence[DumpProblem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    def render(self, use_color: bool = False) -> str:
        """The message and every problem on a line of its own."""
        lines = [self.message]
        for item in self.problems[:_SHOWN_PROBLEMS]:
            made = f" (from {item.fragment})" if item.fragment else ""
            lines.append(f"  {item.path}: {item.reason}{made}")
        hidden = len(self.problems) - _SHOWN_PROBLEMS
        if hidden > 0:
            lines.append(f"  … and {hidden:,} more")
        return "\n".join(lines)


class SessionLoadError(SessionPersistenceError):
    """A snapshot that cannot be restored; the message says why."""


_CATEGORIES: tuple[tuple[type[BaseException], type[KediExecutionError]], ...] = (
    (KeyError, KediKeyExecutionError),
    (NameError, KediNameError),
    (TypeError, KediTypeExecutionError),
    (ValueError, KediValueExecutionError),
)


def execution_class(original: BaseException) -> type[KediExecutionError]:
    """The Kedi class for an exception of Python: the nearest category, else the base class."""
    for base, cls in _CATEGORIES:
        if isinstance(original, base):
            return cls
    return KediExecutionError


__all__ = [
    "Cause",
    "DumpProblem",
    "Frame",
    "KediCompileError",
    "KediError",
    "KediExecutionError",
    "KediKeyExecutionError",
    "KediModelError",
    "KediNameError",
    "KediParseError",
    "KediPromiseLeak",
    "KediTypeExecutionError",
    "KediValueExecutionError",
    "LoopIterationLimitError",
    "OriginalError",
    "PythonTrace",
    "SessionDumpError",
    "SessionLoadError",
    "SessionPersistenceError",
    "SessionStateError",
]
