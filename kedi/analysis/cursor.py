"""What is being typed at the end of a text: the one judgement behind every completion.

Works on any text, whole or broken. The parser places the line in its block;
its inside is scanned by the rules of the language: escapes, substitutions,
nested calls, fields, backticks and fences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kedi.syntax import parse
from kedi.syntax.ast import Program, Stmt
from kedi.syntax.directives import DIRECTIVES, DirectiveSpec, FieldSpec, Place

CursorKind = Literal[
    "nothing",
    "statement",
    "directive",
    "value",
    "setting",
    "setting-value",
    "list",
    "module",
    "name",
    "argument",
    "target",
    "type",
    "suite",
    "python",
]


@dataclass(frozen=True, slots=True)
class Cursor:
    """What stands before a cursor.

    ``prefix`` is the part of a word that is there already. Further, by ``kind``:

    - ``statement``: the beginning of a line, ``code`` is all of it;
    - ``directive``: a name after ``>``; ``place`` says where the line stands and
      ``before`` is the statement in front of it;
    - ``value`` of the directive ``spec``; ``setting`` of its block; ``setting-value`` of ``field``;
    - ``list``: a line of names in the block of ``spec``, of the module ``owner`` for an import;
    - ``module``: a module path; ``name``: ``<prefix``; ``target``: ``[prefix``;
    - ``argument``: of a call of ``owner`` in text, the ``index``-th from 0;
    - ``type``: ``code`` is the type so far; ``suite``: the procedure of ``@test:`` or ``@eval:``;
    - ``python``: ``code`` is the embedded Python so far, a ``suite`` when it is a fence.

    ``line`` and ``column`` (0-based) are the place in ``program``, the text as it was parsed.
    """

    kind: CursorKind
    prefix: str = ""
    code: str = ""
    spec: DirectiveSpec | None = None
    field: FieldSpec | None = None
    owner: str = ""
    index: int = 0
    suite: bool = False
    place: Place = "fragment"
    before: Stmt | None = None
    program: Program | None = None
    line: int = 0
    column: int = 0


NOTHING = Cursor("nothing")

_MOST = 400_000
"""Characters before the cursor that are looked at; the beginning of a longer text is left out."""

_WORD = re.compile(r"[^\W\d]\w*\Z|\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def last_word(text: str) -> str:
    """The identifier, or part of one, at the end of ``text``; empty when none stands there."""
    end = len(text)
    start = end
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    while start < end and text[start].isdecimal():
        return ""
    return text[start:end]


def cursor_at(
    before: str, *, mode: Literal["file", "fragment"] = "fragment", previous: Program | None = None
) -> Cursor:
    """What is being typed at the end of ``before``, the text in front of a cursor.

    ``previous`` is the ``program`` of an earlier answer for a similar text. Never raises.
    """
    text = _shortened(before).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    newline = text.rfind("\n")
    # A blank line belongs to no statement: something has to stand there to place it.
    blank = not text[newline + 1 :].strip(" \t")
    program = parse(text + "_" if blank else text, mode=mode, previous=previous).program
    line = text.count("\n")
    column = len(text) - newline - 1
    path, sibling = _path(program)
    if not path:
        return Cursor("nothing", program=program, line=line, column=column)
    current = path[-1]
    body = current.text.removesuffix("_") if blank else current.text
    found = _Reader(path[:-1], sibling, mode).read(body)
    return _placed(found, program, line, column)


def _placed(found: Cursor, program: Program, line: int, column: int) -> Cursor:
    from dataclasses import replace

    return replace(found, program=program, line=line, column=column)


def _shortened(text: str) -> str:
    if len(text) <= _MOST:
        return text
    cut = text.find("\n", len(text) - _MOST)
    return text[cut + 1 :] if cut >= 0 else text[-_MOST:]


def _path(program: Program) -> tuple[list[Stmt], Stmt | None]:
    """The statement that the text ends in with those around it, and the one before it."""
    size = len(program.source.text)
    if not program.chunks:
        return [], None
    chunk, offset = program.chunks[-1], program.offsets[-1]
    stmt = chunk.stmt
    if stmt is None:
        return [], None
    path = [stmt]
    sibling = _sibling_before(program)
    while path[-1].body:
        inner = path[-1].body
        path.append(inner[-1])
        sibling = inner[-2] if len(inner) > 1 else None
    last = path[-1]
    if offset + last.offset + len(last.text) < size:
        return [], None
    return path, sibling


def _sibling_before(program: Program) -> Stmt | None:
    for chunk in reversed(program.chunks[:-1]):
        if chunk.stmt is not None:
            return chunk.stmt
    return None


# ── one logical line ──────────────────────────────────────────────────────────

_HEAD = re.compile(r">[ \t]*([A-Za-z_][A-Za-z0-9_]*)?")
_LOOP = re.compile(r">[ \t]*loop[ \t]*\[[^\]\n]*(\][ \t]*(:)?)?")
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*:[ \t]*")
_SUITE = re.compile(r"@[ \t]*(?:test|eval)[ \t]*:[ \t]*([A-Za-z_][A-Za-z0-9_]*)?\Z")
_SUITE_START = re.compile(r"@[ \t]*(?:test|eval)[ \t]*:")
_TARGET = re.compile(r"\[[ \t]*(?:[A-Za-z_][A-Za-z0-9_]*)?\Z")
_TARGET_TYPE = re.compile(r"\[[ \t]*[A-Za-z_][A-Za-z0-9_]*[ \t]*:[ \t]*")
_OPERATOR = re.compile(r"[ \t]*(:?=|<<)")
_FENCE_VALUE = re.compile(r"[ \t]*```[^\n`]*\n")
_PATH = re.compile(r"[ \t]*([\w./-]*)\Z")


class _Reader:
    """Judges one logical line by the blocks around it."""

    def __init__(
        self, around: list[Stmt], before: Stmt | None, mode: Literal["file", "fragment"]
    ) -> None:
        self.around = around
        self.before = before
        self.mode: Literal["file", "fragment"] = mode

    def read(self, text: str) -> Cursor:
        line = text.lstrip(" \t")
        parent = self.around[-1] if self.around else None
        owner = _header_name(parent)
        spec = DIRECTIVES.get(owner) if owner else None
        if spec is not None and parent is not None:
            block = self._in_block(line, spec, parent)
            if block is not None:
                return block
        first = line[:1]
        if line.startswith(">>"):
            return scan(line[2:])
        if first == ">":
            return self._directive(line)
        if first == "@":
            return _suite(line) or _header(line)
        if first == "~" and not line.startswith("~~"):
            return _header(line)
        if first == "=":
            return _value(line[1:])
        if first == "[":
            return _target(line)
        if first == "`":
            return _fence(line) if line.startswith("```") else scan(line)
        if first == "#":
            return NOTHING
        return Cursor("statement", last_word(line), line, place=self._place(), before=self.before)

    def _place(self) -> Place:
        """Where a line in this block stands."""
        kinds = [_block_kind(item) for item in self.around]
        if not kinds:
            return "fragment" if self.mode == "fragment" else "top"
        if kinds[-1] == "profile":
            return "profile"
        if kinds[-1] in ("test", "eval"):
            return "test" if kinds[-1] == "test" else "eval"
        if "procedure" in kinds:
            return "procedure" if kinds[-1] == "procedure" else "inner"
        return "block"

    # ── directives and their blocks ──────────────────────────────────────────

    def _directive(self, line: str) -> Cursor:
        loop = _LOOP.match(line)
        if loop:
            return scan(line[loop.end() :]) if loop[2] else NOTHING
        head = _HEAD.match(line)
        assert head
        name = head[1] or ""
        rest = line[head.end() :]
        if not rest and (name or line[-1] in "> \t"):
            place = self._place()
            return Cursor("directive", name, place=place, before=self.before)
        spec = DIRECTIVES.get(name)
        colon = re.match(r"[ \t]*:", rest)
        if spec is None or colon is None:
            return NOTHING
        value = rest[colon.end() :]
        if spec.form == "path":
            match = _PATH.match(value)
            return Cursor("module", match[1], spec=spec) if match else NOTHING
        if spec.form == "type":
            return _type(value)
        if spec.form in ("condition", "text", "names"):
            return _plain_or(scan(value), Cursor("value", value.strip(), spec=spec))
        return NOTHING

    def _in_block(self, line: str, spec: DirectiveSpec, parent: Stmt) -> Cursor | None:
        if spec.body == "settings" or (spec.name == "agent" and parent.body):
            setting = _SETTING.match(line)
            if setting is None:
                word = re.fullmatch(r"[A-Za-z0-9_]*", line)
                return Cursor("setting", line, spec=spec) if word else NOTHING
            value = line[setting.end() :]
            fields = [item for item in spec.fields if item.name == setting[1]]
            inner = Cursor(
                "setting-value", value.strip(), spec=spec, field=fields[0] if fields else None
            )
            return _plain_or(scan(value), inner)
        if spec.body == "names" and not line.startswith(">"):
            if line.startswith("`"):
                return scan(line)
            word = re.fullmatch(r"\w*", line)
            owner = _import_path(parent) if spec.name == "import" else ""
            return Cursor("list", line, spec=spec, owner=owner) if word else NOTHING
        if spec.body == "prose":
            return scan(line)
        return None


def _plain_or(scanned: Cursor, plain: Cursor) -> Cursor:
    """What the scan found inside a value, or the value itself when it is plain text."""
    return plain if scanned.kind == "nothing" and "#" not in plain.prefix else scanned


def _header_name(stmt: Stmt | None) -> str:
    if stmt is None:
        return ""
    head = _HEAD.match(stmt.text.lstrip(" \t"))
    return (head[1] or "") if head else ""


def _block_kind(stmt: Stmt) -> str:
    text = stmt.text.lstrip(" \t")
    if text.startswith("@"):
        suite = re.match(r"@[ \t]*(test|eval)[ \t]*:", text)
        return suite[1] if suite else "procedure"
    return "profile" if _header_name(stmt) == "profile" else "block"


def _import_path(stmt: Stmt) -> str:
    match = re.match(r"\s*>[ \t]*import[ \t]*:[ \t]*([^\s:#]*)", stmt.text)
    return match[1] if match else ""


# ── the other forms ───────────────────────────────────────────────────────────


def _suite(line: str) -> Cursor | None:
    match = _SUITE.match(line)
    if match:
        return Cursor("suite", match[1] or "")
    return NOTHING if _SUITE_START.match(line) else None


def _fence(line: str) -> Cursor:
    """A fence that may still be open: the code after its first line."""
    first, newline, code = line.partition("\n")
    if not newline or first.count("```") > 1 or re.search(r"^[ \t]*```", code, re.MULTILINE):
        return NOTHING
    return Cursor("python", last_word(code), code, suite=True)


def _value(rest: str) -> Cursor:
    """What stands right of ``=``, ``:=`` or ``<<``."""
    if _FENCE_VALUE.match(rest):
        return _fence(rest.lstrip(" \t"))
    return NOTHING if rest.strip(" \t") == "```" else scan(rest)


def _target(line: str) -> Cursor:
    if _TARGET.match(line):
        return Cursor("target", last_word(line))
    typed = _TARGET_TYPE.match(line)
    if typed:
        end = _type_end(line, typed.end())
        if end is None:
            return _type(line[typed.end() :])
    else:
        end = line.find("]")
        if end < 0:
            return NOTHING
    operator = _OPERATOR.match(line, end + 1)
    return _value(line[operator.end() :]) if operator else NOTHING


def _type_end(line: str, at: int) -> int | None:
    """Index of the ``]`` that closes a typed target, ``None`` while it is open."""
    depth = 0
    while at < len(line):
        char = line[at]
        if char in "\"'`":
            close = line.find(char, at + 1)
            if close < 0:
                return None
            at = close
        elif char in "[(":
            depth += 1
        elif char in "])":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return None


def _type(code: str) -> Cursor:
    """A type being written; in backticks it is Python."""
    stripped = code.lstrip(" \t\n")
    if stripped.startswith("`"):
        return scan(stripped)
    quotes = re.sub(r"\"[^\"\n]*\"|'[^'\n]*'", "", stripped)
    if '"' in quotes or "'" in quotes:
        return NOTHING
    return Cursor("type", last_word(stripped), stripped)


def _header(line: str) -> Cursor:
    """``@name(parameters) -> type`` or ``~Name(fields)``: types after ``:`` and ``->``."""
    opened = line.find("(")
    if opened < 0:
        return NOTHING
    at = begin = opened + 1
    depth = 0
    while at < len(line):
        char = line[at]
        if char == "`":
            close = line.find("`", at + 1)
            if close < 0:
                return scan(line[at:])
            at = close
        elif char in "\"'":
            close = line.find(char, at + 1)
            if close < 0:
                return NOTHING
            at = close
        elif char == "#":
            newline = line.find("\n", at)
            if newline < 0:
                return NOTHING
            at = newline
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0 and char == ")":
                return _returns(line[at + 1 :])
            depth = max(0, depth - 1)
        elif char == "," and depth == 0:
            begin = at + 1
        at += 1
    name, colon, rest = line[begin:].partition(":")
    return _type(rest) if colon and "=" not in rest and "=" not in name else NOTHING


def _returns(rest: str) -> Cursor:
    match = re.match(r"[ \t]*->[ \t]*", rest)
    if match is None:
        return NOTHING
    code = rest[match.end() :]
    if code.startswith("`") and code.find("`", 1) > 0:
        return NOTHING
    return NOTHING if ":" in code else _type(code)


# ── text with substitutions ───────────────────────────────────────────────────


def scan(text: str) -> Cursor:
    """The innermost construct that is open at the end of a text with substitutions.

    ``nothing`` when the end is plain text.
    """
    stack: list[tuple[str, str, int]] = []  # (what, name or "", argument index or start)
    at = 0
    size = len(text)
    while at < size:
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == "`":
            close = text.find("`", at + 1)
            if close < 0:
                code = text[at + 1 :]
                return Cursor("python", last_word(code), code)
            at = close + 1
            continue
        if char == "#":
            newline = text.find("\n", at)
            if newline < 0:
                return NOTHING
            at = newline
        elif char == "<":
            match = _NAME.match(text, at + 1)
            end = match.end() if match else at + 1
            if end == size:
                return Cursor("name", text[at + 1 :])
            if match and text[end] == "(":
                stack.append(("call", match[0], 0))
                at = end
            elif match and text[end] == ">":
                at = end
        elif char == "[":
            what = "bracket" if stack and stack[-1][0] in ("type", "bracket") else "field"
            stack.append((what, "", at + 1))
        elif char == "]":
            if stack and stack[-1][0] in ("field", "type", "bracket"):
                stack.pop()
        elif char == ":" and stack and stack[-1][0] == "field":
            stack[-1] = ("type", "", at + 1)
        elif char == "," and stack and stack[-1][0] == "call":
            stack[-1] = ("call", stack[-1][1], stack[-1][2] + 1)
        elif char == ")" and stack and stack[-1][0] == "call":
            stack.pop()
        elif char == "\n" and stack and stack[-1][0] != "call":
            # Neither a field nor its type goes over lines.
            while stack and stack[-1][0] != "call":
                stack.pop()
        at += 1
    return _innermost(text, stack)


def _innermost(text: str, stack: list[tuple[str, str, int]]) -> Cursor:
    while stack and stack[-1][0] == "bracket":
        stack.pop()
    if not stack:
        return NOTHING
    what, name, number = stack[-1]
    if what == "type":
        return _type(text[number:])
    if what == "call":
        return Cursor("argument", owner=name, index=number)
    return NOTHING


__all__ = ["NOTHING", "Cursor", "CursorKind", "cursor_at", "last_word", "scan"]
