"""An observer that writes down what it is told, one short text per event."""

from __future__ import annotations

import threading
from typing import Any

from kedi.agents.requests import CallRecord, ModelRequest
from kedi.debugging import MISSING, Observer, RunFrame, Scope
from kedi.runtime.procedures import info_of
from kedi.source import Span


def shown(value: Any) -> str:
    if value is MISSING:
        return "-"
    info = info_of(value)
    if info is not None:
        return f"@{info.name}"
    if isinstance(value, type):
        return f"~{value.__name__}"
    return repr(value)


def line_of(frame: RunFrame) -> int:
    return frame.site.span.line if frame.site is not None else 0


class Recorder(Observer):
    """``log`` is what it was told; ``threads`` the thread of each entry."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.threads: list[int] = []

    def note(self, text: str) -> None:
        self.log.append(text)
        self.threads.append(threading.get_ident())

    def statement(self, frame: RunFrame) -> None:
        assert frame.site is not None
        label = f" {frame.site.label}" if frame.site.label else ""
        where = f" in {frame.procedure}" if frame.procedure else ""
        self.note(f"{line_of(frame)} {frame.site.kind}{label}{where}")

    def procedure_entered(self, frame: RunFrame) -> None:
        names = frame.scope.own_names()
        bound = ", ".join(f"{name}={shown(frame.scope[name])}" for name in names)
        self.note(f"enter {frame.procedure}({bound})")

    def procedure_left(self, frame: RunFrame, value: Any, error: BaseException | None) -> None:
        ended = f"!{type(error).__name__}" if error is not None else shown(value)
        self.note(f"leave {frame.procedure} {ended}")

    def scope_opened(self, frame: RunFrame, scope: Scope) -> None:
        bound = "".join(f" {name}={shown(scope[name])}" for name in scope.own_names())
        self.note(f"open {scope.kind}{bound}")

    def scope_closed(self, frame: RunFrame, scope: Scope) -> None:
        self.note(f"close {scope.kind}")

    def binding_written(self, frame: RunFrame, scope: Scope, name: str, old: Any, new: Any) -> None:
        self.note(f"bind {name} {shown(old)} {shown(new)}")

    def python_entered(self, frame: RunFrame, span: Span, kind: str) -> None:
        self.note(f"python {kind} {span.line}")

    def python_left(self, frame: RunFrame, span: Span, kind: str) -> None:
        self.note(f"python end {span.line}")

    def exception_raised(self, frame: RunFrame, error: BaseException, caught: bool) -> None:
        where = frame.label.rpartition("/")[2]
        fate = "caught" if caught else "uncaught"
        self.note(f"raise {type(error).__name__} {where}:{line_of(frame)} {fate}")

    def model_request(self, frame: RunFrame, request: ModelRequest) -> None:
        self.note(f"ask {request.prompt}")

    def model_response(
        self, frame: RunFrame, record: CallRecord, error: BaseException | None
    ) -> None:
        answer = f"!{type(error).__name__}" if error is not None else record.text or record.values
        self.note(f"answer {answer}")

    def fragment_started(self, frame: RunFrame, source_name: str) -> None:
        self.note(f"start {source_name.rpartition('/')[2]}")

    def fragment_finished(
        self, frame: RunFrame, source_name: str, value: Any, error: BaseException | None
    ) -> None:
        ended = f"!{type(error).__name__}" if error is not None else shown(value)
        self.note(f"finish {source_name.rpartition('/')[2]} {ended}")
