"""Values: what stands right of ``=`` and in arguments, compiled to closures.

Two worlds meet here. A *native* value is the Python object itself. A
*rendered* value is text: literal parts and ``str()`` of what the substitutions
give, joined. Which one a value is, is decided by its form alone, when it is
compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kedi.errors import KediNameError, KediTypeExecutionError
from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.python import Run, python_runner
from kedi.runtime.scopes import BUILTIN_NAMES, MISSING, Scope, dict_get
from kedi.runtime.text import nearest
from kedi.syntax import ast as syntax

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

Render = Callable[[RunFrame, Scope], str]


def value_runner(interpreter: Interpreter, site: Site, value: syntax.Value) -> Run:
    """The value of an assignment or argument: native where its form says so, else text."""
    match value.kind:
        case "native" | "fence":
            part = value.parts[0]
            assert isinstance(part, syntax.Python)
            return python_runner(interpreter, site.at(value), part)
        case "call":
            part = value.parts[0]
            assert isinstance(part, syntax.Call)
            return call_runner(interpreter, site, part)
        case "read":
            part = value.parts[0]
            assert isinstance(part, syntax.Read)
            return read_runner(site, part)
        case "text":
            return text_runner(interpreter, site, value.parts)


def return_runner(interpreter: Interpreter, site: Site, value: syntax.Value) -> Run:
    """The value of a return: like an assignment, but a sole ``<name>`` or ``<call()>`` renders."""
    if value.kind in ("read", "call"):
        return text_runner(interpreter, site, value.parts)
    return value_runner(interpreter, site, value)


def is_text(value: syntax.Value) -> bool:
    """Whether the value is rendered text when it is assigned."""
    return value.kind == "text"


def text_runner(interpreter: Interpreter, site: Site, parts: Sequence[syntax.Part]) -> Render:
    """Rendered text of parts, left to right; fields stand as ``[name]``."""
    if not parts:
        return lambda frame, scope: ""
    runners = [_part_runner(interpreter, site, part) for part in parts]
    if len(parts) == 1:
        first = parts[0]
        if isinstance(first, syntax.Text):
            text = first.text
            return lambda frame, scope: text
        run = runners[0]
        if isinstance(first, syntax.Field):
            return run
        return lambda frame, scope: rendered(run(frame, scope))
    if len(runners) == 2:
        one, two = runners
        return lambda frame, scope: rendered(one(frame, scope)) + rendered(two(frame, scope))

    def render(frame: RunFrame, scope: Scope) -> str:
        return "".join([rendered(run(frame, scope)) for run in runners])

    return render


def rendered(value: Any) -> str:
    """``str(value)`` as an exact ``str``."""
    return value if type(value) is str else str(value)


def _part_runner(interpreter: Interpreter, site: Site, part: syntax.Part) -> Run:
    match part:
        case syntax.Text():
            text = part.text
            return lambda frame, scope: text
        case syntax.Python():
            return python_runner(interpreter, site.at(part), part)
        case syntax.Read():
            return read_runner(site, part)
        case syntax.Call():
            return call_runner(interpreter, site, part)
        case syntax.Field():
            shown = f"[{part.name.text}]"
            return lambda frame, scope: shown


def read_runner(site: Site, part: syntax.Read) -> Run:
    """``<name>``: the bound object."""
    name = part.name.text

    def read(frame: RunFrame, scope: Scope) -> Any:
        value = dict_get(scope, name, MISSING)
        if value is MISSING:
            value = scope.lookup(name)
            if value is MISSING:
                raise unknown_name(scope, name)
        return value

    return read


def unknown_name(scope: Scope, name: str, hint: str | None = None) -> KediNameError:
    """The error for a name that nothing visible binds, with a near one."""
    visible = [key for part in scope.chain() for key in part.own_names()]
    guess = nearest(name, visible)
    if guess is not None and name not in BUILTIN_NAMES:
        hint = f"did you mean `{guess}`?"
    error = KediNameError(f"name `{name}` is not defined", hint=hint)
    error.name = name
    return error


def _calling(name: str) -> str:
    if name in BUILTIN_NAMES:
        return f"`{name}` is a function of Python: call it in backticks, such as `{name}(…)`"
    return "define a procedure with `@`, or import it first"


def _argument_runner(interpreter: Interpreter, site: Site, value: syntax.Value) -> Run:
    if any(isinstance(part, syntax.Field) for part in value.parts):
        from kedi.runtime.models import structured_runner

        return structured_runner(interpreter, site.at(value, "template", ">>"), value.parts)
    return value_runner(interpreter, site, value)


def call_runner(interpreter: Interpreter, site: Site, part: syntax.Call) -> Run:
    """``<name(arguments)>``: arguments left to right, then one call."""
    name = part.name.text
    arguments = [_argument_runner(interpreter, site, item) for item in part.arguments]

    def call(frame: RunFrame, scope: Scope) -> Any:
        target = scope.lookup(name)
        if target is MISSING:
            raise unknown_name(scope, name, _calling(name))
        if not callable(target):
            raise KediTypeExecutionError(
                f"`{name}` is {type(target).__name__}, not a procedure",
                hint=f"read its value with `<{name}>`",
            )
        if not arguments:
            return target()
        return target(*[run(frame, scope) for run in arguments])

    return call
