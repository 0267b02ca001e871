"""Say what is wrong where no terminal fits."""

from __future__ import annotations

import re
from collections.abc import Collection

from kedi.syntax.embedded import depth_after
from kedi.syntax.faults import Fault

_word = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_assignment = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*(?::[^=\n]*)?:?=(?!=)")
_python_line = re.compile(r"(?:def|class|import|from|print)\b[ \t(]")
_field_name = re.compile(r"\[[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*")
_typed_field = re.compile(r"\[[ \t]*[A-Za-z_][A-Za-z0-9_]*[ \t]*:")
_type_outside = re.compile(r"\[[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\][ \t]*:[ \t]*([A-Za-z_]\w*)")
_field_like = re.compile(r"\[[ \t]*([^\]\n:]*)[^\]\n]*\]?[ \t]*(:?=|<<)?")
_TEXT = {"TEXT", "ARGUMENT_TEXT"}
_SHOWN = {
    "NAME": "a name",
    "PATH": "a module path",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "COLON": "`:`",
    "COMMA": "`,`",
    "ARROW": "`->`",
    "ASSIGN": "`=`",
    "EQ": "`=`",
    "WALRUS": "`:=`",
    "RAW": "`<<`",
    "PYTHON": "inline Python",
    "TYPE": "a type",
    "FIELD_END": "`]`",
    "CALL_END": "`)>`",
    "LOOP_EACH_END": "`]:`",
    "STAR": "`*`",
    "HEADER_END": "`:`",
    "$END": "the end of the line",
}
_FORMS = {
    "procedure": "a procedure reads @name(parameter: type) -> type:",
    "type_def": "a type reads ~Name(field: type)",
    "import_": "an import reads `> import: folder/module`",
    "loop_each": "a loop reads > loop [item]: `iterable`:",
    "metric": "a metric reads `> metric: name(dataset):`",
    "suite": "a suite reads `@test: procedure:`",
}
_HEADERS = {"procedure", "type_def"}


def explain(rule: str, text: str, at: int, accepted: Collection[str]) -> Fault:
    """The fault at ``at``, where one of ``accepted`` should stand."""
    rest = text[at : at + 2]
    if not _TEXT.isdisjoint(accepted):
        return _in_text(rule, text, at, "ARGUMENT_TEXT" in accepted)
    if "EQ" in accepted:
        return not_a_statement(text, at)
    if "FIELD" in accepted:
        return _target(text, at)
    if rest[:1] == "`":
        return _backtick(text, at)
    if not rest:
        return _at_end(rule, text, at, accepted)
    if "NAME" in accepted and (rest[0].isdigit() or rest[0].isidentifier()):
        return _bad_name(text, at)
    if "FIELD_END" in accepted:
        return _unclosed_field(text, at)
    end = _chunk_end(text, at)
    wanted = _list(accepted)
    if rule == "python_statement":
        return Fault(
            "bare-prose",
            "a line that starts with a backtick holds one Python statement and nothing else",
            at,
            len(text),
            "start a template with `>>`, or a return with `=`",
        )
    if rule == "name_line":
        start = _indent(text)
        stop = len(text.rstrip(" \t"))
        return Fault("invalid-name", "one name is expected on this line", start, stop)
    return Fault("unexpected-text", f"expected {wanted} here", at, end, _advice(rule, accepted))


def _advice(rule: str, accepted: Collection[str]) -> str | None:
    if "TYPE" in accepted:
        return "a type reads int, list[str], or any Python in backticks"
    return _FORMS.get(rule)


