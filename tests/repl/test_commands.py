"""Fragments and commands, read from standard input that is no terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.repl import start
from kedi.repl.commands import COMMANDS
from kedi.repl.start import Settings
from tests.repl import driver
from tests.repl.conftest import Done

Idle = Callable[..., Done]


def test_results_are_shown_by_repr(idle: Idle) -> None:
    done = idle("[x: int] = `40`\n= `x + 2`\n= <x>\n= `None`\n> show: <x>\n= `[1, 'a']`\n")
    assert done == Done(0, "42\n'40'\n40\n[1, 'a']\n", "")


def test_a_blank_line_submits_exactly_once(idle: Idle) -> None:
    done = idle(
        "[n: int] = `0`\n@bump():\n  [n] := `n + 1`\n\n\n\n> if: `True`:\n  `bump()`\n\n= `n`\n"
    )
    assert done == Done(0, "1\n", "")


@pytest.mark.parametrize(
    "text",
    [
        "= `sum([1,\n 2])`\n\n",
        "```\nx = 3\n\n\ny = 4\n```\n\n= `x`\n",
        "[x: int] = ```\nreturn 3\n```\n\n= `x`\n",
        "@f(a: int,\n   b: int) -> int:\n  = `a + b`\n\n= `f(1, 2)`\n",
        "[a] = 1\n= \\\n  3\n\n",
        "= `1 + 2`",
        "@f() -> int:\n  = `3`\n\n= `f()`",
        "> if: `True`:\n  = `3`",
    ],
)
def test_open_fragments_go_on_to_a_blank_line_or_the_end(idle: Idle, text: str) -> None:
    status, out, err = idle(text)
    assert (status, out.strip("'\n"), err) == (0, "3", "")


def test_what_stays_open_is_an_error(idle: Idle) -> None:
    done = idle("@f() -> int:\n\n= `1`\n")
    assert done.out == "1\n"
    assert "an indented block is missing" in done.err
    assert idle("= `[1,").status == 1


def test_errors_are_rendered_and_the_session_goes_on(idle: Idle) -> None:
    done = idle("[x: int] = `1`\n[x] := `'a'`\n= `x / 0`\nprose here\n= `x`\n")
    assert done.status == 0
    assert done.out == "1\n"
    assert "<interactive:3>, line 1" in done.err
    assert "ZeroDivisionError" in done.err
    assert "start a template with `>>`" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", 0),
        ("\n\n  \n", 0),
        ("= `1/0`\n", 1),
        ("= `1/0`\n= `1`\n", 0),
        ("= `1/0`\n\n\n", 1),
        ("prose\n", 1),
        (":nothing\n", 1),
        (":nothing\n:vars\n", 0),
        (":show `1/0`\n", 1),
        ("= `1/0`\n:exit\n= `2`\n", 0),
    ],
)
def test_the_status_is_that_of_the_last_input(idle: Idle, text: str, status: int) -> None:
    assert idle(text).status == status


@pytest.mark.parametrize("text", ["exit()", "quit()", "exit", "quit"])
def test_words_of_python_do_not_leave(idle: Idle, text: str) -> None:
    done = idle(f"{text}\n= `1`\n")
    assert done.out == "1\n"
    assert "not a statement" in done.err


def test_exit_leaves(idle: Idle) -> None:
    assert idle(":exit\n= `1`\n") == Done(0, "", "")


def test_exits_of_fragments_keep_their_status(idle: Idle) -> None:
    assert idle("`raise SystemExit(7)`\n= `1`\n") == Done(7, "", "")
    assert idle("```\nimport sys\nsys.exit('bye')\n```\n") == Done(1, "", "bye\n")
    assert idle(":show `exit(3)`\n").status == 3


def test_other_ends_do_not_leave(idle: Idle) -> None:
    done = idle("```\nclass Bail(BaseException): ...\nraise Bail('now')\n```\n\n= `1`\n")
    assert done.out == "1\n"
    assert "the fragment ended with Bail: now" in done.err


# ── commands ──────────────────────────────────────────────────────────────────


def test_show_prints_text_plainly_and_values_by_repr(idle: Idle) -> None:
    text = "[name] = Ada\n@greet() -> str:\n  = Hi <name>\n\n"
    shown = [
        ":show <name>",
        ":show `name`",
        ":show Dear <name>",
        ":show <greet()>",
        ":show `greet()`",
    ]
    assert idle(text + "\n".join(shown) + "\n").out == "Ada\n'Ada'\nDear Ada\nHi Ada\n'Hi Ada'\n"


def test_show_may_span_lines(idle: Idle) -> None:
    assert idle(":show `[1,\n2]`\n\n").out == "[1, 2]\n"


def test_show_of_a_bare_name_says_what_it_is(idle: Idle) -> None:
    done = idle("[name] = Ada\n:show name\n")
    assert done.out == "name\n"
    assert ":show `name`" in done.err


def test_the_last_result(idle: Idle) -> None:
    done = idle("= `_`\n= `20`\n[x] = kept\n= `_ + 1`\n:show `_ * 2`\n= <_>\n")
    assert "_" in done.err
    assert done.out == "20\n21\n42\n'42'\n"


def test_the_last_result_is_no_binding_and_survives_python(idle: Idle) -> None:
    text = "= `5`\n```\nfor _ in range(3): pass\n```\n\n= `_`\n:vars\n= `[_ for _ in (1, 2)]`\n"
    assert idle(text).out == "5\n5\nnothing is bound yet\n[1, 2]\n"
    assert idle("= `5`\n[_: int] = `9`\n= `1`\n= `_`\n").out == "5\n1\n9\n"
    inner = (
        "= `5`\n@f() -> int:\n  ```\n  for _ in range(3): pass\n  ```\n  = `_`\n\n= `f()`\n= `_`\n"
    )
    assert idle(inner).out.startswith("5\n")


@pytest.mark.parametrize(
    "ask", [":type _", ":type `_`", ":type `'x' * 3`", ":type <_>", "_?", ":vars", ":why _",
            ":source _", "_??", "= _", ":calls", ":help"]
)  # fmt: skip
def test_asking_leaves_the_last_result(idle: Idle, ask: str) -> None:
    assert idle(f"= `5`\n{ask}\n{ask}\n= `_`\n").out.endswith("\n5\n")


def test_asking_for_the_last_result(idle: Idle) -> None:
    done = idle("= `5`\n:type _\n:type _\n_?\n:show _\n= `[_]`\n:type _\n:type _[0].real\n")
    assert done.out == "5\nint\nint\n_: int\n5\n5\n[5]\nlist of 1 item\nint\n"
    done = idle("= `5`\n= _\n:why _\n")
    assert done.out == "5\n'_'\n"
    assert "this is a text; the last result is `= `_``" in done.err
    assert "`_` is the last result, and no binding" in done.err
    for ask in ("_?", ":type _", ":why _", ":source _"):
        assert "there is no result yet" in idle(f"{ask}\n").err


def test_types_of_names_and_of_what_goes_on_from_them(idle: Idle) -> None:
    done = idle(
        "```\nclass C:\n    p = property(lambda self: 4)\nc = C()\n```\n\n"
        ":type c\n:type c.p\n:type c.q\n:type len\n:type hello\n:type hello.you\n"
    )
    assert done.out == (
        "C\nint\nbuiltin_function_or_method\nstr of 5 characters\nstr of 9 characters\n"
    )
    assert "no attribute 'q'" in done.err


def test_vars(idle: Idle) -> None:
    text = "[count: int] = `3`\n[names: list[str]] = `['a']`\n@f():\n  = x\n\n~T(a)\n:vars\n"
    rows = [re.split(r"\s{2,}", line) for line in idle(text).out.splitlines()]
    assert rows == [
        ["count", "int", "3"],
        ["names", "list[str]", "['a']"],
        ["f", "procedure", "@f() -> str"],
        ["T", "type", "~T(a: str)"],
    ]
    assert idle("[count] = 3\n[other] = 4\n:vars oth\n").out.split()[0] == "other"
    assert idle(":vars\n").out == "nothing is bound yet\n"


def test_type(idle: Idle) -> None:
    text = (
        "[xs: list[int] | None] = `[1, 2]`\n:type xs\n:type `xs[0]`\n:type <xs>\n~T(a)\n:type T\n"
    )
    assert idle(text).out == (
        "list of 2 items (declared list[int] | None)\nint\nstr of 6 characters\ntype ~T(a: str)\n"
    )


def test_question_marks(idle: Idle) -> None:
    text = (
        "@add(a: int, b: int = `1`) -> int:\n  ###\n  Add two.\n  ###\n  = `a + b`\n\n"
        "[d: dict] = `{'k': [1]}`\nadd?\n?d\nd['k']?\nadd??\nad?\n"
    )
    done = idle(text)
    assert done.out.startswith(
        "@add(a: int, b: int = 1) -> int\n  defined in <interactive:1>, line 1\nAdd two.\n"
        "d: dict of 1 item\n  initialised in <interactive:2>, line 1\n{'k': [1]}\n"
        "d['k']: list of 1 item\n[1]\n"
    )
    assert done.out.endswith("# <interactive:1>, line 1\n@add(a: int, b: int = `1`) -> int:\n"
                             "  ###\n  Add two.\n  ###\n  = `a + b`\n")  # fmt: skip
    assert "did you mean `add`?" in done.err


def test_question_marks_run_nothing(idle: Idle) -> None:
    text = (
        "```\nclass Loud:\n    @property\n    def x(self): print('r' 'an')\n"
        "    def __getattr__(self, name): print('r' 'an')\n"
        "    def __call__(self): print('r' 'an')\n"
        "loud = Loud()\n```\n\nloud?\nloud.x?\nloud.nope?\n:vars\n:why loud\n"
    )
    assert "ran" not in idle(text).out


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("n.real", "int\n3"),
        ("z.imag", "float\n4.0"),
        ("when.year", "int\n2020"),
        ("pair.second", "int\n5"),
        ("pair[-1]", "int\n5"),
        ("xs[-1]['k]?'][0]", "int\n1"),
        ("text[1]", "str of 1 character\n'e'"),
        ("steps[2].numerator", "int\n7"),
        ("table[1, 'a']", "int\n7"),
        ("big[49999]", "int\n49999"),
    ],
)
def test_question_marks_follow_attributes_and_keys(idle: Idle, path: str, said: str) -> None:
    text = (
        "```\nimport collections, datetime\n"
        "n, z, when, text = 3, 3+4j, datetime.datetime(2020, 1, 2), 'hello'\n"
        "pair = collections.namedtuple('Pair', 'first second')(4, 5)\n"
        "xs, steps, table = [1, {'k]?': (1, 2)}], range(3, 9, 2), {(1, 'a'): 7}\n"
        "big = {i: i for i in range(50_000)}\n```\n\n"
    )
    done = idle(f"{text}{path}?\n:type {path}\n")
    assert done.out == f"{path}: {said}\n{said.partition(chr(10))[0]}\n"


@pytest.mark.parametrize(
    "path", ["loud.x", "loud.y", "loud[0]", "odd[1]", "loud.x.real", "keyed['k']"]
)
def test_question_marks_run_no_code_of_users(idle: Idle, path: str) -> None:
    text = (
        "```\nclass Loud:\n    def y(self): print('r' 'an')\n    y = property(y)\n"
        "    x = property(y.fget)\n    def __getitem__(self, i): print('r' 'an')\n"
        "    def __eq__(self, other): print('r' 'an')\n    def __hash__(self): return hash('k')\n"
        "class Odd(list):\n    def __getitem__(self, i): print('r' 'an')\n"
        "loud, odd, keyed = Loud(), Odd([1, 2]), {Loud(): 1, 'j': 2}\n```\n\n"
    )
    done = idle(f"{text}{path}?\n")
    assert done.status == 1
    assert "ran" not in done.out
    if path in ("loud.x", "loud.y"):
        assert "is computed by the class `Loud`" in done.err
        assert f"`:show `{path}`` does it" in done.err


def test_source(idle: Idle) -> None:
    text = (
        "[x] = 1\n@f() -> str:\n  [y] = a\n  = <y>\n\n:source f\n:source 1\n"
        ":source <interactive:1>\n:source x\n:source nope\n:source 9\n"
    )
    status, out, err = idle(text)
    assert status == 1
    assert out == (
        "# <interactive:2>, line 1\n@f() -> str:\n  [y] = a\n  = <y>\n[x] = 1\n[x] = 1\n"
        "# <interactive:1>, line 1\n[x] = 1\n"
    )
    assert "there is no `nope` here" in err
    assert "fragments are 1 to 2" in err


def test_sources_of_imports_and_python(idle: Idle) -> None:
    Path("helpers.kedi").write_text("@twice(t) -> str:\n  = <t><t>\n\n[z] = 1\n> export: *\n")
    done = idle("```\ndef f():\n    return 1\n```\n\n> import: helpers\n:source f\n:source twice\n")
    assert "def f():\n    return 1\n" in done.out
    assert done.out.endswith("helpers.kedi, line 1\n@twice(t) -> str:\n  = <t><t>\n")


def test_why_follows_bindings(idle: Idle) -> None:
    text = "[x: int] = `1`\n@bump():\n  [x] := `x + 1`\n\n[x] := `5`\n`x += 1`\n:why x\n:why nope\n"
    done = idle(text)
    assert done.out == (
        "x: int = 6\n  set by Python in <interactive:4>, line 1\n    `x += 1`\n"
        "  2 earlier statements bound it\n"
        "  `@bump` sets it when called, in <interactive:2>, line 2\n"
    )
    assert "there is no `nope` here" in done.err


def test_why_of_an_import(idle: Idle) -> None:
    Path("helpers.kedi").write_text("[answer: int] = `42`\n> export: *\n")
    out = idle("> import: helpers\n:why answer\n").out
    assert out == "answer: int = 42\n  imported in <interactive:1>, line 1\n    > import: helpers\n"


@pytest.fixture
def with_model(monkeypatch: pytest.MonkeyPatch, idle: Idle) -> Idle:
    """The same with a scripted model."""
    real = start.Settings

    def settings(config: Any, *rest: Any) -> Settings:
        return real({"adapter": ScriptedAdapter(driver.answer)}, *rest)

    monkeypatch.setattr(start, "Settings", settings)
    return idle


def test_calls_and_where_answers_come_from(with_model: Idle) -> None:
    text = (
        "[city] = Rome\n>> People in <city>: [n: int]\n[raw] << Say it\n"
        ":calls\n:calls 1\n:why n\n:calls 9\n"
    )
    done = with_model(text)
    assert "there is no call `9`" in done.err
    table, _, rest = done.out.partition("call 1 (")
    rows = [re.split(r"\s{2,}", line) for line in table.splitlines()]
    assert [row[0] for row in rows] == ["call", "1", "2", "all"]
    assert rows[1][1:3] == ["120+5", "$0.0020"]
    assert rows[1][4] == "'People in Rome: [n]' → n = 7"
    assert rest.startswith("scripted/tiny, 120+5 tokens, cost $0.0020, ")
    assert "  at <interactive:2>, line 1\n  prompt: People in Rome: [n]\n  answer: n = 7\n" in rest
    why = rest.partition("n: int = 7\n")[2]
    assert "  filled in by a model in <interactive:2>, line 1\n" in why
    assert "  by call 1 (scripted/tiny" in why
    assert "  it read <city>, initialised in <interactive:1>, line 1\n" in why


def test_calls_before_there_are_any(idle: Idle) -> None:
    assert idle(":calls\n").out == "no model was called yet\n"


def test_load_runs_a_file_as_a_fragment(idle: Idle) -> None:
    Path("sub").mkdir()
    Path("sub/part.kedi").write_text("> import: near\n[x: int] = `answer / 0`\n")
    Path("sub/near.kedi").write_text("[answer: int] = `42`\n> export: *\n")
    Path("ok.kedi").write_text("[k: int] = `5`\n= `k`\n")
    done = idle(":load sub/part.kedi\n:load ok.kedi\n:load ok.kedi\n:load nope.kedi\n:load sub\n")
    assert done.out == "5\n5\n"
    assert "sub/part.kedi, line 2" in done.err
    assert "`nope.kedi` cannot be read: No such file" in done.err
    assert "`sub` cannot be read: Is a directory" in done.err


def test_load_of_a_module_advises_to_import_it(idle: Idle, tmp_path: Path) -> None:
    module = "[answer: int] = `42`\n> export: *\n"
    Path("sub").mkdir()
    Path("sub/part.kedi").write_text(module)
    done = idle(":load sub/part.kedi\n= `answer`\n> import: sub/part\n= `answer`\n")
    assert "`> export:` cannot stand in a fragment" in done.err
    assert "`sub/part.kedi` is a module, not a fragment: it defined nothing here" in done.err
    assert "`> import: sub/part` brings in what it exports" in done.err
    assert "'answer' is not defined" in done.err
    assert done.out == "42\n"
    Path("suite.kedi").write_text("@f() -> int:\n  = `1`\n@test: f:\n  > case: a:\n    `f()`\n")
    assert "`> import: suite` brings" in idle(":load suite.kedi\n").err
    outside = tmp_path / "elsewhere" / "part.kedi"
    outside.parent.mkdir()
    outside.write_text(module)
    assert "start the session next to the file" in idle(f":load {outside}\n").err
    Path("wrong.kedi").write_text("= `")
    assert "is a module" not in idle(":load wrong.kedi\n").err


def test_multiline_takes_commands_as_text_and_runs_once(idle: Idle) -> None:
    text = (
        ":multiline\n###\n:exit\n\nhelp\n###\n> loop [i]: `[1, 2]`:\n  `print(i)`\n\n= `'after'`\n"
    )
    assert idle(text) == Done(0, "1\n2\n'after'\n", "")
    assert idle(":multiline\n[x] = a\n= <x>").out == "'a'\n"
    assert idle(":multiline\n\n= `1`\n").out == "1\n"
    assert "not a statement" in idle(":multiline\n:vars\n\n").err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (":shwo `1`", "did you mean `:show`?"),
        (":Help", "did you mean `:help`?"),
        (":zzz", "`:help` lists the commands"),
        (":", "there is no command `:`"),
        (":vars\u00e9", "there is no command"),
        (":show", "`:show` needs EXPRESSION"),
        (":why", "`:why` needs NAME"),
        (":exit now", "`:exit` takes no argument"),
        (":more", "nothing was cut"),
        (":load ~no-such-user/x", "`~no-such-user/x` cannot be read"),
        (":dump ~no-such-user/x", "the session is not saved"),
    ],
)
def test_wrong_commands(idle: Idle, text: str, said: str) -> None:
    status, out, err = idle(text + "\n")
    assert (status, out) == (1, "")
    assert said in err


@pytest.mark.parametrize("text", ["help", "help()", ":help"])
def test_help_lists_every_command(idle: Idle, text: str) -> None:
    out = idle(text + "\n").out
    assert not [spec.name for spec in COMMANDS if f":{spec.name}" not in out]
    assert len(out.splitlines()) < 24
    assert max(map(len, out.splitlines())) < 100


def test_a_copied_session_runs_again(idle: Idle) -> None:
    text = (
        "Kedi 0.1.0 on linux\n+++ [x: int] = `1`\n+++ @f() -> int:\n...   = `x`\n...\n"
        "+++ = `f()`\n1\n+++ :multiline\n... [y] = a\n... = <y>\n...\n'a'\n+++ = `x + 1`\n2\n+++\n"
    )
    assert idle(text) == idle(text.partition("\n")[2]) == Done(0, "1\n'a'\n2\n", "")


def test_a_repr_that_fails_is_told(idle: Idle) -> None:
    text = "```\nclass Bad:\n    def __repr__(self): raise ValueError('no')\n```\n\n"
    done = idle(text.replace("```\n\n", "b = Bad()\n```\n\n") + "= `b`\n= `1`\n")
    assert done.out == "1\n"
    assert "its repr failed: ValueError: no" in done.err


def test_long_results_are_whole_where_there_is_no_terminal(idle: Idle) -> None:
    assert idle("= `'x' * 100_000`\n").out == f"{'x' * 100_000!r}\n"


def test_lone_surrogates_and_wide_characters(idle: Idle) -> None:
    assert idle("= `'\\ud800'`\n:show `'日本'`\n").out == "'\\ud800'\n'日本'\n"


def test_configuration_that_cannot_be_used_is_said_before_anything_runs(
    idle: Idle, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = idle("= `1`\n", "--adapter", "nope")
    assert (done.status, done.out) == (2, "")
    monkeypatch.setenv("KEDI_PARALLEL", "maybe")
    done = idle("= `1`\n")
    assert done.out == ""
    assert done.status == 1
    assert "KEDI_PARALLEL" in done.err
