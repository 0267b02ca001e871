"""A small blocking client of debug adapters, for tests.

It keeps everything that was received in order (``timeline``), and every wait has a limit.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Seconds that anything may take.
LIMIT = 30.0


class Refused(Exception):
    """An error response. ``message`` is what the user would see, ``response`` all of it."""

    def __init__(self, response: dict[str, Any]) -> None:
        self.response = response
        error = (response.get("body") or {}).get("error") or {}
        variables = error.get("variables") or {}
        shown = re.sub(r"\{(\w+)\}", lambda m: variables.get(m[1], m[0]), error.get("format") or "")
        self.message: str = shown or response.get("message", "")
        super().__init__(f"{response['command']}: {self.message}")


class Wire:
    """Frames messages over any pair of byte functions; remembers raw text for tests of masking."""

    def __init__(self, read: Callable[[], bytes], write: Callable[[bytes], None]) -> None:
        self._read = read
        self.write = write
        self.raw = bytearray()
        self._buffer = b""

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def messages(self) -> Iterator[dict[str, Any]]:
        while True:
            head, found, rest = self._buffer.partition(b"\r\n\r\n")
            if found:
                length = int(head.removeprefix(b"Content-Length: "))
                if len(rest) >= length:
                    body, self._buffer = rest[:length], rest[length:]
                    yield json.loads(body)
                    continue
            data = self._read()
            if not data:
                return
            self.raw += data
            self._buffer += data


class DapClient:
    """Drives one adapter. Use :func:`stdio` or :func:`tcp`, or the fixture ``dap``.

    ``timeline`` holds every message that came, in order. ``request`` gives the body of a
    response or raises :class:`Refused`; ``send`` only sends and gives the number for
    :meth:`response`. Events are waited for from the last one that was taken on.
    """

    def __init__(self, wire: Wire, process: subprocess.Popen[bytes] | None = None) -> None:
        self.wire = wire
        self.process = process
        self.timeline: list[dict[str, Any]] = []
        self.capabilities: dict[str, Any] = {}
        self.ended = False
        #: Answers the adapter's own requests, by command.
        self.reverse: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        self._seq = 0
        self._taken: set[int] = set()
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, name="dap-client", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            for message in self.wire.messages():
                if message["type"] == "request":
                    self._reverse(message)
                with self._changed:
                    self.timeline.append(message)
                    self._changed.notify_all()
        except (OSError, ValueError):
            pass  # closed here
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def _reverse(self, message: dict[str, Any]) -> None:
        act = self.reverse.get(message["command"])
        answer: dict[str, Any] = {
            "seq": self._next(),
            "type": "response",
            "request_seq": message["seq"],
            "command": message["command"],
            "success": act is not None,
        }
        if act is not None:
            answer["body"] = act(message.get("arguments") or {})
        self.wire.send(answer)

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    # ── requests ─────────────────────────────────────────────────────────────

    def send(self, command: str, /, **arguments: Any) -> int:
        """Send a request; its number."""
        seq = self._next()
        self.wire.send({"seq": seq, "type": "request", "command": command, "arguments": arguments})
        return seq

    def response(self, seq: int, *, limit: float = LIMIT) -> dict[str, Any]:
        """The body of the response to a request. Raises :class:`Refused`."""

        def find() -> dict[str, Any] | None:
            for message in self.timeline:
                if message["type"] == "response" and message["request_seq"] == seq:
                    return message
            return None

        message = self._wait(find, f"a response to request {seq}", limit)
        if not message["success"]:
            raise Refused(message)
        return message.get("body") or {}

    def request(self, command: str, /, *, limit: float = LIMIT, **arguments: Any) -> dict[str, Any]:
        """Send a request and give the body of its response. Raises :class:`Refused`."""
        return self.response(self.send(command, **arguments), limit=limit)

    # ── events ───────────────────────────────────────────────────────────────

    def wait_event(
        self,
        name: str,
        where: Callable[[dict[str, Any]], bool] = lambda body: True,
        *,
        limit: float = LIMIT,
    ) -> dict[str, Any]:
        """The body of the next event of that name that was not taken yet."""

        def find() -> dict[str, Any] | None:
            for message in self.timeline:
                if message["type"] == "event" and message["event"] == name:
                    body = message.get("body") or {}
                    if message["seq"] not in self._taken and where(body):
                        self._taken.add(message["seq"])
                        return message
            return None

        return self._wait(find, f"an event `{name}`", limit).get("body") or {}

    def events(self, name: str) -> list[dict[str, Any]]:
        """Bodies of all events of that name so far."""
        return [
            message.get("body") or {}
            for message in list(self.timeline)
            if message["type"] == "event" and message["event"] == name
        ]

    def stopped(self, reason: str | None = None, *, limit: float = LIMIT) -> dict[str, Any]:
        """The next ``stopped`` event, which must have that reason."""
        body = self.wait_event("stopped", limit=limit)
        if reason is not None:
            assert body["reason"] == reason, body
        return body

    def output(self, category: str | None = None) -> str:
        """The output so far, of one category or of ``stdout`` and ``stderr`` together."""
        wanted = ("stdout", "stderr") if category is None else (category,)
        return "".join(
            body["output"]
            for body in self.events("output")
            if body.get("category", "console") in wanted
        )

    def wait_output(self, text: str, category: str | None = None, *, limit: float = LIMIT) -> str:
        """Wait until the output holds ``text``; the output."""
        return self._wait(
            lambda: shown if text in (shown := self.output(category)) else None,
            f"output with {text!r}",
            limit,
        )

    def wait_end(self, *, limit: float = LIMIT) -> int | None:
        """Wait for ``terminated``; the exit code of ``exited``."""
        self.wait_event("terminated", limit=limit)
        exits = self.events("exited")
        return exits[-1]["exitCode"] if exits else None

    def _wait(self, find: Callable[[], Any], what: str, limit: float) -> Any:
        with self._changed:
            found = None

            def check() -> bool:
                nonlocal found
                found = find()
                return found is not None or self.ended

            self._changed.wait_for(check, limit)
        if found is None:
            state = "the adapter has closed" if self.ended else f"none came in {limit} seconds"
            raise AssertionError(f"waited for {what}, and {state}\n{self.story()}")
        return found

    # ── common sequences ─────────────────────────────────────────────────────

    def initialize(self, **features: Any) -> dict[str, Any]:
        """Send ``initialize``; the capabilities."""
        self.capabilities = self.request(
            "initialize",
            **{"adapterID": "kedi", "clientID": "test", "linesStartAt1": True,
               "columnsStartAt1": True, "pathFormat": "path", **features},
        )  # fmt: skip
        return self.capabilities

    def start(
        self,
        command: str = "launch",
        /,
        *,
        breakpoints: dict[str, list[Any]] | None = None,
        filters: list[str] | None = None,
        features: dict[str, Any] | None = None,
        **arguments: Any,
    ) -> dict[str, list[dict[str, Any]]]:
        """Initialize, launch or attach, configure and begin; the breakpoints as they were set.

        ``breakpoints`` maps paths to lines or to whole source breakpoints.
        """
        if not self.capabilities:
            self.initialize(**(features or {}))
        begun = self.send(command, **arguments)
        self.wait_event("initialized")
        made: dict[str, list[dict[str, Any]]] = {}
        for path, lines in (breakpoints or {}).items():
            points = [{"line": item} if isinstance(item, int) else item for item in lines]
            made[path] = self.request(
                "setBreakpoints", source={"path": str(path)}, breakpoints=points
            )["breakpoints"]
        if filters is not None:
            self.request("setExceptionBreakpoints", filters=filters)
        self.request("configurationDone")
        self.response(begun)
        return made

    def launch(self, program: str | Path, **arguments: Any) -> dict[str, list[dict[str, Any]]]:
        """:meth:`start` for a program."""
        return self.start("launch", program=str(program), **arguments)

    def stack(self, thread: int = 1) -> list[dict[str, Any]]:
        """The frames of a stopped thread, innermost first."""
        return self.request("stackTrace", threadId=thread)["stackFrames"]

    def step(self, command: str, thread: int = 1) -> dict[str, Any]:
        """A control request, and the stop that follows it."""
        self.request(command, threadId=thread)
        return self.stopped()

    # ── the end ──────────────────────────────────────────────────────────────

    def disconnect(self, **arguments: Any) -> None:
        """Leave, and wait until the adapter has closed."""
        if not self.ended:
            try:
                self.request("disconnect", **arguments)
            except AssertionError:
                if not self.ended:
                    raise
        self.close()

    def close(self) -> None:
        """Close the connection; the adapter must end by itself."""
        close = getattr(self.wire, "close", None)
        if close is not None:
            close()
        if self.process is not None:
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"the adapter did not end\n{self.story()}") from None
        self._reader.join(LIMIT)

    def story(self) -> str:
        """The timeline, one message a line."""
        return "\n".join(json.dumps(message)[:300] for message in self.timeline[-60:])


def environment(**changes: str | None) -> dict[str, str]:
    """The environment for an adapter of this tree."""
    merged = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    for name, value in changes.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


@contextmanager
def stdio(
    *options: str, env: dict[str, str] | None = None, cwd: str | Path | None = None
) -> Iterator[DapClient]:
    """A client of an adapter over its standard input and output."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kedi_dap", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env or environment(),
        cwd=cwd,
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[stdin.write(view) :]

    wire = Wire(lambda: os.read(stdout.fileno(), 1 << 16), write)
    wire.close = stdin.close  # pyright: ignore[reportAttributeAccessIssue]
    client = DapClient(wire, process)
    try:
        yield client
    finally:
        try:
            client.disconnect()
        finally:
            stdout.close()


@contextmanager
def port(
    *options: str, env: dict[str, str] | None = None, cwd: str | Path | None = None
) -> Iterator[int]:
    """The port of an adapter that serves TCP."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kedi_dap", "--port", "0", *options],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=env or environment(),
        cwd=cwd,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline().decode()
        match = re.search(r":(\d+)$", line.strip())
        assert match is not None, line
        yield int(match[1])
    finally:
        process.terminate()
        process.wait(LIMIT)
        process.stderr.close()


def connect(number: int) -> DapClient:
    """A client of the adapter at a port."""
    connection = socket.create_connection(("127.0.0.1", number), LIMIT)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire = Wire(lambda: connection.recv(1 << 16), connection.sendall)

    def close() -> None:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # closed by the adapter
        connection.close()

    wire.close = close  # pyright: ignore[reportAttributeAccessIssue]
    return DapClient(wire)


@contextmanager
def tcp(
    *options: str, env: dict[str, str] | None = None, cwd: str | Path | None = None
) -> Iterator[DapClient]:
    """A client of an adapter over TCP."""
    with port(*options, env=env, cwd=cwd) as number:
        client = connect(number)
        try:
            yield client
        finally:
            client.disconnect()
