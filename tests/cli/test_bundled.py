"""The modules that come with Kedi."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kedi._version import __version__
from kedi.analysis.module_files import BUNDLED
from kedi.errors import KediExecutionError
from kedi.lang import compile_program, parse_program
from kedi.syntax.ast import Procedure

Write = Callable[[str, str], Path]


def run(text: str) -> Any:
    with compile_program(parse_program(text)) as runtime:
        return runtime.run_main()


@pytest.mark.parametrize("path", sorted(BUNDLED.glob("*.kedi")), ids=lambda path: path.stem)
def test_every_module_initialises_and_exports_documented_procedures(path: Path) -> None:
    program = parse_program(path.read_text(encoding="utf-8"), str(path))
    assert run(f"> import: {path.stem}\n= ok") == "ok"
    nodes = [stmt.node for stmt, _ in program.top_level()]
    names = [node.name.text for node in nodes if isinstance(node, Procedure)]
    assert names
    for name in names:
        assert run(f"> import: {path.stem}\n= `{name}.__doc__`")


def test_this() -> None:
    text = run("> import: this\n= <this()>")
    assert len(text.splitlines()) == run("> import: this\n= `len(principles)`") > 5
    assert run("> import: this\n= `kedi_version`") == __version__


def test_a_file_beside_the_program_wins(write: Write) -> None:
    write("this.kedi", "@this() -> str:\n  = mine\n> export: *\n")
    program = parse_program("> import: this\n= <this()>", str(Path("main.kedi").absolute()))
    with compile_program(program) as runtime:
        assert runtime.run_main() == "mine"


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("bullets(['a', 1])", "- a\n- 1"),
        ("bullets([])", ""),
        ("numbered(['a', 'b'])", "1. a\n2. b"),
        ("numbered(['a'], 7)", "7. a"),
        ("clip('abcdef', 3)", "ab…"),
        ("clip('abc', 3)", "abc"),
        ("clip('abc', 1)", "…"),
        ("tagged('note', ' x ')", "<note>\nx\n</note>"),
        ("as_json({'a': [1, 'ü']})", '{\n  "a": [\n    1,\n    "ü"\n  ]\n}'),
        ("as_json(P(1))", '{\n  "a": 1\n}'),
    ],
)
def test_prompting(call: str, result: str) -> None:
    assert run(f"> import: prompting\n~P(a: int)\n= `{call}`") == result


def test_prompting_refuses_what_makes_no_sense() -> None:
    with pytest.raises(KediExecutionError, match="at least 1"):
        run("> import: prompting\n= `clip('abc', 0)`")
