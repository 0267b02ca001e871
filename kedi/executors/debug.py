"""Debug exporters: a record of every step of embedded Python.

Values are made printable and bounded; nothing is redacted.
"""

from __future__ import annotations

import reprlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 400
_REPR.maxdict = _REPR.maxlist = 20


@dataclass(frozen=True, slots=True)
class ExecutorDebugEvent:
    """One step: what ran with which names, and what it gave or raised."""

    step: str
    code: str
    local_env: Mapping[str, Any]
    output: Any
    error: BaseException | None


@runtime_checkable
class ExecutorDebugExporter(Protocol):
    """Receives the steps of a :class:`kedi.executors.DefaultExecutor`."""

    def export(self, event: ExecutorDebugEvent) -> None:
        """Take one step. Called on the thread that ran it."""
        ...


class MarkdownDebugExporter:
    """Appends each step to a Markdown file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()

    def export(self, event: ExecutorDebugEvent) -> None:
        """Write one step as a section."""
        fence = "```"
        while fence in event.code:
            fence += "`"
        lines = [f"## {event.step}", "", f"{fence}python", event.code, fence, ""]
        lines += [f"- `{name}` = `{_short(value)}`" for name, value in event.local_env.items()]
        if event.error is not None:
            lines.append(f"\nraised `{type(event.error).__name__}: {_short(event.error)}`")
        else:
            lines.append(f"\ngave `{_short(event.output)}`")
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n\n")


def default_debug_export_path(source: str | Path) -> Path:
    """A time-stamped Markdown path in the working directory for a source."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path.cwd() / f"{Path(source).stem}-debug-{stamp}.md"


def _short(value: Any) -> str:
    try:
        return _REPR.repr(value).replace("\n", "\\n").replace("`", "'")
    except Exception as error:
        return f"<{type(value).__name__} whose repr failed: {type(error).__name__}>"
