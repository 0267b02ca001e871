"""When an input is submitted, what is a command, and how copied sessions are read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kedi
from kedi.repl.rules import Command, Rules, command_in
from kedi.repl.transcript import cleaned, inputs, prompted


@pytest.fixture(scope="module")
def rules() -> Iterator[Rules]:
    with kedi.interactive() as session:
        yield Rules(session.check)


@pytest.mark.parametrize(
    "text",
    [
        "@f() -> int:",
        "> if: `True`:",
        "> loop [x]: `[1]`:",
        "> profile: careful:",
        "@f(a,",
        "~T(a: int,",
        "[x: list[int]] = `[1,",
        "= `f(1",
        "= `1 +",
        "```",
        "```\nimport math",
        "[x: int] = ```",
        "= first \\",
        "###",
        ":show `[1,",
        ":type `(",
        "+++ @f() -> int:",
    ],
)
def test_open_inputs_go_on(rules: Rules, text: str) -> None:
    assert rules.is_open(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "# only a comment",
        "[x] = 1",
        "= `1 + 1`",
        ">> Say [word]",
        "= `f(`",
        "prose",
        "exit()",
        "[a: Nope] = x",
        ":show",
        ":show `1`",
        ":multiline",
        ":nonsense [",
        "help",
        "name?",
        "+++ [x] = 1",
    ],
)
def test_what_more_input_cannot_help_is_submitted(rules: Rules, text: str) -> None:
    assert not rules.is_open(text)


@pytest.mark.parametrize(
    ("text", "belongs"),
    [
        ("```\nx = 1", True),
        ("= ```\nx = 1", True),
        ("@f():\n  ```\n  x = 1", True),
        ("###\nwords", True),
        ("```\nx = 1\n```", False),
        ("###\nwords\n###", False),
        ("@f() -> int:\n  = `1`", False),
        ("@f() -> int:", False),
        ("@f(a,", False),
        ("[x: int] = `(1,", False),
        ("= first \\", False),
    ],
)
def test_a_blank_line_belongs_to_fences_and_comments_only(
    rules: Rules, text: str, belongs: bool
) -> None:
    assert rules.takes_blank(text) is belongs


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (":show `x`", Command("show", "`x`")),
        ("  :show   <x>  ", Command("show", "<x>")),
        (":show`x`", Command("show", "`x`")),
        (":show `[1,\n2]`", Command("show", "`[1,\n2]`")),
        (":", Command("", "")),
        (":?", Command("?", "")),
        ("help", Command("help", "")),
        (" help() ", Command("help", "")),
        ("name?", Command("?", "name")),
        ("name??", Command("??", "name")),
        ("?name", Command("?", "name")),
        ("a.b['k']?", Command("?", "a.b['k']")),
        ("help me", None),
        ("what is this?", None),
        ("exit()", None),
        ("quit", None),
        ("[x] = 1", None),
        ("= is it?", None),
        (">> Is it [x]?", None),
        ("x\n?", None),
    ],
)
def test_commands(text: str, command: Command | None) -> None:
    assert command_in(text) == command


@given(st.text(alphabet=":?+. \n\t[]`a_é\u200b0=>", max_size=40))
def test_any_text_is_a_command_or_a_fragment(text: str) -> None:
    command_in(text)
    assert command_in(text + "\n[x] = 1") is None or ":" in text or "?" in text
    assert isinstance(cleaned(text), str)


def test_names_with_a_question_mark_are_found_in_linear_time() -> None:
    assert command_in("a" * 200_000 + "[?") is None
    assert command_in("a[" * 100_000 + "?") is None
    assert command_in(" " * 200_000 + "a?") == Command("?", "a")


TRANSCRIPT = """\
Kedi 0.1.0 on linux
Type "help" for help
+++ [x: int] = `1`
+++ @f() -> int:
...   = `x`
...
+++ = <f()>
'1'
...
+++ :multiline
... [y] = 2
... [z] = 3
...
+++
"""


def test_a_copied_session_is_read_input_by_input() -> None:
    assert inputs(TRANSCRIPT) == [
        "[x: int] = `1`",
        "@f() -> int:\n  = `x`",
        "= <f()>",
        "[y] = 2\n[z] = 3",
    ]


@pytest.mark.parametrize("text", ["", "[x] = 1", "1 +++ 2", "...", "Kedi 1", "x\n+++ [y] = 1"])
def test_other_texts_are_no_copied_sessions(text: str) -> None:
    assert inputs(text) is None
    assert cleaned(text) == text


def test_a_paste_loses_its_prompts_or_keeps_those_between_inputs() -> None:
    assert cleaned("+++ @f():\n...   = a\n...\n") == "@f():\n  = a"
    assert cleaned("+++ [x] = 1\r\n+++ = <x>\r\n'1'\r\n") == "+++ [x] = 1\n+++ = <x>"
    assert cleaned("[a] = 1\r\n\r\n  [b] = 2") == "[a] = 1\n\n  [b] = 2"


_LINE = st.text(alphabet="ab =<>`[]:.+é", max_size=12).map(str.rstrip)
_INPUT = st.lists(_LINE, min_size=1, max_size=4).map("\n".join).map(str.strip)


@given(st.lists(_INPUT.filter(lambda text: bool(text) and ":multiline" not in text), min_size=1))
def test_what_was_typed_comes_back(typed: list[str]) -> None:
    shown = "\n".join(f"{prompted(text)}\n..." for text in typed)
    assert inputs(shown) == typed
