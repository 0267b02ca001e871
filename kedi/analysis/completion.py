"""What may be typed at a position, and which parameter is being typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kedi.analysis.calls import parameters_of
from kedi.analysis.cursor import Cursor, cursor_at
from kedi.analysis.describe import parameter_text
from kedi.analysis.directive_values import CAPABILITIES, FRAMEWORKS, HARNESSES
from kedi.analysis.names import Kind, ModuleProblem
from kedi.analysis.queries import describe
from kedi.analysis.symbols import Declaration, LocalScope
from kedi.analysis.types import BUILTIN_TYPES, OLD_SPELLINGS
from kedi.analysis.view import Analysis
from kedi.syntax.ast import TypeDef
from kedi.syntax.directives import DIRECTIVES, DirectiveSpec, FieldSpec

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


# ── Completion ────────────────────────────────────────────────────────────────


def complete(
    analysis: Analysis, line: int, column: int, modules: Iterable[str] = ()
) -> list[Candidate]:
    """What may be typed at a position, nearest scope first. ``modules`` are known module paths."""
    cursor = _cursor(analysis, line, column)
    size = len(cursor.prefix)
    kind = cursor.kind
    found: Iterable[Candidate] = ()
    if kind == "directive":
        found = (
            Candidate(spec.name, "directive", size, spec.summary)
            for spec in DIRECTIVES.values()
            if cursor.place in spec.places
        )
    elif kind == "module":
        found = (Candidate(path, "path", size) for path in modules)
    elif kind == "setting" and cursor.spec is not None:
        found = (Candidate(it.name, "setting", size, it.summary) for it in cursor.spec.fields)
    elif kind == "setting-value" and cursor.field is not None:
        found = _words(cursor.field, size)
    elif kind == "value" and cursor.spec is not None:
        found = _values(analysis, cursor.spec, size, line, column)
    elif kind == "list" and cursor.spec is not None:
        found = _listed(analysis, cursor, line)
    elif kind == "suite":
        found = _by_kind(analysis, line, column, size, "procedure")
    elif kind == "type":
        found = _by_kind(analysis, line, column, size, "type", "python", "module")
        found += [Candidate(name, "type", size, "built-in type") for name in _sorted_types()]
    elif kind in ("name", "target"):
        found = _by_kind(analysis, line, column, size)
    elif kind == "python":
        attribute = _ATTRIBUTE.search(cursor.code[-_MAX_CODE:])
        if attribute is not None:
            found = _fields(analysis, attribute[1], size, line, column)
        else:
            found = _by_kind(analysis, line, column, size)
    word = cursor.prefix.lower()
    return [item for item in found if item.label.lower().startswith(word)]


_ATTRIBUTE = re.compile(r"(?<![\w.)\]])([A-Za-z_]\w*)\.\w*$")
_MAX_CODE = 4000


def _cursor(analysis: Analysis, line: int, column: int) -> Cursor:
    """What is being typed, by the text before the position."""
    end = analysis.line_index.offset(line, column)
    program = analysis.program
    return cursor_at(program.source.text[:end], mode=program.mode, previous=program)


def _sorted_types() -> list[str]:
    return sorted(BUILTIN_TYPES - OLD_SPELLINGS, key=str.lower)


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


def _values(
    analysis: Analysis, spec: DirectiveSpec, size: int, line: int, column: int
) -> Iterator[Candidate]:
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


def _words(item: FieldSpec, size: int) -> Iterator[Candidate]:
    words = item.words
    if not words and item.kind == "flag":
        words = ("enabled", "disabled", "true", "false")
    yield from (Candidate(word, "word", size, item.summary) for word in words)


def _listed(analysis: Analysis, cursor: Cursor, line: int) -> Iterator[Candidate]:
    size = len(cursor.prefix)
    name = cursor.spec.name if cursor.spec is not None else ""
    if name == "import":
        try:
            exports = analysis.names.module_exports(cursor.owner)
        except ModuleProblem:
            return
        for label, item in exports.names.items():
            yield Candidate(label, item.kind, size, item.detail, item.docstring)
    elif name == "export":
        for label in analysis.top_names():
            found = analysis.lookup_top(label, analysis.chunk_at(line), True)
            if found is not None:
                yield Candidate(label, found[0].kind, size, describe(found[0]))
    elif name == "requires":
        yield from (Candidate(label, "word", size) for label in CAPABILITIES)
    else:
        yield from _by_kind(analysis, line, 0, size, "procedure", "python")


def _fields(
    analysis: Analysis, owner: str, size: int, line: int, column: int
) -> Iterator[Candidate]:
    item = next((it for it in visible(analysis, line, column) if it.name == owner), None)
    if item is None or not item.type:
        return
    index = analysis.chunk_at(line)
    target = analysis.lookup_top(item.type.split("[")[0].strip(), index, True)
    if target is None or not isinstance(target[0].node, TypeDef):
        return
    for field in target[0].node.fields:
        yield Candidate(field.name.text, "field", size, parameter_text(field))


# ── Signatures ────────────────────────────────────────────────────────────────


def signature_help(analysis: Analysis, line: int, column: int) -> SignatureHelp | None:
    """The procedure or type whose arguments are being typed at a position."""
    cursor = _cursor(analysis, line, column)
    if cursor.kind == "argument":
        name, position, keyword = cursor.owner, cursor.index, ""
    elif cursor.kind == "python" and (call := _open_call(cursor.code[-_MAX_CODE:])) is not None:
        name, position, keyword = call
    else:
        return None
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


_CALLEE = re.compile(r"(?<![\w.@~])([A-Za-z_]\w*)$")
_STRING = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)""")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)")


def _open_call(text: str) -> tuple[str, int, str] | None:
    """``(name, arguments before the cursor, keyword)`` of the innermost open call of ``text``.

    Quoted texts hide commas and brackets.
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
        if char in "\"'" and (match := _STRING.match(text, at)):
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
