"""Where debuggable processes say how to reach them: small files that only their user can read."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How to attach to a process."""

    host: str
    port: int
    token: str
    pid: int
    name: str


def folder() -> str:
    """``$KEDI_HOME/run``, by default ``~/.kedi/run``."""
    home = os.environ.get("KEDI_HOME", "").strip() or os.path.join(os.path.expanduser("~"), ".kedi")
    return os.path.join(home, "run")


def write(endpoint: Endpoint) -> str:
    """Write the file of a process; its path. Raises ``OSError``."""
    where = folder()
    os.makedirs(where, mode=0o700, exist_ok=True)
    path = os.path.join(where, f"debug-{endpoint.pid}.json")
    text = json.dumps(
        {
            "host": endpoint.host,
            "port": endpoint.port,
            "token": endpoint.token,
            "pid": endpoint.pid,
            "name": endpoint.name,
        }
    )
    partial = f"{path}.{os.urandom(4).hex()}"
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)
    return path


def read(path: str) -> Endpoint:
    """An endpoint's file. Raises ``OSError`` and ``ValueError``."""
    with open(path, encoding="utf-8") as file:
        fields = json.loads(file.read(64 * 1024))
    try:
        return Endpoint(
            str(fields["host"]),
            int(fields["port"]),
            str(fields["token"]),
            int(fields["pid"]),
            str(fields["name"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"it lacks {error}") from None


def alive() -> list[Endpoint]:
    """The processes of this user that can be attached to; files of others are removed."""
    found: list[Endpoint] = []
    try:
        names = sorted(os.listdir(folder()))
    except OSError:
        return []
    for name in names:
        if not name.startswith("debug-") or not name.endswith(".json"):
            continue
        path = os.path.join(folder(), name)
        try:
            endpoint = read(path)
            os.kill(endpoint.pid, 0)
        except ProcessLookupError:
            remove(path)
        except (OSError, ValueError):
            continue  # somebody else's, or being written
        else:
            found.append(endpoint)
    return found


def remove(path: str) -> None:
    """Remove a file of a process that is gone."""
    try:
        os.unlink(path)
    except OSError:
        pass  # removed meanwhile
