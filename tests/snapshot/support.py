"""Values for round trips, an equality that also looks at types, and small helpers."""

from __future__ import annotations

import hashlib
import math
import re
import struct
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID, SafeUUID

import orjson
from hypothesis import strategies as st

import kedi

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe"]


# ── equality ──────────────────────────────────────────────────────────────────


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal in value and type, all the way down."""
    if type(a) is not type(b):
        return False
    match a:
        case float():
            return struct.pack(">d", a) == struct.pack(">d", b)
        case complex():
            return same(a.real, b.real) and same(a.imag, b.imag)
        case Decimal():
            return a.as_tuple() == b.as_tuple()
        case deque():
            return a.maxlen == b.maxlen and same(list(a), list(b))
        case list() | tuple():
            return len(a) == len(b) and all(map(same, a, b))
        case set() | frozenset():
            return len(a) == len(b) and sorted(map(label, a)) == sorted(map(label, b))
        case dict():
            factories = getattr(a, "default_factory", 0) is getattr(b, "default_factory", 0)
            return factories and same(list(a.items()), list(b.items()))
        case datetime() | time():
            return (
                a.replace(tzinfo=None) == b.replace(tzinfo=None)
                and a.fold == b.fold
                and same_zone(a.tzinfo, b.tzinfo)
            )
        case UUID():
            return a == b and a.is_safe == b.is_safe
        case re.Pattern():
            return same(a.pattern, b.pattern) and a.flags == b.flags
        case PurePath():
            return str(a) == str(b)
        case range():
            return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
        case _ if hasattr(a, "__pydantic_fields_set__"):
            return same(list(a.__dict__.items()), list(b.__dict__.items())) and same(
                a.__pydantic_fields_set__, b.__pydantic_fields_set__
            )
        case _:
            return a == b


def same_zone(a: Any, b: Any) -> bool:
    if isinstance(a, timezone):
        return type(b) is timezone and a.__getinitargs__() == b.__getinitargs__()
    return type(a) is type(b) and getattr(a, "key", None) == getattr(b, "key", None)


def label(value: Any) -> str:
    """Text that tells apart what sets tell apart, and their types."""
    if isinstance(value, tuple):
        return f"tuple{list(map(label, value))}"
    if isinstance(value, frozenset):
        return f"frozenset{sorted(map(label, value))}"
    exact = struct.pack(">d", value).hex() if isinstance(value, float) else ""
    return f"{type(value).__name__} {value!r} {exact}"


def _named(name: str, strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The same strategy, with a name in place of all that it is made of."""

    def drawn(draw: Any) -> Any:
        return draw(strategy)

    drawn.__name__ = name
    return st.composite(drawn)()


# ── values ────────────────────────────────────────────────────────────────────

texts = (
    st.text() | st.text(st.characters(codec=None)) | st.sampled_from(["(", "[", "{", "@", ":int"])
)
integers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**64, 2**64 - 1, -(2**63), -(2**63) - 1, 7**1000, -(7**999)]),
)
floats = st.floats(allow_nan=True) | st.sampled_from(
    [-0.0, struct.unpack(">d", bytes.fromhex("fff8000000000001"))[0]]
)
zones = st.one_of(
    st.none(),
    st.sampled_from(ZONES).map(zoneinfo.ZoneInfo),
    st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone),
    st.tuples(st.timedeltas(timedelta(hours=-23), timedelta(hours=23)), st.text()).map(
        lambda pair: timezone(*pair)
    ),
)
datetimes = st.builds(
    lambda value, zone, fold: value.replace(tzinfo=zone, fold=fold),
    st.datetimes(),
    zones,
    st.sampled_from([0, 1]),
)
times = st.builds(
    lambda value, zone, fold: value.replace(tzinfo=zone, fold=fold),
    st.times(),
    zones,
    st.sampled_from([0, 1]),
)
segments = st.text(st.characters(exclude_characters="\0", codec=None), max_size=6)
paths = st.one_of(
    st.lists(segments, max_size=4).map(lambda parts: PurePosixPath(*parts)),
    st.lists(segments, max_size=4).map(lambda parts: PureWindowsPath(*parts)),
    st.lists(segments, max_size=4).map(lambda parts: Path(*parts)),
)
_FLAGS = [re.IGNORECASE, re.MULTILINE, re.DOTALL, re.VERBOSE, re.ASCII]


def _pattern(text: Any, flags: list[int]) -> re.Pattern[Any]:
    total = 0
    for flag in flags:
        total |= flag
    return re.compile(re.escape(text), total)


