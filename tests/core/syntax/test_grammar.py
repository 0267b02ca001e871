"""The tables are what lark makes of the grammar, and mean the same to lark's own parser."""

from __future__ import annotations

from typing import Any

import pytest

from kedi.syntax import build_tables, engine, tables
from kedi.syntax.faults import Fault
from tests.core.syntax.test_statements import KINDS


def test_the_tables_are_up_to_date() -> None:
    built = build_tables.build()
    kept = build_tables.TABLES.read_text(encoding="utf-8")
    assert built == kept, "run: python -m kedi.syntax.build_tables"


def test_every_rule_has_a_function() -> None:
    for name, _, symbols in tables.RULES:
        function = engine._functions[name]
        assert callable(function)
        if name.startswith("add_"):
            left, terminal = symbols.split()
            assert left in {"text", "argument", "prose_text"}
            assert terminal in tables.TERMINALS


def test_rules_that_append_are_all_of_one_form() -> None:
    """What the machine applies without moving must lead back to where it was."""
    for state, rule in enumerate(tables.DEFAULTS):
        if rule < 0 or not tables.RULES[rule][0].startswith("add_"):
            continue
        _, left, symbols = tables.RULES[rule]
        first, terminal = symbols.split()
        assert first == left
        for before, shifts in enumerate(tables.SHIFTS):
            if shifts.get(terminal) != state:
                continue
            sources = [gotos for gotos in tables.GOTOS if gotos.get(left) == before]
            assert sources


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_lark_itself_accepts_the_same_terminals(text: str, kind: str) -> None:
    """Feed the terminals that our machine reads to lark's parser for the same rule."""
    if "\n" in text and kind not in {"Fence"}:
        text = text[: text.index("\n")]
    rule, read = _terminals(text)
    if rule is None:
        return
    interactive = _lark().parse_interactive("", start=rule)
    from lark import Token

    for name in read:
        interactive.feed_token(Token(name, "x"))
    interactive.feed_eof()


_cached: list[Any] = []


def _lark() -> Any:
    if not _cached:
        from lark import Lark

        _cached.append(
            Lark(
                build_tables.GRAMMAR.read_text(encoding="utf-8"),
                parser="lalr",
                lexer="contextual",
                start=list(build_tables.STARTS),
                maybe_placeholders=False,
            )
        )
    return _cached[0]


def _terminals(text: str) -> tuple[str | None, list[str]]:
    """The rule that parses ``text`` and the names of the terminals it reads."""
    for rule in build_tables.STARTS:
        try:
            engine.parse(rule, text, 0)
        except Fault:
            continue
        return rule, _read(rule, text)
    return None, []


def _read(rule: str, text: str) -> list[str]:
    state = tables.STARTS[rule]
    states = [state]
    names: list[str] = []
    at = 0
    while True:
        reduce = tables.DEFAULTS[state]
        if reduce < 0:
            match = engine._prepare(state)(text, at)
            if match is None:
                _, end, _ = engine._scan_slowly(rule, text, at, state)
                name = "TYPE"
            else:
                accepted = set(tables.SHIFTS[state]) | set(tables.REDUCES[state])
                if state in tables.ENDS:
                    return names
                known = [item for item in tables.TERMINALS if item in accepted]
                group = match.lastindex or 0
                name = known[group - 1] if group <= len(known) else "$END"
                end = match.end()
            if name in tables.SHIFTS[state]:
                names.append(name)
                at = end
                state = tables.SHIFTS[state][name]
                states.append(state)
                continue
            reduce = tables.REDUCES[state][name]
        _, left, symbols = tables.RULES[reduce]
        size = len(symbols.split())
        if size:
            del states[-size:]
        state = tables.GOTOS[states[-1]][left]
        states.append(state)
