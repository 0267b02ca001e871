"""Cells: values that others refer to, and their order."""

from __future__ import annotations

from typing import Any, cast


def order_cells(cells: list[Any]) -> tuple[dict[int, int], list[int]]:
    """``(numbers, cycle)``: new numbers with which each cell refers to lower ones only.

    ``cycle`` is empty, or the way to a cell that refers back to another one on it.
    """
    wanted = [[ref[1] for ref in references(tree)] for tree in cells]
    number: dict[int, int] = {}
    for start in range(len(cells)):
        if start in number:
            continue
        path = [start]
        left = [iter(wanted[start])]
        entered = {start}
        while path:
            cell = next((item for item in left[-1] if item not in number), None)
            if cell is None:
                left.pop()
                entered.discard(path[-1])
                number[path.pop()] = len(number)
            elif cell in entered:
                return number, path
            else:
                path.append(cell)
                left.append(iter(wanted[cell]))
                entered.add(cell)
    return number, []


def references(tree: Any) -> list[list[Any]]:
    """All references to cells in a tree, as the arrays that stand in it."""
    found: list[list[Any]] = []
    stack = [tree]
    while stack:
        item = stack.pop()
        if type(item) is list:
            listed = cast("list[Any]", item)
            if len(listed) == 2 and type(listed[0]) is str and listed[0] == "*":
                found.append(listed)
            else:
                stack += [part for part in listed if type(part) in (list, dict)]
        elif type(item) is dict:
            values = cast("dict[str, Any]", item).values()
            stack += [part for part in values if type(part) in (list, dict)]
    return found
