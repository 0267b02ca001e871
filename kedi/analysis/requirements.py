"""Syntax of versions (PEP 440) and of requirements (PEP 508), without a library.

Only form is checked: whether a requirement can be met is for installers.
"""

from __future__ import annotations

import re

_VERSION = re.compile(
    r"""v?
    (?:\d+!)?                                        # epoch
    \d+(?:\.\d+)*                                    # release
    (?:[-_.]?(?:alpha|beta|preview|pre|a|b|c|rc)[-_.]?\d*)?
    (?:-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?
    (?:[-_.]?dev[-_.]?\d*)?
    (?P<local>\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_SPECIFIER = re.compile(r"(===|~=|==|!=|<=|>=|<|>)\s*([^\s,;)]+)")
_MARKER_TOKEN = re.compile(
    r"""\s*(?:
    (?P<quoted>'[^']*'|"[^"]*")
    |(?P<op>===|~=|==|!=|<=|>=|<|>)
    |(?P<paren>[()])
    |(?P<word>[A-Za-z_][A-Za-z0-9_.]*)
    )""",
    re.VERBOSE,
)
_VARIABLES = frozenset(
    (
        "python_version",
        "python_full_version",
        "os_name",
        "sys_platform",
        "platform_release",
        "platform_system",
        "platform_version",
        "platform_machine",
        "platform_python_implementation",
        "implementation_name",
        "implementation_version",
        "extra",
        "extras",
        "dependency_groups",
    )
)


def is_version(text: str) -> bool:
    """Whether ``text`` is a version as PEP 440 spells them (blanks around it allowed)."""
    return _VERSION.fullmatch(text.strip()) is not None


def requirement_problem(text: str) -> str | None:
    """What is wrong with a PEP 508 requirement, or ``None``."""
    rest = text.strip()
    match = _NAME.match(rest)
    if match is None:
        return "a requirement starts with the name of a distribution"
    rest = rest[match.end() :].lstrip()
    if rest.startswith("["):
        inner, closed, rest = rest[1:].partition("]")
        if not closed:
            return "the `[` of the extras is not closed"
        if inner.strip() and not all(_NAME.fullmatch(part.strip()) for part in inner.split(",")):
            return "extras are names separated by commas"
        rest = rest.lstrip()
    if rest.startswith("@"):
        return _url(rest[1:])
    marker = None
    if ";" in rest:
        rest, marker = rest.split(";", 1)
        rest = rest.rstrip()
    problem = _specifiers(rest)
    if problem is None and marker is not None:
        problem = _marker(marker)
    return problem


def _url(rest: str) -> str | None:
    url, separator, marker = rest.strip().partition(" ")
    if not url:
        return "a URL is missing behind `@`"
    if not separator or not marker.strip():
        return None
    marker = marker.strip()
    if not marker.startswith(";"):
        return "a URL is followed by nothing but ` ; ` and a marker"
    return _marker(marker[1:])


def _specifiers(rest: str) -> str | None:
    rest = rest.strip()
    if rest.startswith("("):
        if not rest.endswith(")"):
            return "the `(` of the versions is not closed"
        rest = rest[1:-1].strip()
    if not rest:
        return None
    items = [item.strip() for item in rest.split(",")]
    if items and not items[-1] and len(items) > 1:
        items.pop()
    for item in items:
        match = _SPECIFIER.fullmatch(item)
        if match is None:
            return f"`{item}` is not a version condition such as `>=1.2`"
        problem = _condition(match.group(1), match.group(2))
        if problem:
            return problem
    return None


def _condition(operator: str, version: str) -> str | None:
    if operator == "===":
        return None
    plain = version
    if operator in ("==", "!=") and version.endswith(".*"):
        plain = version[:-2]
        match = _VERSION.fullmatch(plain)
        if match is not None and (match["local"] or re.search(r"dev", plain, re.IGNORECASE)):
            return f"`{version}` is not a version pattern"
    match = _VERSION.fullmatch(plain)
    if match is None:
        return f"`{version}` is not a version (PEP 440)"
    if match["local"] and operator not in ("==", "!="):
        return f"`{operator}` does not take a local version such as `{version}`"
    if operator == "~=" and "." not in re.sub(r"^v?(?:\d+!)?", "", plain):
        return f"`~=` needs at least two numbers, such as `~={plain}.0`"
    return None


def _marker(text: str) -> str | None:
    """Check ``expr (and|or expr)*`` with parentheses; a flat scan, so that depth is no matter."""
    tokens: list[tuple[str, str]] = []
    at = 0
    text = text.strip()
    while at < len(text):
        match = _MARKER_TOKEN.match(text, at)
        if match is None or not match.lastgroup:
            return f"the marker cannot be read at `{text[at : at + 20].strip()}`"
        tokens.append((match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    if not tokens:
        return "a marker is missing behind `;`"
    depth = index = 0
    while True:
        while index < len(tokens) and tokens[index] == ("paren", "("):
            depth += 1
            index += 1
        problem, index = _comparison(tokens, index)
        if problem:
            return problem
        while index < len(tokens) and tokens[index] == ("paren", ")"):
            depth -= 1
            index += 1
            if depth < 0:
                return "the marker closes a `)` that was never opened"
        if index == len(tokens):
            return "a `(` of the marker is not closed" if depth else None
        if tokens[index] not in (("word", "and"), ("word", "or")):
            return f"the marker needs `and` or `or` before `{tokens[index][1]}`"
        index += 1


def _comparison(tokens: list[tuple[str, str]], index: int) -> tuple[str | None, int]:
    sides: list[tuple[str, str]] = []
    for side in range(2):
        if index >= len(tokens):
            return "the marker ends too early", index
        kind, word = tokens[index]
        if kind not in ("quoted", "word") or word in ("and", "or", "in", "not"):
            return f"the marker has `{word}` where a name or a quoted text belongs", index
        if kind == "word" and word.replace(".", "_") not in _VARIABLES:
            return f"markers know no `{word}`", index
        sides.append(tokens[index])
        index += 1
        if side == 0:
            if index >= len(tokens):
                return "the marker ends too early", index
            kind, word = tokens[index]
            if (kind, word) == ("word", "not"):
                index += 1
                if index >= len(tokens) or tokens[index] != ("word", "in"):
                    return "the marker needs `in` behind `not`", index
            elif kind != "op" and (kind, word) != ("word", "in"):
                return f"the marker has `{word}` where a comparison belongs", index
            index += 1
    return None, index