def not_a_statement(text: str, at: int) -> Fault:
    """A line of prose where a statement should stand."""
    start = _indent(text)
    char = text[start : start + 1]
    if char and not char.isprintable() and char not in "\t":
        message = f"this line starts with the character U+{ord(char):04X}"
        return Fault("bare-prose", message, start, start + 1, "indent with spaces, or remove it")
    if char.isspace() and char not in " \t":
        message = f"this line is indented with the character U+{ord(char):04X}"
        return Fault("bare-prose", message, start, start + 1, "indent with spaces")
    hint = "start a template with `>>`"
    if match := _assignment.match(text, start):
        hint = f"did you mean `[{match[1]}] = …`? Or {hint}"
    elif match := _type_outside.match(text, start):
        hint = f"a type stands inside the brackets: [{match[1]}: {match[2]}] = …; or {hint}"
    elif match := _python_line.match(text, start):
        hint = f"put Python in backticks or in a fence, or {hint}"
    return Fault("bare-prose", "this line is not a statement", start, len(text.rstrip(" \t")), hint)


def _in_text(rule: str, text: str, at: int, in_argument: bool) -> Fault:
    char = text[at : at + 1]
    if char == "\\":
        return _backslash(rule, text, at)
    if char == "`":
        return _backtick(text, at)
    if char == "<":
        return _substitution(text, at)
    if char == "[":
        return _field(text, at)
    if in_argument:
        return _call(text, at)
    if char == "\n":
        return Fault("unexpected-text", "a line break cannot stand here", at, at + 1)
    return Fault("unexpected-text", "this cannot stand here", at, at + 1)


def _backslash(rule: str, text: str, at: int) -> Fault:
    following = text[at + 1 : at + 2]
    if not text[at + 1 :].strip(" \t") or following == "\n":
        if rule == "return_":
            return Fault(
                "open-return",
                "this return goes on after its backslash, but nothing follows",
                at,
                at + 1,
                r"write the next line, or \\ for a backslash",
                open=True,
            )
        return Fault(
            "trailing-backslash",
            "only a return goes on after a backslash",
            at,
            at + 1,
            r"write \\ for a backslash",
        )
    return Fault(
        "unknown-escape",
        f"\\{following} is not an escape",
        at,
        at + 2,
        r"write \\ for a backslash; escapes are \< \> \[ \] \( \) \= \@ \, \# \~ \` \\ \t \n \s",
    )


def _backtick(text: str, at: int) -> Fault:
    line_end = text.find("\n", at)
    line_end = len(text) if line_end < 0 else line_end
    if text.startswith("```", at):
        return Fault(
            "fence-not-alone",
            "a fence stands alone on its line, or after `=` or `:=`",
            at,
            at + 3,
            "use single backticks for one expression",
        )
    if text.startswith("``", at):
        return Fault("empty-python", "nothing stands between these backticks", at, at + 2)
    hint = r"add the closing backtick, or write \` for a literal one"
    if depth_after(text[at + 1 : line_end]) > 0:
        hint = "close its brackets, then add the closing backtick"
    return Fault(
        "unclosed-python", "this inline Python is not closed", at, line_end, hint, open=True
    )


def _substitution(text: str, at: int) -> Fault:
    hint = r"write \< for a literal one"
    if text.startswith("<`", at):
        close = text.find("`", at + 2)
        if close < 0 or "\n" in text[at:close]:
            return _backtick(text, at + 1)
        if close == at + 2:
            return Fault("empty-python", "nothing stands between these backticks", at + 1, at + 3)
        return Fault(
            "unclosed-substitution",
            "this substitution is not closed: `>` is missing after the backtick",
            at,
            close + 1,
        )
    match = _word.match(text, at + 1)
    if match is None:
        following = text[at + 1 : at + 2]
        if following.isidentifier() or following.isdigit():
            return _bad_name(text, at + 1)
        message = "`<` starts a substitution, but no name follows"
        return Fault("invalid-substitution", message, at, at + 1, hint)
    end = match.end()
    if text.startswith("(", end):
        return _call(text, end + 1)
    if text[end : end + 1] in ("", " ", "\t", "#", "\n"):
        message = f"this substitution is not closed: `>` is missing after `{match[0]}`"
        return Fault("unclosed-substitution", message, at, end, hint)
    if text[end] not in ">":
        stop = _chunk_end(text, end)
        if text[end].isidentifier():
            return Fault(
                "invalid-name", "a name is made of ASCII letters, digits and _", at + 1, stop
            )
        return Fault(
            "invalid-substitution",
            f"only a name or a call can stand between < and >, not `{text[end]}`",
            at,
            end + 1,
            f"use backticks for Python: <`{match[0]}…`>",
        )
    return Fault("unclosed-substitution", "this substitution is not closed", at, end, hint)


