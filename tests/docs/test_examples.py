"""Every example runs and prints what its last comment says.

A ``# run: COMMAND`` line (``kedi FILE`` when there is none) says how, ``# status: N`` how it
ends, and the comment after ``# prints:`` what appears. Examples that ask a model have their
answers beside them, in ``NAME.answers.json``.
"""

from __future__ import annotations

import json
import re
import runpy
import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.cli.main import main
from kedi.lang import compile_program, parse_program
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.kedi"))
ASKING = [path for path in PROGRAMS if path.with_suffix(".answers.json").exists()]
PLAIN = [path for path in PROGRAMS if path not in ASKING]


def _promised(path: Path) -> tuple[list[list[str]], int, str]:
    """``(commands, status, output)`` of an example."""
    lines = path.read_text(encoding="utf-8").split("\n")
    runs = [line.removeprefix("# run: kedi ") for line in lines if line.startswith("# run: ")]
    status = next((int(line[10:]) for line in lines if line.startswith("# status: ")), 0)
    at = lines.index("# prints:")
    output = [line.removeprefix("#").removeprefix(" ") for line in lines[at + 1 :] if line]
    return [shlex.split(run) for run in runs] or [[path.name]], status, "\n".join(output)


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the examples, the working folder."""
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.stem)
def test_program(path: Path, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if path.stem == "trip":
        assert main(["install", "units"]) == 0
        capsys.readouterr()
    commands, status, output = _promised(path)
    shown = ""
    for command in commands:
        assert main(command) == status
        captured = capsys.readouterr()
        shown += captured.out + captured.err
    shown = re.sub(r" \(\d+\.\d+ (?:ms|s)\)", "", shown)
    assert shown.rstrip("\n") == output


@pytest.mark.parametrize("path", ASKING, ids=lambda path: path.stem)
@pytest.mark.parametrize("engine", ["sequential", "parallel"])
def test_program_that_asks(
    path: Path, engine: str, examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = json.loads(path.with_suffix(".answers.json").read_text(encoding="utf-8"))
    model = ScriptedAdapter(answers)
    program = parse_program(path.read_text(encoding="utf-8"), str(examples / path.name))
    with compile_program(program, adapter=model, engine=engine) as runtime:
        value = runtime.run_main()
    shown = capsys.readouterr().out + ("" if value is None else str(value))
    assert shown.rstrip("\n") == _promised(path)[2]
    assert model.remaining == 0


def test_directives_reach_the_model(examples: Path) -> None:
    model = ScriptedAdapter(json.loads(Path("directives.answers.json").read_text("utf-8")))
    program = parse_program(Path("directives.kedi").read_text("utf-8"))
    with compile_program(program, adapter=model) as runtime:
        runtime.run_main()
    strict = "Judge like a strict editor.\nUse one word."
    assert model.options == [
        {"system": strict, "settings": {"max_tokens": 50}},
        {"system": "Answer in plain words."},
    ]


def test_every_file_is_listed() -> None:
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([^)#]+)\)", index))
    files = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".kedi", ".py")}
    assert files <= linked
    assert not [link for link in linked if not (EXAMPLES / link).exists()]


def test_host(capsys: pytest.CaptureFixture[str]) -> None:
    host = runpy.run_path(str(EXAMPLES / "host.py"), run_name="__main__")
    promised = host["__doc__"].partition("Prints:\n\n")[2]
    assert capsys.readouterr().out == textwrap.dedent(promised)


def _demo(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str, str]:
    argv = sys.argv
    sys.argv = ["demo.py", *arguments]
    try:
        with pytest.raises(SystemExit) as exit_:
            runpy.run_path(str(EXAMPLES / "demo.py"), run_name="__main__")
    finally:
        sys.argv = argv
    captured = capsys.readouterr()
    return exit_.value.code, captured.out, captured.err


def test_demo_without_a_model_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = _demo(capsys)
    assert status == 1
    assert "kedi model install" in err or "kedi[local]" in err


@pytest.mark.local_model
def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _demo(capsys)
    assert (status, err) == (0, "")
    assert "→ ('Dear Ada, greetings from Corner Books!', 4.5)" in out
    assert "→ 'Tokyo'" in out
    assert "→ 48214" in out
    assert "→ ['jane.doe@example.org', 'tom@example.net']" in out
    assert "ZeroDivisionError: float division by zero" in out
    last = out.rstrip().split("\n")[-1]
    assert re.fullmatch(
        r"done: 9 fragments \(1 failed, as intended\), 6 model calls, \d+ tokens, \d+\.\d seconds",
        last,
    )
