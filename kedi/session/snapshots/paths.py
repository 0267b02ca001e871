"""Where a value is: paths such as ``values["retries"][3]``, built only when they are shown."""

from __future__ import annotations

from typing import Any

from kedi.session.static import kind_of

#: A step of a path: ``(parent, step)``, or ``(parent, step, kind)`` with one of the kinds
#: below. The root is ``(None, text)``. Steps are kept as links so that a walk over a
#: million values makes no text.
Node = tuple[Any, ...]

ATTRIBUTE = 1
"""The step is an attribute's name."""
PLACE = 2
"""The step is text that stands as it is, such as ``.keys()[0]``."""

_SHOWN = 24


def root(text: str) -> Node:
    """The beginning of a path."""
    return (None, text)


def path_text(node: Node) -> str:
    """The path as text; the middle of a very long one is left out."""
    steps: list[Node] = []
    part: Node | None = node
    while part is not None:
        steps.append(part)
        part = part[0]
    steps.reverse()
    texts = [_step(step) for step in steps]
    if len(texts) > 2 * _SHOWN:
        texts[_SHOWN:-_SHOWN] = [f"…({len(texts) - 2 * _SHOWN} steps)…"]
    return "".join(texts)


def is_inside(node: Node, outer: Node) -> bool:
    """Whether ``outer`` is on the way from the root to ``node``."""
    part: Node | None = node
    while part is not None:
        if part is outer:
            return True
        part = part[0]
    return False


def root_name(node: Node) -> str:
    """The text at which the path begins."""
    while node[0] is not None:
        node = node[0]
    return node[1]


def _step(node: Node) -> str:
    step = node[1]
    if node[0] is None:
        return step
    kind = node[2] if len(node) > 2 else 0
    if kind == ATTRIBUTE:
        return f".{step}"
    if kind == PLACE:
        return step
    return f"[{key_text(step)}]"


def key_text(key: Any) -> str:
    """A key as it would be written, bounded; no code of the key is run."""
    kind = kind_of(key)
    if kind is str:
        shown = key if len(key) <= 60 else f"{key[:60]}…"
        text = shown.replace("\\", "\\\\").replace('"', '\\"')
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
        return f'"{text}"'
    if kind is int:
        return str(key) if key.bit_length() < 200 else f"<int of {key.bit_length()} bits>"
    if kind in (bool, float, type(None)):
        return repr(key)
    if kind is bytes:
        return repr(key if len(key) <= 30 else key[:30])
    return f"<{kind.__name__}>"
