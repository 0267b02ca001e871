"""``threads``: the program's main thread and the jobs of the parallel engine."""

from __future__ import annotations

from typing import Any

from kedi_dap.server.dispatch import Arguments, Request, request
from kedi_dap.server.server import DebugServer


@request("threads", place="reader")
def threads(server: DebugServer, arguments: Arguments, request: Request) -> dict[str, Any]:
    """All threads that run Kedi, the main one first."""
    known = {item.number: item for item in list(server.debugger.threads.values())}
    if server.main is not None:
        known.setdefault(server.main.number, server.main)
    return {"threads": [{"id": number, "name": known[number].name} for number in sorted(known)]}
