"""Modules at run time: each initialised once per runtime, names published where imported."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedi.analysis.checks import compile_errors
from kedi.analysis.modules import ModuleGraph
from kedi.analysis.names import Kind, ModuleExports
from kedi.errors import KediCompileError
from kedi.runtime.blocks import Step
from kedi.runtime.compiler import Compiler
from kedi.runtime.frames import RunFrame, Site, Unit
from kedi.runtime.procedures import info_of
from kedi.runtime.scopes import MISSING, Scope, dict_get, root_scope
from kedi.runtime.typedefs import is_kedi_type
from kedi.runtime.types import EPOCH
from kedi.source import SourceFile
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter


class ScopeNames:
    """What is visible before a unit starts: answers analysis from a live scope."""

    def __init__(self, interpreter: Interpreter, scope: Scope, unit: Unit) -> None:
        self.interpreter = interpreter
        self.scope = scope
        self.unit = unit

    def kind_of(self, name: str) -> Kind | None:
        """What ``name`` is bound to now."""
        owner = self.scope.owner_of(name)
        if owner is None:
            return None
        return kind_of_value(dict_get(owner, name, None))

    def all_names(self) -> Iterable[str]:
        """Every visible name."""
        return [name for part in self.scope.chain() for name in part.own_names()]

    def module_exports(self, path: str) -> ModuleExports:
        """What an import would publish."""
        return self.interpreter.modules.exports(path, self.unit)


def kind_of_value(value: Any) -> Kind:
    """How analysis calls a bound value."""
    from kedi.runtime.directives import ProfileValue

    if info_of(value) is not None:
        return "procedure"
    if is_kedi_type(value):
        return "type"
    if isinstance(value, ProfileValue):
        return "profile"
    from kedi.runtime.types import is_type_like

    return "python" if callable(value) or is_type_like(value) else "value"


class ModuleLoader:
    """The modules of one runtime."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.graph = ModuleGraph(outer=self._outer)
        self._scopes: dict[Path, Scope] = {}

    def _outer(self, name: str) -> Kind | None:
        base = self.interpreter.base
        owner = base.owner_of(name) if base is not None else None
        return None if owner is None else kind_of_value(dict_get(owner, name, None))

    def exports(self, path: str, unit: Unit) -> ModuleExports:
        """What importing ``path`` from ``unit`` publishes; never runs anything."""
        importing = [Path(unit.source.path)] if unit.source.path is not None else []
        return self.graph.exports(path, Path(unit.directory), importing)

    def publish(
        self, frame: RunFrame, scope: Scope, path: str, unit: Unit, only: frozenset[str] | None
    ) -> None:
        """Initialise the module if this is the first import of it, and bind its exports."""
        file = self.graph.resolve(path, Path(unit.directory))
        exported = self.graph.exports_of(file)
        module = self._initialised(file)
        from kedi.runtime.compiler import bind

        for name in exported.names:
            if only is not None and name not in only:
                continue
            value = module.lookup(name)
            if value is MISSING:
                continue  # exported, but its statement did not run (a branch not taken)
            owner = module.owner_of(name)
            contract: Any = owner.contract_of(name) if owner is not None else None
            before = dict_get(scope, name)
            if before is not None and before is not value:
                EPOCH[0] += 1  # It may be a type that procedures look up by this name.
            bind(frame, scope, name, value, contract)

    def _initialised(self, file: Path) -> Scope:
        key = file.resolve()
        scope = self._scopes.get(key)
        if scope is not None:
            return scope
        module = self.graph.module(file)
        assert module.program is not None
        source = SourceFile(str(file), module.program.source.text, str(file))
        unit = Unit(source, "module", str(file.parent))
        body = Compiler(self.interpreter, unit).program(module.program)
        scope = root_scope(self.interpreter.base, "module", file.stem, str(key))
        self.interpreter.add_unit(unit)
        self.interpreter.run(unit, body, scope)
        # Kept only when it ran to its end: a module that failed is tried again.
        self._scopes[key] = scope
        return scope


def compile_import(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    """``> import: path``, all exports or the listed ones."""
    node = stmt.node
    assert isinstance(node, syntax.Import)
    interpreter = compiler.interpreter
    unit = compiler.unit
    path = node.path.text
    only: frozenset[str] | None = None
    if node.selective:
        only = frozenset(
            child.node.name.text for child in stmt.body if isinstance(child.node, syntax.NameLine)
        )
    site = compiler.site(stmt, line, "import", path)

    def run(frame: RunFrame, scope: Scope) -> None:
        interpreter.modules.publish(frame, scope, path, unit, only)

    return site, run


def check_program(
    interpreter: Interpreter, program: syntax.Program, scope: Scope, unit: Unit
) -> None:
    """Raise :class:`KediCompileError` for what analysis refuses in this place."""
    errors = compile_errors(program, ScopeNames(interpreter, scope, unit))
    if errors:
        raise KediCompileError(errors)
