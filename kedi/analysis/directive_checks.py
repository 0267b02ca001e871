"""Checks of the directives that configure models and agents."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kedi.analysis.directive_values import (
    CAPABILITIES,
    FRAMEWORKS,
    HARNESSES,
    SINGLETONS,
    directive_rule,
    one_of,
    python_setting,
    setting_rule,
)
from kedi.analysis.names import suggestion
from kedi.analysis.report import Place
from kedi.syntax.ast import Directive, Profile, Python, Setting, Stmt, Text, Value

if TYPE_CHECKING:
    from kedi.analysis.checker import CheckerBase as Checker


def plain_text(value: Value | None) -> str | None:
    """The text of a value that holds nothing but text, ``None`` for anything computed."""
    if value is None or value.kind != "text":
        return None
    parts: list[str] = []
    for part in value.parts:
        if not isinstance(part, Text):
            return None
        parts.append(part.text)
    return "".join(parts).strip()


def name_of(value: Value | None) -> str | None:
    """The name a value spells, plainly or as a backtick expression that is only a name."""
    if value is not None and value.kind == "native" and len(value.parts) == 1:
        part = value.parts[0]
        code = part.code.strip() if isinstance(part, Python) else ""
        return code if code.isidentifier() else None
    text = plain_text(value)
    return text if text and text.isidentifier() else None


def check_directive(checker: Checker, stmt: Stmt, node: Directive) -> None:
    """Values of one directive and of the settings in its block."""
    name = node.name.text
    text = plain_text(node.value)
    place = Place(stmt, node.value or node.name, checker.base)
    if name == "use":
        _use(checker, stmt, node)
        return
    if name == "requires":
        _requires(checker, stmt, node)
        return
    checker.type(stmt, node.type)
    if node.value is not None:
        if node.value.kind in ("text", "call"):
            checker.parts(stmt, node.value.parts)
        if name in ("adapter", "agent"):
            _backend(checker, place, name, text)
        elif name == "approval":
            _approval(checker, place, text)
        elif name == "subagent":
            _subagent(checker, place, name_of(node.value), text)
        elif text is not None and (rule := directive_rule(name)) is not None:
            _rule(checker, place, f"> {name}:", text, rule(text))
        elif text == "" and name in ("model", "system"):
            checker.report.add("missing-value", f"`> {name}:` needs a value", place)
    if stmt.body:
        _settings(checker, stmt, name)


def _rule(checker: Checker, place: Place, what: str, text: str, wanted: str | None) -> None:
    if wanted is None:
        return
    shown = f"not `{text}`" if text else "but has none"
    allowed = [part.strip("`") for part in wanted.replace(" or ", ", ").split(", ")]
    near = suggestion(text, allowed) if text else None
    checker.report.add("bad-value", f"`{what}` takes {wanted}, {shown}", place, near)


def _backend(checker: Checker, place: Place, name: str, text: str | None) -> None:
    if text is None:
        return
    mine, other, word = (
        (FRAMEWORKS, HARNESSES, "agent")
        if name == "adapter"
        else (HARNESSES, FRAMEWORKS, "adapter")
    )
    if text in other:
        checker.report.add(
            "bad-value",
            f"`{text}` is {'a harness' if word == 'agent' else 'a framework adapter'}: "
            f"`> {name}:` does not take it",
            place,
            f"write `> {word}: {text}`",
        )
    elif not text:
        checker.report.add("missing-value", f"`> {name}:` needs a name", place)
    elif text not in mine:
        near = suggestion(text, mine) or suggestion(text, other)
        checker.report.add(
            "unknown-adapter",
            f"there is no {'adapter' if name == 'adapter' else 'agent'} `{text}`",
            place,
            near or f"known ones are {one_of(mine)}",
        )


def _approval(checker: Checker, place: Place, text: str | None) -> None:
    if text is None or text in ("allow", "deny"):
        return
    if text.isidentifier() and checker.lookup(text, late=True) in ("python", "value", "procedure"):
        return
    wanted = "`allow`, `deny` or a handler in backticks"
    checker.report.add(
        "bad-value",
        f"`> approval:` takes {wanted}, {f'not `{text}`' if text else 'but has none'}",
        place,
        suggestion(text, ("allow", "deny")) if text else None,
    )


def _subagent(checker: Checker, place: Place, name: str | None, text: str | None) -> None:
    if name is None:
        if text is not None:
            checker.report.add("bad-value", "`> subagent:` takes the name of a profile", place)
        return
    kind = checker.lookup(name, late=True)
    if kind in ("profile", "value", "python"):
        return
    checker.report.add(
        "unknown-profile",
        f"there is no profile `{name}`"
        if kind is None
        else f"`{name}` is a {'value' if kind == 'data' else kind}, not a profile",
        place,
        checker.suggest(name, checker.of_kind("profile"))
        or f"declare it with `> profile: {name}:`",
    )


def _use(checker: Checker, stmt: Stmt, node: Directive) -> None:
    name = name_of(node.value)
    if node.value is not None:
        place = Place(stmt, node.value, checker.base)
        if name is None:
            text = plain_text(node.value)
            if text is not None or node.value.kind == "native":
                checker.report.add(
                    "bad-value", "`> use:` takes the name of a procedure or a profile", place
                )
        elif name != "skills":
            _usable(checker, place, name, profiles=True)
    for item in checker.name_line_items(stmt):
        _usable(checker, item.place, item.text, profiles=False)


def _usable(checker: Checker, place: Place, name: str, profiles: bool) -> None:
    kind = checker.lookup(name, late=True)
    what = "procedure or profile" if profiles else "procedure"
    if kind in ("procedure", "python", "value", "parameter", "module"):
        return
    if kind == "profile":
        if not profiles:
            checker.report.add(
                "bad-value",
                f"`{name}` is a profile: a list of tools takes procedures only",
                place,
                f"apply the profile on a line of its own: `> use: {name}`",
            )
        return
    if kind is not None:
        shown = "value" if kind == "data" else kind
        checker.report.add("bad-value", f"`{name}` is a {shown}, not a {what}", place)
        return
    if callable(getattr(builtins, name, None)):
        return
    names = checker.of_kind("procedure", "python", *(("profile",) if profiles else ()))
    checker.report.add(
        "unknown-tool",
        f"there is no {what} `{name}`",
        place,
        checker.suggest(name, names) or f"define it with `@{name}(…):`, or import it",
    )


def _requires(checker: Checker, stmt: Stmt, node: Directive) -> None:
    wanted: list[tuple[str, Place]] = [
        (item.text, item.place) for item in checker.name_line_items(stmt)
    ]
    text = plain_text(node.value)
    if text is not None and node.value is not None:
        place = Place(stmt, node.value, checker.base)
        wanted += [(word, place) for word in text.replace(",", " ").split()]
        if not text:
            checker.report.add("missing-value", "`> requires:` needs a capability", place)
    for name, place in wanted:
        if name.removeprefix("supports_") not in CAPABILITIES:
            checker.report.add(
                "unknown-capability",
                f"there is no capability `{name}`",
                place,
                suggestion(name, CAPABILITIES) or f"known ones are {one_of(CAPABILITIES)}",
            )


def _settings(checker: Checker, stmt: Stmt, name: str) -> None:
    texts: dict[str, str | None] = {}
    for inner in stmt.body:
        node = inner.node
        if not isinstance(node, Setting):
            continue
        key = node.name.text
        texts[key] = plain_text(node.value)
        if node.value is None:
            continue
        place = Place(inner, node.value, checker.base)
        text = texts[key]
        if text is None:
            checker.value(inner, node.value)
        elif python_setting(name, key):
            checker.report.add(
                "bad-value", f"a handler of `{key}` is Python", place, "put it in backticks"
            )
        elif (rule := setting_rule(name, key)) is not None:
            _rule(checker, place, f"{key}:", text, rule(text))
    if name == "mcp":
        _mcp(checker, stmt, texts)
    elif name == "history" and texts and "enabled" not in texts:
        checker.report.add(
            "missing-value",
            "a `> history:` block says whether it is enabled",
            Place(stmt, stmt.node, checker.base),
            "add `enabled: true` or `enabled: false`",
        )


def _mcp(checker: Checker, stmt: Stmt, texts: dict[str, str | None]) -> None:
    transport = texts.get("transport")
    if "transport" in texts and transport is None:
        return
    remote = transport in ("sse", "http", "streamable-http")
    if transport not in (None, "stdio") and not remote:
        return
    place = Place(stmt, stmt.node, checker.base)
    if remote and "url" not in texts:
        checker.report.add("missing-value", f"an MCP server over {transport} needs a `url`", place)
    elif not remote and "command" not in texts:
        if transport is None and "url" in texts:
            return
        what = "`command`" if transport else "`command` or a `url`"
        checker.report.add("missing-value", f"an MCP server needs a {what}", place)


def check_block(checker: Checker, directives: Sequence[Place]) -> None:
    """``> adapter:`` and ``> agent:`` in one scope contradict each other."""
    chosen: dict[str, Place] = {}
    for place in directives:
        node = place.node
        if isinstance(node, Directive) and node.name.text in ("adapter", "agent"):
            name = node.name.text
            other = chosen.get("agent" if name == "adapter" else "adapter")
            if other is not None:
                checker.report.add(
                    "adapter-and-agent",
                    "`> adapter:` and `> agent:` exclude each other in one scope",
                    place,
                    "keep the one that is meant",
                    related=checker.report.related(other, "the other choice"),
                )
                return
            chosen[name] = place


def check_profile(checker: Checker, stmt: Stmt, node: Profile) -> None:
    """Members that may stand once, and a workflow that has children to work with."""
    checker.once(stmt.body, *SINGLETONS)
    first: dict[str, Place] = {}
    children = False
    for inner in stmt.body:
        member = inner.node
        if not isinstance(member, Directive):
            continue
        if member.name.text == "subagent":
            children = True
            child = name_of(member.value)
            if child is not None:
                place = Place(inner, member, checker.base)
                checker.duplicate(first, child, place, f"the subagent `{child}`")
                checker.children.setdefault(node.name.text, []).append((child, place))
    for inner in stmt.body:
        member = inner.node
        if (
            isinstance(member, Directive)
            and member.name.text == "workflow"
            and plain_text(member.value) == "dynamic"
            and not children
        ):
            checker.report.add(
                "missing-value",
                "a dynamic workflow needs at least one `> subagent:`",
                Place(inner, member, checker.base),
            )


def check_cycles(checker: Checker) -> None:
    """Profiles that are subagents of each other, each cycle reported once."""
    done: set[str] = set()
    for start in checker.children:
        path: list[str] = []
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, index = stack.pop()
            if index == 0:
                if name in done:
                    continue
                path.append(name)
            children = checker.children.get(name, [])
            if index >= len(children):
                path.pop()
                done.add(name)
                continue
            stack.append((name, index + 1))
            child, place = children[index]
            if child in path:
                cycle = " -> ".join([*path[path.index(child) :], child])
                checker.report.add(
                    "subagent-cycle", f"profiles delegate in a circle: {cycle}", place
                )
            elif child not in done:
                stack.append((child, 0))
