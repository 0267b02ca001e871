"""What a typed binding of a snapshot may hold, seen from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest

import kedi
from kedi.session.snapshots.plausible import plausible


class Row(TypedDict):
    a: int


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (int, [1, 2**70], ["1", True, 1.0, None]),
        (float, [1.5, 1], ["1", True]),
        (str, ["", "a"], [1, b"a", None]),
        (None, [None], [0, ""]),
        (list[int], [[], [1], ["changed inside"]], [(), "a", {}]),
        (Sequence[int], [[1], (1,)], [5, {1}]),
        (Mapping[str, int], [{}], [[]]),
        (int | None, [1, None], ["", 1.5]),
        (Literal["a", 1], ["a", 1], ["b", True, 1.0]),
        (Annotated[int, "x"], [1], ["x"]),
        (tuple[int, ...], [(1,)], [[1]]),
        (Any, [1, None, "x"], []),
        (object, [1, None], []),
        (Row, [{"a": 1}], []),
    ],
)
def test_kinds(kind: Any, good: list[Any], bad: list[Any]) -> None:
    assert all(plausible(kind, value) for value in good)
    assert not any(plausible(kind, value) for value in bad)


def test_what_a_program_changed_inside_a_typed_value_still_loads(tmp_path: Path) -> None:
    path = tmp_path / "s.kedi-state"
    with kedi.interactive() as session:
        session.execute("[xs: list[int]] = `[1]`\n`xs.append('two')`")
        session.dump(path)
    with kedi.load_session(path) as restored:
        assert restored.execute("= `xs`") == [1, "two"]
