"""What a module publishes, from its statements and the exports of what it imports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kedi.analysis.describe import docstring, init_type, signature, type_signature, type_text
from kedi.analysis.names import Exported, Kind, ModuleExports, ModuleProblem, Names
from kedi.analysis.pynames import bound_names
from kedi.syntax.ast import (
    Export,
    Fence,
    Field,
    Import,
    Init,
    NameLine,
    Node,
    Optimize,
    Procedure,
    Profile,
    Program,
    RawCall,
    Stmt,
    Template,
    TypeDef,
)


def module_exports(program: Program, path: Path | None, names: Names) -> ModuleExports:
    """Published and private names of a module; later declarations replace earlier ones.

    ``> export: *`` publishes what Kedi itself declares or imports, unless it
    starts with ``_``; names of the Python prelude are published when listed.
    """
    declared: dict[str, Exported] = {}
    python: set[str] = set()
    listed: list[str] = []
    everything = False
    complete = True
    for stmt, base in program.top_level():
        node = stmt.node
        if isinstance(node, Export):
            everything = everything or node.everything
            listed += [line.node.name.text for line in stmt.body if isinstance(line.node, NameLine)]
        elif isinstance(node, Import):
            try:
                found = names.module_exports(node.path.text)
            except ModuleProblem:
                complete = False
                continue
            declared.update(imported(stmt, node, found))
        elif isinstance(node, Fence):
            if node.prelude:
                bound = bound_names(node.python.tree)
                complete = complete and not (bound.open and everything)
                python.update(name for name in bound.names if name not in declared)
                span = program.span(stmt, node, base)
                for name in bound.names:
                    declared.setdefault(name, Exported("python", span))
        else:
            for name, exported in declarations(program, stmt, base):
                declared[name] = exported
                python.discard(name)
    published: dict[str, Exported] = {}
    if everything:
        published.update(
            (name, item)
            for name, item in declared.items()
            if not name.startswith("_") and name not in python
        )
    for name in listed:
        if name in declared:
            published[name] = declared[name]
        elif (kind := names.kind_of(name)) is not None:
            published[name] = Exported(kind)
    private = frozenset(declared.keys() - published.keys())
    return ModuleExports(path, published, private, complete)


def imported(stmt: Stmt, node: Import, found: ModuleExports) -> dict[str, Exported]:
    """The names that an import binds, out of what the module publishes."""
    if not node.selective:
        return dict(found.names)
    lines = (line.node.name.text for line in stmt.body if isinstance(line.node, NameLine))
    return {name: found.names[name] for name in lines if name in found.names}


def declarations(program: Program, stmt: Stmt, base: int) -> Iterator[tuple[str, Exported]]:
    """Names that a statement declares in its own scope, Python and imports left out."""

    def made(kind: Kind, name: Node, detail: str = "", doc: str = "") -> Exported:
        return Exported(kind, program.span(stmt, name, base), detail, doc)

    node = stmt.node
    if isinstance(node, Init):
        yield node.target.name.text, made("value", node.target.name, init_type(node))
    elif isinstance(node, RawCall):
        yield node.target.name.text, made("value", node.target.name, "str")
    elif isinstance(node, Template):
        for part in node.parts:
            if isinstance(part, Field):
                yield part.name.text, made("value", part.name, type_text(part.type))
    elif isinstance(node, Procedure):
        yield node.name.text, made("procedure", node.name, signature(node), docstring(stmt))
    elif isinstance(node, TypeDef):
        yield node.name.text, made("type", node.name, type_signature(node))
    elif isinstance(node, Profile):
        yield node.name.text, made("profile", node.name, "", docstring(stmt))
    elif isinstance(node, Optimize):
        for inner in stmt.body:
            yield from declarations(program, inner, base)
