"""Suites are run on programs given as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kedi.lang import compile_program, parse_program
from kedi.runtime.program import KediRuntime

Compile = Callable[..., KediRuntime]


@pytest.fixture
def compiled() -> Iterator[Compile]:
    """Compile a text; what was compiled is closed afterwards."""
    made: list[KediRuntime] = []

    def compile_text(text: str, **config: Any) -> KediRuntime:
        program = parse_program(text, source_name="suites.kedi")
        made.append(compile_program(program, **config))
        return made[-1]

    yield compile_text
    for runtime in made:
        runtime.close()
