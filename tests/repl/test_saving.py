"""``:dump``, ``--record``, ``--load`` and ``:load`` of snapshots."""

from __future__ import annotations

import os
import re
import shlex
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import kedi
from tests.repl.conftest import Done
from tests.repl.terminal import CTRL_D, Terminal

Idle = Callable[..., Done]
Open = Callable[..., Terminal]
SETUP = "[x: list[int]] = `[1, 2]`\n@total() -> int:\n  = `sum(x)`\n\n"


def _sessions() -> Path:
    return Path(os.environ["KEDI_HOME"], "sessions")


def _resumed_by(out: str) -> list[str]:
    commands = re.findall(r"^to resume: (.*)$", out, re.M)
    return shlex.split(commands[-1])


def test_dump_saves_under_the_home_and_says_how_to_resume(idle: Idle) -> None:
    done = idle(f"{SETUP}:dump\n[y] = later\n:dump\n")
    assert (done.status, done.err) == (0, "")
    (saved,) = _sessions().iterdir()
    assert re.fullmatch(r"idle-\d{8}T\d{6}-[0-9a-f]{8}\.kedi-state", saved.name)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert stat.S_IMODE(_sessions().stat().st_mode) == 0o700
    program, *arguments = _resumed_by(done.out)
    assert program == "kedi"
    assert arguments == ["--idle", "--load", str(saved)]
    again = idle("= `(total(), y)`\n", *arguments[1:])
    assert again.out.startswith("(3, 'later')\n")


def test_dump_to_a_path_keeps_to_it(idle: Idle) -> None:
    done = idle(f"{SETUP}:dump my state\n[y] = 1\n:dump\n")
    assert _resumed_by(done.out)[-1] == str(Path("my state").absolute())
    assert "'" in done.out  # quoted for the shell
    with kedi.load_session("my state") as session:
        assert session.execute("= <y>") == "1"
    assert not _sessions().exists()


def test_numbering_goes_on_after_a_load(idle: Idle) -> None:
    idle(f"{SETUP}:dump state\n")
    done = idle("= `1 / 0`\n:source total\n", "--load", "state")
    assert "<interactive:3>" in done.err
    assert "<interactive:2>" in done.out


def test_load_goes_on_recording_there(idle: Idle) -> None:
    idle(f"{SETUP}:dump state\n")
    idle("[z: int] = `9`\n", "--load", "state")
    assert idle("= `z`\n", "--load", "state").out.startswith("9\n")


def test_record_saves_however_one_leaves(idle: Idle) -> None:
    for end, status in [("", 0), (":exit\n", 0), ("`raise SystemExit(5)`\n", 5), ("= `1/0`\n", 1)]:
        done = idle(f"[x: int] = `42`\n{end}", "--record")
        assert done.status == status
        saved = _resumed_by(done.out)[-1]
        assert idle("= `x`\n", "--load", saved).out.startswith("42\n")


def test_record_of_nothing_is_a_snapshot_too(idle: Idle) -> None:
    done = idle("", "--record")
    assert done.status == 0
    assert idle("= `1`\n", "--load", _resumed_by(done.out)[-1]).out.startswith("1\n")


@pytest.mark.parametrize(
    ("end", "status"),
    [("", 1), (":exit\n", 1), ("`raise SystemExit(7)`\n", 7), ("= `1/0`\n", 1)],
)
def test_record_of_what_cannot_be_saved_whole_saves_the_rest(
    idle: Idle, end: str, status: int
) -> None:
    done = idle(f"{SETUP}[g] = `(i for i in [1])`\n{end}", "--record")
    assert done.status == status
    assert "error: the session cannot be saved whole" in done.err
    assert "  g: it is a generator" in done.err
    (saved,) = _sessions().iterdir()
    assert saved.name.endswith(".partial.kedi-state")
    assert f"saved the rest to {saved}\n" in done.out
    again = idle(f":load {saved}\n= `total()`\n= `g`\n")
    assert "missing: g: it is a generator" in again.out
    assert "\n3\n" in again.out
    assert "`g` is missing" in again.err


