"""Debug exporters: a record of every step of embedded Python.

Values are made printable and bounded; nothing is redacted.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from kedi.agents.reprs import short_repr

_MAX_REPR = 400


@dataclass(frozen=True, slots=True)
class ExecutorDebugEvent:
    """One step: what ran with which names, and what it gave or raised.

    ``step`` is the method of the executor protocol. ``payload`` holds ``code``,
    ``environment`` (names with the text of their values before the step), and
    ``output`` or, when ``event`` is ``failed``, ``error``; all of them text.
    ``timestamp`` is when the step ended, in UTC.
    """

    timestamp: datetime
    executor: str
    step: str
    event: Literal["completed", "failed"]
    payload: Mapping[str, Any]


@runtime_checkable
class ExecutorDebugExporter(Protocol):
    """Receives the steps of a :class:`kedi.executors.DefaultExecutor`."""

    def export(self, event: ExecutorDebugEvent) -> None:
        """Take one step. Called on the thread that ran it."""
        ...


def completed(
    executor: str, step: str, code: str, environment: Mapping[str, str], output: Any
) -> ExecutorDebugEvent:
    """The event of a step that gave ``output``."""
    payload = {"code": code, "environment": environment, "output": short(output)}
    return ExecutorDebugEvent(datetime.now(UTC), executor, step, "completed", payload)


def failed(
    executor: str, step: str, code: str, environment: Mapping[str, str], error: BaseException
) -> ExecutorDebugEvent:
    """The event of a step that raised ``error``."""
    text = f"{type(error).__name__}: {_text(error)}".removesuffix(": ")
    payload = {"code": code, "environment": environment, "error": text}
    return ExecutorDebugEvent(datetime.now(UTC), executor, step, "failed", payload)


class MarkdownDebugExporter:
    """Appends each step to a Markdown file, without a path to a time-stamped one in the folder."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else default_debug_export_path("kedi")
        self._lock = threading.Lock()

    def export(self, event: ExecutorDebugEvent) -> None:
        """Write one step as a section."""
        payload = event.payload
        fence = "```"
        while fence in payload["code"]:
            fence += "`"
        lines = [f"## {event.step}", "", f"{event.executor}, {event.timestamp.isoformat()}", ""]
        lines += [f"{fence}python", payload["code"], fence, ""]
        lines += [f"- `{name}` = {_quoted(text)}" for name, text in payload["environment"].items()]
        ending = "raised" if event.event == "failed" else "gave"
        result = payload["error" if event.event == "failed" else "output"]
        lines += ["", f"{ending} {_quoted(result)}", "", ""]
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines))


def default_debug_export_path(source: str | Path) -> Path:
    """A time-stamped Markdown path in the working directory for a source."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", Path(source).stem).strip("_").lower() or "kedi"
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return Path.cwd() / f"{name}_debug_export_{stamp}.md"


def short(value: Any) -> str:
    """``repr(value)`` cut to a readable length, also of objects whose ``repr`` fails."""
    return short_repr(value, _MAX_REPR)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as other:
        return f"<text failed: {type(other).__name__}>"


def _quoted(text: str) -> str:
    """Text as inline code of Markdown, on one line."""
    line = text.replace("\n", "\\n")
    ticks = "`"
    while ticks in line:
        ticks += "`"
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"
