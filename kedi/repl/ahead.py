"""Text that came while no prompt was shown, and whether it was typed or pasted.

Terminals mark pastes only while a prompt asks them to. Other programs that read from the
terminal meanwhile (``input()``, a password prompt) could not understand the marks.
"""

from __future__ import annotations

import codecs
import os
import re
import select
from collections.abc import Generator
from contextlib import contextmanager

#: Seconds of silence after which a text is whole. The parts of a paste follow each other at once,
#: but may come over a network; who typed one line ahead should not have to wait.
_SILENCE, _SILENCE_OF_LINES = 0.03, 0.3
_MOST = 64_000_000
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def is_waiting(descriptor: int) -> bool:
    """Whether the terminal has input that nobody has read."""
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):
        return False  # closed: whoever reads says so


def take(descriptor: int) -> str:
    """What waits in the terminal, up to where it ends.

    Raises ``KeyboardInterrupt``.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text = ""
    with _unbuffered(descriptor):
        while is_waiting(descriptor) or (text and _comes(descriptor, text)):
            data = os.read(descriptor, 65_536)
            if not data or len(text) > _MOST:
                break
            text += decoder.decode(data).replace("\r\n", "\n").replace("\r", "\n")
    return text + decoder.decode(b"", True)


def is_pasted(text: str) -> bool:
    """Whether lines that came at once are kept from running one by one.

    One line may have been typed ahead; keys such as arrows were typed for certain.
    """
    return "\n" in text.strip() and _CONTROL.search(text) is None


def _comes(descriptor: int, text: str) -> bool:
    silence = _SILENCE_OF_LINES if "\n" in text.strip() else _SILENCE
    return bool(select.select([descriptor], [], [], silence)[0])


@contextmanager
def _unbuffered(descriptor: int) -> Generator[None]:
    """Let the terminal give what it has, not only whole lines."""
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSANOW)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
