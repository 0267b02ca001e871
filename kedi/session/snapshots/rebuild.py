"""Definitions from their sources: compiled again, with nothing evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kedi.agents.config import AgentConfig
from kedi.runtime.compiler import Compiler
from kedi.runtime.directives import read_profile
from kedi.runtime.frames import Unit
from kedi.runtime.interpreter import Interpreter
from kedi.runtime.procedures import read_procedure
from kedi.runtime.scopes import Scope
from kedi.runtime.typedefs import build_type, read_type
from kedi.runtime.types import ANY, TypeContract
from kedi.session.session import Fragment, fragment_unit
from kedi.session.snapshots.atoms import Malformed, as_count, as_list, as_object, need
from kedi.session.snapshots.configs import ConfigReader
from kedi.session.snapshots.definitions import top_statements
from kedi.session.snapshots.reader import Decoder
from kedi.session.snapshots.types import decode_contract, decode_type
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt


class Rebuilder:
    """Compiles the statements that define what a snapshot refers to.

    ``definitions`` holds what is built by index, ``None`` before. ``configs`` gives the
    configurations that procedures captured.
    """

    def __init__(self, records: Any, fragments: Sequence[Fragment], cwd: Path) -> None:
        self._records = [
            as_object(record, "a definition") for record in as_list(records, "the definitions")
        ]
        self.definitions: list[Any] = [None] * len(self._records)
        self._fragments = fragments
        self._cwd = cwd
        self._units: dict[int, Unit] = {}
        self._tops: dict[int, dict[int, Stmt]] = {}
        self._order = self._ordered()

    def _ordered(self) -> list[int]:
        """Indexes in the order of the sources, in which each needs earlier ones only."""
        places: dict[tuple[int, int], int] = {}
        for index, record in enumerate(self._records):
            fragment = as_count(
                record.get("fragment"), "the fragment of a definition", len(self._fragments)
            )
            line = as_count(record.get("line"), "the line of a definition")
            need((fragment, line) not in places, "two definitions are in one place")
            places[fragment, line] = index
        return [places[place] for place in sorted(places)]

    def _fragment(self, number: int) -> Fragment:
        return self._fragments[number]

    def unit(self, index: int) -> Unit:
        """The unit of a fragment."""
        unit = self._units.get(index)
        if unit is None:
            fragment = self._fragments[index]
            unit = self._units[index] = fragment_unit(self._cwd, fragment.source, fragment.name)
        return unit

    def build(self, interpreter: Interpreter, scope: Scope, configs: ConfigReader) -> None:
        """Build all definitions as closures of ``scope``; none is bound to its name.

        Raises :class:`Malformed` and what a compiler raises.
        """
        for index in self._order:
            record = self._records[index]
            compiler = Compiler(interpreter, self.unit(record["fragment"]))
            self.definitions[index] = self._define(record, compiler, scope, configs)
            if compiler.diagnostics:
                raise compiler.diagnostics[0]

    def _define(
        self, record: dict[str, Any], compiler: Compiler, scope: Scope, configs: ConfigReader
    ) -> Any:
        number, line = record["fragment"], record["line"]
        if number not in self._tops:
            fragment = self._fragment(number)
            self._tops[number] = top_statements(fragment.source, fragment.name)
        stmt = self._tops[number].get(line)
        if stmt is None:
            raise Malformed(f"line {line} of `{compiler.unit.name}` defines nothing")
        first = line - 1 - stmt.line
        match record.get("kind"), stmt.node:
            case "profile", syntax.Profile():
                return read_profile(compiler, stmt, first)
            case "type", syntax.TypeDef() as node:
                return self._type(record, node, compiler, stmt, first, scope)
            case "procedure", syntax.Procedure() as node:
                agent = record.get("agent")
                config = None if agent is None else configs.get(agent)
                return self._procedure(record, node, compiler, stmt, first, scope, config)
            case _:
                raise Malformed(f"line {line} of `{compiler.unit.name}` defines something else")

    def _type(
        self,
        record: dict[str, Any],
        node: syntax.TypeDef,
        compiler: Compiler,
        stmt: Stmt,
        first: int,
        scope: Scope,
    ) -> Any:
        name = node.name.text
        items = _declared(record.get("fields"), node.fields)
        fields: dict[str, tuple[Any, Any]] = {}
        for parameter, item in zip(node.fields, items, strict=True):
            kind = decode_type(item[1], self.definitions, name)
            default = Decoder(()).value(item[2]) if len(item) > 2 else ...
            fields[parameter.name.text] = (kind, default)
        site = read_type(compiler, stmt, first)
        model: Any = build_type(name, fields, site, scope["__name__"])
        if record.get("replaced") is True:
            model.__kedi_replaced__ = True
        return model

    def _procedure(
        self,
        record: dict[str, Any],
        node: syntax.Procedure,
        compiler: Compiler,
        stmt: Stmt,
        first: int,
        scope: Scope,
        config: AgentConfig | None,
    ) -> Any:
        items = _declared(record.get("parameters"), node.parameters)
        parameters: list[tuple[str, TypeContract]] = []
        defaults: list[Any] = []
        for parameter, item in zip(node.parameters, items, strict=True):
            contract = decode_contract(item[1], self.definitions)
            if parameter.type is not None and contract is ANY:
                contract = TypeContract(Any)
            parameters.append((parameter.name.text, contract))
            if len(item) > 2:
                defaults.append(Decoder(()).value(item[2]))
        returns = record.get("returns")
        return read_procedure(compiler, stmt, first).make(
            compiler.interpreter,
            scope,
            tuple(parameters),
            None if returns is None else decode_contract(returns, self.definitions),
            config,
            tuple(defaults),
        )


def _declared(items: Any, declared: tuple[syntax.Parameter, ...]) -> list[Any]:
    """The entries of parameters or fields, which must be those of the source."""
    listed = as_list(items, "what a definition declares")
    need(len(listed) == len(declared), "a definition differs from its source")
    for item, parameter in zip(listed, declared, strict=True):
        name = parameter.name.text
        size = 2 if parameter.default is None else 3
        entry = as_list(item, f"the entry of `{name}`")
        need(len(entry) == size and entry[0] == name, f"`{name}` differs from its source")
    return listed
