"""Fixtures of the analysis tests: short forms of findings, with exact places."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from kedi.analysis.checks import compile_errors
from kedi.analysis.names import Names
from kedi.analysis.resolve import Analysis, Options, analyze
from kedi.diagnostics import Diagnostic
from kedi.syntax import parse, parse_or_raise


def short(items: Iterable[Diagnostic]) -> list[str]:
    """``code line:column-end`` of each finding; the end line only when it differs."""
    out: list[str] = []
    for item in items:
        _, line, column, end_line, end_column = item.span
        end = f"{end_column}" if end_line == line else f"{end_line}:{end_column}"
        out.append(f"{item.code} {line}:{column}-{end}")
    return out


@pytest.fixture
def errors() -> Callable[..., list[Diagnostic]]:
    """Compile errors of a source that must parse."""

    def run(source: str, names: Names | None = None, mode: str = "file") -> list[Diagnostic]:
        program = parse_or_raise(source, "a.kedi", mode=mode)  # type: ignore[arg-type]
        return compile_errors(program, names)

    return run


@pytest.fixture
def check(errors: Callable[..., list[Diagnostic]]) -> Callable[..., list[str]]:
    """Compile errors in short form; the analysis for tools must find the same ones."""

    def run(source: str, names: Names | None = None, mode: str = "file") -> list[str]:
        found = errors(source, names, mode)
        program = parse_or_raise(source, "a.kedi", mode=mode)  # type: ignore[arg-type]
        tools = analyze(program, names, options=Options(lint=False)).diagnostics
        assert sorted(short(tools)) == sorted(short(found))
        assert [item.message for item in sorted(tools, key=str)] == [
            item.message for item in sorted(found, key=str)
        ]
        return short(found)

    return run


@pytest.fixture
def analysis() -> Callable[..., Analysis]:
    """The analysis of any text."""

    def run(source: str, names: Names | None = None, **options: object) -> Analysis:
        mode = options.pop("mode", "file")
        result = parse(source, "a.kedi", mode=mode)  # type: ignore[arg-type]
        return analyze(result.program, names, options=Options(**options))  # type: ignore[arg-type]

    return run


@pytest.fixture
def lints(analysis: Callable[..., Analysis]) -> Callable[..., list[str]]:
    """Warnings and hints of a text in short form."""

    def run(source: str, names: Names | None = None, **options: object) -> list[str]:
        found = analysis(source, names, **options).diagnostics
        return short(item for item in found if item.severity != "error")

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[[dict[str, str | bytes]], Path]:
    """Write files below a fresh directory and give that."""

    def run(files: dict[str, str | bytes]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path

    return run
