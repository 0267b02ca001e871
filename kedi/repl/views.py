"""What the commands show of a session: names, values, model calls, origins. Text only."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType
from typing import TYPE_CHECKING, Any

from kedi.diagnostics import display_width, printable
from kedi.repl.origin import Binding, bindings_of, call_behind
from kedi.runtime.procedures import info_of
from kedi.runtime.scopes import MISSING
from kedi.session.inspect import preview, type_of, view_kind
from kedi.session.preview import full_text
from kedi.session.signatures import class_text, function_text, signature_of
from kedi.session.static import is_real, kind_of, namespace_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedi.agents.requests import CallRecord
    from kedi.repl.live import ReplSession
    from kedi.runtime.calls import LoggedCall
    from kedi.session.inspect import BindingView

_PREVIEW = 2_000
_MANY = "items"
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, MethodDescriptorType)


def fit(text: str, width: int) -> str:
    """``text`` on one line of at most ``width`` terminal cells."""
    text = printable(text.replace("\n", "⏎"))
    if display_width(text) <= width:
        return text
    room = max(1, width - 1)
    kept = text[:room]
    while kept and display_width(kept) > room:
        kept = kept[:-1]
    return f"{kept}…"


def table(rows: Sequence[Sequence[str]], width: int) -> str:
    """Rows in columns; the last column takes what is left of the width."""
    columns = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        line = ""
        for cell, size in zip(row[:-1], columns, strict=False):
            line += cell + " " * (size - display_width(cell) + 2)
        lines.append((line + fit(row[-1], max(10, width - display_width(line)))).rstrip())
    return "\n".join(lines)


# ── names and values ──────────────────────────────────────────────────────────


def names(session: ReplSession, part: str, width: int) -> str:
    """The session's names, those that hold ``part``, with types and values."""
    views = [view for view in session.bindings() if part in view.name]
    if not views:
        return f"no name holds `{part}`" if part else "nothing is bound yet"
    return table([(view.name, _typed(view), view.preview) for view in views], width)


def _typed(view: BindingView) -> str:
    if view.kind == "value" and view.type_label == _HOLE:
        return _NOT_THERE
    if view.kind == "value":
        return fit(view.declared or view.type_label, 30)
    return view.kind


#: What stands for a value that a snapshot could not hold, and how that is called.
_HOLE, _NOT_THERE = "Hole", "missing"


def type_text(value: Any, declared: str | None = None) -> str:
    """The type of a value, its size, and what was promised."""
    text = type_of(value)
    if text == _HOLE:
        text = _NOT_THERE
    elif is_real(value, type):
        text = f"type {class_text(value)}"
    elif text in ("procedure", "function"):
        text = f"{text} {function_text(value)}"
    else:
        length = preview(value, limit=1, run_repr=False).length
        if length is not None:
            unit = {"str": "characters", "bytes": "bytes", "bytearray": "bytes"}.get(text, _MANY)
            text += f" of {length:,} {unit[:-1] if length == 1 else unit}"
    if declared is not None and declared != type_of(value):
        text += f" (declared {declared})"
    return text


def about(session: ReplSession, expression: str) -> str | None:
    """What ``name?`` tells; ``None`` when there is no such name. Nothing is run."""
    value = session.look_up(expression)
    view = session.binding(expression)
    if value is MISSING and view is None:
        return None
    if view is not None and view.kind == "promise":
        return f"{expression}: still being computed\n{_bound(session, expression)}".rstrip()
    if value is MISSING and view is not None:
        value = view.value  # it stands for one that is not there
    is_code = view_kind(value) in ("procedure", "type", "python") or type(value) in _FUNCTIONS
    if is_code:
        lines = [_signature(value, expression)]
    else:
        lines = [f"{expression}: {type_text(value, view.declared if view else None)}"]
    if view is not None:
        lines.append(_bound(session, expression))
    lines.append(_documentation(value) if is_code else preview(value, limit=_PREVIEW).text)
    return "\n".join(line for line in lines if line)


def _signature(value: Any, expression: str) -> str:
    if is_real(value, type):
        text = class_text(value)
        signature = signature_of(value)
        return text if signature and signature in text else f"{text}{signature}"
    if type_of(value) in ("procedure", "function"):
        return function_text(value)
    return f"{expression}{signature_of(value)}: {type_of(value)}"


def _documentation(value: Any) -> str:
    # Python's own kinds of functions answer without running code of a user.
    if type(value) in _FUNCTIONS:
        text = value.__doc__
    else:
        text = namespace_of(value if is_real(value, type) else kind_of(value)).get("__doc__")
    if type(text) is not str:
        return ""
    import inspect

    return inspect.cleandoc(text).rstrip()


def _bound(session: ReplSession, name: str) -> str:
    found = [item for item in bindings_of(session, name) if item.procedure is None]
    if not found:
        view = session.binding(name)
        return f"  from {view.origin}" if view is not None and view.origin else ""
    last = found[-1]
    return f"  {last.what} in {last.fragment.name}, line {last.line}"


# ── sources ───────────────────────────────────────────────────────────────────


def source(session: ReplSession, what: str) -> str | None:
    """The text of a fragment (by number or name), of a definition, or of what bound a name."""
    fragments = session.fragments
    if what.isdecimal() and 1 <= int(what) <= len(fragments):
        return fragments[int(what) - 1].source
    for fragment in fragments:
        if fragment.name == what:
            return fragment.source
    value = session.look_up(what)
    view = session.binding(what)
    found = [item for item in bindings_of(session, what) if item.procedure is None]
    last = found[-1] if found and view is not None else None
    if last is None or last.what in ("imported", "set by Python"):
        text = _definition(value)
        if text is not None:
            return text
    if last is None:
        return None
    return f"# {last.fragment.name}, line {last.line}\n{last.text}"


