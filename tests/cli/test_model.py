"""``kedi model install``: what is shown; the installation itself is tested with the agents."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from kedi.agents.errors import ModelInstallError
from kedi.agents.install import Phase, Progress
from kedi.cli import model
from tests.cli.conftest import Run


def install(progress: Progress) -> Path:
    for phase in ("download", "verify", "extract"):
        for part in (0, 1, 50, 50, 100):
            progress(phase, part * 1_000_000, 100_000_000)
    return Path("/models/small.gguf")


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "install_local_model", install)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_logs_get_one_line_for_each_phase(kedi: Run) -> None:
    status, out, err = kedi("model", "install")
    assert status == 0
    assert out == "The local model is installed: /models/small.gguf\n"
    assert err.splitlines() == ["downloading 100 MB", "verifying 100 MB", "unpacking 100 MB"]


def test_a_terminal_gets_a_bar_that_is_drawn_only_when_it_changes(
    kedi: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert kedi("model", "install").status == 0
    frames = screen.getvalue().split("\r")[1:]
    assert len(frames) == 12
    assert frames[2] == "downloading [###############...............]  50% of 100 MB"
    assert frames[-1] == "unpacking   [##############################] 100% of 100 MB\n"


def test_a_failure_ends_the_bar_and_says_why(kedi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(progress: Progress) -> Path:
        progress("download", 1, 2)
        raise ModelInstallError("no network")

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(model, "install_local_model", failing)
    monkeypatch.setenv("NO_COLOR", "1")
    status, out, _ = kedi("model", "install")
    assert (status, out) == (1, "")
    assert screen.getvalue().endswith("MB\nerror: no network\n")


def test_an_interrupt(kedi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(progress: Progress) -> Path:
        progress("download", 1, 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "install_local_model", interrupted)
    status, _, err = kedi("model", "install")
    assert status == 130
    assert err.endswith("interrupted\n")


@pytest.mark.parametrize(
    ("phases", "said"),
    [
        (["verify"], "is already installed"),
        (["verify", "download", "verify", "extract"], "was damaged and is installed again"),
    ],
)
def test_an_installed_model_is_only_called_so_when_it_is_kept(
    kedi: Run, monkeypatch: pytest.MonkeyPatch, phases: list[Phase], said: str
) -> None:
    def again(progress: Progress) -> Path:
        for phase in phases:
            progress(phase, 1, 1)
        return Path("/models/small.gguf")

    monkeypatch.setattr(model, "install_local_model", again)
    monkeypatch.setattr(model, "find_local_model", lambda: Path("/models/small.gguf"))
    assert kedi("model", "install").out == f"The local model {said}: /models/small.gguf\n"
