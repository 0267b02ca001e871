"""The client's configuration, kept to be set again after a restart."""

from __future__ import annotations

from typing import Any, cast

import orjson

from kedi_dap.messages import EVENT_PREFIX, Incoming, answered, encode, event

#: Numbers of requests that the adapter sends by itself.
OWN = 1 << 40
_SETTERS = frozenset(
    ("setBreakpoints", "setFunctionBreakpoints", "setExceptionBreakpoints", "setDataBreakpoints")
)
#: Beginnings of messages in which ids of breakpoints stand.
_WITH_IDS = (EVENT_PREFIX + b'breakpoint"', EVENT_PREFIX + b'stopped"')


class Memory:
    """The last request of each kind that sets breakpoints, and their ids.

    A restarted process numbers its breakpoints anew. The client knows the numbers of the first
    one, so they are put back in what it is sent.
    """

    def __init__(self) -> None:
        self._requests: dict[str, Incoming] = {}
        self._under_way: dict[int, str] = {}
        #: Ids as the client knows them, by what was set.
        self._ids: dict[str, list[int]] = {}
        #: The client's id for each id of a restarted process; ``None`` before any restart.
        self._known: dict[int, int] | None = None
        self._highest = 0
        self._next = OWN

    def note(self, request: Incoming) -> None:
        """A request of the client."""
        if request.command not in _SETTERS:
            return
        key = request.command
        if key == "setBreakpoints":
            source = request.arguments.get("source")
            if not isinstance(source, dict):
                return
            fields = cast("dict[str, Any]", source)
            key += f" {fields.get('path') or fields.get('name')}"
        self._requests[key] = request
        self._under_way[request.seq] = key

    def again(self) -> list[bytes]:
        """The requests that configure a new process as the last one was."""
        self._known = {}
        self._under_way = {}
        bodies: list[bytes] = []
        for key, request in self._requests.items():
            self._next += 1
            self._under_way[self._next] = key
            message: dict[str, Any] = {
                "seq": self._next,
                "type": "request",
                "command": request.command,
                "arguments": request.arguments,
            }
            bodies.append(encode(message))
        return bodies

    def outgoing(self, body: bytes) -> list[bytes]:
        """What the client is to see in place of a message of the process."""
        seq = answered(body)
        key = None if seq is None else self._under_way.pop(seq, None)
        if key is not None and seq is not None:
            return self._answer(key, seq, body)
        if self._known is not None and body.startswith(_WITH_IDS):
            return [self._translated(body)]
        return [body]

    def _answer(self, key: str, seq: int, body: bytes) -> list[bytes]:
        message = orjson.loads(body)
        body_fields: dict[str, Any] = message.get("body") or {}
        points: list[dict[str, Any]] = body_fields.get("breakpoints") or []
        if seq > OWN:
            for point, old in zip(points, self._ids.get(key, []), strict=False):
                if self._known is not None and "id" in point:
                    self._known[point["id"]] = old
            return [
                encode(event("breakpoint", {"reason": "changed", "breakpoint": self._own(point)}))
                for point in points
            ]
        if not all(isinstance(point.get("id"), int) for point in points):
            return [body]
        ids = self._ids[key] = [self._own(point)["id"] for point in points]
        self._highest = max([self._highest, *ids])
        return [body if self._known is None else orjson.dumps(message)]

    def _translated(self, body: bytes) -> bytes:
        message = orjson.loads(body)
        fields: dict[str, Any] = message.get("body") or {}
        if "breakpoint" in fields:
            self._own(fields["breakpoint"])
        if "hitBreakpointIds" in fields:
            fields["hitBreakpointIds"] = [self._id(item) for item in fields["hitBreakpointIds"]]
        return orjson.dumps(message)

    def _own(self, point: dict[str, Any]) -> dict[str, Any]:
        if "id" in point:
            point["id"] = self._id(point["id"])
        return point

    def _id(self, number: int) -> int:
        """The id that the client knows, or gets, for one of the process."""
        if self._known is None:
            return number
        if number not in self._known:
            self._highest += 1
            self._known[number] = self._highest
        return self._known[number]
