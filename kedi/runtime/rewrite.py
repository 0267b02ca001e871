"""What embedded Python stores, found and changed in its syntax tree before it is compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

#: Where code that :class:`WriteThrough` has changed finds the scope it runs in.
SCOPE_NAME = "__kedi_scope__"


class WriteThrough(ast.NodeTransformer):
    """Turns stores of ``global`` names in functions and classes into stores in the scope.

    ``used`` says whether there was one. ``direct`` are names that are also stored by
    statements which cannot store anywhere else, such as an import.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.used = False
        self.direct: set[str] = set()
        self._active: frozenset[str] = frozenset()

    def begin(self, body: list[ast.stmt]) -> None:
        """Treat ``body`` as the block that the visited statements belong to."""
        self._active = self.names & _own_globals(body)

    def _block(self, node: Any) -> Any:
        # Decorators, defaults and bases belong to the enclosing block.
        self._stores(node.name)
        outer, inner = self._active, list[ast.stmt](node.body)
        node.body = []
        self.generic_visit(node)
        self._active = self.names & _own_globals(inner)
        node.body = [self.visit(item) for item in inner]
        self._active = outer
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _block

    def _stores(self, name: str | None) -> None:
        if name in self._active:
            self.direct.add(name)

    def visit_alias(self, node: ast.alias) -> ast.AST:
        self._stores(node.asname or node.name.partition(".")[0])
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self._stores(node.name)
        return self.generic_visit(node)

    def _capture(self, node: Any) -> Any:
        self._stores(node.rest if isinstance(node, ast.MatchMapping) else node.name)
        return self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _capture

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        outer, self._active = self._active, frozenset()
        self.generic_visit(node)
        self._active = outer
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        # Its target is a local of the comprehension, whatever is declared around it.
        node.iter = self.visit(node.iter)
        node.ifs = [self.visit(item) for item in node.ifs]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) or node.id not in self._active:
            return node
        self.used = True
        key = ast.copy_location(ast.Constant(node.id), node)
        made = ast.Subscript(value=_scope_at(node), slice=key, ctx=node.ctx)
        return ast.copy_location(made, node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        node.value = self.visit(node.value)
        if node.target.id not in self._active:
            return node
        self.used = True
        put = ast.Attribute(value=_scope_at(node), attr="put", ctx=ast.Load())
        key = ast.copy_location(ast.Constant(node.target.id), node)
        made = ast.Call(func=ast.copy_location(put, node), args=[key, node.value], keywords=[])
        return ast.copy_location(made, node)


def _scope_at(node: ast.expr) -> ast.Name:
    return ast.copy_location(ast.Name(id=SCOPE_NAME, ctx=ast.Load()), node)


def _own_globals(body: list[ast.stmt]) -> frozenset[str]:
    """Names in ``global`` statements of a block itself, not of functions and classes in it."""
    names: set[str] = set()
    pending: list[ast.AST] = list(body)
    while pending:
        item = pending.pop()
        if isinstance(item, ast.Global):
            names.update(item.names)
        elif not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            pending.extend(child for child in ast.iter_child_nodes(item))
    return frozenset(names)


def stored_first(body: list[ast.stmt], name: str) -> bool:
    """Whether the first statement that mentions ``name`` certainly stores and does not read it."""
    for item in body:
        mentions = [
            node
            for node in walk([item])
            if (isinstance(node, ast.Name) and node.id == name)
            or getattr(node, "name", None) == name
            or (isinstance(node, ast.alias) and name in (node.asname, node.name.partition(".")[0]))
        ]
        if mentions:
            simple = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)
            return isinstance(item, simple) and not any(
                isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) for node in mentions
            )
    return True


def own_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements with those inside of them, but for functions and classes."""
    pending: list[ast.AST] = list(body)
    while pending:
        item = pending.pop()
        if isinstance(item, ast.stmt):
            yield item
        if not isinstance(
            item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr, ast.pattern)
        ):
            pending.extend(ast.iter_child_nodes(item))


def walk(body: list[ast.stmt]) -> list[ast.AST]:
    """All nodes of statements, themselves first, breadth first."""
    found: list[ast.AST] = list(body)
    for item in found:
        found.extend(ast.iter_child_nodes(item))
    return found
