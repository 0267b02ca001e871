"""Lexical scopes as the compile checks see them: what is bound so far, what will be by the end.

A statement that runs in place sees what its scopes have bound *so far*; the
body of a procedure runs later, so outside of itself it sees what those scopes
have bound *by their end*.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from kedi.analysis.names import Exported, Kind, ModuleExports
from kedi.analysis.pynames import bound_names
from kedi.analysis.types import BUILTIN_TYPES
from kedi.syntax.ast import (
    Fence,
    Field,
    Import,
    Init,
    NameLine,
    Optimize,
    Part,
    Procedure,
    Profile,
    RawCall,
    Stmt,
    Template,
    TypeDef,
    TypeExpr,
)

LocalKind = Kind | Literal["data"]
"""``data`` is a value that is certainly not a type, such as text or a declared ``int``."""

Importer = Callable[[str], ModuleExports | None]
"""Exports of a module path, ``None`` when they cannot be had."""

_MAYBE_TYPES = frozenset({"object", "Any"})


class Scope:
    """One block. ``late`` scopes (bodies that run later) see their parents by the end."""

    __slots__ = ("bound", "final", "late", "open", "params", "parent", "stmts")

    def __init__(
        self, parent: Scope | None, stmts: Sequence[Stmt] = (), late: bool = False
    ) -> None:
        self.parent = parent
        self.stmts = stmts
        self.late = late
        self.bound: dict[str, LocalKind] = {}
        self.params: set[str] = set()
        self.final: dict[str, LocalKind] | None = None
        self.open = False


def value_kind(expr: TypeExpr | None, text: bool) -> LocalKind:
    """Whether a value declared with ``expr`` may be a type; ``text`` when it is rendered."""
    if expr is None:
        return "data" if text else "value"
    if expr.python or expr.text in _MAYBE_TYPES or expr.text not in BUILTIN_TYPES:
        return "value"
    return "data"


def declare(scope: Scope, stmt: Stmt, importer: Importer, into: dict[str, LocalKind]) -> None:
    """Put the names that running ``stmt`` binds in its own scope into ``into``."""
    node = stmt.node
    if isinstance(node, Init):
        into[node.target.name.text] = value_kind(node.target.type, node.value.kind == "text")
    elif isinstance(node, Template):
        declare_fields(node.parts, into)
    elif isinstance(node, RawCall):
        into[node.target.name.text] = "data"
    elif isinstance(node, Procedure):
        into[node.name.text] = "procedure"
    elif isinstance(node, TypeDef):
        into[node.name.text] = "type"
    elif isinstance(node, Profile):
        into[node.name.text] = "profile"
    elif isinstance(node, Import):
        declare_import(scope, stmt, node, importer, into)
    elif isinstance(node, Fence):
        if node.prelude:
            found = bound_names(node.python.tree)
            scope.open = scope.open or found.open
            into.update((name, python_kind(item)) for name, item in found.names.items())
    elif isinstance(node, Optimize):
        for inner in stmt.body:
            declare(scope, inner, importer, into)


def declare_fields(parts: Sequence[Part], into: dict[str, LocalKind]) -> None:
    """Names that a model call with these parts binds."""
    for part in parts:
        if isinstance(part, Field):
            into[part.name.text] = value_kind(part.type, True)


def declare_import(
    scope: Scope, stmt: Stmt, node: Import, importer: Importer, into: dict[str, LocalKind]
) -> None:
    """Names that an import binds; an import that cannot be followed leaves the scope open."""
    exports = importer(node.path.text)
    if exports is None or not exports.complete:
        scope.open = True
    names: Mapping[str, Exported] = exports.names if exports is not None else {}
    if node.selective:
        for line in stmt.body:
            if isinstance(line.node, NameLine):
                name = line.node.name.text
                into[name] = names[name].kind if name in names else "value"
    else:
        into.update((name, item.kind) for name, item in names.items())


def python_kind(node: ast.AST) -> LocalKind:
    """Kind of a name a prelude binds: constants that cannot be types are told apart."""
    return "module" if isinstance(node, ast.alias) and node.asname is None else "python"


def by_end(scope: Scope, importer: Importer) -> dict[str, LocalKind]:
    """What ``scope`` has bound when all its statements have run."""
    final = scope.final
    if final is None:
        final = scope.final = dict(scope.bound)
        for stmt in scope.stmts:
            declare(scope, stmt, importer, final)
    return final
