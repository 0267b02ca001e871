"""From a session to the content of its snapshot: all is looked at before a byte is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from kedi.analysis.pynames import bound_names
from kedi.errors import DumpProblem, SessionDumpError
from kedi.runtime.engine import ParallelEngine, SequentialEngine
from kedi.runtime.procedures import info_of
from kedi.runtime.program import ProgramArguments
from kedi.runtime.scopes import MISSING, Scope, dict_get, own_keys
from kedi.session.origins import Origins
from kedi.session.snapshots.atoms import Refused, encode_str
from kedi.session.snapshots.codec import Encoder, NeedsPlain, NoDefinitions
from kedi.session.snapshots.configs import ConfigTable
from kedi.session.snapshots.definitions import DefinitionTable
from kedi.session.snapshots.file import source_digest
from kedi.session.snapshots.parts import PLACES, Hole, SessionParts, open_holes
from kedi.session.snapshots.paths import ATTRIBUTE, Node, path_text, root, root_name
from kedi.session.snapshots.types import encode_type
from kedi.session.static import is_real, label_of, namespace_of
from kedi.syntax import ast as syntax
from kedi.syntax import parse

#: Names that Python itself keeps in the namespace of a module.
SYSTEM_NAMES = frozenset(
    {"__name__", "__doc__", "__package__", "__spec__", "__loader__", "__file__", "__builtins__"}
)


@dataclass(frozen=True, slots=True)
class _Problem:
    node: Node
    reason: str
    fragment: str | None = None


def collect(parts: SessionParts, *, partial: bool = False) -> bytes:
    """The content of a snapshot, as canonical JSON.

    Raises :class:`SessionDumpError` that lists every problem; with ``partial`` they
    become holes. The session must not change meanwhile.
    """
    settle(parts.scope)
    settle(parts.base)
    attempt = _Attempt(parts, columns=True, holes=False, exact=frozenset())
    content = attempt.run()
    if content is None:
        # Something is wrong or unusual: once more, item by item, for exact places.
        attempt = _Attempt(parts, columns=False, holes=partial, exact=frozenset())
        content = attempt.run()
    if content is None or (attempt.problems and not partial):
        raise _failure(parts, attempt.problems)
    return content


def settle(scope: Scope) -> None:
    """Wait for promises of a scope; one that fails stays, and is reported as a problem."""
    for name, pending in list((scope.pending or {}).items()):
        if not isinstance(pending, Hole):
            try:
                scope.settle(name)
            except Exception:
                continue


class _Attempt:
    """One walk over the session. ``exact`` names the roots whose every part is looked at."""

    def __init__(
        self, parts: SessionParts, *, columns: bool, holes: bool, exact: frozenset[int]
    ) -> None:
        self.parts = parts
        self.columns = columns
        self.holes = holes
        self.exact = exact
        self.problems: list[_Problem] = []
        self._configs = ConfigTable(parts.config.agents)
        self._definitions = DefinitionTable(parts, self._agent_index)
        self._configs.index_of_tool = self._definitions.index_of
        self._encoder = Encoder(self._definitions, columns=columns, holes=holes)
        self._trees: list[Any] = []

    def _agent_index(self, config: Any, name: str) -> int:
        return self._configs.index_of(config, f"{name}.config")

    def run(self) -> bytes | None:
        """The content; ``None`` when there are problems, or when columns do not fit."""
        try:
            content = self._content()
        except NeedsPlain:
            return None
        except Refused as refused:
            self.problems.append(_Problem(root("bindings"), str(refused)))
            return None
        except RuntimeError as error:
            # Another thread changes what is being walked, or the host left no room to walk.
            raise SessionDumpError(f"the session cannot be saved: {error}") from error
        if self.problems and not self.holes:
            return None
        try:
            return orjson.dumps(content)
        except TypeError:
            return self._again(content)

    def _again(self, content: dict[str, Any]) -> bytes | None:
        """Once more, looking at every part of the values that the JSON writer refuses."""
        odd = {index for index, tree in enumerate(self._trees) if not _writes(tree)}
        if not _writes(content["cells"]) or not odd:
            odd = set(range(len(self._trees)))
        if odd <= self.exact:
            raise SessionDumpError("the session cannot be saved: a value changed meanwhile")
        again = _Attempt(
            self.parts,
            columns=self.columns,
            holes=self.holes,
            exact=self.exact | odd,
        )
        found = again.run()
        self.problems = again.problems
        return found

    # ── the document ─────────────────────────────────────────────────────────

    def _content(self) -> dict[str, Any]:
        parts = self.parts
        base = self._configs.index_of(parts.config.agents, "config")
        assert base == 0
        arguments = self._arguments()
        environment = self._bindings(parts.base, _environment)
        bindings = self._bindings(parts.scope, root)
        active = parts.scope.agent
        chosen = None if active is None else self._configs.index_of(active, "directives")
        cells = self._encoder.finish()
        self._compare(self._definitions.seen)
        self._compare(self._configs.seen)
        self._host()
        subagents = self._subagents()
        holes = self._holes()
        return {
            "fragments": [
                {
                    "name": encode_str(item.name),
                    "source": encode_str(item.source),
                    "sha256": source_digest(item.source),
                    "state": item.state,
                }
                for item in parts.fragments
            ],
            "evaluations": parts.evaluations,
            "cwd": encode_str(str(parts.config.cwd)),
            "engine": _engine(parts.config.engine),
            "subagents": subagents,
            "configs": self._configs.records,
            "active": chosen,
            "definitions": self._definitions.records,
            "args": arguments,
            "env": environment,
            "bindings": bindings,
            "cells": cells,
            "holes": holes,
        }

    def _encode(self, value: Any, node: Node) -> tuple[Any, bool]:
        """``(tree, tagged)``; the tree is kept to be looked at again."""
        tree = self._encoder.encode(value, node, exact=len(self._trees) in self.exact)
        self._trees.append(tree)
        return tree, self._encoder.tagged

    def _record(self, name: str, value: Any, node: Node) -> dict[str, Any]:
        tree, tagged = self._encode(value, node)
        return {"name": encode_str(name), "value" if tagged else "plain": tree}

    def _bindings(self, scope: Scope, node_of: Callable[[str], Node]) -> list[Any]:
        found: list[Any] = []
        # The arguments are kept by themselves.
        skipped = self.parts.interpreter.args_name if scope is self.parts.base else ""
        for name in _names(scope, skipped):
            value = dict_get(scope, name, MISSING)
            if value is MISSING:
                value = (scope.pending or {})[name]
            contract: Any = scope.contract_of(name)
            kind: Any = None
            hole: int | None = None
            if contract is not None:
                try:
                    kind = encode_type(contract.type, self._definitions)
                except Refused as refused:
                    reason = f"its declared type cannot be restored: {refused}"
                    hole = self._refuse(node_of(name), reason)
            if hole is not None and self.holes:
                record: dict[str, Any] = {"name": encode_str(name), "value": ["!", hole]}
            else:
                record = self._record(name, value, node_of(name))
            if kind is not None:
                record["type"] = kind
            found.append(record)
        return found

    def _refuse(self, node: Node, reason: str) -> int:
        self._encoder.problems.append((node, reason))
        return len(self._encoder.problems) - 1

    def _arguments(self) -> Any:
        name = self.parts.interpreter.args_name
        value = dict_get(self.parts.base, name)
        if type(value) is not ProgramArguments:
            self._refuse(root(name), f"it is a `{label_of(value)}`, not the program's arguments")
            return []
        return [
            self._record(key, item, (root(name), key, ATTRIBUTE))
            for key, item in vars(value).items()
        ]

    def _subagents(self) -> dict[str, Any]:
        limits = self.parts.config.subagents
        state = limits.state_path
        encoder = Encoder(NoDefinitions("limits are data"), cells=False, columns=False)
        usage = encoder.encode(limits.usage, root("config.subagent_usage_limits"), exact=True)
        self._encoder.problems += encoder.problems
        return {
            "max_depth": limits.max_depth,
            "max_concurrency": limits.max_concurrency,
            "timeout_seconds": limits.timeout_seconds,
            "usage": usage,
            "state_path": None if state is None else encode_str(str(state)),
        }

    def _compare(self, seen: dict[int, Node]) -> None:
        """Refuse objects that both a binding and a default or configuration hold."""
        if self._encoder.meets(seen):
            raise NeedsPlain
        for key, node in seen.items():
            first = self._encoder.seen.get(key)
            if first is not None:
                self._refuse(first, f"it is also part of `{path_text(node)}`")

    def _host(self) -> None:
        """What belongs to the process and not to a value: modules, preludes, adapters."""
        for place, reason, fragment in _run_code(self.parts):
            self.problems.append(_Problem(root(place), reason, fragment))
        for name in _stateful(self.parts):
            reason = (
                f"the adapter `{name}` keeps the conversation itself, and has answered: its "
                "state cannot be saved"
            )
            self.problems.append(_Problem(root("config.adapter"), reason))

    def _holes(self) -> list[Any]:
        """Number all problems: those of values first, which trees refer to by number."""
        origins = _Origins(self.parts)
        values = [_Problem(*item) for item in self._encoder.problems]
        configs = [_Problem(*item) for item in self._configs.problems]
        for record in self._configs.records:
            if "holes" in record:
                record["holes"] = [len(values) + index for index in record["holes"]]
        known = {path_text(item.node) for item in self.problems}
        for hole in open_holes(self.parts):
            if hole.path.startswith(PLACES) and hole.path not in known:
                self.problems.append(_Problem(root(hole.path), hole.reason, hole.fragment))
        self.problems = [*values, *configs, *self.problems]
        if not self.holes:
            return []
        return [
            {
                "path": encode_str(path_text(item.node)),
                "reason": encode_str(item.reason),
                "fragment": _optional(item.fragment or origins.of(item.node)),
            }
            for item in self.problems
        ]


def _names(scope: Scope, skipped: str) -> list[str]:
    """Every name of a scope, those that look like Python's own included."""
    names = own_keys(scope)
    holes: list[tuple[int, str]] = []
    for name, pending in (scope.pending or {}).items():
        if isinstance(pending, Hole) and pending.place is not None:
            holes.append((pending.place, name))
        else:
            names.append(name)
    own = SYSTEM_NAMES | {skipped}
    names = [name for name in names if name not in own]
    # A hole keeps its place, which a scope cannot: the dict below it does not hold its name.
    for place, name in sorted(holes):
        names.insert(place, name)
    return names


