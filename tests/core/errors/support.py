"""Programs that fail, and what a frame says in short."""

from __future__ import annotations

from typing import Any

import pytest

import kedi
from kedi.errors import Frame, KediExecutionError


def fails(*fragments: str, **config: Any) -> KediExecutionError:
    """The error of the last fragment."""
    *earlier, last = fragments
    with kedi.interactive(**config) as session:
        for fragment in earlier:
            session.execute(fragment)
        with pytest.raises(KediExecutionError) as caught:
            session.execute(last)
        assert session.execute("= usable") == "usable"
    return caught.value


def short(frame: Frame) -> str:
    """``kind label? @fragment:line:column-end_column? in procedure?``."""
    number = frame.span.source_name.removeprefix("<interactive:").removesuffix(">")
    label = f" {frame.label}" if frame.label not in ("", frame.span.source_name) else ""
    end = frame.span.end_column if frame.span.line == frame.span.end_line else "…"
    inside = f" in {frame.procedure}" if frame.procedure not in (None, frame.label) else ""
    return f"{frame.kind}{label} @{number}:{frame.span.line}:{frame.span.column}-{end}{inside}"


def trace(error: KediExecutionError) -> list[str]:
    """All frames, outermost first."""
    return [short(frame) for frame in error.frames]
