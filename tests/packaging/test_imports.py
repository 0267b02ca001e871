"""Optional and heavy parts load when they are used, never before.

Run where the extras are installed: an import that should not happen would succeed.
"""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.conftest import ROOT

# Each of these costs more than the whole budget of `kedi --version`.
HEAVY = {
    *("argparse", "asyncio", "concurrent.futures", "importlib.metadata", "multiprocessing"),
    *("ssl", "unittest", "urllib.request"),
}
CORE = {
    *("lark", "orjson", "pydantic", "pydantic_core", "annotated_types", "typing_extensions"),
    *("typing_inspection",),
}
_REPORT = """
import sys
before = set(sys.modules)
{code}
print()
loaded = set(sys.modules) - before
print({{
    "all": loaded,
    "foreign": {{
        name.partition(".")[0] for name in loaded
        if "-packages" in (getattr(sys.modules[name], "__file__", None) or "")
    }} - {{"kedi"}},
}})
"""


def loaded_by(code: str) -> dict[str, set[str]]:
    """Modules that ``code`` adds to a bare interpreter, and those from other distributions."""
    done = subprocess.run(
        [sys.executable, "-c", _REPORT.format(code=code)],
        capture_output=True, text=True, timeout=60, check=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )  # fmt: skip
    report: dict[str, set[str]] = ast.literal_eval(done.stdout.splitlines()[-1])
    return report


def test_the_probe_sees_what_is_loaded() -> None:
    report = loaded_by("import argparse, lark")
    assert "argparse" in report["all"]
    assert report["foreign"] == {"lark"} | (report["foreign"] & {"regex"})


@pytest.mark.parametrize(
    "code",
    [
        "import kedi",
        "import kedi; kedi.__version__",
        "from kedi.cli.main import main; main(['--version'])",
    ],
)
def test_light_starts_load_nothing_heavy(code: str) -> None:
    report = loaded_by(code)
    assert not report["foreign"]
    assert not report["all"] & HEAVY


@pytest.mark.parametrize(
    "code",
    [
        "from kedi.cli.main import main; main(['-c', '= ok'])",
        "import kedi; kedi.interactive().close()",
        "import kedi; s = kedi.interactive(); s.execute('= `1 + 1`'); s.close()",
    ],
)
def test_running_loads_only_the_core(code: str) -> None:
    report = loaded_by(code)
    assert report["foreign"] <= CORE
    assert not report["all"] & {"asyncio", "multiprocessing", "ssl", "unittest", "urllib.request"}
