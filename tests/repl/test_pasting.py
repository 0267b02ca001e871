"""The REPL in a real pseudo-terminal: pastes and the editor of whole fragments."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.repl.terminal import (
    ALT_ENTER,
    CTRL_C,
    CTRL_D,
    ENTER,
    Terminal,
)

Open = Callable[..., Terminal]


# ── pasting ───────────────────────────────────────────────────────────────────


def test_a_paste_waits_for_enter(repl: Terminal) -> None:
    repl.paste("`print('ran')`")
    repl.see("+++ `print('ran')`")
    repl.type("  ")
    assert "ran" not in repl.lines
    repl.send(ENTER)
    repl.shows("ran", "+++")


def test_a_paste_of_several_lines_keeps_them(repl: Terminal) -> None:
    repl.paste(
        "@f(n: int) -> int:\n\n  ###\n  Doc.\n  ###\n  = `n * 2`\n\n[x: int] = <f(`21`)>\n= `x`"
    )
    repl.see("... = `x`")
    assert "42" not in repl.text
    repl.send(ENTER)
    repl.continuation()
    repl.send(ENTER)
    repl.shows("... = `x`", "...", "42", "+++")


def test_a_paste_of_a_copied_session_runs_its_inputs(repl: Terminal) -> None:
    repl.paste(
        "+++ [x: int] = `1`\n+++ @f() -> int:\n...   = `x`\n...\n+++ = `f()`\n1\n+++ = `x + 1`\n2\n"
    )
    repl.see("+++ = `x + 1`")
    assert "+++ +++" not in repl.text
    repl.send(ENTER)
    repl.until(lambda: repl.lines[-1] == "...")
    repl.send(ENTER)
    repl.shows("+++ = `f()`", "+++ = `x + 1`", "...", "1", "2", "+++")


def test_a_paste_of_one_input_loses_its_prompts(repl: Terminal) -> None:
    repl.paste("+++ @f() -> str:\n...   = pasted\n...\n")
    repl.see("...   = pasted")
    repl.send(ENTER)
    repl.continuation()
    repl.send(ENTER)
    repl.prompt()
    repl.run("= <f()>")
    repl.shows("+++ @f() -> str:", "...   = pasted", "...", "+++ = <f()>", "'pasted'", "+++")


@pytest.mark.parametrize("options", [(), ("--highlight",)])
def test_a_paste_of_five_thousand_lines(open_terminal: Open, options: tuple[str, ...]) -> None:
    repl = open_terminal(*options)
    repl.prompt()
    repl.paste("\n".join(f"[v{number}: int] = `{number}`" for number in range(5_000)))
    repl.see("... [v4999: int] = `4999`")
    repl.send(ENTER)
    repl.continuation()
    repl.type("= `v0 + v4999`")
    repl.send(ENTER)
    repl.continuation()
    repl.send(ENTER)
    repl.see("\n4999\n")
    repl.prompt()


LINES = "`print('one')`\n`print('two')`\n@f() -> int:\n  = `1`\n\n`print('three')`"


def _busy(repl: Terminal, *code: str) -> None:
    repl.line("```")
    for text in ("import time", "print('busy')", *code, "```", ""):
        repl.continuation()
        repl.line(text)
    repl.until(lambda: "busy" in repl.lines, "the fragment to run")


def _waits_whole(repl: Terminal) -> None:
    """The pasted lines stand at the prompt, and Enter runs all of them."""
    shown = [f"+++ {line}" if not number else f"... {line}".rstrip()
             for number, line in enumerate(LINES.split("\n"))]  # fmt: skip
    repl.shows(*shown)
    assert not {"one", "two", "three"} & set(repl.lines)
    repl.send(ENTER)
    repl.until(lambda: repl.lines[-1] == "...", "a further line")
    repl.send(ENTER)
    repl.shows("...", "one", "two", "three", "+++")


def test_a_paste_while_something_runs_waits_for_enter(repl: Terminal) -> None:
    _busy(repl, "input()")
    repl.paste(f"go on\n{LINES}")
    _waits_whole(repl)


def test_a_paste_right_after_an_interrupt_waits_for_enter(repl: Terminal) -> None:
    # It still runs when the lines come.
    _busy(repl, "try:", "    time.sleep(600)", "finally:", "    time.sleep(0.5)")
    repl.send(CTRL_C)
    repl.paste(LINES)
    _waits_whole(repl)


def test_a_paste_before_an_interrupt_is_dropped_with_it(repl: Terminal) -> None:
    _busy(repl, "time.sleep(600)")
    repl.paste(LINES)
    repl.see("`print('three')`")
    repl.send(CTRL_C)
    repl.see("interrupted")
    repl.prompt()
    repl.send("\x0c")
    repl.until(lambda: repl.lines == ["+++"], "a clear screen")
    repl.run("= `'still here'`")
    repl.shows("+++ = `'still here'`", "'still here'", "+++")


@pytest.mark.parametrize("between", ["", "\x0c"])
def test_a_paste_after_an_input_was_dropped_waits_for_enter(repl: Terminal, between: str) -> None:
    repl.type("dropped")
    repl.send(CTRL_C + between)
    repl.paste(LINES)
    _waits_whole(repl)


def test_a_long_paste_while_something_runs_is_whole(repl: Terminal) -> None:
    _busy(repl, "input()")
    repl.paste("go on\n" + "\n".join(f"[v{number}: int] = `{number}`" for number in range(2_000)))
    repl.see("... [v1999: int] = `1999`")
    repl.send(ENTER)
    repl.continuation()
    repl.line("= `v0 + v1000 + v1999`")
    repl.continuation()
    repl.send(ENTER)
    repl.see("\n2999\n")
    repl.prompt()


def test_one_line_typed_while_something_runs_runs(repl: Terminal) -> None:
    _busy(repl, "input()")
    repl.send(f"go on{ENTER}= `6 * 7`{ENTER}")
    repl.see("\n42\n")
    repl.prompt()


def test_programs_that_read_get_pastes_without_marks(repl: Terminal) -> None:
    repl.line("= `input('Secret: ')`")
    repl.until(lambda: "Secret:" in repl.lines, "the question")
    repl.paste("a secret\n")
    repl.see("'a secret'")
    repl.prompt()


# ── the editor ────────────────────────────────────────────────────────────────


def test_multiline_composes_a_whole_fragment(repl: Terminal) -> None:
    repl.line(":multiline")
    repl.continuation()
    for text in (
        "[values: list[int]] = `[1,",
        "2]`",
        "> loop [value]: `values`:",
        "  `print(value)`",
    ):
        repl.line(text)
        repl.continuation()
    assert "1" not in repl.lines
    repl.send(ENTER)
    repl.shows("...   `print(value)`", "...", "1", "2", "+++")


def test_multiline_stays_open_while_something_is(repl: Terminal) -> None:
    repl.line(":multiline")
    for text in ("```", "x = 1", "", "print(x)", "```"):
        repl.continuation()
        repl.send(text + ENTER)
    repl.continuation()
    repl.send(ENTER)
    repl.shows("... ```", "...", "1", "+++")


def test_commands_are_text_in_the_editor(repl: Terminal) -> None:
    repl.line(":multiline")
    repl.continuation()
    repl.line(":exit")
    repl.continuation()
    repl.send(ENTER)
    repl.see("this line is not a statement")
    repl.prompt()


def test_alt_enter_leaves_the_editor_with_what_is_there(repl: Terminal) -> None:
    repl.line(":multiline")
    repl.continuation()
    repl.type("@f() -> str:")
    repl.send(ALT_ENTER)
    repl.see("an indented block is missing")
    repl.prompt()
    repl.line(":multiline")
    repl.continuation()
    repl.type("= `6 * 7`")
    repl.send(ALT_ENTER)
    repl.shows("... = `6 * 7`", "42", "+++")


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D, ENTER])
def test_an_editor_without_text_is_given_up(repl: Terminal, key: str) -> None:
    repl.line(":multiline")
    repl.continuation()
    repl.send(key)
    repl.prompt()
    repl.run("= `1`")
    assert repl.lines[-2] == "1"