def _definition(value: Any) -> str | None:
    """The text that defines a procedure, a type, or a function or class of Python."""
    info = info_of(value) if value is not MISSING else None
    site = info.site if info is not None else None
    if is_real(value, type):
        site = namespace_of(value).get("__kedi_site__")
    if site is None:
        import inspect

        try:
            return inspect.getsource(value).rstrip("\n")
        except (TypeError, OSError):
            return None
    lines = site.unit.source.lines
    first = site.span.line
    last = site.span.end_line
    indent = _indent(lines[first - 1])
    while last < len(lines) and (not lines[last].strip() or _indent(lines[last]) > indent):
        last += 1
    text = "\n".join(lines[first - 1 : last]).rstrip()
    return f"# {site.unit.name}, line {first}\n{text}"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


# ── origins ───────────────────────────────────────────────────────────────────


def why(session: ReplSession, name: str) -> str | None:
    """Where the value of a name came from, as far as the fragments tell; ``None`` for no name."""
    view = session.binding(name)
    if view is None:
        return None
    lines = [f"{name}: {type_text(view.value, view.declared)} = {view.preview}"]
    found = bindings_of(session, name)
    if not found:
        lines.append(f"  from {view.origin}" if view.origin else "  no fragment says where from")
        return "\n".join(lines)
    certain = [item for item in found if item.procedure is None]
    if certain:
        lines += _told(session, certain[-1], name)
        seen = len(certain) - 1
        if seen:
            lines.append(f"  {seen} earlier {'statement' if seen == 1 else 'statements'} bound it")
    for item in found:
        if item.procedure is not None:
            lines.append(
                f"  `@{item.procedure}` sets it when called, in {item.fragment.name}, "
                f"line {item.line}"
            )
    return "\n".join(lines)


def _told(session: ReplSession, item: Binding, name: str) -> list[str]:
    failed = ", which failed later on" if item.fragment.state == "failed" else ""
    lines = [f"  {item.what} in {item.fragment.name}, line {item.line}{failed}"]
    lines += [f"    {printable(line)}" for line in item.text.split("\n")[:20]]
    if item.model:
        call = call_behind(session, item, name)
        if call is not None:
            lines.append(f"  by {summary(call)}")
            lines += _prompt_and_answer(call.record)
        else:
            lines.append("  the call is no longer in the log")
    for used in item.inputs:
        place = _bound(session, used).strip()
        if place:
            lines.append(f"  it read <{used}>, {place}")
    return lines


# ── model calls ───────────────────────────────────────────────────────────────


def calls(session: ReplSession, width: int) -> str:
    """One line for each model call, and what they took together."""
    found = session.calls
    if not found:
        return "no model was called yet"
    rows = [("call", "tokens", "cost", "time", "prompt → answer")]
    for call in found:
        record = call.record
        said = f"{record.prompt!r} → {_answer(record)}"
        rows.append((str(call.number), _tokens(record), _cost(record), _time(record), said))
    if len(found) > 1:
        rows.append(_totals(found))
    return table(rows, width)


def _totals(found: Sequence[LoggedCall]) -> tuple[str, str, str, str, str]:
    records = [call.record for call in found]
    usages = [record.usage for record in records if record.usage is not None]
    inputs = sum(usage.input_tokens or 0 for usage in usages)
    outputs = sum(usage.output_tokens or 0 for usage in usages)
    costs = [record.cost for record in records if record.cost is not None]
    return (
        "all",
        f"{inputs:,}+{outputs:,}" if usages else "?",
        f"${sum(costs):.4f}" if costs else "?",
        f"{sum(record.latency for record in records):.2f} s",
        f"{len(found)} calls",
    )


def call(found: LoggedCall) -> str:
    """Everything about one call."""
    record = found.record
    where = f" in @{found.procedure}" if found.procedure else ""
    lines = [
        summary(found),
        f"  at {found.span.source_name}, line {found.span.line}{where}",
        *_prompt_and_answer(record),
    ]
    for number, attempt in enumerate(record.attempts, 1):
        if len(record.attempts) > 1 or attempt.errors:
            lines.append(f"  attempt {number}: {attempt.raw!r}")
            lines += [f"    refused: {printable(problem)}" for problem in attempt.errors]
    return "\n".join(lines)


def summary(found: LoggedCall) -> str:
    """One call in a line, without its texts."""
    record = found.record
    who = record.adapter + (f"/{record.model}" if record.model else "")
    return (
        f"call {found.number} ({who}, {_tokens(record)} tokens, "
        f"cost {_cost(record)}, {_time(record)})"
    )


def _prompt_and_answer(record: CallRecord) -> list[str]:
    lines: list[str] = []
    if record.request.system:
        lines += _block("system", record.request.system)
    lines += _block("prompt", record.prompt)
    lines += _block("failed" if record.error else "answer", _answer(record))
    return lines


def _block(label: str, text: str) -> list[str]:
    first, *others = text.split("\n")
    return [f"  {label}: {printable(first)}", *(f"    {printable(line)}" for line in others)]


def _answer(record: CallRecord) -> str:
    if record.error is not None:
        return record.error
    if record.text is not None:
        return full_text(record.text, limit=_PREVIEW)
    return ", ".join(
        f"{name} = {preview(value, limit=_PREVIEW).text}" for name, value in record.values.items()
    )


def _tokens(record: CallRecord) -> str:
    usage = record.usage
    if usage is None:
        return "?"
    parts = (usage.input_tokens, usage.output_tokens)
    return "+".join("?" if part is None else f"{part:,}" for part in parts)


def _cost(record: CallRecord) -> str:
    return "?" if record.cost is None else f"${record.cost:.4f}"


def _time(record: CallRecord) -> str:
    return f"{record.latency:.2f} s"
