"""Damaged, edited and hostile files: an error with a reason, in bounded time, and nothing built."""

from __future__ import annotations

import base64
import copy
import gc
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kedi
from kedi.errors import SessionLoadError
from kedi.session.snapshots import file as snapshot_file
from tests.snapshot.support import TAIL, reseal, sealed

FRAGMENTS = (
    "~Node(value: int, tags: list[str] = `[]`, next: Node | None = `None`)",
    "@f(x: Node, n: int = `3`) -> list[Node]:\n  = `[x] * n`",
    "> profile: fast:\n  > effort: low",
    "> model: m\n> settings:\n  temperature: 0.5",
    "> use: f\n@g() -> str:\n  = x",
    "[node: Node] = `Node(1, ['a'], Node(2))`\n[many: dict[str, Node]] = `{'k': Node(5)}`",
    "[rows] = `[{'a': i, 'b': (i, str(i))} for i in range(20)]`",
    "[odd] = `{1: {2, 3}, (4,): [b'x', 2**70, 1.5, float('nan')], 'r': range(3)}`",
)


def _saved(folder: Path, fragments: Sequence[str]) -> bytes:
    with kedi.interactive(env={"e": [1]}) as session:
        for fragment in fragments:
            session.execute(fragment)
        session.dump(folder / "good")
    return (folder / "good").read_bytes()


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return _saved(tmp_path_factory.mktemp("hostile"), FRAGMENTS)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """One of each, as small as can be."""
    return _saved(tmp_path_factory.mktemp("small"), ["@f() -> str:\n  = x\n[a] = `(1.5, {2})`"])


@pytest.fixture
def load(tmp_path: Path) -> Callable[[bytes], kedi.InteractiveSession]:
    def load(data: bytes) -> kedi.InteractiveSession:
        path = tmp_path / "state"
        path.write_bytes(data)
        return kedi.load_session(path)

    return load


class Untouched(kedi.InteractiveSession):
    """A session that must not be made."""

    def __init__(self, **config: Any) -> None:
        raise AssertionError("a session was built")


def refuse(data: bytes, tmp_path: Path) -> str:
    """The message of the refusal; no session is made, and no module is left behind."""
    path = tmp_path / "bad"
    path.write_bytes(data)
    before = set(sys.modules)
    threads = threading.active_count()
    with pytest.raises(SessionLoadError) as caught:
        kedi.load_session(path, session_type=Untouched)
    gc.collect()
    assert {name for name in set(sys.modules) - before if name.startswith("kedi:")} == set()
    assert threading.active_count() == threads
    assert caught.value.message
    return caught.value.message


def test_the_whole_one_loads(snapshot: bytes, load: Callable[[bytes], Any]) -> None:
    with load(snapshot) as session:
        assert session.evaluate("`f(node)[2].next.value`") == 2
    with load(reseal(orjson.loads(snapshot))) as session:
        assert session.evaluate("`rows[19]['b'][1]`") == "19"


