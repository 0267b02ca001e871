"""Rules about the order and number of lines in one block."""

from __future__ import annotations

from kedi.syntax import ast
from kedi.syntax.ast import Broken, Statement, Stmt
from kedi.syntax.faults import Fault


def follows(node: Statement, previous: Statement | None) -> Fault | None:
    """Why ``node`` cannot stand right after ``previous``, if it cannot."""
    cls = node.__class__
    if cls is ast.Else:
        if previous is None or previous.__class__ not in (ast.If, Broken):
            return Fault(
                "else-without-if",
                "`> else:` has no `> if:` right before it",
                node.start,
                node.end,
                "put it after the block of an `> if:`, at the same indentation",
            )
    elif cls is ast.Map:
        return _map_fault(node, previous)
    return None


def _map_fault(node: Statement, previous: Statement | None) -> Fault | None:
    cls = previous.__class__
    if cls is ast.LoopEach or cls is Broken:
        return None
    if cls is ast.Loop:
        message = "`> map:` cannot follow a conditional loop"
        hint = "only > loop [item]: `iterable`: can have a map"
    elif cls is ast.Map:
        message = "a loop can have only one `> map:`"
        hint = "put both bodies into one map"
    else:
        message = "`> map:` has no loop right before it"
        hint = "put it after the block of > loop [item]: `iterable`:"
    return Fault("orphan-map", message, node.start, node.end, hint)


def check_sibling(stmt: Stmt, seen: dict[str, Stmt], owner: Stmt) -> Fault | None:
    """Why ``stmt`` cannot stand beside the lines in ``seen``; adds it to them."""
    node = stmt.node
    if isinstance(node, ast.Setting):
        key, name, what = node.name.text, node.name, "setting"
    elif isinstance(node, ast.NameLine):
        key, name, what = node.name.text, node.name, "name"
    elif isinstance(node, ast.Metric):
        if "metric" in seen:
            return Fault(
                "duplicate-metric",
                "an `@eval:` suite has exactly one metric",
                node.start,
                node.end,
                "put a second metric into a suite of its own",
            )
        seen["metric"] = stmt
        return None
    elif isinstance(node, ast.Data):
        key = f"{'test_data' if node.held_out else 'data'} {node.name.text}"
        name, what = node.name, "data set"
    elif isinstance(node, ast.Case):
        key, name, what = node.name.text, node.name, "case"
    else:
        return None
    if key in seen:
        return Fault(
            f"duplicate-{what.replace(' ', '-')}",
            f"{what} `{name.text}` stands here twice",
            name.start,
            name.end,
        )
    seen[key] = stmt
    return None


def check_closed(owner: Stmt, stmts: list[Stmt]) -> Fault | None:
    """What a finished block lacks."""
    if owner.node.__class__ is not ast.EvalSuite:
        return None
    kinds = {stmt.node.__class__ for stmt in stmts}
    if Broken in kinds:
        return None
    for cls, name in ((ast.Data, "data"), (ast.Metric, "metric")):
        if cls not in kinds:
            return Fault(
                f"missing-{name}",
                f"this suite has no `> {name}:`",
                owner.node.start,
                owner.node.end,
            )
    return None
