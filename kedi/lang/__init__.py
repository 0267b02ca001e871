"""Programs as hosts use them: parse a source, compile it, run it."""

from __future__ import annotations

from kedi.runtime.program import KediRuntime, compile_program
from kedi.syntax.ast import ParseResult, Program


def parse_program(
    source: str, source_path: str | None = None, *, source_name: str | None = None
) -> Program:
    """Parse a complete source.

    ``source_path`` is the file it came from (imports are relative to it) or a
    label such as ``"<totals>"``. Raises :class:`kedi.errors.KediParseError`
    with a diagnostic for every broken statement.
    """
    from kedi.syntax import parse_or_raise

    label = source_path is not None and source_path.startswith("<") and source_path.endswith(">")
    return parse_or_raise(
        source,
        source_name or source_path or "<program>",
        path=None if label else source_path,
    )


__all__ = ["KediRuntime", "ParseResult", "Program", "compile_program", "parse_program"]