def _environment(name: str) -> Node:
    return root("env"), name


def _optional(text: str | None) -> Any:
    return None if text is None else encode_str(text)


def _writes(tree: Any) -> bool:
    try:
        orjson.dumps(tree)
    except TypeError:
        return False
    return True


def _engine(engine: Any) -> dict[str, Any] | None:
    if type(engine) is SequentialEngine:
        return {"parallel": False}
    if type(engine) is ParallelEngine:
        return {"parallel": True, "max_workers": engine.max_workers}
    return None


# ── what ran ──────────────────────────────────────────────────────────────────

_SKIPPED = r"\A\ufeff?(?:[ \t\f]*(?:#(?!##)[^\n]*)?\r?\n)*[ \t]*"
_MAY_BEGIN_WITH_FENCE = re.compile(_SKIPPED + r"(?:```|###)")


def _run_code(parts: SessionParts) -> Iterator[tuple[str, str, str | None]]:
    """``(path, reason, fragment)`` of preludes and imports that ran in this process."""
    modules = [unit.name for unit in parts.interpreter.units.values() if unit.kind == "module"]
    imported = False
    origins: dict[str, str] | None = None
    for item in parts.fragments[parts.restored :]:
        fence = "```" in item.source and _MAY_BEGIN_WITH_FENCE.match(item.source)
        if not fence and not (modules and "import" in item.source):
            continue
        place = f'fragments["{item.name}"]'
        for stmt, line in parse(item.source, item.name, mode="fragment").program.walk():
            if isinstance(stmt.node, syntax.Fence) and stmt.node.prelude:
                if origins is None:
                    origins = Origins().update(parts.fragments)
                reason = _prelude_reason(parts.scope, item.name, stmt.node, origins)
                if reason is not None:
                    yield place, reason, item.name
            elif isinstance(stmt.node, syntax.Import) and modules:
                imported = True
                reason = (
                    f"line {line + stmt.line + 1} imports `{stmt.node.path.text}`, and loading "
                    "would have to run that module again"
                )
                yield place, reason, item.name
    if modules and not imported:
        for name in modules:
            yield f'modules["{name}"]', "it was imported, and loading would have to run it", None


