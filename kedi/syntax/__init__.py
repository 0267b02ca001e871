"""The syntax of Kedi: layout, grammar, parser, printer.

``parse`` and ``parse_or_raise`` read a source, ``print_program`` writes one.
The parts load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kedi.syntax.parser import parse, parse_or_raise
    from kedi.syntax.printer import print_program

__all__ = ["parse", "parse_or_raise", "print_program"]


def __getattr__(name: str) -> Any:
    if name in ("parse", "parse_or_raise"):
        from kedi.syntax import parser

        return getattr(parser, name)
    if name == "print_program":
        from kedi.syntax.printer import print_program

        return print_program
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
