"""What the front pages claim: links lead somewhere, commands exist, the example runs."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("tests/*/*.md")]
    if not {".venv", "node_modules"} & set(path.parts)
)


def _targets(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.findall(r"\]\(([^)\s]+)\)", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    links = [t.partition("#")[0] for t in _targets(page) if not re.match(r"[a-z]+:|#", t)]
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    named = set(re.findall(r"`make ([a-z]+)", text)) | set(
        re.findall(r"^make ([a-z]+)", text, re.M)
    )
    assert named
    assert named <= targets


@pytest.mark.local_model
def test_the_example_of_the_readme_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(example, "README.md", "exec"), {"__name__": "readme"})
    shouted, rendered, length = out.getvalue().splitlines()
    capital = rendered.removesuffix(" it is")
    assert shouted == f"{capital.upper()}!" * 2
    assert int(length) == len(capital)
