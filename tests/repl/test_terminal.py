"""The REPL in a real pseudo-terminal: what is typed, pasted, interrupted, and shown."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kedi import __version__
from tests.repl.conftest import DRIVER
from tests.repl.terminal import (
    ALT_ENTER,
    BACKSPACE,
    CTRL_C,
    CTRL_D,
    CTRL_R,
    CTRL_U,
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
COMMAND = [sys.executable, "-m", "kedi", "--idle"]


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


# ── interrupts and ends ───────────────────────────────────────────────────────


def test_ctrl_c_drops_what_is_typed(repl: Terminal) -> None:
    repl.type("= `1`")
    repl.send(CTRL_C)
    repl.shows("+++ = `1`", "+++")
    repl.line("@f():")
    repl.continuation()
    repl.send(CTRL_C)
    repl.prompt()
    repl.run("= `2`")
    assert "1" not in repl.lines
    assert repl.lines[-2] == "2"


def test_ctrl_c_at_an_empty_prompt_leaves_silently(repl: Terminal) -> None:
    before = repl.lines
    repl.send(CTRL_C)
    assert repl.status() == 0
    assert repl.lines == before


def test_ctrl_c_stops_a_loop_of_python(repl: Terminal) -> None:
    repl.run("[n: int] = `1`")
    repl.line("```")
    for text in ("n = 5", "print('busy')", "while True:", "    pass", "```", ""):
        repl.continuation()
        repl.line(text)
    repl.until(lambda: "busy" in repl.lines, "the loop to run")
    repl.send(CTRL_C)
    repl.see("interrupted")
    repl.prompt()
    repl.run("= `n`")
    repl.shows("interrupted", "+++ = `n`", "5", "+++")


def test_ctrl_c_stops_a_loop_of_kedi(repl: Terminal) -> None:
    repl.run("[seen: list] = `[]`")
    repl.run("[endless] = `iter(int, 1)`")
    repl.line("> loop [x]: `endless`:")
    repl.continuation()
    repl.line("  `seen.append(x) or (len(seen) == 1 and print('busy'))`")
    repl.continuation()
    repl.send(ENTER)
    repl.until(lambda: "busy" in repl.lines, "the loop to run")
    repl.send(CTRL_C)
    repl.see("interrupted")
    repl.prompt()
    repl.run("= `len(seen) > 0`")
    assert repl.lines[-2] == "True"


@pytest.mark.parametrize("parallel", ["off", "2"])
def test_ctrl_c_stops_a_model_call(open_terminal: Open, parallel: str) -> None:
    repl = open_terminal(command=[sys.executable, str(DRIVER)], env={"KEDI_PARALLEL": parallel})
    repl.prompt()
    repl.run("[kept: int] = `1`")
    repl.line(">> A slow answer: [word]")
    repl.until(lambda: "asking" in repl.lines, "the call")
    repl.send(CTRL_C)
    repl.see("interrupted")
    repl.prompt()
    repl.run(">> A quick answer: [word]")
    repl.run("= `(kept, word)`")
    repl.shows("+++ = `(kept, word)`", "(1, 'yes')", "+++")


def test_ctrl_c_stops_a_command(repl: Terminal) -> None:
    repl.line(":show ```"[:-3] + "`print('busy') or [1 for _ in iter(int, 1)]`")
    repl.until(lambda: "busy" in repl.lines, "the loop to run")
    repl.send(CTRL_C)
    repl.see("interrupted")
    repl.prompt()


def test_ctrl_d_leaves(repl: Terminal) -> None:
    repl.type("x")
    repl.send(CTRL_D)
    repl.send(CTRL_U)
    repl.prompt()
    repl.send(CTRL_D)
    assert repl.status() == 0


def test_exit_leaves(repl: Terminal) -> None:
    repl.line(":exit")
    assert repl.status() == 0


def test_a_system_exit_keeps_its_status(open_terminal: Open) -> None:
    repl = open_terminal("--record")
    repl.prompt()
    repl.run("[x] = 1")
    repl.line("`raise SystemExit(9)`")
    assert repl.status() == 9
    assert "to resume: kedi --idle --load" in repl.text


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_record_saves_when_a_key_leaves(open_terminal: Open, key: str) -> None:
    repl = open_terminal("--record", columns=300)
    repl.prompt()
    repl.run("[x: int] = `41`")
    repl.send(key)
    assert repl.status() == 0
    (saved,) = Path(os.environ["KEDI_HOME"], "sessions").iterdir()
    assert f"to resume: kedi --idle --load {saved}" in repl.lines
    again = open_terminal("--load", str(saved))
    again.see("resumed after 1 fragment: x")
    again.prompt()
    again.run("= `x + 1`")
    assert again.lines[-2] == "42"


def test_a_closed_window_saves_too(open_terminal: Open) -> None:
    repl = open_terminal("--record")
    repl.prompt()
    repl.run("[x: int] = `41`")
    repl.hang_up()
    assert repl.process.wait(60) == 129
    (saved,) = Path(os.environ["KEDI_HOME"], "sessions").iterdir()
    assert saved.stat().st_size > 0


def test_the_terminal_is_left_as_it_was(open_terminal: Open) -> None:
    repl = open_terminal(
        command=["sh", "-c", '"$0" -m kedi --idle; stty -a; echo done', sys.executable]
    )
    repl.prompt()
    repl.line("= `1`")
    repl.prompt()
    repl.send(CTRL_D)
    assert repl.status() == 0
    assert re.search(r"(?<!-)icanon", repl.text)
    assert re.search(r"(?<!-)\becho\b", repl.text)
    assert bytes(repl.raw).rindex(b"\x1b[?2004l") > bytes(repl.raw).rindex(b"\x1b[?2004h")


# ── history ───────────────────────────────────────────────────────────────────


def test_history_goes_on_in_the_next_session(open_terminal: Open) -> None:
    first = open_terminal()
    first.prompt()
    first.run("[x: int] = `5`")
    first.run("@f() -> int:", "  = `x`", "")
    first.run("[password] = hunter22")
    first.send(CTRL_D)
    assert first.status() == 0
    assert "1 input that may hold a secret is not in the history file" in first.text
    path = Path(os.environ["KEDI_HISTORY"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "hunter22" not in path.read_text()
    second = open_terminal()
    second.prompt()
    second.send(UP)
    second.see("...   = `x`")
    second.send(CTRL_C)
    second.prompt()
    second.send(CTRL_R + "[x")
    second.see("[x: int] = `5`")
    second.send(ENTER)
    second.send(ENTER)
    second.prompt()
    second.run("= `x`")
    assert second.lines[-2] == "5"


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


# ── without the editor ────────────────────────────────────────────────────────

_WITHOUT = (
    "import sys; sys.modules['prompt_toolkit'] = None; "
    "from kedi.cli.main import main; sys.exit(main(['--idle']))"
)


@pytest.mark.parametrize("how", ["not installed", "dumb"])
def test_lines_are_read_plainly_where_there_is_no_editor(open_terminal: Open, how: str) -> None:
    if how == "dumb":
        repl = open_terminal(env={"TERM": "dumb"})
    else:
        repl = open_terminal(command=[sys.executable, "-c", _WITHOUT])
        repl.see("prompt_toolkit is not installed")
        repl.see("'kedi[repl]'`")
    repl.prompt()
    repl.run("[base: int] = `40`")
    repl.run("@add() -> int:", "  = `base + 2`", "")
    repl.type("= `ad")
    repl.send(TAB)
    repl.see("= `add")
    repl.line("()`")
    repl.prompt()
    assert repl.lines[-2] == "42"
    repl.type("typed")
    repl.send(CTRL_C)
    repl.prompt()
    repl.line("```")
    for text in ("print('busy')", "while True: pass", "```", ""):
        repl.continuation()
        repl.line(text)
    repl.until(lambda: "busy" in repl.lines)
    repl.send(CTRL_C)
    repl.see("interrupted")
    repl.prompt()
    repl.send(UP)
    repl.see("+++ ```")
    repl.send(CTRL_U)
    repl.prompt()
    repl.send(CTRL_C if how == "dumb" else CTRL_D)
    assert repl.status() == 0
    assert "= `add()`" in Path(os.environ["KEDI_HISTORY"]).read_text()


def test_prompts_stay_out_of_output_that_goes_elsewhere(open_terminal: Open) -> None:
    repl = open_terminal(command=["sh", "-c", '"$0" -m kedi --idle > out.txt', sys.executable])
    repl.prompt()
    repl.run("= `6 * 7`")
    repl.send(CTRL_D)
    assert repl.status() == 0
    text = Path("out.txt").read_text()
    assert text.startswith("Kedi ")
    assert text.endswith("\n42\n")
    assert "+++" not in text
