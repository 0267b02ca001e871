"""Every code block of the documentation runs and shows what the page promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.pages import RUN, Block, PageRunner, blocks_of

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def _blocks(page: Path) -> list[Block]:
    return list(blocks_of(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_do_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    runner = PageRunner(page.name, folder)
    problems: list[str] = []
    try:
        for block in _blocks(page):
            try:
                runner.run(block)
            except Exception as error:
                problems.append(f"{page.name}, line {block.line}: {type(error).__name__}: {error}")
    finally:
        runner.close()
    assert not problems, "\n\n".join(problems)


@pytest.mark.local_model
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_for_the_local_model_run(page: Path) -> None:
    blocks = [block for block in _blocks(page) if "local model" in block.directives]
    for block in blocks:
        assert block.language == "python"
        exec(compile(block.code, f"{page.name}:{block.line}", "exec"), {"__name__": "page"})


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"\]\(([a-z]+\.md)\)", index))
    assert listed == {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}


def test_most_blocks_are_run() -> None:
    blocks = [block for page in PAGES for block in _blocks(page) if block.language in RUN]
    skipped = [block for block in blocks if "not run" in block.directives]
    assert len(blocks) > 100
    assert len(skipped) < len(blocks) / 10


def test_a_wrong_promise_is_found(tmp_path: Path) -> None:
    text = "```kedi\n= `1 + 1`  # gives 3\n```\n\n```python\nprint(1)  # prints 2\n```\n"
    runner = PageRunner("page", tmp_path)
    for block in blocks_of(text):
        with pytest.raises(AssertionError):
            runner.run(block)
    runner.close()