patterns = st.builds(_pattern, st.text() | st.binary(), st.lists(st.sampled_from(_FLAGS)))
decimals = st.decimals(allow_nan=True) | st.sampled_from(
    [Decimal("-0.00"), Decimal("sNaN7"), Decimal("1E+9999"), Decimal("-Infinity")]
)
uuids = st.builds(
    lambda value, safe: UUID(int=value.int, is_safe=safe), st.uuids(), st.sampled_from(SafeUUID)
)
ranges = st.builds(range, integers, integers, integers.filter(bool))
fractions = st.builds(Fraction, integers, integers.filter(bool))

#: Values without parts that have a hash and equal themselves.
_keys = st.one_of(
    st.none(),
    st.booleans(),
    integers,
    floats,
    texts,
    st.binary(max_size=400),
    st.complex_numbers(allow_nan=False, allow_infinity=False),
    decimals.filter(lambda value: not value.is_snan()),
    fractions,
    uuids,
    st.dates(),
    datetimes,
    times,
    st.timedeltas(),
    paths,
    patterns,
    ranges,
)
keys = _named("keys", _keys)
atoms = _named("atoms", keys | decimals | st.complex_numbers() | st.binary().map(bytearray))
hashables = _named(
    "hashables",
    st.recursive(
        keys,
        lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4),
        max_leaves=8,
    ),
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    mappings = st.dictionaries(hashables, inner, max_size=5)
    return st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=5).map(tuple),
        st.sets(hashables, max_size=5),
        st.frozensets(hashables, max_size=5),
        mappings,
        st.dictionaries(st.text(), inner, max_size=5),
        mappings.map(OrderedDict),
        mappings.map(lambda value: defaultdict(list, value)),
        mappings.map(lambda value: defaultdict(None, value)),
        st.dictionaries(hashables, inner, max_size=4).map(_counter),
        st.builds(deque, st.lists(inner, max_size=4), st.sampled_from([None, 4, 9])),
    )


def _counter(value: dict[Any, Any]) -> Counter[Any]:
    counter: Counter[Any] = Counter()
    for key, item in value.items():
        counter[key] = item
    return counter


values = _named(
    "values", st.recursive(atoms, _containers, max_leaves=25).map(lambda v: distinct(v))
)


def columns(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Long lists of equal items, which are written by columns."""
    long = {"min_size": 16, "max_size": 24}
    record = st.fixed_dictionaries({"a": inner, "(": st.integers(), "": floats})
    return st.one_of(
        st.lists(record, **long),
        st.lists(st.tuples(inner, st.text(max_size=3)), **long),
        st.lists(st.lists(inner, max_size=3), **long),
        st.lists(st.sets(st.integers(), max_size=3), **long),
        st.lists(st.frozensets(st.text(max_size=3), max_size=3), **long),
        st.lists(st.sets(hashables, max_size=3), **long),
        st.lists(floats, **long),
        st.lists(floats.filter(math.isfinite), **long),
        st.lists(texts, **long),
        st.lists(datetimes, **long),
    )


def distinct(value: Any) -> Any:
    """The value with every mutable object in it made anew: hypothesis may reuse one."""
    match value:
        case OrderedDict():
            return OrderedDict((key, distinct(item)) for key, item in value.items())
        case defaultdict():
            made = defaultdict(value.default_factory)
            made.update({key: distinct(item) for key, item in value.items()})
            return made
        case Counter():
            return _counter({key: distinct(item) for key, item in value.items()})
        case dict():
            return {key: distinct(item) for key, item in value.items()}
        case list():
            return [distinct(item) for item in value]
        case tuple():
            return tuple(distinct(item) for item in value)
        case set():
            return set(value)
        case deque():
            return deque((distinct(item) for item in value), value.maxlen)
        case bytearray():
            return bytearray(value)
        case _:
            return value


# ── documents ─────────────────────────────────────────────────────────────────

TAIL = 11 + 64 + 3


def content_of(path: Path) -> dict[str, Any]:
    return orjson.loads(path.read_bytes())["content"]


def sealed(head: bytes) -> bytes:
    """A document with the right hash: ``head`` is everything before the hash."""
    return head + b',"sha256":"' + hashlib.sha256(head).hexdigest().encode() + b'"}\n'


def reseal(document: dict[str, Any]) -> bytes:
    """The bytes of an edited document, its hash made right again."""
    document = {name: value for name, value in document.items() if name != "sha256"}
    return sealed(orjson.dumps(document)[:-1])


@contextmanager
def session_with(**bindings: Any) -> Iterator[kedi.InteractiveSession]:
    """A session that has these bindings, each made by a fragment of its own."""
    with kedi.interactive(env={"_given": bindings}) as session:
        for name in bindings:
            session.execute(f"[{name}] = `_given[{name!r}]`")
        # The mapping itself is only a way in: it would be a second place for each value.
        session._base.pop("_given")  # pyright: ignore[reportPrivateUsage]
        yield session
