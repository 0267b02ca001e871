"""Whom an ``attach`` means: an address with a token, or a listening process by number or name."""

from __future__ import annotations

import ipaddress

from kedi_dap import endpoints
from kedi_dap.endpoints import Endpoint
from kedi_dap.server.arguments import Arguments, RequestError


def read_target(given: Arguments) -> Endpoint:
    """The process to attach to. Raises :class:`RequestError`."""
    port = given.integer("port", None)
    if port is not None:
        if not 0 < port < 65_536:
            raise RequestError(f"`port` is a number from 1 to 65535, not {port}")
        host = given.text("host", "127.0.0.1")
        return Endpoint(host, port, _token(given, port), 0, "")
    if given.has("tokenFile"):
        return _from_file(given.text("tokenFile"))
    return _by_name(given.integer("pid", None), given.text("name", None))


def _token(given: Arguments, port: int) -> str:
    token = given.text("token", None)
    if token is not None:
        return token
    if given.has("tokenFile"):
        return _from_file(given.text("tokenFile")).token
    # A process of this user that listens there has left its token for its user.
    here = next((item for item in endpoints.alive() if item.port == port), None)
    if here is None or not is_loopback(given.text("host", "127.0.0.1")):
        raise RequestError(
            "`attach` to a port needs the `token` that the program said, or its `tokenFile`"
        )
    return here.token


def _from_file(path: str) -> Endpoint:
    try:
        return endpoints.read(path)
    except (OSError, ValueError) as error:
        raise RequestError(f"`tokenFile`: `{path}` cannot be used: {error}") from None


def _by_name(pid: int | None, name: str | None) -> Endpoint:
    known = endpoints.alive()
    found = [
        item
        for item in known
        if (pid is None or item.pid == pid) and (name is None or name in item.name)
    ]
    if len(found) == 1:
        return found[0]
    if not known:
        raise RequestError(
            "no program listens: start one with `kedi --idle --listen`, or call "
            "`kedi.debugging.listen()` in it"
        )
    listed = "; ".join(f"{item.pid} {item.name}" for item in known)
    what = "several programs fit" if found else "no listening program fits"
    raise RequestError(f"{what}: name one by `pid`, of {listed}")


def is_loopback(host: str) -> bool:
    """Whether an address stays on this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
