"""What all benchmarks share: rounds in turn, medians, and one table of ratios."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

ROUNDS = 11


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: ``ours`` and ``peer`` in seconds (or ``unit``); a bound of their ratio."""

    what: str
    ours: float
    peer: float
    peer_name: str
    goal: float | None
    unit: str = "s"
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ours by theirs."""
        return self.ours / self.peer

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; ``None`` without a goal."""
        return None if self.goal is None else self.ratio <= self.goal

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "ratio": self.ratio, "met": self.met}


def in_turns(
    tasks: Sequence[Callable[[], object]],
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.process_time,
    collect: bool = True,
) -> list[float]:
    """Median seconds of each task, measured round-robin so that drift hits all alike.

    The first round warms up and is dropped. With ``collect`` garbage is
    collected before each measurement; the collector itself stays on.
    """
    samples: list[list[float]] = [[] for _ in tasks]
    for number in range(rounds + 1):
        for index, task in enumerate(tasks):
            if collect:
                gc.collect()
            begin = clock()
            task()
            spent = clock() - begin
            if number:
                samples[index].append(spent)
    return [statistics.median(item) for item in samples]


def show(value: float, unit: str) -> str:
    """A readable number."""
    if unit != "s":
        return f"{value:,.1f} {unit}"
    for scale, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:.2f} {name}"
    return f"{value * 1e9:.0f} ns"


def print_rows(rows: Sequence[Row]) -> None:
    """The table."""
    width = max((len(row.what) for row in rows), default=0)
    for row in rows:
        verdict = "" if row.met is None else "ok" if row.met else "MISSED"
        goal = "" if row.goal is None else f"goal {row.goal:.4g}"
        print(
            f"{row.what:<{width}}  {show(row.ours, row.unit):>10}  "
            f"{row.ratio:7.2f} x  {row.peer_name} {show(row.peer, row.unit)}  {goal}  {verdict}"
            f"{'  (' + row.note + ')' if row.note else ''}"
        )
