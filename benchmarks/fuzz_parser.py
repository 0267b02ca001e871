"""Fuzz the parser with mutated programs.

Each round mutates a program of the corpus and checks that

* nothing is raised, and no parse takes longer than ``--limit`` seconds;
* every statement and every diagnostic lies inside the text, chunks tile it;
* parsing again after the edit gives what a full parse gives, positions included;
* a complete program prints, and the print parses to an equal program and prints alike.

Run: ``python benchmarks/fuzz_parser.py [--count 100000] [--seed 1]``. A failure
prints the seed of its round, the source and the reason, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kedi.syntax import ast
from kedi.syntax.ast import ParseResult, Program, Stmt
from kedi.syntax.parser import parse
from kedi.syntax.printer import print_program

SEEDS = [
    r"""[base: int] = `40`
@add_two() -> int:
    = `base + 2`
= `add_two()`
""",
    r"""```
import math
def area(r):
    return math.pi * r
```

[x] = hello <name>  # note
= <x>
""",
    r""">> The capital of <country> is [capital] with
[population: int] people.
# aside
- and [more: list[str]]

>> Next [y]
""",
    r"""@f(a: int, b: dict[str, list[int]] = `{}`) -> Literal["a]", 'b)']:
  ###
  Say it.

    More.
  ###
  > if: `a > 1`:
    = `a`
  > else:
    > loop [x]: `range(3)`:
      [z] := `x`
    > map:
      `print(z)`
  = <g(<h(a\, b, `c`)>, <d>)>
""",
    r"""~Owner(
  name: Annotated[str, "Human, name"],  # who
  age: int,
)
~T(a: int, b: str = `'x'`)
""",
    r"""> import: lib/helpers
> import: other:
  one
  two
> export:
  f
  x
""",
    r"""> package: demo:
  version: 1.0
  source: src/demo
  python_dependencies:
    httpx[http2]>=0.27; python_version >= "3.11"
    pydantic>=2  # core
""",
    r"""> profile: fast:
  ###
  Quick.
  ###
  > model: groq:qwen
  > effort: low
  > settings:
    temperature: 0.2
    stop_sequences: `["END"]`
  > system:
    Be short for <audience>.

    Be kind.
  > use:
    search
    `fetch`
  > output: list[Ticket]
  > subagent: other
""",
    r"""@test: f:
  > case: one:
    `assert f() == 1`
  > case: two:
    ```
    x = f()
    assert x
    ```
@eval: f:
  > data: rows:
    = ```
    return [1, 2]
    ```
  > metric: exact(rows):
    = `f(rows) == 1`
""",
    r"""@p(text: str) -> str:
  > tool:
    name: p
    risk: read_only
  > optimize: span:
    Classify <text> as [label].
    >> with care
  = <label>
@q():
  > auto:
    Do what <x> says.
""",
    r"""[n: int] = ```
return sum(
    range(3))
```
[answer] << Say <`1 + 1`> things.
> show: `len(
  'abc')`
= Hello <name>, \
  the rest \
  is here.
""",
    """> loop: `left > 0`:
\t[left] := `left - 1`
> if: <city> has many people
\t= \\s\\tx\\n ~~ ~ \\~ \\< \\# \\\\ end
""",
    r"""###
A comment
###

# one
= İstanbul 🐈 — `len('é')`
""",
    r"""@outer(x):
  @inner() -> `int`:
    = ```
    y = 1
    return y
    ```
  >> a [b]
  c <x>
  = <inner()>
""",
]

PIECES = [
    "`", "```", "###", "#", "\\", "\n", "\n\n", "  ", "\t", "[", "]", "<", ">", "(", ")", ",",
    ":", "=", ":=", "<<", ">>", "@", "~", "~~", "[x]", "[y: int]", "<x>", "<f(a, b)>",
    "`1 +`", "`f(`", "> if:", "> else:", "> map:", "> loop [i]: `r`:", "> loop: `c`:",
    "@f():", "= ", "= ```\n", "```\n", ">> ", "\r\n", "\r", "\x00", "\ufeff", "\x0c",
    "\u2028", "\xa0", "é", "🐈", "\ud800", "args", "> export: *", "@test: f:", "[args] = 1",
    "    ", "> settings:\n  ", "temperature: 1", "\\n", "\\q", '"', "'", '"""', "{", "}",
    "lambda: ", "yield", "return 1", "<`x`>", "<``>", "-> ", "*", ";", "> system:\n  ",
    "###\n", "\\\n", "[a: dict[str, list[int]]] = ",
]  # fmt: skip


def mutate(text: str, random_: random.Random) -> str:
    """One random edit of ``text``."""
    size = len(text)
    at = random_.randint(0, size)
    match random_.randrange(8):
        case 0:
            return text[:at] + random_.choice(PIECES) + text[at:]
        case 1:
            return text[:at] + text[min(size, at + random_.randint(1, 4)) :]
        case 2:
            other = random_.randint(0, size)
            low, high = min(at, other), max(at, other)
            return text[:low] + text[high:]
        case 3:
            lines = text.split("\n")
            index = random_.randrange(len(lines))
            lines[index] = random_.choice(["", " ", "  ", "\t", "    "]) + lines[index].lstrip()
            return "\n".join(lines)
        case 4:
            lines = text.split("\n")
            a, b = random_.randrange(len(lines)), random_.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            return "\n".join(lines)
        case 5:
            lines = text.split("\n")
            index = random_.randrange(len(lines))
            lines.insert(random_.randint(0, len(lines)), lines[index])
            return "\n".join(lines)
        case 6:
            other_seed = random_.choice(SEEDS)
            cut = random_.randint(0, len(other_seed))
            return text[:at] + other_seed[cut : cut + random_.randint(1, 60)] + text[at:]
        case _:
            return text[:at] + random_.choice(PIECES) + text[min(size, at + 1) :]


