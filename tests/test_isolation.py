"""The guard in conftest.py keeps its word."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT, NetworkBlocked

pytest_plugins = ("pytester",)


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80), ("example.org", 80)])
def test_connections_to_the_outside_are_refused(
    address: tuple[str, int], network_attempts: list[str]
) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as client, pytest.raises(NetworkBlocked):
        client.connect(address)
    with pytest.raises(NetworkBlocked):
        socket.create_connection(address, timeout=1)
    assert len(network_attempts) == 2
    network_attempts.clear()


def test_datagrams_and_asyncio_are_refused(network_attempts: list[str]) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as client, pytest.raises(NetworkBlocked):
        client.sendto(b"x", ("192.0.2.1", 53))
    with pytest.raises(NetworkBlocked):
        asyncio.run(asyncio.open_connection("192.0.2.1", 80))
    network_attempts.clear()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_works(host: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection((host, server.getsockname()[1]), timeout=5) as client,
    ):
        client.sendall(b"x")
        peer, _ = server.accept()
        with peer:
            assert peer.recv(1) == b"x"


def test_home_and_working_folder_are_private() -> None:
    home = Path.home()
    assert home != ROOT
    assert not list(home.glob(".env"))
    assert Path.cwd().is_relative_to(home)
    assert Path(os.environ["KEDI_HOME"]).is_relative_to(home)


@given(st.text())
def test_property_tests_run_under_the_guard(text: str) -> None:
    assert Path.cwd().is_relative_to(Path.home()), text


def test_keys_are_hidden_and_swallowed_attempts_fail(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("KEDI_ADAPTER", "pydantic")
    monkeypatch.setenv("SOME_NEW_API_KEY", "secret")
    conftest = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    pytester.makeconftest(conftest)
    pytester.makepyfile(
        """
        import os, socket

        def test_no_keys():
            assert not {"OPENAI_API_KEY", "KEDI_ADAPTER", "SOME_NEW_API_KEY"} & set(os.environ)

        def test_swallowed():
            try:
                socket.create_connection(("192.0.2.1", 80), timeout=1)
            except Exception:
                pass
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*tried to leave this machine: *192.0.2.1*"])
