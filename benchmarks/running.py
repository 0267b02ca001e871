"""Running: tiny fragments, their growth, expressions among many bindings, statement dispatch.

Medians of process CPU time, in turns with the peers, garbage collection on.

Run: ``python benchmarks/running.py``.
"""

from __future__ import annotations

import code
import contextlib
import gc
import io
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kedi
from benchmarks.harness import Row, in_turns, print_rows
from kedi.lang import compile_program, parse_program

FRAGMENTS = 200
GROWTH = 20_000


class _Counter:
    """Numbers never seen before, so that no text repeats."""

    def __init__(self) -> None:
        self.value = 0

    def take(self, count: int) -> range:
        start, self.value = self.value, self.value + count
        return range(start, self.value)


def fragments() -> list[Row]:
    """One new one-expression fragment, from text to value."""
    session = kedi.interactive()
    session.execute("[i: int] = `1`")
    numbers = _Counter()

    def ours() -> None:
        for number in numbers.take(FRAGMENTS):
            session.execute(f"= `i + {number}`")

    shell = _ipython()
    shell.run_cell("i = 1", silent=True)

    def ipython() -> None:
        for number in numbers.take(FRAGMENTS):
            shell.run_cell(f"i + {number}", silent=True)

    interpreter = code.InteractiveInterpreter({"i": 1})

    def runsource() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            for number in numbers.take(FRAGMENTS):
                interpreter.runsource(f"i + {number}")

    names: dict[str, Any] = {"i": 1}

    def bare() -> None:
        for number in numbers.take(FRAGMENTS):
            exec(compile(f"i + {number}", "<cell>", "exec"), names)

    times = [t / FRAGMENTS for t in in_turns([ours, ipython, runsource, bare])]
    session.close()
    what = "tiny fragment, end to end"
    return [
        Row(what, times[0], times[1], "IPython run_cell", 0.5),
        Row(what, times[0], times[2], "runsource", 2.0, note="stretch goal"),
        Row(what, times[0], times[3], "exec(compile)", None),
    ]


def _ipython() -> Any:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    return InteractiveShell.instance(config=config)


def growth() -> list[Row]:
    """Time and memory per fragment over 20,000 of them: last quarter against an earlier one.

    Memory is what Python has allocated and not freed (``tracemalloc``), in a pass of its own.
    """
    quarter = GROWTH // 4
    spent: list[float] = []
    with kedi.interactive() as session:
        session.execute("[i: int] = `1`")
        for part in range(4):
            samples: list[float] = []
            gc.collect()
            for number in range(part * quarter, (part + 1) * quarter):
                text = f"= `i + {number}`"
                begin = time.process_time()
                session.execute(text)
                samples.append(time.process_time() - begin)
            spent.append(statistics.median(samples))
    grown: list[float] = []
    with kedi.interactive() as session:
        session.execute("[i: int] = `1`")
        tracemalloc.start()
        for part in range(4):
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for number in range(part * quarter, (part + 1) * quarter):
                session.execute(f"= `i + {number}`")
            gc.collect()
            grown.append((tracemalloc.get_traced_memory()[0] - before) / quarter)
        tracemalloc.stop()
    return [
        Row(f"fragment {GROWTH:,}: time, last quarter", spent[3], spent[0], "first quarter", 1.10),
        Row(
            f"fragment {GROWTH:,}: memory, last quarter",
            grown[3],
            grown[0],
            "first quarter",
            1.10,
            unit="B",
        ),
    ]


def _repeated(statement: str, setup: str, outer: int = 50, inner: int = 100) -> Callable[[], None]:
    body = "\n".join(f"  {statement}" for _ in range(inner))
    text = f"{setup}\n> loop [k]: `range({outer})`:\n{body}\n"
    runtime = compile_program(parse_program(text))
    return lambda: runtime.run_main()


def expressions() -> list[Row]:
    """One inline expression with 10 and with 10,000 bindings in scope, and Python's ``eval``."""
    count = 5_000

    def setup(bindings: int) -> str:
        return "\n".join(f"[n{index}: int] = `{index}`" for index in range(bindings))

    few = _repeated("`n1 + n2`", setup(10))
    many = _repeated("`n1 + n2`", setup(10_000))
    few_empty = _repeated("[t] = x", setup(10))
    many_empty = _repeated("[t] = x", setup(10_000))
    compiled = compile("n1 + n2", "<expression>", "eval")
    names = {f"n{index}": index for index in range(10_000)}

    def python() -> None:
        for _ in range(count):
            eval(compiled, names)

    times = in_turns([few, many, few_empty, many_empty, python])
    # The set-up of 10,000 bindings is in every run: what a bare statement costs more is not.
    ours_few = (times[0] - times[2]) / count + _dispatch_floor
    ours_many = (times[1] - times[3]) / count + _dispatch_floor
    return [
        Row("expression among 10,000 bindings", ours_many, ours_few, "among 10", 3.0),
        Row("expression among 10,000 bindings", ours_many, times[4] / count, "eval(code)", 5.0),
    ]


_dispatch_floor = 0.0


def dispatch() -> list[Row]:
    """A cheap statement, dispatched, run and bound."""
    global _dispatch_floor
    rows: list[Row] = []
    count = 5_000
    text = _repeated("[a] = text", "[i: int] = `1`")
    number = _repeated("`i`", "[i: int] = `1`")
    assign = _repeated("[i] := `i + 1`", "[i: int] = `1`")
    names: dict[str, Any] = {}
    compiled = compile("for k in range(50):\n" + "    a = 'text'\n" * 100, "<x>", "exec")

    def python() -> None:
        exec(compiled, names)

    times = [t / count for t in in_turns([text, number, assign, python])]
    _dispatch_floor = times[0]
    budget = 250e-9
    rows.append(Row("statement `[a] = text`", times[0], budget, "budget", 1.0))
    rows.append(Row("statement `[a] = text`", times[0], times[3], "plain Python", None))
    rows.append(Row("statement with an expression", times[1], budget, "budget", None))
    rows.append(Row("statement `[i] := expression`", times[2], budget, "budget", None))
    return rows


def rows() -> list[Row]:
    """Every row of this file."""
    return [*dispatch(), *expressions(), *fragments(), *growth()]


if __name__ == "__main__":
    print_rows(rows())
