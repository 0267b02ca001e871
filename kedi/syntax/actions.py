"""What each rule of ``grammar.lark`` makes: one function per rule or alias.

A terminal arrives as its ``(start, end)`` in the text, a nonterminal as what
its own function returned. Rules about form that a grammar cannot say well are
checked here and raise :class:`~kedi.syntax.faults.Fault`.
"""

from __future__ import annotations

import keyword
import re
from typing import Any

from kedi.syntax import ast
from kedi.syntax.ast import (
    Assign,
    Call,
    Field,
    Init,
    Name,
    Parameter,
    Part,
    Python,
    RawCall,
    Read,
    Return,
    Template,
    Text,
    TypeExpr,
    Value,
)
from kedi.syntax.embedded import parse_python
from kedi.syntax.faults import Fault

Span = tuple[int, int]

_escape = re.compile(r"\\(.)|~~", re.DOTALL)
_SPECIAL = {"t": "\t", "n": "\n", "s": " ", None: "~"}
_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _unescape(match: re.Match[str]) -> str:
    char = match[1]
    return _SPECIAL.get(char, char)


def decode(raw: str) -> str:
    """Text with its escapes replaced."""
    if "\\" in raw or "~~" in raw:
        return _escape.sub(_unescape, raw)
    return raw


# ── Text ──────────────────────────────────────────────────────────────────────
# While a text is read it is a list: nodes, and for literal text spans
# (start, end) or (start, end, kind). ``finish`` makes the parts.


def text_start(text: str, children: list[Any]) -> list[Any]:
    return []


def text_literal(text: str, children: list[Any]) -> list[Any]:
    children[0].append(children[1])
    return children[0]


def text_break(text: str, children: list[Any]) -> list[Any]:
    start, end = children[1]
    children[0].append((start, end, "break"))
    return children[0]


def text_join(text: str, children: list[Any]) -> list[Any]:
    start, end = children[1]
    children[0].append((start, end, "join"))
    return children[0]


def text_fence_mark(text: str, children: list[Any]) -> list[Any]:
    start, end = children[1]
    children[0].append((start, end, "mark"))
    return children[0]


def text_node(text: str, children: list[Any]) -> list[Any]:
    children[0].append(children[1])
    return children[0]


def text_python(text: str, children: list[Any]) -> list[Any]:
    start, end = children[1]
    children[0].append(inline(text, start, end))
    return children[0]


def text_angle(text: str, children: list[Any]) -> list[Any]:
    start, end = children[1]
    node = inline(text, start + 1, end - 1)
    node.start = start
    node.end = end
    node.angle = True
    children[0].append(node)
    return children[0]


def text_read(text: str, children: list[Any]) -> list[Any]:
    start, end = children[1]
    children[0].append(Read(start, end, Name(start + 1, end - 1, text[start + 1 : end - 1])))
    return children[0]


def inline(text: str, start: int, end: int, kind: Any = "expr") -> Python:
    """A backtick segment, both backticks included in ``start`` and ``end``."""
    raw = text[start + 1 : end - 1]
    code = raw.strip()
    if not code:
        raise Fault("empty-python", "nothing stands between these backticks", start, end)
    code_start = start + 1
    if len(code) != len(raw):
        code_start += len(raw) - len(raw.lstrip())
    if "\n" in code:
        return _long_inline(text, start, end, code, code_start, kind)
    return Python(
        start, end, code, code_start, kind, 0, False, parse_python(text, code, code_start, kind)
    )


def _long_inline(text: str, start: int, end: int, code: str, code_start: int, kind: Any) -> Python:
    """Inline Python over several lines: dedented like a fence, by the line's indentation."""
    margin = _margin(text)
    head, _, rest = code.partition("\n")
    rest = _dedent(text, rest, margin, code_start + len(head) + 1)
    code = f"{head}\n{rest}"
    tree = parse_python(text, code, code_start, kind, len(margin))
    return Python(start, end, code, code_start, kind, len(margin), False, tree)


