"""From the content of a snapshot to the parts of a session: checked whole, nothing executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from kedi.agents.config import AgentConfig
from kedi.agents.pool import AdapterPool
from kedi.errors import KediError, SessionLoadError
from kedi.runtime.directory import absolute
from kedi.runtime.engine import make_engine
from kedi.runtime.interpreter import Interpreter
from kedi.runtime.program import base_scope, engine_for
from kedi.runtime.scopes import Scope, dict_set, root_scope
from kedi.runtime.types import EPOCH
from kedi.session.config import SessionConfig, resolve_config
from kedi.session.session import Fragment
from kedi.session.snapshots.atoms import Malformed, as_count, as_list, as_object, need, read_str
from kedi.session.snapshots.configs import ConfigReader
from kedi.session.snapshots.file import source_digest
from kedi.session.snapshots.parts import Hole, SessionParts
from kedi.session.snapshots.plausible import plausible
from kedi.session.snapshots.reader import Decoder
from kedi.session.snapshots.rebuild import Rebuilder
from kedi.session.snapshots.types import decode_contract

_CONTENT = (
    *("fragments", "evaluations", "cwd", "engine", "subagents", "configs", "active"),
    *("definitions", "args", "env", "bindings", "cells", "holes"),
)


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
    except SessionLoadError as error:
        failure = error
    except Malformed as error:
        failure = SessionLoadError(f"the snapshot is malformed: {error}")
        failure.__cause__ = error.__cause__
    except KediError as error:
        failure = SessionLoadError(f"the snapshot cannot be rebuilt: {error.message}")
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        # What a hostile document provokes in a reader of one value.
        failure = SessionLoadError(f"the snapshot is malformed: {error}")
    except (RecursionError, MemoryError):
        failure = SessionLoadError("the snapshot needs more room than there is")
    # Raised here, so that no traceback keeps what was built halfway.
    raise failure.with_traceback(None)


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
        self.rebuilder = Rebuilder(content["definitions"], self.fragments, self.cwd)
        self.definitions = self.rebuilder.definitions

    def run(self) -> tuple[SessionParts, dict[str, Any]]:
        content = self.content
        evaluations = as_count(content["evaluations"], "the number of evaluations")
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
        self.rebuilder.build(interpreter, scope, configs)
        decoder = Decoder(self.definitions, self.holes)
        decoder.read_cells(content["cells"])
        arguments = base[interpreter.args_name]
        for name, value, _ in self._bindings(content["args"], decoder):
            setattr(arguments, name, value)
        self._bind(base, content["env"], decoder, env)
        self._bind(scope, content["bindings"], decoder, None)
        if content["active"] is not None:
            scope.agent = configs.get(content["active"])
        for index in range(len(self.fragments)):
            interpreter.add_unit(self.rebuilder.unit(index))
        EPOCH[0] += 1
        parts = SessionParts(
            config,
            interpreter,
            base,
            scope,
            self.fragments,
            evaluations,
            tuple(self.holes),
            len(self.fragments),
        )
        return parts, _keywords(config, self.executor)

    # ── configuration ────────────────────────────────────────────────────────

    def _config(self, configs: ConfigReader, subagents: dict[str, Any]) -> SessionConfig:
        agents = configs.get(0)
        engine = self.engine
        record = self.content["engine"]
        if record is not None:
            kind = as_object(record, "the engine")
            parallel = kind.get("parallel")
            need(parallel is True or parallel is False, "the engine is of no kind")
            workers = as_count(kind.get("max_workers", 1), "the number of workers", 10_001)
            need(workers > 0, "the engine has no workers")
            if engine is None:
                engine = make_engine(parallel is True, workers)
        engine = engine_for(agents, engine)
        resolved = resolve_config(executor=self.executor, engine=engine, cwd=self.cwd, **subagents)
        # The session's configuration is the snapshot's, not one over the present defaults.
        return SessionConfig(
            agents, resolved.engine, resolved.executor, resolved.cwd, resolved.subagents
        )

    # ── values ───────────────────────────────────────────────────────────────

    @staticmethod
    def _bindings(records: Any, decoder: Decoder) -> list[tuple[str, Any, Any]]:
        """``(name, value, type tree)``."""
        found: list[tuple[str, Any, Any]] = []
        names: set[str] = set()
        for item in as_list(records, "the table of bindings"):
            record = as_object(item, "a binding")
            need(2 <= len(record) <= 3, "a binding cannot be read")
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
        for place, (name, value, kind) in enumerate(self._bindings(records, decoder)):
            if env is not None:
                need(name != "args", "the arguments are bound twice")
            if isinstance(value, Hole):
                if scope.pending is None:
                    scope.pending = {}
                scope.pending[name] = value
                value.place = place
            else:
                dict_set(scope, name, value)
                if env is not None:
                    env[name] = value
            if kind is not None:
                if scope.contracts is None:
                    scope.contracts = {}
                contract = scope.contracts[name] = decode_contract(kind, self.definitions)
                need(
                    isinstance(value, Hole) or plausible(contract.type, value),
                    f"`{name}` is declared {contract.label} and holds something else",
                )


def _fragments(records: Any) -> list[Fragment]:
    found: list[Fragment] = []
    names: set[str] = set()
    for number, item in enumerate(as_list(records, "the fragments"), 1):
        record = as_object(item, "a fragment")
        need(tuple(record) == ("name", "source", "sha256", "state"), "a fragment cannot be read")
        name, source = read_str(record["name"]), read_str(record["source"])
        need(bool(name.strip()) and "\0" not in name and "\n" not in name, "a fragment has no name")
        need(name not in names, "two fragments have one name")
        names.add(name)
        need(record["sha256"] == source_digest(source), f"the source of `{name}` was changed")
        need(record["state"] in ("done", "failed"), "a fragment neither ended nor failed")
        failed = record["state"] == "failed"
        found.append(Fragment(number, name, source, "failed" if failed else "done"))
    return found


def _holes(records: Any) -> list[Hole]:
    found: list[Hole] = []
    for item in as_list(records, "the holes"):
        record = as_object(item, "a hole")
        need(tuple(record) == ("path", "reason", "fragment"), "a hole cannot be read")
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
    need("\0" not in text and Path(text).is_absolute(), "the working directory is not absolute")
    path = Path(text) if given is None else absolute(given)
    if not _is_directory(path):
        raise SessionLoadError(
            f"the session worked in {path}, which is no directory here: pass `cwd=` to "
            "`kedi.load_session`"
        )
    return path


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _subagents(tree: Any) -> dict[str, Any]:
    names = ("max_depth", "max_concurrency", "timeout_seconds", "usage", "state_path")
    record = as_object(tree, "the limits of subagents")
    need(tuple(record) == names, "the limits of subagents cannot be read")
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
