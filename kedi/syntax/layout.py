r"""Logical lines: where each one ends in a source text.

All functions work on offsets into the whole text, line ends already ``\n``.
A logical line is one physical line, except for fences, headers and types with
open parentheses, returns that end in a backslash, templates with their
continuation lines, prose blocks, and inline Python with an open bracket.
"""

from __future__ import annotations

import re

from kedi.syntax.embedded import depth_after, inline_end, type_end
from kedi.syntax.faults import Fault

TAB = 4
"""Width of a tab when indentation is compared."""

_blank = r"[ \t]*+(?:#(?!##[ \t]*+(?:\n|\Z))[^\n]*+)?+"
_gap = re.compile(rf"(?:{_blank}\n)*+(?:{_blank}\Z)?+").match
_line = re.compile(r"([ \t]*+)([^\n]*+)").match
_comment_line = re.compile(r"[ \t]*+###[ \t]*+(?=\n|\Z)").match
_comment_end = re.compile(r"^[ \t]*+###[ \t]*+(?=\n|\Z)", re.MULTILINE).search
_fence_value = re.compile(r"(?:=|\][ \t]*+:?=)[ \t]*+```").search
_plain = re.compile(r"(?:[^`\\#\n]++|\\[^\n]?|`[^`\n]*+`)*+").match
_target = re.compile(r"\[[ \t]*+[A-Za-z_][A-Za-z0-9_]*+[ \t]*+(\]|:)").match
_operator = re.compile(r"\][ \t]*+(?::?=|<<)").match
_blank_after = re.compile(r"\n[ \t]*+(?:\n|\Z)").search

Line = tuple[int, "Fault | None", int]
"""End of a logical line, what is wrong with its layout, and how far was looked."""


def skip_gap(text: str, at: int) -> int:
    """Start of the next line that is not blank and not a ``#`` comment, or the end of the text."""
    match = _gap(text, at)
    return match.end() if match else at


def indent_of(text: str, at: int) -> tuple[int, int]:
    """``(width, offset of the first other character)`` of the line that starts at ``at``."""
    match = _line(text, at)
    assert match
    end = match.end(1)
    size = end - at
    if size and "\t" in match[1]:
        size += (TAB - 1) * match[1].count("\t")
    return size, end


