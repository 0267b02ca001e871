"""Whether a declared type certainly refuses a value of a known builtin type."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache

from kedi.syntax.embedded import silent_name

# Which exact builtin types a declared one takes in pydantic's strict mode; the
# types that are left out (dates, decimals, patterns …) are never judged.
_TAKES: dict[str, frozenset[str]] = {
    "str": frozenset({"str"}),
    "int": frozenset({"int"}),
    "float": frozenset({"float", "int"}),
    "bool": frozenset({"bool"}),
    "bytes": frozenset({"bytes"}),
    "list": frozenset({"list"}),
    "dict": frozenset({"dict"}),
    "set": frozenset({"set"}),
    "frozenset": frozenset({"frozenset"}),
    "tuple": frozenset({"tuple"}),
    "None": frozenset({"None"}),
}
_JUDGED = _TAKES.keys()


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, silent_name(text), "eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def accepts(declared: str, actual: str, is_model: Callable[[str], bool]) -> bool | None:
    """Whether ``declared`` takes a value whose type is ``actual``; ``None`` when unsure.

    ``actual`` is a builtin type's name or a declared type such as ``list[int]``,
    of which only the head counts. ``is_model`` says whether a name is a Kedi
    type: only instances of it are taken.
    """
    head = actual.split("[", 1)[0].strip()
    if head not in _JUDGED or "|" in actual:
        return None
    tree = _parsed(declared)
    return None if tree is None else _takes(tree, head, is_model)


def _takes(tree: ast.expr, head: str, is_model: Callable[[str], bool]) -> bool | None:
    answers: list[bool | None] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            stack += [node.left, node.right]
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            outer = node.value.id
            inner = node.slice
            items = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
            if outer == "Optional":
                answers.append(head == "None")
                stack += items
            elif outer == "Union":
                stack += items
            elif outer == "Annotated":
                stack += items[:1]
            else:
                answers.append(_name(outer, head, is_model))
        elif isinstance(node, ast.Name):
            answers.append(_name(node.id, head, is_model))
        elif isinstance(node, ast.Constant) and node.value is None:
            answers.append(head == "None")
        else:
            answers.append(None)
    if any(answer for answer in answers):
        return True
    return False if answers and all(answer is False for answer in answers) else None


def _name(name: str, head: str, is_model: Callable[[str], bool]) -> bool | None:
    if is_model(name):
        return False
    takes = _TAKES.get(name)
    return None if takes is None else head in takes