def test_a_whole_snapshot_is_not_replaced_by_a_part(idle: Idle) -> None:
    idle(f"{SETUP}:dump work.kedi-state\n")
    before = Path("work.kedi-state").read_bytes()
    for number in range(2):
        done = idle("[g] = `(i for i in [1])`\n", "--load", "work.kedi-state")
        assert (done.status, "work.kedi-state stays as it was" in done.err) == (1, True)
        name = "work.partial.kedi-state" if not number else "work.partial-2.kedi-state"
        assert _resumed_by(done.out)[-1] == str(Path(name).absolute())
    assert Path("work.kedi-state").read_bytes() == before


def test_a_part_is_recorded_to_where_it_came_from(idle: Idle) -> None:
    idle("[g] = `(i for i in [1])`\n[h] = `(i for i in [1])`\n:dump --partial s.kedi-state\n")
    done = idle("[x: int] = `1`\n", "--load", "s.kedi-state")
    assert done.status == 0  # nothing more is missing
    assert done.err.startswith("note: still missing in the file:\n  g: it is a generator")
    assert _resumed_by(done.out)[-1] == str(Path("s.kedi-state").absolute())
    done = idle("[k] = `(i for i in [1])`\n", "--load", "s.kedi-state")
    assert done.status == 1
    done = idle("[g] = 1\n[h] = 2\n[k] = 3\n= `x`\n", "--load", "s.kedi-state")
    assert (done.status, done.err) == (0, "")
    again = idle("= `(g, h, k)`\n", "--load", "s.kedi-state").out
    assert "missing" not in again
    assert "('1', '2', '3')" in again
    assert [path.name for path in Path().glob("*.kedi-state")] == ["s.kedi-state"]


def test_what_is_missing_is_listed_in_a_few_lines(idle: Idle) -> None:
    many = "".join(f"[g{number}] = `(i for i in [1])`\n" for number in range(30))
    for text, arguments in [(many, ["--record"]), (f"{many}:dump --partial state\n", [])]:
        err = idle(text, *arguments).err
        assert err.count("it is a generator") == 8
        assert "… and 22 more" in err


def test_a_place_that_is_gone_is_replaced(idle: Idle) -> None:
    Path("sub").mkdir()
    idle(f"{SETUP}:dump sub/state\n")
    done = idle("`__import__('shutil').rmtree('sub')`\n[z: int] = `9`\n", "--load", "sub/state")
    assert done.status == 1
    assert f"the session is not saved to {Path('sub/state').absolute()}: No such file" in done.err
    (saved,) = _sessions().iterdir()
    assert _resumed_by(done.out)[-1] == str(saved)
    assert "\n(3, 9)\n" in "\n" + idle("= `(total(), z)`\n", "--load", str(saved)).out


def test_a_place_of_another_kind_is_not_replaced(idle: Idle) -> None:
    idle(f"{SETUP}:dump state\n")
    done = idle("`__import__('os').rename('state', 'other')`\n"
                "`__import__('os').symlink('other', 'state')`\n", "--load", "state")  # fmt: skip
    assert done.status == 1
    assert "symbolic link" in done.err
    assert Path("state").is_symlink()
    (saved,) = _sessions().iterdir()
    assert ".partial" not in saved.name


def test_nothing_can_be_written(idle: Idle) -> None:
    Path(os.environ["KEDI_HOME"]).mkdir(parents=True)
    _sessions().write_text("in the way")
    done = idle("[x] = 1\n", "--record")
    assert done.status == 1
    assert "the session is not saved: " in done.err
    assert "help: set KEDI_HOME to a folder that can be written" in done.err
    assert "Traceback" not in done.err
    assert idle("[x] = 1\n`raise SystemExit(7)`\n", "--record").status == 7


def test_a_recorded_session_that_cannot_be_saved_stays(idle: Idle) -> None:
    idle(f"{SETUP}:dump state\n")
    Path(os.environ["KEDI_HOME"]).mkdir(parents=True)
    _sessions().write_text("in the way")
    done = idle("[mine: int] = `5`\n:load state\n= `mine`\n:dump here\n:load state\n= `x`\n",
                "--record")  # fmt: skip
    assert "nothing is loaded, since the session could not be saved" in done.err
    assert done.out.startswith("5\n")
    assert "[1, 2]\n" in done.out
    assert idle("= `mine`\n", "--load", "here").out.startswith("5\n")


def test_a_dump_that_fails_leaves_the_session(idle: Idle) -> None:
    done = idle("[g] = `(i for i in [1])`\n:dump my state\n= `1`\n")
    assert (done.status, done.out) == (0, "1\n")
    assert "`:dump --partial my state` saves the rest" in done.err
    assert not Path("my state").exists()


