"""Reference pages list what there is: options, directives, parameters, errors, types, events."""

from __future__ import annotations

import inspect
import re

import pytest

import kedi.errors
from kedi.agents.config import PARAMETERS, unsupported_inputs
from kedi.agents.registry import ADAPTERS, available
from kedi.cli.main import main
from kedi.debugging import Observer
from kedi.runtime.types import builtin_types
from kedi.session.config import resolve_config
from kedi.syntax.directives import DIRECTIVES
from tests.conftest import ROOT


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["", "parse", "install", "model"])
def test_the_command_page_has_the_options_and_usages_of_the_help(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    page = _page("cli.md")
    usages = re.findall(r"kedi .*", shown.partition("\n\n")[0])
    assert usages
    assert not [usage for usage in usages if usage not in page]
    options = re.findall(r"^ +((?:-\w, )?--[\w-]+(?: [A-Z]+)?)", shown, re.M)
    assert options
    for option in options:
        flag, _, value = option.rpartition("--")[2].partition(" ")
        assert f"--{flag}{' ' + value if value else ''}`" in page


def test_the_command_page_has_no_other_options(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    table = _page("cli.md").partition("## Options")[2].partition("## ")[0]
    assert set(re.findall(r"--[a-z][a-z-]*", table)) <= known


def test_every_directive_is_explained() -> None:
    pages = _page("language.md") + _page("suites.md") + _page("packages.md")
    known = set(DIRECTIVES)
    assert not [name for name in known if not re.search(rf"> {name}\b", pages)]
    named = set(re.findall(r"`+> ([a-z_]+):", pages)) - {"name"}
    assert named <= known


def test_every_parameter_of_sessions_is_in_the_table() -> None:
    table = _page("sessions.md").partition("## Configuration")[2].partition("## ")[0]
    own = [
        name
        for name, item in inspect.signature(resolve_config).parameters.items()
        if item.kind is item.KEYWORD_ONLY
    ]
    rows = [row for row in table.split("\n") if row.startswith("| ")]
    for name in (*PARAMETERS, *own):
        assert any(f"`{name}`" in row.split("|")[1] for row in rows), name
    for name in set(unsupported_inputs()) - {"approval"}:
        row = next(row for row in rows if f"`{name}`" in row.split("|")[1])
        assert row.split("|")[3].strip() == "refused", name


def test_every_error_class_is_named() -> None:
    page = _page("errors.md")
    classes = [
        name
        for name in kedi.errors.__all__
        if issubclass(getattr(kedi.errors, name), BaseException)
    ]
    assert len(classes) > 10
    assert not [name for name in classes if f"`{name}`" not in page]


def test_every_builtin_type_is_named() -> None:
    section = _page("language.md").partition("## Types")[2].partition("## ")[0]
    aliases = {"List", "Dict", "Set", "FrozenSet", "Tuple"}
    assert not [
        name for name in builtin_types() if name not in aliases and f"`{name}`" not in section
    ]


def test_every_event_is_named() -> None:
    page = _page("debugging.md")
    events = [name for name, item in vars(Observer).items() if name[0] != "_" and callable(item)]
    assert "statement" in events
    assert not [name for name in events if f"`{name}(" not in page]


def test_every_adapter_is_named() -> None:
    page = _page("models.md")
    assert not [name for name in ADAPTERS if f"`{name}`" not in page]
    headings = set(re.findall(r"^## `([a-z]+)`", page, re.M))
    assert headings == set(available())
