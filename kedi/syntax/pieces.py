"""What grammar rules are made of: text, inline Python, fences, values, and checks of form.

Rules about form that a grammar cannot say well are checked here and in the
``rules_…`` modules; they raise :class:`~kedi.syntax.faults.Fault`.
"""

from __future__ import annotations

import keyword
import re
from typing import Any

from kedi.syntax.ast import Call, Field, Name, Part, Python, Read, Template, Text, Value
from kedi.syntax.embedded import Kind, compile_simple, parse_python
from kedi.syntax.faults import Fault

Span = tuple[int, int]
"""Start and end of a terminal in the text of its line."""

Item = Any
"""A piece of a text while it is read: a node, or for literal text ``(start, end)``, or
``(start, end, kind)`` with the kind ``break``, ``join``, ``mark`` or ``fence``."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_escape = re.compile(r"\\(.)|~~", re.DOTALL)
_SPECIAL = {"t": "\t", "n": "\n", "s": " ", None: "~"}


def _unescape(match: re.Match[str]) -> str:
    char = match[1]
    return _SPECIAL.get(char, char)


def decode(raw: str) -> str:
    """Text with its escapes replaced."""
    if "\\" in raw or "~~" in raw:
        return _escape.sub(_unescape, raw)
    return raw


compile_at_once = False
"""Whether simple expressions are compiled, because what is parsed will run, or only parsed."""


def to_name(text: str, span: Span) -> Name:
    """The name that a terminal is."""
    return Name(span[0], span[1], text[span[0] : span[1]])


def directive_name(text: str, span: Span) -> Name:
    """The name in ``> name:``, whose terminal has ``span``."""
    match = NAME.search(text, span[0])
    assert match
    return Name(match.start(), match.end(), match[0])


# ── Inline Python and fences ──────────────────────────────────────────────────


def inline(text: str, start: int, end: int, kind: Kind = "expr") -> Python:
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
    if compile_at_once and kind == "expr":
        compiled = compile_simple(text, code, code_start)
        if compiled is not None:
            return Python(start, end, code, code_start, kind, 0, False, None, compiled)
    return Python(
        start, end, code, code_start, kind, 0, False, parse_python(text, code, code_start, kind)
    )


def _long_inline(text: str, start: int, end: int, code: str, code_start: int, kind: Kind) -> Python:
    """Inline Python over several lines: dedented like a fence, by the line's indentation."""
    margin = _margin(text)
    head, _, rest = code.partition("\n")
    rest = _dedent(text, rest, margin, code_start + len(head) + 1)
    code = f"{head}\n{rest}"
    tree = parse_python(text, code, code_start, kind, len(margin))
    return Python(start, end, code, code_start, kind, len(margin), False, tree)


def _margin(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


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
        # A blank first line may be shorter than the indentation.
        code_start = min(code_start, text.index("\n", opening + 1))
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


# ── Text ──────────────────────────────────────────────────────────────────────


def finish(text: str, items: list[Item]) -> tuple[Part, ...]:
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
    if kind == "fence":
        message = "a fence stands alone on its line, or after `=` or `:=`"
        raise Fault("fence-not-alone", message, start, start + 3)
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


def to_value(text: str, items: list[Item], start: int) -> Value:
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


def value_of(text: str, items: list[Item], start: int, where: str) -> Value:
    """The value that a text or a fence is; ``where`` names what may hold no fields."""
    if len(items) == 1:
        first = items[0]
        if first.__class__ is tuple and len(first) == 3 and first[2] == "fence":
            fence = fence_python(text, first[0], first[1])
            return Value(fence.start, fence.end, "fence", (fence,))
    value = to_value(text, items, start)
    reject_fields(value.parts, where)
    return value


def bindable(field: Field | Name) -> None:
    """Refuse ``args`` and the names of Python itself where something is bound."""
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
    if name.text.startswith("__") and name.text.endswith("__"):
        raise Fault(
            "reserved-name",
            f"`{name.text}` belongs to Python: such names can be read, never bound",
            name.start,
            name.end,
            "leave out the underscores at both ends",
        )


def bindable_fields(parts: tuple[Part, ...]) -> None:
    """Refuse ``[args]`` in a template."""
    for part in parts:
        if part.__class__ is Field:
            bindable(part)  # type: ignore[arg-type]


def to_template(parts: tuple[Part, ...], start: int, end: int) -> Template:
    """A template of ``parts`` whose fields can all be bound."""
    reject_duplicates(parts)
    bindable_fields(parts)
    return Template(start, end, parts)


def definable(name: Name, what: str) -> None:
    """Refuse names that a procedure, type or parameter cannot have."""
    bindable(name)
    if keyword.iskeyword(name.text):
        raise Fault(
            "python-keyword",
            f"`{name.text}` is a word of Python and cannot name a {what}",
            name.start,
            name.end,
        )
