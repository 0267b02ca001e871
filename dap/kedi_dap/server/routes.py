"""Which module answers which request. Modules are imported when they are first needed."""

from __future__ import annotations

#: Handlers inside the debugged process: a request's name to the module that registers it.
HOMES: dict[str, str] = {
    "threads": "kedi_dap.handlers.threads",
}
