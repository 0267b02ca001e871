"""Plainly written types: which forms are allowed, and which names they mention.

A type in backticks is Python and is only looked at when it runs. Everything
else must be a form of the table below, so that a slip is found before anything
of the source runs.
"""

from __future__ import annotations

import ast

from kedi.analysis.pynames import offset_in
from kedi.syntax.ast import TypeExpr
from kedi.syntax.embedded import silent_name
from kedi.syntax.nodes import Record

BUILTIN_TYPES: frozenset[str] = frozenset(
    (
        "str",
        "int",
        "float",
        "bool",
        "bytes",
        "object",
        "Any",
        "None",
        "list",
        "dict",
        "tuple",
        "set",
        "frozenset",
        "Union",
        "Optional",
        "Literal",
        "Annotated",
        "datetime",
        "date",
        "time",
        "timedelta",
        "Decimal",
        "UUID",
        "Path",
        "Regex",
        "Email",
        "HttpUrl",
        "FileUrl",
        "List",
        "Dict",
        "Set",
        "FrozenSet",
        "Tuple",
    )
)
"""Names that need no declaration (language reference, Types), with the old typing spellings."""

OLD_SPELLINGS = frozenset({"List", "Dict", "Set", "FrozenSet", "Tuple"})
"""Built-in names that are understood but not offered."""

_ARITY: dict[str, tuple[int, int | None]] = {
    "list": (1, 1),
    "set": (1, 1),
    "frozenset": (1, 1),
    "dict": (2, 2),
    "tuple": (0, None),
    "List": (1, 1),
    "Set": (1, 1),
    "FrozenSet": (1, 1),
    "Dict": (2, 2),
    "Tuple": (0, None),
    "Union": (1, None),
    "Optional": (1, 1),
    "Literal": (1, None),
    "Annotated": (2, None),
}
_NEED_ARGUMENTS = frozenset({"Union", "Optional", "Literal", "Annotated"})
_BARE = BUILTIN_TYPES - _NEED_ARGUMENTS


class TypeFinding(Record):
    """Something wrong with a type; offsets into its text.

    ``builtin`` is the built-in name the finding depends on: a declaration of
    the same name lifts it.
    """

    start: int
    end: int
    code: str
    message: str
    hint: str | None = None
    builtin: str | None = None


class TypeName(Record):
    """A name a type mentions. ``root`` of a dotted name; ``arguments`` when subscripted."""

    name: str
    start: int
    end: int
    dotted: bool = False
    arguments: bool = False


class TypeShape(Record):
    """Names and findings of one type text; built-in names that are used rightly are left out."""

    names: tuple[TypeName, ...] = ()
    findings: tuple[TypeFinding, ...] = ()


_EMPTY = TypeShape()
_SHAPES: dict[str, TypeShape] = {}
_MAX_SHAPES = 4096


def type_shape(expr: TypeExpr) -> TypeShape:
    """The names and findings of a plainly written type, remembered by its text."""
    text = expr.text
    if text in _BARE:
        return _EMPTY
    known = _SHAPES.get(text)
    if known is None:
        known = _examine(text, expr.tree)
        if len(_SHAPES) >= _MAX_SHAPES:
            _SHAPES.clear()
        _SHAPES[text] = known
    return known


def type_tree(expr: TypeExpr) -> ast.expr | None:
    """The expression of a type, ``None`` when it is not Python at all."""
    return _expression(expr.text, expr.tree)


