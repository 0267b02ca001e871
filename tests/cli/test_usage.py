"""Command lines that cannot be used, help and version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kedi._version import __version__
from kedi.cli.options import OPTIONS, USAGES, Invocation, UsageError, help_text, parse
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no program is given"),
        (["--test"], "no program is given"),
        (["--"], "no program is given"),
        (["-c"], "`-c` needs TEXT"),
        (["x.kedi", "--adapter"], "`--adapter` needs NAME"),
        (["--tset", "x.kedi"], "did you mean `--test`"),
        (["--anything"], "the program's own options follow the file"),
        (["-c", "= a", "--test"], "--test needs a file"),
        (["-c", "= a", "--eval"], "--eval needs a file"),
        (["x.kedi", "--eval", "--test"], "--eval and --test exclude each other"),
        (["x.kedi", "--test", "-p"], "exclude each other"),
        (["x.kedi", "-c", "= a"], "one program at a time"),
        (["-c", "= a", "-c", "= b"], "one program at a time"),
        (["x.kedi", "--test=1"], "takes no value"),
        (["--idle", "x.kedi"], "`--idle` takes no program and no arguments of one: `x.kedi`"),
        (["x.kedi", "--idle"], "`--idle` takes no program"),
        (["-c", "= a", "--idle"], "`--idle` takes no program and no arguments of one: `-c`"),
        (["--idle", "--", "x.kedi"], "`--idle` takes no program"),
        (["--idle", "--name", "x"], "there is no option `--name`"),
        (["--idle", "--parse"], "--idle and --parse exclude each other"),
        (["--test", "--idle"], "--test and --idle exclude each other"),
        (["--idle", "--eval"], "--idle and --eval exclude each other"),
        (["--idle", "--optimize"], "not in this version"),
        (["--idle", "--optimize"], "leave it out"),
        (["--optimize=3", "--idle"], "leave it out"),
        (["--idle", "--\u00e9", "5"], "a session takes no others"),
        (["--\u00e9", "5"], "there is no option `--\u00e9`"),
        (["--\udcff", "5"], "there is no option `--"),
        (["--idle", "--lod", "x"], "did you mean `--load`?"),
        (["--idle", "--load", "~no-such-user/x"], "there is no such user"),
        (["--idle", "--load"], "`--load` needs PATH"),
        (["--idle", "--load="], "`--load` needs the path"),
        (["--idle", "--load", "a", "--load", "b"], "`--load` is given twice"),
        (["--idle", "--record=1"], "takes no value"),
        (["--record"], "`--record` needs `--idle`"),
        (["x.kedi", "--record"], "`--record` needs `--idle`"),
        (["x.kedi", "--load", "a"], "`--load` needs `--idle`"),
        (["-c", "= a", "--highlight"], "`--highlight` needs `--idle`"),
        (["--highlight", "--parse", "x.kedi"], "`--highlight` needs `--idle`"),
        (["x.kedi", "--=3"], "cannot name an argument"),
        (["x.kedi", "--__class__", "3"], "cannot name an argument"),
        (["parse"], "needs a file"),
        (["parse", "a", "b"], "takes one file, not 2"),
        (["parse", "--fast", "a"], "takes no option `--fast`"),
        (["install", "a", "b"], "takes one file"),
        (["install", "--adapter"], "takes no option"),
        (["model"], "kedi model install"),
        (["model", "remove"], "`kedi model remove` is not a command"),
        (["model", "install", "x"], "is not a command"),
    ],
)
def test_usage_errors(kedi: Run, arguments: list[str], said: str) -> None:
    status, out, err = kedi(*arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("flag", ["--optimize"])
def test_what_is_not_there_yet_is_said_and_not_advertised(kedi: Run, flag: str) -> None:
    for arguments in ([flag], ["x.kedi", flag], ["-c", "= a", f"{flag}=1"]):
        status, _, err = kedi(*arguments)
        assert status == 2
        assert "not in this version" in err
    assert flag not in help_text("run")


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(kedi: Run, process: Run, flag: str) -> None:
    assert kedi(flag) == (0, f"kedi {__version__}\n", "")
    assert kedi("x.kedi", flag) == (0, f"kedi {__version__}\n", "")
    assert process(flag) == (0, f"kedi {__version__}\n", "")


@pytest.mark.parametrize("topic", sorted(USAGES))
def test_help(kedi: Run, topic: str) -> None:
    arguments = ["--help"] if topic == "run" else [topic, "--help"]
    status, out, err = kedi(*arguments)
    assert (status, err) == (0, "")
    assert out == help_text(topic) + "\n"
    assert max(map(len, out.splitlines())) <= 90


def test_help_wins_over_what_is_wrong(kedi: Run) -> None:
    assert kedi("-h", "--nonsense").status == 0
    assert kedi("x.kedi", "--test", "--help").out.startswith("usage: kedi")


def test_every_option_is_in_the_help_and_does_something() -> None:
    text = help_text("run")
    for option in OPTIONS:
        for flag in option.flags:
            assert re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text)
            given = [flag] if option.metavar is None else [flag, "value"]
            if flag in ("--highlight", "--record", "--load"):
                given.append("--idle")
            elif flag not in ("-c", "--command", "--idle"):
                given.append("x.kedi")
            assert _state(parse(given))


def _state(invocation: Invocation) -> bool:
    return invocation.command != "run" or bool(
        invocation.text or invocation.adapter or invocation.model
    )


def test_options_may_stand_before_and_after_the_file() -> None:
    for arguments in (["--adapter", "a", "f.kedi", "--test"], ["--test", "f.kedi", "--adapter=a"]):
        result = parse(arguments)
        assert (result.command, result.source, result.adapter) == ("test", "f.kedi", "a")
        assert not result.arguments


def test_after_two_dashes_everything_is_the_programs() -> None:
    result = parse(["--", "--strange-name.kedi", "--adapter", "a", "b"])
    assert result.source == "--strange-name.kedi"
    assert result.arguments == {"adapter": "a"}
    assert result.ignored == ["b"]


def test_a_file_may_have_the_name_of_a_command(kedi: Run) -> None:
    Path("parse").write_text("= ran", encoding="utf-8")
    assert kedi("./parse").out == "ran\n"


def test_usage_error_topics() -> None:
    with pytest.raises(UsageError) as caught:
        parse(["parse"])
    assert caught.value.topic == "parse"
