"""`.env` files: form, precedence, and files that mean harm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedi.agents.dotenv import MAX_BYTES, load_env, parse_env, read_env


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1", {"A": "1"}),
        ("A = 1 ", {"A": "1"}),
        ("export A=1", {"A": "1"}),
        ("A=", {"A": ""}),
        ("A=x # comment", {"A": "x"}),
        ("A=x#y", {"A": "x#y"}),
        ("A=#x", {"A": ""}),
        ("# A=1\n\n  B=2", {"B": "2"}),
        ("A='x # y'", {"A": "x # y"}),
        ('A="x # y" # z', {"A": "x # y"}),
        (r"A='a\nb'", {"A": r"a\nb"}),
        (r'A="a\nb\t\"c\" \\ \d"', {"A": 'a\nb\t"c" \\ \\d'}),
        ('A="one\ntwo"\nB=2', {"A": "one\ntwo", "B": "2"}),
        ("A=$HOME ${B} `id` $(id)", {"A": "$HOME ${B} `id` $(id)"}),
        ("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("\ufeffA=1", {"A": "1"}),
        ("A=1\nA=2", {"A": "2"}),
        ("A=ü 🐈", {"A": "ü 🐈"}),
        ("A=x=y", {"A": "x=y"}),
    ],
)
def test_form(text: str, values: dict[str, str]) -> None:
    found = parse_env(text)
    assert found.values == values
    assert found.problems == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A=1\nnonsense\nB=2", "line 2"),
        ("A=1\n1X=2\nB=2", "line 2"),
        ("A=1\nC='open\nB=2", "line 2"),
        ("A=1\nC=x\0y\nB=2", "line 2"),
    ],
)
def test_a_broken_line_costs_only_itself(text: str, problem: str) -> None:
    found = parse_env(text)
    assert found.values == {"A": "1", "B": "2"}
    assert len(found.problems) == 1
    assert problem in found.problems[0]


def test_line_numbers_count_multi_line_values() -> None:
    assert "line 4" in parse_env('A="1\n2\n3"\nbad').problems[0]


def test_environment_is_never_overridden() -> None:
    Path(".env").write_text("A=file\nB=file\n", encoding="utf-8")
    environ = {"A": "outside"}
    assert load_env(environ=environ) == ()
    assert environ == {"A": "outside", "B": "file"}


def test_names_that_choose_code_are_left_alone() -> None:
    names = ["PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONSTARTUP", "DYLD_INSERT_LIBRARIES", "HOME"]
    Path(".env").write_text("".join(f"{name}=/evil\n" for name in names), encoding="utf-8")
    environ: dict[str, str] = {}
    problems = load_env(environ=environ)
    assert environ == {}
    assert len(problems) == len(names)


def test_missing_file_is_fine() -> None:
    assert read_env() == read_env("nowhere")
    assert read_env().problems == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX pipes")
def test_a_pipe_is_not_waited_for() -> None:
    os.mkfifo(".env")
    assert "not a regular file" in read_env().problems[0]


def test_a_directory_of_that_name_is_no_env_file() -> None:
    Path(".env").mkdir()
    assert read_env().problems == ()


def test_a_huge_file_is_not_read() -> None:
    with Path(".env").open("wb") as file:
        file.truncate(MAX_BYTES * 1000)
    assert "larger than" in read_env().problems[0]


def test_bytes_that_are_not_text() -> None:
    Path(".env").write_bytes(b"A=1\nB=\xff\xfe\n")
    assert "not UTF-8" in read_env().problems[0]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_a_problem() -> None:
    Path(".env").write_text("A=1", encoding="utf-8")
    Path(".env").chmod(0)
    assert len(read_env().problems) == 1


def test_many_open_quotes_are_not_slow() -> None:
    found = parse_env("A='\n" * 2000)
    assert len(found.problems) + len(found.values) >= 1


@given(st.text(alphabet=st.sampled_from("AB='\"\\# \n\r\t$x\0\ufeffé"), max_size=60))
def test_any_text_is_parsed(text: str) -> None:
    found = parse_env(text)
    assert all("\0" not in value for value in found.values.values())


@given(st.text(alphabet=st.characters(exclude_characters="\0\r", exclude_categories=["Cs"])))
def test_quoted_values_round_trip(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_env(f'A="{quoted}"\nB=1').values == {"A": value, "B": "1"}
