"""Every value comes back equal in value and type, and is written the same way again."""

from __future__ import annotations

import datetime as dt
import random
import re
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedi.session.snapshots.atoms import Refused
from kedi.session.snapshots.basics import MAX_DEPTH
from kedi.session.snapshots.codec import Encoder, NeedsPlain, NoDefinitions
from kedi.session.snapshots.paths import path_text, root
from kedi.session.snapshots.reader import Decoder
from tests.snapshot.support import columns, distinct, same, values

quick = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def encode(value: Any, *, exact: bool = True, by_columns: bool = True) -> bytes:
    encoder = Encoder(NoDefinitions("no definitions here"), columns=by_columns)
    tree = encoder.encode(value, root("v"), exact=exact)
    cells = encoder.finish()
    assert encoder.problems == []
    return orjson.dumps([tree, cells])


def decode(data: bytes) -> Any:
    tree, cells = orjson.loads(data)
    decoder = Decoder(())
    decoder.read_cells(cells)
    return decoder.value(tree)


def problems(value: Any) -> list[tuple[str, str]]:
    encoder = Encoder(NoDefinitions("no definitions here"), columns=False)
    encoder.encode(value, root("v"), exact=True)
    encoder.finish()
    return [(path_text(node), reason) for node, reason in encoder.problems]


def check(value: Any, **options: Any) -> None:
    data = encode(value, **options)
    back = decode(data)
    assert same(back, value)
    assert encode(back, **options) == data


@quick
@given(values, st.booleans())
def test_values_come_back_equal_in_value_and_type(value: Any, by_columns: bool) -> None:
    check(value, by_columns=by_columns)


@quick
@given(columns(values | columns(values)).map(distinct))
def test_long_lists_come_back_equal(value: Any) -> None:
    check(value)
    check({"x": value, "y": [1]})


@quick
@given(values)
def test_the_quick_way_gives_the_same_or_is_refused_by_the_json_writer(value: Any) -> None:
    try:
        data = encode(value, exact=False)
    except TypeError:
        return
    assert same(decode(data), value)


@pytest.mark.parametrize(
    "value",
    [
        {1: "int", "1": "text", 2.0: "float", (1, True): "tuple", None: 0, b"1": 1},
        {True: "bool", "True": "text"},
        {1.0: "float first"},
        {"b": 1, "a": 2},
        ["(", 1],
        ["*", 0],
        [["!", 0], ["#", 1], [":int", "ff"]],
        {"$": 1, "type": "(", "": None},
        [],
        {},
        (),
        set(),
        frozenset(),
        deque(maxlen=0),
        deque([1, 2], 2),
        OrderedDict(),
        OrderedDict(b=1, a=2),
        defaultdict(int, {"x": 1}),
        Counter("mississippi"),
        Counter({"a": -1, "b": "not a number"}),
        [10**5000, -(10**5000), 2**64, -(2**63)],
        Fraction(10**5000, 3),
        Decimal(10) ** 5,
        Decimal("0E-1000"),
        dt.datetime(1, 1, 1, tzinfo=dt.UTC),
        dt.datetime.max,
        dt.time(23, 59, 59, 999999, fold=1),
        dt.timedelta(days=-1, microseconds=1),
        dt.datetime(2024, 10, 27, 2, 30, tzinfo=dt.timezone(dt.timedelta(0), "Z")),
        "\ud83d\ude00",
        {"\ud800": "\udfff"},
        Path(),
        Path("\udcff/not-utf8"),
        b"\x00" * 1000,
        range(0),
        range(10**30, 10**31, 7),
        -0.0,
        [float("inf"), float("-inf"), float("nan")],
    ],
    ids=lambda value: type(value).__name__,
)
def test_corners(value: Any) -> None:
    check(value)
    check([value], by_columns=False)


def test_equal_dict_keys_stay_the_ones_that_were_there() -> None:
    back = decode(encode({1: "a", "1": "b", 2.0: "c", False: "d"}))
    assert [(type(key), key) for key in back] == [(int, 1), (str, "1"), (float, 2.0), (bool, False)]


def test_immutable_objects_that_occur_twice_stay_one() -> None:
    pair = (1, ("deep",))
    data = b"x" * 1000
    back = decode(encode([pair, {"again": pair}, data, data]))
    assert back[0] is back[1]["again"]
    assert back[2] is back[3]


def test_a_tuple_of_tuples_that_doubles_sixty_times() -> None:
    value: Any = ()
    for _ in range(60):
        value = (value, value)
    data = encode(value)
    assert len(data) < 10_000
    assert encode(decode(data)) == data


