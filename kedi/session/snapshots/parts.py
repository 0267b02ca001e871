"""What a session consists of, as snapshots take it apart and put it together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from kedi.errors import KediExecutionError

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter
    from kedi.runtime.scopes import Scope
    from kedi.session.config import SessionConfig
    from kedi.session.session import Fragment


class Hole:
    """Stands where a value was that a snapshot could not hold.

    ``path`` is where it was, ``reason`` why it is missing, ``fragment`` the name of
    the source that made it, when that is known. Only these and ``repr`` can be read;
    any other use raises :class:`~kedi.errors.KediExecutionError`, which says how to
    rebuild the value.
    """

    __slots__ = ("fragment", "path", "place", "reason")

    def __init__(self, path: str, reason: str, fragment: str | None = None) -> None:
        self.path = path
        self.reason = reason
        self.fragment = fragment
        #: For a whole binding, which a program can make anew: its place among the others.
        self.place: int | None = None

    def error(self) -> KediExecutionError:
        """What touching it raises."""
        made = f", as `{self.fragment}` did" if self.fragment else ""
        name = self.path.partition("[")[0].partition(".")[0]
        return KediExecutionError(
            f"`{self.path}` is missing: the snapshot could not hold it, because {self.reason}",
            hint=f"make it again{made}, and bind `{name}`",
        )

    def resolve(self) -> NoReturn:
        """Never gives a value. A scope asks for it when the name is looked up."""
        raise self.error()

    def __repr__(self) -> str:
        return f"<hole {self.path}: {self.reason}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name.endswith("__"):
            # Tools probe objects for special methods; that is no use of the value.
            raise AttributeError(name)
        raise self.error()

    def _touched(self, *_: object, **__: object) -> NoReturn:
        raise self.error()

    __str__ = __bytes__ = __format__ = _touched
    __bool__ = __int__ = __float__ = __complex__ = __index__ = _touched
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _touched  # pyright: ignore[reportAssignmentType]
    __len__ = __iter__ = __reversed__ = __next__ = __contains__ = _touched
    __getitem__ = __setitem__ = __delitem__ = __call__ = _touched
    __enter__ = __exit__ = __await__ = __aiter__ = __anext__ = __aenter__ = __aexit__ = _touched
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _touched
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _touched
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _touched
    __matmul__ = __rmatmul__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _touched
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _touched
    __neg__ = __pos__ = __abs__ = __invert__ = _touched
    __round__ = __trunc__ = __floor__ = __ceil__ = __fspath__ = _touched
    __reduce_ex__ = __reduce__ = _touched  # pyright: ignore[reportAssignmentType]


#: How the paths of code begin that ran and cannot run again: preludes and imports.
PLACES = ("fragments[", "modules[")


@dataclass(frozen=True, slots=True)
class HoleView:
    """What is missing in a restored session: where, why, and which source made it."""

    path: str
    reason: str
    fragment: str | None = None

    def __str__(self) -> str:
        made = f" (made by {self.fragment})" if self.fragment else ""
        return f"{self.path}: {self.reason}{made}"


def open_holes(parts: SessionParts) -> tuple[Hole, ...]:
    """The holes of a session, without the bindings that have been made anew.

    What a prelude or an import left is not missing any more once every binding is there.
    """
    waiting: set[int] = set()
    for scope in (parts.base, parts.scope):
        waiting |= set(map(id, (scope.pending or {}).values()))
    named = [hole for hole in parts.holes if hole.place is not None and id(hole) in waiting]
    return tuple(
        hole
        for hole in parts.holes
        if id(hole) in waiting
        or (hole.place is None and (named or not hole.path.startswith(PLACES)))
    )


@dataclass(slots=True)
class SessionParts:
    """The state of a session.

    ``base`` is the scope of host values and ``args`` below ``scope``. ``evaluations``
    counts expressions evaluated outside of fragments. ``holes`` are what a partial
    snapshot, from which the session came, could not hold; ``restored`` counts the fragments
    that ran before it was made.
    """

    config: SessionConfig
    interpreter: Interpreter
    base: Scope
    scope: Scope
    fragments: Sequence[Fragment]
    evaluations: int = 0
    holes: Sequence[Hole] = field(default=())
    restored: int = 0
