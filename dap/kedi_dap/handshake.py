"""The first message of a connection between an adapter and a debugged process."""

from __future__ import annotations

import hmac
import time
from typing import Any, cast

import orjson

from kedi_dap.transport import Malformed, SocketLink

#: Seconds in which whoever connects has to say who it is, and bytes that this may take.
HELLO_TIME = 10.0
_HELLO_SIZE = 64 * 1024


def read_private(link: SocketLink, seconds: float = HELLO_TIME) -> dict[str, Any] | None:
    """The first message of a link if it is one between adapter and process, and in time."""
    until = time.monotonic() + seconds
    total = 0
    try:
        while (left := until - time.monotonic()) > 0 and total < _HELLO_SIZE:
            # What was read before may hold it.
            for body in link.framer.feed(b""):
                return _private(body)
            link.socket.settimeout(left)
            data = link.socket.recv(4_096)
            if not data:
                return None
            total += len(data)
            for body in link.framer.feed(data):
                return _private(body)
    except OSError:
        pass  # late or gone: no greeting
    finally:
        try:
            link.socket.settimeout(None)
        except OSError:
            pass  # closed
    return None


def _private(body: bytes | Malformed) -> dict[str, Any] | None:
    if isinstance(body, Malformed):
        return None
    try:
        message: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict):
        return None
    fields = cast("dict[str, Any]", message)
    return fields if fields.get("type") == "kedi" else None


def knows(message: dict[str, Any], token: str) -> bool:
    """Whether a first message has the token; the time it takes tells nothing."""
    given = message.get("token")
    return isinstance(given, str) and hmac.compare_digest(
        given.encode("utf-8", "replace"), token.encode()
    )
