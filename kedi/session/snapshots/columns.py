"""Lists: as they are, or, when they are long and of one shape, by columns."""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import Any

from kedi.session.snapshots.atoms import pack_floats
from kedi.session.snapshots.basics import (
    MAX_DEPTH,
    MIN_COLUMN,
    SIMPLE,
    TAGS,
    Handler,
    NeedsPlain,
    is_unicode,
    typeof,
)
from kedi.session.snapshots.paths import Node
from kedi.session.snapshots.plain import is_finite, is_long, repeats
from kedi.session.snapshots.walk import Walk
from kedi.session.static import namespace_of


class ListWriter(Walk):
    """Writes lists; a subclass fills ``_handlers`` with the writers of other values."""

    _handlers: dict[type, Handler]

    def _other(self, kind: type[Any], value: Any) -> Handler:
        """The handler of a class that is met for the first time."""
        raise NotImplementedError

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
        if not self.exact and kinds <= SIMPLE and (float not in kinds or is_finite(kinds, value)):
            if len(kinds) == 1 and float in kinds and self.columns and is_long(value):
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
        if kind is float and not is_finite({float}, value):
            return [":floats", pack_floats(value)]
        if "__kedi_site__" not in namespace_of(kind):
            return None
        return self._rows(kind, value, node, depth)

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
        # Classes first: a key of another one would be asked for its hash.
        if set(map(typeof, chain.from_iterable(value))) != {str}:
            return None
        shapes: set[tuple[str, ...]] = set(map(tuple, value))
        if len(shapes) != 1:
            return None
        names = shapes.pop()
        if not all(map(is_unicode, names)):
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
        if self._in_set or repeats(map(id, value)):
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
            if self._in_set or repeats(map(id, value)):
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
