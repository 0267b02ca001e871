"""Watching a running program step by step.

Subclass :class:`Observer` and attach it with ``session.observe(observer)`` or
``runtime.observe(observer)``. Methods are called on the program's thread and
may block; that is how a debugger stops a program.

:func:`listen` lets a debugger attach to this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedi.runtime.frames import NOTHING, RunFrame, Site
from kedi.runtime.hooks import Fanout, Observer
from kedi.runtime.scopes import MISSING, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from kedi.debugging.endpoint import Console, Listening


def listen(
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    *,
    wait: bool = False,
    console: Console | None = None,
) -> Listening:
    """Let a debugger attach to this process: to every session and program in it, also later ones.

    ``port`` 0 is any free one. Who attaches must know the token, which is made up unless it is
    given, and stands in the file ``token_file`` of what is returned, which only this user can
    read. Another ``host`` than this machine needs a ``token`` of at least 16 characters.
    ``wait`` blocks until a debugger has attached and set its breakpoints. ``console`` is for
    hosts with a prompt of their own.

    Calling it again gives what listens already. Raises ``RuntimeError`` when the debugger is
    not installed, ``ValueError`` for a host without a token, ``OSError`` when the port cannot
    be had.
    """
    listening = _server()(host, port, token, console)
    if wait:
        listening.wait_for_client()
    return listening


def _server() -> Callable[[str, int, str | None, Console | None], Listening]:
    from importlib.metadata import entry_points

    found = list(entry_points(group="kedi.debug_servers"))
    for item in found:
        try:
            return item.load()
        except ImportError:
            continue  # an installation that was taken apart
    raise RuntimeError(
        "no debugger is installed that programs can be attached to with: "
        "run `pip install 'kedi[dap]'`"
    )


__all__ = [
    "MISSING",
    "NOTHING",
    "Fanout",
    "Observer",
    "RunFrame",
    "Scope",
    "Site",
    "listen",
]
