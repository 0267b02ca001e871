"""Parse one logical line: an LALR machine over the tables that lark built.

In each state the terminals that may follow are tried as one regular
expression, so words mean what their place makes them mean. A state that can
only reduce does so without looking ahead; that keeps the contexts of shared
rules apart and saves most lookahead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kedi.syntax import rules_directives, rules_statements, rules_text
from kedi.syntax.embedded import inline_end, type_end
from kedi.syntax.tables import DEFAULTS, ENDS, GOTOS, REDUCES, RULES, SHIFTS, STARTS, TERMINALS

Scan = Callable[[str, int], "re.Match[str] | None"]
Action = Callable[[str, list[Any]], Any]

_TEXT_TERMINALS = frozenset({"TEXT", "ARGUMENT_TEXT", "BREAK", "JOIN"})
_SKIP = r"(?:[ \t\n]++|#[^\n]*+)*+"
_END = {True: r"(?:#[^\n]*+)?+(\Z)", False: r"(\Z)"}

_ends = frozenset(ENDS)
_functions: dict[str, Any] = {
    **vars(rules_text),
    **vars(rules_statements),
    **vars(rules_directives),
}
_actions: list[Action] = [_functions[name] for name, _, _ in RULES]
_sizes = [size for _, size, _ in RULES]
_gotos: list[dict[int, int]] = []
_nonterminals = {name: index for index, name in enumerate(sorted({r[2] for r in RULES}))}
_rule_nonterminal = [_nonterminals[name] for _, _, name in RULES]
for _row in GOTOS:
    _gotos.append(
        {_nonterminals[name]: state for name, state in _row.items() if name in _nonterminals}
    )
# Per state: what to do for the group that matched: a positive number is the next
# state, a negative one the rule to reduce, counted from -1.
_scans: list[Scan | None] = [None] * len(SHIFTS)
_by_group: list[tuple[int, ...]] = [()] * len(SHIFTS)


def _prepare(state: int) -> Scan:
    """Compile what may follow in ``state``. Idempotent, so threads need no lock."""
    shifts, reduces = SHIFTS[state], REDUCES[state]
    accepted = set(shifts) | set(reduces)
    if state in _ends:
        accepted.add("$END")
    in_text = not accepted.isdisjoint(_TEXT_TERMINALS)
    pieces: list[str] = []
    steps: list[int] = [0]
    for name, pattern in TERMINALS.items():
        if name in accepted:
            pieces.append(f"({pattern})")
            steps.append(shifts[name] if name in shifts else -1 - reduces[name])
    if "$END" in accepted:
        pieces.append(_END[in_text])
        steps.append(0 if state in _ends else -1 - reduces["$END"])
    _by_group[state] = tuple(steps)
    scan = re.compile(("" if in_text else _SKIP) + f"(?:{'|'.join(pieces)})").match
    _scans[state] = scan
    return scan


def parse(rule: str, text: str, start: int) -> Any:
    """The node that ``rule`` makes of ``text`` from ``start`` on. Raises ``Fault``."""
    state = STARTS[rule]
    states = [state]
    values: list[Any] = []
    defaults, scans, by_group = DEFAULTS, _scans, _by_group
    at = start
    while True:
        reduce = defaults[state]
        if reduce < 0:
            scan = scans[state] or _prepare(state)
            match = scan(text, at)
            if match is None:
                state, at, span = _scan_slowly(rule, text, at, state)
                values.append(span)
                states.append(state)
                continue
            group = match.lastindex
            assert group is not None
            step = by_group[state][group]
            if step > 0:
                values.append(match.span(group))
                at = match.end()
                state = step
                states.append(state)
                continue
            if step == 0:
                return values[-1]
            reduce = -1 - step
        size = _sizes[reduce]
        if size:
            children = values[-size:]
            del values[-size:]
            del states[-size:]
        else:
            children = []
        values.append(_actions[reduce](text, children))
        state = _gotos[states[-1]][_rule_nonterminal[reduce]]
        states.append(state)


_skip = re.compile(_SKIP).match


def _scan_slowly(rule: str, text: str, at: int, state: int) -> tuple[int, int, tuple[int, int]]:
    """Terminals that no regular expression finds: nested types, Python over several lines."""
    shifts, reduces = SHIFTS[state], REDUCES[state]
    accepted = set(shifts) | set(reduces) or {"$END"}
    in_text = not accepted.isdisjoint(_TEXT_TERMINALS)
    start = at
    if not in_text:
        skipped = _skip(text, at)
        start = skipped.end() if skipped else at
    if "PYTHON" in shifts and text.startswith("`", start):
        end = inline_end(text, start)
        if end > 0:
            return shifts["PYTHON"], end, (start, end)
    elif "ANGLE" in shifts and text.startswith("<`", start):
        end = inline_end(text, start + 1)
        if end > 0 and text.startswith(">", end):
            return shifts["ANGLE"], end + 1, (start, end + 1)
    elif "TYPE" in shifts:
        end = type_end(text, start)
        while end > start and text[end - 1] in " \t\n":
            end -= 1
        if end > start:
            return shifts["TYPE"], end, (start, end)
    from kedi.syntax.explain import explain

    raise explain(rule, text, start, accepted)