def _expression(text: str, tree: ast.AST | None) -> ast.expr | None:
    if tree is None:
        try:
            tree = ast.parse(text, silent_name(text), "eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None
    if isinstance(tree, ast.Expression):
        return tree.body
    return tree if isinstance(tree, ast.expr) else None


def _examine(text: str, tree: ast.AST | None) -> TypeShape:
    expression = _expression(text, tree)
    if expression is None:
        return _EMPTY
    examiner = _Examiner(text)
    examiner.run(expression)
    if not examiner.names and not examiner.findings:
        return _EMPTY
    return TypeShape(tuple(examiner.names), tuple(examiner.findings))


class _Examiner:
    """Walks one type with an explicit stack: nesting depth is the text's, not ours."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[TypeName] = []
        self.findings: list[TypeFinding] = []
        self.stack: list[tuple[ast.expr, bool]] = []

    def run(self, expression: ast.expr) -> None:
        self.stack.append((expression, False))
        while self.stack:
            node, ellipsis_ok = self.stack.pop()
            self.visit(node, ellipsis_ok)

    def place(self, node: ast.expr) -> tuple[int, int]:
        start = offset_in(self.text, node.lineno, node.col_offset)
        end = offset_in(self.text, node.end_lineno or node.lineno, node.end_col_offset or 0)
        return start, max(start, end)

    def wrong(
        self,
        node: ast.expr,
        message: str,
        hint: str | None = None,
        code: str = "invalid-type",
        builtin: str | None = None,
    ) -> None:
        start, end = self.place(node)
        self.findings.append(TypeFinding(start, end, code, message, hint, builtin))

    def visit(self, node: ast.expr, ellipsis_ok: bool) -> None:
        if isinstance(node, ast.Name):
            self.name(node, arguments=False)
        elif isinstance(node, ast.Constant):
            self.constant(node, ellipsis_ok)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            self.stack.append((node.right, False))
            self.stack.append((node.left, False))
        elif isinstance(node, ast.Subscript):
            self.subscript(node)
        elif isinstance(node, ast.Attribute):
            self.dotted(node, arguments=False)
        else:
            self.wrong(
                node,
                "this is not a type",
                f"put a computed type in backticks: `` `{self.segment(node)}` ``",
            )

    def segment(self, node: ast.expr) -> str:
        start, end = self.place(node)
        text = self.text[start:end]
        return text if len(text) <= 40 else text[:39] + "…"

    def name(self, node: ast.Name, arguments: bool) -> None:
        name = node.id
        if name in BUILTIN_TYPES:
            if name in _NEED_ARGUMENTS and not arguments:
                self.wrong(
                    node,
                    f"`{name}` needs type arguments",
                    f"write `{name}[…]`",
                    "type-arguments",
                    name,
                )
            return
        start, end = self.place(node)
        self.names.append(TypeName(name, start, end, False, arguments))

    def constant(self, node: ast.Constant, ellipsis_ok: bool) -> None:
        value: object = node.value
        if value is None or (value is Ellipsis and ellipsis_ok):
            return
        if isinstance(value, str):
            hint = (
                f"write the name without quotes: `{value}`"
                if value.isidentifier()
                else 'a fixed text is `Literal["…"]`'
            )
            self.wrong(node, "a quoted text is not a type", hint)
        elif value is Ellipsis:
            self.wrong(node, "`...` is only allowed in `tuple[T, ...]`")
        else:
            self.wrong(
                node,
                f"`{self.segment(node)}` is a value, not a type",
                f"a fixed value is `Literal[{self.segment(node)}]`",
            )

    def dotted(self, node: ast.Attribute, arguments: bool) -> None:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            self.wrong(node, "this is not a type", "put a computed type in backticks")
            return
        start, end = self.place(root)
        self.names.append(TypeName(root.id, start, end, True, arguments))

    def subscript(self, node: ast.Subscript) -> None:
        base, inner = node.value, node.slice
        items = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        head = base.id if isinstance(base, ast.Name) else None
        if isinstance(base, ast.Attribute):
            self.dotted(base, arguments=True)
            head = base.attr
        elif head is None:
            self.wrong(base, "this cannot take type arguments")
            return
        elif isinstance(base, ast.Name):
            if head in _ARITY:
                self.arity(node, head, items)
            elif head in BUILTIN_TYPES:
                self.wrong(base, f"`{head}` takes no type arguments", None, "type-arguments", head)
            self.name(base, arguments=True)
        if head == "Literal":
            for item in items:
                self.literal(item)
        elif head == "Annotated":
            self.stack.extend((item, False) for item in items[:1])
        else:
            for item in reversed(items):
                if isinstance(item, ast.List) and head not in _ARITY:
                    self.stack.extend((part, False) for part in reversed(item.elts))
                else:
                    self.stack.append((item, head not in _ARITY or head in ("tuple", "Tuple")))

    def arity(self, node: ast.Subscript, head: str, items: list[ast.expr]) -> None:
        low, high = _ARITY[head]
        if len(items) >= low and (high is None or len(items) <= high):
            return
        wanted = "one type argument" if low == 1 else f"{low} type arguments"
        hint = {
            "dict": "write `dict[K, V]`",
            "Dict": "write `dict[K, V]`",
            "Annotated": 'write `Annotated[T, "description"]`',
            "Optional": "write `Optional[T]` or `T | None`",
        }
        self.wrong(
            node,
            f"`{head}` takes {wanted}, not {len(items)}",
            hint.get(head, f"write `{head}[A | B]` for mixed items" if len(items) > 1 else None),
            "type-arguments",
            head,
        )

    def literal(self, item: ast.expr) -> None:
        value = item.operand if isinstance(item, ast.UnaryOp) else item
        if isinstance(value, ast.Constant) and not isinstance(value.value, float | complex):
            return
        if isinstance(item, ast.Attribute):
            self.dotted(item, arguments=False)
        elif isinstance(item, ast.Subscript):
            self.subscript(item)
        else:
            self.wrong(
                item,
                f"`Literal` takes fixed values, not `{self.segment(item)}`",
                f'a fixed text needs quotes: `Literal["{self.segment(item)}"]`'
                if isinstance(item, ast.Name)
                else None,
            )