#: Names of a prelude that a reason lists.
_LISTED = 5


def _prelude_reason(
    scope: Scope, fragment: str, node: syntax.Fence, origins: dict[str, str]
) -> str | None:
    """Why a prelude stands in the way; ``None`` when nothing is there that it has bound.

    What printed only, failed before it bound anything, or was bound anew by later fragments
    leaves nothing that would have to be run again.
    """
    found = bound_names(node.python.tree)
    present = set(own_keys(scope)) | set(scope.pending or ())
    names = [
        name
        for name in found.names
        if name in present
        # Procedures and types say themselves where they come from.
        and (_source_of(dict_get(scope, name)) or origins.get(name)) == fragment
    ]
    if not names and not found.open:
        return None
    listed = ", ".join(f"`{name}`" for name in names[:_LISTED])
    if len(names) > _LISTED:
        listed += f" and {len(names) - _LISTED} more"
    what = f" for {listed}" if names else ""
    return (
        f"it begins with a prelude, Python that loading would have to run again{what}: bind "
        "what you need with `[name] = …`, and define procedures with `@`"
    )


def _stateful(parts: SessionParts) -> Iterator[str]:
    """Names of adapter objects that have answered and may hold the conversation."""
    answered = {call.record.adapter for call in parts.interpreter.calls.all()}
    chosen = parts.config.agents
    for adapter in (chosen.adapter, chosen.agent):
        name = getattr(adapter, "shortname", None)
        able: Any = getattr(adapter, "capabilities", None)
        stateful = getattr(able, "supports_stateful_history", None) is True
        if stateful and isinstance(name, str) and name in answered:
            yield name


