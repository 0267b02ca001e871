"""From one logical line to a node: what kind of line it is, and where it may stand.

A *context* says what the lines of a block are: a :data:`Place` of statements
and directives, or the lines of a directive's block (``names``,
``requirements``, ``prose``, ``settings`` and ``settings:NAME``). Lines are
remembered by context and text, so equal lines share one node.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kedi.syntax import ast, engine, pieces
from kedi.syntax.cache import TwoGenerations
from kedi.syntax.faults import Fault, nearest
from kedi.syntax.pieces import reject_fields, to_template
from kedi.syntax.places import CODE_PLACES

if TYPE_CHECKING:
    from kedi.syntax.directives import DirectiveSpec

Parsed = tuple[ast.Statement, "str | None"]
"""A node and the context of its block: ``None`` when it has no block."""

LIMIT = 100
"""Deepest nesting of calls in one line."""

_lines: TwoGenerations[tuple[str, str], Parsed | Fault] = TwoGenerations(4096)
_suite = re.compile(r"@[ \t]*(test|eval)[ \t]*:")
_suite_word = re.compile(r"@[ \t]*(test|eval)[ \t]+[A-Za-z_]")
_directive = re.compile(r">[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*(:?)")
_binder = re.compile(r">[ \t]*loop[ \t]*:?[ \t]*\[")
_setting = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)[ \t]*:")
# The start of a line of a template, or a block comment between its lines.
_continued = re.compile(
    r"\n[ \t]*+(?:(>>)"
    r"|###[ \t]*+(?:\n(?![ \t]*+###[ \t]*+(?:\n|\Z))[^\n]*+)*+\n[ \t]*+###[ \t]*+(?=\n|\Z))"
)
_comment = re.compile(r"(?:[^\\#]++|\\.?)*+")

_RULES = {
    "none": "bare",
    "condition": "if_",
    "name": "named",
    "path": "import_",
    "type": "typed_directive",
    "metric": "metric",
}
_SPECIAL = {"export": "export", "show": "show", "system": "instructions"}
_SUITES = {"test", "eval"}


def parse_line(context: str, text: str) -> Parsed:
    """The node of a logical line and the context of its block. Raises ``Fault``."""
    key = (context, text)
    found = _lines.get(key)
    if found is None:
        # A line of a fragment runs at once, so its Python is compiled rather than parsed. Another
        # thread may change this in between: either way checks the same.
        pieces.compile_at_once = context == "fragment"
        try:
            found = _parse(context, text)
        except Fault as fault:
            fault.__traceback__ = None
            found = fault
        _lines.put(key, found, len(text))
    if found.__class__ is tuple:
        return found  # type: ignore[return-value]
    raise _fresh(found)  # type: ignore[arg-type]


def _fresh(fault: Fault) -> Fault:
    return Fault(fault.code, fault.message, fault.start, fault.end, fault.hint, open=fault.open)


def directive_spec(name: str) -> DirectiveSpec | None:
    """The entry of the table of directives, which is loaded when it is first needed."""
    from kedi.syntax.directives import DIRECTIVES

    return DIRECTIVES.get(name)


def forget_lines() -> None:
    """Empty the memory of lines; for measurements."""
    _lines.clear()


def _parse(context: str, text: str) -> Parsed:
    start = len(text) - len(text.lstrip(" \t")) if text[:1] in (" ", "\t") else 0
    if text.count("(") > LIMIT:
        _check_depth(text)
    if context in CODE_PLACES:
        return _statement(context, text, start)
    if context == "profile" or context in _SUITES:
        return _member(context, text, start)
    if context == "names":
        return engine.parse("name_line", text, start), None
    if context == "requirements":
        return _requirement(text, start), None
    if context == "prose":
        parts = engine.parse("prose", text, start)
        return ast.Prose(start, parts[-1].end if parts else start, parts), None
    return _setting_line(context, text, start)


def _check_depth(text: str) -> None:
    depth = 0
    for match in re.finditer(r"\\.|`[^`]*`|<[A-Za-z_][A-Za-z0-9_]*\(|\)>", text):
        piece = match[0]
        if piece == ")>":
            depth -= 1
        elif piece[0] == "<":
            depth += 1
            if depth > LIMIT:
                raise Fault(
                    "too-deep",
                    f"calls are nested more than {LIMIT} deep",
                    match.start(),
                    match.end(),
                    "bind an inner result to a name first",
                )


# ── Statements ────────────────────────────────────────────────────────────────


def _statement(context: str, text: str, start: int) -> Parsed:
    match text[start : start + 1]:
        case "[":
            return engine.parse("binding", text, start), None
        case ">":
            if text.startswith(">>", start):
                return engine.parse("template", text, start), None
            return _directive_line(context, text, start)
        case "=":
            return engine.parse("return_", text, start), None
        case "`":
            if text.startswith("```", start):
                return engine.parse("fence", text, start), None
            return engine.parse("python_statement", text, start), None
        case "@":
            if _suite.match(text, start):
                return _suite_line(context, text, start)
            if word := _suite_word.match(text, start):
                raise Fault(
                    "missing-colon",
                    f"`:` is missing after `@{word[1]}`",
                    start,
                    word.end(1),
                    f"a suite reads `@{word[1]}: procedure:`",
                )
            return engine.parse("procedure", text, start), "procedure"
        case "~" if not text.startswith("~~", start):
            return engine.parse("type_def", text, start), None
        case _:
            from kedi.syntax.explain import not_a_statement

            raise not_a_statement(text, start)


def _suite_line(context: str, text: str, start: int) -> Parsed:
    match = _suite.match(text, start)
    assert match
    kind = match[1]
    if context != "top":
        where = "a fragment" if context == "fragment" else "a block"
        raise Fault(
            "misplaced-suite",
            f"an @{kind} suite cannot stand in {where}",
            start,
            match.end(),
            f"put @{kind} at the top level of a file and run it with `kedi FILE --{kind}`",
        )
    return engine.parse("suite", text, start), kind


def _member(context: str, text: str, start: int) -> Parsed:
    if text.startswith(">>", start) or not text.startswith(">", start):
        if context == "profile" and _setting.match(text, start):
            match = _setting.match(text, start)
            assert match
            raise Fault(
                "mixed-block",
                "a profile holds directives: each of its lines starts with `>`",
                start,
                len(text),
                _directive_hint(match[1]) or "settings stand in the block of `> settings:`",
            )
        members = {
            "profile": "directives",
            "test": "`> case:`",
            "eval": "`> data:` and `> metric:`",
        }
        raise Fault(
            "unexpected-statement",
            f"only {members[context]} can stand here",
            start,
            len(text.rstrip()),
        )
    return _directive_line(context, text, start)


def _directive_hint(name: str) -> str | None:
    return f"did you mean `> {name}:`?" if directive_spec(name) else None


# ── Directives ────────────────────────────────────────────────────────────────


def _directive_line(context: str, text: str, start: int) -> Parsed:
    match = _directive.match(text, start)
    if match is None:
        raise Fault(
            "invalid-directive",
            "`>` starts a directive, but no name follows",
            start,
            len(text.rstrip()),
            "start a template with `>>`, or write `> name: …`",
        )
    name = match[1]
    spec = directive_spec(name)
    if spec is None:
        raise _unknown_directive(text, match)
    binder = _binder.match(text, start) if name == "loop" else None
    if not match[2] and binder is None:
        raise _missing_colon(text, match, name)
    if context not in spec.places:
        raise _misplaced(spec, context, start, match.end())
    if binder is not None:
        return engine.parse("loop_each", text, start), _block_of(context)
    node = _parse_directive(spec, text, start)
    return node, _body_context(spec, node, context)


def _parse_directive(spec: DirectiveSpec, text: str, start: int) -> ast.Statement:
    rule = _RULES.get(spec.form)
    if rule == "if_" and spec.name == "loop":
        rule = "loop"
    elif rule is None:
        rule = _SPECIAL.get(spec.name, "directive")
    node: ast.Statement = engine.parse(rule, text, start)
    if node.__class__ is ast.Directive:
        _check_directive(spec, node)  # type: ignore[arg-type]
    return node


def _check_directive(spec: DirectiveSpec, node: ast.Directive) -> None:
    value = node.value
    if value is None:
        if spec.block == "never" and node.type is None:
            raise Fault(
                "expected-value",
                f"`> {spec.name}:` needs a value",
                node.start,
                node.end,
                _value_hint(spec),
            )
    elif spec.block == "always":
        raise Fault(
            "unexpected-value",
            f"`> {spec.name}:` takes a block, not a value",
            value.start,
            value.end,
            f"write `> {spec.name}:` and indent its lines below",
        )
    elif spec.name == "system":
        check_instructions(value.parts)


def _value_hint(spec: DirectiveSpec) -> str | None:
    return f"one of {', '.join(spec.words)}" if spec.words else None


def _body_context(spec: DirectiveSpec, node: ast.Statement, context: str) -> str | None:
    cls: Any = node.__class__
    if cls is ast.Directive:
        directive: Any = node
        if directive.value is not None or spec.body is None:
            return None
    elif cls is ast.Import:
        return "names" if node.selective else None  # type: ignore[union-attr]
    elif cls is ast.Export:
        return None if node.everything else "names"  # type: ignore[union-attr]
    elif cls is ast.Show:
        return None
    if spec.body == "code":
        return _block_of(context)
    if spec.body == "settings":
        return f"settings:{spec.name}"
    return spec.body


def _block_of(context: str) -> str:
    return "inner" if context in ("procedure", "inner") else "block"


def _unknown_directive(text: str, match: re.Match[str]) -> Fault:
    from kedi.syntax.directives import DIRECTIVES, WORDS_OF_OTHER_LANGUAGES

    name = match[1]
    start, end = match.start(1), match.end(1)
    hint = WORDS_OF_OTHER_LANGUAGES.get(name.lower())
    if hint is None:
        close = nearest(name, list(DIRECTIVES))
        if close:
            hint = f"did you mean `> {close}:`?"
        elif not match[2]:
            hint = "start a template with `>>`"
        else:
            hint = "directives are " + ", ".join(sorted(DIRECTIVES))
    return Fault("unknown-directive", f"there is no directive `{name}`", start, end, hint)


def _missing_colon(text: str, match: re.Match[str], name: str) -> Fault:
    rest = text[match.end() :].strip()
    end = match.end(1)
    return Fault(
        "missing-colon",
        f"`:` is missing after `> {name}`",
        match.start(),
        end,
        f"did you mean `> {name}:{' ' + rest if rest and len(rest) < 60 else ''}`?",
    )


def _misplaced(spec: DirectiveSpec, context: str, start: int, end: int) -> Fault:
    if context == "fragment":
        return Fault(
            "misplaced-directive",
            f"`> {spec.name}:` cannot stand in a fragment",
            start,
            end,
            f"it belongs {spec.where}",
        )
    where = spec.where or "among statements"
    return Fault(
        "misplaced-directive",
        f"`> {spec.name}:` cannot stand here",
        start,
        end,
        f"it belongs {where}",
    )


# ── Lines of directive blocks ─────────────────────────────────────────────────


def _setting_line(context: str, text: str, start: int) -> Parsed:
    owner = context.partition(":")[2]
    if text.startswith(">", start):
        raise Fault(
            "mixed-block",
            f"the block of `> {owner}:` holds `name: value` lines, no directives",
            start,
            len(text.rstrip()),
            "remove the `>`, or move the directive out of the block",
        )
    match = _setting.match(text, start)
    if match is None:
        raise Fault(
            "invalid-setting",
            "a line `name: value` is expected here",
            start,
            len(text.rstrip()),
        )
    spec = directive_spec(owner)
    if spec is not None and spec.fields:
        _check_setting(spec, match)
    node: ast.Setting = engine.parse("setting", text, start)
    if node.value is not None:
        return node, None
    return node, "requirements" if node.name.text == "python_dependencies" else "settings:"


def _check_setting(spec: DirectiveSpec, match: re.Match[str]) -> None:
    name, known = match[1], spec.field_names
    if name in known:
        return
    close = nearest(name, known)
    raise Fault(
        "unknown-setting",
        f"`> {spec.name}:` has no setting `{name}`",
        match.start(1),
        match.end(1),
        f"did you mean `{close}`?" if close else "known are " + ", ".join(known),
    )


def _requirement(text: str, start: int) -> ast.NameLine:
    match = _comment.match(text, start)
    end = match.end() if match else len(text)
    raw = text[start:end].rstrip(" \t")
    name = ast.Name(start, start + len(raw), raw.replace("\\#", "#"))
    return ast.NameLine(start, name.end, name)


# ── Blocks ────────────────────────────────────────────────────────────────────


def parse_prose(text: str, start: int, owner: ast.Statement) -> ast.Statement:
    """The one statement of a prose block; ``start`` is where its first line begins."""
    if text.startswith(">>", start):
        start += 2
        while text[start : start + 1] in (" ", "\t"):
            start += 1
    if text.count("(") > LIMIT:
        _check_depth(text)
    parts = engine.parse("prose", text, start)
    end = parts[-1].end if parts else len(text)
    if not parts:
        raise Fault("empty-prompt", "this block has no text", start, len(text))
    if isinstance(owner, ast.Optimize):
        _one_template(text, parts, start)
        return to_template(parts, start, end)
    if isinstance(owner, ast.Directive):
        check_instructions(parts)
    return ast.Prose(start, end, parts)


def _one_template(text: str, parts: tuple[ast.Part, ...], start: int) -> None:
    """Refuse a second `>>` in a block that holds one template."""
    for part in (*parts, None):
        # Between pieces of Python and calls: in text and where comments stand.
        if part is not None and part.__class__ is ast.Text:
            continue
        end = len(text) if part is None else part.start
        for match in _continued.finditer(text, start, end):
            if match[1]:
                raise Fault(
                    "second-template",
                    "an `> optimize:` block holds one template",
                    match.start(1),
                    match.end(1),
                    "begin another `> optimize:` block for it, or leave `>>` out to go on",
                )
        start = end if part is None else part.end


def check_instructions(parts: tuple[ast.Part, ...]) -> None:
    """Refuse fields and calls in instructions: they are read, not run."""
    reject_fields(parts, "instructions")
    for part in parts:
        if part.__class__ is ast.Call:
            raise Fault(
                "call-not-allowed",
                "a procedure call is not allowed in instructions",
                part.start,
                part.end,
                "bind its result to a name before, and write <name> here",
            )


def likely_block(context: str, text: str) -> str | None:
    """The context of the block that a broken line probably opens."""
    stripped = text.lstrip(" \t")
    if context in CODE_PLACES and stripped.startswith("@"):
        match = _suite.match(stripped) or _suite_word.match(stripped)
        return match[1] if match else "procedure"
    match = _directive.match(stripped)
    spec = directive_spec(match[1]) if match else None
    if spec is None or spec.body is None:
        return None
    if spec.body == "code":
        return _block_of(context)
    return f"settings:{spec.name}" if spec.body == "settings" else spec.body
