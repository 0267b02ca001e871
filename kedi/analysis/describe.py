"""Declarations in words: signatures, types and documentation, as tools show them."""

from __future__ import annotations

from kedi.syntax.ast import (
    Docstring,
    Init,
    Parameter,
    Procedure,
    Python,
    Stmt,
    TypeDef,
    TypeExpr,
    Value,
)

_MAX_DEFAULT = 60


def type_text(expr: TypeExpr | None, default: str = "str") -> str:
    """A type as written, on one line, without backticks."""
    return " ".join(expr.text.split()) if expr is not None else default


def parameter_text(item: Parameter) -> str:
    """``name: T = default``; an untyped one with a default keeps its native value."""
    kind = type_text(item.type, "" if item.default is not None else "str")
    text = f"{item.name.text}: {kind}" if kind else item.name.text
    if item.default is not None:
        code = " ".join(item.default.code.split())
        text += f" = {code if len(code) <= _MAX_DEFAULT else code[: _MAX_DEFAULT - 1] + '…'}"
    return text


def signature(node: Procedure) -> str:
    """``name(a: int, b: str) -> int``."""
    inner = ", ".join(parameter_text(item) for item in node.parameters)
    return f"{node.name.text}({inner}) -> {type_text(node.returns)}"


def type_signature(node: TypeDef) -> str:
    """``Name(field: T, …)``."""
    return f"{node.name.text}({', '.join(parameter_text(item) for item in node.fields)})"


def docstring(stmt: Stmt) -> str:
    """The documentation of a procedure or profile, dedented; empty without one."""
    if not stmt.body or not isinstance(stmt.body[0].node, Docstring):
        return ""
    from inspect import cleandoc

    return cleandoc(stmt.body[0].node.text)


def value_type(value: Value) -> str:
    """What is known of the type of an untyped value."""
    if value.kind == "text":
        return "str"
    if value.kind == "native" and isinstance(value.parts[0], Python):
        return literal_type(value.parts[0])
    return ""


_DISPLAYS = {
    "List": "list",
    "ListComp": "list",
    "Dict": "dict",
    "DictComp": "dict",
    "Set": "set",
    "SetComp": "set",
    "Tuple": "tuple",
    "JoinedStr": "str",
    "GeneratorExp": "generator",
}


def literal_type(code: Python) -> str:
    """The builtin type that a literal expression certainly has, or an empty text."""
    import ast

    tree = code.tree.body if isinstance(code.tree, ast.Expression) else code.tree
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub | ast.UAdd):
        tree = tree.operand
    if isinstance(tree, ast.Constant):
        value: object = tree.value
        return "None" if value is None else type(value).__name__ if value is not ... else ""
    if isinstance(tree, ast.Compare):
        # Comparisons of numpy arrays and the like are no bool; `is` and `in` always are.
        sure = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
        return "bool" if all(isinstance(op, sure) for op in tree.ops) else ""
    return _DISPLAYS.get(type(tree).__name__, "")


def init_type(node: Init) -> str:
    """The declared type of a binding, or what its value certainly has."""
    if node.target.type is not None:
        return type_text(node.target.type)
    return value_type(node.value)
