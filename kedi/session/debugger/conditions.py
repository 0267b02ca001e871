"""Conditions, hit counts and log messages of breakpoints, compiled once and checked often."""

from __future__ import annotations

import keyword
import operator
import re
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from kedi.errors import KediError, KediParseError
from kedi.runtime.frames import RunFrame, Unit
from kedi.runtime.pycode import Piece, looks_up_by_name, own_locals, reaches_globals
from kedi.runtime.python import Run
from kedi.runtime.scopes import Scope
from kedi.runtime.text import described
from kedi.session.debugger.snippets import expression_site, runner
from kedi.session.debugger.texts import Text, classify_value
from kedi.source import SourceFile

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

Condition = Callable[[RunFrame, Scope], bool]
Message = Callable[[RunFrame, Scope], str]


def condition(text: str) -> Condition:
    """Whether ``text`` holds in a scope, by the truth of its value as Python has it.

    ``text`` is a Python expression, a value in backticks or ``<…>``, or ``= value``. Calling the
    result raises whatever evaluating it raises. Raises :class:`kedi.errors.KediParseError` at
    once for what is no expression.
    """
    found = _value(text, "<condition>")
    code = _plain_code(found, "<condition>")
    if code is not None:
        plain = code

        def holds(frame: RunFrame, scope: Scope) -> bool:
            return True if FunctionType(plain, scope)() else False  # noqa: SIM210

        return holds
    run = _general(found, "<condition>")
    return lambda frame, scope: bool(run(frame, scope))


def log_message(text: str) -> Message:
    """The text of a log point: ``{expression}`` parts are replaced by their values' texts.

    ``{{`` and ``}}`` are braces; ``{value!r}`` and ``{value:>8}`` work as in Python. What a part
    raises stands in its place, as ``<ValueError: …>``. Raises
    :class:`kedi.errors.KediParseError` at once for a part that is no expression.
    """
    pieces = [piece if isinstance(piece, str) else _shown(piece) for piece in _split(text)]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        whole = "".join(texts)
        return lambda frame, scope: whole

    def message(frame: RunFrame, scope: Scope) -> str:
        return "".join(
            [piece if isinstance(piece, str) else piece(frame, scope) for piece in pieces]
        )

    return message


def hit_condition(text: str) -> Callable[[int], bool]:
    """Whether a count of hits, from 1, stops: ``5``, ``== 5``, ``>= 5``, ``> 5``, ``% 5``, ``< 5``.

    ``5`` is ``== 5``; ``% 5`` stops at every fifth. Raises :class:`ValueError` for anything else.
    """
    found = _HIT.fullmatch(text)
    if found is None:
        raise ValueError(
            f"`{text.strip()[:60]}` is no hit count: write a number, "
            "or one behind `==`, `>=`, `>`, `<=`, `<` or `%`"
        )
    number = int(found[2])
    if found[1] == "%":
        if not number:
            raise ValueError("`% 0` is no hit count: every how many hits shall it stop?")
        return lambda count: count % number == 0
    compare = _COMPARE[found[1] or "=="]
    return lambda count: compare(count, number)


_HIT = re.compile(r"\s*(==|=|>=|>|<=|<|%)?\s*([0-9]{1,18})\s*")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


# ── expressions ───────────────────────────────────────────────────────────────


def _value(text: str, name: str) -> Text:
    found = _read_as_python(classify_value(text, name))
    if found.kind == "nothing":
        raise _refusal("expected-value", "the expression is empty", text, 0, name)
    if found.kind in ("incomplete", "invalid"):
        raise found.refuse()
    return found


_READ = re.compile(r"<\s*([A-Za-z_][A-Za-z0-9_]*)\s*>")


def _read_as_python(text: Text) -> Text:
    """``<name>`` as the Python expression that gives the same, which is faster."""
    found = _READ.fullmatch(text.source) if text.kind == "value" else None
    if found is None or keyword.iskeyword(found[1]):
        return text
    return Text("expression", text.given, found[1], text.start + found.start(1))


def _plain_code(text: Text, name: str) -> CodeType | None:
    """Code that can run with a scope as its globals as it is; ``None`` for what needs more."""
    if text.kind != "expression":
        return None
    unit = Unit(SourceFile(name, text.given), "fragment", "")
    site, node = expression_site(unit, text)
    code = Piece.of_python(unit, site.stmt, node, 0).without_warnings().function()
    if own_locals(code) or looks_up_by_name(code) or reaches_globals(code):
        return None
    return code


