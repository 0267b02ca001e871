"""The REPL with a scripted model, which never ends when it is asked for something slow."""

from __future__ import annotations

import sys
import time
from typing import Any

from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.agents.contract import Answer, CallInfo, Usage
from kedi.repl.start import Settings, start


def answer(prompt: str, schema: dict[str, Any]) -> Any:
    if "slow" in prompt:
        sys.stdout.write("asking\n")
        sys.stdout.flush()
        while True:
            time.sleep(0.05)
    values = {name: 7 if kind is int else "yes" for name, kind in schema.items()}
    return Answer(values, CallInfo(Usage(120, 5), 0.002, "tiny")) if schema else "raw"


if __name__ == "__main__":
    sys.exit(start(Settings({"adapter": ScriptedAdapter(answer)}, record="--record" in sys.argv)))
