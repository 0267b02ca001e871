"""What is in the wheel, and that it works in an environment of its own."""

from __future__ import annotations

import ast
import sys
import zipfile
from pathlib import Path

import pytest

import kedi_dap
import kedi_lsp
from kedi._version import __version__
from tests.conftest import ROOT
from tests.packaging.conftest import Installed, run

PACKAGES = {
    "kedi": ROOT / "kedi",
    "kedi_dap": Path(kedi_dap.__file__).parent,
    "kedi_lsp": Path(kedi_lsp.__file__).parent,
}
EXTRAS = {"all", "dap", "dev", "local", "lsp", "mcp", "pydantic", "repl"}


def test_wheel_holds_every_source_file_and_nothing_else(wheel: Path) -> None:
    expected = {
        f"{name}/{path.relative_to(folder).as_posix()}"
        for name, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        info = {name.partition(".dist-info/")[2] for name in archive.namelist()} - {""}
    assert names == expected
    assert "licenses/LICENSE" in info


@pytest.mark.parametrize("name", ["kedi/syntax/grammar.lark", "kedi/py.typed"])
def test_data_files_are_in_the_wheel(wheel: Path, name: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert name in archive.namelist()


def test_sdist_is_a_whole_project(sdist_tree: Path) -> None:
    top = {path.name for path in sdist_tree.iterdir()}
    wanted = {"Makefile", "README.md", "LICENSE", "dap", "docs", "kedi", "lsp", "pyproject.toml"}
    assert wanted <= top
    assert not top & {".git", ".venv", "dist"}


def test_metadata(installed: Installed) -> None:
    code = """
from importlib.metadata import distribution
d = distribution("kedi")
print(repr((
    d.version,
    sorted(e.name + " = " + e.value for e in d.entry_points),
    sorted(d.metadata.get_all("Provides-Extra")),
    sorted(r for r in d.requires if "extra ==" not in r),
    d.metadata["License-Expression"],
)))
"""
    version, scripts, extras, requires, license_ = ast.literal_eval(installed.python(code))
    assert version == __version__
    assert scripts == ["kedi = kedi.cli.main:main", "kedi = kedi.repl.lexer:KediLexer"]
    assert set(extras) == EXTRAS
    assert [r.partition(">")[0] for r in requires] == ["lark", "orjson", "pydantic"]
    assert license_ == "Apache-2.0"


def test_installed_package_is_not_the_clone(installed: Installed) -> None:
    path = Path(installed.python("import kedi; print(kedi.__file__)").strip())
    assert path.is_relative_to(installed.bin.parent)


def test_command_runs(installed: Installed) -> None:
    assert __version__ in installed.kedi("--version")
    assert installed.kedi("-c", "= ok `6 * 7`") == "ok 42\n"
    (installed.work / "hello.kedi").write_text(
        "@hello(who: str) -> str:\n  = Hello, <who>!\n= <hello(<`args.name`>)>\n", encoding="utf-8"
    )
    assert installed.kedi("hello.kedi", "--name", "Ada") == "Hello, Ada!\n"


def test_sessions_run(installed: Installed) -> None:
    code = """
import kedi
with kedi.interactive() as session:
    session.execute("[base: int] = `40`")
    session.execute("@add_two() -> int:\\n  = `base + 2`")
    print(repr(session.execute("= `add_two()`")), kedi.__version__)
"""
    assert installed.python(code) == f"42 {__version__}\n"


def test_every_module_imports_without_extras(installed: Installed) -> None:
    # What only a real terminal loads stands on the `repl` extra.
    code = """
import importlib, pkgutil, sys
import kedi, kedi_dap, kedi_lsp
needs_repl = {"kedi.repl." + name for name in ("lexer", "terminal")}
for package in (kedi, kedi_dap, kedi_lsp):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module.name.rpartition(".")[2] != "__main__" and module.name not in needs_repl:
            importlib.import_module(module.name)
            print(module.name)
"""
    names = installed.python(code).split()
    assert "kedi.syntax.ast" in names


def test_dependencies_agree(installed: Installed) -> None:
    python = installed.bin / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "check",
        cwd=installed.work,
        env=installed.env,
    )
