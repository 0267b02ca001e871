"""Imports point one way, and the contracts that say so can fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SKIP = shutil.ignore_patterns("__pycache__")


def lint(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run the contracts of ``folder`` on the packages in it."""
    command = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--no-logo",
        "--no-cache",
        *args,
    ]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (folder, folder / "dap", folder / "lsp"))),
    }
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def test_imports_point_one_way() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages and the contracts, to break."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("kedi", "dap", "lsp"):
        shutil.copytree(ROOT / name, folder / name, ignore=SKIP)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        ("kedi/source.py", "kedi.errors", "layers"),
        ("kedi/errors.py", "kedi.syntax.ast", "layers"),
        ("kedi/syntax/ast.py", "kedi.analysis", "layers"),
        ("kedi/syntax/ast.py", "kedi.agents", "layers"),
        ("kedi/agents/__init__.py", "kedi.syntax", "layers"),
        ("kedi/agents/__init__.py", "kedi.runtime", "layers"),
        ("kedi/analysis/__init__.py", "kedi.runtime", "layers"),
        ("kedi/analysis/__init__.py", "kedi.agents", "analysis"),
        ("kedi/runtime/__init__.py", "kedi.session", "layers"),
        ("kedi/session/__init__.py", "kedi.cli", "layers"),
        ("kedi/session/__init__.py", "kedi_dap", "no-servers"),
        ("kedi/syntax/__init__.py", "pygls", "no-servers"),
        ("kedi/analysis/__init__.py", "lsprotocol.types", "no-servers"),
        ("lsp/kedi_lsp/__init__.py", "kedi_dap", "servers"),
        ("dap/kedi_dap/__init__.py", "kedi_lsp", "servers"),
    ],
)
def test_a_wrong_import_is_found(tree: Path, module: str, imported: str, contract: str) -> None:
    path = tree / module
    text = path.read_text(encoding="utf-8")
    try:
        # Inside a function: a lazy import is an import too.
        path.write_text(f"{text}\ndef _lazy():\n    import {imported}\n", encoding="utf-8")
        done = lint(tree, "--contract", contract)
    finally:
        path.write_text(text, encoding="utf-8")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout
