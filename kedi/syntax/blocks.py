"""One chunk: the lines of a top-level statement, put into blocks by their indentation."""

from __future__ import annotations

from kedi.diagnostics import Diagnostic
from kedi.source import Span
from kedi.syntax import ast
from kedi.syntax.ast import Broken, Chunk, Stmt
from kedi.syntax.faults import Fault
from kedi.syntax.layout import (
    comment_block_end,
    indent_of,
    is_comment_block,
    line_end,
    logical_line,
    prose_end,
    skip_gap,
)
from kedi.syntax.places import ALL_PLACES
from kedi.syntax.siblings import check_closed, check_sibling, follows
from kedi.syntax.statements import likely_block, parse_line, parse_prose

MAX_DEPTH = 100
"""Deepest nesting of blocks."""


class _Frame:
    """The lines of one block while it is read."""

    __slots__ = ("context", "owner", "seen", "stmts", "width")

    def __init__(self, width: int, context: str, owner: Stmt) -> None:
        self.width = width
        self.context = context
        self.owner = owner
        self.stmts: list[Stmt] = []
        self.seen: dict[str, Stmt] = {}


class _Builder:
    """Reads one chunk. ``line`` and ``offset`` of what it makes are relative to the chunk."""

    __slots__ = (
        "counted",
        "diagnostics",
        "frames",
        "last",
        "last_block",
        "lenient",
        "line",
        "open",
        "reach",
        "start",
        "text",
    )

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.counted = start
        self.line = 0
        self.frames: list[_Frame] = []
        self.last: Stmt | None = None
        self.last_block: str | None = None
        self.diagnostics: list[Diagnostic] = []
        self.lenient = False
        self.open = False
        self.reach = 0

    def line_of(self, offset: int) -> int:
        """Line of an offset not before the last one asked for, relative to the chunk."""
        self.line += self.text.count("\n", self.counted, offset)
        self.counted = offset
        return self.line

    def report(self, stmt: Stmt, fault: Fault, at_end: bool) -> None:
        """Add what ``fault`` says about the logical line of ``stmt``."""
        self.diagnostics.append(_diagnostic(stmt, fault))
        if fault.open and at_end:
            self.open = True

    def place(self, node: ast.Statement, begin: int, end: int) -> Stmt:
        """A statement for the logical line ``text[begin:end]``."""
        return Stmt(node, self.text[begin:end], self.line_of(begin), begin - self.start)

    # ── Blocks ──

    def enter(self, width: int) -> tuple[_Frame | None, Fault | None]:
        """Close and open blocks for a line of ``width``; what is wrong with its indentation."""
        frames = self.frames
        top = frames[-1].width if frames else 0
        if width > top:
            return self.open_block(width)
        keep = len(frames)
        while keep and frames[keep - 1].width > width:
            keep -= 1
        if keep == len(frames):
            return frames[-1], None
        self.finish_last(False)
        below = frames[keep - 1].width if keep else 0
        if width == below:
            self.close_to(keep)
            return frames[-1], None
        self.close_to(keep + 1)
        frame = frames[-1]
        fault = Fault(
            "inconsistent-dedent",
            f"this line is indented by {width}, which is neither the {frame.width} of the block"
            f" before nor the {below} of the one around it",
            0,
            1,
            f"indent it by {frame.width} or by {below}",
        )
        frame.width = width
        return frame, None if self.lenient else fault

    def close_to(self, keep: int) -> None:
        """Close all blocks but the outermost ``keep``."""
        while len(self.frames) > keep:
            self.close()

    def open_block(self, width: int) -> tuple[_Frame | None, Fault | None]:
        """Open the block of the last statement, which may have none."""
        owner = self.last
        assert owner is not None
        context = self.last_block
        fault: Fault | None = None
        if len(self.frames) >= MAX_DEPTH:
            return None, Fault(
                "too-deep",
                f"blocks are nested more than {MAX_DEPTH} deep",
                0,
                1,
                "move the inner blocks into a procedure",
            )
        if context is None:
            outer = self.frames[-1].context if self.frames else "block"
            context = outer if outer not in ("top", "fragment") else "block"
            if owner.node.__class__ is not Broken and not self.lenient:
                fault = _unexpected_indent(owner, width)
        frame = _Frame(width, context, owner)
        self.frames.append(frame)
        self.last = None
        self.last_block = None
        return frame, fault

    def close(self) -> None:
        """Give the innermost block to its owner."""
        frame = self.frames.pop()
        frame.owner.body = tuple(frame.stmts)
        fault = check_closed(frame.owner, frame.stmts)
        if fault is not None:
            self.report(frame.owner, fault, False)
        self.last = frame.owner
        self.last_block = None

    def finish_last(self, at_end: bool) -> None:
        """Check that the last statement got the block it needs."""
        if self.last is None or self.last_block is None:
            return
        stmt = self.last
        self.last_block = None
        if stmt.node.__class__ is Broken:
            return
        node = stmt.node
        end = max(node.end, node.start + 1)
        fault = Fault(
            "expected-block",
            "an indented block is missing after this line",
            node.start,
            end,
            "indent the lines that belong to it",
            open=True,
        )
        self.report(stmt, fault, at_end)

    def add(self, frame: _Frame, stmt: Stmt) -> None:
        """Append a statement to its block and check it against its siblings."""
        if stmt.node.__class__ is not Broken:
            previous = frame.stmts[-1].node if frame.stmts else None
            fault = follows(stmt.node, previous) or check_sibling(stmt, frame.seen, frame.owner)
            if fault is not None:
                self.report(stmt, fault, False)
                stmt.node = Broken(fault.start, fault.end)
        frame.stmts.append(stmt)


def parse_chunk(text: str, start: int, previous: ast.Statement | None, mode: str) -> Chunk:
    """The chunk that starts at ``start``; ``previous`` is the statement before it."""
    builder = _Builder(text, start)
    at = start
    if text[start] in " \t\n#":
        at, broken = _skip_comments(text, start)
        if at >= len(text) or broken:
            return _trailing(builder, at, broken)
    root, end = _top_level(builder, at, previous, "top" if mode == "file" else "fragment")
    end = _block_lines(builder, end)
    while builder.frames:
        builder.finish_last(False)
        builder.close()
    stop = min(end + 1, len(text))
    reach = 0
    if builder.reach > stop and builder.reach > line_end(text, skip_gap(text, stop)):
        reach = builder.reach - start
    if len(builder.diagnostics) > 1:
        builder.diagnostics.sort(key=lambda item: item.span)
    return Chunk(
        text[start:stop],
        text.count("\n", start, stop),
        root,
        tuple(builder.diagnostics),
        builder.open and len(builder.diagnostics) == 1,
        reach,
    )


def _skip_comments(text: str, at: int) -> tuple[int, bool]:
    """Start of the next statement's line, and whether a block comment is open there."""
    while True:
        at = skip_gap(text, at)
        if not is_comment_block(text, at):
            return at, False
        end = comment_block_end(text, at)
        if end < 0:
            return at, True
        at = min(end + 1, len(text))


def _trailing(builder: _Builder, at: int, broken: bool) -> Chunk:
    """Blank and comment lines up to the end of the text."""
    text, start = builder.text, builder.start
    if broken:
        stmt = builder.place(Broken(0, 0), at, line_end(text, at))
        builder.report(stmt, _unclosed_comment(stmt.text), True)
    rest = text[start:]
    return Chunk(rest, rest.count("\n"), None, tuple(builder.diagnostics), builder.open)


def _unclosed_comment(line: str) -> Fault:
    begin = len(line) - len(line.lstrip(" \t"))
    return Fault(
        "unclosed-comment",
        "this block comment is not closed",
        begin,
        begin + 3,
        "close this comment opened on line {line} with a line that holds only ###",
        open=True,
    )


def _top_level(
    builder: _Builder, at: int, previous: ast.Statement | None, context: str
) -> tuple[Stmt, int]:
    width, first = indent_of(builder.text, at) if builder.text[at] in " \t" else (0, at)
    stmt, block, end = _statement(builder, at, width, first, context, None)
    node = stmt.node
    if width:
        builder.lenient = True
        fault = Fault(
            "unexpected-indent", "a statement at the top level is not indented", 0, first - at
        )
        if node.__class__ is not Broken:
            builder.report(stmt, fault, False)
    elif node.__class__ is not Broken:
        fault = follows(node, previous)
        if fault is not None:
            builder.report(stmt, fault, False)
            stmt.node = Broken(fault.start, fault.end)
        elif node.__class__ is ast.Fence and previous is None:
            assert isinstance(node, ast.Fence)
            stmt.node = ast.Fence(node.start, node.end, node.python, True)
    builder.last = stmt
    builder.last_block = block
    return stmt, end


def _statement(
    builder: _Builder,
    at: int,
    width: int,
    first: int,
    context: str,
    indent_fault: Fault | None,
) -> tuple[Stmt, str | None, int]:
    """Parse the logical line that starts at ``at``."""
    text = builder.text
    if context == "requirements":
        end, fault, reach = line_end(text, first), None, 0
    else:
        end, fault, reach = logical_line(text, at, first, width, context in ALL_PLACES)
    if reach > builder.reach:
        builder.reach = reach
    line = text[at:end]
    block: str | None = None
    try:
        if fault is not None:
            raise _relative(fault, at)
        node, block = parse_line(context, line)
    except Fault as found:
        node = Broken(found.start, found.end)
        block = likely_block(context, line)
        fault = found
    stmt = Stmt(node, line, builder.line_of(at), at - builder.start)
    if indent_fault is not None:
        indent_fault.end = max(first - at, 1)
        builder.report(stmt, indent_fault, False)
    elif fault is not None:
        builder.report(stmt, fault, _is_end(text, end))
    return stmt, block, end


def _relative(fault: Fault, at: int) -> Fault:
    """A layout fault with offsets into the line; ``{line}`` is filled in with the result."""
    moved = Fault(fault.code, fault.message, fault.start - at, fault.end - at, open=fault.open)
    moved.hint = "close this fence opened on line {line} with ``` on a line of its own"
    return moved


def _is_end(text: str, end: int) -> bool:
    return end >= len(text) or (end == len(text) - 1 and text[end] == "\n")


def _block_lines(builder: _Builder, end: int) -> int:
    """Read the lines of the blocks below the chunk's statement; end of the last one."""
    text = builder.text
    size = len(text)
    deepest: int | None = None
    while True:
        gap = end + 1
        at = skip_gap(text, gap) if gap < size else size
        if at < size and is_comment_block(text, at):
            read = _comment(builder, at)
            if read is None:
                at, broken = _skip_comments(text, at)
                if broken:
                    builder.finish_last(False)
                    return end
            else:
                end = read
                continue
        if at >= size:
            builder.finish_last(True)
            return end
        width, first = indent_of(text, at)
        if width == 0:
            builder.finish_last(False)
            return end
        if deepest is not None:
            if width > deepest:
                end = logical_line(text, at, first, width, True)[0]
                continue
            deepest = None
        frame, fault = builder.enter(width)
        if frame is None:
            deepest = builder.frames[-1].width if builder.frames else 0
            end = _too_deep(builder, at, first, width, fault)
            continue
        if frame.context == "prose" and not frame.stmts:
            end = _prose(builder, frame, at, width, first)
            continue
        builder.finish_last(False)
        stmt, block, end = _statement(builder, at, width, first, frame.context, fault)
        builder.add(frame, stmt)
        builder.last = stmt
        builder.last_block = block


def _too_deep(builder: _Builder, at: int, first: int, width: int, fault: Fault | None) -> int:
    """Report blocks that nest too deeply, or a dedent below every block."""
    text = builder.text
    end = logical_line(text, at, first, width, True)[0]
    stmt = builder.place(Broken(0, 0), at, end)
    assert fault is not None
    fault.start, fault.end = first - at, max(line_end(text, first) - at, 1)
    stmt.node = Broken(fault.start, fault.end)
    builder.report(stmt, fault, False)
    builder.last_block = None
    return end


def _comment(builder: _Builder, at: int) -> int | None:
    """Read a block comment as the docstring of the last statement; ``None`` if it is none."""
    owner = builder.last
    if owner is None or builder.last_block not in ("procedure", "profile"):
        return None
    text = builder.text
    width, first = indent_of(text, at)
    if width <= (builder.frames[-1].width if builder.frames else 0):
        return None
    if len(builder.frames) >= MAX_DEPTH:
        return None
    end = comment_block_end(text, at)
    frame = _Frame(width, builder.last_block or "block", owner)
    if end < 0:
        stmt = builder.place(Broken(first - at, first - at + 3), at, len(text))
        builder.report(stmt, _unclosed_comment(stmt.text), True)
        end = len(text)
    else:
        margin = first - at
        stop = text.rfind("\n", at, end)
        opening = line_end(text, at)
        body = text[opening + 1 : stop] if stop > opening else ""
        node = ast.Docstring(margin, end - at, _documentation(body, text[at:first]))
        stmt = builder.place(node, at, end)
    builder.frames.append(frame)
    frame.stmts.append(stmt)
    builder.last = stmt
    builder.last_block = None
    return end


def _documentation(body: str, margin: str) -> str:
    """The lines of a docstring without the indentation of its comment and blank ends."""
    lines: list[str] = []
    for line in body.split("\n"):
        if line.startswith(margin):
            line = line[len(margin) :]
        else:
            line = line.lstrip(" \t")
        lines.append(line.rstrip(" \t"))
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return "\n".join(lines)


def _prose(builder: _Builder, frame: _Frame, at: int, width: int, first: int) -> int:
    """Read the whole block of a prose directive as one statement."""
    text = builder.text
    end = prose_end(text, at, width)
    line = text[at:end]
    try:
        node = parse_prose(line, first - at, frame.owner.node)
    except Fault as found:
        node = Broken(found.start, found.end)
        fault: Fault | None = found
    else:
        fault = None
    stmt = builder.place(node, at, end)
    if fault is not None:
        builder.report(stmt, fault, _is_end(text, end))
    frame.stmts.append(stmt)
    builder.last = stmt
    builder.last_block = None
    return end


def _unexpected_indent(owner: Stmt, width: int) -> Fault:
    cls = owner.node.__class__
    hint = "remove the indentation"
    if cls is ast.Template:
        hint = "continue a template at the indentation of its `>>`"
    elif cls is ast.Directive:
        hint = "a directive has a value or a block, not both"
    return Fault(
        "unexpected-indent", "this line is indented, but the line before opens no block", 0, 1, hint
    )


# ── Diagnostics ───────────────────────────────────────────────────────────────


def _diagnostic(stmt: Stmt, fault: Fault) -> Diagnostic:
    text = stmt.text
    size = len(text)
    start = min(max(fault.start, 0), size)
    end = min(max(fault.end, start), size)
    line, column = stmt.locate(start)
    end_line, end_column = stmt.locate(end)
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    shown = text[begin:] if stop < 0 else text[begin:stop]
    span = Span("", line + 1, column + 1, end_line + 1, end_column + 1)
    return Diagnostic(fault.code, fault.message, span, "error", fault.hint, shown)
