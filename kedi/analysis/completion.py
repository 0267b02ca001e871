"""What may be typed at a position, and which parameter is being typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kedi.analysis.calls import parameters_of
from kedi.analysis.describe import parameter_text
from kedi.analysis.directive_values import CAPABILITIES, FRAMEWORKS, HARNESSES
from kedi.analysis.names import Kind, ModuleProblem
from kedi.analysis.queries import describe
from kedi.analysis.symbols import Declaration, LocalScope
from kedi.analysis.types import BUILTIN_TYPES
from kedi.analysis.view import Analysis
from kedi.syntax.ast import Directive, Export, Import, Stmt, TypeDef
from kedi.syntax.directives import DIRECTIVES, FieldSpec

CandidateKind = Literal[
    "value",
    "parameter",
    "procedure",
    "type",
    "profile",
    "python",
    "module",
    "field",
    "directive",
    "setting",
    "word",
    "path",
]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One completion. ``prefix`` characters before the cursor are what it replaces."""

    label: str
    kind: CandidateKind
    prefix: int
    detail: str = ""
    documentation: str = ""


@dataclass(frozen=True, slots=True)
class SignatureHelp:
    """The call around a position. ``active`` is the index of the parameter being typed."""

    label: str
    parameters: tuple[str, ...]
    active: int
    documentation: str = ""


ContextKind = Literal[
    "none",
    "directive",
    "directive-value",
    "setting",
    "setting-value",
    "list",
    "name",
    "python",
    "type",
    "path",
    "suite",
    "attribute",
]


@dataclass(frozen=True, slots=True)
class Context:
    """What kind of thing is being typed. ``owner`` is the directive or the object's name."""

    kind: ContextKind
    word: str
    owner: str = ""
    setting: str = ""


_DIRECTIVE = re.compile(r"\s*>\s*([A-Za-z_]*)$")
_VALUE = re.compile(r"\s*>\s*([A-Za-z_]+)\s*:\s*(.*)$")
_SETTING_VALUE = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*([\w-]*)$")
_WORD = re.compile(r"\s*([A-Za-z_]\w*|)$")
_SUITE = re.compile(r"\s*@\s*(?:test|eval)\s*:\s*(\w*)$")
_LAST = re.compile(r"\w*$")
_ATTRIBUTE = re.compile(r"([A-Za-z_]\w*)\.(\w*)$")
_TYPED = re.compile(r"\[\s*[A-Za-z_]\w*\s*:[^\]`]*$")
_HEADER = re.compile(r"\s*(@|~)\s*[A-Za-z_]\w*\s*\(")


def context_at(analysis: Analysis, line: int, column: int) -> Context:
    """What is being typed at a position, judged by the line before it and the blocks around."""
    text = analysis.line_index.line_text(line)[:column]
    index = analysis.chunk_at(line)
    if index >= 0 and _in_fence(analysis, index, line):
        return _python(text)
    if text.count("`") % 2:
        return _python(text[text.rfind("`") + 1 :])
    word = _LAST.search(text)
    last = word.group() if word else ""
    if match := _DIRECTIVE.fullmatch(text):
        return Context("directive", match[1])
    if match := _SUITE.fullmatch(text):
        return Context("suite", match[1])
    owner = _block_owner(analysis, index, line, len(text) - len(text.lstrip()))
    if owner is not None:
        block = _block_context(text, owner)
        if block is not None:
            return block
    if match := _VALUE.fullmatch(text):
        name, value = match[1], match[2]
        if name == "import":
            return Context("path", value)
        spec = DIRECTIVES.get(name)
        if spec is not None and spec.form in ("text", "names", "type") and "<" not in value:
            kind: ContextKind = "type" if spec.form == "type" else "directive-value"
            return Context(kind, last, name)
    if _TYPED.search(text) or _in_header_type(text):
        return Context("type", last)
    opened = text.rfind("<")
    if opened > text.rfind(">") and re.fullmatch(r"<\w*", text[opened:]):
        return Context("name", last)
    if re.fullmatch(r"\s*\[\w*", text):
        return Context("name", last)
    return Context("none", last)


def _python(code: str) -> Context:
    if match := _ATTRIBUTE.search(code):
        return Context("attribute", match[2], match[1])
    word = _LAST.search(code)
    return Context("python", word.group() if word else "")


def _in_header_type(text: str) -> bool:
    if _HEADER.match(text) is None:
        return False
    if re.search(r"\)\s*->\s*[^:]*$", text):
        return True
    inner = text[text.index("(") + 1 :]
    depth = 0
    start = 0
    for at, char in enumerate(inner):
        if char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        elif char == "," and depth == 0:
            start = at + 1
    piece = inner[start:]
    return ":" in piece and "=" not in piece


def _in_fence(analysis: Analysis, index: int, line: int) -> bool:
    """Whether a line stands between the fences of embedded Python."""
    base = analysis.program.lines[index]
    inside = False
    for at, text in enumerate(analysis.program.chunks[index].text.split("\n")):
        if base + at >= line:
            break
        if text.lstrip(" \t").startswith("```") or (not inside and re.search(r"=\s*```", text)):
            inside = not inside
    return inside


