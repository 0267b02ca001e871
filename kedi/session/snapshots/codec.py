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
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import orjson

from kedi.runtime.directives import ProfileValue
from kedi.session.snapshots.atoms import (
    JSON_MAX,
    JSON_MIN,
    WRITERS,
    Refused,
    encode_bytearray,
    encode_float,
    encode_int,
    encode_str,
)
from kedi.session.snapshots.basics import (
    FACTORIES,
    MAX_DEPTH,
    MAX_REPEATED,
    MIN_COLUMN,
    NONE,
    SIMPLE,
    Definitions,
    Handler,
    NeedsPlain,
    NoDefinitions,
    is_unicode,
    typeof,
)
from kedi.session.snapshots.columns import ListWriter
from kedi.session.snapshots.paths import ATTRIBUTE, PLACE, Node, path_text
from kedi.session.snapshots.plain import plain_ids
from kedi.session.snapshots.refusals import reason_for
from kedi.session.static import is_real, namespace_of

_ORDERED = (str, int, bytes)
_LONG_BYTES = 256
_ATOMIC = frozenset({*SIMPLE, *WRITERS, tuple, frozenset})


class Encoder(ListWriter):
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
        super().__init__(definitions, cells=cells, columns=columns, holes=holes)
        self._elements_met: set[int] = set()
        self._repeated = 0
        self._handlers = {
            str: self._str,
            int: self._int,
            float: self._float,
            bool: lambda value, node, depth: value,
            NONE: lambda value, node, depth: value,
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

    # ── any value ────────────────────────────────────────────────────────────

    def _value(self, value: Any, node: Node, depth: int) -> Any:
        kind = typeof(value)
        handler = self._handlers.get(kind)
        if handler is None:
            handler = self._other(kind, value)
        return handler(value, node, depth)

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
        if is_real(value, type) or kind is FunctionType or kind is ProfileValue:
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

    # ── dicts and tuples ─────────────────────────────────────────────────────

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
            text = all(map(is_unicode, value))
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
        if not self._in_set:
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
        if self._in_set:
            if id(value) in self._elements_met:
                self._count(len(tree), node)
            self._elements_met.add(id(value))
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
        if len(value) >= _LONG_BYTES and self.with_cells and not self._in_set:
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
        if not self._in_set:
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
        self._in_set += 1
        try:
            place = (node, "{…}", PLACE)
            trees = [self._key(item, place, depth + 1) for item in self._stable(value)]
        finally:
            self._in_set -= 1
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
        return is_real(value, type) or kind is FunctionType or kind is ProfileValue

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


__all__ = ["Encoder", "NeedsPlain", "NoDefinitions"]
