"""Print a program in canonical form.

The output parses to an equal tree (``Program.same_as``). Blocks are indented
by two spaces, definitions at the top level are set off by blank lines, and
text is escaped only where it would otherwise mean something else. Comments
other than docstrings are not part of the tree and are not printed. A line
that did not parse is printed as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedi.syntax import ast
from kedi.syntax.ast import Part, Program, Python, Stmt, Text, TypeExpr, Value

_STEP = "  "
_ALWAYS = str.maketrans({"\\": r"\\", "<": r"\<", "[": r"\[", "`": r"\`", "#": r"\#"})
_IN_ARGUMENT = str.maketrans({",": r"\,", ")": r"\)"})
_BLANK = {" ": r"\s", "\t": r"\t"}
_SPACED = (ast.Procedure, ast.TypeDef, ast.TestSuite, ast.EvalSuite, ast.Profile, ast.Package)


def print_program(program: Program) -> str:
    """Canonical source text of ``program``; empty for an empty one."""
    out: list[str] = []
    before: ast.Statement | None = None
    for stmt, _ in program.top_level():
        node = stmt.node
        spaced = isinstance(node, _SPACED) or isinstance(before, _SPACED)
        if before is not None and spaced and not isinstance(node, (ast.Else, ast.Map)):
            out.append("")
        _print(stmt, "", out, None)
        before = node
    return "\n".join(out) + "\n" if out else ""


def print_statement(stmt: Stmt, margin: str = "") -> str:
    """Canonical text of one statement with its block, without a final line end."""
    out: list[str] = []
    _print(stmt, margin, out, None)
    return "\n".join(out)


def _print(stmt: Stmt, margin: str, out: list[str], owner: ast.Statement | None) -> None:
    node = stmt.node
    if isinstance(node, ast.Broken):
        out.extend(stmt.text.split("\n"))
    else:
        out.extend(_lines(node, margin, owner))
    for child in stmt.body:
        _print(child, margin + _STEP, out, node)


def _lines(node: ast.Statement, margin: str, owner: ast.Statement | None) -> list[str]:
    """Physical lines of a statement without its block."""
    if isinstance(node, ast.Template):
        lines = _prose_lines(node.parts, margin, not isinstance(owner, ast.Optimize))
        if isinstance(owner, ast.Optimize):
            return [margin + line for line in lines]
        return [f"{margin}>> {lines[0]}", *(margin + line for line in lines[1:])]
    if isinstance(node, ast.Prose):
        return [margin + line for line in _prose_lines(node.parts, margin, False)]
    if isinstance(node, ast.Docstring):
        body = node.text.split("\n") if node.text else []
        return [margin + "###", *(_indented(body, margin)), margin + "###"]
    if isinstance(node, ast.Fence):
        return [margin + "```", *_fence_lines(node.python, margin)]
    head, value = _head(node, margin, owner)
    if value is not None and value.kind == "fence":
        python = value.parts[0]
        assert isinstance(python, Python)
        return [f"{margin}{head} ```", *_fence_lines(python, margin)]
    if value is not None:
        text = _value(value, margin, False)
        head = f"{head} {text}" if text else head
    return (margin + head).split("\n")


def _head(
    node: ast.Statement, margin: str, owner: ast.Statement | None
) -> tuple[str, Value | None]:
    """The line of a statement up to its value, and the value."""
    match node:
        case ast.Init():
            return f"{_part(node.target, margin, False)} =", node.value
        case ast.Assign():
            return f"[{node.target.text}] :=", node.value
        case ast.RawCall():
            return (
                f"{_part(node.target, margin, False)} << {_inline(node.parts, margin, False)}",
                None,
            )
        case ast.Return():
            return "=", node.value
        case ast.PythonStatement():
            return _python(node.python, margin), None
        case ast.Procedure():
            arrow = f" -> {_type(node.returns)}" if node.returns else ""
            return f"@{node.name.text}({_parameters(node.parameters, margin)}){arrow}:", None
        case ast.TypeDef():
            return f"~{node.name.text}({_parameters(node.fields, margin)})", None
        case ast.If():
            return _condition("if", node.condition, node.claim, margin), None
        case ast.Loop():
            return _condition("loop", node.condition, node.claim, margin), None
        case ast.LoopEach():
            return f"> loop [{node.binder.text}]: {_python(node.iterable, margin)}:", None
        case ast.NameLine():
            if isinstance(owner, ast.Setting):
                return node.name.text.replace("#", r"\#"), None
            return f"`{node.name.text}`" if node.python else node.name.text, None
        case ast.Setting():
            return f"{node.name.text}:", node.value
        case ast.Directive():
            if node.type is not None:
                return f"> {node.name.text}: {_type(node.type)}", None
            return f"> {node.name.text}:", node.value
        case ast.Show():
            return "> show:", node.value
        case _:
            return _fixed(node), None


def _fixed(node: ast.Statement) -> str:
    """Headers that hold nothing but names."""
    match node:
        case ast.Else():
            return "> else:"
        case ast.Map():
            return "> map:"
        case ast.Auto():
            return "> auto:"
        case ast.Import():
            return f"> import: {node.path.text}{':' if node.selective else ''}"
        case ast.Export():
            return "> export: *" if node.everything else "> export:"
        case ast.Package():
            return f"> package: {node.name.text}:"
        case ast.Profile():
            return f"> profile: {node.name.text}:"
        case ast.Optimize():
            return f"> optimize: {node.name.text}:"
        case ast.TestSuite():
            return f"@test: {node.procedure.text}:"
        case ast.EvalSuite():
            return f"@eval: {node.procedure.text}:"
        case ast.Case():
            return f"> case: {node.name.text}:"
        case ast.Data():
            return f"> {'test_data' if node.held_out else 'data'}: {node.name.text}:"
        case ast.Metric():
            return f"> metric: {node.name.text}({node.dataset.text}):"
        case _:
            raise TypeError(f"cannot print {type(node).__name__}")


def _condition(
    word: str, condition: Python | None, claim: Sequence[Part] | None, margin: str
) -> str:
    if condition is not None:
        return f"> {word}: {_python(condition, margin)}:"
    return f"> {word}: {_inline(claim or (), margin, False)}"


def _parameters(parameters: Iterable[ast.Parameter], margin: str) -> str:
    out: list[str] = []
    for item in parameters:
        text = item.name.text
        if item.type is not None:
            text += f": {_type(item.type)}"
        if item.default is not None:
            text += f" = {_python(item.default, margin)}"
        out.append(text)
    return ", ".join(out)


def _type(node: TypeExpr) -> str:
    return f"`{node.text}`" if node.python else node.text


def _python(node: Python, margin: str) -> str:
    code = node.code.replace("\n", "\n" + margin) if "\n" in node.code else node.code
    return f"<`{code}`>" if node.angle else f"`{code}`"


def _fence_lines(python: Python, margin: str) -> list[str]:
    body = python.code.split("\n") if python.code else []
    return [*_indented(body, margin), margin + "```"]


def _indented(lines: Iterable[str], margin: str) -> list[str]:
    return [margin + line if line else "" for line in lines]


# ── Text ──────────────────────────────────────────────────────────────────────


def _value(value: Value, margin: str, in_argument: bool) -> str:
    return _inline(value.parts, margin, in_argument)


def _inline(parts: Sequence[Part], margin: str, in_argument: bool) -> str:
    """Parts on one line: newlines as escapes, blanks at the ends kept by escapes."""
    pieces = [_part(part, margin, in_argument) for part in parts]
    if pieces and isinstance(parts[0], Text):
        pieces[0] = _keep_start(pieces[0])
    if pieces and isinstance(parts[-1], Text):
        pieces[-1] = _keep_end(pieces[-1])
    return "".join(pieces)


def _part(part: Part, margin: str, in_argument: bool) -> str:
    match part:
        case Text():
            text = _escape(part.text).replace("\n", r"\n")
            return text.translate(_IN_ARGUMENT) if in_argument else text
        case Python():
            return _python(part, margin)
        case ast.Read():
            return f"<{part.name.text}>"
        case ast.Call():
            arguments = ", ".join(_value(item, margin, True) for item in part.arguments)
            return f"<{part.name.text}({arguments})>"
        case ast.Field():
            return f"[{part.name.text}: {_type(part.type)}]" if part.type else f"[{part.name.text}]"


def _escape(text: str) -> str:
    text = text.translate(_ALWAYS)
    return text.replace("~", r"\~") if "~~" in text else text


def _keep_start(piece: str) -> str:
    return _BLANK[piece[0]] + piece[1:] if piece[:1] in _BLANK else piece


def _keep_end(piece: str) -> str:
    return piece[:-1] + _BLANK[piece[-1]] if piece[-1:] in _BLANK else piece


def _prose_lines(parts: Sequence[Part], margin: str, marks: bool) -> list[str]:
    """Lines of a template or of prose; with ``marks`` no later one looks like a statement."""
    lines = _split_lines(parts)
    out: list[str] = []
    current = ""
    for index, line in enumerate(lines):
        text = _inline(line, margin, False)
        if index == 0:
            current = text
        elif not text or not current or (marks and _starts_with_backtick(line)):
            current += r"\n" + text
        else:
            out.append(current)
            current = _unmarked(text, line) if marks else text
        if not marks and current.startswith(">>"):
            current = "\\" + current
    out.append(current)
    return out


def _split_lines(parts: Sequence[Part]) -> list[list[Part]]:
    lines: list[list[Part]] = [[]]
    for part in parts:
        if not isinstance(part, Text) or "\n" not in part.text:
            lines[-1].append(part)
            continue
        for index, piece in enumerate(part.text.split("\n")):
            if index:
                lines.append([])
            if piece:
                lines[-1].append(Text(part.start, part.end, piece))
    return lines


def _unmarked(text: str, line: Sequence[Part]) -> str:
    """``text`` as a line that continues a template: markers at its start are escaped."""
    first = line[0]
    if isinstance(first, Text):
        return "\\" + text if text[0] in "@=>~" else text
    if isinstance(first, ast.Field) and len(line) > 1 and isinstance(line[1], Text):
        rest = line[1].text.lstrip(" \t")
        if rest.startswith(("=", ":=")):
            return (
                text.replace("=", r"\=", 1) if first.type is None else _escape_equals(text, first)
            )
    return text


def _starts_with_backtick(line: Sequence[Part]) -> bool:
    first = line[0]
    return isinstance(first, Python) and not first.angle


def _escape_equals(text: str, field: ast.Field) -> str:
    head = _part(field, "", False)
    return head + text[len(head) :].replace("=", r"\=", 1)
