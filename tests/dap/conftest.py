"""Clients of the debug adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dap import client as clients
from tests.dap.client import DapClient


@pytest.fixture(params=["stdio", "tcp"])
def dap(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DapClient]:
    """A client of a fresh adapter, once over standard input and output and once over TCP."""
    with getattr(clients, request.param)(cwd=tmp_path) as client:
        yield client


@pytest.fixture
def stdio(tmp_path: Path) -> Iterator[DapClient]:
    """A client over standard input and output, for tests that the transport does not matter to."""
    with clients.stdio(cwd=tmp_path) as client:
        yield client


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """Writes a program and gives its path."""

    def write(text: str, name: str = "main.kedi") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