def _block_owner(analysis: Analysis, index: int, line: int, indent: int) -> Stmt | None:
    """The directive whose block a line of some indentation stands in."""
    if index < 0 or indent == 0:
        return None
    stmt = analysis.facts[index].stmt
    relative = line - analysis.program.lines[index]
    if stmt is None or stmt.line > relative:
        # A line of blanks behind a block belongs to the chunk after it.
        if index == 0:
            return None
        relative = line - analysis.program.lines[index - 1]
        stmt = analysis.facts[index - 1].stmt
    owner: Stmt | None = None
    while stmt is not None:
        if stmt.line < relative and stmt.node.start < indent:
            owner = stmt
        before = [item for item in stmt.body if item.line < relative]
        stmt = before[-1] if before else None
    if owner is not None and isinstance(owner.node, Directive | Import | Export):
        return owner
    return None


def _block_context(text: str, owner: Stmt) -> Context | None:
    node = owner.node
    if isinstance(node, Import | Export):
        match = _WORD.fullmatch(text)
        name = node.path.text if isinstance(node, Import) else ""
        word = "import" if isinstance(node, Import) else "export"
        return Context("list", match[1], word, name) if match else None
    assert isinstance(node, Directive)
    spec = DIRECTIVES.get(node.name.text)
    if spec is None:
        return None
    if spec.body == "names" and (match := _WORD.fullmatch(text)):
        return Context("list", match[1], spec.name)
    if spec.body == "settings":
        if match := _WORD.fullmatch(text):
            return Context("setting", match[1], spec.name)
        if match := _SETTING_VALUE.fullmatch(text):
            return Context("setting-value", match[2], spec.name, match[1])
    return None


# ── Completion ────────────────────────────────────────────────────────────────


def complete(
    analysis: Analysis, line: int, column: int, modules: Iterable[str] = ()
) -> list[Candidate]:
    """What may be typed at a position, nearest scope first. ``modules`` are known module paths."""
    context = context_at(analysis, line, column)
    size = len(context.word)
    found: list[Candidate] = []
    if context.kind == "directive":
        found = [
            Candidate(spec.name, "directive", size, spec.summary) for spec in DIRECTIVES.values()
        ]
    elif context.kind == "path":
        found = [Candidate(path, "path", size) for path in modules]
    elif context.kind == "setting":
        spec = DIRECTIVES[context.owner]
        found = [Candidate(item.name, "setting", size, item.summary) for item in spec.fields]
    elif context.kind in ("setting-value", "directive-value"):
        found = list(_values(analysis, context, line, column))
    elif context.kind == "list":
        found = list(_listed(analysis, context, line))
    elif context.kind == "suite":
        found = _by_kind(analysis, line, column, size, "procedure")
    elif context.kind == "type":
        found = _by_kind(analysis, line, column, size, "type", "python", "module")
        found += [Candidate(name, "type", size, "built-in type") for name in _sorted_types()]
    elif context.kind == "attribute":
        found = list(_fields(analysis, context, line, column))
    elif context.kind in ("name", "python"):
        found = _by_kind(analysis, line, column, size)
    word = context.word.lower()
    return [item for item in found if item.label.lower().startswith(word)]


def _sorted_types() -> list[str]:
    return sorted(BUILTIN_TYPES, key=str.lower)


def visible(analysis: Analysis, line: int, column: int) -> Iterator[Declaration]:
    """Declarations that can be read at a position, nearest first, each name once."""
    index = analysis.chunk_at(line)
    seen: set[str] = set()
    late = False
    if index >= 0:
        relative = line - analysis.program.lines[index]
        scope = scope_at(analysis, index, relative, column)
        for inner in scope.chain():
            if inner.kind == "top":
                break
            for name, items in inner.names.items():
                before = [item for item in items if item.place.line < relative]
                if name not in seen and (before or late):
                    seen.add(name)
                    yield (before or items)[-1]
            late = late or inner.late
    for name in analysis.top_names():
        if name not in seen:
            found = analysis.lookup_top(name, index, late)
            if found is not None:
                seen.add(name)
                yield found[0]


def scope_at(analysis: Analysis, index: int, line: int, column: int) -> LocalScope:
    """The innermost scope of a chunk at a relative line; indentation decides behind its end."""
    facts = analysis.facts[index]
    text = analysis.line_index.line_text(line + analysis.program.lines[index])
    indent = min(len(text) - len(text.lstrip()), column)
    best = facts.top
    for scope in facts.scopes[1:]:
        if scope.line < line and scope.indent < indent and line <= scope.end_line + 1:
            best = scope
    return best


def _by_kind(
    analysis: Analysis, line: int, column: int, size: int, *kinds: Kind
) -> list[Candidate]:
    found = [
        Candidate(item.name, item.kind, size, describe(item), item.docstring)
        for item in visible(analysis, line, column)
        if not kinds or item.kind in kinds
    ]
    known = {item.label for item in found}
    for name in analysis.names.all_names():
        if name not in known:
            kind = analysis.names.kind_of(name)
            if kind is not None and (not kinds or kind in kinds):
                known.add(name)
                found.append(Candidate(name, kind, size))
    return found


