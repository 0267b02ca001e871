"""When a text goes from the prompt to the session: the rules of continuation.

A line that is complete (or wrong: more input cannot help) is submitted at once.
What is open goes on, line by line, and a blank line submits it. Blank lines are
text where they stand inside a fence or a block comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kedi.repl.transcript import inputs

if TYPE_CHECKING:
    from kedi.syntax.ast import ParseResult

Check = Callable[[str], "ParseResult"]

_COMMAND = re.compile(r"\s*:([A-Za-z][\w-]*|[^\s\w]?)(.*)", re.DOTALL)
_KEY = r"""\[(?:'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+"|[^\]\[\n?'"])++\]"""
_PATH = rf"[A-Za-z_]\w*+(?:\.[^\W\d]\w*+|{_KEY})*+"
_ASKED = re.compile(rf"\s*+(?:\?\s*+(?P<after>{_PATH})|(?P<before>{_PATH})(?P<marks>\?\??))\s*+")

#: Commands whose argument is what a return accepts, and may go on over several lines.
EXPRESSION_COMMANDS = frozenset({"show", "type"})


class Command(NamedTuple):
    """A command of the REPL: its name without the colon, and the text after it."""

    name: str
    argument: str


def is_path(text: str) -> bool:
    """Whether a text is a name, perhaps with attributes and keys behind it."""
    return re.fullmatch(_PATH, text) is not None


def command_in(text: str) -> Command | None:
    """The command that ``text`` is, or ``None`` for a fragment."""
    stripped = text.strip()
    if stripped in ("help", "help()"):
        return Command("help", "")
    if stripped.startswith(":"):
        found = _COMMAND.fullmatch(stripped)
        return Command(found[1], found[2].strip()) if found else Command(stripped[1:], "")
    if "?" in stripped[:1] + stripped[-1:] and (asked := _ASKED.fullmatch(stripped)):
        return Command(asked["marks"] or "?", asked["before"] or asked["after"])
    return None


class Rules:
    """Decides for texts; ``check`` is :meth:`InteractiveSession.check`."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def is_open(self, text: str) -> bool:
        """Whether more input is needed before ``text`` can be submitted."""
        subject = self._subject(text)
        return subject is not None and self._check(subject).status == "incomplete"

    def needs_more(self, fragment: str) -> bool:
        """Whether a text is an unfinished fragment; commands are text like any other here."""
        return bool(fragment.strip()) and self._check(fragment).status == "incomplete"

    def takes_blank(self, text: str) -> bool:
        """Whether a blank line after ``text`` belongs to it instead of submitting it."""
        subject = self._subject(text)
        if subject is None or ("```" not in subject and "###" not in subject):
            return False
        result = self._check(subject)
        return result.status == "incomplete" and any(
            item.code in ("unclosed-fence", "unclosed-comment") for item in result.diagnostics
        )

    @staticmethod
    def _subject(text: str) -> str | None:
        """What has to be complete; ``None`` when the text always is."""
        copied = inputs(text)
        if copied:
            text = copied[-1]
        command = command_in(text)
        if command is None:
            return text if text.strip() else None
        if command.name in EXPRESSION_COMMANDS and command.argument:
            return f"= {command.argument}"
        return None


class Blanks:
    """Where blank lines of one growing input belong: asks again only when that may have changed."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._inside = False
        self._seen = 0

    def belong(self, lines: list[str]) -> bool:
        """Whether a blank line after ``lines`` is text of a fence or comment."""
        new = lines[self._seen :]
        self._seen = len(lines)
        if not self._inside or any("```" in line or "###" in line for line in new):
            self._inside = self._rules.takes_blank("\n".join(lines))
        return self._inside
