"""A session inside a Python program: its own model, its own observer, host values.

Prints:

    hello, world
    statement counts: {'<interactive:1>': 1, '<interactive:2>': 2}
    asked: Greet world politely: [greeting]
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import kedi
from kedi.agent_adapter import AdapterCapabilities
from kedi.debugging import Observer, RunFrame


class Polite:
    """An adapter: any object with these attributes and methods."""

    kind = "agent-framework"
    shortname = "polite"
    capabilities = AdapterCapabilities(supports_structured_output=True)

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def produce_sync(
        self, *, template: str, output_schema: dict[str, Any], **_: Any
    ) -> dict[str, Any]:
        """Fill every blank with the same greeting."""
        self.prompts.append(template)
        return dict.fromkeys(output_schema, "hello")

    def invoke_sync(self, *, prompt: str, **_: Any) -> str:
        """Answer freely."""
        self.prompts.append(prompt)
        return "hello"


class Counts(Observer):
    """Counts the statements of each source."""

    def __init__(self) -> None:
        self.statements: Counter[str] = Counter()

    def statement(self, frame: RunFrame) -> None:
        """A statement is about to run."""
        self.statements[frame.unit.name] += 1


def main() -> None:
    """Run two fragments and print what came of them."""
    model, counts = Polite(), Counts()
    with kedi.interactive(adapter=model, env={"name": "world"}) as session:
        session.observe(counts)
        session.execute("[comma: str] = ,\\s")
        print(session.execute(">> Greet <name> politely: [greeting]\n= <greeting><comma><name>"))
    print("statement counts:", dict(counts.statements))
    print("asked:", *model.prompts)


if __name__ == "__main__":
    main()