def test_a_partial_dump_names_what_it_leaves_out(idle: Idle) -> None:
    done = idle("[g] = `(i for i in [1])`\n[h: int] = `7`\n:dump --partial state\n")
    assert "left out: g: it is a generator" in done.err
    again = idle(":load state\n= `h`\ng?\n:type g\n= `g`\n:type g.x\n")
    assert "missing: g: it is a generator" in again.out
    assert "\n7\n" in again.out
    assert "\ng: missing\n" in again.out
    assert again.out.endswith("\nmissing\n")
    assert again.err.count("`g` is missing") == 2


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("notes.txt", "`{cwd}/notes.txt` is no snapshot and stays as it is"),
        ("--all", "has no option `--all`"),
        (".", "the session is not saved to `.`: Is a directory"),
        ("no/where", "the session is not saved to `no/where`: No such file"),
        ("no/where", "help: `:dump PATH` saves it elsewhere"),
        ("--partial no/where", "the session is not saved to `no/where`"),
        ("--partialnot", "has no option `--partialnot`"),
    ],
)
def test_dumps_to_wrong_places(idle: Idle, argument: str, said: str) -> None:
    Path("notes.txt").write_text("my notes")
    done = idle(f"{SETUP}:dump {argument}\n")
    assert done.status == 1
    assert said.format(cwd=Path.cwd()) in done.err
    assert Path("notes.txt").read_text() == "my notes"


@pytest.mark.parametrize(
    ("make", "status", "said"),
    [
        (lambda path: None, 2, "No such file"),
        (lambda path: path.mkdir(), 2, "Is a directory"),
        (lambda path: path.write_text("= `1`"), 1, "no snapshot"),
        (lambda path: path.write_text("{}"), 1, ""),
    ],
)
def test_loads_of_what_is_no_snapshot(
    idle: Idle, make: Callable[[Path], object], status: int, said: str
) -> None:
    make(Path("state"))
    done = idle("= `1`\n", "--load", "state")
    assert (done.status, done.out) == (status, "")
    assert said in done.err
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err


def test_load_in_a_session_replaces_it(idle: Idle) -> None:
    idle(f"{SETUP}:dump state\n")
    done = idle("[old] = 1\n:load state\n= `total()`\n= <old>\n[new] = 2\n:dump\n")
    assert "resumed after 2 fragments: x, total\n3\n" in done.out
    assert "old" in done.err
    assert _resumed_by(done.out)[-1] == str(Path("state").absolute())


def test_a_load_that_fails_keeps_the_session(idle: Idle) -> None:
    Path("state").write_text('{"format": "kedi-session"')
    done = idle("[old: int] = `1`\n:load state\n= `old`\n")
    assert (done.status, done.out) == (0, "1\n")


def test_the_last_result_is_not_saved(idle: Idle) -> None:
    done = idle("= `(i for i in [1])`\n:dump state\n= `type(_).__name__`\n")
    assert done.status == 0
    assert done.out.endswith("'generator'\n")
    assert "_" in idle("= `_`\n", "--load", "state").err


def test_another_model_for_a_loaded_session(idle: Idle) -> None:
    idle(f"{SETUP}:dump state\n")
    assert (
        idle("", "--load", "state", "--adapter", "pydantic", "--adapter-model", "some:m").status
        == 0
    )
    with kedi.load_session("state", adapter="pydantic") as session:
        assert session.config.agents.model == "some:m"


# ── from the command line, in a terminal ──────────────────────────────────────

HOOKS = "def seen(event):\n    print('called')\n"


def test_a_session_goes_on_again_and_again(open_terminal: Open) -> None:
    first = open_terminal("--record", columns=300)
    first.prompt()
    first.run("[x: list[int]] = `[1]`")
    first.line(":exit")
    assert first.status() == 0
    arguments = _resumed_by(first.text)[2:]
    for number in range(2, 5):
        repl = open_terminal(*arguments, columns=300)
        repl.see(f"resumed after {number - 1} fragment")
        repl.prompt()
        repl.run(f"`x.append({number})`")
        repl.send(CTRL_D)
        assert repl.status() == 0
        assert _resumed_by(repl.text)[2:] == arguments
    assert idle_value(arguments[-1], "x") == [1, 2, 3, 4]