def _values(analysis: Analysis, context: Context, line: int, column: int) -> Iterator[Candidate]:
    size = len(context.word)
    spec = DIRECTIVES[context.owner]
    if context.kind == "directive-value":
        if spec.name in ("adapter", "agent"):
            names = FRAMEWORKS if spec.name == "adapter" else HARNESSES
            yield from (Candidate(name, "word", size) for name in names)
        elif spec.name == "use":
            yield from _by_kind(analysis, line, column, size, "procedure", "profile", "python")
            yield Candidate("skills", "word", size)
        elif spec.name == "subagent":
            yield from _by_kind(analysis, line, column, size, "profile")
        elif spec.name == "requires":
            yield from (Candidate(name, "word", size) for name in CAPABILITIES)
        else:
            yield from _words(FieldSpec(spec.name, spec.value, spec.words), size)
        return
    for item in spec.fields:
        if item.name == context.setting:
            yield from _words(item, size)


def _words(item: FieldSpec, size: int) -> Iterator[Candidate]:
    words = item.words
    if not words and item.kind == "flag":
        words = ("enabled", "disabled", "true", "false")
    yield from (Candidate(word, "word", size, item.summary) for word in words)


def _listed(analysis: Analysis, context: Context, line: int) -> Iterator[Candidate]:
    size = len(context.word)
    if context.owner == "import":
        try:
            exports = analysis.names.module_exports(context.setting)
        except ModuleProblem:
            return
        for name, item in exports.names.items():
            yield Candidate(name, item.kind, size, item.detail, item.docstring)
    elif context.owner == "export":
        for name in analysis.top_names():
            found = analysis.lookup_top(name, analysis.chunk_at(line), True)
            if found is not None:
                yield Candidate(name, found[0].kind, size, describe(found[0]))
    elif context.owner == "requires":
        yield from (Candidate(name, "word", size) for name in CAPABILITIES)
    else:
        yield from _by_kind(analysis, line, 0, size, "procedure", "python")


def _fields(analysis: Analysis, context: Context, line: int, column: int) -> Iterator[Candidate]:
    item = next((it for it in visible(analysis, line, column) if it.name == context.owner), None)
    if item is None or not item.type:
        return
    index = analysis.chunk_at(line)
    target = analysis.lookup_top(item.type.split("[")[0].strip(), index, True)
    if target is None or not isinstance(target[0].node, TypeDef):
        return
    for field in target[0].node.fields:
        yield Candidate(field.name.text, "field", len(context.word), parameter_text(field))


# ── Signatures ────────────────────────────────────────────────────────────────


def signature_help(analysis: Analysis, line: int, column: int) -> SignatureHelp | None:
    """The procedure or type whose arguments are being typed at a position."""
    index = analysis.chunk_at(line)
    if index < 0:
        return None
    first = max(analysis.program.lines[index], line - _MAX_LINES)
    lines = [analysis.line_index.line_text(at) for at in range(first, line)]
    text = "\n".join([*lines, analysis.line_index.line_text(line)[:column]])
    python = context_at(analysis, line, column).kind in ("python", "attribute")
    call = _open_call(text, python)
    if call is None:
        return None
    name, position, keyword = call
    item = next((it for it in visible(analysis, line, column) if it.name == name), None)
    parameters = parameters_of(item) if item is not None else None
    if item is None or parameters is None:
        return None
    names = [parameter.name.text for parameter in parameters]
    active = names.index(keyword) if keyword in names else position
    return SignatureHelp(
        item.detail,
        tuple(parameter_text(parameter) for parameter in parameters),
        min(active, max(len(names) - 1, 0)),
        item.docstring,
    )


_MAX_LINES = 40
_CALLEE = re.compile(r"(?<![\w.@~])([A-Za-z_]\w*)$")
_STRING = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)""")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)")


def _open_call(text: str, python: bool) -> tuple[str, int, str] | None:
    """``(name, arguments before the cursor, keyword)`` of the innermost open call of ``text``.

    Quotes hide commas and brackets in Python; in Kedi text they are plain characters.
    """
    stack: list[tuple[int, int, int]] = []
    commas = 0
    begin = 0
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if python and char in "\"'" and (match := _STRING.match(text, at)):
            at = match.end()
            continue
        if char in "([{":
            stack.append((at, commas, begin))
            commas, begin = 0, at + 1
        elif char in ")]}" and stack:
            _, commas, begin = stack.pop()
        elif char == "," and stack:
            commas += 1
            begin = at + 1
        at += 1
    while stack:
        opened, outer_commas, outer_begin = stack.pop()
        match = _CALLEE.search(text[max(0, opened - 200) : opened])
        if text[opened] == "(" and match is not None:
            keyword = _KEYWORD.match(text[begin:])
            return match[1], commas, keyword[1] if keyword else ""
        commas, begin = outer_commas, outer_begin
    return None
