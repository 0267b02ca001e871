"""One stored name and many: the short way and the long way to write back do the same."""

from __future__ import annotations

from typing import Any

import pytest

import kedi
from kedi.errors import KediError, KediExecutionError, KediTypeExecutionError

#: Statements that store ``n`` alone; with a second stored name they take the long way.
STORES = [
    "n = 5",
    "n += 1",
    "n = 'x'",
    "n: int = 5",
    "del n",
    "for n in range(3): pass",
    "for n in []: pass",
    "import os as n",
    "def n(): pass",
    "class n: pass",
    "(n := 5)",
    "[n := x for x in range(4)]",
    "if True: n = 7",
    "if False: n = 7",
    "n = 5; raise KeyError('k')",
    "n = 'x'; raise KeyError('k')",
    "try: 1 / 0\nexcept ZeroDivisionError as n: pass",
    "with open('/dev/null') as n: pass",
    "n, = [5]",
    "n = n",
]
INDENTED = ["", "> if: `True`:\n  ", "> loop [i]: `[1, 2]`:\n  "]


def outcome(source: str, declared: str, parallel: bool) -> tuple[Any, ...]:
    with kedi.interactive(parallel=parallel) as session:
        session.execute(f"[m] = `0`\n{declared}")
        raised = None
        try:
            session.execute(source)
        except KediError as error:
            raised = type(error)
        try:
            value = session.execute("= `n`")
            if not isinstance(value, (int, str)):
                value = type(value)
        except KediError as error:
            value = type(error)
        return raised, value


@pytest.mark.parametrize("declared", ["[n: int] = `1`", "[n] = `1`", "[n] = text", "[q] = q"])
@pytest.mark.parametrize("store", STORES)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_both_ways_are_equal(store: str, declared: str) -> None:
    for head in INDENTED:
        indent = "  " if head else ""
        short = "\n".join(f"{indent}{line}" for line in ["```", *store.split("\n"), "```"])
        long = "\n".join(f"{indent}{line}" for line in ["```", "m = 1", *store.split("\n"), "```"])
        body = head.rstrip(" ")
        one = outcome(f"[q] = q\n{body}{short}", declared, parallel=False)
        two = outcome(f"[q] = q\n{body}{long}", declared, parallel=False)
        assert one == two
        assert one == outcome(f"[q] = q\n{body}{short}", declared, parallel=True)


def test_the_same_under_an_observer() -> None:
    from kedi.debugging import Observer

    seen: list[tuple[str, Any, Any]] = []

    class Watch(Observer):
        def binding_written(self, frame: Any, scope: Any, name: str, old: Any, new: Any) -> None:
            seen.append((name, old, new))

    with kedi.interactive() as session:
        session.execute("[n: int] = `1`")
        session.observe(Watch())
        session.execute("`n += 1`")
        session.execute("> if: `True`:\n  `n += 1`")
        with pytest.raises(KediTypeExecutionError):
            session.execute("`n = 'x'`")
        assert session.execute("= `n`") == 3
    assert seen == [("n", 1, 2), ("n", 2, 3)]


def test_a_name_stored_both_ways_is_validated() -> None:
    with kedi.interactive() as session:
        session.execute("[n: int] = `1`")
        with pytest.raises(KediTypeExecutionError):
            session.execute("[q] = q\n```\ndef f():\n    global n\n    n = 2\nf()\nn = 'x'\n```")
        assert session.execute("= `n`") == 1
        with pytest.raises(KediExecutionError):
            session.execute("[q] = q\n```\ndef f():\n    global n\n    import os as n\nf()\n```")
        assert session.execute("= `n`") == 1


@pytest.mark.parametrize("bad", ["'bad'", "10**10000 + 0.5j if 0 else [10**10000]", "None"])
@pytest.mark.parametrize("more", ["", "other = 2\n"])
def test_a_refused_value_does_not_hide_the_failure(bad: str, more: str) -> None:
    with kedi.interactive() as session:
        session.execute("[n: int] = `1`\n[other: int] = `1`")
        fence = f"```\nn = {bad}\n{more}raise OSError('real cause')\n```"
        with pytest.raises(KediExecutionError) as caught:
            session.execute(f"[first] = x\n{fence}")
        assert isinstance(caught.value.original, OSError)
        assert caught.value.message == "real cause"
        (note,) = caught.value.__notes__
        assert note.startswith("also, what the block assigned was not kept: `n` expects int, got ")
        assert session.execute("= `(n, other)`") == (1, 1)