def test_cut_at_every_length(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    for length in range(len(small)):
        path.write_bytes(small[:length])
        with pytest.raises(SessionLoadError):
            kedi.load_session(path, session_type=Untouched)


def test_each_bit_of_every_byte_flipped(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "flipped"
    for index in range(len(small)):
        for bit in range(8):
            data = bytearray(small)
            data[index] ^= 1 << bit
            path.write_bytes(data)
            with pytest.raises(SessionLoadError):
                kedi.load_session(path, session_type=Untouched)


def test_more_at_the_end(snapshot: bytes, tmp_path: Path) -> None:
    for more in (b"\n", b" ", b"{}", snapshot):
        refuse(snapshot + more, tmp_path)
    refuse(b" " + snapshot, tmp_path)
    refuse(b"\xef\xbb\xbf" + snapshot, tmp_path)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not valid JSON"),
        (b"null\n", "no snapshot"),
        (b"[]", "no snapshot"),
        (b"{}", "no snapshot"),
        (b"42", "no snapshot"),
        (b'{"format":"other"}', "no snapshot"),
        (b'{"format":"kedi-session"}', "format version unknown"),
        (b'{"format":"kedi-session","version":0}', "format version 0"),
        (b'{"format":"kedi-session","version":2}', "use a newer Kedi"),
        (b'{"format":"kedi-session","version":true}', "format version unknown"),
        (b'{"format":"kedi-session","version":1.0}', "format version unknown"),
        (b'{"format":"kedi-session","version":1}', "was cut"),
        (b"\x80\x05K\x01.", "not valid JSON"),
        (b"PK\x03\x04", "not valid JSON"),
        (b"\xff\xfe{\x00}\x00", "not valid JSON"),
        (b"\x00" * 1000, "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "not valid JSON"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "not valid JSON"),
        (b"1" * 5_000_000, "not valid JSON"),
        (b"-" + b"9" * 400, "not valid JSON"),
        (b"1e999999999", "not valid JSON"),
        (b'"' + b"x" * 20_000_000 + b'"', "no snapshot"),
        (b'"\\ud800"', "not valid JSON"),
    ],
    ids=lambda value: value[:16] if isinstance(value, bytes) else None,
)
def test_what_is_no_snapshot(data: bytes, reason: str, tmp_path: Path) -> None:
    assert reason in refuse(data, tmp_path)


@pytest.mark.parametrize("version", ["99.0.0", "0.0.1", "", "abc", None, 1, "0", "٠.١.٠"])
def test_other_versions_of_kedi(version: Any, snapshot: bytes, tmp_path: Path) -> None:
    document = orjson.loads(snapshot)
    document["kedi"] = version
    assert "of Kedi" in refuse(reseal(document), tmp_path)


def test_a_later_patch_of_the_same_kedi_is_fine(
    snapshot: bytes, load: Callable[[bytes], Any]
) -> None:
    document = orjson.loads(snapshot)
    major, minor = kedi.__version__.split(".")[:2]
    document["kedi"] = f"{major}.{minor}.999"
    load(reseal(document)).close()


def test_keys_that_occur_twice(snapshot: bytes, tmp_path: Path) -> None:
    head = snapshot[:-TAIL]
    for old, new in (
        (b'"evaluations":0', b'"evaluations":0,"evaluations":0'),
        (b'{"format"', b'{"format":"kedi-session","format"'),
        (b'"name":"node",', b'"name":"node","name":"node",'),
        (b'"plain":{"k"', b'"plain":{"k":1,"k"')
        if b'"plain":{"k"' in head
        else (b'"e",', b'"e","name":"e",'),
    ):
        assert old in head
        assert "twice" in refuse(sealed(head.replace(old, new, 1)), tmp_path)
    everything = head[len(b'{"format":"kedi-session",') :]
    refuse(sealed(b'{"format":"kedi-session",' + everything + b"," + everything), tmp_path)


def test_another_writer_may_space_and_escape_differently(
    snapshot: bytes, load: Callable[[bytes], Any]
) -> None:
    document = orjson.loads(snapshot)
    del document["sha256"]
    text = json.dumps(document, ensure_ascii=True, indent=1)
    data = sealed(text[:-1].rstrip("\n").encode())
    with load(data) as session:
        assert session.evaluate("`node.value`") == 1


def test_a_tree_as_deep_as_json_readers_allow(snapshot: bytes, tmp_path: Path) -> None:
    for depth in (200, 300, 900):
        document = orjson.loads(snapshot)
        del document["sha256"]
        text = json.dumps(document)[:-1].replace(
            '"evaluations": 0', '"evaluations": ' + "[" * depth + "]" * depth
        )
        refuse(sealed(text.encode()), tmp_path)


# ── files ─────────────────────────────────────────────────────────────────────


def test_a_missing_file() -> None:
    with pytest.raises(FileNotFoundError):
        kedi.load_session("missing")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        kedi.load_session(tmp_path)


def test_a_symbolic_link(snapshot: bytes, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(snapshot)
    link.symlink_to(real)
    with pytest.raises(SessionLoadError, match="symbolic link"):
        kedi.load_session(link)
    (tmp_path / "folder").symlink_to(tmp_path)
    kedi.load_session(tmp_path / "folder" / "real").close()


def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SessionLoadError, match="not a regular file"):
        kedi.load_session(tmp_path / "fifo")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/proc/self/mem"])
def test_devices(device: str) -> None:
    with pytest.raises((SessionLoadError, OSError)):
        kedi.load_session(device)


@pytest.mark.parametrize("name", ["", "\0", "a\0b"])
def test_names_no_file_can_have(name: str) -> None:
    with pytest.raises((SessionLoadError, OSError)):
        kedi.load_session(name)


def test_a_file_beyond_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(snapshot_file.MAX_BYTES + 1)
    with pytest.raises(SessionLoadError, match="at most"):
        kedi.load_session(path)


def test_a_file_that_grows_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 5000)
    monkeypatch.setattr(snapshot_file, "MAX_BYTES", 1000)
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result((0o100600, *(0,) * 9)))
    with pytest.raises(SessionLoadError, match="at most"):
        kedi.load_session(path)


