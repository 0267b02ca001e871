"""Step hooks: what they cost while no observer is attached, and with one that does nothing.

The peer is the same interpreter *without hooks*: a second copy of the package, imported from
sources in which every look at ``observer`` is replaced by its outcome, so that Python's
compiler drops the check and what it guards. Both copies run in this process, in turns.

Run: ``python benchmarks/hooks.py``.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.harness import ROUNDS, Row, in_turns, print_rows

GOAL = 1.05
#: Attributes of the interpreter that are ``None`` while nobody observes.
_LOOKED_AT = frozenset({"observer", "around"})

PROGRAMS = {
    "assignments of text": (
        "[a] = x",
        "> loop [i]: `range(40)`:\n" + "  [a] = text\n" * 100,
        4_000,
    ),
    "assignments with Python": (
        "[n: int] = `0`",
        "> loop [i]: `range(40)`:\n" + "  [n] := `n + 1`\n" * 50,
        2_000,
    ),
    "branches and loops": (
        "[n: int] = `0`",
        "> loop [i]: `range(400)`:\n  > if: `i > 200`:\n    [n] := `i`\n  > else:\n    [m] = other",
        1_200,
    ),
    "calls of procedures": (
        "@f(x: int) -> int:\n  [y: int] = `x + 1`\n  = `y`",
        "> loop [i]: `range(400)`:\n  [r: int] = <f(<i>)>",
        1_600,
    ),
}


class _WithoutHooks(ast.NodeTransformer):
    """Replaces looks at an observer by what they find when there is none."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if _is_observer(node.left) and len(node.ops) == 1:
            return ast.copy_location(ast.Constant(isinstance(node.ops[0], ast.Is)), node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        # ``True and x`` is x: the compiler folds constants only where they stand alone.
        self.generic_visit(node)
        neutral = isinstance(node.op, ast.And)
        values = [
            item
            for item in node.values
            if not (isinstance(item, ast.Constant) and item.value is neutral)
        ]
        if any(isinstance(item, ast.Constant) and item.value is not neutral for item in values):
            return node
        if not values:
            return ast.copy_location(ast.Constant(neutral), node)
        if len(values) == 1:
            return values[0]
        return ast.copy_location(ast.BoolOp(node.op, values), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in _LOOKED_AT and _is_observer(node.value):
            return ast.copy_location(ast.Pass(), node)
        return node


def _is_observer(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _LOOKED_AT
    return isinstance(node, ast.Name) and node.id in _LOOKED_AT


class _Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        tree = _WithoutHooks().visit(ast.parse(data, str(path)))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("kedi.runtime."):
            return None
        file = ROOT.joinpath(*fullname.split(".")).with_suffix(".py")
        return importlib.util.spec_from_file_location(
            fullname, file, loader=_Loader(fullname, str(file))
        )


class _Copy:
    """One copy of the package: its modules, which take their places while it runs."""

    def __init__(self, finder: _Finder | None) -> None:
        self.modules: dict[str, ModuleType] = {}
        with self.in_place():
            if finder is not None:
                sys.meta_path.insert(0, finder)
            try:
                self.kedi: Any = importlib.import_module("kedi")
                importlib.import_module("kedi.session.session")
            finally:
                if finder is not None:
                    sys.meta_path.remove(finder)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        kept = _taken()
        sys.modules.update(self.modules)
        try:
            yield
        finally:
            self.modules.update(_taken())
            sys.modules.update(kept)

    def task(self, before: str, source: str, observer: str | None = None) -> Callable[[], None]:
        """Runs a program, which is compiled beforehand."""
        with self.in_place():
            lang = importlib.import_module("kedi.lang")
            runtime = lang.compile_program(lang.parse_program(f"{before}\n{source}"))
            if observer is not None:
                runtime.observe(getattr(importlib.import_module("kedi.debugging"), observer)())

        def in_place() -> None:
            with self.in_place():
                for _ in range(10):
                    runtime.run_main()

        return in_place


def _taken() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name == "kedi" or name.startswith("kedi.")]
    return {name: sys.modules.pop(name) for name in names}


def rows() -> list[Row]:
    """Every row of this file."""
    hooked, bare = _Copy(None), _Copy(_Finder())
    found: list[Row] = []
    for what, (before, source, statements) in PROGRAMS.items():
        tasks = [
            hooked.task(before, source),
            bare.task(before, source),
            hooked.task(before, source, "Observer"),
        ]
        each = [t / 10 / statements for t in in_turns(tasks, rounds=2 * ROUNDS + 1)]
        found.append(Row(f"{what}, no observer", each[0], each[1], "without hooks", GOAL))
        found.append(Row(f"{what}, idle observer", each[2], each[0], "no observer", None))
    return found


if __name__ == "__main__":
    print_rows(rows())
