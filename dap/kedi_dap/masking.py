"""Secrets kept out of every protocol message and log.

A secret is the value of an environment variable whose name says that it is a credential, the
password in such a value that is an address, and what the ``redact`` patterns of a user match.
Counts are none: values that are numbers stay, and so do paths that exist.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import orjson

from kedi_dap.messages import encode

#: What stands in place of a secret.
MASK = "***"
#: Characters of the shortest value that is masked, and of the shortest part of one where a text
#: was cut.
MIN_LENGTH = 8
_NAME = re.compile(
    r"(?:^|_)(?:[A-Z]*(?:API|ACCESS|PRIVATE|SECRET|AUTH|SIGNING|ENCRYPTION|MASTER))?KEYS?(?:_|$)"
    r"|TOKEN(?!S|IZ)|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL|(?:^|_)PWD?(?:_|$)|(?:^|_)PAT(?:_|$)"
    r"|(?:^|_)AUTH(?:ORIZATION)?(?:_|$)|BEARER|COOKIE",
    re.IGNORECASE,
)
_NOT_NAMED = frozenset(("PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY"))
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@]*:([^\s/@]+)@", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?[\d_.,]+(?:e[+-]?\d+)?")
#: Keys whose texts are words of the protocol, or the client's own.
_WORDS = frozenset(
    ("category", "group", "kind", "presentationHint", "reason", "attributes", "visibility", "unit")
)
_CUT = r"(?=…|\.\.\.|$)"
#: Lines of a secret of several lines that are masked alone.
_LONG_LINE = 16


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """Values of an environment that look like credentials, each once."""
    found: dict[str, None] = {}
    for name, value in environment.items():
        for match in _URL.finditer(value):
            found[match[1]] = None
        if name.upper() in _NOT_NAMED or not _NAME.search(name):
            continue
        text = value.strip()
        if _NUMBER.fullmatch(text) or _is_path(text):
            continue
        found[text] = None
        lines = text.splitlines()
        if len(lines) > 1:
            found.update((line.strip(), None) for line in lines if len(line) >= _LONG_LINE)
    return [value for value in found if len(value) >= MIN_LENGTH]


def _is_path(text: str) -> bool:
    try:
        return os.path.isabs(text) and os.path.exists(text)
    except ValueError:
        return False


class BadPattern(ValueError):
    """A ``redact`` pattern that is no regular expression."""


def compile_patterns(texts: Iterable[str]) -> list[re.Pattern[str]]:
    """Patterns of ``redact``. Raises :class:`BadPattern`."""
    patterns: list[re.Pattern[str]] = []
    for text in texts:
        try:
            pattern = re.compile(text)
        except re.error as error:
            raise BadPattern(f"`redact`: {text!r} is no regular expression: {error}") from None
        if pattern.match("") is not None:
            raise BadPattern(f"`redact`: {text!r} matches the empty text")
        patterns.append(pattern)
    return patterns


class Masker:
    """Masks texts and messages. Cheap where there is nothing to mask."""

    def __init__(
        self, secrets: Iterable[str] = (), patterns: Iterable[re.Pattern[str]] = ()
    ) -> None:
        values = {form for value in secrets for form in _forms(value)}
        #: Every form of every secret, longest first.
        self.values = tuple(sorted(values, key=len, reverse=True))
        self.patterns = tuple(patterns)
        #: Matches every secret, and the same with parts of secrets where a preview was cut.
        self.whole = re.compile("|".join(map(re.escape, self.values))) if values else None
        self.literal = _literal_pattern(self.values)
        #: One of them is in every text, or encoded message, that holds a secret or a part of one.
        self._marks = tuple(dict.fromkeys(mark for v in self.values for mark in _marks(v)))
        self._needles = tuple(dict.fromkeys(orjson.dumps(mark)[1:-1] for mark in self._marks))
        self.active = bool(values or self.patterns)

    def text(self, text: str) -> str:
        """``text`` without its secrets."""
        if self.literal is not None and any(mark in text for mark in self._marks):
            text = self.literal.sub(MASK, text)
        for pattern in self.patterns:
            text = pattern.sub(MASK, text)
        return text

    def encode(self, message: dict[str, Any]) -> bytes:
        """JSON of a message with the texts of its ``body`` and ``message`` masked."""
        data = encode(message)
        if self._is_clean(data):
            return data
        fields = orjson.loads(data)
        for key in ("body", "message", "arguments"):
            if key in fields:
                fields[key] = self._tree(fields[key])
        return orjson.dumps(fields)

    def line(self, data: bytes) -> bytes:
        """An encoded message for a log; what is no JSON is masked as text."""
        if self._is_clean(data):
            return data
        try:
            return orjson.dumps(self._tree(orjson.loads(data)))
        except orjson.JSONDecodeError:
            return self.text(data.decode("utf-8", "replace")).encode()

    def _is_clean(self, data: bytes) -> bool:
        return not self.patterns and not any(needle in data for needle in self._needles)

    def _tree(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {
                self.text(key): item if key in _WORDS else self._tree(item)
                for key, item in cast("dict[str, Any]", value).items()
            }
        if isinstance(value, list):
            return [self._tree(item) for item in cast("list[Any]", value)]
        return value


class StreamMasker:
    """Masks text that comes in pieces: what may begin a secret waits for the next piece.

    Patterns of users are matched within lines: an unfinished line waits, up to a bound.
    """

    #: Characters of an unfinished line that wait for its end while there are patterns.
    LINE_LIMIT = 4_096

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._longest = max(map(len, masker.values), default=0)
        self._held = ""
        #: The end of what was shown although it may begin a secret.
        self._shown = ""

    def feed(self, text: str) -> str:
        """What can be shown of the stream by now."""
        if not self._masker.active:
            return text
        begin = len(self._shown)
        text = self._shown + self._held + text
        keep = self._keep(text, begin)
        self._held = text[keep:]
        return self._render(text[:keep], begin) if keep > begin else ""

    def flush(self) -> str:
        """What was held back: nothing follows, or it is time to show it."""
        text, begin = self._shown + self._held, len(self._shown)
        if len(text) == begin:
            return ""
        self._held = ""
        shown = self._render(text, begin)
        self._shown = text[-self._longest :] if self._longest else ""
        return shown

    def _render(self, text: str, begin: int) -> str:
        self._shown = ""
        literal = self._masker.literal
        if begin and literal is not None:
            for match in literal.finditer(text):
                if match.start() < begin < match.end():
                    return MASK + self._masker.text(text[match.end() :])
        return self._masker.text(text[begin:])

    def _keep(self, text: str, begin: int) -> int:
        keep = len(text)
        if self._masker.patterns:
            keep = max(text.rfind("\n") + 1, len(text) - self.LINE_LIMIT)
        if self._masker.whole is not None:
            keep = min(keep, self._tail(text, self._masker.whole))
        return max(keep, begin)

    def _tail(self, text: str, whole: re.Pattern[str]) -> int:
        """Where the longest end of ``text`` begins that may become a secret."""
        begin = max(0, len(text) - self._longest + 1)
        tail = text[begin:]
        best = len(tail)
        for value in self._masker.values:
            at = tail.find(value[0])
            while 0 <= at < best:
                if value.startswith(tail[at:]):
                    best = at
                    break
                at = tail.find(value[0], at + 1)
        if best == len(tail):
            return len(text)
        # A secret that is whole is not cut by one that may begin within it.
        for match in whole.finditer(text):
            if match.start() < begin + best < match.end():
                best = match.end() - begin
        return begin + best


def _literal_pattern(values: tuple[str, ...]) -> re.Pattern[str] | None:
    """Matches each value whole, and the rest of one where a preview was cut within it."""
    if not values:
        return None
    whole = [re.escape(value) for value in values]
    heads = [f"{_head(value)}{_CUT}" for value in values if len(value) > MIN_LENGTH]
    tails = [f"(?<=…){_tail(value)}" for value in values if len(value) > MIN_LENGTH]
    return re.compile("|".join([*whole, *heads, *tails]))


def _head(value: str) -> str:
    """A pattern for each beginning of at least ``MIN_LENGTH`` characters."""
    nested = ""
    for char in reversed(value[MIN_LENGTH : MIN_LENGTH + 80]):
        nested = f"(?:{re.escape(char)}{nested})?"
    return re.escape(value[:MIN_LENGTH]) + nested


def _tail(value: str) -> str:
    """A pattern for each end of at least ``MIN_LENGTH`` characters."""
    nested = ""
    for char in value[-MIN_LENGTH - 80 : -MIN_LENGTH]:
        nested = f"(?:{nested}{re.escape(char)})?"
    return nested + re.escape(value[-MIN_LENGTH:])


def _forms(value: str) -> Iterable[str]:
    """A value as it is, and as it stands inside representations and JSON."""
    value = value.encode("utf-8", "backslashreplace").decode()
    return {value, repr(value)[1:-1], orjson.dumps(value).decode()[1:-1], ascii(value)[1:-1]}


def _marks(value: str) -> Iterable[str]:
    """Parts of which one is in every text that holds the value, or a masked part of it."""
    return value[:MIN_LENGTH], value[-MIN_LENGTH:]


def masker_for(environment: Mapping[str, str], redact: Iterable[str] = ()) -> Masker:
    """The masker for a program with this environment. Raises :class:`BadPattern`."""
    return Masker(secrets_in(environment), compile_patterns(redact))