# ── edited, with the hash made right again ────────────────────────────────────


def edited(snapshot: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    document = orjson.loads(snapshot)
    change(document["content"])
    return reseal(document)


def _binding(content: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [item for item in content["bindings"] if item["name"] == name]
    assert set(found) == {"name", "value", "type"}
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("cells"),
        lambda c: c.update(extra=1),
        lambda c: c.update(evaluations=-1),
        lambda c: c.update(evaluations=True),
        lambda c: c.update(cwd="relative"),
        lambda c: c.update(cwd=[":str", "!"]),
        lambda c: c.update(cwd="/" + "x" * 5000),
        lambda c: c.update(engine={"parallel": 1}),
        lambda c: c.update(engine={"parallel": True, "max_workers": 10**9}),
        lambda c: c.update(engine={"parallel": True, "max_workers": 0}),
        lambda c: c.update(subagents={}),
        lambda c: c["subagents"].update(max_depth="x"),
        lambda c: c["subagents"].update(timeout_seconds=-1),
        lambda c: c.update(configs=[]),
        lambda c: c["configs"][0].update(selection={"adapter": "nope"}),
        lambda c: c["configs"][0].update(selection={"module": "os"}),
        lambda c: c["configs"][0].update(selection="session"),
        lambda c: c["configs"][0].update(model=5),
        lambda c: c["configs"][0].update(effort="huge"),
        lambda c: c["configs"][0].update(max_workers="many"),
        lambda c: c["configs"][0].update(unknown=1),
        lambda c: c["configs"][0].update(tools=[0]),
        lambda c: c["configs"][0].update(tools=[10**9]),
        lambda c: c["configs"][0].update(approval="maybe"),
        lambda c: c["configs"][0].update(hooks={"pre_tool_use": {"module": "os", "name": "nope"}}),
        lambda c: c["configs"][0].update(hooks={"nope": {"module": "os.path", "name": "join"}}),
        lambda c: c["configs"][0].update(
            hooks={"pre_tool_use": {"module": "os", "name": "path.join"}}
        ),
        lambda c: c["configs"][0].update(
            hooks={"pre_tool_use": {"module": "builtins", "name": "dict"}}
        ),
        lambda c: c["configs"][0].update(hooks={"pre_tool_use": {"module": "", "name": "x"}}),
        lambda c: c["configs"][0].update(hooks={"pre_tool_use": {"module": ".x", "name": "x"}}),
        lambda c: c["configs"][0].update(
            hooks={"pre_tool_use": {"module": "no.such", "name": "x"}}
        ),
        lambda c: c["configs"][0].update(holes=[0]),
        lambda c: c.update(active=99),
        lambda c: c["definitions"][0].update(line=99),
        lambda c: c["definitions"][0].update(fragment=99),
        lambda c: c["definitions"][0].update(kind="module"),
        lambda c: c["definitions"][0].update(kind=["type"]),
        lambda c: c["definitions"].append(dict(c["definitions"][0])),
        lambda c: c["definitions"].reverse(),
        lambda c: [d.update(fields=[]) for d in c["definitions"] if d["kind"] == "type"],
        lambda c: [d["fields"].reverse() for d in c["definitions"] if d["kind"] == "type"],
        lambda c: [d["fields"][0].__setitem__(1, "os") for d in c["definitions"] if "fields" in d],
        lambda c: [
            d["fields"][0].__setitem__(1, {"type": 0}) for d in c["definitions"] if "fields" in d
        ],
        lambda c: [d.update(agent=99) for d in c["definitions"] if d["kind"] == "procedure"],
        lambda c: [d.update(returns={"or": []}) for d in c["definitions"] if "returns" in d],
        lambda c: [
            d.update(returns={"union": ["int", 5]}) for d in c["definitions"] if "returns" in d
        ],
        lambda c: [
            d.update(returns={"of": "int", "parts": ["int"]})
            for d in c["definitions"]
            if "returns" in d
        ],
        lambda c: [
            d.update(returns={"literal": [["@", 0]]}) for d in c["definitions"] if "returns" in d
        ],
        lambda c: [
            d.update(returns={"annotated": "int", "with": []})
            for d in c["definitions"]
            if "returns" in d
        ],
        lambda c: [
            d["parameters"].append(["y", "int"]) for d in c["definitions"] if d.get("parameters")
        ],
        lambda c: [
            d["parameters"][0].__setitem__(0, "y") for d in c["definitions"] if d.get("parameters")
        ],
        lambda c: c["fragments"][1].update(source="@f(x: int) -> int:\n  = `1`"),
        lambda c: c["fragments"][1].update(sha256="0" * 64),
        lambda c: c["fragments"][1].update(name=c["fragments"][0]["name"]),
        lambda c: c["fragments"][1].update(name=""),
        lambda c: c["fragments"][1].update(state="running"),
        lambda c: c["bindings"].append({"name": "x"}),
        lambda c: c["bindings"].append({"name": "not a name", "plain": 1}),
        lambda c: c["bindings"].append({"name": "node", "plain": 1}),
        lambda c: c["bindings"].append({"name": "x", "plain": 1, "type": "os"}),
        lambda c: c["bindings"].append({"name": "x", "plain": 1, "other": "int"}),
        lambda c: c["bindings"].append({"name": "x", "plain": "one", "type": "int"}),
        lambda c: c["bindings"].append({"name": "x", "plain": True, "type": "int"}),
        lambda c: c["bindings"].append({"name": "x", "plain": None, "type": "str"}),
        lambda c: c["bindings"].append({**_binding(c, "node"), "name": "x", "value": 5}),
        lambda c: c["bindings"].append({**_binding(c, "many"), "name": "x", "value": 5}),
        lambda c: c["env"].append({"name": "args", "plain": 1}),
        lambda c: c.update(args=[{"name": "a b", "plain": 1}]),
    ],
)
def test_edited_structure(
    change: Callable[[dict[str, Any]], None], snapshot: bytes, tmp_path: Path
) -> None:
    refuse(edited(snapshot, change), tmp_path)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    "tree",
    [
        ["("] * 1 + [["*", 0]],
        ["*", 0],
        ["*", -1],
        ["*", True],
        ["*"],
        ["#", 99],
        ["#", "0"],
        ["#", 0, 1],
        ["!", 0],
        ["@"],
        ["@", 99],
        ["@", 0],
        ["@", 0, 1, [], None, 2],
        ["@", 1, 1, 2],
        ["@?", 0, [0, 0], [], 1, 1],
        ["@?", 0, [9], [], 1],
        ["@?", 0, None, [9], 1, [], None],
        ["@?", 0, None, None, 1, [], None],
        ["[", 1],
        ["["],
        ["{", 1],
        ["{", 1, 2, 1, 3],
        ["{", [], 1],
        ["{", {}, 1],
        ["{", 1, 2, True, 3],
        ["<", 1, 1],
        ["<", []],
        ["<", {}],
        [">", ["<"]],
        ["<", 1, 1.0],
        [":int", "0"],
        [":int", "ff"],
        [":int", "FF" * 20],
        [":int", "1_0" * 20],
        [":int", 5],
        [":int"],
        [":float", "0000000000000000"],
        [":float", "nan"],
        [":float", "infinity"],
        [":str", "???"],
        [":str", _b64(b"\xff")],
        [":bytes", "a"],
        [":bytes", 1],
        [":bytes", "YQ==", 1],
        [":bytearray"],
        [":complex", 1, 2],
        [":decimal", "x"],
        [":decimal", 1.5],
        [":fraction", 1, 0],
        [":fraction", 2, 4],
        [":fraction", 1, -2],
        [":fraction", 1.0, 2],
        [":uuid", "x" * 32],
        [":uuid", "0" * 32, "maybe"],
        [":date", "2020-13-01"],
        [":date", 5],
        [":datetime", "2020-01-01T00:00:00+00:00"],
        [":datetime", "2020-01-01", "Nowhere/Nothing"],
        [":datetime", "2020-01-01", "../../etc/passwd"],
        [":datetime", "2020-01-01", "/etc/passwd"],
        [":datetime", "2020-01-01", "Europe"],
        [":datetime", "2020-01-01", "x" * 5000],
        [":datetime", "2020-01-01", [2, 0, 0]],
        [":datetime", "2020-01-01", [10**18, 0, 0]],
        [":datetime", "2020-01-01", None, 2],
        [":time", "25:00"],
        [":timedelta", 10**10, 0, 0],
        [":timedelta", 1.5, 0, 0],
        [":path", "Path", "x"],
        [":path", "os.system", "x"],
        [":path", "WindowsPath", "x"],
        [":path", "PosixPath", 5],
        [":pattern", "(", 32],
        [":pattern", "x", 32 | 128],
        [":pattern", "x", -1],
        [":pattern", "x", 32 | 256],
        [":pattern", "(" * 10_000, 32],
        [":pattern", 5, 0],
        [":range", 0, 1, 0],
        [":range", 0.0, 1, 1],
        [":deque", -1],
        [":deque", 1, 2, 3],
        [":deque", "1"],
        [":deque", 2**64 - 1],
        [":deque"],
        [":odict", 1],
        [":ddict"],
        [":ddict", "eval"],
        [":ddict", "__import__", 1, 2],
        [":ddict", ["list"]],
        [":counter", 1],
        [":floats", "AAAA"],
        [":dicts", []],
        [":dicts", ["a"]],
        [":dicts", ["a", "a"], [1], [2]],
        [":dicts", ["a", "b"], [1], [1, 2]],
        [":dicts", ["a"], 5],
        [":dicts", ["a"], ["("]],
        [":dicts", [1], [1]],
        [":tuples"],
        [":tuples", {}],
        [":lists", [1, 2], [1]],
        [":lists", [-1, 2], [1]],
        [":lists", [10**18], [1]],
        [":lists", [True], [1]],
        [":sets", [2], [1, 1]],
        [":sets", [1], [[]]],
        [":frozensets", [1], [{}]],
        [":instances", 0, [], [1]],
        [":instances", 1, [], [1], [2]],
        [":instances", 99, []],
        [":instances", 0, [0, 0], [1], [[]], [None]],
    ],
    ids=lambda tree: orjson.dumps(tree).decode()[:40],
)
def test_edited_values(tree: Any, snapshot: bytes, tmp_path: Path) -> None:
    message = refuse(
        edited(snapshot, lambda c: c["bindings"].append({"name": "x", "value": tree})), tmp_path
    )
    assert "malformed" in message
    refuse(
        edited(
            snapshot, lambda c: c["bindings"].append({"name": "x", "value": [tree, {"k": tree}]})
        ),
        tmp_path,
    )
    refuse(edited(snapshot, lambda c: c["cells"].append(tree)), tmp_path)


