"""Procedures, types and profiles in snapshots: where in the sources they come from."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from kedi.runtime.directives import ProfileValue
from kedi.runtime.frames import Site
from kedi.runtime.procedures import ProcedureInfo, info_of
from kedi.runtime.typedefs import is_kedi_type
from kedi.session.snapshots.atoms import Malformed, Refused
from kedi.session.snapshots.codec import Encoder, NoDefinitions
from kedi.session.snapshots.parts import SessionParts
from kedi.session.snapshots.paths import root
from kedi.session.snapshots.refusals import reason_for
from kedi.session.snapshots.types import encode_type
from kedi.session.static import is_real, namespace_of
from kedi.syntax import ast as syntax
from kedi.syntax import parse
from kedi.syntax.ast import Stmt

#: What pydantic keeps in a class besides Python's own names.
_CLASS_NAMES = frozenset({"model_config", "_abc_impl"})


@dataclass(frozen=True, slots=True)
class Place:
    """A top-level statement: index of its fragment, 1-based line, the statement."""

    fragment: int
    line: int
    stmt: Stmt


class DefinitionTable:
    """Numbers the definitions that values need, each after those that it needs itself.

    ``records`` are their entries in the snapshot. ``seen`` maps mutable objects in
    defaults to the definition that holds them. ``agent_index`` numbers the model
    configuration that a procedure captured.
    """

    def __init__(self, parts: SessionParts, agent_index: Callable[[Any, str], int]) -> None:
        self.records: list[dict[str, Any]] = []
        self.seen: dict[int, Any] = {}
        self._parts = parts
        self._agent_index = agent_index
        self._known: dict[int, int | str] = {}
        self._numbers = {item.name: index for index, item in enumerate(parts.fragments)}
        self._tops: dict[int, dict[int, Stmt]] = {}

    def index_of(self, value: Any) -> int | str:
        """The index in the table, or the reason why the definition cannot be restored."""
        found = self._known.get(id(value))
        if found is None:
            try:
                found = self._add(value)
            except Refused as refused:
                found = str(refused)
            except RecursionError:
                found = "the types it needs form too long a chain"
            self._known[id(value)] = found
        return found

    def position_of(self, value: Any) -> tuple[int, int]:
        """``(fragment index, line)``; ``(-1, 0)`` for what comes from no fragment."""
        site = _site_of(value)
        if site is None:
            return -1, 0
        return self._numbers.get(site.unit.name, -1), site.base_line + site.stmt.line + 1

    def _add(self, value: Any) -> int:
        site = _site_of(value)
        if site is None:
            raise Refused(reason_for(value))
        place = self._place(site)
        if is_real(value, ProfileValue):
            record = self._profile(value)
        elif is_real(value, type):
            record = self._type(value, place)
        else:
            record = self._procedure(value, place)
        self.records.append({**record, "fragment": place.fragment, "line": place.line})
        return len(self.records) - 1

    def _place(self, site: Site) -> Place:
        unit = site.unit
        if unit.kind == "module":
            raise Refused(f"it is imported from `{unit.name}`, and imports are not kept")
        if unit.kind != "fragment" or self._parts.interpreter.units.get(unit.name) is not unit:
            raise Refused("it belongs to another session or program")
        number = self._numbers.get(unit.name)
        line = site.base_line + site.stmt.line + 1
        stmt = None if number is None else self._top(number).get(line)
        if number is None or stmt is None or type(stmt.node) is not type(site.stmt.node):
            raise Refused(
                "it was defined inside a block or procedure while that ran: "
                "define it at the top level"
            )
        return Place(number, line, stmt)

    def _top(self, number: int) -> dict[int, Stmt]:
        found = self._tops.get(number)
        if found is None:
            fragment = self._parts.fragments[number]
            found = self._tops[number] = top_statements(fragment.source, fragment.name)
        return found

    def _profile(self, value: ProfileValue) -> dict[str, Any]:
        return {"kind": "profile", "name": value.name}

    # ── types ────────────────────────────────────────────────────────────────

    def _type(self, cls: Any, place: Place) -> dict[str, Any]:
        node = place.stmt.node
        assert isinstance(node, syntax.TypeDef)
        for name in namespace_of(cls):
            if not (name.startswith("__") or name in _CLASS_NAMES):
                raise Refused(f"its attribute `{name}` was set from outside")
        fields: list[Any] = []
        for item, (name, (kind, default)) in zip(
            node.fields, cls.__kedi_fields__.items(), strict=True
        ):
            try:
                field = [name, encode_type(kind, self, cls.__name__)]
            except Refused as refused:
                raise Refused(f"the field `{name}` cannot be restored: {refused}") from None
            if item.default is not None:
                field.append(self._default(f"{cls.__name__}.{name}", item.default, default))
            fields.append(field)
        record: dict[str, Any] = {"kind": "type", "name": cls.__name__, "fields": fields}
        if "__kedi_replaced__" in namespace_of(cls):
            record["replaced"] = True
        return record

    # ── procedures ───────────────────────────────────────────────────────────

    def _procedure(self, value: FunctionType, place: Place) -> dict[str, Any]:
        info = info_of(value)
        node = place.stmt.node
        assert info is not None
        assert isinstance(node, syntax.Procedure)
        if info.interpreter is not self._parts.interpreter:
            raise Refused(reason_for(value))
        if info.scope is not self._parts.scope:
            raise Refused("it was defined inside a block or procedure: define it at the top level")
        defaults = self._untouched(value, info, node)
        parameters: list[Any] = []
        for item, (name, contract) in zip(node.parameters, info.parameters, strict=True):
            try:
                parameter = [name, encode_type(contract.type, self)]
            except Refused as refused:
                raise Refused(f"the parameter `{name}` cannot be restored: {refused}") from None
            where = f"{info.name}({name})"
            if item.default is not None:
                parameter.append(self._default(where, item.default, next(defaults)))
            parameters.append(parameter)
        returns = None if info.returns is None else encode_type(info.returns.type, self)
        agent = None
        if info.agent is not None:
            agent = self._agent_index(info.agent, info.name)
        return {
            "kind": "procedure",
            "name": info.name,
            "parameters": parameters,
            "returns": returns,
            "agent": agent,
        }

    @staticmethod
    def _untouched(value: FunctionType, info: ProcedureInfo, node: syntax.Procedure) -> Any:
        """The defaults, if the function is as its definition made it."""
        for name in value.__dict__:
            if name != "__kedi_procedure__":
                raise Refused(f"its attribute `{name}` was set from outside")
        if value.__name__ != info.name or value.__doc__ != info.docstring:
            raise Refused("its name or docstring was changed from outside")
        defaults = value.__defaults__ or ()
        expected = sum(item.default is not None for item in node.parameters)
        if len(defaults) != expected or value.__kwdefaults__:
            raise Refused("its defaults were changed from outside")
        return iter(defaults)

    def _default(self, where: str, python: syntax.Python, value: Any) -> Any:
        if not is_literal(python.code):
            code = python.code.strip()
            shown = code if len(code) <= 60 else f"{code[:60]}…"
            raise Refused(
                f"the default `{shown}` of `{where}` is code, which loading would have to run: "
                "write a literal, or make it inside"
            )
        encoder = Encoder(NoDefinitions("a definition"), cells=False, columns=False)
        tree = encoder.encode(value, root(where), exact=True)
        if encoder.problems:
            raise Refused(f"the default of `{where}` has changed since: {encoder.problems[0][1]}")
        self.seen.update(encoder.seen)
        return tree


def _site_of(value: Any) -> Site | None:
    """The statement that defined a procedure, type or profile; ``None`` for other values."""
    if is_real(value, ProfileValue):
        return value.site
    if is_kedi_type(value):
        return namespace_of(value)["__kedi_site__"]
    info = info_of(value)
    return None if info is None else info.site


def top_statements(source: str, name: str) -> dict[int, Stmt]:
    """Top-level statements of a fragment by their 1-based lines.

    Raises :class:`Malformed` for text that no session has executed, since it does not parse.
    """
    result = parse(source, name, mode="fragment")
    if result.status != "complete":
        raise Malformed(f"`{name}` does not parse: {result.diagnostics[0].message}")
    return {line + stmt.line + 1: stmt for stmt, line in result.program.top_level()}


def is_literal(code: str) -> bool:
    """Whether a default is a value written down: evaluating it calls nothing."""
    try:
        ast.literal_eval(code.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
