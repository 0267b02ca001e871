"""``@test`` suites: what runs, what a case sees, and what is reported."""

from __future__ import annotations

import pytest

from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import (
    KediExecutionError,
    KediNameError,
    KediParseError,
    KediTypeExecutionError,
    SessionStateError,
)
from kedi.lang import parse_program
from kedi.runtime.suites import CaseResult, TestReport, run_tests, test_cases
from tests.core.suites.conftest import Compile

DOUBLE = """
@double(n: int) -> int:
  = `n * 2`

"""


def failure(report: TestReport, index: int = 0) -> KediExecutionError:
    error = report.results[index].error
    assert isinstance(error, KediExecutionError)
    return error


def test_cases_run_in_order_and_failures_do_not_stop_the_rest(compiled: Compile) -> None:
    text = DOUBLE + (
        "@test: double:\n"
        "  > case: good:\n    `assert double(2) == 4`\n"
        "  > case: bad:\n    `assert double(2) == 5`\n"
        "  > case: also_good:\n    `double(1)`\n"
        "@test: double:\n"
        "  > case: second_suite:\n    `pass`\n"
    )
    seen: list[CaseResult] = []
    report = run_tests(compiled(text), on_result=seen.append)
    assert [(item.case.id, item.passed) for item in report.results] == [
        ("double::good", True),
        ("double::bad", False),
        ("double::also_good", True),
        ("double::second_suite", True),
    ]
    assert (report.passed, report.failed, report.source_name) == (3, 1, "suites.kedi")
    assert tuple(seen) == report.results
    assert report.results[0].case.span.line == 6
    assert report.results[1].case.span.line == 8
    error = failure(report, 1)
    assert error.frames[-1].span[:3] == ("suites.kedi", 9, 13)
    assert error.frames[-1].source_line.strip() == "`assert double(2) == 5`"
    assert error.message == "the assertion does not hold"
    assert isinstance(error.original, AssertionError)


def test_only_some_cases(compiled: Compile) -> None:
    text = DOUBLE + "@test: double:\n  > case: a:\n    `pass`\n  > case: b:\n    `1 / 0`\n"
    runtime = compiled(text)
    assert [item.case.name for item in run_tests(runtime, only={"double::a"}).results] == ["a"]
    assert run_tests(runtime, only=()).results == ()


def test_cases_are_listed_without_running() -> None:
    text = DOUBLE + "@test: double:\n  > case: a:\n    `1 / 0`\n  > case: b:\n    `1 / 0`\n"
    program = parse_program(text)
    assert [(case.id, case.span.line) for case in test_cases(program)] == [
        ("double::a", 6),
        ("double::b", 8),
    ]


def test_declarations_run_and_the_program_does_not(compiled: Compile) -> None:
    shown: list[str] = []
    text = (
        "```\nimport math\nlog = ['prelude']\n```\n"
        "> show: main\n"
        "`log.append('main')`\n"
        "[top] = value\n"
        ">> a template with a [field]\n"
        "> import: prompting\n"
        "~Point(x: int)\n"
        "@area(r: float) -> float:\n  = `math.pi * r`\n"
        "@test: area:\n"
        "  > case: sees:\n"
        "    ```\n"
        "    assert log == ['prelude']\n"
        "    assert Point(1).x == 1\n"
        "    assert bullets(['a']) == '- a'\n"
        "    assert area(0.0) == 0\n"
        "    ```\n"
        "= <top>\n"
    )
    assert run_tests(compiled(text, show=shown.append)).failed == 0
    assert shown == []


@pytest.mark.parametrize("bind", ["[count: int] = `1`", "[count] << ask", ">> ask [count: int]"])
def test_a_name_of_the_program_is_explained(compiled: Compile, bind: str) -> None:
    text = f"{bind}\n@f() -> int:\n  = `count`\n@test: f:\n  > case: a:\n    `f()`\n"
    error = failure(run_tests(compiled(text)))
    assert isinstance(error, KediNameError)
    assert error.hint is not None
    assert "which suites do not run" in error.hint
    assert error.frames[-1].span.line == text.count("\n", 0, text.index("= `count`")) + 1


def test_a_declaration_that_fails_ends_the_run_before_any_case(compiled: Compile) -> None:
    text = (
        "[count: int] = `1`\n@f(n: int = `count`) -> int:\n  = `n`\n"
        "@test: f:\n  > case: a:\n    `f()`\n"
    )
    seen: list[CaseResult] = []
    runtime = compiled(text)
    with pytest.raises(KediNameError, match="which suites do not run"):
        run_tests(runtime, on_result=seen.append)
    assert seen == []
    assert runtime.run_main() is None


def test_each_case_has_its_own_scope_and_shares_objects(compiled: Compile) -> None:
    text = (
        "```\nshared = []\n```\n" + DOUBLE + "@test: double:\n"
        "  > case: one:\n    [x] = a\n    `shared.append(x)`\n"
        "  > case: two:\n    `assert shared == ['a']`\n    `x`\n"
    )
    report = run_tests(compiled(text))
    assert report.results[0].passed
    error = failure(report, 1)
    assert isinstance(error, KediNameError)
    assert error.name == "x"