def test_cells_refer_to_earlier_ones_only(snapshot: bytes, tmp_path: Path) -> None:
    refuse(edited(snapshot, lambda c: c.update(cells=[["(", ["*", 0]]])), tmp_path)
    refuse(edited(snapshot, lambda c: c.update(cells=[["(", ["*", 1]], ["(", ["*", 0]]])), tmp_path)


def test_keys_made_to_collide(snapshot: bytes, tmp_path: Path) -> None:
    prime = 2**61 - 1
    same = [[":int", f"{prime * (2**70 + index):x}"] for index in range(20_000)]
    for tree in (["<", *same], ["{", *(part for key in same for part in (key, 0))]):
        binding = {"name": "x", "value": tree}
        data = edited(snapshot, lambda c, binding=binding: c["bindings"].append(binding))
        assert "same hash" in refuse(data, tmp_path)


def test_a_huge_number_takes_no_quadratic_time(
    snapshot: bytes, load: Callable[[bytes], Any]
) -> None:
    digits = "f" * 4_000_000
    tree = [[":int", digits], [":fraction", [":int", digits], [":int", digits + "1"]]]
    data = edited(snapshot, lambda c: c["bindings"].append({"name": "x", "value": tree}))
    with load(data) as session:
        assert session.evaluate("`x[0].bit_length()`") == 16_000_000


