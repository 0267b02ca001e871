r"""``.env`` files: parsed here, applied without overriding the environment.

Lines are ``NAME=value`` or ``export NAME=value``. Values may stand in single
quotes (taken as they are) or double quotes (``\n``, ``\t``, ``\"``, ``\\``);
quoted values may span lines. An unquoted value ends at `` #``. Nothing is
expanded or executed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

MAX_BYTES = 1_000_000
_LINE = re.compile(r"[^\S\n]*(?:export[^\S\n]+)?(?P<name>[A-Za-z_][A-Za-z0-9_.]*)[^\S\n]*=[^\S\n]*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}
# A file that merely lies in a directory must not decide which code a process loads.
_PROTECTED = re.compile(
    r"PATH|HOME|SHELL|IFS|ENV|BASH_ENV|LD_.*|DYLD_.*|PYTHON.*|PIP_.*|NODE_OPTIONS|PERL5.*|RUBYOPT"
)


@dataclass(frozen=True, slots=True)
class EnvFile:
    """Names and values of one file, and the lines that could not be used."""

    values: dict[str, str] = field(default_factory=dict[str, str])
    problems: tuple[str, ...] = ()


def parse_env(text: str) -> EnvFile:
    """Parse the text of a ``.env`` file; broken lines become problems, never errors."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    values: dict[str, str] = {}
    problems: list[str] = []
    at, number = 0, 1
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end == -1 else end
        line = text[at:end].strip()
        after = end + 1
        if line and not line.startswith("#"):
            match = _LINE.match(text, at, end)
            if match is None:
                problems.append(f"line {number}: not of the form NAME=value")
            else:
                value, after = _value(text, match.end(), end)
                if value is None:
                    problems.append(f"line {number}: the quote is never closed")
                elif "\0" in value:
                    problems.append(f"line {number}: the value holds a NUL character")
                else:
                    values[match["name"]] = value
        number += text.count("\n", at, after)
        at = after
    return EnvFile(values, tuple(problems))


def _value(text: str, at: int, end: int) -> tuple[str | None, int]:
    """The value that starts at ``at`` and the offset of the line after it."""
    quote = text[at : at + 1] if at < end else ""
    if quote not in ("'", '"') or not quote:
        raw = text[at:end]
        comment = re.search(r"(?:^|\s)#", raw)
        return (raw[: comment.start()] if comment else raw).strip(), end + 1
    out: list[str] = []
    place = at + 1
    while place < len(text):
        char = text[place]
        if char == quote:
            rest = text.find("\n", place)
            return "".join(out), (len(text) if rest == -1 else rest) + 1
        if char == "\\" and quote == '"' and place + 1 < len(text):
            following = text[place + 1]
            out.append(_ESCAPES.get(following, char + following))
            place += 2
            continue
        out.append(char)
        place += 1
    # Only this line is lost, not everything below it.
    return None, end + 1


def read_env(directory: Path | str | None = None) -> EnvFile:
    """The ``.env`` of a directory (default: the working directory); empty when there is none.

    Only a regular file of at most ``MAX_BYTES`` is read, so a device, a pipe or
    a huge file cannot stop or fill the process.
    """
    path = Path(directory or ".") / ".env"
    try:
        # Without waiting: opening a pipe for reading would block.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            mode = os.fstat(handle).st_mode
            if stat.S_ISDIR(mode):
                # A virtual environment is sometimes called .env.
                return EnvFile()
            if not stat.S_ISREG(mode):
                return EnvFile(problems=(f"{path}: not a regular file",))
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(MAX_BYTES + 1)
        finally:
            os.close(handle)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return EnvFile()
    except (OSError, ValueError) as problem:
        return EnvFile(problems=(f"{path}: {getattr(problem, 'strerror', None) or problem}",))
    if len(data) > MAX_BYTES:
        return EnvFile(problems=(f"{path}: larger than {MAX_BYTES:,} bytes",))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        return EnvFile(problems=(f"{path}: not UTF-8 (byte {problem.start})",))
    found = parse_env(text)
    return EnvFile(found.values, tuple(f"{path}: {item}" for item in found.problems))


def load_env(
    directory: Path | str | None = None, environ: MutableMapping[str, str] | None = None
) -> tuple[str, ...]:
    """Add the names of a directory's ``.env`` that the environment does not have yet.

    Returns what could not be used, one readable line each. Names that decide
    which code a process loads (``PATH``, ``LD_*``, ``PYTHON*`` and the like)
    are left alone.
    """
    if environ is None and _complete:
        return ()
    target = os.environ if environ is None else environ
    found = read_env(directory)
    problems = list(found.problems)
    for name, value in found.values.items():
        if _PROTECTED.fullmatch(name):
            problems.append(f"{Path(directory or '.') / '.env'}: {name} cannot be set from .env")
        elif name not in target:
            target[name] = value
    return tuple(problems)


_complete = False


def leave_environment() -> None:
    """Have :func:`load_env` add nothing to this process's environment: whoever made it read all."""
    global _complete
    _complete = True


__all__ = ["MAX_BYTES", "EnvFile", "leave_environment", "load_env", "parse_env", "read_env"]
