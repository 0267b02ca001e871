"""Copied sessions: text that still has the prompts in it."""

from __future__ import annotations

import re

PRIMARY = "+++ "
CONTINUATION = "... "

_BANNER = re.compile(r"Kedi \S+ on \S")


def primary(line: str) -> str | None:
    """The input on a line with the primary prompt; ``None`` for other lines."""
    return _after(line, PRIMARY)


def continued(line: str) -> str | None:
    """The input on a line with the continuation prompt; ``None`` for other lines."""
    return _after(line, CONTINUATION)


def _after(line: str, prompt: str) -> str | None:
    if line.startswith(prompt):
        return line[len(prompt) :]
    return "" if line.rstrip() == prompt.rstrip() else None


def is_banner(line: str) -> bool:
    """Whether a session begins with this line."""
    return _BANNER.match(line) is not None


def inputs(text: str) -> list[str] | None:
    """What was typed in a copied session, input by input; ``None`` when ``text`` is none.

    No fragment can begin with the primary prompt, so nothing else is mistaken for
    one. Lines without a prompt are what the session printed.
    """
    first = text.lstrip()
    if not first.startswith("+++") and not is_banner(first):
        return None
    found: list[list[str]] = []
    open_input = False
    for line in text.split("\n"):
        begun = primary(line)
        if begun is not None:
            found.append([begun])
            open_input = True
            continue
        more = continued(line) if open_input else None
        if more is not None:
            found[-1].append(more)
        else:
            open_input = False
    if not found:
        return None
    texts = ["\n".join(lines).rstrip() for lines in found]
    return [_composed(item) for item in texts if item]


def _composed(text: str) -> str:
    """What was typed into the editor of ``:multiline`` is a fragment of its own."""
    first, _, rest = text.partition("\n")
    return rest if first.strip() == ":multiline" and rest else text


def cleaned(text: str) -> str:
    """A pasted text as it goes into the line: one input without prompts, several with them."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = inputs(text)
    if not found:
        return text
    if len(found) == 1:
        return found[0]
    return "\n".join(prompted(item) for item in found)


def prompted(text: str) -> str:
    """An input with the prompts it is typed at."""
    first, *others = text.split("\n")
    return "\n".join([PRIMARY + first, *(f"{CONTINUATION}{line}" for line in others)])