def _margin(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def finish(text: str, items: list[Any]) -> tuple[Part, ...]:
    """The parts of a text: trimmed, escapes decoded, neighbouring literals joined."""
    if not items:
        return ()
    if len(items) == 1:
        item = items[0]
        if item.__class__ is not tuple:
            return (item,)
        if len(item) == 2:
            start, end = item
            raw = text[start:end]
            body = raw.rstrip(" \t")
            if not body:
                return ()
            end = start + len(body)
            body = body.lstrip(" \t")
            return (Text(end - len(body), end, decode(body)),)
    low, high = 0, len(items)
    while low < high and _is_gap(items[low], ("break", "join")):
        low += 1
    while high > low and _is_gap(items[high - 1], ("break", "join")):
        high -= 1
    parts: list[Part] = []
    words: list[str] = []
    first = last = 0
    for index in range(low, high):
        item = items[index]
        if item.__class__ is not tuple:
            if words:
                parts.append(Text(first, last, "".join(words)))
                words = []
            parts.append(item)
            continue
        start, end = item[0], item[1]
        if len(item) == 3:
            word = _gap(text, start, end, item[2])
        else:
            raw = text[start:end]
            if index == low:
                raw = raw.lstrip(" \t")
                start = end - len(raw)
            if index + 1 == high or _is_gap(items[index + 1], ("break",)):
                raw = raw.rstrip(" \t")
                end = start + len(raw)
            word = decode(raw)
        if word:
            if not words:
                first = start
            last = end
            words.append(word)
    if words:
        parts.append(Text(first, last, "".join(words)))
    return tuple(parts)


def _is_gap(item: Any, kinds: tuple[str, ...]) -> bool:
    return item.__class__ is tuple and len(item) == 3 and item[2] in kinds


def _gap(text: str, start: int, end: int, kind: str) -> str:
    if kind == "join":
        return ""
    return "```" if kind == "mark" else _break(text, start, end)


def _break(text: str, start: int, end: int) -> str:
    """Newlines of a line break: one, and one more for each blank line kept in prose."""
    raw = text[start:end]
    if raw.count("\n") == 1:
        return "\n"
    lines = raw.split("\n")[1:-1]
    blank = 0
    inside = False
    for line in lines:
        bare = line.strip(" \t")
        if bare == "###":
            inside = not inside
        elif not inside and not bare:
            blank += 1
    return "\n" * (blank + 1)


def reject_fields(parts: tuple[Part, ...], where: str) -> None:
    """Refuse a ``[field]`` directly in a text that no model fills."""
    for part in parts:
        if part.__class__ is Field:
            raise Fault(
                "field-not-allowed",
                f"a [field] is not allowed in {where}",
                part.start,
                part.end,
                r"write \[ for a bracket, or start a template with >>",
            )


def reject_duplicates(parts: tuple[Part, ...]) -> None:
    """Refuse two fields of one name in one template."""
    fields = [part for part in parts if part.__class__ is Field]
    if len(fields) < 2:
        return
    seen: set[str] = set()
    for field in fields:
        assert isinstance(field, Field)
        name = field.name.text
        if name in seen:
            raise Fault(
                "duplicate-field",
                f"this template already has a field [{name}]",
                field.start,
                field.end,
                "give each field of a template its own name",
            )
        seen.add(name)


def to_value(text: str, items: list[Any], start: int) -> Value:
    """The value that a text is; ``start`` is where an empty one stands."""
    parts = finish(text, items)
    if not parts:
        return Value(start, start, "text", ())
    first = parts[0]
    kind = "text"
    if len(parts) == 1:
        cls = first.__class__
        if cls is Python:
            kind = "text" if first.angle else "native"  # type: ignore[union-attr]
        elif cls is Read:
            kind = "read"
        elif cls is Call:
            kind = "call"
    return Value(first.start, parts[-1].end, kind, parts)  # type: ignore[arg-type]


def value_text(text: str, children: list[Any]) -> Any:
    return children[0]


def value_fence(text: str, children: list[Any]) -> Any:
    return fence_python(text, *children[0])


def _value(text: str, item: Any, start: int, where: str) -> Value:
    if item.__class__ is Python:
        return Value(item.start, item.end, "fence", (item,))
    value = to_value(text, item, start)
    reject_fields(value.parts, where)
    return value


# ── Substitutions and fields ──────────────────────────────────────────────────


def arguments_first(text: str, children: list[Any]) -> list[list[Any]]:
    return children


def arguments_more(text: str, children: list[Any]) -> list[list[Any]]:
    arguments, comma, argument = children
    arguments.append(comma)
    arguments.append(argument)
    return arguments


def call(text: str, children: list[Any]) -> Call:
    (start, opened), raw, (closed, end) = children
    name = Name(start + 1, opened - 1, text[start + 1 : opened - 1])
    arguments: tuple[Value, ...] = ()
    if len(raw) > 1 or finish(text, raw[0]):
        made: list[Value] = []
        at = opened
        for index, item in enumerate(raw):
            if index % 2:
                at = item[1]
                continue
            value = to_value(text, item, at)
            reject_duplicates(value.parts)
            made.append(value)
        arguments = tuple(made)
    return Call(start, end, name, arguments)


def field_plain(text: str, children: list[Any]) -> Field:
    start, end = children[0]
    match = _name.search(text, start)
    assert match
    return Field(start, end, Name(match.start(), match.end(), match[0]))


def field_typed(text: str, children: list[Any]) -> Field:
    (start, _), type_, (_, end) = children
    match = _name.search(text, start)
    assert match
    return Field(start, end, Name(match.start(), match.end(), match[0]), type_)


def type_plain(text: str, children: list[Any]) -> TypeExpr:
    start, end = children[0]
    source = text[start:end]
    if "\n" in source:
        source = _one_line(source)
    tree = parse_python(text, source, start, "expr")
    return TypeExpr(start, end, source, start, False, tree)


_line_breaks = re.compile(r""""(?:[^\\"\n]++|\\.)*+"|'(?:[^\\'\n]++|\\.)*+'|(?:#[^\n]*+)?\n""")


def _one_line(source: str) -> str:
    """A type over several lines as one, every offset kept: comments and line ends turn blank."""
    return _line_breaks.sub(
        lambda match: match[0] if match[0][0] in "\"'" else " " * len(match[0]), source
    )


def type_python(text: str, children: list[Any]) -> TypeExpr:
    start, end = children[0]
    node = inline(text, start, end)
    return TypeExpr(start, end, node.code, node.code_start, True, node.tree)


def bindable(field: Field | Name) -> None:
    """Refuse the reserved name ``args`` where something is bound."""
    name = field if field.__class__ is Name else field.name  # type: ignore[union-attr]
    assert isinstance(name, Name)
    if name.text == "args":
        raise Fault(
            "reserved-name",
            "`args` holds the program's arguments: it can be read, never bound",
            name.start,
            name.end,
            "choose another name",
        )


def _bindable_fields(parts: tuple[Part, ...]) -> None:
    for part in parts:
        if part.__class__ is Field:
            bindable(part)  # type: ignore[arg-type]


# ── Statements ────────────────────────────────────────────────────────────────


def init(text: str, children: list[Any]) -> Init:
    field, (_, start), item = children
    if field.name.text == "args":
        bindable(field)
    value = _value(text, item, start, "a value")
    return Init(field.start, value.end, field, value)


def assign(text: str, children: list[Any]) -> Assign:
    field, (_, start), item = children
    bindable(field)
    if field.type is not None:
        raise Fault(
            "type-on-assignment",
            "a type is not allowed with :=",
            field.type.start,
            field.type.end,
            f"write [{field.name.text}] := … ; the type was given where the name was initialised",
        )
    value = _value(text, item, start, "a value")
    return Assign(field.start, value.end, field.name, value)


def raw_call(text: str, children: list[Any]) -> RawCall:
    field, (_, start), items = children
    bindable(field)
    type_ = field.type
    if type_ is not None and type_.text != "str":
        raise Fault(
            "typed-raw-call",
            "a raw call gives text: only `str` is allowed here",
            type_.start,
            type_.end,
            f"use a template for typed answers: >> … [{field.name.text}: {type_.text}]",
        )
    parts = finish(text, items)
    if not parts:
        raise Fault("empty-prompt", "this call has no prompt", field.start, start)
    reject_fields(parts, "the prompt of a raw call")
    return RawCall(field.start, parts[-1].end, field, parts)


def template(text: str, children: list[Any]) -> Template:
    (start, end), items = children
    parts = finish(text, items)
    if not parts:
        raise Fault("empty-prompt", "this template has no text", start, end)
    return to_template(parts, start, parts[-1].end)


def to_template(parts: tuple[Part, ...], start: int, end: int) -> Template:
    """A template of ``parts`` whose fields can all be bound."""
    reject_duplicates(parts)
    _bindable_fields(parts)
    return Template(start, end, parts)


def return_(text: str, children: list[Any]) -> Return:
    (start, at), item = children
    value = _value(text, item, at, "a return")
    return Return(start, max(value.end, start + 1), value)


def python_statement(text: str, children: list[Any]) -> ast.PythonStatement:
    start, end = children[0]
    return ast.PythonStatement(start, end, inline(text, start, end, "stmt"))


def fence(text: str, children: list[Any]) -> ast.Fence:
    python = fence_python(text, *children[0])
    return ast.Fence(python.start, python.end, python)


def fence_python(text: str, start: int, end: int) -> Python:
    """The suite between the fence that opens at ``start`` and the end of the line."""
    margin = _margin(text)
    indent = len(margin)
    opening = text.index("\n", start)
    label = text[start + 3 : opening].strip(" \t")
    if label and not label.startswith("#"):
        raise Fault(
            "fence-not-alone",
            "a fence stands alone on its line",
            start + 3,
            opening,
            "nothing but a comment may follow ```, not even the name of a language",
        )
    closing = text.rindex("\n", start, end)
    shown = text[closing + 1 : end]
    if shown != margin + "```":
        at = closing + 1 + len(shown) - len(shown.lstrip(" \t"))
        if shown.strip(" \t") != "```":
            raise Fault("fence-not-alone", "a closing fence stands alone on its line", at + 3, end)
        if shown.rstrip(" \t") != margin + "```":
            raise Fault(
                "misaligned-fence",
                "this closing fence does not align with its opening one",
                at,
                at + 3,
                f"indent it by {_width_text(margin)}",
            )
    if closing == opening:
        code, code_start = "", opening + 1
    else:
        raw = text[opening + 1 : closing]
        code_start = opening + 1 + indent
        code = _dedent(text, raw, margin, opening + 1) if indent else raw
        code_start = min(code_start, closing)
    tree = parse_python(text, code, code_start, "suite", indent)
    return Python(start, end, code, code_start, "suite", indent, False, tree)


def _dedent(text: str, raw: str, margin: str, start: int) -> str:
    lines: list[str] = []
    at = start
    size = len(margin)
    for line in raw.split("\n"):
        if line.startswith(margin):
            lines.append(line[size:])
        elif not line.strip(" \t"):
            lines.append("")
        else:
            bare = len(line) - len(line.lstrip(" \t"))
            raise Fault(
                "misaligned-code",
                "this code does not align with its fence",
                at + bare,
                at + len(line),
                f"indent it by at least {_width_text(margin)}, as the fence is",
            )
        at += len(line) + 1
    return "\n".join(lines)


def _width_text(margin: str) -> str:
    if not margin:
        return "nothing"
    if "\t" in margin:
        return "the same tabs and spaces"
    return f"{len(margin)} space{'s' if len(margin) > 1 else ''}"


# ── Definitions ───────────────────────────────────────────────────────────────


def _definable(name: Name, what: str) -> None:
    bindable(name)
    if keyword.iskeyword(name.text):
        raise Fault(
            "python-keyword",
            f"`{name.text}` is a word of Python and cannot name a {what}",
            name.start,
            name.end,
        )


def _to_name(text: str, span: Span) -> Name:
    return Name(span[0], span[1], text[span[0] : span[1]])


def parameter_plain(text: str, children: list[Any]) -> Parameter:
    name = _to_name(text, children[0])
    return Parameter(name.start, name.end, name)


def parameter_typed(text: str, children: list[Any]) -> Parameter:
    name = _to_name(text, children[0])
    return Parameter(name.start, children[2].end, name, children[2])


def parameter_default(text: str, children: list[Any]) -> Parameter:
    name = _to_name(text, children[0])
    start, end = children[2]
    return Parameter(name.start, end, name, None, inline(text, start, end))


def parameter_typed_default(text: str, children: list[Any]) -> Parameter:
    name = _to_name(text, children[0])
    start, end = children[4]
    return Parameter(name.start, end, name, children[2], inline(text, start, end))


def parameter_first(text: str, children: list[Any]) -> list[Parameter]:
    return [children[0]]


def parameter_more(text: str, children: list[Any]) -> list[Parameter]:
    children[0].append(children[2])
    return children[0]


def parameters_none(text: str, children: list[Any]) -> tuple[Parameter, ...]:
    return ()


def parameters_some(text: str, children: list[Any]) -> tuple[Parameter, ...]:
    return tuple(children[0])


def _check_parameters(parameters: tuple[Parameter, ...], what: str) -> None:
    seen: set[str] = set()
    optional: str | None = None
    for parameter in parameters:
        name = parameter.name
        if name.text in seen:
            raise Fault(
                f"duplicate-{what}", f"{what} `{name.text}` is given twice", name.start, name.end
            )
        seen.add(name.text)
        if parameter.default is not None:
            optional = name.text
        elif optional is not None:
            raise Fault(
                "required-after-default",
                f"{what} `{name.text}` is required but follows `{optional}`, which has a default",
                parameter.start,
                parameter.end,
                f"put it before `{optional}`, or give it a default",
            )
        if keyword.iskeyword(name.text):
            _definable(name, what)


def _procedure(text: str, children: list[Any], returns: TypeExpr | None) -> ast.Procedure:
    name = _to_name(text, children[1])
    _definable(name, "procedure")
    parameters = children[3]
    _check_parameters(parameters, "parameter")
    for parameter in parameters:
        bindable(parameter.name)
    return ast.Procedure(children[0][0], children[-1][1], name, parameters, returns)


def procedure(text: str, children: list[Any]) -> ast.Procedure:
    return _procedure(text, children, None)


def procedure_typed(text: str, children: list[Any]) -> ast.Procedure:
    return _procedure(text, children, children[6])


def type_def(text: str, children: list[Any]) -> ast.TypeDef:
    name = _to_name(text, children[1])
    _definable(name, "type")
    fields = children[3]
    _check_parameters(fields, "field")
    for field in fields:
        if field.default is not None and field.type is None:
            raise Fault(
                "untyped-default",
                f"field `{field.name.text}` has a default and needs a type",
                field.start,
                field.end,
                f"write {field.name.text}: str = `{field.default.code}`, or the type it has",
            )
    return ast.TypeDef(children[0][0], children[-1][1], name, fields)


def suite(text: str, children: list[Any]) -> ast.Statement:
    (start, opened), span, (_, end) = children
    name = _to_name(text, span)
    if "test" in text[start:opened]:
        return ast.TestSuite(start, end, name)
    return ast.EvalSuite(start, end, name)


# ── Directives ────────────────────────────────────────────────────────────────


def directive_name(text: str, span: Span) -> Name:
    """The name in ``> name:``, whose terminal has ``span``."""
    match = _name.search(text, span[0])
    assert match
    return Name(match.start(), match.end(), match[0])


def _condition(text: str, children: list[Any]) -> Python:
    head, items, (colon, end) = children
    parts = finish(text, items)
    if len(parts) == 1 and parts[0].__class__ is Python and not parts[0].angle:  # type: ignore[union-attr]
        return parts[0]  # type: ignore[return-value]
    raise _claim_with_colon(head, parts, colon, end)


def _claim_with_colon(head: Span, parts: tuple[Part, ...], colon: int, end: int) -> Fault:
    if not parts:
        return Fault("expected-condition", "a condition is missing here", head[0], end)
    return Fault(
        "claim-with-colon",
        "a header that ends in `:` needs exactly one condition in backticks",
        parts[0].start,
        end,
        "put the condition in backticks, or drop the colon for a claim that the model judges",
    )


def _claim(text: str, children: list[Any]) -> tuple[Part, ...]:
    head, items = children
    parts = finish(text, items)
    if not parts:
        raise Fault("expected-condition", "a condition is missing here", head[0], head[1])
    reject_fields(parts, "a claim")
    last = parts[-1]
    if last.__class__ is Text and text[last.start : last.end].endswith(":"):
        raise _claim_with_colon(head, parts, last.end - 1, last.end)
    return parts


def if_code(text: str, children: list[Any]) -> ast.If:
    return ast.If(children[0][0], children[2][1], _condition(text, children), None)


def if_claim(text: str, children: list[Any]) -> ast.If:
    parts = _claim(text, children)
    return ast.If(children[0][0], parts[-1].end, None, parts)


def loop_code(text: str, children: list[Any]) -> ast.Loop:
    return ast.Loop(children[0][0], children[2][1], _condition(text, children), None)


def loop_claim(text: str, children: list[Any]) -> ast.Loop:
    parts = _claim(text, children)
    return ast.Loop(children[0][0], parts[-1].end, None, parts)


def loop_each(text: str, children: list[Any]) -> ast.LoopEach:
    binder = _to_name(text, children[1])
    bindable(binder)
    start, end = children[3]
    return ast.LoopEach(children[0][0], children[4][1], binder, inline(text, start, end))


def bare(text: str, children: list[Any]) -> ast.Statement:
    start, end = children[0]
    name = directive_name(text, children[0])
    end = _stripped(text, start, end)
    if name.text == "else":
        return ast.Else(start, end)
    if name.text == "map":
        return ast.Map(start, end)
    return ast.Auto(start, end)


def _stripped(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip(" \t"))


def show(text: str, children: list[Any]) -> ast.Show:
    (start, at), item = children
    value = _value(text, item, at, "> show:")
    return ast.Show(start, max(value.end, _stripped(text, start, at)), value)


def import_all(text: str, children: list[Any]) -> ast.Import:
    path = _to_name(text, children[1])
    return ast.Import(children[0][0], path.end, path)


def import_names(text: str, children: list[Any]) -> ast.Import:
    path = _to_name(text, children[1])
    return ast.Import(children[0][0], children[2][1], path, True)


def export_names(text: str, children: list[Any]) -> ast.Export:
    start, end = children[0]
    return ast.Export(start, _stripped(text, start, end))


def export_all(text: str, children: list[Any]) -> ast.Export:
    return ast.Export(children[0][0], children[1][1], True)


def named(text: str, children: list[Any]) -> ast.Statement:
    directive = directive_name(text, children[0])
    name = _to_name(text, children[1])
    start, end = children[0][0], children[2][1]
    match directive.text:
        case "package":
            return ast.Package(start, end, name)
        case "profile":
            bindable(name)
            return ast.Profile(start, end, name)
        case "optimize":
            return ast.Optimize(start, end, name)
        case "case":
            return ast.Case(start, end, name)
        case _:
            return ast.Data(start, end, name, directive.text == "test_data")


def metric(text: str, children: list[Any]) -> ast.Metric:
    name = _to_name(text, children[1])
    dataset = _to_name(text, children[3])
    return ast.Metric(children[0][0], children[5][1], name, dataset)


def directive(text: str, children: list[Any]) -> ast.Directive:
    span, items = children
    start, at = span
    name = directive_name(text, span)
    value = to_value(text, items, at)
    if not value.parts:
        return ast.Directive(start, _stripped(text, start, at), name, None)
    reject_fields(value.parts, f"> {name.text}:")
    return ast.Directive(start, value.end, name, value)


def typed_directive(text: str, children: list[Any]) -> ast.Directive:
    span, type_ = children
    return ast.Directive(span[0], type_.end, directive_name(text, span), None, type_)


# ── Lines of directive blocks ─────────────────────────────────────────────────


def setting(text: str, children: list[Any]) -> ast.Setting:
    span, items = children
    start, at = span
    name = directive_name(text, span)
    value = to_value(text, items, at)
    if not value.parts:
        return ast.Setting(start, _stripped(text, start, at), name, None)
    reject_fields(value.parts, "a setting")
    return ast.Setting(start, value.end, name, value)


def name_line(text: str, children: list[Any]) -> ast.NameLine:
    name = _to_name(text, children[0])
    return ast.NameLine(name.start, name.end, name)


def name_line_python(text: str, children: list[Any]) -> ast.NameLine:
    start, end = children[0]
    raw = text[start + 1 : end - 1]
    code = raw.strip(" \t")
    at = start + 1 + len(raw) - len(raw.lstrip(" \t"))
    if not _name.fullmatch(code):
        raise Fault("invalid-name", "one name is expected between these backticks", start, end)
    return ast.NameLine(start, end, Name(at, at + len(code), code), True)


def prose(text: str, children: list[Any]) -> tuple[Part, ...]:
    return finish(text, children[0])
