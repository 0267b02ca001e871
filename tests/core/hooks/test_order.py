"""Every event of every construct, in its exact order.

``python …``/``python end`` pairs around plain expressions are left out of most tables by
``brief``; the first tests show them.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest

from kedi.errors import KediError
from kedi.lang import compile_program, parse_program
from tests.core.engine.support import session
from tests.core.hooks.support import Recorder


def events(source: str, *, brief: bool = False) -> list[str]:
    """What an observer of a fragment is told."""
    recorder = Recorder()
    with session() as live:
        live.observe(recorder)
        with contextlib.suppress(KediError):
            live.execute(source)
    return without_python(recorder.log) if brief else recorder.log


def without_python(log: list[str]) -> list[str]:
    return [item for item in log if not item.startswith("python ")]


def table(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def test_simple_statements() -> None:
    source = "[a] = one\n[b: int] = `2`\n[b] := `b + 1`\n`b += 1`\n> show: <a>\n= <a> `b`"
    assert events(source) == table(
        """
        start <interactive:1>
        1 assignment [a]
        bind a - 'one'
        2 assignment [b]
        python expr 2
        python end 2
        bind b - 2
        3 assignment [b]
        python expr 3
        python end 3
        bind b 2 3
        4 python statement
        python stmt 4
        bind b 3 4
        python end 4
        5 show
        6 return
        python expr 6
        python end 6
        finish <interactive:1> 'one 4'
        """
    )


def test_fences_and_preludes() -> None:
    source = "```\nsize = 3\n```\n```\nlocal = 1\n```\n[v] = ```\nreturn size\n```\n= `v`"
    assert events(source) == table(
        """
        start <interactive:1>
        1 prelude
        python prelude 1
        bind size - 3
        python end 1
        4 fenced python
        python suite 4
        python end 4
        7 assignment [v]
        python suite 7
        python end 7
        bind v - 3
        10 return
        python expr 10
        python end 10
        finish <interactive:1> 3
        """
    )


def test_procedures() -> None:
    source = (
        "@f(x: int, y: int = `5`) -> int:\n  ###\n  Doc.\n  ###\n  [z: int] = `x + y`\n  = `z`\n"
        "[r: int] = <f(`1`)>\n= `f(2, y=3)`"
    )
    assert events(source) == table(
        """
        start <interactive:1>
        1 definition @f
        python expr 1
        python end 1
        bind f - @f
        7 assignment [r]
        python expr 7
        python end 7
        enter f(x=1, y=5)
        5 assignment [z] in f
        python expr 5
        python end 5
        bind z - 6
        6 return in f
        python expr 6
        python end 6
        leave f 6
        bind r - 6
        8 return
        python expr 8
        enter f(x=2, y=3)
        5 assignment [z] in f
        python expr 5
        python end 5
        bind z - 5
        6 return in f
        python expr 6
        python end 6
        leave f 5
        python end 8
        finish <interactive:1> 5
        """
    )


def test_inner_calls_come_first() -> None:
    source = "@t(v):\n  = <v>!\n= <t(<t(a)>)>"
    assert events(source) == table(
        """
        start <interactive:1>
        1 definition @t
        bind t - @t
        3 return
        enter t(v='a')
        2 return in t
        leave t 'a!'
        enter t(v='a!')
        2 return in t
        leave t 'a!!'
        finish <interactive:1> 'a!!'
        """
    )


def test_types() -> None:
    assert events("~P(a: int, b)\n[p: P] = `P(1, 'x')`\n= `p.a`", brief=True) == table(
        """
        start <interactive:1>
        1 definition ~P
        bind P - ~P
        2 assignment [p]
        bind p - P(a=1, b='x')
        3 return
        finish <interactive:1> 1
        """
    )


def test_branches() -> None:
    source = (
        "[n: int] = `1`\n> if: `n == 1`:\n  [x] = yes\n> else:\n  [x] = no\n"
        "> if: `n == 2`:\n  [x] = a\n> else:\n  [x] = b\n> if: `n == 2`:\n  [x] = c"
    )
    assert events(source, brief=True) == table(
        """
        start <interactive:1>
        1 assignment [n]
        bind n - 1
        2 condition > if
        open branch
        3 assignment [x]
        bind x - 'yes'
        close branch
        6 condition > if
        open branch
        9 assignment [x]
        bind x - 'b'
        close branch
        10 condition > if
        finish <interactive:1> None
        """
    )


def test_conditional_loops_stop_at_their_header_before_each_look() -> None:
    assert events("[n: int] = `2`\n> loop: `n > 0`:\n  [n] := `n - 1`") == table(
        """
        start <interactive:1>
        1 assignment [n]
        python expr 1
        python end 1
        bind n - 2
        2 loop > loop
        python expr 2
        python end 2
        open loop
        3 assignment [n]
        python expr 3
        python end 3
        bind n 2 1
        close loop
        2 loop > loop
        python expr 2
        python end 2
        open loop
        3 assignment [n]
        python expr 3
        python end 3
        bind n 1 0
        close loop
        2 loop > loop
        python expr 2
        python end 2
        finish <interactive:1> None
        """
    )


def test_binder_loops_and_maps() -> None:
    source = "> loop [i]: `range(2)`:\n  [x] = <i>\n> map:\n  > show: <x>\n= done"
    assert events(source) == table(
        """
        start <interactive:1>
        1 loop > loop [i]
        python expr 1
        python end 1
        open loop i=0
        2 assignment [x]
        bind x - 0
        close loop
        1 loop > loop [i]
        open loop i=1
        2 assignment [x]
        bind x - 1
        close loop
        1 loop > loop [i]
        3 loop > map
        open loop i=0 x=0
        4 show
        close loop
        open loop i=1 x=1
        4 show
        close loop
        5 return
        finish <interactive:1> 'done'
        """
    )


def test_a_return_inside_a_loop_closes_everything() -> None:
    source = (
        "@find() -> int:\n  > loop [i]: `range(9)`:\n    > if: `i == 1`:\n      = `i`\n  = `-1`\n"
        "= `find()`"
    )
    assert events(source, brief=True) == table(
        """
        start <interactive:1>
        1 definition @find
        bind find - @find
        6 return
        enter find()
        2 loop > loop [i] in find
        open loop i=0
        3 condition > if in find
        close loop
        2 loop > loop [i] in find
        open loop i=1
        3 condition > if in find
        open branch
        4 return in find
        close branch
        close loop
        leave find 1
        finish <interactive:1> 1
        """
    )


def test_model_calls() -> None:
    source = (
        "[c] = x\n>> About <c>: [a] and [b: int].\n[r] << Say <c>\n>> Note\n"
        "> if: <c> holds\n  [q] = 1"
    )
    assert events(source) == table(
        """
        start <interactive:1>
        1 assignment [c]
        bind c - 'x'
        2 template >>
        ask About x: [a] and [b].
        answer {'a': 'a22', 'b': 22}
        bind a - 'a22'
        bind b - 22
        3 template [r] <<
        ask Say x
        answer <Say x>
        bind r - '<Say x>'
        4 template >>
        ask Note
        answer <Note>
        5 condition > if
        ask x holds
        answer {'claim': True}
        open branch
        6 assignment [q]
        bind q - '1'
        close branch
        finish <interactive:1> None
        """
    )


def test_claim_loops() -> None:
    claims = iter([True, False])

    def judge(prompt: str, schema: object) -> bool:
        return next(claims)

    recorder = Recorder()
    with session(judge) as live:
        live.observe(recorder)
        live.execute("> loop: more to do\n  [x] = y")
    assert recorder.log == table(
        """
        start <interactive:1>
        1 loop > loop
        ask more to do
        answer {'claim': True}
        open loop
        2 assignment [x]
        bind x - 'y'
        close loop
        1 loop > loop
        ask more to do
        answer {'claim': False}
        finish <interactive:1> None
        """
    )


def test_a_rejected_answer() -> None:
    assert events(">> Wrong [n: float]") == table(
        """
        start <interactive:1>
        1 template >>
        ask Wrong [n]
        answer !ModelCallError
        raise ModelCallError <interactive:1>:1 uncaught
        finish <interactive:1> !ModelCallError
        """
    )


def test_modules() -> None:
    Path("m.kedi").write_text(
        "[v: int] = `1`\n@helper(x: int) -> int:\n  = `x + v`\n> export:\n  v\n  helper\n"
    )
    source = "> import: m\n> import: m:\n  helper\n= `helper(2)`"
    assert events(source, brief=True) == table(
        """
        start <interactive:1>
        1 import m
        start m.kedi
        1 assignment [v]
        bind v - 1
        2 definition @helper
        bind helper - @helper
        finish m.kedi None
        bind v - 1
        bind helper - @helper
        2 import m
        bind helper @helper @helper
        4 return
        enter helper(x=2)
        3 return in helper
        leave helper 3
        finish <interactive:1> 3
        """
    )


def test_a_module_that_fails() -> None:
    Path("m.kedi").write_text("[v: int] = `1 // 0`\n> export:\n  v\n")
    assert events("> import: m", brief=True) == table(
        """
        start <interactive:1>
        1 import m
        start m.kedi
        1 assignment [v]
        raise ZeroDivisionError m.kedi:1 uncaught
        finish m.kedi !ZeroDivisionError
        finish <interactive:1> !KediExecutionError
        """
    )


def test_directives_and_profiles() -> None:
    source = "> system: be kind\n> profile: p:\n  > effort: low\n> use: p\n[x] = 1"
    assert events(source) == table(
        """
        start <interactive:1>
        1 directive > system
        2 directive > profile: p
        bind p - <profile p>
        4 directive > use
        5 assignment [x]
        bind x - '1'
        finish <interactive:1> None
        """
    )


def test_an_error_unwinds_from_the_inside() -> None:
    source = (
        "@f(x: int) -> int:\n  > loop [i]: `[1]`:\n    [y: int] = `1 // x`\n  = `1`\n"
        "> if: `True`:\n  [b: int] = `f(0)`\n[never] = 1"
    )
    assert events(source) == table(
        """
        start <interactive:1>
        1 definition @f
        bind f - @f
        5 condition > if
        python expr 5
        python end 5
        open branch
        6 assignment [b]
        python expr 6
        enter f(x=0)
        2 loop > loop [i] in f
        python expr 2
        python end 2
        open loop i=1
        3 assignment [y] in f
        python expr 3
        python end 3
        raise ZeroDivisionError f:3 uncaught
        close loop
        leave f !ZeroDivisionError
        python end 6
        close branch
        finish <interactive:1> !KediExecutionError
        """
    )


def test_an_error_that_is_caught() -> None:
    source = (
        "@f(x: int) -> int:\n  = `1 // x`\n```\ntry:\n    f(0)\nexcept ZeroDivisionError:\n"
        "    pass\n```\n= ok"
    )
    assert events(source) == table(
        """
        start <interactive:1>
        1 definition @f
        bind f - @f
        3 fenced python
        python suite 3
        enter f(x=0)
        2 return in f
        python expr 2
        python end 2
        raise ZeroDivisionError f:2 caught
        leave f !ZeroDivisionError
        python end 3
        9 return
        finish <interactive:1> 'ok'
        """
    )


def test_python_that_writes_bindings() -> None:
    source = "[n: int] = `1`\n```\ndef g():\n    global n\n    n = 5\ng()\n```\n`n = 7`\n`n += 1`"
    assert without_python(events(source)) == table(
        """
        start <interactive:1>
        1 assignment [n]
        bind n - 1
        2 fenced python
        bind n 1 5
        8 python statement
        bind n 5 7
        9 python statement
        bind n 7 8
        finish <interactive:1> None
        """
    )


def test_assignments_to_outer_scopes() -> None:
    source = (
        "[n: int] = `0`\n@bump():\n  [n] := `n + 1`\n  = ok\n> if: `True`:\n"
        "  [n] := `5`\n  `n = 6`\n[r] = <bump()>"
    )
    assert events(source, brief=True) == table(
        """
        start <interactive:1>
        1 assignment [n]
        bind n - 0
        2 definition @bump
        bind bump - @bump
        5 condition > if
        open branch
        6 assignment [n]
        bind n 0 5
        7 python statement
        bind n 5 6
        close branch
        8 assignment [r]
        enter bump()
        3 assignment [n] in bump
        bind n 6 7
        4 return in bump
        leave bump 'ok'
        bind r - 'ok'
        finish <interactive:1> None
        """
    )


def test_programs_and_later_calls_of_their_procedures() -> None:
    recorder = Recorder()
    program = parse_program("@f(x: int) -> int:\n  = `x + 1`\n= `f`", source_name="p.kedi")
    with compile_program(program) as runtime:
        runtime.observe(recorder)
        function = runtime.run_main()
        assert function(1) == 2
    assert without_python(recorder.log) == [
        "start p.kedi",
        "1 definition @f",
        "bind f - @f",
        "3 return",
        "finish p.kedi @f",
        "enter f(x=1)",
        "2 return in f",
        "leave f 2",
    ]


def test_evaluating_an_expression_is_watched_too() -> None:
    recorder = Recorder()
    with session() as live:
        live.execute("[x] = 1")
        live.observe(recorder)
        live.evaluate("<x>")
    assert recorder.log == ["start <expression:1>", "1 return", "finish <expression:1> '1'"]


@pytest.mark.parametrize("source", ["= <x", "[x: nope] = 1"])
def test_nothing_is_told_of_what_never_ran(source: str) -> None:
    assert events(source) == []


# ── in parallel ───────────────────────────────────────────────────────────────


def test_parallel_calls() -> None:
    """The program's own thread in order, and each job in order on its own."""
    recorder = Recorder()
    with session(parallel=True) as live:
        live.observe(recorder)
        live.execute(">> One [a].\n>> On <a>: [b].\n> if: <b> holds\n  [x] = y\n= <b>")
    main = threading.get_ident()
    told = list(zip(recorder.log, recorder.threads, strict=True))
    assert [text for text, thread in told if thread == main] == [
        "start <interactive:1>",
        "1 template >>",
        "bind a - <KediPromise a: pending>",
        "2 template >>",
        "bind b - <KediPromise b: pending>",
        "3 condition > if",
        "open branch",
        "4 assignment [x]",
        "bind x - 'y'",
        "close branch",
        "5 return",
        "finish <interactive:1> 'b12'",
    ]
    jobs = [text for text in recorder.log if text.startswith(("ask", "answer"))]
    assert jobs == [
        "ask One [a].",
        "answer {'a': 'a9'}",
        "ask On a9: [b].",
        "answer {'b': 'b12'}",
        "ask b12 holds",
        "answer {'claim': True}",
    ]


def test_parallel_map_stages_are_told_on_their_threads() -> None:
    barrier = threading.Barrier(3)
    recorder = Recorder()
    env = {"meet": lambda: barrier.wait(30)}
    with session(parallel=True, max_workers=3, env=env) as live:
        live.observe(recorder)
        live.execute("> loop [i]: `range(3)`:\n  `i`\n> map:\n  `meet()`\n  [x] = done")
    start = recorder.log.index("3 loop > map")
    by_thread: dict[int, list[str]] = {}
    for text, thread in zip(recorder.log[start:], recorder.threads[start:], strict=True):
        by_thread.setdefault(thread, []).append(text)
    assert len(by_thread) == 3
    for log in by_thread.values():
        stage = [text for text in log if not text.startswith(("3 loop", "finish", "python"))]
        assert stage[0].startswith("open loop i=")
        assert stage[1:] == [
            "4 python statement",
            "5 assignment [x]",
            "bind x - 'done'",
            "close loop",
        ]
