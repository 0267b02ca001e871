"""Parse one logical line: an LALR machine over the tables that lark built.

In each state the terminals that may follow are tried as one regular
expression, so words mean what their place makes them mean. A state that can
only reduce does so without looking ahead; that keeps the contexts of shared
rules apart and saves most lookahead. A rule that appends one terminal to a
list (``text: text READ``) leads back to the state it started from, so it is
applied without moving the machine at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kedi.syntax import rules_directives, rules_statements, rules_text
from kedi.syntax.embedded import inline_end, type_end
from kedi.syntax.tables import DEFAULTS, ENDS, GOTOS, REDUCES, RULES, SHIFTS, STARTS, TERMINALS

Scan = Callable[[str, int], "re.Match[str] | None"]

_TEXT_TERMINALS = frozenset({"TEXT", "ARGUMENT_TEXT", "BREAK", "JOIN"})
_SKIP = r"(?:[ \t\n]++|#[^\n]*+)*+"
_END = {True: r"(?:#[^\n]*+)?+(\Z)", False: r"(\Z)"}
_APPEND = 10_000
_FINISH = -10_000

_ends = frozenset(ENDS)
_functions: dict[str, Any] = {
    **vars(rules_text),
    **vars(rules_statements),
    **vars(rules_directives),
}
_actions: list[Callable[..., Any]] = [_functions[name] for name, _, _ in RULES]
_sizes = [len(symbols.split()) for _, _, symbols in RULES]
_lefts = [left for _, left, _ in RULES]
# Rules ``left: left TERMINAL``, by the state after the terminal.
_appends = {
    state: rule
    for state, rule in enumerate(DEFAULTS)
    if rule >= 0 and RULES[rule][0].startswith("add_")
}

# Per state: what to do for the group that matched. A positive number is the next
# state; from _APPEND on, a rule to apply on the spot; 0 is the end; a negative one
# is a rule to reduce, counted down from -1, or from _FINISH when that ends the line.
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
        if name not in accepted:
            continue
        pieces.append(f"({pattern})")
        if name in reduces:
            steps.append(-1 - reduces[name])
        else:
            target = shifts[name]
            steps.append(_APPEND + _appends[target] if target in _appends else target)
    if "$END" in accepted:
        pieces.append(_END[in_text])
        steps.append(0 if state in _ends else _at_end(reduces["$END"]))
    _by_group[state] = tuple(steps)
    scan = re.compile(("" if in_text else _SKIP) + f"(?:{'|'.join(pieces)})").match
    _scans[state] = scan
    return scan


def _at_end(rule: int) -> int:
    return _FINISH - rule if _lefts[rule] in STARTS else -1 - rule


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
            match = (scans[state] or _prepare(state))(text, at)
            if match is None:
                step, at, span = _scan_slowly(rule, text, at, state)
            else:
                group = match.lastindex
                assert group is not None
                step = by_group[state][group]
                if step <= 0:
                    if step == 0:
                        return values[-1]
                    if step <= _FINISH:
                        return _actions[_FINISH - step](text, values)
                    reduce = -1 - step
                span = match.span(group)
                if step > 0:
                    at = span[1]
            if step >= _APPEND:
                _actions[step - _APPEND](text, values[-1], span)
                continue
            if step > 0:
                values.append(span)
                state = step
                states.append(state)
                continue
        size = _sizes[reduce]
        if size:
            children = values[-size:]
            del values[-size:]
            del states[-size:]
        else:
            children = []
        values.append(_actions[reduce](text, children))
        state = GOTOS[states[-1]][_lefts[reduce]]
        states.append(state)


_skip = re.compile(_SKIP).match


def _scan_slowly(rule: str, text: str, at: int, state: int) -> tuple[int, int, tuple[int, int]]:
    """Terminals that no regular expression finds: nested types, Python over several lines.

    Returns the step, the offset behind the terminal, and its span.
    """
    shifts, reduces = SHIFTS[state], REDUCES[state]
    accepted = set(shifts) | set(reduces) or {"$END"}
    start = at
    if accepted.isdisjoint(_TEXT_TERMINALS):
        skipped = _skip(text, at)
        start = skipped.end() if skipped else at
    name, end = "", -1
    if "PYTHON" in shifts and text.startswith("`", start):
        name, end = "PYTHON", inline_end(text, start)
    elif "ANGLE" in shifts and text.startswith("<`", start):
        closed = inline_end(text, start + 1)
        if closed > 0 and text.startswith(">", closed):
            name, end = "ANGLE", closed + 1
    elif "TYPE" in shifts:
        end = type_end(text, start)
        while end > start and text[end - 1] in " \t\n":
            end -= 1
        name = "TYPE"
    if end <= start:
        from kedi.syntax.explain import explain

        raise explain(rule, text, start, accepted)
    target = shifts[name]
    step = _APPEND + _appends[target] if target in _appends else target
    return step, end, (start, end)
