"""Running the code blocks of documentation pages.

A page runs from top to bottom in one empty folder. HTML comments right above a
block, one directive each, say how it differs from a plain one:

| directive | meaning |
| --- | --- |
| ``<!-- continued -->`` | in the session (or namespace) of the block before |
| ``<!-- program -->`` | a whole program, not a fragment |
| ``<!-- file: PATH -->`` | the text of a file; written, not run |
| ``<!-- model: JSON -->`` | a list of answers for the scripted model; all must be asked for |
| ``<!-- error: CLASS -->`` | it fails with this error |
| ``<!-- prints -->`` | a text block: what the block before printed |
| ``<!-- trace -->`` | a text block: how the error of the block before reads |
| ``<!-- local model -->`` | needs the real local model |
| ``<!-- not run: REASON -->`` | a form or an excerpt that cannot run |

Inside a block, ``# gives VALUE`` after a return is its value as Python writes it, and
``# prints TEXT`` after something that prints is that line. ``console`` blocks hold commands
after ``$`` and their output, where a line ``...`` stands for any lines.

``python -m tests.docs.pages PAGE…`` writes what really comes out into the text and console
blocks of pages; read the difference before you keep it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kedi
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import KediError

_DIRECTIVE = re.compile(r"<!-- ([a-z ]+?)(?:: (.*))? -->")
_OPENING = re.compile(r"( *)(`{3,}|~{3,})([a-z]*) *$")
_PROMISE = re.compile(r"^(\s*(?:=|return |> show:|print\().*?)\s+# (gives|prints) (.*)$")
_KNOWN = frozenset(
    ("continued", "program", "file", "model", "error", "prints", "trace", "local model", "not run")
)
RUN = frozenset(("kedi", "python", "console"))


@dataclass(frozen=True)
class Block:
    """A fenced block: ``line`` is the 1-based line of its first line of code."""

    language: str
    code: str
    line: int
    directives: dict[str, str] = field(default_factory=dict)
    indent: str = ""


def blocks_of(text: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text with the directives above them."""
    lines = text.split("\n")
    at = 0
    directives: dict[str, str] = {}
    while at < len(lines):
        line = lines[at]
        at += 1
        if found := _DIRECTIVE.fullmatch(line.strip()):
            if found[1] not in _KNOWN:
                raise ValueError(f"line {at}: unknown directive {found[1]!r}")
            directives[found[1]] = found[2] or ""
            continue
        opening = _OPENING.fullmatch(line)
        if opening is None:
            directives = {}
            continue
        start = at
        while lines[at].strip() != opening[2]:
            at += 1
        code = textwrap.dedent("\n".join(lines[start:at]))
        yield Block(opening[3], code, start + 1, directives, opening[1])
        directives = {}
        at += 1


