"""What Tab offers: the session's completions, and those of the commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kedi.repl.commands import BY_NAME, COMMANDS
from kedi.repl.rules import command_in

if TYPE_CHECKING:
    from kedi.repl.live import ReplSession


class Suggestion(NamedTuple):
    """``text`` takes the place of what stands at the cursor from ``start`` to ``end``.

    Both are offsets into the last line when the caller gave where that begins. One that
    only informs has no text.
    """

    text: str
    label: str
    detail: str
    start: int
    end: int


Suggest = Callable[[str, int], list[Suggestion]]


def suggestions(session: ReplSession, text: str, origin: int = 0) -> list[Suggestion]:
    """Suggestions at the end of ``text``, best first, with offsets counted from ``origin``."""
    found = _of_command(session, text) if text.lstrip().startswith(":") else None
    if found is None:
        found = [
            Suggestion(
                "" if item.kind == "argument" else item.insert_text,
                item.label,
                item.detail,
                item.replace_start,
                item.replace_end,
            )
            for item in session.complete(text)
        ]
    return [item._replace(start=item.start - origin, end=item.end - origin) for item in found]


def _of_command(session: ReplSession, text: str) -> list[Suggestion] | None:
    if "\n" in text:
        return None
    end = len(text)
    command = command_in(text)
    if command is None:
        return None
    typed = text.lstrip()[1:]
    if typed == command.name:
        start = end - len(typed)
        return [
            Suggestion(f"{spec.name} " if spec.argument else spec.name, spec.name, spec.summary,
                       start, end)
            for spec in COMMANDS
            if spec.name.startswith(typed)
        ]  # fmt: skip
    spec = BY_NAME.get(command.name)
    argument = text.lstrip()[len(command.name) + 1 :].lstrip()
    start = end - len(argument)
    match spec.takes if spec is not None else "nothing":
        case "expression":
            shift = start - 2
            return [
                Suggestion(item.insert_text, item.label, item.detail,
                           item.replace_start + shift, item.replace_end + shift)
                for item in session.complete(f"= {argument}")
                if item.kind != "argument"
            ]  # fmt: skip
        case "name":
            return [
                Suggestion(view.name, view.name, view.type_label, start, end)
                for view in session.bindings()
                if view.name.startswith(argument)
            ]
        case "path":
            return list(_paths(argument, end))
        case _:
            return []


def _paths(argument: str, end: int) -> Iterator[Suggestion]:
    argument = argument.removeprefix("--partial ").lstrip()
    folder, _, part = argument.rpartition("/")
    place = Path(f"{folder}/" if "/" in argument else ".").expanduser()
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except (OSError, ValueError):
        return
    for entry in entries:
        name = entry.name
        if not name.startswith(part) or (name.startswith(".") and not part):
            continue
        try:
            inner = entry.is_dir()
        except OSError:
            inner = False
        yield Suggestion(name + "/" * inner, name + "/" * inner, "", end - len(part), end)