def check(text: str, result: ParseResult) -> None:
    """Raise ``AssertionError`` unless ``result`` is consistent with ``text``."""
    program = result.program
    source = program.source.text
    assert "".join(chunk.text for chunk in program.chunks) == source, "chunks do not tile the text"
    assert len(program.chunks) == len(program.lines) == len(program.offsets)
    at = line = 0
    for chunk, chunk_line, offset in zip(
        program.chunks, program.lines, program.offsets, strict=True
    ):
        assert (chunk_line, offset) == (line, at), "a chunk is out of place"
        if chunk.stmt is not None:
            for stmt in walk(chunk.stmt):
                begin = offset + stmt.offset
                assert source.startswith(stmt.text, begin), "a statement is out of place"
                assert chunk.text.count("\n", 0, stmt.offset) == stmt.line, "a line is wrong"
                for node in nodes(stmt.node):
                    assert 0 <= node.start <= node.end <= len(stmt.text), f"{node} is outside"
        at += len(chunk.text)
        line += chunk.line_count
    lines = source.split("\n")
    for item in result.diagnostics:
        span = item.span
        assert 1 <= span.line <= span.end_line <= len(lines), f"{item} is outside"
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1, f"{item} is outside"
        assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1, f"{item} is outside"
        assert (span.line, span.column) <= (span.end_line, span.end_column), f"{item} is backwards"
        assert item.source_line == lines[span.line - 1], f"{item} shows another line"
        assert item.message, "a finding without words"
    assert (result.status == "complete") == (not result.diagnostics)


def walk(stmt: Stmt) -> Iterator[Stmt]:
    yield stmt
    for child in stmt.body:
        yield from walk(child)


def nodes(root: ast.Node) -> Iterator[ast.Node]:
    yield root
    for name in root._fields:
        value = getattr(root, name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, ast.Node):
                yield from nodes(item)


def same(a: Program, b: Program) -> bool:
    """Whether two programs are equal, positions and findings included."""
    if (a.lines, a.offsets, a.flagged, a.far) != (b.lines, b.offsets, b.flagged, b.far):
        return False
    return all(
        x.text == y.text
        and (x.line_count, x.open, x.reach) == (y.line_count, y.open, y.reach)
        and x.diagnostics == y.diagnostics
        and _same_stmt(x.stmt, y.stmt)
        for x, y in zip(a.chunks, b.chunks, strict=True)
    )


def _same_stmt(a: Stmt | None, b: Stmt | None) -> bool:
    if a is None or b is None:
        return a is b
    return (
        repr(a.node) == repr(b.node)
        and (a.text, a.line, a.offset, len(a.body)) == (b.text, b.line, b.offset, len(b.body))
        and all(_same_stmt(x, y) for x, y in zip(a.body, b.body, strict=True))
    )


def one_round(seed: int, limit: float) -> tuple[str, str | None, str]:
    """``(status, what failed or None, source)`` of the round with this seed."""
    random_ = random.Random(seed)
    text = random_.choice(SEEDS)
    if random_.random() < 0.5:
        text += random_.choice(SEEDS)
    mode = random_.choice(["file", "file", "fragment"])
    previous: Program | None = None
    status = "complete"
    for _ in range(random_.choice([1, 1, 2, 4])):
        text = mutate(text, random_)
        try:
            start = time.process_time()
            result = parse(text, mode=mode)
            taken = time.process_time() - start
            assert taken < limit, f"took {taken:.2f} s"
            check(text, result)
            if previous is not None:
                again = parse(text, mode=mode, previous=previous)
                assert again.status == result.status, "the answer after an edit differs"
                assert again.diagnostics == result.diagnostics, "findings after an edit differ"
                assert same(again.program, result.program), "the tree after an edit differs"
            previous = result.program
            status = result.status
            if status == "complete":
                printed = print_program(result.program)
                second = parse(printed, mode=mode)
                assert second.status == "complete", f"the print does not parse: {printed!r}"
                assert result.program.same_as(second.program), f"the print differs: {printed!r}"
                assert print_program(second.program) == printed, f"unstable print: {printed!r}"
        except Exception as error:
            return status, f"{type(error).__name__}: {error}", text
    return status, None, text


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--limit", type=float, default=2.0, help="most seconds for one parse")
    options.add_argument("--stop", type=int, default=5, help="stop after this many failures")
    arguments = options.parse_args()
    warnings.simplefilter("ignore", SyntaxWarning)
    warnings.simplefilter("ignore", DeprecationWarning)
    counts = {"complete": 0, "incomplete": 0, "invalid": 0}
    failures = 0
    start = time.perf_counter()
    for index in range(arguments.count):
        status, failure, text = one_round(arguments.seed + index, arguments.limit)
        counts[status] += 1
        if failure is not None:
            failures += 1
            print(f"seed {arguments.seed + index}: {failure}\n{text!r}\n")
            if failures >= arguments.stop:
                break
    print(
        f"{sum(counts.values()):,} programs in {time.perf_counter() - start:.0f} s:"
        f" {counts['complete']:,} complete, {counts['incomplete']:,} incomplete,"
        f" {counts['invalid']:,} invalid; {failures} failures"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
