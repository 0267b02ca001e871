"""Programs: run from their start each time, with what the host gave."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from kedi.errors import KediCompileError, KediExecutionError, SessionStateError
from kedi.lang import compile_program, parse_program


def run(source: str, **options: Any) -> Any:
    with compile_program(parse_program(source), **options) as runtime:
        return runtime.run_main()


def test_a_program_starts_afresh() -> None:
    source = "[n: int] = `0`\n[base] := `base + 1`\n`base += 1`\n`n += base`\n= `n`"
    with compile_program(parse_program(source), runtime_globals={"base": 1}) as runtime:
        assert [runtime.run_main() for _ in range(3)] == [3, 3, 3]
        runtime.set_initial_globals({"base": 10})
        assert [runtime.run_main() for _ in range(2)] == [12, 12]


def test_modules_are_initialised_once_per_runtime(tmp_path: Path) -> None:
    (tmp_path / "m.kedi").write_text("> show: init\n[v: int] = `1`\n> export: *\n", "utf-8")
    program = parse_program("> import: m\n`v += 1`\n= `v`", str(tmp_path / "main.kedi"))
    out = io.StringIO()
    with redirect_stdout(out), compile_program(program) as runtime:
        assert [runtime.run_main(), runtime.run_main()] == [2, 2]
    assert out.getvalue() == "init\n"


def test_arguments_of_the_program() -> None:
    assert run("= `(args.name, args.missing)`", arguments={"name": "Ada"}) == ("Ada", None)
    assert run("= <`args.name`>", arguments={"name": 5}) == "5"
    assert run("= `options.name`", arguments={"name": "x"}, args_name="options") == "x"
    with pytest.raises(KediExecutionError):
        run("`options = 1`", args_name="options")


def test_where_shown_lines_go() -> None:
    lines: list[str] = []
    run("> show: one\n> show: `2`", show=lines.append)
    assert lines == ["one", "2"]


def test_failures_leave_a_program_usable() -> None:
    with compile_program(parse_program("= `1 / n`"), runtime_globals={"n": 0}) as runtime:
        with pytest.raises(KediExecutionError):
            runtime.run_main()
        runtime.set_initial_globals({"n": 1})
        assert runtime.run_main() == 1.0
    with pytest.raises(SessionStateError):
        runtime.run_main()
    runtime.close()


def test_running_while_running_is_refused() -> None:
    seen: list[Exception] = []

    def again() -> None:
        try:
            runtime.run_main()
        except SessionStateError as error:
            seen.append(error)

    runtime = compile_program(parse_program("`again()`\n= done"), runtime_globals={"again": again})
    assert runtime.run_main() == "done"
    assert len(seen) == 1
    runtime.close()


def test_compile_errors_come_before_running() -> None:
    with pytest.raises(KediCompileError):
        run("> show: ran\n[x: Nope] = a")


def test_each_run_is_a_module_of_its_own() -> None:
    source = "```\nclass C: pass\n```\n= `C`"
    with compile_program(parse_program(source)) as runtime:
        one, two = runtime.run_main(), runtime.run_main()
    assert one is not two
    assert one.__module__ != two.__module__
