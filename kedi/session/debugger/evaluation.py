"""Evaluating in a debugged program: in the frame of a stopped thread, or in an idle session.

Both may run anything: procedures, models, writes. They run on the program's own thread, where
breakpoints inside what they call stop, nested in the stop they were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any

from kedi.errors import KediExecutionError
from kedi.runtime.blocks import Unwinding
from kedi.runtime.scopes import Scope, dict_get, dict_set, new_scope, own_keys
from kedi.session.debugger.plain import Refused
from kedi.session.debugger.price import price
from kedi.session.debugger.pure import look
from kedi.session.debugger.snippets import Snippet, debug_name, prepare
from kedi.session.debugger.texts import Text, TextKind, classify, classify_value

if TYPE_CHECKING:
    from kedi.runtime.frames import RunFrame
    from kedi.runtime.interpreter import Interpreter
    from kedi.session.debugger.debugger import Debugger
    from kedi.session.debugger.threads import DebugThread
    from kedi.session.session import InteractiveSession


def in_frame(debugger: Debugger, thread: DebugThread, frame: RunFrame, text: str) -> Any:
    """Evaluate ``text`` in the scope of a frame of a stopped thread, which must be this thread.

    Kedi statements, values and Python work as :mod:`kedi.session.debugger.texts` says; what they
    define and write stays. Gives the value of a return or an expression, else ``None``. The frame
    itself stays where it was.

    Raises :class:`kedi.errors.KediError` with the frames of what ran, and exits as they are.
    """
    found = classify(text, name := debug_name())
    scope = scope_of(thread, frame)
    snippet = prepare(frame.interpreter, found, name, frame.unit.directory, scope)
    return _run(debugger, thread, snippet, scope)


def in_python(
    debugger: Debugger, thread: DebugThread, frame: RunFrame, python: FrameType, text: str
) -> Any:
    """Evaluate ``text`` where a Python function stands: its local names come first.

    ``frame`` is the Kedi frame that called it. Local names can be read, and written where the
    function has them already; new names vanish.
    """
    found = classify(text, name := debug_name())
    around: Any = python.f_globals
    parent = around if isinstance(around, Scope) else _module_scope(around)
    scope = new_scope(parent, "branch")
    before = dict(python.f_locals) if python.f_locals is not python.f_globals else {}
    for key, value in before.items():
        dict_set(scope, key, value)
    snippet = prepare(frame.interpreter, found, name, frame.unit.directory, scope)
    try:
        return _run(debugger, thread, snippet, scope)
    finally:
        _write_locals(python, before, {key: dict_get(scope, key) for key in own_keys(scope)})


def in_session(debugger: Debugger, session: InteractiveSession, text: str) -> Any:
    """Run ``text`` as a fragment of an idle session; this is the session's thread.

    Python is made a fragment of: an expression a return, statements a fence that begins it, so
    that the names they bind stay. Gives and raises what :meth:`InteractiveSession.execute` does.
    """
    found = classify(text)
    match found.kind:
        case "nothing":
            return None
        case "expression":
            return session.execute(as_fragment(found.source))
        case "suite":
            return session.execute(f"```\n{found.source}\n```")
        case "value":
            return session.execute(_returned(found))
        case _:
            # What is wrong is told by the session, in its words.
            return session.execute(found.given)


def without_effect(
    interpreter: Interpreter,
    scope: Scope,
    text: str,
    variables: Mapping[str, Any] | None = None,
) -> Any:
    """The value of ``text`` by reading alone, for watches and hovers.

    Raises :class:`Refused` with the reason and the price of what more would be needed, and what
    :func:`kedi.session.debugger.pure.look` raises.
    """
    try:
        return look(text, scope, variables)
    except Refused as refused:
        cost = price(interpreter, text, scope)
        if cost is None or cost == refused.reason:
            raise
        raise Refused(cost) from refused


def scope_of(thread: DebugThread, frame: RunFrame) -> Scope:
    """The innermost scope of a frame of a stopped thread."""
    for stop in reversed(thread.stops):
        if stop.frame is frame:
            return stop.scope
    return frame.scope


def as_fragment(expression: str) -> str:
    """A fragment that returns the value of a Python expression."""
    if "`" in expression or "\n" in expression or "#" in expression or "\\" in expression:
        return f"= ```\nreturn (\n{expression}\n)\n```"
    return f"= `{expression}`"


def _returned(text: Text) -> str:
    """A fragment for a value; a sole ``<name>`` gives the object rather than its text."""
    name = text.source[1:-1].strip()
    if text.source[0] == "<" and name.isidentifier():
        return as_fragment(name)
    return text.source if text.source.startswith("=") else f"= {text.source}"


def _run(debugger: Debugger, thread: DebugThread, snippet: Snippet, scope: Scope) -> Any:
    with debugger.evaluating(thread):
        try:
            return snippet.run(scope)
        except Unwinding:
            raise KediExecutionError(
                "a frame outside of the evaluation cannot be restarted or left from within it",
                hint="let the evaluation end first",
            ) from None


def _module_scope(names: dict[str, Any]) -> Scope:
    """A scope with the globals of a Python module, as they are now."""
    scope = new_scope(None, "module")
    for key, value in list(names.items()):
        dict_set(scope, key, value)
    return scope


def _write_locals(python: FrameType, before: dict[str, Any], after: dict[str, Any]) -> None:
    changed = {key: after[key] for key in before if key in after and after[key] is not before[key]}
    if not changed:
        return
    python.f_locals.update(changed)
    try:
        import ctypes

        # Before Python 3.13 ``f_locals`` is a copy, which this stores.
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(python), ctypes.c_int(0))
    except (AttributeError, ImportError):
        pass


__all__ = [
    "Refused",
    "TextKind",
    "as_fragment",
    "classify",
    "classify_value",
    "in_frame",
    "in_python",
    "in_session",
    "scope_of",
    "without_effect",
]