def _call(text: str, at: int) -> Fault:
    if text.startswith(")", at):
        return Fault(
            "unclosed-call",
            "a call closes with `)>`, but this `)` has no `>` after it",
            at,
            at + 1,
            r"add `>`, or write \( and \) for parentheses inside an argument",
        )
    opening = text.rfind("<", 0, at)
    match = _word.match(text, opening + 1)
    name = match[0] if match else "…"
    return Fault(
        "unclosed-call",
        f"the call of `{name}` is not closed: `)>` is missing",
        max(opening, 0),
        min(at, len(text)),
        r"write \< for a literal <",
    )


def _target(text: str, at: int) -> Fault:
    """What is wrong with the ``[name]`` that a line starts with."""
    match = _field_like.match(text, at)
    is_statement = match is not None and match[2] is not None
    if not is_statement and not _field_name.match(text, at):
        return not_a_statement(text, at)
    return _field(text, at)


def _field(text: str, at: int) -> Fault:
    hint = r"write \[ for a literal bracket"
    match = _field_name.match(text, at)
    if match is None:
        like = _field_like.match(text, at)
        word = like[1].rstrip(" \t") if like else ""
        if not word or like is None:
            message = "`[` starts a field, but no name follows"
            return Fault("invalid-field", message, at, at + 1, hint)
        start = like.start(1)
        message = f"`[` starts a field, but `{word[:40]}` is not a name"
        return Fault("invalid-name", message, start, start + len(word), hint)
    end = match.end()
    if text[end : end + 1] in ("", "\n", "#", "="):
        return Fault("unclosed-field", "this field is not closed: `]` is missing", at, end, hint)
    return Fault(
        "invalid-field",
        f"after the name of a field comes `]` or `:`, not `{text[end]}`",
        at,
        end + 1,
        hint,
    )


def _unclosed_field(text: str, at: int) -> Fault:
    openings = [match.start() for match in _typed_field.finditer(text, 0, at)]
    return Fault(
        "unclosed-field",
        "this field is not closed: `]` is missing",
        openings[-1] if openings else at,
        at,
        "a field reads [name] or [name: type]",
    )


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))


def _at_end(rule: str, text: str, at: int, accepted: Collection[str]) -> Fault:
    start = _indent(text)
    end = len(text.rstrip(" \t\n"))
    if "FIELD_END" in accepted or ("TYPE" in accepted and rule == "binding"):
        return _unclosed_field(text, end)
    opening = text.find("(") if rule in _HEADERS else -1
    if opening >= 0 and depth_after(text) > 0:
        message = "this parenthesis is not closed"
        return Fault("unclosed-parenthesis", message, opening, opening + 1, "add `)`", open=True)
    if "COLON" in accepted:
        return Fault(
            "missing-colon", "this header must end in `:`", end, end, "add a colon at the end"
        )
    message = f"expected {_list(accepted)} here"
    return Fault("unexpected-end", message, max(end - 1, start), end, _advice(rule, accepted))


def _bad_name(text: str, at: int) -> Fault:
    end = _chunk_end(text, at)
    return Fault(
        "invalid-name",
        f"`{text[at:end]}` is not a name",
        at,
        end,
        "a name starts with an ASCII letter or _ and goes on with letters, digits and _",
    )


def _chunk_end(text: str, at: int) -> int:
    match = re.compile(r"\w+|.", re.DOTALL).match(text, at)
    return match.end() if match else at


def _list(accepted: Collection[str]) -> str:
    words = sorted({_SHOWN[name] for name in accepted if name in _SHOWN})
    if len(words) > 1:
        return ", ".join(words[:-1]) + " or " + words[-1]
    return words[0] if words else "something else"
