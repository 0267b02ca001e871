"""The REPL in a real pseudo-terminal: what is typed, completed, shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kedi import __version__
from tests.repl.terminal import (
    ALT_ENTER,
    BACKSPACE,
    DOWN,
    END,
    ENTER,
    LEFT,
    SHIFT_TAB,
    TAB,
    UP,
    Terminal,
)

Open = Callable[..., Terminal]


# ── typing ────────────────────────────────────────────────────────────────────


def test_banner_and_prompt(repl: Terminal) -> None:
    assert repl.lines[0] == f"Kedi {__version__} on {sys.platform}"
    assert repl.lines[-1] == "+++"


def test_lines_blocks_and_results(repl: Terminal) -> None:
    repl.run("[base: int] = `40`")
    repl.run("@add_two() -> int:", "  = `base + 2`", "")
    repl.run(":show `add_two()`")
    repl.run("= <add_two()>")
    repl.shows(
        "+++ [base: int] = `40`",
        "+++ @add_two() -> int:",
        "...   = `base + 2`",
        "...",
        "+++ :show `add_two()`",
        "42",
        "+++ = <add_two()>",
        "'42'",
        "+++",
    )


def test_a_blank_line_submits_exactly_once(repl: Terminal) -> None:
    repl.run("> if: `True`:", "  `print('ran')`", "")
    repl.run("")
    repl.run("")
    assert repl.lines.count("ran") == 1


def test_fences_keep_their_blank_lines(repl: Terminal) -> None:
    repl.run("```", "import math", "", "root = math.sqrt(16)", "```", "")
    repl.run("= `root`")
    repl.shows("+++ = `root`", "4.0", "+++")


def test_errors_are_shown_and_the_session_goes_on(repl: Terminal) -> None:
    repl.run("[x: int] = `0`")
    repl.run("= `1 / x`")
    assert "ZeroDivisionError: division by zero" in repl.text
    repl.run("exit()")
    assert "this line is not a statement" in repl.text
    repl.run("= `x`")
    repl.shows("+++ = `x`", "0", "+++")


def test_typing_ahead_is_not_lost(repl: Terminal) -> None:
    repl.send(
        f"[x: int] = `20`{ENTER}@f() -> int:{ENTER}  = `x + 1`{ENTER}{ENTER}= `f() * 2`{ENTER}"
    )
    repl.shows("+++ = `f() * 2`", "42", "+++")


def test_output_without_an_end_of_line_stays(repl: Terminal) -> None:
    repl.run("`print('half', end='')`")
    repl.shows("half", "+++")


def test_what_threads_print_goes_above_the_prompt(repl: Terminal) -> None:
    repl.line("```")
    for text in (
        "import pathlib, threading, time",
        "def late():",
        "    while not pathlib.Path('now').exists():",
        "        time.sleep(0.01)",
        "    print('from the thread')",
        "threading.Thread(target=late).start()",
        "```",
        "",
    ):
        repl.continuation()
        repl.line(text)
    repl.prompt()
    repl.type("= `20")
    Path("now").touch()
    repl.shows("from the thread", "+++ = `20")
    repl.line(" + 22`")
    repl.prompt()
    assert repl.lines[-2] == "42"


def test_inputs_are_edited_across_lines(repl: Terminal) -> None:
    repl.line("@f() -> str:")
    repl.continuation()
    repl.line("  = wrong")
    repl.continuation()
    repl.send(UP + END + BACKSPACE * 5 + "right" + DOWN + ENTER)
    repl.prompt()
    repl.run("= <f()>")
    repl.shows("+++ = <f()>", "'right'", "+++")


def test_enter_in_the_middle_opens_a_line(repl: Terminal) -> None:
    repl.line("@f() -> str:")
    repl.continuation()
    repl.type("  = <x>")
    repl.send(UP + UP + END + ENTER)
    repl.until(lambda: len([line for line in repl.lines if line.startswith("...")]) == 2)
    repl.type("  [x] = in")
    repl.send(DOWN + ENTER)
    repl.continuation()
    repl.send(ENTER)
    repl.prompt()
    repl.run("= <f()>")
    repl.shows("+++ = <f()>", "'in'", "+++")


def test_enter_submits_a_line_from_everywhere(repl: Terminal) -> None:
    repl.type("= `12`")
    repl.send(LEFT * 3 + ENTER)
    repl.shows("+++ = `12`", "12", "+++")


def test_alt_enter_submits_what_is_open(repl: Terminal) -> None:
    repl.line("@f() -> str:")
    repl.continuation()
    repl.send(ALT_ENTER)
    repl.see("an indented block is missing")
    repl.prompt()


def test_tab_indents_at_the_beginning_of_a_line(repl: Terminal) -> None:
    repl.line("@f(n: int) -> str:")
    repl.continuation()
    repl.send(TAB)
    repl.type("> if: `n > 1`:")
    repl.send(ENTER + TAB)
    repl.type("= many")
    repl.send(ENTER + TAB + SHIFT_TAB)
    repl.type("= few")
    repl.send(ENTER)
    repl.continuation()
    repl.send(ENTER)
    repl.prompt()
    repl.run("= <f(`2`)>")
    repl.shows("...   > if: `n > 1`:", "...     = many", "...   = few", "...", "+++ = <f(`2`)>",
               "'many'", "+++")  # fmt: skip


# ── wide characters and the size of the window ────────────────────────────────


def test_wide_characters(repl: Terminal) -> None:
    repl.type("[city] = 東京 é ñ 🐈")
    repl.send(LEFT + "x")
    repl.see("ñ x🐈")
    repl.send(ENTER)
    repl.prompt()
    repl.run("= <city>")
    assert "'東京 é ñ x🐈'" in repl.text
    repl.run("= `len(city)`")
    repl.shows("+++ = `len(city)`", "9", "+++")


def test_the_window_may_change_its_size(repl: Terminal) -> None:
    words = " ".join(f"word{number}" for number in range(12))
    repl.type(f"[x] = {words}")
    repl.resize(20, 30)
    repl.until(lambda: _joined(repl).endswith(words.replace(" ", "")), "the line to be wrapped")
    assert len(repl.lines[-2]) == 30
    repl.send("!")
    repl.until(lambda: _joined(repl).endswith("word11!"))
    repl.resize(40, 100)
    repl.send("?")
    repl.see("word11!?")
    repl.send(ENTER)
    repl.prompt()
    repl.run("= <x>")
    assert f"'{words}!?'" in repl.text


def _joined(repl: Terminal) -> str:
    """The screen without blanks."""
    return "".join(repl.text.split())


# ── completion ────────────────────────────────────────────────────────────────


def test_tab_completes_the_only_name(repl: Terminal) -> None:
    repl.run("[population: int] = `5`")
    repl.type("= `popul")
    repl.send(TAB)
    repl.see("= `population")
    repl.line("`")
    repl.prompt()
    assert repl.lines[-2] == "5"


def test_tab_offers_several_and_enter_chooses(repl: Terminal) -> None:
    repl.run("[city] = Rome\n"[:-1])
    repl.type("= `city.is")
    repl.send(TAB)
    repl.see("isalpha")
    repl.see("isdigit")
    repl.send(TAB)
    repl.see("= `city.isalnum")
    repl.send(ENTER)
    repl.until(lambda: "isdigit" not in repl.text, "the menu to close")
    repl.line("()`")
    repl.prompt()
    assert repl.lines[-2] == "True"


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("> sys", "> system:"),
        ("[n: fl", "[n: float"),
        (":mult", ":multiline"),
        (":show `popu", ":show `population"),
        (":why popu", ":why population"),
        ("= `greet(wor", "= `greet(wording="),
        (":load sub/fi", ":load sub/file.kedi"),
    ],
)
def test_tab_completes_everything(repl: Terminal, typed: str, completed: str) -> None:
    Path("sub").mkdir()
    Path("sub/file.kedi").touch()
    repl.run("[population: int] = `5`")
    repl.run("@greet(wording: str) -> str:", "  = Hi", "")
    repl.type(typed)
    repl.send(TAB)
    repl.see(completed)


# ── what is shown ─────────────────────────────────────────────────────────────


def test_long_results_are_cut_with_a_way_to_the_rest(repl: Terminal) -> None:
    repl.run("= `'x' * 50_000 + 'end'`")
    assert "more characters: `:more` shows all of it" in repl.text
    assert "end" not in repl.text
    repl.run(":more")
    repl.see("xend'")


def test_highlighting(open_terminal: Open) -> None:
    plain = open_terminal()
    plain.prompt()
    plain.type("> show: `len([1])` # note")
    assert set(_colors(plain, "> show: `len([1])` # note").values()) == {"default"}
    repl = open_terminal("--highlight")
    repl.prompt()
    repl.type("> show: `len([1])` # note")
    colors = _colors(repl, "> show: `len([1])` # note")
    assert colors["s"] != "default"
    assert colors["l"] != "default"
    assert colors["#"] != "default"
    repl.send(ENTER)
    repl.shows("+++ > show: `len([1])` # note", "1", "+++")


def test_large_inputs_are_shown_plainly(open_terminal: Open) -> None:
    repl = open_terminal("--highlight")
    repl.prompt()
    repl.paste(f"= `len('{'x' * 21_000}')`")
    repl.see("x')`")
    assert _colors(repl, "x')`")["`"] == "default"
    repl.send(ENTER)
    repl.see("\n21000\n")


def _colors(repl: Terminal, text: str) -> dict[str, str]:
    """The colour of each character of a text on the screen; of the first of equal ones."""
    for row, line in enumerate(repl.screen.display):
        column = line.find(text)
        if column >= 0:
            cells = [repl.screen.buffer[row][column + at] for at in range(len(text))]
            return {cell.data: cell.fg for cell in reversed(cells)}
    raise AssertionError(f"no {text!r} on the screen:\n{repl.text}")
