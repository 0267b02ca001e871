"""Parse a source: chunks, blocks, three-valued answers, re-parsing after an edit.

A chunk (a top-level statement with its block) depends on its own text, on the
first line after it, and on the kind of the statement before it, and on nothing
else. So after an edit only chunks around it are parsed again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Literal

from kedi.diagnostics import Diagnostic
from kedi.errors import KediParseError
from kedi.source import SourceFile, Span
from kedi.syntax.ast import Chunk, Else, Fence, Map, ParseResult, Program, Statement
from kedi.syntax.blocks import parse_chunk

Mode = Literal["file", "fragment"]
_BOM = "\ufeff"
_OPENED = frozenset({"unclosed-fence", "unclosed-comment"})


def parse(
    text: str,
    source_name: str = "<string>",
    *,
    path: str | None = None,
    mode: Mode = "file",
    previous: Program | None = None,
) -> ParseResult:
    """Parse ``text`` and say whether it is complete, incomplete or invalid.

    ``mode="fragment"`` refuses what belongs to whole files. ``previous`` is an
    earlier result for a similar text of the same mode: what did not change is
    taken over from it. Never raises for any text.
    """
    text = normalise(text)
    source = SourceFile(source_name, text, path)
    if previous is not None and previous.mode == mode and previous.chunks:
        program = _reparse(source, previous)
    else:
        program = Program(source, [], [], [], mode)
        _extend(program, 0, 0, None)
    return _result(program)


def parse_or_raise(
    text: str,
    source_name: str = "<string>",
    *,
    path: str | None = None,
    mode: Mode = "file",
    previous: Program | None = None,
) -> Program:
    """The program of a complete ``text``; raises ``KediParseError`` with every finding."""
    result = parse(text, source_name, path=path, mode=mode, previous=previous)
    if result.status != "complete":
        raise KediParseError(result.diagnostics)
    return result.program


def normalise(text: str) -> str:
    r"""``text`` without a byte order mark and with ``\n`` as its only line end."""
    if text.startswith(_BOM):
        text = text[1:]
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


# ── Chunks ────────────────────────────────────────────────────────────────────


def _extend(program: Program, at: int, line: int, until: dict[int, int] | None) -> None:
    """Append the chunks of the text from offset ``at``, which is on ``line``, to the end."""
    text = program.source.text
    chunks, lines, offsets = program.chunks, program.lines, program.offsets
    previous: Statement | None = None
    flagged: list[int] = []
    far: list[int] = []
    size = len(text)
    while at < size:
        chunk = parse_chunk(text, at, previous, program.mode)
        if chunk.diagnostics:
            flagged.append(len(chunks))
        if chunk.reach:
            far.append(len(chunks))
        chunks.append(chunk)
        lines.append(line)
        offsets.append(at)
        if chunk.stmt is not None:
            previous = chunk.stmt.node
        at += len(chunk.text)
        line += chunk.line_count
    program.flagged = tuple(flagged)
    program.far = tuple(far)


def _depends(chunk: Chunk) -> bool:
    """Whether what stands before a chunk may change how it is parsed."""
    if chunk.stmt is None:
        return False
    return bool(chunk.diagnostics) or isinstance(chunk.stmt.node, (Else, Map, Fence))


def _reparse(source: SourceFile, old: Program) -> Program:
    text, before = source.text, old.source.text
    head = _common_head(before, text)
    if head == len(text) == len(before):
        return Program(source, old.chunks, old.lines, old.offsets, old.mode, old.flagged, old.far)
    tail = _common_tail(before, text, head)
    delta = len(text) - len(before)
    first = max(bisect_right(old.offsets, head) - 2, 0)
    for index in old.far:
        if index >= first:
            break
        if old.offsets[index] + old.chunks[index].reach >= head:
            first = index
            break
    chunks = old.chunks[:first]
    lines = old.lines[:first]
    offsets = old.offsets[:first]
    flagged = [index for index in old.flagged if index < first]
    far = [index for index in old.far if index < first]
    previous: Statement | None = None
    for chunk in reversed(chunks):
        if chunk.stmt is not None:
            previous = chunk.stmt.node
            break
    at = old.offsets[first] if first < len(old.offsets) else 0
    line = old.lines[first] if first < len(old.lines) else 0
    size, stable = len(text), len(text) - tail
    while at < size:
        if at >= stable:
            index = bisect_left(old.offsets, at - delta)
            if (
                index < len(old.offsets)
                and old.offsets[index] == at - delta
                and not _depends(old.chunks[index])
            ):
                _append_rest(old, index, (chunks, lines, offsets, flagged, far), delta, line)
                break
        chunk = parse_chunk(text, at, previous, old.mode)
        if chunk.diagnostics:
            flagged.append(len(chunks))
        if chunk.reach:
            far.append(len(chunks))
        chunks.append(chunk)
        lines.append(line)
        offsets.append(at)
        if chunk.stmt is not None:
            previous = chunk.stmt.node
        at += len(chunk.text)
        line += chunk.line_count
    return Program(source, chunks, lines, offsets, old.mode, tuple(flagged), tuple(far))


def _append_rest(
    old: Program,
    index: int,
    into: tuple[list[Chunk], list[int], list[int], list[int], list[int]],
    delta: int,
    line: int,
) -> None:
    """Take over the old chunks from ``index`` on, moved by ``delta`` and to ``line``."""
    chunks, lines, offsets, flagged, far = into
    moved = len(chunks) - index
    shift = line - old.lines[index]
    flagged.extend(item + moved for item in old.flagged if item >= index)
    far.extend(item + moved for item in old.far if item >= index)
    chunks += old.chunks[index:]
    if shift:
        lines += [item + shift for item in old.lines[index:]]
    else:
        lines += old.lines[index:]
    if delta:
        offsets += [item + delta for item in old.offsets[index:]]
    else:
        offsets += old.offsets[index:]


def _common_head(a: str, b: str) -> int:
    """Length of the longest common prefix."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(a: str, b: str, head: int) -> int:
    """Length of the longest common suffix that does not overlap the first ``head`` characters."""
    low, high = 0, min(len(a), len(b)) - head
    size_a, size_b = len(a), len(b)
    while low < high:
        middle = (low + high + 1) // 2
        if a[size_a - middle : size_a - low] == b[size_b - middle : size_b - low]:
            low = middle
        else:
            high = middle - 1
    return low


# ── Results ───────────────────────────────────────────────────────────────────


def _result(program: Program) -> ParseResult:
    if not program.flagged:
        return ParseResult("complete", program)
    found: list[Diagnostic] = []
    name = program.source.name
    for index in program.flagged:
        line = program.lines[index]
        found.extend(_absolute(item, name, line) for item in program.chunks[index].diagnostics)
    is_open = len(program.flagged) == 1 and program.chunks[program.flagged[0]].open
    return ParseResult("incomplete" if is_open else "invalid", program, tuple(found))


def _absolute(item: Diagnostic, name: str, line: int) -> Diagnostic:
    span = _moved(item.span, name, line)
    hint = item.hint
    if hint is not None and item.code in _OPENED:
        hint = hint.replace("{line}", str(span.line))
    return Diagnostic(item.code, item.message, span, item.severity, hint, item.source_line)


def _moved(span: Span, name: str, line: int) -> Span:
    return Span(name, span.line + line, span.column, span.end_line + line, span.end_column)
