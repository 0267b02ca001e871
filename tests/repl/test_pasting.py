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
