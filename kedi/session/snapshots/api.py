"""Durable snapshots: saving a session to a file and making it again without running it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kedi.session.config import resolve_config
from kedi.session.snapshots import file as snapshot_file
from kedi.session.snapshots.restore import restore
from kedi.session.snapshots.state import collect

if TYPE_CHECKING:
    from kedi.session.session import InteractiveSession
    from kedi.session.snapshots.parts import SessionParts

S = TypeVar("S", bound="InteractiveSession")


def dump_session(
    session: InteractiveSession, path: str | os.PathLike[str], *, partial: bool = False
) -> None:
    """Save a session to ``path``, so that :func:`load_session` makes an equal one.

    All or nothing: :class:`kedi.errors.SessionDumpError` lists every part that could not
    be restored (``problems``), and an existing file stays as it is. With ``partial`` the
    rest is saved, and such parts become holes of the restored session.

    The file is written next to its place with mode 0600, synced and then put in place. It
    holds what the session's names are bound to: keep it as you keep those.

    Raises :class:`kedi.errors.SessionStateError` when the session is closed or executing,
    and ``OSError`` when the file cannot be written.
    """
    session.dump(path, partial=partial)


def load_session(
    path: str | os.PathLike[str],
    *,
    session_type: Callable[..., S] | None = None,
    adapter: Any = None,
    agent: Any = None,
    executor: Any = None,
    engine: Any = None,
    conversation_state: Any = None,
    cwd: str | os.PathLike[str] | None = None,
) -> S:
    """A session like the one that was saved: values, definitions, numbering, configuration.

    Definitions are compiled from their sources; no statement of the old session is run.
    Hook handlers are imported by their address, which runs their modules: load only
    snapshots that you trust.

    Adapters, agents and executors are not in a snapshot: give them here if the session
    needs them. ``engine`` and ``cwd`` replace the saved ones, ``conversation_state`` is
    one to go on with. ``session_type`` makes the session (a subclass of
    :class:`InteractiveSession`, say) from the keywords of :func:`kedi.interactive`.

    Raises :class:`kedi.errors.SessionLoadError` for a file that is not a whole, unchanged
    snapshot of this version, and ``OSError`` when the file cannot be opened or read.
    """
    from kedi.session.session import InteractiveSession

    make = cast("Callable[..., S]", session_type or InteractiveSession)
    supplied = _supplied(adapter, agent, conversation_state)
    resolve_config(executor=executor, engine=engine or "sequential")
    with paused_collection():
        content = snapshot_file.unframe(snapshot_file.read(path))
        parts, keywords = restore(
            content,
            supplied=supplied,
            executor=executor,
            engine=engine,
            conversation=conversation_state,
            cwd=cwd,
        )
    return InteractiveSession.adopt(make(**keywords), parts)


def _supplied(adapter: Any, agent: Any, conversation: Any) -> Mapping[str, Any]:
    """What stands for the session's own adapter; checked, since it is not from the snapshot."""
    from kedi.agents.config import make_config

    given = {"adapter": adapter, "agent": agent}
    supplied = {name: value for name, value in given.items() if value is not None}
    make_config(None, **supplied, conversation=conversation)
    return supplied


def write_snapshot(
    parts: SessionParts, path: str | os.PathLike[str], *, partial: bool = False
) -> None:
    """Save the parts of a session that nobody else uses meanwhile; see :func:`dump_session`."""
    with paused_collection():
        pieces = snapshot_file.frame(collect(parts, partial=partial))
    snapshot_file.write(path, pieces)


@contextmanager
def paused_collection() -> Generator[None]:
    """Without the cyclic garbage collector: it would look at a growing tree again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


__all__ = ["dump_session", "load_session", "paused_collection", "write_snapshot"]