@pytest.mark.parametrize("kind", ["list", "dict", "tuple", "deque", "mixed"])
def test_depth_has_no_bound(kind: str) -> None:
    wrap = {
        "list": lambda inner: [inner],
        "dict": lambda inner: {"k": inner},
        "tuple": lambda inner: (inner,),
        "deque": lambda inner: deque([inner]),
        "mixed": lambda inner: [({"k": (inner,)}, {1: 2})],
    }[kind]
    value: Any = "end"
    for _ in range(20_000):
        value = wrap(value)
    data = encode(value, by_columns=True)
    assert encode(decode(data)) == data
    assert _depth(data) < 2 * MAX_DEPTH + 20


def _depth(data: bytes) -> int:
    level = most = 0
    for byte in re.sub(rb'"[^"]*"', b"", data):
        if byte in b"[{":
            level += 1
            most = max(most, level)
        elif byte in b"]}":
            level -= 1
    return most


def test_the_order_of_a_set_does_not_show() -> None:
    items: list[Any] = [
        1,
        "1",
        2.5,
        None,
        (1, "x"),
        frozenset({1, 2}),
        b"1",
        Decimal("1.5"),
        10**30,
    ]
    forms = {encode(set(random.Random(seed).sample(items, len(items)))) for seed in range(20)}
    assert len(forms) == 1


def test_documents_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from tests.snapshot.test_codec import encode\n"
        "print(encode([{'b','a','c',1,(2,'x')}, frozenset('hello'), {('k','v'): {'x','y'}}]).hex())"
    )
    root_folder = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root_folder)},
            cwd=root_folder,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(found) == 1


class Key:
    """A key whose hash may be asked for once only."""

    asked = 0

    def __hash__(self) -> int:
        type(self).asked += 1
        assert self.asked < 2
        return 5


def test_no_code_of_a_refused_key_is_run() -> None:
    key = Key()
    rows = [{"a": 1} for _ in range(30)]
    rows[7] = {key: 1}  # type: ignore[dict-item]
    encoder = Encoder(NoDefinitions(""), columns=True)
    encoder.encode(rows, root("v"))
    assert problems(rows)[0][0] == "v[7].keys()[0]"
    assert Key.asked == 1


# ── sharing ───────────────────────────────────────────────────────────────────


def test_a_shared_list_names_both_paths() -> None:
    inner = [1]
    ((path, reason),) = problems({"a": inner, "b": {"c": [inner]}})
    assert path == 'v["b"]["c"][0]'
    assert '`v["a"]`' in reason


@pytest.mark.parametrize(
    "make",
    [
        lambda: [1],
        lambda: {"k": 1},
        lambda: {1},
        lambda: bytearray(b"x"),
        lambda: deque([1]),
        lambda: OrderedDict(a=1),
        lambda: defaultdict(list),
        lambda: Counter("a"),
        lambda: ([1],),
    ],
)
def test_every_mutable_kind_is_found_when_shared(make: Any) -> None:
    shared = make()
    found = problems([shared, (shared,)])
    assert found
    assert all("v[0]" in reason for _, reason in found)


def test_sharing_is_found_in_long_lists_too() -> None:
    rows: list[Any] = [{"x": [index], "y": {index}} for index in range(50)]
    assert problems(rows) == []
    rows[40]["x"] = rows[7]["x"]
    assert problems(rows) == [
        ('v[40]["x"]', _also('v[7]["x"]', "list")),
    ]
    encoder = Encoder(NoDefinitions(""), columns=True)
    encoder.encode(rows, root("v"))
    with pytest.raises(NeedsPlain):
        encoder.finish()


def _also(path: str, kind: str) -> str:
    return (
        f"this {kind} is also `{path}`, and a snapshot would make two of it: "
        "keep it in one place, or give each its own copy"
    )


def test_cycles_are_found() -> None:
    loop: list[Any] = [[]]
    loop[0].append(loop)
    ((path, reason),) = problems({"x": loop})
    assert path == 'v["x"][0][0]'
    assert "contains itself" in reason
    assert '`v["x"]`' in reason


def test_a_cycle_through_a_tuple_and_a_deep_place_is_found() -> None:
    end: list[Any] = []
    value: Any = end
    for _ in range(3 * MAX_DEPTH):
        value = (value,)
    end.append(value)
    ((_, reason),) = problems(value)
    assert "contains itself" in reason or "is also" in reason


def test_columns_of_columns_that_refer_back_do_not_explode() -> None:
    outer: list[list[Any]] = [[] for _ in range(16)]
    inner: list[list[Any]] = [[] for _ in range(16)]
    for item in outer:
        item.extend(inner)
    for item in inner:
        item.extend(outer)
    assert problems(outer)
    encoder = Encoder(NoDefinitions(""), columns=True)
    with pytest.raises(NeedsPlain):
        encoder.encode(outer, root("v"))


def test_sets_that_double_are_refused_in_bounded_time() -> None:
    value: frozenset[Any] = frozenset()
    for _ in range(60):
        value = frozenset({(value, 0), (value, 1)})
    encoder = Encoder(NoDefinitions(""))
    with pytest.raises(Refused, match="too many nested values"):
        encoder.encode({value}, root("v"))
