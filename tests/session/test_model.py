"""A session against a model of it: a dict that every step changes in the same way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import kedi
from kedi.errors import KediError, KediExecutionError

NAMES = st.sampled_from(["a", "b", "c", "d"])
NUMBERS = st.integers(-1_000, 1_000)


class Sessions(RuleBasedStateMachine):
    """Random fragments, good and bad, in one session."""

    @initialize()
    def start(self) -> None:
        self.session = kedi.interactive()
        self.values: dict[str, int] = {}
        self.procedures: dict[str, int] = {}
        self.count = 0

    def run(self, source: str) -> Any:
        """Execute a fragment that counts."""
        self.count += 1
        return self.session.execute(source)

    @rule(name=NAMES, number=NUMBERS)
    def bind(self, name: str, number: int) -> None:
        self.run(f"[{name}: int] = `{number}`")
        self.values[name] = number
        self.procedures.pop(name, None)

    @rule(name=NAMES, number=NUMBERS)
    def assign(self, name: str, number: int) -> None:
        source = f"[{name}] := `{number}`"
        if name in self.values:
            self.run(source)
            self.values[name] = number
        elif name not in self.procedures:
            with pytest.raises(KediExecutionError):
                self.run(source)

    @rule(name=NAMES, number=NUMBERS)
    def write_back(self, name: str, number: int) -> None:
        if name in self.values:
            self.run(f"```\n{name} += {number}\n```")
            self.values[name] += number

    @rule(name=NAMES)
    def wrong_type(self, name: str) -> None:
        if name in self.values:
            with pytest.raises(KediExecutionError):
                self.run(f"[{name}] := text")

    @rule(name=NAMES, number=NUMBERS)
    def define(self, name: str, number: int) -> None:
        self.run(f"@{name}() -> int:\n  = `{number}`")
        self.procedures[name] = number
        self.values.pop(name, None)

    @rule(first=NAMES, second=NAMES, number=NUMBERS)
    def fail_between(self, first: str, second: str, number: int) -> None:
        with pytest.raises(KediExecutionError):
            self.run(f"[{first}: int] = `{number}`\n`1 / 0`\n[{second}: int] = `0`")
        self.values[first] = number
        self.procedures.pop(first, None)

    @rule(name=NAMES, number=NUMBERS)
    def refuse(self, name: str, number: int) -> None:
        for end in ("[broken", "= `(`", "[x: Nowhere] = `1`", "`break`"):
            with pytest.raises(KediError):
                self.session.execute(f"[{name}: int] = `{number}`\n{end}")

    @rule(name=NAMES, number=NUMBERS)
    def in_a_branch(self, name: str, number: int) -> None:
        # A binding of a block is its own.
        self.run(f"> if: `True`:\n  [{name}: int] = `{number}`\n  `{name} + 1`")

    @precondition(lambda self: self.values)
    @rule()
    def total(self) -> None:
        names = " + ".join(self.values)
        assert self.run(f"= `{names}`") == sum(self.values.values())

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "session"):
            return
        views = {view.name: view for view in self.session.bindings()}
        assert {name: view.value for name, view in views.items() if view.kind == "value"} == (
            self.values
        )
        assert {name for name, view in views.items() if view.kind == "procedure"} == set(
            self.procedures
        )
        for name, number in self.procedures.items():
            assert self.session.evaluate(f"`{name}()`") == number
        assert len(self.session.fragments) == self.count

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.close()


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=40, stateful_step_count=25)
