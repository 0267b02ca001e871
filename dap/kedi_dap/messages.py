"""Protocol messages: reading requests, building responses and events.

Messages of the debuggee carry no ``seq``: the supervisor numbers what goes to the client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import orjson

#: What a response begins with; the request's number follows.
RESPONSE_PREFIX = b'{"type":"response","request_seq":'
#: What messages between supervisor and debuggee begin with that are not the client's business.
PRIVATE_PREFIX = b'{"type":"kedi"'
EVENT_PREFIX = b'{"type":"event","event":"'


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as it was received."""

    seq: int
    command: str
    arguments: dict[str, Any]


class Unusable(Exception):
    """A message that is no request. ``seq`` is its number where it has one."""

    def __init__(self, message: str, seq: int = 0, command: str = "") -> None:
        super().__init__(message)
        self.seq = seq
        self.command = command


def read_request(body: bytes) -> Incoming | None:
    """The request in a message, ``None`` for a response. Raises :class:`Unusable`."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unusable(f"a message is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise Unusable("a message is a JSON object")
    fields = cast("dict[str, Any]", message)
    kind, seq, command = fields.get("type"), fields.get("seq"), fields.get("command")
    number = seq if isinstance(seq, int) and not isinstance(seq, bool) else 0
    if kind == "response":
        return None
    if kind != "request":
        raise Unusable('the `type` of a message is "request"', number)
    if not isinstance(command, str):
        raise Unusable("a request has a `command`, which is text", number)
    if number is not seq:
        raise Unusable("a request has a `seq`, which is a whole number", number, command)
    arguments = fields.get("arguments")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise Unusable("the `arguments` of a request are an object", number, command)
    return Incoming(number, command, cast("dict[str, Any]", arguments))


def response(seq: int, command: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """A successful response to the request ``seq``."""
    message: dict[str, Any] = {
        "type": "response",
        "request_seq": seq,
        "success": True,
        "command": command,
    }
    if body is not None:
        message["body"] = body
    return message


def failure(
    seq: int, command: str, text: str, *, show_user: bool = True, error_id: int = 1
) -> dict[str, Any]:
    """An error response; clients show ``text`` to the user unless ``show_user`` is false."""
    error: dict[str, Any] = {"id": error_id, "format": text, "showUser": show_user}
    if "{" in text:
        # Braces in the format stand for variables.
        error["format"], error["variables"] = "{text}", {"text": text}
    return {
        "type": "response",
        "request_seq": seq,
        "success": False,
        "command": command,
        "message": text,
        "body": {"error": error},
    }


def cancelled(seq: int, command: str) -> dict[str, Any]:
    """The response to a request that was cancelled."""
    return {
        "type": "response",
        "request_seq": seq,
        "success": False,
        "command": command,
        "message": "cancelled",
    }


def event(name: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """An event."""
    message: dict[str, Any] = {"type": "event", "event": name}
    if body is not None:
        message["body"] = body
    return message


def private(what: str, **fields: Any) -> dict[str, Any]:
    """A message between supervisor and debuggee."""
    return {"type": "kedi", "kedi": what, **fields}


def encode(message: dict[str, Any]) -> bytes:
    """JSON of a message; what JSON in UTF-8 cannot hold becomes an escape or text."""
    try:
        return orjson.dumps(message)
    except TypeError:
        return orjson.dumps(_encodable(message))


def _encodable(value: Any) -> Any:
    """A copy without lone surrogates, numbers beyond 64 bits and keys that are no text."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {
            _encodable(str(key)): _encodable(item)
            for key, item in cast("dict[Any, Any]", value).items()
        }
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in cast("list[Any]", value)]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(2**63) <= value < 2**64 else str(value)
    return value


def numbered(seq: int, body: bytes) -> bytes:
    """A body with ``seq`` put in front; it is not read."""
    return b'{"seq":%d,%b' % (seq, body[1:])


def answered(body: bytes) -> int | None:
    """The number of the request that an encoded response answers, ``None`` for other messages."""
    if not body.startswith(RESPONSE_PREFIX):
        return None
    start = len(RESPONSE_PREFIX)
    return int(body[start : body.index(b",", start)])
