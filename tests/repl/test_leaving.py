"""The REPL in a real pseudo-terminal: interrupts, ends, history, plain terminals."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repl.conftest import DRIVER
from tests.repl.terminal import (
    CTRL_C,
    CTRL_D,
    CTRL_R,
    CTRL_U,
    ENTER,
    TAB,
    UP,
    Terminal,
)

Open = Callable[..., Terminal]


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
