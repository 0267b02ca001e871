"""The bookkeeping of a walk over values: problems, identities, cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedi.session.snapshots.basics import PLAIN, Definitions, NeedsPlain
from kedi.session.snapshots.cells import order_cells
from kedi.session.snapshots.paths import Node, is_inside, path_text
from kedi.session.snapshots.plain import FIRST_CHECK, repeats
from kedi.session.static import kind_of

_FEW: frozenset[type] = frozenset({bool, type(None)})


class Walk:
    """The state of an encoder; see :class:`~kedi.session.snapshots.codec.Encoder`."""

    def __init__(
        self, definitions: Definitions, *, cells: bool, columns: bool, holes: bool
    ) -> None:
        self.definitions = definitions
        self.columns = columns
        self.holes = holes
        self.with_cells = cells
        self.problems: list[tuple[Node, str]] = []
        self.seen: dict[int, Node] = {}
        self.cells: list[Any] = []
        self.tagged = False
        self.exact = False
        #: What was put off: cell, value, place, whether to look at every part.
        self._queue: list[tuple[int, Any, Node, bool]] = []
        #: Immutable objects that were written, by identity, with their trees.
        self._written: dict[int, Any] = {}
        #: Tuples that hold something mutable, by identity.
        self._mixed: dict[int, Node] = {}
        self._refs: list[list[Any]] = []
        self._put_off: dict[int, Node] = {}
        #: Identities of objects in columns, whose places are not kept.
        self._claims: list[int] = []
        self._check_at = FIRST_CHECK
        #: Depth of keys and elements of sets, and of the latter alone.
        self._hashed = 0
        self._in_set = 0
        self._plain: frozenset[type] = PLAIN

    def _mode(self, exact: bool) -> None:
        self.exact = exact
        self._plain = _FEW if exact else PLAIN

    def refuse(self, node: Node, reason: str) -> Any:
        """Note a problem; what stands for the value in the tree."""
        self.problems.append((node, reason))
        if not self.holes:
            return None
        self.tagged = True
        return ["!", len(self.problems) - 1]

    def _tag(self, tree: list[Any]) -> list[Any]:
        self.tagged = True
        return tree

    def meets(self, ids: Mapping[int, Any]) -> bool:
        """Whether one of these objects is in a column, where its place is not known."""
        return bool(ids) and any(map(ids.__contains__, self._claims))

    # ── identity ─────────────────────────────────────────────────────────────

    def _again(self, value: Any, node: Node, first: Node) -> Any:
        kind = kind_of(value).__name__
        if is_inside(node, first):
            reason = f"this {kind} contains itself: it is also `{path_text(first)}`"
        else:
            reason = (
                f"this {kind} is also `{path_text(first)}`, and a snapshot would make two of it: "
                "keep it in one place, or give each its own copy"
            )
        return self.refuse(node, reason)

    def _deeper(self, value: Any, node: Node) -> Any:
        if not self.with_cells or (self._hashed and self.holes):
            return self.refuse(node, "it is nested too deeply")
        self.cells.append(None)
        self._queue.append((len(self.cells) - 1, value, node, self.exact))
        self._put_off[len(self.cells) - 1] = node
        return self._tag(self._reference(len(self.cells) - 1))

    def _reference(self, cell: int) -> list[Any]:
        tree = ["*", cell]
        self._refs.append(tree)
        return tree

    def _share(self, value: Any, tree: list[Any]) -> Any:
        """An immutable value met again: both places refer to one cell."""
        self.tagged = True
        if tree[0] != "*":
            self.cells.append(tree.copy())
            tree[:] = ["*", len(self.cells) - 1]
            self._refs.append(tree)
        return self._reference(tree[1])

    def _claim(self, value: Any) -> None:
        """Note the items of a column as met; whether they were met before is looked at in bulk."""
        self._claims += map(id, value)
        if len(self._claims) > self._check_at:
            self._check_claims()
            self._check_at = 2 * len(self._claims)

    def _check_claims(self) -> None:
        """Raise :class:`NeedsPlain` when an object was met twice."""
        if repeats([*self._claims, *self.seen]):
            raise NeedsPlain

    # ── cells ────────────────────────────────────────────────────────────────

    def _order_cells(self) -> None:
        """Number the cells so that each refers to lower ones only."""
        if not self.cells:
            return
        number, cycle = order_cells(self.cells)
        if cycle:
            # Immutable values are put off like others, and one can hold itself.
            place = next(self._put_off[cell] for cell in reversed(cycle) if cell in self._put_off)
            self.problems.append((place, "it contains itself"))
            return
        trees = self.cells
        self.cells = [None] * len(trees)
        for cell, new in number.items():
            self.cells[new] = trees[cell]
        for ref in self._refs:
            ref[1] = number[ref[1]]
