"""Model configurations in snapshots: what of them is data, and what the host supplies again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NoReturn, cast

from kedi.agents.config import AgentConfig, make_config
from kedi.agents.contract import AdapterCapabilities, AgentAdapterKind
from kedi.agents.errors import ConfigurationError
from kedi.errors import KediModelError
from kedi.runtime.directives import LexicalConfig
from kedi.runtime.procedures import info_of
from kedi.session.snapshots.atoms import (
    Malformed,
    Refused,
    as_count,
    as_list,
    as_object,
    as_text,
    need,
    read_str,
)
from kedi.session.snapshots.codec import Encoder, NoDefinitions
from kedi.session.snapshots.parts import Hole
from kedi.session.snapshots.paths import ATTRIBUTE, Node, root
from kedi.session.snapshots.reader import Decoder
from kedi.session.static import kind_of, label_of

_TEXTS = ("model", "system", "effort")
_DATA = ("settings", "skills", "artifacts", "mcp_servers")
_LEXICAL = ("requires", "features")
_PLAIN: dict[str, type | tuple[type, ...]] = {
    "parallel": bool,
    "max_workers": int,
    "loop_iteration_limit": int,
}


class AbsentAdapter:
    """Stands for an adapter that the host has to supply again: every call says so.

    ``holes`` are parts of the configuration that the snapshot could not hold: a call
    without them could do what they were there to prevent. ``selection`` is then how
    the snapshot writes the adapter that they hide.
    """

    def __init__(
        self,
        shortname: str,
        kind: AgentAdapterKind,
        holes: Sequence[Hole] = (),
        selection: Any = None,
    ) -> None:
        self.shortname = shortname
        self.kind: AgentAdapterKind = kind
        self.capabilities = AdapterCapabilities()
        self.holes = tuple(holes)
        self.selection = selection

    def produce_sync(self, **_: object) -> NoReturn:
        """Raise :class:`~kedi.errors.KediModelError`."""
        if self.holes:
            missing = "; ".join(f"{hole.path}: {hole.reason}" for hole in self.holes)
            raise KediModelError(
                f"the snapshot of this session could not hold its whole configuration: {missing}",
                hint="create a session with `kedi.interactive(…)` and give it again",
            )
        word = "adapter" if self.kind == "agent-framework" else "agent"
        raise KediModelError(
            f"this session used the {word} object `{self.shortname}`, which a snapshot does not "
            "keep",
            hint=f"pass `{word}=` to `kedi.load_session`",
        )

    invoke_sync = produce_sync


# ── writing ───────────────────────────────────────────────────────────────────


class ConfigTable:
    """Numbers the configurations that are active somewhere; the session's own is the first.

    ``problems`` are ``(node, reason)``; ``seen`` maps the mutable objects in them to
    where they are.
    """

    def __init__(self, base: AgentConfig) -> None:
        self.records: list[dict[str, Any]] = []
        self.problems: list[tuple[Node, str]] = []
        self.seen: dict[int, Node] = {}
        #: The index of a procedure, or the reason against it.
        self.index_of_tool: Callable[[Any], int | str] = lambda _: "it is a tool of another session"
        self._base = base
        self._known: dict[int, int] = {}

    def index_of(self, config: AgentConfig, where: str) -> int:
        """The index in the table; ``where`` names it in paths when it is met first."""
        found = self._known.get(id(config))
        if found is None:
            found = self._known[id(config)] = len(self.records)
            record: dict[str, Any] = {}
            self.records.append(record)
            before = len(self.problems)
            record.update(self._record(config, root(where)))
            if len(self.problems) > before:
                record["holes"] = list(range(before, len(self.problems)))
        return found

    def _refuse(self, node: Node, reason: str) -> None:
        self.problems.append((node, reason))

    def _record(self, config: AgentConfig, node: Node) -> dict[str, Any]:
        record: dict[str, Any] = {"selection": self._selection(config, node)}

        def put(name: str, write: Callable[[Any, Node], Any]) -> None:
            before = len(self.problems)
            tree = write(getattr(config, name), (node, name, ATTRIBUTE))
            if len(self.problems) == before:
                record[name] = tree

        default = AgentConfig()
        for name in _TEXTS:
            if getattr(config, name) is not None:
                put(name, self._data)
        for name in _PLAIN:
            if getattr(config, name) != getattr(default, name):
                record[name] = getattr(config, name)
        for name in _DATA:
            if getattr(config, name) not in (None, (), {}):
                put(name, self._artifacts if name == "artifacts" else self._data)
        if isinstance(config, LexicalConfig):
            put("requires", self._data)
            put("features", self._data)
        if config.tools:
            put("tools", self._tools)
        if config.approval is not None:
            put("approval", self._approval)
        if config.hooks:
            put("hooks", self._hooks)
        if config.conversation is not None:
            self._refuse(
                (node, "conversation", ATTRIBUTE),
                "conversation turns are kept by who made them: pass `conversation_state=` "
                "when the session is loaded",
            )
        return record

    def _artifacts(self, value: Any, node: Node) -> Any:
        if _is_active(value):
            self._refuse(node, "artifacts are active, and what they hold is not kept")
            return None
        return self._data(value, node)

    def _data(self, value: Any, node: Node) -> Any:
        if isinstance(value, tuple):
            value = list(cast("tuple[Any, ...]", value))
        encoder = Encoder(
            NoDefinitions("a configuration holds data, no definitions"),
            cells=False,
            columns=False,
        )
        tree = encoder.encode(value, node, exact=True)
        self.problems += encoder.problems
        if not encoder.problems:
            self.seen.update(encoder.seen)
        return tree

    def _selection(self, config: AgentConfig, node: Node) -> Any:
        mine = (config.adapter, config.agent)
        base = self._base
        first = config is base
        if not first and all(a is b for a, b in zip(mine, (base.adapter, base.agent), strict=True)):
            return "session"
        word = "adapter" if config.agent is None else "agent"
        chosen = config.adapter if config.agent is None else config.agent
        if chosen is None:
            return None
        if isinstance(chosen, str):
            if not config.adapter_kwargs:
                return {word: chosen}
            # Made with keywords, which may hold keys and state: the host makes it again.
            return {word: chosen, "object": True}
        if isinstance(chosen, AbsentAdapter) and chosen.holes:
            self.problems += [(root(hole.path), hole.reason) for hole in chosen.holes]
            return chosen.selection
        if not first:
            self._refuse(
                (node, word, ATTRIBUTE),
                f"a directive chose the {word} object `{_shortname(chosen)}`, which belongs to "
                "this process: give it to the session, or choose it by its name",
            )
        return {word: _shortname(chosen), "object": True}

    def _tools(self, tools: Sequence[Any], node: Node) -> list[Any]:
        found: list[Any] = []
        for place, tool in enumerate(tools):
            if info_of(tool) is None:
                name = getattr(tool, "name", None) or getattr(tool, "__name__", label_of(tool))
                index: int | str = (
                    f"the tool `{name}` is bound to this process: define it as a procedure, "
                    "and offer it with `> use:`"
                )
            else:
                index = self.index_of_tool(tool)
            if isinstance(index, str):
                self._refuse((node, place), index)
            else:
                found.append(index)
        return found

    def _approval(self, value: Any, node: Node) -> Any:
        if value in ("allow", "deny"):
            return value
        self._refuse(
            node, "an approval handler decides in this process: only `allow` and `deny` are kept"
        )
        return None

    def _hooks(self, hooks: Mapping[str, Any], node: Node) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for event, handlers in hooks.items():
            where = (node, event)
            if callable(handlers):
                found[event] = self._handler(handlers, where)
            else:
                listed = cast("Sequence[Any]", handlers)
                found[event] = [
                    self._handler(handler, (where, place)) for place, handler in enumerate(listed)
                ]
        return found

    def _handler(self, handler: Any, node: Node) -> Any:
        try:
            return encode_handler(handler)
        except Refused as refused:
            self._refuse(node, str(refused))
            return None


def _is_active(artifacts: Any) -> bool:
    if isinstance(artifacts, Mapping):
        return cast("Mapping[str, Any]", artifacts).get("enabled") is not False
    return artifacts is True


def _shortname(adapter: Any) -> str:
    name = getattr(adapter, "shortname", None)
    return name if isinstance(name, str) else label_of(adapter)


def encode_handler(handler: Any) -> dict[str, str]:
    """A lifecycle hook as its module and qualified name. Raises :class:`Refused`."""
    advice = "only importable functions are kept"
    if kind_of(handler) not in (FunctionType, BuiltinFunctionType):
        what = f"an instance of `{label_of(handler)}`"
        if label_of(handler) == "method":
            what = "a bound method"
        raise Refused(f"this handler is {what}: {advice}")
    module, name = handler.__module__, handler.__qualname__
    if "<lambda>" in name:
        raise Refused(f"this handler is a lambda: {advice}")
    if "<locals>" in name:
        raise Refused(f"the handler `{name}` was made inside a function: {advice}")
    if module == "__main__":
        raise Refused(f"the handler `{name}` is from `__main__`, which is another module next time")
    found = _find(sys.modules.get(module), name) if isinstance(module, str) else None
    if found is not handler:
        raise Refused(f"`{module}.{name}` is not this handler: {advice}")
    return {"module": module, "name": name}


def _find(module: Any, name: str) -> Any:
    """What a qualified name means in a module, through plain namespaces only."""
    if not isinstance(module, ModuleType):
        return None
    found: Any = module
    for part in name.split("."):
        if not isinstance(found, (ModuleType, type)):
            return None
        found = vars(found).get(part)
        if isinstance(found, staticmethod):
            found = cast("staticmethod[..., Any]", found).__func__
    return found


# ── reading ───────────────────────────────────────────────────────────────────


def read_handler(tree: Any) -> Any:
    """Import a hook handler by its address. Raises :class:`Malformed`."""
    address = as_object(tree, "a hook handler")
    need(tuple(address) == ("module", "name"), "a hook handler has no address")
    module = as_text(address["module"], "the module of a handler")
    name = as_text(address["name"], "the name of a handler")
    need(module not in ("", "__main__") and "<" not in name, "a hook handler cannot be imported")
    from importlib import import_module

    try:
        found = _find(import_module(module), name)
    except Exception as error:
        # The module's own code runs here, as documented, and may raise anything.
        raise Malformed(
            f"the hook handler `{module}.{name}` cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    need(
        isinstance(found, (FunctionType, BuiltinFunctionType))
        and (found.__module__, found.__qualname__) == (module, name),
        f"`{module}.{name}` is not a function that can be a hook handler",
    )
    return found


class ConfigReader:
    """Makes configurations from their records.

    ``supplied`` are what the host gives instead of the session's own adapter or
    agent (``{}`` when nothing), ``conversation`` a conversation to go on with.
    """

    def __init__(
        self,
        records: Any,
        supplied: Mapping[str, Any],
        env: Mapping[str, Any],
        conversation: Any,
        definitions: Sequence[Any],
        holes: Sequence[Hole],
    ) -> None:
        self._records = as_list(records, "the table of configurations")
        self._supplied = supplied
        self._env = env
        self._conversation = conversation
        self._definitions = definitions
        self._holes = holes
        self._made: dict[int, AgentConfig] = {}

    def get(self, index: Any) -> AgentConfig:
        """The configuration of an index. Raises :class:`Malformed`."""
        number = as_count(index, "the number of a configuration", len(self._records))
        if number not in self._made:
            try:
                self._made[number] = self._make(self._records[number])
            except (ConfigurationError, TypeError, ValueError) as error:
                raise Malformed(f"the configuration cannot be used: {error}") from error
        return self._made[number]

    def _make(self, tree: Any) -> AgentConfig:
        record = as_object(tree, "a configuration")
        decoder = Decoder(())
        chosen = self._chosen(record.get("selection"))
        values: dict[str, Any] = {
            name: value for name, value in chosen.items() if name != "adapter_kwargs"
        }
        for name, item in record.items():
            if name in ("selection", "holes"):
                continue
            if name in _TEXTS:
                values[name] = read_str(item)
            elif name in _PLAIN:
                values[name] = item
            elif name in _DATA or name in _LEXICAL:
                values[name] = decoder.value(item)
            elif name == "tools":
                values[name] = self._tools(item)
            elif name == "approval":
                need(item in ("allow", "deny"), "an approval policy is not known")
                values[name] = item
            elif name == "hooks":
                values[name] = self._hooks(item)
            else:
                raise Malformed(f"a configuration has the unknown part `{name[:80]}`")
        holes = record.get("holes")
        if holes is not None:
            values.pop("agent", None)
            values["adapter"] = self._absent(holes, record.get("selection"))
        return self._config(values, chosen.get("adapter_kwargs", {}))

    def _config(self, values: dict[str, Any], keywords: Mapping[str, Any]) -> AgentConfig:
        plain = "requires" not in values and "features" not in values
        requires, features = values.pop("requires", []), values.pop("features", {})
        config = make_config(None, **values)
        config = replace(
            config,
            env=self._env,
            conversation=self._conversation,
            adapter_kwargs=keywords,
        )
        if plain:
            return config
        for item in as_list(requires, "what is required"):
            as_text(item, "a required capability")
        return LexicalConfig(
            **{name: getattr(config, name) for name in AgentConfig.__dataclass_fields__},
            requires=tuple(requires),
            features=as_object(features, "the table of features"),
        )

    def _chosen(self, selection: Any) -> dict[str, Any]:
        if selection == "session":
            base = self.get(0)
            if base.agent is not None:
                return {"agent": base.agent, "adapter_kwargs": base.adapter_kwargs}
            if base.adapter is not None:
                return {"adapter": base.adapter, "adapter_kwargs": base.adapter_kwargs}
            return {}
        if 0 not in self._made and self._supplied:
            return dict(self._supplied)
        if selection is None:
            return {}
        choice = as_object(selection, "the choice of an adapter")
        word = next(iter(choice), "")
        need(word in ("adapter", "agent"), "what is chosen is no adapter")
        name = as_text(choice[word], "the name of an adapter")
        if len(choice) == 1:
            return {word: name}
        need(len(choice) == 2 and choice.get("object") is True, "the choice of an adapter is odd")
        kind: AgentAdapterKind = "agent-framework" if word == "adapter" else "agent-harness"
        return {word: AbsentAdapter(name, kind)}

    def _absent(self, holes: Any, selection: Any) -> AbsentAdapter:
        places = as_list(holes, "the holes of a configuration")
        found = [self._holes[as_count(item, "a hole", len(self._holes))] for item in places]
        return AbsentAdapter("absent", "agent-framework", found, selection)

    def _tools(self, items: Any) -> list[Any]:
        found: list[Any] = []
        for item in as_list(items, "the tools"):
            tool = self._definitions[as_count(item, "a tool", len(self._definitions))]
            need(info_of(tool) is not None, "a tool is not a procedure")
            found.append(tool)
        return found

    @staticmethod
    def _hooks(items: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for event, listed in as_object(items, "the table of hooks").items():
            if type(listed) is list:
                several = cast("list[Any]", listed)
                found[event] = [read_handler(item) for item in several]
            else:
                found[event] = read_handler(listed)
        return found