def test_sources_that_no_longer_compile(snapshot: bytes, tmp_path: Path) -> None:
    for source in (
        "@f(x: Node, n: int = `3`) -> list[Node]:\n  = `[x] *`",
        "@f(x: Node, n: int = `3`) -> list[Node]:\n  ```\n  break\n  ```",
        "@f(x: Node, n: int = `3`) -> list[Node]:",
        "@f(",
        "",
        "~f(x: Node, n: int = `3`)",
        "[f] = 1",
    ):

        def change(content: dict[str, Any], source: str = source) -> None:
            content["fragments"][1]["source"] = source
            content["fragments"][1]["sha256"] = snapshot_file.source_digest(source)

        refuse(edited(snapshot, change), tmp_path)


def test_no_class_function_or_module_can_be_named(snapshot: bytes, tmp_path: Path) -> None:
    """Every string of the document is replaced by the name of something dangerous, one by one."""
    marker = tmp_path / "marker"
    evil = f"__import__('os').system('touch {marker}')"
    document = orjson.loads(snapshot)
    places: list[tuple[Any, Any]] = []

    def walk(tree: Any) -> None:
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, item in list(items):
            if isinstance(item, str):
                places.append((tree, key))
            elif isinstance(item, dict | list):
                walk(item)

    walk(document["content"])
    path = tmp_path / "evil"
    for tree, key in places:
        old = tree[key]
        for new in (evil, "os.system", "builtins.eval"):
            tree[key] = new
            path.write_bytes(reseal(document))
            try:
                kedi.load_session(path).close()
            except SessionLoadError:
                pass
        tree[key] = old
    assert len(places) > 50
    assert not marker.exists()


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["(", "{", "<", "@", "#", "*", "!", ":int", ":dicts", "int", "session"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items: Any = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, item in items:
        found += _paths(item, (*path, key))
    return found


@settings(
    max_examples=400,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_any_part_replaced_by_anything(
    snapshot: bytes, tmp_path: Path, data: st.DataObject
) -> None:
    document = orjson.loads(snapshot)
    content = document["content"]
    for _ in range(data.draw(st.integers(1, 3))):
        places = _paths(content)
        path = data.draw(st.sampled_from(places))
        parent: Any = content
        for key in path[:-1]:
            parent = parent[key]
        action = data.draw(st.sampled_from(["replace", "remove", "copy"]))
        if action == "replace":
            parent[path[-1]] = data.draw(_json)
        elif action == "remove":
            del parent[path[-1]]
        else:
            source: Any = content
            for key in data.draw(st.sampled_from(places)):
                try:
                    source = source[key]
                except (LookupError, TypeError):
                    break
            parent[path[-1]] = copy.deepcopy(source)
        if not content:
            break
    try:
        encoded = reseal(document)
    except TypeError:  # nested beyond what this writer can write
        return
    file = tmp_path / "fuzzed"
    file.write_bytes(encoded)
    try:
        session = kedi.load_session(file)
    except SessionLoadError:
        return
    # Some edits are harmless: what loads must be a whole session.
    with session:
        session.execute("= `1`")
        session.bindings()
