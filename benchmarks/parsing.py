"""Parsing: full parse, one keystroke, one small fragment, each against its peer.

Peers run in the same process, in turns with ours: ``ast.parse`` of Python of
equal length, and tree-sitter-python parsing the same Python again after the
same keystroke. Medians of 15 rounds of process CPU time. Garbage collection is
on for both sides unless the row says otherwise. Lines are distinct, and the
memories of lines and of Python pieces are emptied before every full parse.

Run: ``python benchmarks/parsing.py [--json]``.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

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
    """Median seconds of each task; the tasks take turns."""
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


def full_rows(lines: int, rows: list[dict[str, Any]]) -> float:
    kedi, python = kedi_source(lines), python_source(lines)
    assert parse(kedi).status == "complete"
    ours_with = theirs_with = 0.0
    for collecting in (True, False):
        (gc.enable if collecting else gc.disable)()
        ours, theirs = in_turns(
            timed(lambda: parse(kedi), forget), timed(lambda: ast.parse(python))
        )
        gc.enable()
        if collecting:
            ours_with, theirs_with = ours, theirs
        rows.append(
            {
                "what": f"full parse, {lines:,} lines, gc {'on' if collecting else 'off'}",
                "ours_ms": ours * 1e3,
                "peer": "ast.parse",
                "peer_ms": theirs * 1e3,
                "ratio": ours / theirs,
                "goal": 3.0,
            }
        )
    del theirs_with
    return ours_with


def keystroke_rows(lines: int, full: float, goal: float, rows: list[dict[str, Any]]) -> None:
    import tree_sitter_python
    from tree_sitter import Language, Parser

    kedi, python = kedi_source(lines), python_source(lines)
    at = kedi.index(" has `limit", len(kedi) // 2)
    edited = kedi[:at] + "x" + kedi[at:]
    base = parse(kedi).program
    variants = iter(range(10**6))

    def fresh() -> str:
        return f"{kedi[:at]}{next(variants)}{kedi[at:]}"

    text = edited

    def prepare() -> None:
        nonlocal text
        text = fresh()

    ours_task = timed(lambda: parse(text, previous=base), prepare)
    parser = Parser(Language(tree_sitter_python.language()))
    old_bytes = python.encode()
    spot = old_bytes.index(b" has {limit", len(old_bytes) // 2)
    new_bytes = old_bytes[:spot] + b"x" + old_bytes[spot:]
    row = old_bytes.count(b"\n", 0, spot)
    column = spot - old_bytes.rfind(b"\n", 0, spot) - 1
    tree: Any = None

    def prepare_peer() -> None:
        nonlocal tree
        tree = parser.parse(old_bytes)

    def peer() -> Any:
        tree.edit(
            start_byte=spot,
            old_end_byte=spot,
            new_end_byte=spot + 1,
            start_point=(row, column),
            old_end_point=(row, column),
            new_end_point=(row, column + 1),
        )
        return parser.parse(new_bytes, tree)

    ours, theirs = in_turns(ours_task, timed(peer, prepare_peer))
    rows.append(
        {
            "what": f"one keystroke, {lines:,} lines, gc on",
            "ours_ms": ours * 1e3,
            "peer": "tree-sitter-python, incremental",
            "peer_ms": theirs * 1e3,
            "ratio": ours / theirs,
            "goal": goal,
        }
    )
    rows.append(
        {
            "what": f"one keystroke against own full parse, {lines:,} lines",
            "ours_ms": ours * 1e3,
            "peer": "own full parse",
            "peer_ms": full * 1e3,
            "ratio": ours / full,
            "goal": 1 / 15,
        }
    )


def fragment_rows(rows: list[dict[str, Any]]) -> None:
    numbers = iter(range(10**7))

    def many(count: int = 2000) -> Any:
        for _ in range(count):
            parse(f"= `i + {next(numbers)}`", "<interactive:1>", mode="fragment")

    def peers(count: int = 2000) -> Any:
        for _ in range(count):
            ast.parse(f"i + {next(numbers)}")

    ours, theirs = in_turns(timed(many), timed(peers))
    rows.append(
        {
            "what": "new fragment = `i + N`, each (in µs)",
            "ours_ms": ours / 2000 * 1e6,
            "peer": "ast.parse of its Python",
            "peer_ms": theirs / 2000 * 1e6,
            "ratio": ours / theirs,
            "goal": None,
        }
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true", help="print the rows as JSON")
    arguments = options.parse_args()
    rows: list[dict[str, Any]] = []
    small = full_rows(1_000, rows)
    large = full_rows(10_000, rows)
    keystroke_rows(1_000, small, 2.0, rows)
    keystroke_rows(10_000, large, 1.0, rows)
    fragment_rows(rows)
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        goal = "" if row["goal"] is None else f"  goal <= {row['goal']:.3g}"
        print(
            f"{row['what']:58} {row['ours_ms']:9.3f}   {row['peer']:32} {row['peer_ms']:9.3f}"
            f"   ratio {row['ratio']:6.3f}{goal}"
        )


if __name__ == "__main__":
    main()