def idle_value(path: str, name: str) -> object:
    with kedi.load_session(path) as session:
        return session.execute(f"= `{name}`")


def test_what_cannot_be_saved_whole_in_a_terminal(open_terminal: Open) -> None:
    repl = open_terminal("--record", columns=300)
    repl.prompt()
    repl.run("[x: int] = `41`")
    repl.run("[g] = `(i for i in [1])`")
    repl.send(CTRL_D)
    assert repl.status() == 1
    assert "error: the session cannot be saved whole" in repl.text
    again = open_terminal(*_resumed_by(repl.text)[2:], columns=300)
    again.see("missing: g: it is a generator")
    again.prompt()
    again.run("[g] = whole again")
    again.line("`raise SystemExit(7)`")
    assert again.status() == 7
    assert idle_value(_resumed_by(again.text)[-1], "(x, g)") == (41, "whole again")


STUBBORN = """
import time
try:
    print('busy')
    time.sleep(600)
except BaseException:
    pass
try:
    print('kept')
    time.sleep(600)
finally:
    print('left')
""".strip().split("\n")


def test_code_that_keeps_an_exit_is_ended_by_the_next_signal(open_terminal: Open) -> None:
    repl = open_terminal("--record", columns=300)
    repl.prompt()
    repl.line("```")
    for text in (*STUBBORN, "```", ""):
        repl.continuation()
        repl.line(text)
    repl.until(lambda: "busy" in repl.lines, "the fragment to run")
    os.kill(repl.process.pid, signal.SIGTERM)
    repl.until(lambda: "kept" in repl.lines, "the handler")
    os.kill(repl.process.pid, signal.SIGTERM)
    assert repl.status() == 143
    assert "left" in repl.lines
    assert len(list(_sessions().iterdir())) == 1


@pytest.mark.parametrize("busy", [True, False])
def test_several_signals_save_once(open_terminal: Open, busy: bool) -> None:
    repl = open_terminal("--record", columns=300)
    repl.prompt()
    repl.run("[x: int] = `41`")
    if busy:
        repl.line("`print('busy') or __import__('time').sleep(600)`")
        repl.until(lambda: "busy" in repl.lines, "the fragment to run")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
        os.kill(repl.process.pid, number)
    assert repl.status() in (129, 143)
    assert "Traceback" not in repl.text
    assert repl.raw.rfind(b"\x1b[?2004l") > repl.raw.rfind(b"\x1b[?2004h")
    (saved,) = _sessions().iterdir()
    assert idle_value(str(saved), "x") == 41


def test_a_snapshot_with_hooks(open_terminal: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("hooks_of_a_test.py").write_text(HOOKS)
    monkeypatch.syspath_prepend(Path.cwd())
    import hooks_of_a_test  # type: ignore[import-not-found]

    with kedi.interactive(hooks={"pre_tool_use": hooks_of_a_test.seen}) as session:
        session.execute("[x: int] = `41`")
        session.dump("state")
    repl = open_terminal("--load", "state", cwd=Path.cwd())
    repl.see("resumed after 1 fragment: x")
    repl.prompt()
    repl.run("= `x + 1`")
    repl.shows("+++ = `x + 1`", "42", "+++")
    repl.line(":exit")
    assert repl.status() == 0
    assert "called" not in repl.text
    Path("hooks_of_a_test.py").unlink()
    repl = open_terminal("--load", "state", cwd=Path.cwd())
    assert repl.status() == 1
    assert "hooks_of_a_test" in repl.text
    assert "Traceback" not in repl.text


def test_a_source_is_no_snapshot_to_go_on_with(idle: Idle) -> None:
    Path("work.kedi").write_text("[x] = 1\n")
    done = idle("", "--load", "work.kedi")
    assert done.status == 1
    assert "`work.kedi` cannot be loaded: this is no snapshot" in done.err
    assert "`:load FILE` in a session runs a source" in done.err


def test_load_reads_a_pipe_once(idle: Idle) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"= `6 * 7`\n")
    os.close(writing)
    try:
        assert idle(f":load /dev/fd/{reading}\n").out == "42\n"
    finally:
        os.close(reading)


def test_load_of_what_never_ends_is_refused(idle: Idle) -> None:
    assert "larger than 64,000,000 bytes" in idle(":load /dev/zero\n").err
