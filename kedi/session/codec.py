"""The value codec of snapshots: Python values to JSON trees and back, exactly.

Plain JSON stands for what JSON says: ``None``, booleans, 64-bit integers, finite
floats, Unicode text, lists, and dicts whose keys are text. Everything else is a
*tagged array*, whose first item is a tag (see ``docs/snapshots.md``). A list that
happens to begin with a tag is itself tagged.

The encoder walks a value once and copies only what it has to tag, so that plain
data goes to the JSON writer as it is. It tracks places as links (``Node``) and
refuses what cannot be restored, collecting every problem.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from math import isfinite
from operator import eq, itemgetter
from types import FunctionType
from typing import Any, Protocol, cast

import orjson

from kedi.session.refusals import reason_for
from kedi.session.snapshot_atoms import (
    JSON_MAX,
    JSON_MIN,
    WRITERS,
    Refused,
    encode_bytearray,
    encode_float,
    encode_int,
    encode_str,
    pack_floats,
)
from kedi.session.snapshot_paths import (
    ATTRIBUTE,
    PLACE,
    Node,
    is_inside,
    path_text,
)
from kedi.session.static import is_real, kind_of, namespace_of

Handler = Callable[[Any, Node, int], Any]

TAGS = frozenset(
    {
        *("(", "[", "{", "<", ">", "@", "@?", "#", "*", "!"),
        *(":int", ":float", ":str", ":bytes", ":bytearray", ":complex", ":decimal"),
        *(":fraction", ":uuid", ":date", ":datetime", ":time", ":timedelta", ":path"),
        *(":pattern", ":range", ":deque", ":odict", ":ddict", ":counter"),
        *(":dict", ":floats", ":dicts", ":tuples", ":lists", ":sets", ":frozensets", ":instances"),
    }
)
"""First items that make an array a tagged one."""

FACTORIES: dict[str, Any] = {
    item.__name__: item
    for item in (
        *(bool, int, float, complex, str, bytes, bytearray),
        *(list, tuple, dict, set, frozenset, object),
    )
}
"""Factories that a ``defaultdict`` may have, by name."""

MAX_DEPTH = 60
"""Levels of one JSON tree; what is deeper continues in a cell of its own."""

MAX_REPEATED = 300_000
"""Parts of values that occur again within elements of sets, which are written in full each time."""

MIN_COLUMN = 16
"""Items of one class from which on a list is written by columns."""

typeof: Callable[[Any], type[Any]] = type
_FIRST_CHECK = 100_000
_NONE = type(None)
_PLAIN = frozenset({str, int, bool, _NONE})
_SIMPLE = frozenset({str, int, bool, _NONE, float})
_FEW: frozenset[type] = frozenset({bool, _NONE})
_ORDERED = (str, int, bytes)
_LONG_BYTES = 256


class Definitions(Protocol):
    """What the encoder asks about types, procedures and profiles."""

    def index_of(self, value: Any) -> int | str:
        """The index in the snapshot's table of definitions, or the reason against it."""
        ...

    def position_of(self, value: Any) -> tuple[int, int]:
        """``(fragment, line)``: an order of definitions that lasts."""
        ...