def test_cases_hold_any_statement(compiled: Compile) -> None:
    text = DOUBLE + (
        "@test: double:\n"
        "  > case: whole_language:\n"
        "    [y: int] = `double(4)`\n"
        "    > loop [i]: `range(3)`:\n"
        "      [y] := `y + i`\n"
        "    > if: `y == 11`:\n"
        "      `assert y == 12`\n"
        "    > else:\n"
        "      `raise ValueError(y)`\n"
    )
    error = failure(run_tests(compiled(text)))
    assert isinstance(error.original, AssertionError)
    assert error.frames[-1].span.line == 11


def test_a_return_ends_the_case(compiled: Compile) -> None:
    text = DOUBLE + ("@test: double:\n  > case: a:\n    > if: `True`:\n      = done\n    `1 / 0`\n")
    assert run_tests(compiled(text)).failed == 0


def test_templates_ask_the_adapter(compiled: Compile) -> None:
    text = (
        "@ask(q: str) -> str:\n  >> <q> is [answer]\n  = <answer>\n"
        "@test: ask:\n"
        "  > case: right:\n    `assert ask('sky') == 'blue'`\n"
        "  > case: wrong:\n    `assert ask('sky') == 'blue'`\n"
    )
    adapter = ScriptedAdapter([{"answer": "blue"}, {"answer": "grey"}])
    report = run_tests(compiled(text, adapter=adapter))
    assert [item.passed for item in report.results] == [True, False]
    comparison = report.results[1].comparison
    assert comparison is not None
    assert (comparison.left, comparison.operator, comparison.right) == ("'grey'", "==", "'blue'")


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        ("double('a')", KediTypeExecutionError, "expects int"),
        ("raise AssertionError('mine')", KediExecutionError, "mine"),
        ("assert False, 'said'", KediExecutionError, "said"),
        ("raise SystemExit(3)", KediExecutionError, "the program ended itself with SystemExit: 3"),
        ("raise GeneratorExit", KediExecutionError, "the program ended itself with GeneratorExit"),
        ("__import__('sys').exit('why')", KediExecutionError, "SystemExit: why"),
        ("(lambda f: f(f))(lambda f: f(f))", KediExecutionError, "recursion"),
    ],
)
def test_everything_but_an_interrupt_fails_the_case(
    compiled: Compile, code: str, kind: type[Exception], message: str
) -> None:
    text = DOUBLE + f"@test: double:\n  > case: a:\n    `{code}`\n  > case: b:\n    `pass`\n"
    report = run_tests(compiled(text))
    assert [item.passed for item in report.results] == [False, True]
    error = failure(report)
    assert isinstance(error, kind)
    assert message in error.message
    assert error.frames[-1].span.line in (6, 7)


def test_an_interrupt_stops_everything_and_frees_the_runtime(compiled: Compile) -> None:
    text = DOUBLE + "@test: double:\n  > case: a:\n    `raise KeyboardInterrupt`\n"
    runtime = compiled(text)
    with pytest.raises(KeyboardInterrupt):
        run_tests(runtime)
    assert runtime.run_main() is None


def test_python_that_does_not_compile_is_found_before_anything_runs(compiled: Compile) -> None:
    text = (
        "```\nlog = []\n```\n" + DOUBLE + "@test: double:\n"
        "  > case: a:\n    ```\n    break\n    ```\n"
        "  > case: b:\n    ```\n    continue\n    ```\n"
    )
    with pytest.raises(KediParseError) as caught:
        run_tests(compiled(text))
    assert [item.span.line for item in caught.value.diagnostics] == [11, 15]


def test_a_runtime_runs_one_thing_at_a_time(compiled: Compile) -> None:
    text = DOUBLE + "@test: double:\n  > case: a:\n    `again()`\n"
    runtime = compiled(text)
    caught: list[Exception] = []

    def again() -> None:
        for action in (runtime.run_main, lambda: run_tests(runtime)):
            try:
                action()
            except SessionStateError as error:
                caught.append(error)

    runtime.set_initial_globals({"again": again})
    assert run_tests(runtime).failed == 0
    assert len(caught) == 2
    runtime.close()
    with pytest.raises(SessionStateError, match="closed"):
        run_tests(runtime)


def test_without_suites_there_are_no_results(compiled: Compile) -> None:
    report = run_tests(compiled("= `1 / 0`"))
    assert (report.results, report.passed, report.failed) == ((), 0, 0)


def test_suites_leave_the_program_as_it_was(compiled: Compile) -> None:
    text = (
        "```\nlog = []\n```\n@f() -> str:\n  `log.append(1)`\n"
        "@test: f:\n  > case: a:\n    `f()`\n= `log`"
    )
    runtime = compiled(text)
    assert run_tests(runtime).failed == 0
    assert runtime.run_main() == []


def test_parallel_runtimes_wait_for_their_calls(compiled: Compile) -> None:
    text = (
        "@ask() -> str:\n  >> say [a]\n\n  >> say [b]\n  = <a><b>\n"
        "@test: ask:\n  > case: a:\n    `assert ask() == 'xy'`\n"
    )
    adapter = ScriptedAdapter(
        lambda prompt, schema: {name: "xy"["ab".index(name)] for name in schema}
    )
    assert run_tests(compiled(text, adapter=adapter, parallel=True)).failed == 0
