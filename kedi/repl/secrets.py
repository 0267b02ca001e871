"""What does not belong into a history file: inputs that seem to hold a credential."""

from __future__ import annotations

import re

_WORDS = r"passwords?|passwd|pwd|passphrase|secrets?|token|credentials?|authorization|bearer"
_KEYS = r"(?:api|access|auth|private|secret|signing|encryption|account|master)_?keys?"
#: `token` and `password`, also as the end of a longer name; `tokens` and `token_count` are counts.
_NAME = rf"(?:[A-Za-z0-9]{{0,30}}[_-]){{0,6}}(?:{_WORDS}|{_KEYS}|apikey)"
#: What follows is a value as such and neither a reference nor a call.
_ASSIGNED = re.compile(
    rf"(?<![A-Za-z0-9_]){_NAME}[\"']?\s*(?:\]|:\s*[\w.\[\]| ]+\])?\s*(?::?=|:|<<)\s*"
    r"(?P<quote>`\s*[\"']|[\"'])?(?P<value>[^\s`\"'<>,)]{3,})",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"--{_NAME}[= ]\s*\S{{3,}}", re.IGNORECASE)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,200}:[^\s/@]{2,200}@", re.IGNORECASE)
_HEADER = re.compile(r"\b(?:bearer|basic)\s+[A-Za-z0-9+/=_.-]{12,}", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[]|\d{1,9}$|(?:str|int|bytes|None|True|False|Any)\b")


def looks_secret(text: str) -> bool:
    """Whether ``text`` seems to hold a key, a token or a password. Rather once too often."""
    from kedi.analysis.secrets import find_secrets

    if any(True for _ in find_secrets(text)):
        return True
    if any(pattern.search(text) for pattern in (_OPTION, _URL, _HEADER)):
        return True
    return any(
        match["quote"] or not _CODE.match(match["value"]) for match in _ASSIGNED.finditer(text)
    )
