"""The start of a debugged process: it connects, then runs what it is told on its main thread.

Little is imported before the connection stands, the language while the client configures.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

import orjson

from kedi_dap.messages import encode, private
from kedi_dap.transport import Malformed, SocketLink

VARIABLE = "KEDI_DAP_LINK"


def main() -> int:
    """Run the program of a launch; its exit status."""
    # Programs that this one starts must not find it.
    address = os.environ.pop(VARIABLE, "")
    port, _, token = address.partition(":")
    if not token:
        print("error: this is started by kedi-dap, not by hand", file=sys.stderr)
        return 2
    link = SocketLink(socket.create_connection(("127.0.0.1", int(port))))
    leads = hasattr(os, "getpgrp") and os.getpgrp() == os.getpid()
    link.send(encode(private("hello", token=token, pid=os.getpid(), leader=leads)))
    # Loaded while the adapter answers.
    from kedi_dap.debuggee.process import run

    messages = link.messages()
    start = _first(messages)
    if start is None:
        return 1
    sys.argv[:] = [str(start.get("program") or "kedi"), *start.get("args", [])]
    return run(link, messages, start)


def _first(messages: Any) -> dict[str, Any] | None:
    for body in messages:
        if not isinstance(body, Malformed):
            message = orjson.loads(body)
            return message if message.get("kedi") == "start" else None
    return None
