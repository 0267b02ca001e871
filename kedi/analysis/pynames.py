"""Names that embedded Python binds and reads, from its syntax tree alone.

Nothing here recurses: a tree may be as deep as Python's own parser allows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from kedi.syntax.nodes import Record

_OPENERS = frozenset({"globals", "locals", "vars", "exec", "setattr"})

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Bound(Record):
    """Names a suite binds at its own level; ``open`` when it may bind others we cannot see."""

    names: dict[str, ast.AST]
    open: bool


class PyName(Record):
    """One occurrence of a name that belongs to the suite itself (not to a function in it).

    ``node`` gives the position; ``write`` when the occurrence binds the name;
    ``inner`` when it stands inside a function, class or comprehension.
    """

    name: str
    node: ast.AST
    write: bool
    inner: bool


class PyUse(Record):
    """What a piece of embedded Python reads and binds at the level of its globals.

    ``calls`` maps the ``id`` of an occurrence's node to the call it is the
    function of.
    """

    occurrences: tuple[PyName, ...]
    reads: frozenset[str]
    writes: frozenset[str]
    open: bool
    calls: dict[int, ast.Call]


def bound_names(tree: ast.AST | None) -> Bound:
    """What a suite binds at its top level, with the node that binds each name last.

    Functions and classes are not entered, but for ``global`` declarations in
    them. ``from m import *`` and writes through ``globals()`` and the like
    make the answer *open*; so does a tree that is not there.
    """
    if tree is None:
        return Bound({}, True)
    names, declared, is_open = _collect([tree])
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Global):
            for name in inner.names:
                names.setdefault(name, inner)
    return Bound({**names, **{n: tree for n in declared if n not in names}}, is_open)


def _collect(roots: Iterable[ast.AST]) -> tuple[dict[str, ast.AST], set[str], bool]:
    """``(bound, declared global or nonlocal, open)`` of one scope, inner scopes left out."""
    names: dict[str, ast.AST] = {}
    declared: set[str] = set()
    is_open = False
    stack: list[ast.AST] = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names[node.id] = node
            elif node.id in _OPENERS:
                is_open = True
            continue
        if isinstance(node, ast.Constant):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[node.name] = node
            stack.extend(reversed(node.decorator_list))
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    is_open = True
                else:
                    names[alias.asname or alias.name.split(".")[0]] = alias
            continue
        if isinstance(node, _COMPREHENSIONS):
            # Only := escapes a comprehension; its own targets do not.
            for inner in ast.walk(node):
                if isinstance(inner, ast.NamedExpr):
                    names[inner.target.id] = inner.target
                elif isinstance(inner, ast.Name) and inner.id in _OPENERS:
                    is_open = True
            continue
        if isinstance(node, ast.Global | ast.Nonlocal):
            declared.update(node.names)
            continue
        if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names[node.name] = node
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names[node.rest] = node
        children = list(ast.iter_child_nodes(node))
        children.reverse()
        stack.extend(children)
    return names, declared, is_open


class _Push(Protocol):
    def __call__(self, nodes: Iterable[ast.AST | None], scope: _PyScope | None) -> None: ...


class _PyScope:
    """A function, class or comprehension inside a suite."""

    __slots__ = ("is_class", "names", "parent")

    def __init__(self, parent: _PyScope | None, names: set[str], is_class: bool = False) -> None:
        self.parent = parent
        self.names = names
        self.is_class = is_class

    def holds(self, name: str) -> bool:
        """Whether this scope or one around it (below the suite) binds ``name``."""
        scope: _PyScope | None = self
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return True
            scope = scope.parent
        return False


_EMPTY_USE = PyUse((), frozenset(), frozenset(), False, {})


def uses(tree: ast.AST | None) -> PyUse:
    """Every name of ``tree`` that is not local to a function, class or comprehension in it."""
    if tree is None:
        return _EMPTY_USE
    if type(tree) is ast.Expression:
        tree = tree.body
    if type(tree) is ast.Constant:
        return _EMPTY_USE
    return _uses(tree)


def _uses(tree: ast.AST) -> PyUse:
    found: list[PyName] = []
    calls: dict[int, ast.Call] = {}
    is_open = False
    stack: list[tuple[ast.AST, _PyScope | None]] = [(tree, None)]

    def note(name: str, node: ast.AST, scope: _PyScope | None, write: bool) -> None:
        if scope is None:
            found.append(PyName(name, node, write, False))
        elif not scope.holds(name):
            found.append(PyName(name, node, write, True))

    def push(nodes: Iterable[ast.AST | None], scope: _PyScope | None) -> None:
        items = [(node, scope) for node in nodes if node is not None]
        items.reverse()
        stack.extend(items)

    while stack:
        node, scope = stack.pop()
        if isinstance(node, ast.Name):
            write = not isinstance(node.ctx, ast.Load)
            note(node.id, node, scope, write)
            is_open = is_open or (not write and node.id in _OPENERS)
        elif isinstance(node, ast.Constant):
            pass
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            note(node.name, node, scope, True)
            arguments = node.args
            inner = _function_scope(scope, arguments, node.body)
            push(node.body, inner)
            push(_argument_types(arguments), scope)
            push([*arguments.defaults, *arguments.kw_defaults, node.returns], scope)
            push(node.decorator_list, scope)
        elif isinstance(node, ast.Lambda):
            push([node.body], _function_scope(scope, node.args, [node.body]))
            push([*node.args.defaults, *node.args.kw_defaults], scope)
        elif isinstance(node, ast.ClassDef):
            note(node.name, node, scope, True)
            names, declared, _ = _collect(node.body)
            push(node.body, _PyScope(scope, set(names) - declared, True))
            push([*node.decorator_list, *node.bases, *node.keywords], scope)
        elif isinstance(node, _COMPREHENSIONS):
            _push_comprehension(node, scope, push)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    is_open = True
                else:
                    note(alias.asname or alias.name.split(".")[0], alias, scope, True)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            note(node.target.id, node.target, scope, False)
            push([node.value, node.target], scope)
        else:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                calls[id(node.func)] = node
            if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                note(node.name, node, scope, True)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                note(node.rest, node, scope, True)
            push(ast.iter_child_nodes(node), scope)
    reads = frozenset(item.name for item in found if not item.write)
    writes = frozenset(item.name for item in found if item.write)
    return PyUse(tuple(found), reads, writes, is_open, calls)


def _function_scope(
    parent: _PyScope | None, arguments: ast.arguments, body: list[ast.stmt] | list[ast.expr]
) -> _PyScope:
    names, declared, _ = _collect(body)
    local = set(names) - declared
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    local.update(item.arg for item in every)
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            local.add(extra.arg)
    return _PyScope(parent, local)


def _argument_types(arguments: ast.arguments) -> list[ast.expr | None]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    extra = [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
    return [item.annotation for item in (*every, *extra)]


def _push_comprehension(node: _Comprehension, scope: _PyScope | None, push: _Push) -> None:
    names: set[str] = set()
    for generator in node.generators:
        for inner in ast.walk(generator.target):
            if isinstance(inner, ast.Name):
                names.add(inner.id)
    local = _PyScope(scope, names)
    body = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    push(body, local)
    for index, generator in enumerate(node.generators):
        push(generator.ifs, local)
        push([generator.target], local)
        push([generator.iter], scope if index == 0 else local)


def code_points(line: str, byte_column: int) -> int:
    """Code-point column of a UTF-8 byte column, as ``ast`` gives them."""
    if line.isascii():
        return byte_column
    return len(line.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "ignore"))


@lru_cache(maxsize=64)
def _line_starts(code: str) -> tuple[int, ...]:
    starts = [0]
    at = code.find("\n")
    while at != -1:
        starts.append(at + 1)
        at = code.find("\n", at + 1)
    return tuple(starts)


def offset_in(code: str, line: int, byte_column: int) -> int:
    """Offset in ``code`` of an ``ast`` position: 1-based line, UTF-8 byte column; clamped."""
    if line <= 1 and code.isascii():
        return min(max(0, byte_column), len(code))
    starts = _line_starts(code)
    index = min(max(0, line - 1), len(starts) - 1)
    begin = starts[index]
    end = starts[index + 1] - 1 if index + 1 < len(starts) else len(code)
    return min(begin + code_points(code[begin:end], max(0, byte_column)), len(code))
