"""Texts that look like credentials. Only form is judged; nothing is looked up or sent."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from kedi.analysis.symbols import Range

_KNOWN = re.compile(
    r"""
    (?P<key>\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}\b
      |\bgsk_[A-Za-z0-9]{20,}\b
      |\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])
      |\bhf_[A-Za-z0-9]{30,}\b)
    |(?P<token>\bgh[pousr]_[A-Za-z0-9]{36,}\b
      |\bgithub_pat_[A-Za-z0-9_]{50,}\b
      |\bglpat-[A-Za-z0-9_-]{20,}
      |\bxox[abeprs]-[A-Za-z0-9-]{10,}
      |\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})
    |(?P<id>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b)
    |(?P<private>-----BEGIN\ [A-Z ]{0,20}PRIVATE\ KEY-----)
    """,
    re.VERBOSE,
)
_NAMED = re.compile(
    r"""(?:api_?key|secret|passwd|password|access_?token|auth_?token)
    [\]"']{0,2}\s{0,3}(?:=|:)\s{0,3}(?:["'`]{0,2})
    (?P<value>[A-Za-z0-9+/_=.-]{16,})(?=["'`\s]|$)""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_NAME_BEFORE = re.compile(r"[A-Za-z_]*\Z")
_HINTS = ("sk-", "gsk_", "AIza", "hf_", "gh", "glpat", "xox", "eyJ", "AKIA", "ASIA", "-----BEGIN")
_WORDS = ("key", "secret", "passw", "token")
_SAYS = {
    "key": "this looks like an API key",
    "token": "this looks like an access token",
    "id": "this looks like an access key id",
    "private": "this looks like a private key",
}


def find_secrets(text: str) -> Iterator[tuple[Range, str]]:
    """``(place, message)`` of everything in ``text`` that looks like a credential."""
    seen: list[tuple[int, int]] = []
    starts: list[int] | None = None
    found: list[tuple[int, int, str]] = []
    if any(hint in text for hint in _HINTS):
        for match in _KNOWN.finditer(text):
            found.append((match.start(), match.end(), _SAYS[match.lastgroup or "key"]))
            seen.append(match.span())
    lowered = text.lower()
    if any(word in lowered for word in _WORDS):
        for match in _NAMED.finditer(text):
            start, end = match.span("value")
            value = match["value"]
            if any(a < end and start < b for a, b in seen) or not _random(value):
                continue
            name = _NAME_BEFORE.search(text[max(0, match.start() - 40) : match.start()])
            word = text[match.start() : start].rstrip("\"'` :=]")
            whole = (name.group() if name else "") + word
            found.append((start, end, f"the value of `{whole}` looks like a secret"))
    for start, end, message in sorted(found):
        if starts is None:
            starts = [0, *(item.end() for item in re.finditer("\n", text))]
        line = bisect_right(starts, start) - 1
        end_line = bisect_right(starts, end) - 1
        yield Range(line, start - starts[line], end_line, end - starts[end_line]), message


def _random(value: str) -> bool:
    """Mixed letters and digits, and many different ones: no word, number or path."""
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    return digits >= 3 and letters >= 3 and len(set(value)) >= 10 and "." not in value[1:-1]