def _runner(text: Text, name: str) -> Run:
    code = _plain_code(text, name)
    if code is None:
        return _general(text, name)
    plain = code
    return lambda frame, scope: FunctionType(plain, scope)()


def _general(text: Text, name: str) -> Run:
    """Runs a value that needs the interpreter, for which it is compiled when it first runs."""
    known: WeakKeyDictionary[Interpreter, Run] = WeakKeyDictionary()

    def run(frame: RunFrame, scope: Scope) -> Any:
        interpreter = frame.interpreter
        found = known.get(interpreter)
        if found is None:
            found = known[interpreter] = runner(interpreter, text, name, frame.unit.directory)
        return found(frame, scope)

    return run


# ── log messages ──────────────────────────────────────────────────────────────


class _Part(NamedTuple):
    """An expression in a message, with its conversion and format as an f-string has them."""

    text: Text
    conversion: str
    format: str


_TAIL = re.compile(r"(.*?)(?:!([rsa]))?(?::([^{}]*))?", re.DOTALL)
_MESSAGE = "<log message>"


def _split(message: str) -> list[str | _Part]:
    pieces: list[str | _Part] = []
    literal: list[str] = []
    at = 0
    while at < len(message):
        char = message[at]
        if char in "{}" and message.startswith(char * 2, at):
            literal.append(char)
            at += 2
        elif char == "{":
            part, at = _part(message, at)
            pieces += ["".join(literal), part]
            literal.clear()
        else:
            literal.append(char)
            at += 1
    pieces.append("".join(literal))
    return [piece for piece in pieces if piece != ""]


def _part(message: str, opening: int) -> tuple[_Part, int]:
    """The part that begins at a brace, and where the text after it begins.

    It ends at the first brace that makes it an expression, so that it may hold dicts and texts
    with braces.
    """
    first: KediParseError | None = None
    end = opening
    for _ in range(_MAX_BRACES):
        end = message.find("}", end + 1)
        if end < 0:
            break
        inner = message[opening + 1 : end]
        found = _read_as_python(classify_value(inner, _MESSAGE))
        if found.kind in ("expression", "value"):
            return _Part(found, "", ""), end + 1
        tail = _TAIL.fullmatch(inner)
        if tail is not None and (tail[2] or tail[3]):
            shorter = _read_as_python(classify_value(tail[1], _MESSAGE))
            if shorter.kind in ("expression", "value"):
                return _Part(shorter, tail[2] or "", tail[3] or ""), end + 1
        if first is None:
            first = (
                _refusal("expected-value", "nothing stands in the braces", message, opening)
                if found.kind == "nothing"
                else found.refuse()
            )
    raise first or _refusal("unclosed-brace", "the brace is not closed", message, opening)


_MAX_BRACES = 50


def _refusal(code: str, problem: str, text: str, at: int, name: str = _MESSAGE) -> KediParseError:
    from kedi.diagnostics import Diagnostic
    from kedi.source import Span, split_lines

    before = split_lines(text[:at])
    line, column = len(before), len(before[-1]) + 1
    hint = "write `{{` for a brace" if name == _MESSAGE else "write an expression, such as `x > 3`"
    source_line = split_lines(text)[line - 1]
    span = Span(name, line, column, line, column + 1)
    return KediParseError([Diagnostic(code, problem, span, hint=hint, source_line=source_line)])


def _shown(part: _Part) -> Message:
    run = _runner(part.text, _MESSAGE)
    convert = _CONVERSIONS[part.conversion]
    spec = part.format

    def show(frame: RunFrame, scope: Scope) -> str:
        try:
            value = run(frame, scope)
            if convert is not None:
                value = convert(value)
            return format(value, spec) if spec else str(value)
        except KeyboardInterrupt:
            raise
        except KediError as error:
            return f"<{type(error).__name__}: {error.message}>"
        except Exception as error:
            return f"<{described(error)}>"

    return show


_CONVERSIONS: dict[str, Callable[[Any], str] | None] = {
    "": None,
    "s": str,
    "r": cast("Callable[[Any], str]", repr),
    "a": ascii,
}

__all__ = ["Condition", "Message", "condition", "hit_condition", "log_message"]
