"""Long sessions: fragments stay cheap, and numbers, names and traces right."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from kedi import InteractiveSession
from kedi.errors import KediExecutionError, KediParseError


def test_two_thousand_fragments(session: InteractiveSession) -> None:
    session.execute("[n: int] = `0`\n@next(v: int) -> int:\n  = `v + 1`")
    for index in range(2_000):
        match index % 5:
            case 0:
                session.execute("`n += 1`")
            case 1:
                session.execute(f"[v{index}: int] = `n`")
            case 2:
                session.execute(f"@f{index}() -> int:\n  = `next(v{index - 1})`")
            case 3:
                assert session.execute(f"= `f{index - 1}()`") == index // 5 + 2
            case _:
                with pytest.raises((KediExecutionError, KediParseError)):
                    session.execute("`1 / 0`" if index % 2 else "= `1 +`")
    assert session.execute("= `n`") == 400
    assert session.execute("= `f2()`") == 2
    numbers = [one.number for one in session.fragments]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len({one.name for one in session.fragments}) == len(numbers)
    with pytest.raises(KediExecutionError) as caught:
        session.execute("= `1 / 0`")
    assert caught.value.frames[0].span.source_name == f"<interactive:{len(numbers) + 1}>"


def test_memory_per_trivial_fragment_is_bounded(session: InteractiveSession) -> None:
    session.execute("[n: int] = `0`")

    def run(count: int) -> int:
        for _ in range(count):
            session.execute("`n += 1`")
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        run(200)
        first = run(500)
        second = run(500)
        third = run(500)
    finally:
        tracemalloc.stop()
    # A fragment keeps its source and its name, and not its program.
    assert third - second <= 1.2 * (second - first) + 50_000
    assert (third - first) / 1_000 < 8_000


def test_evaluations_leave_nothing(session: InteractiveSession) -> None:
    import linecache

    session.execute("[n: int] = `0`")
    before = len(linecache.cache)
    for _ in range(300):
        session.evaluate("`n + 1`")
        session.check("= `n`")
        session.complete("= `n.")
    assert len(linecache.cache) == before
    assert len(session.fragments) == 1
