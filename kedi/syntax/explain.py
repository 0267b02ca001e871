"""Say what is wrong where no terminal fits."""

from __future__ import annotations

import re
from collections.abc import Collection

from kedi.syntax.embedded import depth_after
from kedi.syntax.faults import Fault

_word = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
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
_HEADERS = {"procedure", "type_def"}


def explain(rule: str, text: str, at: int, accepted: Collection[str]) -> Fault:
    """The fault at ``at``, where one of ``accepted`` should stand."""
    rest = text[at : at + 2]
    if not _TEXT.isdisjoint(accepted):
        return _in_text(rule, text, at, "ARGUMENT_TEXT" in accepted)
    if "EQ" in accepted:
        return not_a_statement(text, at)
    if rest[:1] == "`":
        return _backtick(text, at)
    if not rest:
        return _at_end(rule, text, at, accepted)
    if "NAME" in accepted and (rest[0].isdigit() or rest[0].isidentifier()):
        return _bad_name(text, at)
    if "FIELD_END" in accepted:
        return Fault(
            "unclosed-field",
            "this field is not closed: `]` is missing",
            max(text.rfind("[", 0, at), 0),
            at,
            "a field reads [name] or [name: type]",
        )
    end = _chunk_end(text, at)
    wanted = _list(accepted)
    hint = None
    if rule == "procedure":
        hint = "a procedure reads @name(parameter: type) -> type:"
    elif rule == "type_def":
        hint = "a type reads ~Name(field: type)"
    elif rule == "python_statement":
        return Fault(
            "bare-prose",
            "a line that starts with a backtick holds one Python statement and nothing else",
            at,
            len(text),
            "start a template with `>>`, or a return with `=`",
        )
    elif rule == "import_":
        hint = "an import reads `> import: folder/module`"
    elif rule == "loop_each":
        hint = "a loop reads > loop [item]: `iterable`:"
    return Fault("unexpected-text", f"expected {wanted} here", at, end, hint)


def not_a_statement(text: str, at: int) -> Fault:
    """A line of prose where a statement should stand."""
    start = len(text) - len(text.lstrip(" \t"))
    char = text[start : start + 1]
    if char and not char.isprintable() and char not in "\t":
        message = f"this line starts with the character U+{ord(char):04X}"
        return Fault("bare-prose", message, start, start + 1, "indent with spaces, or remove it")
    if char.isspace() and char not in " \t":
        message = f"this line is indented with the character U+{ord(char):04X}"
        return Fault("bare-prose", message, start, start + 1, "indent with spaces")
    return Fault(
        "bare-prose",
        "this line is not a statement",
        start,
        len(text.rstrip(" \t")),
        "start a template with `>>`",
    )


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
        return Fault(
            "invalid-substitution",
            "`<` starts a substitution, but no name follows",
            at,
            at + 1,
            hint,
        )
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
            r"write \( and \) for parentheses inside an argument",
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


def _field(text: str, at: int) -> Fault:
    hint = r"write \[ for a literal bracket"
    match = re.compile(r"\[[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*").match(text, at)
    if match is None:
        inner = re.compile(r"\[[ \t]*([^\]\n]*)").match(text, at)
        word = inner[1].strip() if inner else ""
        if not word:
            return Fault(
                "invalid-field", "`[` starts a field, but no name follows", at, at + 1, hint
            )
        end = inner.end() if inner else at + 1
        if text.startswith("]", end):
            end += 1
        return Fault("invalid-field", "`[` starts a field, and a field needs a name", at, end, hint)
    end = match.end()
    if text[end : end + 1] in ("", "\n", "#"):
        return Fault("unclosed-field", "this field is not closed: `]` is missing", at, end, hint)
    return Fault(
        "invalid-field",
        f"after the name of a field comes `]` or `:`, not `{text[end]}`",
        at,
        end + 1,
        hint,
    )


def _at_end(rule: str, text: str, at: int, accepted: Collection[str]) -> Fault:
    start = len(text) - len(text.lstrip(" \t"))
    end = len(text.rstrip(" \t\n"))
    if "FIELD_END" in accepted or "TYPE" in accepted and rule == "binding":
        opening = max(text.rfind("[", 0, end), 0)
        return Fault("unclosed-field", "this field is not closed: `]` is missing", opening, end)
    if rule in _HEADERS and text.find("(") >= 0:
        if accepted != {"$END"} and depth_after(text) > 0:
            opening = text.find("(")
            return Fault(
                "unclosed-parenthesis",
                "this parenthesis is not closed",
                opening,
                opening + 1,
                "add `)`",
                open=True,
            )
    if "COLON" in accepted:
        return Fault(
            "missing-colon", "this header must end in `:`", end, end, "add a colon at the end"
        )
    return Fault("unexpected-end", f"expected {_list(accepted)} here", max(end - 1, start), end)


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
