"""Isolation for every test: no keys, no user files, no network.

A test that reaches a real model would be slow, paid and different each time. So
no test sees the keys or the Kedi settings of whoever runs it, and a connection
that would leave this machine fails, even when the code under test swallows the
error.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis.configuration import set_hypothesis_home_dir

# A run that was started in the background ignores Ctrl+C, and so would the processes of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parent.parent

# Prefixes of the variables that providers and adapters read, and endings of any key.
_OWNERS = (
    *("ANTHROPIC_", "AWS_", "AZURE_", "CEREBRAS_", "CO_API_", "COHERE_", "DEEPSEEK_", "FIREWORKS_"),
    *("GEMINI_", "GOOGLE_", "GROQ_", "HF_", "HUGGINGFACE_", "KEDI_", "LITELLM_", "MISTRAL_"),
    *("NVIDIA_", "OLLAMA_", "OPENAI_", "OPENROUTER_", "PERPLEXITY_", "PYDANTIC_AI_", "TOGETHER_"),
    *("VERTEX_", "XAI_"),
)
_KEYS = ("_API_KEY", "_API_TOKEN", "_ACCESS_TOKEN", "_SECRET_KEY")

hypothesis.settings.register_profile("kedi", deadline=None, print_blob=True)
hypothesis.settings.load_profile("kedi")
set_hypothesis_home_dir(ROOT / ".hypothesis")


class NetworkBlocked(RuntimeError):
    """A test tried to leave this machine."""


_blocked: list[str] = []


def _is_local(address: Any) -> bool:
    """Whether a socket address or host stays on this machine."""
    host = address[0] if isinstance(address, tuple) else address
    if host is None or host == "" or not isinstance(host, str):
        return True
    if host == "localhost" or host.startswith("/"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _refuse(address: Any) -> None:
    _blocked.append(repr(address))
    raise NetworkBlocked(f"tests may not reach {address!r}; use the scripted adapter")


def _guarded(name: str) -> Any:
    original = getattr(socket.socket, name)

    def guard(self: socket.socket, *args: Any) -> Any:
        # sendto(data, address) and sendto(data, flags, address): the address is last.
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(args[-1]):
            _refuse(args[-1])
        return original(self, *args)

    return guard


def pytest_configure() -> None:
    """Close the network before test modules are imported."""
    for name in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, name, _guarded(name))
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_local(host.decode() if isinstance(host, bytes) else host):
            _refuse(host)
        return resolve(host, *args, **kwargs)

    socket.getaddrinfo = getaddrinfo


@pytest.fixture
def network_attempts() -> list[str]:
    """Attempts to leave this machine since the test began; clear it to accept them."""
    return _blocked


_OUTSIDE = dict(os.environ)


@pytest.fixture(scope="session")
def outside_env() -> dict[str, str]:
    """The environment that pytest was started with, for the tools that tests run, such as pip."""
    return dict(_OUTSIDE)


@pytest.fixture(autouse=True)
def isolation(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Run each test in an empty folder with an empty home and no keys.

    A test marked ``local_model`` keeps the ``KEDI_HOME`` of the outside, where the
    weights are, and is skipped where they are absent.
    """
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        upper = name.upper()
        if upper.startswith(_OWNERS) or upper.endswith(_KEYS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    kedi_home = home / ".kedi"
    if request.node.get_closest_marker("local_model"):
        kedi_home = Path(_OUTSIDE.get("KEDI_HOME") or Path(_OUTSIDE["HOME"], ".kedi"))
        if not importlib.util.find_spec("xllamacpp"):
            pytest.skip("the `local` extra is not installed")
        if not any((kedi_home / "models").rglob("*.gguf")):
            pytest.skip(f"no weights in {kedi_home / 'models'}: run `kedi model install`")
    monkeypatch.setenv("KEDI_HOME", str(kedi_home))
    monkeypatch.setenv("KEDI_HISTORY", str(home / "kedi_history"))
    work = home / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    _blocked.clear()
    yield
    if _blocked:
        attempts = ", ".join(_blocked)
        _blocked.clear()
        pytest.fail(f"the test tried to leave this machine: {attempts}")
