"""Read conformance cases and run one; every finding is a line of text."""

from __future__ import annotations

import ast
import contextlib
import io
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

_SETUP = {"name", "fragments", "mode", "source", "files", "options", "replies", "go_on"}
_OUTCOME = {"result", "results", "error", "stdout", "prompts", "fields", "after"}
_OF_AN_ERROR = {"contains", "fragment", "line"}


class ScriptedModel:
    """An adapter as a third party would write it: to the documented contract, nothing else."""

    kind = "agent-framework"
    shortname = "conformance"

    def __init__(self, replies: list[Any]) -> None:
        from kedi.agent_adapter import AdapterCapabilities

        self.capabilities = AdapterCapabilities(supports_structured_output=True)
        self.replies = list(replies)
        self.prompts: list[str] = []
        self.fields: list[list[str]] = []

    def produce_sync(self, *, template: str, output_schema: dict[str, Any], **_: Any) -> Any:
        self.prompts.append(template)
        self.fields.append(list(output_schema))
        return self.replies.pop(0)

    async def produce(self, *, template: str, output_schema: dict[str, Any], **kw: Any) -> Any:
        return self.produce_sync(template=template, output_schema=output_schema, **kw)

    def invoke_sync(self, *, prompt: str, **_: Any) -> Any:
        self.prompts.append(prompt)
        self.fields.append([])
        return self.replies.pop(0)

    async def invoke(self, *, prompt: str, **kw: Any) -> Any:
        return self.invoke_sync(prompt=prompt, **kw)


@dataclass
class Outcome:
    """What a run left behind. ``after`` holds the values of the names that the case asks for."""

    results: list[Any] = field(default_factory=list)
    error: BaseException | None = None
    after: dict[str, Any] = field(default_factory=dict)
    stdout: str = ""


def load(path: Path) -> list[dict[str, Any]]:
    """Cases of one file. Raises ``ValueError`` for a case that states nothing or too much."""
    cases: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    seen: set[str] = set()
    for case in cases:
        name = case.get("name", "?")
        if unknown := case.keys() - _SETUP - _OUTCOME - _OF_AN_ERROR:
            raise ValueError(f"{path.name}::{name}: unknown keys {sorted(unknown)}")
        if not case.keys() & _OUTCOME:
            raise ValueError(f"{path.name}::{name}: expects nothing")
        if case.keys() & _OF_AN_ERROR and "error" not in case:
            raise ValueError(f"{path.name}::{name}: describes an error it does not expect")
        if ("source" if case.get("mode") == "program" else "fragments") not in case:
            raise ValueError(f"{path.name}::{name}: has nothing to run")
        if name in seen:
            raise ValueError(f"{path.name}::{name}: the name is taken")
        seen.add(name)
    return cases


def all_cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every case beside this module, with its full name."""
    for path in sorted(HERE.glob("*.toml")):
        for case in load(path):
            yield f"{path.stem}::{case['name']}", case


def run(case: dict[str, Any]) -> list[str]:
    """Run ``case`` in the working folder, which should be empty; what falls short, in words."""
    folder = Path.cwd()
    for name, text in case.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    model = ScriptedModel(case.get("replies", []))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if case.get("mode") == "program":
            outcome = _run_program(case["source"], folder, model)
        else:
            outcome = _run_fragments(case, model)
    outcome.stdout = out.getvalue()
    return [*_judge_error(case, outcome), *_judge_values(case, outcome), *_judge_calls(case, model)]


def _run_program(source: str, folder: Path, model: ScriptedModel) -> Outcome:
    from kedi.lang import compile_program, parse_program

    outcome = Outcome()
    try:
        program = parse_program(source, source_path=str(folder / "main.kedi"))
        outcome.results.append(compile_program(program, adapter=model).run_main())
    except (Exception, SystemExit) as error:
        outcome.error = error
    return outcome


def _run_fragments(case: dict[str, Any], model: ScriptedModel) -> Outcome:
    import kedi

    outcome = Outcome()
    last = len(case["fragments"]) - 1
    with kedi.interactive(adapter=model, **case.get("options", {})) as session:
        for index, fragment in enumerate(case["fragments"]):
            try:
                outcome.results.append(session.execute(fragment))
            except (Exception, SystemExit) as error:
                if index != last and not case.get("go_on"):
                    raise
                outcome.error = error
        for name in case.get("after", {}):
            outcome.after[name] = session.execute(f"= `{name}`")
    return outcome


def same(expected: Any, actual: Any) -> bool:
    """Equal and of the same type."""
    return type(expected) is type(actual) and expected == actual


def _place(error: BaseException) -> tuple[str | None, int | None]:
    """Source name and line of the innermost Kedi frame, or of the first diagnostic."""
    frames = getattr(error, "frames", None)
    diagnostics = getattr(error, "diagnostics", None)
    if frames:
        span = frames[-1].span
    elif diagnostics:
        span = diagnostics[0].span
    else:
        return None, None
    return span.source_name, span.line


def _judge_error(case: dict[str, Any], outcome: Outcome) -> Iterator[str]:
    error = outcome.error
    if "error" not in case:
        if error is not None:
            yield f"raised {type(error).__name__}: {error}"
        return
    if error is None:
        yield f"no error, expected {case['error']}; results {outcome.results!r}"
        return
    if case["error"] not in {base.__name__ for base in type(error).__mro__}:
        yield f"raised {type(error).__name__}: {error}, expected {case['error']}"
    text = error.render() if hasattr(error, "render") else str(error)
    for part in case.get("contains", []):
        if part not in text:
            yield f"the error lacks {part!r}: {text}"
    source, line = _place(error)
    if case.get("fragment", source) != source:
        yield f"error in {source!r}, expected {case['fragment']!r}"
    if case.get("line", line) != line:
        yield f"error at line {line}, expected {case['line']}"


def _judge_values(case: dict[str, Any], outcome: Outcome) -> Iterator[str]:
    results = outcome.results
    if "result" in case and outcome.error is None:
        expected = ast.literal_eval(case["result"])
        if not results or not same(expected, results[-1]):
            yield f"results {results!r}, expected the last to be {expected!r}"
    if "results" in case:
        expected = [ast.literal_eval(text) for text in case["results"]]
        if len(expected) != len(results) or not all(map(same, expected, results)):
            yield f"results {results!r}, expected {expected!r}"
    for name, literal in case.get("after", {}).items():
        if not same(ast.literal_eval(literal), outcome.after[name]):
            yield f"afterwards {name} is {outcome.after[name]!r}, expected {literal}"
    if case.get("stdout", outcome.stdout) != outcome.stdout:
        yield f"stdout {outcome.stdout!r}, expected {case['stdout']!r}"


def _judge_calls(case: dict[str, Any], model: ScriptedModel) -> Iterator[str]:
    if case.get("prompts", model.prompts) != model.prompts:
        yield f"prompts {model.prompts!r}, expected {case['prompts']!r}"
    if case.get("fields", model.fields) != model.fields:
        yield f"fields {model.fields!r}, expected {case['fields']!r}"
