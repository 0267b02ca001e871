"""The distribution as a user gets it: sources to sdist to wheel to a fresh environment."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Standard output of ``command``; an error that shows both streams when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def sdist_tree(tmp_path_factory: pytest.TempPathFactory, outside_env: dict[str, str]) -> Path:
    """The unpacked source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    run(
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "sdist",
        "-d",
        folder,
        cwd=ROOT,
        env=outside_env,
    )
    (archive,) = folder.glob("kedi-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="session")
def wheel(
    sdist_tree: Path, tmp_path_factory: pytest.TempPathFactory, outside_env: dict[str, str]
) -> Path:
    """The wheel, built from the source distribution as an installer would."""
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder,
        cwd=sdist_tree, env=outside_env,
    )  # fmt: skip
    (path,) = folder.glob("kedi-*.whl")
    return path


@dataclass(frozen=True)
class Installed:
    """A fresh environment that holds the wheel and its dependencies, and a folder to run in."""

    bin: Path
    work: Path
    env: dict[str, str]

    def python(self, code: str) -> str:
        """Output of ``code`` in that environment, with nothing of this clone on its path."""
        return run(self.bin / "python", "-c", code, cwd=self.work, env=self.env)

    def kedi(self, *args: str) -> str:
        """Output of the installed command."""
        return run(self.bin / "kedi", *args, cwd=self.work, env=self.env)


@pytest.fixture(scope="session")
def installed(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory, outside_env: dict[str, str]
) -> Installed:
    """Install the wheel without extras, from the registry and pip's cache."""
    folder = tmp_path_factory.mktemp("fresh env")
    work = tmp_path_factory.mktemp("elsewhere")
    env = {k: v for k, v in outside_env.items() if not k.startswith(("KEDI_", "PYTHON"))}
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=work, env=env)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", wheel, cwd=work, env=env)
    return Installed(
        folder / "bin", work, {**env, "HOME": str(work), "KEDI_HOME": str(work / ".kedi")}
    )
