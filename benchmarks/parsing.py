"""Parsing: full parse, one keystroke, one small fragment, each against its peer.

Peers run in the same process, in turns with ours: ``ast.parse`` of Python of
equal length, and tree-sitter-python parsing the same Python again after the
same keystroke. Medians of 15 rounds of process CPU time. Garbage collection is
on for both sides unless the row says otherwise. Lines are distinct, and the
memories of lines and of Python pieces are emptied before every full parse.

Run: ``python benchmarks/parsing.py``.
"""

from __future__ import annotations

import ast
import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.harness import Row, print_rows
from kedi.syntax import embedded, statements
from kedi.syntax.parser import parse

ROUNDS = 15


def kedi_source(lines: int) -> str:
    """A program of ``lines`` lines: procedures, types, templates, control flow, fences."""
    out: list[str] = []
    unit = 0
    while len(out) < lines:
        n = unit = unit + 1
        out += [
            f"# Step {n}: look at one ticket.",
            f"~Ticket{n}(id: int, title: str, tags: list[str] = `[]`)",
            "",
            f'@handle_{n}(ticket: Ticket{n}, limit: int = `{n}`) -> dict[str, int]:',
            "  ###",
            f"  Handle ticket number {n}.",
            "  ###",
            f"  [seen_{n}: int] = `len(ticket.tags) + {n}`",
            f"  [note_{n}] = Ticket {n} of <ticket> has `limit + {n}` left",
            f"  >> Summarise <note_{n}> as [summary_{n}] with",
            f"  a score [score_{n}: int] for step {n}.",
            f"  > if: `score_{n} > limit + {n}`:",
            f"    [seen_{n}] := `seen_{n} + {n} * 2`",
            "  > else:",
            f"    [extra_{n}] = <describe_{n}(<summary_{n}>, `seen_{n}`, step {n})>",
            "  ```",
            f"  total_{n} = sum(x * {n} for x in range(limit))",
            f"  if total_{n} > {n}:",
            f"      seen_{n} = total_{n} - {n}",
            "  ```",
            f"  = `{{'n': seen_{n}, 'm': {n}}}`",
            "",
            f"[result_{n}] = <handle_{n}(<ticket_{n}>, `{n} + 1`)>",
            f"> show: step {n} gave <result_{n}>",
            "",
        ]  # fmt: skip
    return "\n".join(out[:lines]) + "\n"


def python_source(lines: int) -> str:
    """The same work as Python, as many lines long."""
    out: list[str] = []
    unit = 0
    while len(out) < lines:
        n = unit = unit + 1
        out += [
            f"# Step {n}: look at one ticket.",
            f"class Ticket{n}(BaseModel):",
            "    id: int",
            "    title: str",
            "    tags: list[str] = []",
            "",
            f"def handle_{n}(ticket: Ticket{n}, limit: int = {n}) -> dict[str, int]:",
            f'    """Handle ticket number {n}."""',
            f"    seen_{n}: int = len(ticket.tags) + {n}",
            f'    note_{n} = f"Ticket {n} of {{ticket}} has {{limit + {n}}} left"',
            f'    summary_{n}, score_{n} = ask(f"Summarise {{note_{n}}} as [summary_{n}] with "',
            f'        "a score [score_{n}] for step {n}.", summary_{n}=str, score_{n}=int)',
            f"    if score_{n} > limit + {n}:",
            f"        seen_{n} = seen_{n} + {n} * 2",
            "    else:",
            f"        extra_{n} = describe_{n}(summary_{n}, seen_{n}, 'step {n}')",
            f"    total_{n} = sum(x * {n} for x in range(limit))",
            f"    if total_{n} > {n}:",
            f"        seen_{n} = total_{n} - {n}",
            f"    return {{'n': seen_{n}, 'm': {n}}}",
            "",
            f"result_{n} = handle_{n}(ticket_{n}, {n} + 1)",
            f'print(f"step {n} gave {{result_{n}}}")',
            "",
            "",
        ]  # fmt: skip
    kept = out[:lines]
    while True:
        text = "\n".join(kept) + "\n"
        try:
            ast.parse(text)
        except SyntaxError:
            # The cut fell into a block: end before it and fill with comments.
            kept = kept[:-1]
            continue
        return text + "# end\n" * (lines - len(kept))


