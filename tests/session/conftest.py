"""One session per test, closed at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kedi
from kedi import InteractiveSession


@pytest.fixture
def make() -> Iterator[Callable[..., InteractiveSession]]:
    """Make sessions that are closed when the test ends."""
    made: list[InteractiveSession] = []

    def create(**config: Any) -> InteractiveSession:
        session = kedi.interactive(**config)
        made.append(session)
        return session

    yield create
    for session in made:
        session.close()


@pytest.fixture
def session(make: Callable[..., InteractiveSession]) -> InteractiveSession:
    """A session without any configuration."""
    return make()