class PageRunner:
    """State of a page while its blocks run: session, namespace, model and last outcome."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.session: kedi.InteractiveSession | None = None
        self.namespace: dict[str, Any] = {}
        self.answers: list[Any] = []
        self.printed = ""
        self.error: BaseException | None = None

    def run(self, block: Block) -> None:
        """Run one block; ``AssertionError`` or the block's own error when it is not as promised."""
        directives = block.directives
        if "not run" in directives:
            assert directives["not run"], "say why the block is not run"
        elif directives.keys() & {"prints", "trace"}:
            _same(self.actual(block), block.code)
        elif "file" in directives:
            path = self.folder / directives["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code + "\n", encoding="utf-8")
        elif block.language in RUN and "local model" not in directives:
            self._execute(block)

    def actual(self, block: Block) -> str:
        """What a text or console block should say."""
        if "prints" in block.directives:
            return self._neutral(self.printed).rstrip("\n")
        if "trace" in block.directives:
            assert self.error is not None, "the block before did not fail"
            return self._trace()
        parts: list[str] = []
        for command, expected in _commands(block.code):
            shown = self._shell(command)
            parts += [f"$ {command}", expected if _fits(shown, expected) else shown]
        return "\n".join(part for part in parts if part)

    def close(self) -> None:
        """End the session of the page."""
        if self.session is not None:
            self.session.close()

    def _execute(self, block: Block) -> None:
        promised = {"gives": [], "prints": []}
        for line in block.code.split("\n"):
            if found := _PROMISE.match(line):
                promised[found[2]].append(found[3])
        if "model" in block.directives:
            self.answers += json.loads(block.directives["model"])
        expected = block.directives.get("error")
        out = io.StringIO()
        self.error = None
        value: Any = None
        with contextlib.redirect_stdout(out):
            try:
                value = getattr(self, f"_{block.language}")(block)
            except Exception as error:
                if expected is None:
                    raise
                self.error = error
        self.printed = out.getvalue()
        if expected is not None:
            assert self.error is not None, f"expected {expected}, nothing was raised"
            assert type(self.error).__name__ == expected, repr(self.error)
        if promised["prints"]:
            _same(self.printed.rstrip("\n"), "\n".join(promised["prints"]))
        if promised["gives"]:
            _same(repr(value), "\n".join(promised["gives"]))
        left, self.answers = self.answers, []
        assert not left, f"nobody asked for {left}"

    def _answer(self, prompt: str) -> Any:
        assert self.answers, f"no answer for the prompt {prompt!r}"
        return self.answers.pop(0)

    def _kedi(self, block: Block) -> Any:
        adapter = ScriptedAdapter(self._answer)
        if "program" in block.directives:
            from kedi.lang import compile_program, parse_program

            program = parse_program(block.code, source_name="program.kedi")
            with compile_program(program, adapter=adapter) as runtime:
                return runtime.run_main()
        if "continued" not in block.directives:
            self.close()
            self.session = kedi.interactive(adapter=adapter)
        assert self.session is not None
        return self.session.execute(block.code)

    def _python(self, block: Block) -> None:
        if "continued" not in block.directives:
            self.namespace = {"__name__": "page"}
        # Empty lines put the code at its true line, so that a failure points into the page.
        code = "\n" * (block.line - 1) + block.code
        exec(compile(code, self.name, "exec", dont_inherit=True), self.namespace)

    def _console(self, block: Block) -> None:
        _same(self.actual(block), block.code)

    def _shell(self, command: str) -> str:
        path = f"{_bin(self.folder)}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            cwd=self.folder,
            encoding="utf-8",
            env={**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
        )
        return self._neutral(done.stdout).rstrip("\n")

    def _trace(self) -> str:
        error = self.error
        text = (
            error.render() if isinstance(error, KediError) else f"{type(error).__name__}: {error}"
        )
        return self._neutral(text)

    def _neutral(self, text: str) -> str:
        """``text`` without what differs from run to run."""
        for folder in {str(self.folder.resolve()), str(self.folder)}:
            text = text.replace(folder + os.sep, "").replace(folder, ".")
        if home := os.environ.get("KEDI_HOME"):
            text = text.replace(home, "$KEDI_HOME")
        return re.sub(r"\d+(?:\.\d+)? (?:ms|s)\b", "0.1 ms", text)


def _same(shown: str, promised: str) -> None:
    if shown != promised:
        raise AssertionError(f"\n{shown}\n--- but the page says ---\n{promised}")


def _commands(code: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", code, flags=re.M)[1:]:
        lines = part.split("\n")
        count = 1
        while lines[count - 1].endswith("\\"):
            count += 1
        yield "\n".join(lines[:count]), "\n".join(lines[count:]).rstrip("\n")


def _fits(shown: str, expected: str) -> bool:
    parts = re.split(r"^\.\.\.$", expected, flags=re.M)
    return re.fullmatch(r"[^\0]*?".join(map(re.escape, parts)), shown) is not None


def _bin(folder: Path) -> Path:
    """A folder with a ``kedi`` command that runs this interpreter's package."""
    place = folder.parent / "bin"
    script = place / "kedi"
    if not script.exists():
        place.mkdir(exist_ok=True)
        root = Path(kedi.__file__).parent.parent
        script.write_text(
            f'#!/bin/sh\nPYTHONPATH="{root}" exec "{sys.executable}" -m kedi "$@"\n', "utf-8"
        )
        script.chmod(0o755)
    return place


def regenerate(page: Path, folder: Path) -> str:
    """The page with what its blocks really show."""
    lines = page.read_text(encoding="utf-8").split("\n")
    runner = PageRunner(page.name, folder)
    changes: list[tuple[Block, str]] = []
    for block in blocks_of("\n".join(lines)):
        shows = block.directives.keys() & {"prints", "trace"} or block.language == "console"
        if shows and "not run" not in block.directives:
            changes.append((block, runner.actual(block)))
        else:
            runner.run(block)
    runner.close()
    for block, text in reversed(changes):
        start = block.line - 1
        new = [block.indent + line if line else "" for line in text.split("\n")]
        lines[start : start + (len(block.code.split("\n")) if block.code else 0)] = new
    return "\n".join(lines)


if __name__ == "__main__":
    import tempfile

    for target in [Path(name).resolve() for name in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as place:
            os.environ["KEDI_HOME"] = str(Path(place, "home"))
            inner = Path(place, "page")
            inner.mkdir()
            os.chdir(inner)
            target.write_text(regenerate(target, inner), encoding="utf-8")
            os.chdir(target.parent)
