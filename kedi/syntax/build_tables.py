"""Build ``tables.py`` from ``grammar.lark``: ``python -m kedi.syntax.build_tables``.

lark checks the grammar and computes the LALR tables; the result is written as
a Python module, so that parsing neither imports lark nor builds anything.
States are renumbered in breadth-first order, which makes the output the same
for the same grammar.
"""

from __future__ import annotations

from pathlib import Path
from pprint import pformat
from typing import Any, cast

HERE = Path(__file__).parent
GRAMMAR = HERE / "grammar.lark"
TABLES = HERE / "tables.py"

STARTS = (
    "binding",
    "template",
    "return_",
    "python_statement",
    "fence",
    "procedure",
    "type_def",
    "suite",
    "if_",
    "loop",
    "loop_each",
    "bare",
    "show",
    "import_",
    "export",
    "named",
    "metric",
    "directive",
    "typed_directive",
    "instructions",
    "setting",
    "name_line",
    "prose",
)

HEADER = '''"""LALR tables of ``grammar.lark``; ``kedi.syntax.build_tables`` writes this file.

STARTS      start rule: its first state
ENDS        states in which a start rule is complete
TERMINALS   name: regular expression
SHIFTS      per state: terminal: next state
REDUCES     per state: terminal: rule
DEFAULTS    per state: the rule to reduce whatever follows, or -1
GOTOS       per state: nonterminal: next state
RULES       (callback name, nonterminal, symbols)
"""

# fmt: off
# ruff: noqa

'''


def build() -> str:
    """Text of ``tables.py`` for the grammar as it stands."""
    from lark import Lark
    from lark.parsers import lalr_analysis

    shift_action = cast("Any", lalr_analysis.Shift)
    # What is read below are lark's internals, which it does not type.
    lark = cast(
        "Any",
        Lark(
            GRAMMAR.read_text(encoding="utf-8"),
            parser="lalr",
            start=list(STARTS),
            maybe_placeholders=False,
            keep_all_tokens=True,
        ),
    )
    table: Any = lark.parser.parser._parse_table
    order = _breadth_first(table, shift_action)
    number = {state: index for index, state in enumerate(order)}
    rules: list[tuple[str, str, str]] = []
    rule_number: dict[Any, int] = {}
    for rule in lark.rules:
        rule_number[rule] = len(rules)
        name = str(rule.alias or rule.origin.name)
        symbols = " ".join(str(symbol.name) for symbol in rule.expansion)
        rules.append((name, str(rule.origin.name), symbols))
    shifts: list[dict[str, int]] = []
    reduces: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    defaults: list[int] = []
    terminals: list[Any] = sorted(lark.terminals, key=lambda term: (-term.priority, term.name))
    names: set[str] = {term.name for term in terminals} | {"$END"}
    for state in order:
        row = table.states[state]
        shift: dict[str, int] = {}
        goto: dict[str, int] = {}
        reduce: dict[str, int] = {}
        for symbol in sorted(row):
            action, argument = row[symbol]
            if action is not shift_action:
                reduce[symbol] = rule_number[argument]
            elif symbol in names:
                shift[symbol] = number[argument]
            else:
                goto[symbol] = number[argument]
        targets = set(reduce.values())
        shifts.append(shift)
        reduces.append(reduce)
        gotos.append(goto)
        defaults.append(targets.pop() if len(targets) == 1 and not shift else -1)
    patterns: dict[str, str] = {
        term.name: term.pattern.to_regexp()
        for term in terminals
        if not term.name.startswith("__IGNORE")
    }
    parts: list[tuple[str, Any]] = [
        ("STARTS", {name: number[table.start_states[name]] for name in STARTS}),
        ("ENDS", sorted(number[table.end_states[name]] for name in STARTS)),
        ("TERMINALS", patterns),
        ("SHIFTS", shifts),
        ("REDUCES", reduces),
        ("DEFAULTS", defaults),
        ("GOTOS", gotos),
        ("RULES", rules),
    ]
    kinds = {
        "STARTS": "dict[str, int]",
        "ENDS": "list[int]",
        "TERMINALS": "dict[str, str]",
        "SHIFTS": "list[dict[str, int]]",
        "REDUCES": "list[dict[str, int]]",
        "DEFAULTS": "list[int]",
        "GOTOS": "list[dict[str, int]]",
        "RULES": "list[tuple[str, str, str]]",
    }
    body = "\n\n".join(
        f"{name}: {kinds[name]} = {pformat(value, width=100, compact=True, sort_dicts=False)}"
        for name, value in parts
    )
    return HEADER + body + "\n"


def _breadth_first(table: Any, shift: Any) -> list[Any]:
    order = [table.start_states[name] for name in STARTS]
    seen = set(order)
    for state in order:
        row = table.states[state]
        for symbol in sorted(row):
            action, argument = row[symbol]
            if action is shift and argument not in seen:
                seen.add(argument)
                order.append(argument)
    return order


if __name__ == "__main__":
    TABLES.write_text(build(), encoding="utf-8")
