"""A call's inputs are those of the moment when its template ran."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kedi.agents.adapters.scripted import ScriptedAdapter
from tests.core.engine.support import answer, parallel, session

#: Programs that change something after a template has been scheduled.
LATE = {
    "mutated list": (
        "[xs: list[str]] = `['a']`\n>> Use <xs>: [r]\n`xs.append('b')`\n= <r>",
        ["Use ['a']: [r]"],
    ),
    "assigned name": (
        "[x] = one\n>> Use <x>: [r]\n[x] := two\n= <r>",
        ["Use one: [r]"],
    ),
    "python write-back": (
        "[n: int] = `1`\n>> Use `n`: [r]\n`n = 2`\n= <r>",
        ["Use 1: [r]"],
    ),
    "initialised anew": (
        "[x] = one\n>> Use <x>: [r]\n[x] = two\n= <r>",
        ["Use one: [r]"],
    ),
    "mutated dict in text": (
        "[d: dict[str, int]] = `{'a': 1}`\n[r] << Use <d> and <`d['a']`>\n`d.update(a=2)`\n= <r>",
        ["Use {'a': 1} and 1"],
    ),
    "a pending list, changed after it arrived": (
        ">> First [xs: list[str]]\n>> Use <xs>: [r]\n`xs.clear()`\n= <r>",
        ["First [xs]", "Use ['xs12', 'First']: [r]"],
    ),
    "a pending name, assigned anew": (
        ">> First [x]\n>> Use <x>: [r]\n[x] := other\n= <r> <x>",
        ["First [x]", "Use x10: [r]"],
    ),
    "a pending name, filled twice": (
        ">> First [x]\n>> Use <x>: [r]\n>> Second [x]\n>> Again <x>: [s]\n= <r><s><x>",
        ["Again x11: [s]", "First [x]", "Second [x]", "Use x10: [r]"],
    ),
    "evaluated left to right": (
        "[xs: list[int]] = `[]`\n>> <xs> then <`xs.append(1)`> then <xs>: [r]\n= <r>",
        ["[] then None then [1]: [r]"],
    ),
    "pending first, changed in the same prompt": (
        ">> First [xs: list[str]]\n>> <xs> then <`xs.clear()`> then <xs>: [r]\n= <r>",
        ["['xs12', 'First'] then None then []: [r]", "First [xs]"],
    ),
    "loop variable": (
        "> loop [i]: `range(3)`:\n  >> Item <i>: [r]",
        ["Item 0: [r]", "Item 1: [r]", "Item 2: [r]"],
    ),
    "parameter": (
        "@f(x):\n  >> Use <x>: [r]\n  [x2] = changed\n  = <r>\n= <f(a)><f(b)>",
        ["Use a: [r]", "Use b: [r]"],
    ),
}


@pytest.mark.parametrize("case", LATE)
def test_prompts_equal_those_of_sequential_runs(case: str) -> None:
    source, prompts = LATE[case]
    seen: list[list[str]] = []
    results: list[Any] = []
    for engine in ("sequential", "parallel"):
        adapter = ScriptedAdapter(answer)
        with session(adapter=adapter, engine=engine) as live:
            results.append(live.execute(source))
        seen.append(sorted(adapter.prompts))
    assert seen[0] == sorted(prompts)
    assert seen[1] == seen[0]
    assert results[1] == results[0]


def test_nothing_of_the_call_runs_before_its_inputs_are_taken() -> None:
    """The model is held back until the program has changed everything."""
    changed = threading.Event()
    prompts: list[str] = []

    def model(prompt: str, schema: dict[str, Any]) -> Any:
        changed.wait(30)
        prompts.append(prompt)
        return answer(prompt, schema)

    with parallel(model, env={"changed": changed}) as live:
        live.execute(
            "[xs: list[int]] = `[1]`\n[x] = a\n>> <xs> <x> [r]\n"
            "`xs.append(2)`\n[x] := b\n`changed.set()`"
        )
    assert prompts == ["[1] a [r]"]
