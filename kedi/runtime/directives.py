"""Agent directives at run time: each derives a new configuration for the rest of its block."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from kedi.agents.config import AgentConfig, make_config
from kedi.agents.errors import ConfigurationError
from kedi.errors import KediExecutionError, KediModelError, KediValueExecutionError
from kedi.runtime.blocks import Step
from kedi.runtime.compiler import Compiler, bind
from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.procedures import info_of
from kedi.runtime.scopes import MISSING, Scope
from kedi.runtime.values import Run, text_runner, unknown_name, value_runner
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

#: What a directive says, evaluated: its name and value, or a profile that it applies.
Saying: TypeAlias = "tuple[str, Any] | ProfileValue"
Evaluate: TypeAlias = Callable[[RunFrame, Scope], Saying]


def _no_features() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class LexicalConfig(AgentConfig):
    """A configuration with what only directives can say.

    ``requires`` are demanded capabilities; ``features`` holds directives whose
    machinery this version does not have, by name: calling a model under one is an error.

    What a scope says itself wins over the profiles it applies, in whatever order they
    stand. So ``below`` is the configuration without the sayings of its ``owner``, and
    ``direct`` are those, in order.
    """

    requires: tuple[str, ...] = ()
    features: Mapping[str, Any] = field(default_factory=_no_features)
    owner: Scope | None = field(default=None, compare=False, repr=False)
    below: AgentConfig | None = field(default=None, compare=False, repr=False)
    direct: tuple[tuple[str, Any], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class ProfileValue:
    """A ``> profile:`` at its place; its ``members`` are evaluated when it is used.

    ``scope`` is where it was defined: names in it mean what they mean there, so that an
    imported profile finds the tools of its module. ``None`` is where it is used.
    """

    name: str
    members: tuple[Evaluate, ...]
    site: Site
    docstring: str | None = None
    scope: Scope | None = None

    def apply(self, config: AgentConfig, frame: RunFrame, scope: Scope) -> AgentConfig:
        """``config`` with the members, used in ``scope``."""
        home = scope if self.scope is None else self.scope
        for evaluate in self.members:
            said = evaluate(frame, home)
            if isinstance(said, ProfileValue):
                config = said.apply(config, frame, home)
            else:
                config = _merge(lexical(config), *said)
        return config

    def __repr__(self) -> str:
        return f"<profile {self.name}>"


def lexical(config: AgentConfig) -> LexicalConfig:
    """``config`` as one that directives can extend."""
    if isinstance(config, LexicalConfig):
        return config
    from dataclasses import fields

    return LexicalConfig(**{item.name: getattr(config, item.name) for item in fields(AgentConfig)})


def requirements(config: AgentConfig) -> tuple[str, ...]:
    """Capabilities that ``> requires:`` demands; refuses directives that cannot be honoured."""
    if not isinstance(config, LexicalConfig):
        return ()
    for name, value in config.features.items():
        if value not in (None, False):
            raise KediModelError(
                f"`> {name}:` is active, but this version cannot run it yet",
                hint=f"remove `> {name}:` to call the model",
            )
    return config.requires


def compile_directive(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step] | None:
    """A directive or ``> profile:`` as a statement."""
    node = stmt.node
    if isinstance(node, syntax.Profile):
        return _profile(compiler, stmt, line)
    assert isinstance(node, syntax.Directive)
    name = node.name.text
    site = compiler.site(stmt, line, "directive", f"> {name}")
    if name == "tool":
        return None  # Describes its procedure; read where the procedure becomes a tool.
    evaluate = read_directive(compiler, stmt, line)
    interpreter = compiler.interpreter

    def apply(frame: RunFrame, scope: Scope) -> None:
        scope.agent = say(interpreter.agent_state(scope), evaluate(frame, scope), frame, scope)

    return site, apply


def say(config: AgentConfig, said: Saying, frame: RunFrame, scope: Scope) -> LexicalConfig:
    """The configuration of ``scope`` after a directive or an applied profile in it."""
    below, direct = config, ()
    if isinstance(config, LexicalConfig) and config.owner is scope and config.below is not None:
        below, direct = config.below, config.direct
    if isinstance(said, ProfileValue):
        below = said.apply(below, frame, scope)
    else:
        direct = (*direct, said)
    result = lexical(below)
    for name, value in direct:
        result = lexical(_merge(result, name, value))
    return replace(result, owner=scope, below=below, direct=direct)


def _profile(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    profile = read_profile(compiler, stmt, line)

    def define(frame: RunFrame, scope: Scope) -> None:
        bind(frame, scope, profile.name, replace(profile, scope=scope), None)

    return profile.site, define


def read_profile(compiler: Compiler, stmt: Stmt, line: int) -> ProfileValue:
    """The profile of a ``> profile:`` statement; nothing is evaluated."""
    node = stmt.node
    assert isinstance(node, syntax.Profile)
    name = node.name.text
    site = compiler.site(stmt, line, "directive", f"> profile: {name}")
    first = stmt.body[0].node if stmt.body else None
    docstring = first.text.strip() if isinstance(first, syntax.Docstring) else None
    members = tuple(
        read_directive(compiler, child, line)
        for child in stmt.body
        if isinstance(child.node, syntax.Directive)
    )
    return ProfileValue(name, members, site, docstring)


#: Directives whose plain value is text, also where it looks like a number or a truth value.
_TEXTUAL = frozenset({"adapter", "agent", "model", "effort", "system"})


def read_directive(compiler: Compiler, stmt: Stmt, line: int) -> Evaluate:
    """Compile a directive; what it gives evaluates it."""
    node = stmt.node
    assert isinstance(node, syntax.Directive)
    name = node.name.text
    site = compiler.site(stmt, line, "directive", f"> {name}")
    interpreter = compiler.interpreter
    if name == "use":
        return _use(stmt)
    if name == "requires":
        listed = _names(stmt) or (
            _plain(node.value).replace(",", " ").split() if node.value else []
        )
        return lambda frame, scope: (name, tuple(listed))
    if node.value is None and name == "system":
        parts = [part for child in stmt.body for part in _prose(child)]
        read: Run = text_runner(interpreter, site, parts)
    elif node.value is None:
        read = _settings(compiler, stmt, line)
    else:
        read = _setting(interpreter, site, node.value, plain_text=name in _TEXTUAL)
    return lambda frame, scope: (name, read(frame, scope))


_FLAGS = {"enabled": True, "disabled": False}


def _merge(config: LexicalConfig, name: str, value: Any) -> AgentConfig:
    """``config`` with what one directive says."""
    try:
        return _merged(config, name, value)
    except ConfigurationError as error:
        raise KediValueExecutionError(f"`> {name}:` {error.message}") from error


def _merged(config: LexicalConfig, name: str, value: Any) -> AgentConfig:
    match name:
        case "settings":
            from kedi.runtime.settings import check_settings

            changed = make_config(config, settings=value)
            check_settings(changed)
            return changed
        case "adapter" | "model" | "effort" | "system" | "approval":
            return make_config(config, **{name: value})
        case "agent":
            if isinstance(value, Mapping):
                return replace(config, features={**config.features, "agent": value})
            return make_config(config, agent=value)
        case "use":
            if value == "skills":
                return make_config(config, skills=True)
            return make_config(config, tools=value)
        case "requires":
            return replace(config, requires=(*config.requires, *value))
        case "mcp":
            return make_config(config, mcp_servers=[value])
        case "skills" | "artifacts":
            flag = _FLAGS.get(value, value) if isinstance(value, str) else value
            return make_config(config, **{name: flag})
        case "hooks":
            if isinstance(value, str):
                return make_config(config, hooks=None) if value == "disabled" else config
            return make_config(config, hooks=value)
        case _:
            flag = _FLAGS.get(value, value) if isinstance(value, str) else value
            if isinstance(flag, dict) and cast("dict[str, Any]", flag).get("enabled") is False:
                flag = False
            return replace(config, features={**config.features, name: flag})


def _use(stmt: Stmt) -> Evaluate:
    node = stmt.node
    assert isinstance(node, syntax.Directive)
    single = _plain(node.value) if node.value is not None else None
    listed = _names(stmt) if single is None else []

    def use(frame: RunFrame, scope: Scope) -> Saying:
        if single is None:
            return "use", [_tool(scope, name) for name in listed]
        value = scope.lookup(single)
        if isinstance(value, ProfileValue):
            return value
        if single == "skills" and value is MISSING:
            return "use", "skills"
        return "use", [_tool(scope, single)]

    return use


def _tool(scope: Scope, name: str) -> Any:
    value = scope.lookup(name)
    if value is MISSING:
        raise unknown_name(scope, name, "define the procedure or profile before `> use:`")
    if info_of(value) is None and not callable(value):
        raise KediExecutionError(
            f"`> use: {name}` needs a procedure or a profile, got {type(value).__name__}"
        )
    return value


# ── values of settings ────────────────────────────────────────────────────────


def _setting(
    interpreter: Interpreter, site: Site, value: syntax.Value, *, plain_text: bool = False
) -> Run:
    if value.kind == "text" and all(isinstance(part, syntax.Text) for part in value.parts):
        constant = _plain(value) if plain_text else scalar(_plain(value))
        return lambda frame, scope: constant
    if value.kind in ("read", "call"):
        return text_runner(interpreter, site, value.parts)
    return value_runner(interpreter, site, value)


def _settings(compiler: Compiler, stmt: Stmt, line: int) -> Run:
    readers: list[tuple[str, Run]] = []
    for child in stmt.body:
        node = child.node
        if not isinstance(node, syntax.Setting):
            continue
        site = compiler.site(child, line, "directive", node.name.text)
        if node.value is not None:
            readers.append((node.name.text, _setting(compiler.interpreter, site, node.value)))
        else:
            listed = _names(child)
            nested = _settings(compiler, child, line)

            readers.append((node.name.text, _either(listed, nested)))

    def read(frame: RunFrame, scope: Scope) -> dict[str, Any]:
        return {name: run(frame, scope) for name, run in readers}

    return read


def _either(listed: list[str], settings: Run) -> Run:
    return lambda frame, scope: list(listed) or settings(frame, scope)


def scalar(text: str) -> Any:
    """A plain setting value: a boolean, number, ``null`` or text."""
    words: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if len(text) < 400 and _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    return text


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _plain(value: syntax.Value) -> str:
    return "".join(
        part.text
        if isinstance(part, syntax.Text)
        else part.code
        if isinstance(part, syntax.Python)
        else ""
        for part in value.parts
    ).strip()


def _names(stmt: Stmt) -> list[str]:
    return [child.node.name.text for child in stmt.body if isinstance(child.node, syntax.NameLine)]


def _prose(child: Stmt) -> tuple[syntax.Part, ...]:
    return child.node.parts if isinstance(child.node, syntax.Prose) else ()
