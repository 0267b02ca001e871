"""Programs as hosts use them: parse a source, compile it, run it."""

from __future__ import annotations

import os
from typing import cast

from kedi.runtime.program import KediRuntime, compile_program
from kedi.syntax.ast import ParseResult, Program


def parse_program(
    source: str,
    source_path: str | os.PathLike[str] | None = None,
    *,
    source_name: str | os.PathLike[str] | None = None,
) -> Program:
    """Parse a complete source.

    ``source_path`` is the file it came from (imports are relative to it) or a
    label such as ``"<totals>"``. Raises :class:`kedi.errors.KediParseError`
    with a diagnostic for every broken statement, and ``TypeError`` for what is not text.
    """
    from kedi.syntax import parse_or_raise

    if not isinstance(source, str):
        raise TypeError(f"parse_program takes the text of a program, not {type(source).__name__}")
    if source_path is not None:
        source_path = _text("source_path", source_path)
    if source_name is not None:
        source_name = _text("source_name", source_name)
    label = source_path is not None and source_path.startswith("<") and source_path.endswith(">")
    return parse_or_raise(
        source,
        source_name or source_path or "<program>",
        path=None if label else source_path,
    )


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        path: object = os.fspath(cast("os.PathLike[str]", value))
        if isinstance(path, str):
            return path
    raise TypeError(f"`{name}` is text or a path of text, not {value.__class__.__name__}")


__all__ = ["KediRuntime", "ParseResult", "Program", "compile_program", "parse_program"]