class NoDefinitions:
    """For values in which no definition may occur."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def index_of(self, value: Any) -> int | str:
        """Always the reason."""
        return self.reason

    def position_of(self, value: Any) -> tuple[int, int]:
        """Never asked."""
        return 0, 0


class Encoder:
    """Writes values; ``problems`` are ``(node, reason)`` of everything refused.

    ``seen`` maps the identity of every mutable object to where it was first
    met. With ``cells=False`` nothing is shared or continued elsewhere. With
    ``columns`` the places of problems below long lists are not exact: encode again
    without to name them. With ``holes=True`` a refused value leaves a ``["!", index]``
    into ``problems``.
    """

    def __init__(
        self,
        definitions: Definitions,
        *,
        cells: bool = True,
        columns: bool = True,
        holes: bool = False,
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
        self._queue: list[tuple[int, Any, Node, bool]] = []
        self._written: dict[int, Any] = {}
        self._mixed: dict[int, Node] = {}
        self._refs: list[list[Any]] = []
        self._put_off: dict[int, Node] = {}
        self._claims: list[int] = []
        self._check_at = _FIRST_CHECK
        self._hashed = 0
        self._in_key = 0
        self._in_keys: set[int] = set()
        self._repeated = 0
        self._plain: frozenset[type] = _PLAIN
        self._handlers: dict[type, Handler] = {
            str: self._str,
            int: self._int,
            float: self._float,
            bool: lambda value, node, depth: value,
            _NONE: lambda value, node, depth: value,
            list: self._list,
            dict: self._dict,
            tuple: self._tuple,
            set: self._set,
            frozenset: self._frozenset,
            bytes: self._bytes,
            bytearray: self._bytearray,
            deque: self._deque,
            OrderedDict: self._odict,
            defaultdict: self._ddict,
            Counter: self._counter,
        }
        for kind, write in WRITERS.items():
            if kind is not bytes:
                self._handlers[kind] = self._atom(write)

    def encode(self, value: Any, node: Node, *, exact: bool = False) -> Any:
        """The JSON tree of a value; afterwards ``tagged`` says whether it holds tags.

        Integers beyond 64 bits, text with lone surrogates and keys that are not
        text are only looked for in every place when ``exact``; without it, they
        may stay in the tree, and the JSON writer refuses it.
        """
        self.tagged = False
        self._mode(exact)
        if self.columns and not exact and typeof(value) in (list, dict):
            ids = plain_ids(value)
            if ids is not None:
                # Known at once to be what JSON says: nothing in it has to be visited one by one.
                self._claims += ids
                return value
        return self._value(value, node, 0)

    def finish(self) -> list[Any]:
        """Encode what was put off, and give the cells, each after those it refers to."""
        while self._queue:
            cell, value, node, exact = self._queue.pop()
            self._mode(exact)
            self.cells[cell] = self._value(value, node, 0)
        if self._claims:
            self._check_claims()
        self._order_cells()
        return self.cells

    def meets(self, ids: Mapping[int, Any]) -> bool:
        """Whether one of these objects is in a column, where its place is not known."""
        return bool(ids) and any(map(ids.__contains__, self._claims))

    def _mode(self, exact: bool) -> None:
        self.exact = exact
        self._plain = _FEW if exact else _PLAIN

    # ── any value ────────────────────────────────────────────────────────────

    def _value(self, value: Any, node: Node, depth: int) -> Any:
        kind = typeof(value)
        handler = self._handlers.get(kind)
        if handler is None:
            handler = self._other(kind, value)
        return handler(value, node, depth)

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

    def _str(self, value: str, node: Node, depth: int) -> Any:
        if self.exact:
            tree = encode_str(value)
            return tree if tree is value else self._tag(tree)
        return value

    def _int(self, value: int, node: Node, depth: int) -> Any:
        return value if JSON_MIN <= value <= JSON_MAX else self._tag(encode_int(value))

    def _float(self, value: float, node: Node, depth: int) -> Any:
        return value if value - value == 0.0 else self._tag(encode_float(value))

    def _atom(self, write: Callable[[Any], Any]) -> Handler:
        def handle(value: Any, node: Node, depth: int) -> Any:
            try:
                tree = write(value)
            except Refused as refused:
                return self.refuse(node, str(refused))
            self.tagged = True
            return tree

        return handle

    def _other(self, kind: type[Any], value: Any) -> Handler:
        """The handler of a class that is met for the first time."""
        if is_real(value, type) or kind is FunctionType or kind.__name__ == "ProfileValue":
            return self._definition
        if "__kedi_site__" not in namespace_of(kind):
            return lambda value, node, depth: self.refuse(node, reason_for(value))
        index = self.definitions.index_of(kind)
        if isinstance(index, str):
            reason = f"its type `{kind.__name__}` cannot be saved: {index}"
            handler: Handler = lambda value, node, depth: self.refuse(node, reason)  # noqa: E731
        else:
            handler = self._instances(kind, index)
        self._handlers[kind] = handler
        return handler

    def _definition(self, value: Any, node: Node, depth: int) -> Any:
        index = self.definitions.index_of(value)
        return self.refuse(node, index) if isinstance(index, str) else self._tag(["#", index])

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

    def _order_cells(self) -> None:
        """Number the cells so that each refers to lower ones only."""
        if not self.cells:
            return
        wanted = [[ref[1] for ref in _references(tree)] for tree in self.cells]
        number: dict[int, int] = {}
        for start in range(len(self.cells)):
            if start in number:
                continue
            path = [start]
            left = [iter(wanted[start])]
            entered = {start}
            while path:
                cell = next((item for item in left[-1] if item not in number), None)
                if cell is None:
                    left.pop()
                    entered.discard(path[-1])
                    number[path.pop()] = len(number)
                elif cell in entered:
                    # Immutable values are put off like others, and one can hold itself.
                    self._refuse_cycle(path)
                    return
                else:
                    path.append(cell)
                    left.append(iter(wanted[cell]))
                    entered.add(cell)
        trees = self.cells
        self.cells = [None] * len(trees)
        for cell, new in number.items():
            self.cells[new] = trees[cell]
        for ref in self._refs:
            ref[1] = number[ref[1]]

    def _refuse_cycle(self, path: list[int]) -> None:
        """A cycle of cells goes through one that was put off, whose place is known."""
        node = next((self._put_off[cell] for cell in reversed(path) if cell in self._put_off), None)
        assert node is not None
        self.problems.append((node, "it contains itself"))

    # ── containers ───────────────────────────────────────────────────────────

    def _items(self, value: Any, node: Node, depth: int) -> Any:
        """The items of a list or tuple: ``value`` itself when nothing in it needs a tag."""
        plain = self._plain
        handlers = self._handlers
        out: list[Any] | None = None
        for index, item in enumerate(value):
            kind = typeof(item)
            if kind in plain or (kind is float and item - item == 0.0):
                continue
            handler = handlers.get(kind)
            if handler is None:
                handler = self._other(kind, item)
            tree = handler(item, (node, index), depth)
            if tree is not item:
                if out is None:
                    out = list(value)
                out[index] = tree
        return value if out is None else out

    def _list(self, value: list[Any], node: Node, depth: int) -> Any:
        seen = self.seen
        key = id(value)
        if key in seen:
            return self._again(value, node, seen[key])
        seen[key] = node
        if not value:
            return value
        tree = self._sequence(value, node, depth)
        if tree is None:
            del seen[key]
            return self._deeper(value, node)
        return tree

    def _sequence(self, value: Any, node: Node, depth: int) -> Any:
        """The tree of a list with these items; ``None`` when it must go to a cell of its own."""
        kinds: set[type[Any]] = set(map(type, value))
        if not self.exact and kinds <= _SIMPLE and (float not in kinds or _finite(kinds, value)):
            if len(kinds) == 1 and float in kinds and self.columns and _is_long(value):
                return self._tag([":floats", pack_floats(value)])
            tree = value
        elif depth >= MAX_DEPTH:
            return None
        else:
            if len(kinds) == 1 and len(value) >= MIN_COLUMN and self.columns:
                kind = next(iter(kinds))
                tree = self._column(kind, value, node, depth + 1)
                if tree is not None:
                    self.tagged = True
                    return tree
            tree = self._items(value, node, depth + 1)
        first = value[0]
        if type(first) is str and first in TAGS:
            return self._tag(["[", *tree])
        return tree

    # ── columns ──────────────────────────────────────────────────────────────

    def _column(self, kind: type[Any], value: Any, node: Node, depth: int) -> list[Any] | None:
        """The compact tree of a long list whose items have one class, if there is one."""
        if kind is dict:
            return self._dicts(value, node, depth)
        if kind is tuple:
            return self._tuples(value, node, depth)
        if kind is list:
            self._claim(value)
            return self._flat(":lists", value, node, depth)
        if kind in (set, frozenset):
            return self._sets(kind, value, node, depth)
        if kind is float and not _finite({float}, value):
            return [":floats", pack_floats(value)]
        if "__kedi_site__" not in namespace_of(kind):
            return None
        return self._rows(kind, value, node, depth)

    def _claim(self, value: Any) -> None:
        """Note the items of a column as met; whether they were met before is looked at in bulk."""
        self._add_claims(map(id, value))

    def _add_claims(self, ids: Iterable[int]) -> None:
        self._claims += ids
        if len(self._claims) > self._check_at:
            self._check_claims()
            self._check_at = 2 * len(self._claims)

    def _check_claims(self) -> None:
        """Raise :class:`NeedsPlain` when an object was met twice."""
        if _repeats([*self._claims, *self.seen]):
            raise NeedsPlain

    def _parts(self, columns: Any, node: Node, depth: int) -> list[Any] | None:
        """The trees of several lists; ``None`` when one is too deep."""
        trees: list[Any] = []
        for column in columns:
            tree: Any = self._sequence(column, node, depth) if column else []
            if tree is None:
                return None
            trees.append(tree)
        return trees

    def _dicts(self, value: Any, node: Node, depth: int) -> list[Any] | None:
        shapes: set[tuple[Any, ...]] = set(map(tuple, value))
        if len(shapes) != 1:
            return None
        names = shapes.pop()
        if not names or not all(map(_is_unicode, names)):
            return None
        if depth + 2 >= MAX_DEPTH:
            return None
        self._claim(value)
        columns = self._parts([list(map(itemgetter(name), value)) for name in names], node, depth)
        return self._or_deeper(columns and [":dicts", list(names), *columns])

    def _tuples(self, value: Any, node: Node, depth: int) -> list[Any] | None:
        lengths = set(map(len, value))
        if len(lengths) != 1 or 0 in lengths or depth + 2 >= MAX_DEPTH:
            return None
        if self._in_key or _repeats(map(id, value)):
            return None
        columns = self._parts(zip(*value, strict=True), node, depth)
        return self._or_deeper(columns and [":tuples", *columns])

    def _flat(self, tag: str, value: Any, node: Node, depth: int) -> list[Any] | None:
        flat = list(chain.from_iterable(value))
        if depth + 2 >= MAX_DEPTH:
            return self._or_deeper(None)
        columns = self._parts([flat], node, depth)
        return self._or_deeper(columns and [tag, list(map(len, value)), *columns])

    def _sets(self, kind: type[Any], value: Any, node: Node, depth: int) -> list[Any] | None:
        inner: set[type[Any]] = set(map(type, chain.from_iterable(value)))
        if len(inner) != 1 or next(iter(inner)) not in (int, str):
            return None
        if kind is frozenset:
            if self._in_key or _repeats(map(id, value)):
                return None
            return self._flat(":frozensets", list(map(sorted, value)), node, depth)
        self._claim(value)
        return self._flat(":sets", list(map(sorted, value)), node, depth)

    def _rows(self, kind: type[Any], value: Any, node: Node, depth: int) -> list[Any] | None:
        index = self.definitions.index_of(kind)
        if isinstance(index, str) or depth + 2 >= MAX_DEPTH:
            return None
        names = tuple(kind.__pydantic_fields__)
        stored: list[dict[str, Any]] = [item.__dict__ for item in value]
        given: set[str] = value[0].__pydantic_fields_set__
        if not names or set(map(tuple, stored)) != {names} or not given <= set(names):
            return None
        for item in value:
            if (
                item.__pydantic_fields_set__ != given
                or item.__pydantic_extra__
                or item.__pydantic_private__
            ):
                return None
        self._claim(value)
        columns = self._parts([list(map(itemgetter(name), stored)) for name in names], node, depth)
        places = [place for place, name in enumerate(names) if name in given]
        return self._or_deeper(columns and [":instances", index, places, *columns])

    def _or_deeper(self, tree: list[Any] | None) -> list[Any] | None:
        if tree is None:
            # Items are noted as seen already: only a fresh start can put them elsewhere.
            raise NeedsPlain
        return tree

    def _dict(self, value: dict[Any, Any], node: Node, depth: int) -> Any:
        seen = self.seen
        key = id(value)
        if key in seen:
            return self._again(value, node, seen[key])
        seen[key] = node
        if not value:
            return value
        if depth >= MAX_DEPTH:
            del seen[key]
            return self._deeper(value, node)
        if self.exact:
            text = all(map(_is_unicode, value))
        else:
            text = type(next(iter(value))) is str
        if not text:
            return self._pairs(["{"], value, node, depth)
        plain = self._plain
        handlers = self._handlers
        depth += 1
        out: dict[Any, Any] | None = None
        for name, item in value.items():
            kind = typeof(item)
            if kind in plain or (kind is float and item - item == 0.0):
                continue
            handler = handlers.get(kind)
            if handler is None:
                handler = self._other(kind, item)
            tree = handler(item, (node, name), depth)
            if tree is not item:
                if out is None:
                    out = value.copy()
                out[name] = tree
        return value if out is None else out

    def _pairs(self, tree: list[Any], value: dict[Any, Any], node: Node, depth: int) -> Any:
        """Keys of any kind, in order: ``tag, key, value, key, value``; many go by columns."""
        self.tagged = True
        if self.columns and len(value) >= MIN_COLUMN and tree == ["{"] and depth + 2 < MAX_DEPTH:
            parts = self._parts([list(value), list(value.values())], node, depth + 1)
            return self._or_deeper(parts and [":dict", *parts])
        before = len(self.problems)
        for index, key in enumerate(value):
            tree += (self._key(key, (node, f".keys()[{index}]", PLACE), depth + 1), None)
        if self.holes and len(self.problems) > before:
            return self._whole(node, before)
        place = len(tree) - 2 * len(value) + 1
        for key, item in value.items():
            tree[place] = self._value(item, (node, key), depth + 1)
            place += 2
        return tree

    def _key(self, key: Any, node: Node, depth: int) -> Any:
        """A key or an element of a set, which needs its exact form in any mode."""
        exact = self.exact
        self._mode(True)
        self._hashed += 1
        try:
            return self._value(key, node, depth)
        finally:
            self._hashed -= 1
            self._mode(exact)

    def _whole(self, node: Node, before: int) -> Any:
        """A hole cannot be hashed: one in a key or set makes the whole container a hole."""
        inner, reason = self.problems[before]
        del self.problems[before:]
        return self.refuse(node, f"`{path_text(inner)}` cannot be saved: {reason}")

    def _tuple(self, value: tuple[Any, ...], node: Node, depth: int) -> Any:
        self.tagged = True
        if not value:
            return ["("]
        key = id(value)
        if not self._in_key:
            known = self._written.get(key)
            if known is not None:
                return self._share(value, known)
            if key in self._mixed:
                return self._again(value, node, self._mixed[key])
        if depth >= MAX_DEPTH:
            return self._deeper(value, node)
        before = len(self.seen)
        problems = len(self.problems)
        tree = ["(", *self._items(value, node, depth + 1)]
        self._remember(value, tree, node, before, problems)
        return tree

    def _remember(
        self, value: Any, tree: list[Any], node: Node, before: int, problems: int
    ) -> None:
        """Keep an immutable container for the case that it is met again."""
        if self._in_key:
            if id(value) in self._in_keys:
                self._count(len(tree), node)
            self._in_keys.add(id(value))
        elif len(self.seen) > before or len(self.problems) > problems:
            # Something in it is mutable: a second place for the tuple is a second one for that.
            self._mixed[id(value)] = node
        elif self.with_cells:
            self._written[id(value)] = tree

    def _count(self, parts: int, node: Node) -> None:
        self._repeated += parts
        if self._repeated > MAX_REPEATED:
            raise Refused(f"the sets at `{path_text(node)}` hold too many nested values")

    def _bytes(self, value: bytes, node: Node, depth: int) -> Any:
        self.tagged = True
        if len(value) >= _LONG_BYTES and self.with_cells and not self._in_key:
            known = self._written.get(id(value))
            if known is not None:
                return self._share(value, known)
            tree = self._written[id(value)] = WRITERS[bytes](value)
            return tree
        return WRITERS[bytes](value)

    def _bytearray(self, value: bytearray, node: Node, depth: int) -> Any:
        first = self.seen.setdefault(id(value), node)
        if first is not node:
            return self._again(value, node, first)
        return self._tag(encode_bytearray(value))

    def _set(self, value: set[Any], node: Node, depth: int) -> Any:
        first = self.seen.setdefault(id(value), node)
        if first is not node:
            return self._again(value, node, first)
        return self._elements("<", value, node, depth)

    def _frozenset(self, value: frozenset[Any], node: Node, depth: int) -> Any:
        if not self._in_key:
            known = self._written.get(id(value))
            if known is not None:
                return self._share(value, known)
        problems = len(self.problems)
        tree = self._elements(">", value, node, depth)
        if tree is not None and tree[0] == ">" and value:
            self._remember(value, tree, node, len(self.seen), problems)
        return tree

    def _elements(self, tag: str, value: Any, node: Node, depth: int) -> Any:
        """Elements in an order that does not depend on hashes."""
        self.tagged = True
        if depth >= MAX_DEPTH:
            self.seen.pop(id(value), None)
            return self._deeper(value, node)
        kinds = set(map(type, value))
        if len(kinds) == 1 and next(iter(kinds)) in _ORDERED:
            ordered = sorted(value)
            if kinds == {int} and ordered[0] >= JSON_MIN and ordered[-1] <= JSON_MAX:
                return [tag, *ordered]
            if kinds == {str} and not self.exact:
                return [tag, *ordered]
            value = ordered
        problems = len(self.problems)
        self._in_key += 1
        try:
            place = (node, "{…}", PLACE)
            trees = [self._key(item, place, depth + 1) for item in self._stable(value)]
        finally:
            self._in_key -= 1
        if len(self.problems) > problems:
            return self._whole(node, problems) if self.holes else None
        if type(value) is not list:
            trees.sort(key=orjson.dumps)
        return [tag, *trees]

    def _stable(self, value: Any) -> Any:
        """Elements, definitions first and in the order of the sources: they are numbered as met."""
        known = [item for item in value if type(item) not in _ATOMIC]
        if len(known) < 2:
            return value
        found = [item for item in known if self._is_definition(item)]
        if not found:
            return value
        found.sort(key=self.definitions.position_of)
        marked = {id(item) for item in found}
        return [*found, *(item for item in value if id(item) not in marked)]

    def _is_definition(self, value: Any) -> bool:
        kind = typeof(value)
        return is_real(value, type) or kind is FunctionType or kind.__name__ == "ProfileValue"

    def _deque(self, value: deque[Any], node: Node, depth: int) -> Any:
        first = self.seen.setdefault(id(value), node)
        if first is not node:
            return self._again(value, node, first)
        if depth >= MAX_DEPTH:
            del self.seen[id(value)]
            return self._deeper(value, node)
        self.tagged = True
        return [":deque", value.maxlen, *self._items(list(value), node, depth + 1)]

    def _odict(self, value: OrderedDict[Any, Any], node: Node, depth: int) -> Any:
        return self._mapping([":odict"], value, node, depth)

    def _counter(self, value: Counter[Any], node: Node, depth: int) -> Any:
        return self._mapping([":counter"], value, node, depth)

    def _ddict(self, value: defaultdict[Any, Any], node: Node, depth: int) -> Any:
        factory: Any = value.default_factory
        name = None if factory is None else getattr(factory, "__name__", "")
        if factory is not None and FACTORIES.get(cast("str", name)) is not factory:
            where = (node, "default_factory", ATTRIBUTE)
            return self.refuse(where, "its factory is not a builtin class such as `list` or `int`")
        return self._mapping([":ddict", name], value, node, depth)

    def _mapping(self, tree: list[Any], value: dict[Any, Any], node: Node, depth: int) -> Any:
        first = self.seen.setdefault(id(value), node)
        if first is not node:
            return self._again(value, node, first)
        if depth >= MAX_DEPTH:
            del self.seen[id(value)]
            return self._deeper(value, node)
        own = getattr(value, "__dict__", None)
        if own:
            name = next(iter(own))
            return self.refuse(node, f"it carries the attribute `{name}`, which has no place in it")
        return self._pairs(tree, value, node, depth)

    # ── instances of Kedi types ──────────────────────────────────────────────

    def _instances(self, cls: type[Any], index: int) -> Handler:
        names = tuple(cls.__pydantic_fields__)
        every = set(names)
        places = {name: place for place, name in enumerate(names)}

        def handle(value: Any, node: Node, depth: int) -> Any:
            first = self.seen.setdefault(id(value), node)
            if first is not node:
                return self._again(value, node, first)
            if depth >= MAX_DEPTH:
                del self.seen[id(value)]
                return self._deeper(value, node)
            self.tagged = True
            stored: dict[str, Any] = value.__dict__
            given: set[str] = value.__pydantic_fields_set__
            if value.__pydantic_extra__ or value.__pydantic_private__:
                return self.refuse(node, "it has attributes that its type does not declare")
            if given == every and tuple(stored) == names:
                tree: list[Any] = ["@", index]
            else:
                unknown = [name for name in (*stored, *given) if name not in every]
                if unknown:
                    where = (node, unknown[0], ATTRIBUTE)
                    return self.refuse(where, "its type does not declare this attribute")
                present = None if tuple(stored) == names else [places[name] for name in stored]
                tree = ["@?", index, present, sorted([places[name] for name in given])]
            plain = self._plain
            handlers = self._handlers
            for name, item in stored.items():
                kind = typeof(item)
                if kind in plain or (kind is float and item - item == 0.0):
                    tree.append(item)
                    continue
                handler = handlers.get(kind)
                if handler is None:
                    handler = self._other(kind, item)
                tree.append(handler(item, (node, name, ATTRIBUTE), depth + 1))
            return tree

        return handle


class NeedsPlain(Exception):
    """The values must be encoded again without columns."""


def plain_ids(value: Any) -> list[int] | None:
    """Identities of all containers of a value that is JSON as it stands, ``None`` for others.

    Integers beyond 64 bits, text with lone surrogates and later keys that are not text are
    left to the JSON writer, which refuses them. Long lists that columns would make smaller
    are not plain in this sense.
    """
    ids: list[int] = []
    note = ids.append
    check_at = _FIRST_CHECK

    def scan(value: Any, depth: int) -> bool:
        nonlocal check_at
        note(id(value))
        if typeof(value) is list:
            items = value
        else:
            for key in value:
                if typeof(key) is not str:
                    return False
                break
            items = value.values()
        kinds = set(map(typeof, items))
        if kinds <= _PLAIN:
            return True
        if depth >= MAX_DEPTH or not kinds <= _JSON:
            return False
        if len(kinds) == 1 and items is value and len(value) >= MIN_COLUMN:
            return False
        for item in items:
            kind = typeof(item)
            if kind is list or kind is dict:
                if not scan(item, depth + 1):
                    return False
            elif kind is float and item - item != 0.0:
                return False
        if len(ids) > check_at:
            # One that is met over and over again would be visited over and over again.
            if _repeats(ids):
                return False
            check_at = 2 * len(ids)
        return True

    return ids if scan(value, 0) else None


_JSON: frozenset[type] = _SIMPLE | {list, dict}


def _repeats(ids: Iterable[int]) -> bool:
    """Whether an identity occurs twice. Objects made in turn lie in turn: sorting is quick."""
    ordered = sorted(ids)
    return any(map(eq, ordered, islice(ordered, 1, None)))


def _finite(kinds: set[type[Any]], value: Any) -> bool:
    if len(kinds) == 1:
        return all(map(isfinite, value))
    return all(item - item == 0.0 for item in value if type(item) is float)


_SAMPLE = 32
_PACKED = 12


def _is_long(value: Any) -> bool:
    """Whether floats take less room packed than as decimal text, judged by the first ones."""
    if len(value) < MIN_COLUMN:
        return False
    texts = [repr(item) for item in value[:_SAMPLE]]
    return sum(map(len, texts)) > _PACKED * len(texts)


_ATOMIC = frozenset({*_SIMPLE, *WRITERS, tuple, frozenset})


def _is_unicode(text: Any) -> bool:
    """Whether a key is text that JSON can say."""
    if type(text) is not str:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _references(tree: Any) -> list[list[Any]]:
    """All references to cells in a tree, as the arrays that stand in it."""
    found: list[list[Any]] = []
    stack = [tree]
    while stack:
        item = stack.pop()
        if type(item) is list:
            listed = cast("list[Any]", item)
            if len(listed) == 2 and type(listed[0]) is str and listed[0] == "*":
                found.append(listed)
            else:
                stack += [part for part in listed if type(part) in (list, dict)]
        elif type(item) is dict:
            values = cast("dict[str, Any]", item).values()
            stack += [part for part in values if type(part) in (list, dict)]
    return found
