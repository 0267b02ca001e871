"""Will anything catch this exception? Asked before the stack is unwound.

A debugger stops on *uncaught* exceptions where they are raised, so it has to know
beforehand. The running Python frames are looked at outward from the Kedi statement, and
for each the exception tables and handlers of its bytecode, the same that Python itself
goes by (``Objects/exception_handling_notes.txt`` of CPython 3.11 and later).
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, cast

from kedi.runtime.blocks import Unwinding
from kedi.runtime.frames import CURRENT, RunFrame
from kedi.runtime.traces import ANNOUNCED, is_boundary, is_internal, marks_of
from kedi.syntax.embedded import silent_name

#: Handlers followed inside one frame before giving up; nested ``try`` are few.
_MAX_HANDLERS = 200
#: Functions of the interpreter with which a thread begins that works for another one.
_BASES = frozenset({"_run", "_help"})
_LOADS = (
    "LOAD_GLOBAL",
    "LOAD_NAME",
    "LOAD_FAST",
    "LOAD_DEREF",
    "LOAD_CLASSDEREF",
    "LOAD_CLOSURE",
    "LOAD_CONST",
    "LOAD_FROM_DICT_OR_DEREF",
)
_UNKNOWN: Any = object()


def first_seen(error: BaseException) -> bool:
    """Whether observers have not been told of ``error`` yet; from now on they have."""
    marks = marks_of(error)
    if marks.get(ANNOUNCED):
        return False
    marks[ANNOUNCED] = True
    return True


def announce(error: BaseException, frame: RunFrame) -> None:
    """Tell the watcher once of an exception that leaves a statement of ``frame``."""
    watcher = frame.interpreter.watcher
    if watcher is None or isinstance(error, Unwinding):
        return
    if first_seen(error):
        watcher.exception_raised(frame, error, will_be_caught(error))


def will_be_caught(error: BaseException) -> bool:
    """Whether a ``try`` of Python around the running Kedi statement handles ``error``.

    Looks at the running Python frames outward, up to where the outermost Kedi frame began;
    on a thread that works for another one, goes on there. What the host does is not asked.
    """
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    outer = CURRENT.outer
    while True:
        while frame is not None:
            code = frame.f_code
            if not is_internal(code.co_filename):
                if frame_catches(frame, error):
                    return True
            elif is_boundary(code) and frame.f_locals.get("caller", frame) is None:
                return False
            elif outer is not None and code.co_name in _BASES:
                break
            frame = frame.f_back
        if outer is None:
            return False
        frame, outer = outer


def frame_catches(frame: FrameType, error: BaseException) -> bool:
    """Whether a ``try`` or ``with`` of the frame, where it is now, stops ``error``.

    A handler that always re-raises does not; one whose class cannot be told from its
    bytecode does; of context managers only ``contextlib.suppress`` is known to.
    """
    code = frame.f_code
    table = _table(code)
    if not table:
        return False
    steps = {step.offset: step for step in dis.get_instructions(code)}
    offsets = sorted(steps)
    at = frame.f_lasti
    for _ in range(_MAX_HANDLERS):
        entry = next((item for item in table if item.start <= at < item.end), None)
        if entry is None:
            return False
        handler = _Handler(frame, error, steps, offsets, table)
        left = handler.outcome(entry.target)
        if left is None:
            return True
        at = left
    return True


def _table(code: CodeType) -> list[Any]:
    parse = getattr(dis, "_parse_exception_table", None)
    return list(parse(code)) if parse is not None and code.co_exceptiontable else []


class _Handler:
    """Follows one handler to where it raises again, or to its normal end."""

    def __init__(
        self,
        frame: FrameType,
        error: BaseException,
        steps: dict[int, dis.Instruction],
        offsets: list[int],
        table: list[Any],
    ) -> None:
        self.frame = frame
        self.error = error
        self.steps = steps
        self.offsets = offsets
        self.table = table

    def after(self, offset: int) -> int | None:
        """The next instruction in the code."""
        from bisect import bisect_right

        index = bisect_right(self.offsets, offset)
        return self.offsets[index] if index < len(self.offsets) else None

    def outcome(self, target: int) -> int | None:
        """Where it raises again; ``None`` when it may end normally."""
        if self.steps[target].opname != "PUSH_EXC_INFO":
            return self._to_reraise(target)
        following = self._next(target)
        if self.steps[following].opname == "WITH_EXCEPT_START":
            return None if self._suppressed(target) else self._to_reraise(following)
        return self._clauses(following)

    def _next(self, offset: int) -> int:
        """The next instruction, where the bytecode always has one."""
        following = self.after(offset)
        assert following is not None
        return following

    def _to_reraise(self, offset: int) -> int | None:
        """The first ``RERAISE`` from here on, jumps not taken: for clean-up code."""
        at: int | None = offset
        while at is not None:
            if self.steps[at].opname in ("RERAISE", "CLEANUP_THROW"):
                return at
            at = self.after(at)
        return None

    def _clauses(self, offset: int) -> int | None:
        """The ``except`` clauses that begin here, one after another, or a ``finally``."""
        at = offset
        while True:
            test = self._test(at)
            if test is None:
                return self._body(at)
            if self.steps[test].opname == "CHECK_EG_MATCH":
                return self._group(at)
            jump = self._next(test)
            if self._matches(list(self._between(at, test))):
                following = self.after(jump)
                return None if following is None else self._body(following)
            at = cast("int", self.steps[jump].argval)
            if self.steps[at].opname == "RERAISE":
                return at

    def _group(self, offset: int) -> int | None:
        """The ``except*`` clauses that begin here: together they must take every part."""
        rest: BaseException | None = self.error
        loads: list[dis.Instruction] = []
        at: int | None = offset
        while at is not None:
            step = self.steps[at]
            if step.opname == "CHECK_EG_MATCH":
                expected = _evaluated(self.frame, loads)
                if expected is _UNKNOWN:
                    return None
                rest = _without(rest, expected)
                if rest is None:
                    return None
            if step.opname.startswith(_LOADS) or step.opname in ("LOAD_ATTR", "BUILD_TUPLE"):
                loads.append(step)
            elif step.opname == "RERAISE":
                return at
            else:
                loads.clear()
            at = self.after(at)
        return None

    def _test(self, offset: int) -> int | None:
        """The check of an ``except Class`` clause that begins here; ``None`` when it is none."""
        at: int | None = offset
        while at is not None:
            name = self.steps[at].opname
            if name in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH"):
                return at
            if name in ("POP_TOP", "POP_EXCEPT", "RERAISE", "RAISE_VARARGS") or name.startswith(
                ("STORE_", "RETURN_", "JUMP_", "POP_JUMP", "FOR_ITER", "PUSH_EXC_INFO")
            ):
                return None
            at = self.after(at)
        return None

    def _body(self, offset: int) -> int | None:
        """Follow normal flow: ``None`` when some way leaves the handler without raising again."""
        seen: set[int] = set()
        ways: list[int] = [offset]
        raised: int | None = None
        while ways:
            at = ways.pop()
            if at in seen or at not in self.steps:
                continue
            seen.add(at)
            step = self.steps[at]
            name = step.opname
            if name == "POP_EXCEPT":
                return None
            if name == "RERAISE" or (name == "RAISE_VARARGS" and not step.arg):
                raised = at
                continue
            if name == "RAISE_VARARGS" or name.startswith("RETURN_"):
                return None  # another exception takes its place, or it is dropped
            if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
                ways.append(cast("int", step.argval))
                if name.startswith("JUMP_"):
                    continue
            following = self.after(at)
            if following is not None:
                ways.append(following)
        return raised

    def _matches(self, loads: list[dis.Instruction]) -> bool:
        expected = _evaluated(self.frame, loads)
        if expected is _UNKNOWN:
            return True
        try:
            return isinstance(self.error, expected)
        except TypeError:
            return False  # Python will complain about the clause itself

    def _between(self, start: int, end: int) -> Iterator[dis.Instruction]:
        at: int | None = start
        while at is not None and at < end:
            yield self.steps[at]
            at = self.after(at)

    def _suppressed(self, target: int) -> bool:
        """Whether the ``with`` of this handler is a ``suppress`` that takes the error."""
        first = min(item.start for item in self.table if item.target == target)
        positions = None
        before: dis.Instruction | None = None
        for offset in self.offsets:
            if offset >= first:
                break
            step = self.steps[offset]
            if step.opname == "BEFORE_WITH" and before is not None:
                # What stands before it gives the manager, and has its expression's place.
                positions = before.positions
            before = step
        if positions is None:
            return False
        expression = _text_at(self.frame.f_code.co_filename, positions)
        if expression is None:
            return False
        return _suppresses(self.frame, expression, self.error)


def _without(error: BaseException, expected: Any) -> BaseException | None:
    """What ``except* expected`` leaves of an error."""
    known: Any = error
    try:
        if isinstance(known, BaseExceptionGroup):
            return cast("Any", known).split(expected)[1]
        return None if isinstance(error, expected) else error
    except TypeError:
        return error


def _evaluated(frame: FrameType, steps: list[dis.Instruction]) -> Any:
    """The value that plain loads give, :data:`_UNKNOWN` for anything that would run code."""
    stack: list[Any] = []
    for step in steps:
        name = step.opname
        if name in ("CACHE", "NOP", "PUSH_NULL", "EXTENDED_ARG"):
            continue
        if name == "LOAD_CONST":
            stack.append(step.argval)
        elif name.startswith(_LOADS):
            stack.append(_variable(frame, str(step.argval)))
        elif name == "LOAD_ATTR" and stack:
            stack.append(_attribute(stack.pop(), str(step.argval)))
        elif name == "BUILD_TUPLE" and step.arg is not None and len(stack) >= step.arg:
            items = stack[len(stack) - step.arg :]
            del stack[len(stack) - step.arg :]
            stack.append(_UNKNOWN if _UNKNOWN in items else tuple(items))
        else:
            return _UNKNOWN
    return stack[-1] if stack else _UNKNOWN


def _variable(frame: FrameType, name: str) -> Any:
    names = frame.f_locals
    if name in names:
        return names[name]
    try:
        return frame.f_globals[name]
    except KeyError:
        return getattr(builtins, name, _UNKNOWN)


def _attribute(value: Any, name: str) -> Any:
    if value is _UNKNOWN:
        return _UNKNOWN
    import inspect

    # Without running properties or ``__getattr__`` of the program.
    return inspect.getattr_static(value, name, _UNKNOWN)


def _text_at(filename: str, positions: dis.Positions) -> ast.expr | None:
    if positions.lineno is None or positions.end_lineno is None:
        return None
    lines = [
        linecache.getline(filename, number).encode("utf-8", "surrogatepass")
        for number in range(positions.lineno, positions.end_lineno + 1)
    ]
    if not lines:
        return None
    lines[-1] = lines[-1][: positions.end_col_offset]
    lines[0] = lines[0][positions.col_offset :]
    try:
        text = b"".join(lines).decode("utf-8", "surrogatepass")
        return ast.parse(f"({text})", silent_name(text), "eval").body
    except (SyntaxError, ValueError):
        return None


def _suppresses(frame: FrameType, expression: ast.expr, error: BaseException) -> bool:
    if isinstance(expression, ast.Call):
        if _named(frame, expression.func) is not contextlib.suppress or expression.keywords:
            return False
        classes = tuple(_named(frame, item) for item in expression.args)
    else:
        value = _named(frame, expression)
        if type(value) is not contextlib.suppress:
            return False
        classes = cast("tuple[Any, ...]", getattr(value, "_exceptions", ()))
    try:
        return isinstance(error, classes)
    except TypeError:
        return False


def _named(frame: FrameType, expression: ast.expr) -> Any:
    """The value of a name or of attributes of one."""
    if isinstance(expression, ast.Name):
        return _variable(frame, expression.id)
    if isinstance(expression, ast.Attribute):
        return _attribute(_named(frame, expression.value), expression.attr)
    return _UNKNOWN


__all__ = ["announce", "first_seen", "frame_catches", "will_be_caught"]
