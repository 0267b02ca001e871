"""What a text typed into a debugger is: Kedi statements, a value, or Python.

The rules, in this order:

1. What the parser of the language takes as statements is Kedi: ``[x] = 1`` binds the text
   ``1``, ``= x`` is the text ``x``, ``>> …`` calls a model.
2. A sole piece in backticks, or ``<…>`` alone, is that value itself, not its text. ``<a.b>``
   reads attributes.
3. What Python takes as an expression is one, as if it stood in backticks: ``x``, ``f(1)``,
   ``a < b``, also over several lines.
4. What Python takes as statements runs as a fence that begins a fragment: ``x = 1`` and
   ``import json`` stay.
5. The rest is open (more lines would make it whole) or wrong.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Literal, NamedTuple

from kedi.diagnostics import Diagnostic
from kedi.errors import KediParseError
from kedi.source import Span
from kedi.syntax import ast as syntax
from kedi.syntax.embedded import silent_name
from kedi.syntax.parser import normalise, parse

#: ``kedi``: statements; ``value``: what a return accepts; ``expression`` and ``suite``: Python.
TextKind = Literal["nothing", "kedi", "value", "expression", "suite", "incomplete", "invalid"]

_PATH = re.compile(r"<\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)\s*>", re.ASCII)
#: Openings of the language's statements: what is wrong behind them is Kedi's to explain.
_MARKERS = ("@", "~", "=", "[", ">", "`", "<", "###")


class Text(NamedTuple):
    """A text and what it is.

    ``source`` is what is to be compiled: the text with one kind of line ends, of a value or an
    expression without what stands around it, which began at ``start`` in the normalised text
    ``given``. ``program`` is there for ``kedi``, ``diagnostics`` for ``incomplete`` and
    ``invalid``.
    """

    kind: TextKind
    given: str
    source: str
    start: int = 0
    program: syntax.Program | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    def refuse(self) -> KediParseError:
        """The error for a text that is open or wrong."""
        return KediParseError(self.diagnostics)


def classify(text: str, name: str = "<input>") -> Text:
    """What ``text`` is where statements are allowed. ``name`` is the source in diagnostics.

    Lines that are all indented, as when they were copied out of a block, lose that.
    """
    given = textwrap.dedent(normalise(text))
    if not given.strip():
        return Text("nothing", given, "")
    result = parse(given, name, mode="fragment")
    statements = [stmt for stmt, _ in result.program.top_level()]
    if result.status == "complete":
        if not statements:
            return Text("nothing", given, given)
        if len(statements) == 1 and isinstance(statements[0].node, syntax.PythonStatement):
            inner = statements[0].node.python
            if _parses(inner.code, "eval") is None:
                start = given.index("`") + 1
                code = inner.code.strip()
                return Text("expression", given, code, start + _lead(given[start:]))
        return Text("kedi", given, given, 0, result.program)
    # A statement that did parse says that the whole is meant as Kedi.
    if statements and all(isinstance(stmt.node, syntax.Broken) for stmt in statements):
        found = _value(given, name)
        if found is not None:
            return found
        fault = _parses(given, "exec")
        if fault is None:
            return Text("suite", given, given)
        may_be_open = result.status == "invalid" and not given.lstrip().startswith(_MARKERS)
        if may_be_open and _is_open(given):
            return Text("incomplete", given, given, 0, None, (_fault(given, fault, name),))
    kind: TextKind = "incomplete" if result.status == "incomplete" else "invalid"
    return Text(kind, given, given, 0, None, result.diagnostics)


def classify_value(text: str, name: str = "<input>") -> Text:
    """What ``text`` is where only a value can stand: a watch, a hover, a condition.

    ``= value`` and text with substitutions in it are rendered as a return is.
    """
    given = normalise(text)
    stripped = given.strip()
    if not stripped:
        return Text("nothing", given, "")
    if stripped.startswith("=") and not stripped.startswith("=="):
        return _checked(Text("value", given, stripped, _lead(given)), name)
    found = _value(given, name)
    if found is not None:
        return found
    if _is_backticked(stripped):
        return _checked(Text("value", given, stripped, _lead(given)), name)
    fault = _parses(stripped, "eval")
    assert fault is not None
    if "<" in stripped or "`" in stripped:
        rendered = _checked(Text("value", given, stripped, _lead(given)), name)
        if rendered.kind == "value" and _substitutes(rendered):
            return rendered
    kind: TextKind = "incomplete" if _is_open(stripped) else "invalid"
    return Text(kind, given, given, 0, None, (_fault(given, fault, name),))


def value_of(text: Text) -> syntax.Value | None:
    """The parsed value of a text of kind ``value``; ``None`` when it is more than one return."""
    source = text.source if text.source.startswith("=") else f"= {text.source}"
    result = parse(source, mode="fragment")
    statements = [stmt for stmt, _ in result.program.top_level()]
    if result.status == "complete" and len(statements) == 1:
        node = statements[0].node
        if isinstance(node, syntax.Return):
            return node.value
    return None


def _value(given: str, name: str) -> Text | None:
    """A sole ``<…>`` or a Python expression; ``None`` for what is neither."""
    stripped, start = given.strip(), _lead(given)
    path = _PATH.fullmatch(stripped)
    if path is not None:
        return Text("expression", given, path[1], start + path.start(1))
    if stripped.startswith("<") and stripped.endswith(">"):
        found = Text("value", given, stripped, start)
        value = value_of(found)
        return found if value is not None and value.kind in ("read", "call") else None
    if _parses(stripped, "eval") is None:
        return Text("expression", given, stripped, start)
    if _is_backticked(stripped):
        inner = stripped[1:-1]
        if _parses(inner, "eval") is None:
            return Text("expression", given, inner.strip(), start + 1 + _lead(inner))
    return None


def _is_backticked(text: str) -> bool:
    return len(text) > 2 and text[0] == text[-1] == "`" and text.count("`") == 2


def _substitutes(text: Text) -> bool:
    value = value_of(text)
    return value is not None and any(
        isinstance(part, (syntax.Read, syntax.Call, syntax.Python)) for part in value.parts
    )


def _checked(text: Text, name: str) -> Text:
    """A value as it is, or with what is wrong with it."""
    from kedi.session.expressions import as_return

    placed = as_return(text.given)
    result = parse(placed.text, name, mode="fragment")
    if result.status == "complete":
        if value_of(text) is not None:
            return text
        span = Span(name, 1, 1, 1, 2)
        message = "this is more than one value"
        wrong = Diagnostic("bare-prose", message, span, hint="give one expression or one `= value`")
        return Text("invalid", text.given, text.given, 0, None, (wrong,))
    moved = placed.moved(KediParseError(result.diagnostics), name)
    assert isinstance(moved, KediParseError)
    kind: TextKind = "incomplete" if result.status == "incomplete" else "invalid"
    return Text(kind, text.given, text.given, 0, None, tuple(moved.diagnostics))


def _parses(code: str, mode: Literal["eval", "exec"]) -> Exception | None:
    """Why Python does not take ``code``, ``None`` when it does."""
    try:
        if mode == "exec":
            compile(code, silent_name(code), "exec", dont_inherit=True)
            return None
        # An expression may go on over lines, as in a parenthesis.
        tree = ast.parse(f"({code}\n)", silent_name(code), "eval")
        if any(isinstance(item, _SUSPENDING) for item in ast.walk(tree)):
            return SyntaxError("`yield` and `await` are only allowed inside a `def`")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _own_fault(code, error) if mode == "eval" else error
    # `1) + (2` is none.
    return _balanced(code) if ")" in code else None


_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await)


def _balanced(code: str) -> Exception | None:
    try:
        ast.parse(f"[{code}\n]", silent_name(code), "eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error
    return None


def _own_fault(code: str, error: Exception) -> Exception:
    """What is wrong with an expression without the parenthesis around it."""
    try:
        ast.parse(code, silent_name(code), "eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as own:
        return own
    return error


def _is_open(code: str) -> bool:
    """Whether more lines of Python would make ``code`` whole."""
    import codeop
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return codeop.compile_command(code, "<input>", "exec") is None
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return False


def _fault(given: str, error: Exception, name: str) -> Diagnostic:
    """What Python says of a text, at its line and column of the text as given."""
    lines = given.split("\n")
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    if isinstance(error, (RecursionError, MemoryError)):
        message = "the code is nested too deeply"
    line, column = 1, 1
    if isinstance(error, SyntaxError) and error.lineno:
        lead = given[: _lead(given)]
        line = error.lineno + lead.count("\n")
        column = error.offset or 1
        if error.lineno == 1:
            column += len(lead.rpartition("\n")[2])
    line = min(line, len(lines))
    text = lines[line - 1]
    column = min(column, len(text) + 1)
    span = Span(name, line, column, line, column + 1)
    return Diagnostic("python-syntax", f"Python: {message}", span, source_line=text)


def _lead(text: str) -> int:
    return len(text) - len(text.lstrip())


__all__ = ["Text", "TextKind", "classify", "classify_value", "value_of"]
