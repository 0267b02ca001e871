"""Entry point of ``kedi-dap``."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence

from kedi_dap.supervisor.adapter import Adapter
from kedi_dap.supervisor.client import Log, StreamLink
from kedi_dap.supervisor.options import USAGE, Options, UsageError, parse
from kedi_dap.transport import SocketLink


def main(argv: Sequence[str] | None = None) -> int:
    """Serve a client over standard input and output, or clients on a port; the exit status."""
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
    except UsageError as error:
        print(f"{USAGE.partition(chr(10))[0]}\nerror: {error}", file=sys.stderr)
        return 2
    if options.help:
        print(USAGE)
        return 0
    if options.version:
        from kedi._version import __version__

        print(f"kedi-dap {__version__}")
        return 0
    try:
        log = Log(options.log)
    except OSError as error:
        print(f"error: the log cannot be written: {error}", file=sys.stderr)
        return 2
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave)
    try:
        return _serve_port(options, log) if options.port is not None else _serve_streams(log)
    except KeyboardInterrupt:
        return 130


def _leave(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _serve_streams(log: Log) -> int:
    # Whatever else writes to standard output must not get between the messages.
    reading, writing = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    link = StreamLink(reading, writing)
    Adapter(link, log).run(link.messages())
    return 0


def _serve_port(options: Options, log: Log) -> int:
    assert options.port is not None
    host = options.host or "127.0.0.1"
    try:
        server = socket.create_server((host, options.port))
    except OSError as error:
        print(f"error: {host}:{options.port}: {error.strerror or error}", file=sys.stderr)
        return 2
    port = server.getsockname()[1]
    print(f"kedi-dap listens on {host}:{port}", file=sys.stderr, flush=True)
    adapters: set[Adapter] = set()
    try:
        while True:
            connection, _ = server.accept()
            link = SocketLink(connection)
            adapter = Adapter(link, log, options.token)
            adapters.add(adapter)
            threading.Thread(
                target=_serve, args=(adapter, link, adapters), name="kedi-dap-client", daemon=True
            ).start()
    finally:
        server.close()
        for adapter in list(adapters):
            adapter.leave()


def _serve(adapter: Adapter, link: SocketLink, adapters: set[Adapter]) -> None:
    try:
        adapter.run(link.messages())
    finally:
        link.close()
        adapters.discard(adapter)


__all__ = ["main"]