def forget() -> None:
    """Empty every memory of the parser."""
    statements.forget_lines()
    embedded.forget_pieces()


def in_turns(*tasks: Callable[[], float]) -> list[float]:
    """Median seconds of each task, which measures itself; the tasks take turns."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(ROUNDS):
        for index, task in enumerate(tasks):
            times[index].append(task())
    return [statistics.median(item) for item in times]


def timed(call: Callable[[], Any], before: Callable[[], Any] | None = None) -> Callable[[], float]:
    """A task that runs ``before`` unmeasured, then measures ``call`` in CPU seconds."""

    def task() -> float:
        if before is not None:
            before()
        gc.collect()
        start = time.process_time_ns()
        result = call()
        taken = time.process_time_ns() - start
        del result
        return taken / 1e9

    return task


def full_rows(lines: int) -> list[Row]:
    """A full parse with the collector on, then off."""
    kedi, python = kedi_source(lines), python_source(lines)
    assert parse(kedi).status == "complete"
    rows: list[Row] = []
    for state in ("on", "off"):
        if state == "off":
            gc.disable()
        ours, peer = in_turns(timed(lambda: parse(kedi), forget), timed(lambda: ast.parse(python)))
        gc.enable()
        rows.append(
            Row(f"full parse, {lines:,} lines", ours, peer, "ast.parse", 3.0, note=f"gc {state}")
        )
    return rows


def keystroke_rows(lines: int, full: float, goal: float) -> list[Row]:
    """One character typed in the middle, each time another one."""
    import tree_sitter_python
    from tree_sitter import Language, Parser

    kedi, python = kedi_source(lines), python_source(lines)
    at = kedi.index(" has `limit", len(kedi) // 2)
    base = parse(kedi).program
    numbers = iter(range(10**6))
    text = kedi

    def type_one() -> None:
        nonlocal text
        text = f"{kedi[:at]}{next(numbers)}{kedi[at:]}"

    parser = Parser(Language(tree_sitter_python.language()))
    old = python.encode()
    spot = old.index(b" has {limit", len(old) // 2)
    new = old[:spot] + b"x" + old[spot:]
    row = old.count(b"\n", 0, spot)
    column = spot - old.rfind(b"\n", 0, spot) - 1
    tree: Any = None

    def fresh_tree() -> None:
        nonlocal tree
        tree = parser.parse(old)

    def peer_edit() -> Any:
        tree.edit(
            start_byte=spot,
            old_end_byte=spot,
            new_end_byte=spot + 1,
            start_point=(row, column),
            old_end_point=(row, column),
            new_end_point=(row, column + 1),
        )
        return parser.parse(new, tree)

    ours, peer = in_turns(
        timed(lambda: parse(text, previous=base), type_one), timed(peer_edit, fresh_tree)
    )
    what = f"one keystroke, {lines:,} lines"
    return [
        Row(what, ours, peer, "tree-sitter-python, incremental", goal),
        Row(what, ours, full, "own full parse", 1 / 15),
    ]


def fragment_row() -> Row:
    """A fragment of one statement whose text is new each time."""
    numbers = iter(range(10**7))
    count = 2000

    def ours() -> None:
        for _ in range(count):
            parse(f"= `i + {next(numbers)}`", "<interactive:1>", mode="fragment")

    def peer() -> None:
        for _ in range(count):
            ast.parse(f"i + {next(numbers)}")

    mine, theirs = in_turns(timed(ours), timed(peer))
    return Row("new fragment = `i + N`", mine / count, theirs / count, "ast.parse of i + N", None)


def rows() -> list[Row]:
    """All rows of this benchmark."""
    small, large = full_rows(1_000), full_rows(10_000)
    return [
        *small,
        *large,
        *keystroke_rows(1_000, small[0].ours, 2.0),
        *keystroke_rows(10_000, large[0].ours, 1.0),
        fragment_row(),
    ]


if __name__ == "__main__":
    print_rows(rows())
