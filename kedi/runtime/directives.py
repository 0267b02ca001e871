"""Agent directives at run time: each derives a new configuration for the rest of its block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from kedi.agents.config import AgentConfig, make_config
from kedi.agents.errors import ConfigurationError
from kedi.errors import KediExecutionError, KediModelError, KediValueExecutionError
from kedi.runtime.compiler import Compiler, Step, bind
from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.procedures import info_of
from kedi.runtime.scopes import MISSING, Scope
from kedi.runtime.values import Run, text_runner, unknown_name, value_runner
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

Change = Callable[[AgentConfig, RunFrame, Scope], AgentConfig]


def _no_features() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class LexicalConfig(AgentConfig):
    """A configuration with what only directives can say.

    ``requires`` are demanded capabilities; ``features`` holds directives whose
    machinery this version does not have, by name: calling a model under one is an error.
    """

    requires: tuple[str, ...] = ()
    features: Mapping[str, Any] = field(default_factory=_no_features)


@dataclass(frozen=True, slots=True, eq=False)
class ProfileValue:
    """A ``> profile:`` at its place; ``apply`` evaluates its members where it is used."""

    name: str
    apply: Change
    site: Site
    docstring: str | None = None

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
    change = change_of(compiler, stmt, line)
    interpreter = compiler.interpreter

    def apply(frame: RunFrame, scope: Scope) -> None:
        scope.agent = change(interpreter.agent_state(scope), frame, scope)

    return site, apply


def _profile(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    profile = read_profile(compiler, stmt, line)

    def define(frame: RunFrame, scope: Scope) -> None:
        bind(frame, scope, profile.name, profile, None)

    return profile.site, define


def read_profile(compiler: Compiler, stmt: Stmt, line: int) -> ProfileValue:
    """The profile of a ``> profile:`` statement; nothing is evaluated."""
    node = stmt.node
    assert isinstance(node, syntax.Profile)
    name = node.name.text
    site = compiler.site(stmt, line, "directive", f"> profile: {name}")
    first = stmt.body[0].node if stmt.body else None
    docstring = first.text if isinstance(first, syntax.Docstring) else None
    changes = [
        change_of(compiler, child, line)
        for child in stmt.body
        if isinstance(child.node, syntax.Directive)
    ]

    def apply(config: AgentConfig, frame: RunFrame, scope: Scope) -> AgentConfig:
        for change in changes:
            config = change(config, frame, scope)
        return config

    return ProfileValue(name, apply, site, docstring)


def change_of(compiler: Compiler, stmt: Stmt, line: int) -> Change:
    """What a directive does to the configuration."""
    node = stmt.node
    assert isinstance(node, syntax.Directive)
    name = node.name.text
    site = compiler.site(stmt, line, "directive", f"> {name}")
    interpreter = compiler.interpreter
    if name == "use":
        return _use(compiler, stmt)
    if name == "requires":
        listed = _names(stmt) or (
            _plain(node.value).replace(",", " ").split() if node.value else []
        )
        return lambda config, frame, scope: replace(
            lexical(config), requires=(*lexical(config).requires, *listed)
        )
    if name == "system" and node.value is None:
        parts = [part for child in stmt.body for part in _prose(child)]
        text = text_runner(interpreter, site, parts)
        return lambda config, frame, scope: make_config(config, system=text(frame, scope))
    read = (
        _setting(interpreter, site, node.value)
        if node.value is not None
        else _settings(compiler, stmt, line)
    )

    def change(config: AgentConfig, frame: RunFrame, scope: Scope) -> AgentConfig:
        value = read(frame, scope)
        try:
            return _merge(lexical(config), name, value)
        except ConfigurationError as error:
            raise KediValueExecutionError(f"`> {name}:` {error.message}") from error

    return change


_FLAGS = {"enabled": True, "disabled": False}


def _merge(config: LexicalConfig, name: str, value: Any) -> AgentConfig:
    match name:
        case "adapter" | "model" | "effort" | "system" | "approval" | "settings":
            return make_config(config, **{name: value})
        case "agent":
            if isinstance(value, Mapping):
                return replace(config, features={**config.features, "agent": value})
            return make_config(config, agent=value)
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


def _use(compiler: Compiler, stmt: Stmt) -> Change:
    node = stmt.node
    assert isinstance(node, syntax.Directive)
    single = _plain(node.value) if node.value is not None else None
    listed = _names(stmt) if single is None else []

    def use(config: AgentConfig, frame: RunFrame, scope: Scope) -> AgentConfig:
        if single is None:
            return make_config(config, tools=[_tool(scope, name) for name in listed])
        if single == "skills" and scope.lookup(single) is MISSING:
            return make_config(config, skills=True)
        value = scope.lookup(single)
        if isinstance(value, ProfileValue):
            return value.apply(config, frame, scope)
        return make_config(config, tools=[_tool(scope, single)])

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


def _setting(interpreter: Interpreter, site: Site, value: syntax.Value) -> Run:
    if value.kind == "text" and all(isinstance(part, syntax.Text) for part in value.parts):
        constant = scalar(_plain(value))
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

            def block(frame: RunFrame, scope: Scope, n: Run = nested, l: list[str] = listed) -> Any:
                return list(l) or n(frame, scope)

            readers.append((node.name.text, block))

    def read(frame: RunFrame, scope: Scope) -> dict[str, Any]:
        return {name: run(frame, scope) for name, run in readers}

    return read


def scalar(text: str) -> Any:
    """A plain setting value: a boolean, number, ``null`` or text."""
    words: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for convert in (int, float):
        try:
            return convert(text) if len(text) < 400 else text
        except ValueError:
            continue
    return text


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
