"""The command line of ``kedi-dap``. Plain, so that the adapter starts quickly."""

from __future__ import annotations

import os
from collections.abc import Sequence

USAGE = """\
usage: kedi-dap [--port PORT] [--host HOST --token TOKEN] [--log FILE]

Speak the Debug Adapter Protocol over standard input and output, or serve clients on a port.

options:
  --port PORT    listen on a port of this machine (0: any free one, said on standard error)
  --host HOST    listen on another address; needs a token
  --token TOKEN  `launch` and `attach` must have it as `adapterToken` (KEDI_DAP_TOKEN)
  --log FILE     write all messages, with secrets masked, to a file
  -h, --help     show this help
  -V, --version  show the version"""


class UsageError(Exception):
    """A command line that cannot be used."""


class Options:
    """What the adapter was started with. ``port`` is ``None`` for standard input and output."""

    __slots__ = ("help", "host", "log", "port", "token", "version")

    def __init__(self) -> None:
        self.port: int | None = None
        self.host: str | None = None
        self.token: str | None = os.environ.pop("KEDI_DAP_TOKEN", None) or None
        self.log: str | None = None
        self.help = False
        self.version = False


def parse(arguments: Sequence[str]) -> Options:
    """Understand a command line. Raises :class:`UsageError`."""
    options = Options()
    rest = list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if flag in ("-h", "--help"):
            options.help = True
        elif flag in ("-V", "--version"):
            options.version = True
        elif flag in ("--port", "--host", "--token", "--log"):
            if not equals:
                if not rest:
                    raise UsageError(f"`{flag}` needs a value")
                value = rest.pop(0)
            _store(options, flag, value)
        else:
            raise UsageError(f"there is no option `{flag}`")
    if options.host is not None and options.port is None:
        raise UsageError("`--host` needs `--port`")
    if options.host is not None and not options.token:
        raise UsageError("`--host` needs `--token`: whoever reaches the port could run any program")
    return options


def _store(options: Options, flag: str, value: str) -> None:
    if flag == "--port":
        if not value.isascii() or not value.isdigit() or int(value) > 65_535:
            raise UsageError(f"`--port` is a number from 0 to 65535, not {value!r}")
        options.port = int(value)
    elif not value:
        raise UsageError(f"`{flag}` is empty")
    elif flag == "--host":
        options.host = value
    elif flag == "--token":
        options.token = value
    else:
        options.log = value
