"""From the content of a snapshot to the parts of a session: checked whole, nothing executed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from kedi.agents.config import AgentConfig
from kedi.agents.pool import AdapterPool
from kedi.errors import KediError, SessionLoadError
from kedi.runtime.compiler import Compiler
from kedi.runtime.directives import read_profile
from kedi.runtime.engine import make_engine
from kedi.runtime.frames import Unit
from kedi.runtime.interpreter import Interpreter
from kedi.runtime.procedures import read_procedure
from kedi.runtime.program import base_scope
from kedi.runtime.scopes import Scope, dict_set, root_scope
from kedi.runtime.typedefs import build_type, read_type
from kedi.runtime.types import ANY, EPOCH, TypeContract
from kedi.session.config import SessionConfig, resolve_config
from kedi.session.session import Fragment, fragment_unit
from kedi.session.snapshot_atoms import Malformed, need, read_str
from kedi.session.snapshot_config import ConfigReader
from kedi.session.snapshot_definitions import top_statements
from kedi.session.snapshot_file import source_digest
from kedi.session.snapshot_parts import Hole, SessionParts
from kedi.session.snapshot_reader import Decoder
from kedi.session.snapshot_types import decode_contract, decode_type
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

_CONTENT = (
    *("fragments", "evaluations", "cwd", "engine", "subagents", "configs", "active"),
    *("definitions", "args", "env", "bindings", "cells", "holes"),
)
_MAX_COUNT = 2**63


def restore(
    content: dict[str, Any],
    *,
    supplied: Mapping[str, Any],
    executor: Any,
    engine: Any,
    conversation: Any,
    cwd: str | os.PathLike[str] | None,
) -> tuple[SessionParts, dict[str, Any]]:
    """``(parts, keywords)``: the keywords that create the session the parts then go into.

    Raises :class:`SessionLoadError`.
    """
    try:
        need(tuple(content) == _CONTENT, "its parts are not those of a snapshot")
        return _Restoration(content, supplied, executor, engine, conversation, cwd).run()
    except Malformed as error:
        raise SessionLoadError(f"the snapshot is malformed: {error}") from error.__cause__
    except KediError as error:
        if isinstance(error, SessionLoadError):
            raise
        raise SessionLoadError(f"the snapshot cannot be rebuilt: {error.message}") from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        # What a hostile document provokes in a reader of one value.
        raise SessionLoadError(f"the snapshot is malformed: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise SessionLoadError("the snapshot needs more room than there is") from error


class _Restoration:
    def __init__(
        self,
        content: dict[str, Any],
        supplied: Mapping[str, Any],
        executor: Any,
        engine: Any,
        conversation: Any,
        cwd: str | os.PathLike[str] | None,
    ) -> None:
        self.content = content
        self.supplied = supplied
        self.executor = executor
        self.engine = engine
        self.conversation = conversation
        self.cwd = _directory(content["cwd"], cwd)
        self.holes = _holes(content["holes"])
        self.fragments = _fragments(content["fragments"])
        self.units: dict[int, Unit] = {}
        self.tops: dict[int, dict[int, Stmt]] = {}
        #: Built ones by index; ``None`` before.
        self.definitions: list[Any] = []

    def run(self) -> tuple[SessionParts, dict[str, Any]]:
        content = self.content
        evaluations = content["evaluations"]
        need(_is_count(evaluations), "the number of evaluations is no number")
        records = content["definitions"]
        need(type(records) is list, "the definitions are not a list")
        self.definitions = [None] * len(records)
        order = self._order(records)
        subagents = _subagents(content["subagents"])
        env: dict[str, Any] = {}
        configs = ConfigReader(
            content["configs"], self.supplied, env, self.conversation, self.definitions, self.holes
        )
        config = self._config(configs, subagents)
        interpreter = Interpreter(
            config=config.agents,
            adapters=AdapterPool(),
            engine=config.engine,
            executor=config.executor,
        )
        base = base_scope({}, {}, interpreter.args_name)
        scope = root_scope(base, "session", "session")
        interpreter.base = base
        for index in order:
            self.definitions[index] = self._define(records[index], interpreter, scope, configs)
        decoder = Decoder(self.definitions, self.holes)
        decoder.read_cells(content["cells"])
        arguments = base[interpreter.args_name]
        for name, value, _ in self._bindings(content["args"], decoder):
            setattr(arguments, name, value)
        self._bind(base, content["env"], decoder, env)
        self._bind(scope, content["bindings"], decoder, None)
        if content["active"] is not None:
            scope.agent = configs.get(content["active"])
        for index, fragment in enumerate(self.fragments):
            interpreter.add_unit(self._unit(index, fragment))
        EPOCH[0] += 1
        parts = SessionParts(
            config, interpreter, base, scope, self.fragments, evaluations, tuple(self.holes)
        )
        return parts, _keywords(config, self.executor)

    # ── configuration ────────────────────────────────────────────────────────

    def _config(self, configs: ConfigReader, subagents: dict[str, Any]) -> SessionConfig:
        agents = configs.get(0)
        engine = self.engine
        record = self.content["engine"]
        if record is not None:
            need(
                type(record) is dict and type(record.get("parallel")) is bool,
                "the engine cannot be read",
            )
            workers = record.get("max_workers", 1)
            need(_is_count(workers) and 0 < workers <= 10_000, "the engine has no workers")
            if engine is None:
                engine = make_engine(record["parallel"], workers)
        resolved = resolve_config(executor=self.executor, engine=engine, cwd=self.cwd, **subagents)
        # The session's configuration is the snapshot's, not one over the present defaults.
        return SessionConfig(
            agents, resolved.engine, resolved.executor, resolved.cwd, resolved.subagents
        )

    # ── definitions ──────────────────────────────────────────────────────────

    def _order(self, records: list[Any]) -> list[int]:
        """Indexes in the order of the sources, in which each needs earlier ones only."""
        places: dict[tuple[int, int], int] = {}
        for index, record in enumerate(records):
            need(type(record) is dict, "a definition is not an object")
            fragment, line = record.get("fragment"), record.get("line")
            need(
                _is_count(fragment) and fragment < len(self.fragments) and _is_count(line),
                "a definition is in no fragment",
            )
            need((fragment, line) not in places, "two definitions are in one place")
            places[fragment, line] = index
        return [places[place] for place in sorted(places)]

    def _unit(self, index: int, fragment: Fragment) -> Unit:
        unit = self.units.get(index)
        if unit is None:
            unit = self.units[index] = fragment_unit(self.cwd, fragment.source, fragment.name)
        return unit

    def _define(
        self,
        record: dict[str, Any],
        interpreter: Interpreter,
        scope: Scope,
        configs: ConfigReader,
    ) -> Any:
        number, line = record["fragment"], record["line"]
        fragment = self.fragments[number]
        if number not in self.tops:
            self.tops[number] = top_statements(fragment.source, fragment.name)
        stmt = self.tops[number].get(line)
        need(stmt is not None, f"line {line} of `{fragment.name}` defines nothing")
        assert stmt is not None
        unit = self._unit(number, fragment)
        compiler = Compiler(interpreter, unit)
        maker, node = _MAKERS.get(record.get("kind", ""), (None, None))
        need(maker is not None and type(stmt.node) is node, "a definition is of another kind")
        assert maker is not None
        made = maker(self, record, compiler, stmt, line - 1 - stmt.line, scope, configs)
        if compiler.diagnostics:
            raise compiler.diagnostics[0]
        return made

    def _profile(
        self,
        record: dict[str, Any],
        compiler: Compiler,
        stmt: Stmt,
        line: int,
        scope: Scope,
        configs: ConfigReader,
    ) -> Any:
        return read_profile(compiler, stmt, line)

    def _type(
        self,
        record: dict[str, Any],
        compiler: Compiler,
        stmt: Stmt,
        line: int,
        scope: Scope,
        configs: ConfigReader,
    ) -> Any:
        node = stmt.node
        assert isinstance(node, syntax.TypeDef)
        name = node.name.text
        items = _declared(record.get("fields"), node.fields)
        fields: dict[str, tuple[Any, Any]] = {}
        for parameter, item in zip(node.fields, items, strict=True):
            kind = decode_type(item[1], self.definitions, name)
            default = Decoder(()).value(item[2]) if len(item) > 2 else ...
            fields[parameter.name.text] = (kind, default)
        site = read_type(compiler, stmt, line)
        model: Any = build_type(name, fields, site, scope["__name__"])
        if record.get("replaced") is True:
            model.__kedi_replaced__ = True
        return model

    def _procedure(
        self,
        record: dict[str, Any],
        compiler: Compiler,
        stmt: Stmt,
        line: int,
        scope: Scope,
        configs: ConfigReader,
    ) -> Any:
        node = stmt.node
        assert isinstance(node, syntax.Procedure)
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
        agent = record.get("agent")
        source = read_procedure(compiler, stmt, line)
        return source.make(
            compiler.interpreter,
            scope,
            tuple(parameters),
            None if returns is None else decode_contract(returns, self.definitions),
            None if agent is None else configs.get(agent),
            tuple(defaults),
        )

    # ── values ───────────────────────────────────────────────────────────────

    @staticmethod
    def _bindings(records: Any, decoder: Decoder) -> list[tuple[str, Any, Any]]:
        """``(name, value, type tree)``."""
        need(type(records) is list, "bindings are not a list")
        found: list[tuple[str, Any, Any]] = []
        names: set[str] = set()
        for record in records:
            need(type(record) is dict and 2 <= len(record) <= 3, "a binding cannot be read")
            name = read_str(record.get("name"))
            need(name.isidentifier(), "a binding has no name")
            need(name not in names, f"`{name}` is bound twice")
            names.add(name)
            if "plain" in record:
                value = record["plain"]
            else:
                need("value" in record, "a binding has no value")
                value = decoder.value(record["value"])
            need(len(record) == 2 or "type" in record, "a binding has an unknown part")
            found.append((name, value, record.get("type")))
        return found

    def _bind(
        self, scope: Scope, records: Any, decoder: Decoder, env: dict[str, Any] | None
    ) -> None:
        for name, value, kind in self._bindings(records, decoder):
            if env is not None:
                need(name != "args", "the arguments are bound twice")
            if isinstance(value, Hole):
                if scope.pending is None:
                    scope.pending = {}
                scope.pending[name] = value
                value.binding = True
            else:
                dict_set(scope, name, value)
                if env is not None:
                    env[name] = value
            if kind is not None:
                if scope.contracts is None:
                    scope.contracts = {}
                scope.contracts[name] = decode_contract(kind, self.definitions)


_Maker = Callable[..., Any]
_MAKERS: dict[str, tuple[_Maker, type]] = {
    "procedure": (_Restoration._procedure, syntax.Procedure),  # pyright: ignore[reportPrivateUsage]
    "type": (_Restoration._type, syntax.TypeDef),  # pyright: ignore[reportPrivateUsage]
    "profile": (_Restoration._profile, syntax.Profile),  # pyright: ignore[reportPrivateUsage]
}


def _declared(items: Any, declared: tuple[syntax.Parameter, ...]) -> list[Any]:
    """The entries of parameters or fields, which must be those of the source."""
    need(
        type(items) is list and len(items) == len(declared), "a definition differs from its source"
    )
    for item, parameter in zip(items, declared, strict=True):
        size = 2 if parameter.default is None else 3
        need(
            type(item) is list and len(item) == size and item[0] == parameter.name.text,
            f"`{parameter.name.text}` differs from its source",
        )
    return items


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MAX_COUNT


def _fragments(records: Any) -> list[Fragment]:
    need(type(records) is list, "the fragments are not a list")
    found: list[Fragment] = []
    names: set[str] = set()
    for number, record in enumerate(records, 1):
        need(
            type(record) is dict and tuple(record) == ("name", "source", "sha256", "state"),
            "a fragment cannot be read",
        )
        name, source = read_str(record["name"]), read_str(record["source"])
        need(bool(name.strip()) and "\0" not in name and "\n" not in name, "a fragment has no name")
        need(name not in names, "two fragments have one name")
        names.add(name)
        need(record["sha256"] == source_digest(source), f"the source of `{name}` was changed")
        state = record["state"]
        need(state in ("done", "failed"), "a fragment neither ended nor failed")
        found.append(Fragment(number, name, source, state))
    return found


def _holes(records: Any) -> list[Hole]:
    need(type(records) is list, "the holes are not a list")
    found: list[Hole] = []
    for record in records:
        need(
            type(record) is dict and tuple(record) == ("path", "reason", "fragment"),
            "a hole cannot be read",
        )
        fragment = record["fragment"]
        found.append(
            Hole(
                read_str(record["path"]),
                read_str(record["reason"]),
                None if fragment is None else read_str(fragment),
            )
        )
    return found


def _directory(stored: Any, given: str | os.PathLike[str] | None) -> Path:
    text = read_str(stored)
    need("\0" not in text and os.path.isabs(text), "the working directory is not absolute")
    path = Path(text) if given is None else Path(given).absolute()
    if not path.is_dir():
        raise SessionLoadError(
            f"the session worked in {path}, which is no directory here: pass `cwd=` to "
            "`kedi.load_session`"
        )
    return path


def _subagents(record: Any) -> dict[str, Any]:
    names = ("max_depth", "max_concurrency", "timeout_seconds", "usage", "state_path")
    need(type(record) is dict and tuple(record) == names, "the limits of subagents cannot be read")
    path = record["state_path"]
    return {
        "subagent_max_depth": record["max_depth"],
        "subagent_max_concurrency": record["max_concurrency"],
        "subagent_timeout_seconds": record["timeout_seconds"],
        "subagent_usage_limits": Decoder(()).value(record["usage"]),
        "subagent_state_path": None if path is None else read_str(path),
    }


def _keywords(config: SessionConfig, executor: Any) -> dict[str, Any]:
    """What a constructor of sessions gets, without what is at its default."""
    default = AgentConfig()
    agents = config.agents
    keywords: dict[str, Any] = {"cwd": config.cwd, "engine": config.engine}
    if executor is not None:
        keywords["executor"] = executor
    for name in AgentConfig.__dataclass_fields__:
        value = getattr(agents, name)
        if name != "adapter_kwargs" and value != getattr(default, name):
            keywords[name] = list(cast("Any", value)) if isinstance(value, tuple) else value
    return keywords