class _Origins:
    """Which fragment made a value: read from the sources when a problem needs it."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._names: dict[str, str] | None = None

    def of(self, node: Node) -> str | None:
        """The fragment that bound the name at which a path begins."""
        name = root_name(node)
        value = dict_get(self._parts.scope, name, MISSING)
        pending = (self._parts.scope.pending or {}).get(name)
        if isinstance(value, Hole) or isinstance(pending, Hole):
            hole: Any = value if isinstance(value, Hole) else pending
            return hole.fragment
        if self._names is None:
            self._names = Origins().update(self._parts.fragments)
        return self._names.get(name) or _source_of(value)


def _source_of(value: Any) -> str | None:
    info = info_of(value)
    if info is not None:
        return info.unit.name
    site = namespace_of(value).get("__kedi_site__") if is_real(value, type) else None
    return None if site is None else site.unit.name


def _failure(parts: SessionParts, problems: list[_Problem]) -> SessionDumpError:
    origins = _Origins(parts)
    listed = [
        DumpProblem(path_text(item.node), item.reason, item.fragment or origins.of(item.node))
        for item in problems
    ]
    count = f"{len(listed)} things in it" if len(listed) > 1 else "one thing in it"
    return SessionDumpError(f"the session cannot be saved: {count} cannot be restored", listed)
