"""Snapshots: dump, load and size of a session's values, against pickle, dill and raw orjson.

In memory on both sides: no file is written. Medians of process CPU time, in turns with the peers;
the garbage collector is on, as users have it, and a snapshot pauses it by itself.

Run: ``python benchmarks/snapshots.py``.
"""

from __future__ import annotations

import io
import pickle
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import orjson

import kedi
from benchmarks.harness import Row, in_turns, print_rows
from kedi.session.snapshots.api import paused_collection
from kedi.session.snapshots.file import frame, unframe
from kedi.session.snapshots.restore import restore
from kedi.session.snapshots.state import collect

_random = random.Random(20)


def records() -> list[dict[str, Any]]:
    """A million leaves: 100,000 records of ten, as a program reads them from a service."""
    return [
        {
            "id": index,
            "name": f"user {index}",
            "score": round(_random.random() * 100, 2),
            "active": index % 3 == 0,
            "note": None,
            "tags": [f"tag {index % 50}", f"tag {index % 7}"],
            "address": {"city": f"city {index % 100}", "zip": 10_000 + index % 9_000, "at": index},
        }
        for index in range(100_000)
    ]


def irregular() -> dict[str, Any]:
    """A million leaves in shapes that differ: nothing repeats by columns."""
    found: dict[str, Any] = {}
    leaves = 0
    while leaves < 1_000_000:
        kind = leaves % 5
        size = 3 + leaves % 11
        values: list[Any] = [
            f"{leaves}-{index}" if index % 2 else leaves + index for index in range(size)
        ]
        if kind == 0:
            item: Any = values
        elif kind == 1:
            item = {f"k{index}": value for index, value in enumerate(values)}
        elif kind == 2:
            item = {"head": values[0], "rest": values[1:], "flag": True, "depth": [[leaves / 7]]}
        elif kind == 3:
            item = [values, {"n": leaves}]
        else:
            item = {"text": "x" * (leaves % 40), "values": values}
        found[f"item {leaves}"] = item
        leaves += size
    return found


def tuples_and_sets() -> dict[str, Any]:
    """A million leaves in tuples, sets and dicts whose keys are no text."""
    return {
        "points": [(index, index * 2, index / 8) for index in range(150_000)],
        "pairs": [(f"a{index}", f"b{index}") for index in range(100_000)],
        "sets": [{index, index + 1, index + 2} for index in range(50_000)],
        "words": {f"word {index}" for index in range(100_000)},
        "by number": {index: f"v{index}" for index in range(50_000)},
        "by pair": {(index, str(index)): index for index in range(25_000)},
    }


def plain() -> dict[str, Any]:
    """A million leaves in few long containers."""
    return {
        "ints": list(range(300_000)),
        "floats": [_random.random() for _ in range(300_000)],
        "texts": [f"text {index}" for index in range(200_000)],
        "table": {f"key {index}": index for index in range(200_000)},
    }


def _parts(session: kedi.InteractiveSession) -> Any:
    return session._parts()


def _dump(session: kedi.InteractiveSession) -> bytes:
    with paused_collection():
        return b"".join(frame(collect(_parts(session))))


def _load(data: bytes) -> Any:
    with paused_collection():
        parts, _ = restore(
            unframe(data),
            supplied={},
            executor=None,
            engine=None,
            conversation=None,
            cwd=None,
        )
    return parts


def _session(value: Any) -> kedi.InteractiveSession:
    session = kedi.interactive(env={"_given": value})
    session.execute("[value] = `_given`")
    session._base.pop("_given")
    return session


def _rows(what: str, value: Any, *, json: bool = True, dill: bool = False) -> list[Row]:
    session = _session(value)
    data = _dump(session)
    peer = pickle.dumps(value, protocol=5)
    assert _load(data).scope["value"] == value
    tasks: list[Callable[[], object]] = [
        lambda: _dump(session),
        lambda: pickle.dumps(value, protocol=5),
        lambda: _load(data),
        lambda: pickle.loads(peer),
        # Where JSON has no form for a value, there is nothing to compare with.
        lambda: orjson.dumps(value) if json else None,
    ]
    dump, pickled, load, unpickled, raw = in_turns(tasks)
    session.close()
    found = [
        Row(f"{what}: dump", dump, pickled, "pickle 5", 1.1),
        Row(f"{what}: load", load, unpickled, "pickle 5", 1.0),
        Row(f"{what}: size", len(data), len(peer), "pickle 5", 1.25, unit="bytes"),
    ]
    if json:
        found.append(Row(f"{what}: dump", dump, raw, "orjson, no checks", None))
    if dill:
        import dill as dill_module

        slow = in_turns([lambda: dill_module.dump(value, io.BytesIO())], rounds=3)[0]
        found.append(Row(f"{what}: dump", dump, slow, "dill", 0.1))
    return found


def instances() -> list[Row]:
    """20,000 small instances of a Kedi type. pickle finds their class as that of a module."""
    session = kedi.interactive()
    session.execute("~Point(x: int, y: float, label: str = `'none'`, tags: list[str] = `[]`)")
    session.execute("[value] = `[Point(i, i / 8, f'p{i}', ['a', str(i)]) for i in range(20_000)]`")
    value = session.evaluate("`value`")
    data = _dump(session)
    peer = pickle.dumps(value, protocol=5)
    dump, pickled, load, unpickled = in_turns(
        [
            lambda: _dump(session),
            lambda: pickle.dumps(value, protocol=5),
            lambda: _load(data),
            lambda: pickle.loads(peer),
        ]
    )
    what = "20,000 instances"
    return [
        Row(f"{what}: dump", dump, pickled, "pickle 5", 1.1),
        Row(f"{what}: load", load, unpickled, "pickle 5", 1.0),
        Row(f"{what}: size", len(data), len(peer), "pickle 5", 1.25, unit="bytes"),
    ]


def rows() -> list[Row]:
    """All rows."""
    return [
        *_rows("1M leaves, records", records(), dill=True),
        *_rows("1M leaves, irregular", irregular()),
        *_rows("1M leaves, long lists", plain()),
        *_rows("1M leaves, tuples and sets", tuples_and_sets(), json=False),
        *instances(),
    ]


if __name__ == "__main__":
    print_rows(rows())
