"""The page about terminal sessions shows what comes of its inputs and lists every command."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from kedi.repl.commands import COMMANDS
from kedi.repl.transcript import continued, primary
from tests.conftest import ROOT
from tests.docs.pages import blocks_of
from tests.repl.conftest import Done

PAGE = (ROOT / "docs" / "repl.md").read_text(encoding="utf-8")
SESSIONS = [block for block in blocks_of(PAGE) if "+++ " in block.code]


def _inputs_and_output(code: str) -> tuple[str, str]:
    lines = code[code.index("+++ ") :].split("\n")
    typed = [line for line in lines if primary(line) is not None or continued(line) is not None]
    return "\n".join(typed) + "\n", "".join(f"{line}\n" for line in lines if line not in typed)


@pytest.mark.parametrize("block", SESSIONS, ids=lambda block: f"line {block.line}")
def test_sessions_are_as_shown(idle: Callable[..., Done], block: object) -> None:
    typed, output = _inputs_and_output(block.code)  # type: ignore[attr-defined]
    assert idle(typed) == Done(0, output, "")


def test_there_are_sessions() -> None:
    assert len(SESSIONS) >= 4


def test_every_command_is_listed() -> None:
    table = PAGE.partition("## Commands")[2].partition("## ")[0]
    listed = set(re.findall(r"^\| (?:`[^|]*, )?`:([a-z]+)", table, re.M)) | {"help"}
    assert listed == {spec.name for spec in COMMANDS}
    for spec in COMMANDS:
        assert f"`:{spec.name} {spec.argument}".rstrip() + "`" in table