def line_end(text: str, at: int) -> int:
    """Offset of the end of the physical line that holds ``at``."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def is_comment_block(text: str, at: int) -> bool:
    """Whether the line that starts at ``at`` opens a block comment."""
    return _comment_line(text, at) is not None


def comment_block_end(text: str, at: int) -> int:
    """End of the closing line of the block comment that opens at ``at``; -1 if there is none."""
    match = _comment_end(text, line_end(text, at) + 1) if line_end(text, at) < len(text) else None
    return match.end() if match else -1


def logical_line(text: str, start: int, first: int, width: int, is_code: bool) -> Line:
    """The logical line that starts at ``start``, its first character at ``first``.

    ``width`` is its indentation. ``is_code`` is false for the lines of directive
    blocks that hold settings or names, which are physical lines but for inline Python.
    """
    end = text.find("\n", first)
    if end < 0:
        end = len(text)
    if is_code:
        char = text[first]
        if char == "@" or char == "~":
            return _header(text, first, end, width)
        if char == ">" and text.startswith(">>", first):
            return _template(text, first, end, width)
        if char == "=":
            if text.find("```", first, end) >= 0:
                opener = _fence_value(text, first, end)
                if opener and opener.start() == first and _opens(text, opener.end(), end):
                    return _fence(text, opener.end() - 3, end, width)
            elif text.find("\\", first, end) >= 0 and _continues(text, first, end):
                return _return(text, first, end, width)
        elif char == "`":
            if text.startswith("```", first) and _opens(text, first + 3, end):
                return _fence(text, first, end, width)
        elif char == "[" and text.find("```", first, end) >= 0:
            opener = _fence_value(text, first, end)
            if opener and _opens(text, opener.end(), end):
                return _fence(text, opener.end() - 3, end, width)
    if text.count("`", first, end) % 2 or (
        text.find("\\`", first, end) >= 0 or text.find("#", first, end) >= 0
    ):
        return _inline(text, first, end, width)
    return end, None, end


def _opens(text: str, at: int, end: int) -> bool:
    """Whether a fence at the end of a line opens: no second fence on the line closes it."""
    return text.find("```", at, end) < 0


# ── Inline Python ─────────────────────────────────────────────────────────────


def _inline(text: str, at: int, end: int, width: int) -> Line:
    """Extend a line while it ends inside inline Python that continues."""
    reach = end
    while True:
        match = _plain(text, at, end)
        stop = match.end() if match else end
        if stop >= end or text[stop] != "`" or text.startswith("```", stop):
            return end, None, reach
        depth = depth_after(text[stop + 1 : end])
        if depth <= 0:
            return end, None, reach
        close = text.find("`", end)
        limit, stopped = _block_end(text, end, close if close >= 0 else len(text), width)
        reach = max(reach, line_end(text, limit))
        if stopped:
            return end, None, reach
        if close < 0:
            return len(text), None, reach
        if inline_end(text, stop) < 0:
            return end, None, reach
        at = close + 1
        end = line_end(text, at)
        reach = max(reach, end)


def _block_end(text: str, at: int, limit: int, width: int) -> tuple[int, bool]:
    """Where, up to ``limit``, the lines after ``at`` are blank or dedent below ``width``."""
    while at < limit:
        following = at + 1
        if following >= len(text):
            return len(text), False
        size, first = indent_of(text, following)
        end = line_end(text, first)
        if first == end or size < width:
            return following, True
        at = end
    return limit, False


# ── Headers ───────────────────────────────────────────────────────────────────


def _header(text: str, first: int, end: int, width: int) -> Line:
    """A header runs on while its parentheses are open."""
    opened = text.count("(", first, end)
    if opened == text.count(")", first, end) and (
        text.find('"', first, end) < 0
        and text.find("'", first, end) < 0
        and text.find("#", first, end) < 0
    ):
        return end, None, end
    if not opened:
        return end, None, end
    depth = depth_after(text[first:end])
    while depth > 0:
        if end >= len(text):
            return end, None, end
        size, at = indent_of(text, end + 1)
        if at < len(text) and size <= width and _starts_statement(text, at):
            return end, None, line_end(text, at)
        following = line_end(text, at)
        depth += depth_after(text[at:following])
        end = following
    return end, None, end


# ── Fences ────────────────────────────────────────────────────────────────────


def _fence(text: str, fence: int, end: int, width: int) -> Line:
    """A fence runs to the next line that starts with three backticks."""
    at = end
    while at < len(text):
        size, first = indent_of(text, at + 1)
        at = line_end(text, first)
        if text.startswith("```", first):
            return at, None, at
        if size < width and first < at and _starts_statement(text, first):
            fault = _unclosed_fence(fence)
            return _last_line_before(text, end, first), fault, at
    fault = _unclosed_fence(fence)
    fault.open = True
    return len(text), fault, len(text)


def _unclosed_fence(fence: int) -> Fault:
    return Fault("unclosed-fence", "this fence is not closed", fence, fence + 3)


def _last_line_before(text: str, end: int, first: int) -> int:
    """End of the last line before the one that holds ``first``, blank lines left out."""
    stop = text.rfind("\n", end, first)
    while stop > end:
        before = text.rfind("\n", end, stop)
        if before < 0 or text[before + 1 : stop].strip(" \t"):
            break
        stop = before
    return max(stop, end)


# ── Returns ───────────────────────────────────────────────────────────────────


def _continues(text: str, first: int, end: int) -> bool:
    """Whether a line ends in an unescaped backslash outside a comment."""
    stop = end
    while stop > first and text[stop - 1] in " \t":
        stop -= 1
    slashes = 0
    while stop - slashes > first and text[stop - 1 - slashes] == "\\":
        slashes += 1
    if slashes % 2 == 0:
        return False
    if text.find("#", first, end) >= 0:
        match = _plain(text, first, end)
        if match and match.end() < end and text[match.end()] == "#":
            return False
    return True


def _return(text: str, first: int, end: int, width: int) -> Line:
    while end + 1 < len(text) and _continues(text, first, end):
        first = end + 1
        end = line_end(text, first)
    return _inline(text, first, end, width) if text.count("`", first, end) % 2 else (end, None, end)


# ── Templates and prose ───────────────────────────────────────────────────────


def _template(text: str, first: int, end: int, width: int) -> Line:
    """A template takes the lines of its indentation that are not statements."""
    end, _, reach = _inline(text, first, end, width)
    while end < len(text):
        at = _skip_comments(text, end + 1)
        size, first = indent_of(text, at)
        following = line_end(text, first)
        if first == following or size != width or _starts_statement(text, first):
            return end, None, max(reach, following)
        end, _, looked = _inline(text, first, following, width)
        reach = max(reach, looked)
    return end, None, reach


def _skip_comments(text: str, at: int) -> int:
    """Skip comment lines and whole block comments, but no blank lines."""
    while True:
        _, first = indent_of(text, at)
        if not text.startswith("#", first):
            return at
        if is_comment_block(text, at):
            end = comment_block_end(text, at)
            if end < 0:
                return at
        else:
            end = line_end(text, first)
        if end >= len(text):
            return len(text)
        at = end + 1


def prose_end(text: str, start: int, width: int) -> int:
    """End of the prose lines from ``start`` on that are blank or indented by ``width`` or more."""
    end = line_end(text, start)
    at = end
    while at < len(text):
        if is_comment_block(text, at + 1):
            close = comment_block_end(text, at + 1)
            if close < 0:
                return end
            at = close
            continue
        size, first = indent_of(text, at + 1)
        at = line_end(text, first)
        if first == at or text[first] == "#":
            continue
        if size < width:
            return end
        end = at
    return end


def _starts_statement(text: str, first: int) -> bool:
    """Whether the line whose first character is at ``first`` starts with a statement marker."""
    char = text[first : first + 1]
    if char == "[":
        return is_target(text, first)
    if char == "~":
        return not text.startswith("~~", first)
    if char == "#":
        return text.startswith("###", first)
    return char in ("@", "=", ">", "`")


def is_target(text: str, first: int) -> bool:
    """Whether ``[name] =``, ``[name: T] :=`` or ``[name] <<`` stands at ``first``."""
    match = _target(text, first)
    if match is None:
        return False
    if match[1] == "]":
        return _operator(text, match.end() - 1) is not None
    at = match.end()
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    if text.startswith("`", at):
        close = text.find("`", at + 1)
        if close < 0 or text.find("\n", at, close) >= 0:
            return False
        at = close + 1
        while text[at : at + 1] in (" ", "\t"):
            at += 1
    else:
        at = type_end(text, at, line_end(text, at))
    return _operator(text, at) is not None
