"""Reading encoded values back: the other half of :mod:`kedi.session.snapshots.codec`.

Every part is checked: a document may come from anybody. What does not fit raises
:class:`~kedi.session.snapshots.atoms.Malformed`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from itertools import islice, repeat
from typing import Any

from kedi.session.snapshots.atoms import READERS, Malformed, as_count, as_list, need
from kedi.session.snapshots.basics import FACTORIES, TAGS, typeof

_CONTAINERS = (list, dict)
_MANY = 8
_CROWD = 1_000
_COLLISIONS = 64


class Decoder:
    """Reads values. ``definitions`` are the classes, procedures and profiles by index.

    ``holes`` stand for what could not be saved. JSON trees are changed in place.
    """

    def __init__(self, definitions: Sequence[Any], holes: Sequence[Any] = ()) -> None:
        self._definitions = definitions
        self._holes = holes
        self._cells: list[Any] = []
        self._makers: dict[int, Callable[[list[Any], int], Any]] = {}
        self._readers: dict[str, Callable[[list[Any]], Any]] = {
            **READERS,
            "(": self._tuple,
            "[": self._list,
            "{": lambda item: self._pairs(item, 1, {}),
            "<": lambda item: self._elements(item, set),
            ">": lambda item: self._elements(item, frozenset),
            "@": self._instance,
            "@?": self._partial,
            "#": self._definition,
            "*": self._cell,
            "!": self._hole,
            ":deque": self._deque,
            ":odict": lambda item: self._pairs(item, 1, OrderedDict()),
            ":ddict": self._ddict,
            ":counter": lambda item: self._pairs(item, 1, Counter()),
            ":dict": self._dict,
            ":dicts": self._dicts,
            ":tuples": self._tuples,
            ":lists": lambda item: self._slices(item, list),
            ":sets": lambda item: self._slices(item, set),
            ":frozensets": lambda item: self._slices(item, frozenset),
            ":instances": self._rows,
        }
        assert self._readers.keys() == TAGS

    def read_cells(self, trees: Any) -> None:
        """Read the cells, each of which refers to earlier ones only."""
        for tree in as_list(trees, "the table of cells"):
            self._cells.append(self.value(tree))

    def value(self, tree: Any) -> Any:
        """The value of a tree."""
        kind = typeof(tree)
        if kind is list:
            if not tree:
                return tree
            first = tree[0]
            if type(first) is str:
                reader = self._readers.get(first)
                if reader is not None:
                    return reader(tree)
            return self._items(tree)
        if kind is dict:
            if len(tree) > _MANY and set(map(type, tree.values())).isdisjoint(_CONTAINERS):
                return tree
            for name, item in tree.items():
                if type(item) in _CONTAINERS:
                    tree[name] = self.value(item)
        return tree

    def _items(self, tree: list[Any]) -> list[Any]:
        kinds = set(map(type, tree))
        if list in kinds or dict in kinds:
            value = self.value
            for index, item in enumerate(tree):
                if type(item) in _CONTAINERS:
                    tree[index] = value(item)
        return tree

    def _parts(self, tree: list[Any], start: int = 1) -> list[Any]:
        del tree[:start]
        return self._items(tree)

    def _tuple(self, tree: list[Any]) -> tuple[Any, ...]:
        return tuple(self._parts(tree))

    def _list(self, tree: list[Any]) -> list[Any]:
        need(len(tree) > 1 and tree[1] in TAGS, "a list is tagged for nothing")
        return self._parts(tree)

    def _elements(self, tree: list[Any], kind: type[Any]) -> Any:
        plain = _is_plain(tree)
        parts = self._parts(tree)
        if not plain:
            _check_crowd(parts)
        made = kind(parts)
        need(len(made) == len(parts), "a set has an element twice")
        return made

    def _pairs(self, tree: list[Any], start: int, made: Any) -> Any:
        need((len(tree) - start) % 2 == 0, "a dict has a key without a value")
        plain = _is_plain(tree[start::2])
        parts = self._parts(tree, start)
        keys = parts[::2]
        if not plain:
            _check_crowd(keys)
        pairs = zip(keys, parts[1::2], strict=True)
        if typeof(made) is Counter:
            # Its own ``update`` would count.
            store: Callable[[Any, Any], None] = dict[Any, Any].update
            store(made, pairs)
        else:
            made.update(pairs)
        need(len(made) == len(keys), "a dict has a key twice")
        return made

    def _dict(self, tree: list[Any]) -> dict[Any, Any]:
        need(len(tree) == 3, "a dict by columns has no keys and values")
        plain = _is_plain(tree[1])
        keys, values = self._lists(tree[1:])
        if not plain:
            _check_crowd(keys)
        made = dict(zip(keys, values, strict=True))
        need(len(made) == len(keys), "a dict has a key twice")
        return made

    def _ddict(self, tree: list[Any]) -> Any:
        need(len(tree) > 1, "a defaultdict has no factory")
        name = tree[1]
        need(name is None or (type(name) is str and name in FACTORIES), "a factory is not known")
        return self._pairs(tree, 2, defaultdict(None if name is None else FACTORIES[name]))

    def _deque(self, tree: list[Any]) -> deque[Any]:
        need(len(tree) > 1, "a deque has no length")
        most = tree[1]
        need(
            most is None or (type(most) is int and len(tree) - 2 <= most < 2**63),
            "a deque is longer than it may be",
        )
        return deque(self._parts(tree, 2), most)

    # ── columns ──────────────────────────────────────────────────────────────

    def _lists(self, trees: list[Any]) -> list[list[Any]]:
        lists = [self.value(tree) for tree in trees]
        need(all(type(item) is list for item in lists), "a column is not a list")
        need(len(set(map(len, lists))) == 1, "the columns differ in length")
        return lists

    def _dicts(self, tree: list[Any]) -> list[Any]:
        need(len(tree) > 2, "a table has no columns")
        names = as_list(tree[1], "the names of columns")
        need(set(map(typeof, names)) == {str}, "a column's name is not text")
        need(len(set(names)) == len(names) == len(tree) - 2, "a table's names do not fit")
        # All of it in C: a row is made in a third of the time that a comprehension takes.
        rows = zip(*self._lists(tree[2:]), strict=True)
        return list(map(dict, map(zip, repeat(names), rows)))

    def _tuples(self, tree: list[Any]) -> list[Any]:
        need(len(tree) > 1, "a table has no columns")
        return list(zip(*self._lists(tree[1:]), strict=True))

    def _slices(self, tree: list[Any], kind: type[Any]) -> list[Any]:
        need(len(tree) == 3, "flat lists have no lengths")
        lengths = as_list(tree[1], "the lengths of flat lists")
        need(set(map(typeof, lengths)) <= {int}, "a length is no number")
        need(not lengths or min(lengths) >= 0, "a length is below 0")
        plain = _is_plain(tree[2])
        (flat,) = self._lists([tree[2]])
        need(sum(lengths) == len(flat), "the lengths of flat lists do not fit")
        rest = iter(flat)
        if kind is not list and not plain:
            for length in lengths:
                _check_crowd(list(islice(rest, length)))
            rest = iter(flat)
        made: list[Any] = [kind(islice(rest, length)) for length in lengths]
        need(kind is list or list(map(len, made)) == lengths, "a set has an element twice")
        return made

    def _rows(self, tree: list[Any]) -> list[Any]:
        cls = self._class(self._index(tree, self._definitions))
        names = tuple(cls.__pydantic_fields__)
        need(len(tree) == len(names) + 3, _wrong_fields(cls, tree[3:]))
        given = self._names(tree[2], names)
        build = _builder(cls)
        rows = zip(*self._lists(tree[3:]), strict=True)
        return [build(stored, set(given)) for stored in map(dict, map(zip, repeat(names), rows))]

    def _index(self, tree: list[Any], table: Sequence[Any]) -> int:
        need(len(tree) > 1, f"`{tree[0]}` refers to nothing")
        return as_count(tree[1], f"what `{tree[0]}` refers to", len(table))

    def _cell(self, tree: list[Any]) -> Any:
        need(len(tree) == 2, "a reference has parts")
        return self._cells[self._index(tree, self._cells)]

    def _hole(self, tree: list[Any]) -> Any:
        need(len(tree) == 2, "a hole has parts")
        return self._holes[self._index(tree, self._holes)]

    def _definition(self, tree: list[Any]) -> Any:
        need(len(tree) == 2, "a definition has parts")
        return self._definitions[self._index(tree, self._definitions)]

    # ── instances ────────────────────────────────────────────────────────────

    def _instance(self, tree: list[Any]) -> Any:
        index = self._index(tree, self._definitions)
        make = self._makers.get(index) or self._maker(index)
        return make(tree, 2)

    def _maker(self, index: int) -> Callable[[list[Any], int], Any]:
        cls = self._class(index)
        names = tuple(cls.__pydantic_fields__)
        build = _builder(cls)

        def make(tree: list[Any], start: int) -> Any:
            parts = self._parts(tree, start)
            need(len(parts) == len(names), _wrong_fields(cls, parts))
            return build(dict(zip(names, parts, strict=True)), set(names))

        self._makers[index] = make
        return make

    def _class(self, index: int) -> Any:
        cls = self._definitions[index]
        need(isinstance(cls, type), "an instance is not of a type")
        return cls

    def _partial(self, tree: list[Any]) -> Any:
        index = self._index(tree, self._definitions)
        cls = self._class(index)
        names = tuple(cls.__pydantic_fields__)
        need(len(tree) > 3, "an instance has no fields")
        present, given = tree[2], tree[3]
        stored = names if present is None else self._names(present, names)
        chosen = set(self._names(given, names))
        parts = self._parts(tree, 4)
        need(len(parts) == len(stored), _wrong_fields(cls, parts))
        return _builder(cls)(dict(zip(stored, parts, strict=True)), chosen)

    @staticmethod
    def _names(places: Any, names: tuple[str, ...]) -> list[str]:
        need(type(places) is list, "the fields of an instance are not a list")
        need(
            all(type(item) is int and 0 <= item < len(names) for item in places)
            and len(set(places)) == len(places),
            "a field of an instance is not there",
        )
        return [names[item] for item in places]


def _wrong_fields(cls: Any, parts: list[Any]) -> str:
    return f"an instance of `{cls.__name__}` has {len(parts)} fields"


def _builder(cls: Any) -> Callable[[dict[str, Any], set[str]], Any]:
    """Makes instances from their stored state, as ``model_construct`` does; runs no validation."""
    new = cls.__new__
    put = object.__setattr__

    def build(stored: dict[str, Any], given: set[str]) -> Any:
        made = new(cls)
        put(made, "__dict__", stored)
        put(made, "__pydantic_fields_set__", given)
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None)
        return made

    return build


def _is_plain(tree: Any) -> bool:
    """Whether a list of keys holds JSON's own numbers and text only."""
    return typeof(tree) is list and list not in set(map(typeof, tree))


def _check_crowd(parts: list[Any]) -> None:
    """Refuse values made to have one hash: a table of them takes quadratic time.

    JSON's own numbers and text cannot be made so; tagged ones can.
    """
    if len(parts) < _CROWD:
        return
    crowds = Counter(map(hash, parts))
    if max(crowds.values()) > _COLLISIONS:
        raise Malformed("too many keys have the same hash")
