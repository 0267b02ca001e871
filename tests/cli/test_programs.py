"""``kedi FILE`` and ``kedi -c``: results, arguments, sources, statuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kedi.cli import programs
from tests.cli.conftest import Run

Write = Callable[[str, str], Path]


# ── as a process ──────────────────────────────────────────────────────────────


def test_a_file_runs_and_prints_what_it_returns(process: Run, write: Write) -> None:
    write("hello.kedi", "> show: shown\n[name] = Ada\n= Hello, <name>!\n")
    assert process("hello.kedi") == (0, "shown\nHello, Ada!\n", "")


def test_the_text_of_dash_c(process: Run) -> None:
    assert process("-c", "= `6 * 7`") == (0, "42\n", "")


def test_standard_input(process: Run) -> None:
    assert process("-", "--x", "1", stdin=b"= got `args.x`") == (0, "got 1\n", "")


def test_a_failing_program(process: Run, write: Write) -> None:
    write("bad.kedi", "[x] = 1\n= `1 / 0`\n")
    status, out, err = process("bad.kedi")
    assert (status, out) == (1, "")
    assert "bad.kedi, line 2" in err
    assert "ZeroDivisionError: division by zero" in err
    assert "kedi/runtime" not in err
    assert "\x1b" not in err


def test_every_syntax_error_is_reported(process: Run, write: Write) -> None:
    write("bad.kedi", "= <\nfine is not this\n= `1 +`\n")
    status, out, err = process("bad.kedi")
    assert (status, out) == (1, "")
    assert [f"bad.kedi, line {n}," in err for n in (1, 2, 3)] == [True] * 3


def test_compile_errors(process: Run) -> None:
    status, _, err = process("-c", "[x: strr] = a")
    assert status == 1
    assert "<command>, line 1, column 5" in err
    assert "str" in err


def test_relative_imports_follow_the_file_not_the_folder(process: Run, write: Write) -> None:
    write("deep/main.kedi", "> import: inner/names\n= <who()>\n")
    write("deep/inner/names.kedi", "@who() -> str:\n  = inner\n> export: *\n")
    assert process("deep/main.kedi") == (0, "inner\n", "")


def test_embedded_python_imports_what_lies_beside_the_program(process: Run, write: Write) -> None:
    write("deep/neighbour.py", "VALUE = 7\n")
    write("deep/main.kedi", "```\nimport neighbour\n```\n= `neighbour.VALUE`\n")
    assert process("deep/main.kedi") == (0, "7\n", "")


@pytest.mark.parametrize(
    ("argument", "status", "err"),
    [("0", 0, ""), ("3", 3, ""), ("None", 0, ""), ("'bye'", 1, "bye\n"), ("True", 1, "")],
)
def test_system_exit_decides_the_status(
    process: Run, write: Write, argument: str, status: int, err: str
) -> None:
    write("exit.kedi", f"> show: before\n```\nimport sys\nsys.exit({argument})\n```\n= after\n")
    assert process("exit.kedi") == (status, "before\n", err)


def test_dotenv_of_the_working_directory(process: Run, write: Write) -> None:
    write(".env", "GREETING=hi\nPRESENT=file\nnot a line\n")
    text = '```\nimport os\n```\n= `os.environ["GREETING"], os.environ["PRESENT"]`'
    status, out, err = process("-c", text, env={"PRESENT": "outside"})
    assert (status, out) == (0, "('hi', 'outside')\n")
    assert err.count("line 3") == 1


def test_the_adapter_of_the_environment_is_named_when_it_is_unknown(process: Run) -> None:
    status, _, err = process("-c", ">> say [x]", env={"KEDI_ADAPTER": "locla"})
    assert status == 1
    assert "locla" in err
    assert "local" in err


def test_a_template_without_a_model_says_what_to_do(process: Run) -> None:
    status, _, err = process("-c", ">> say [x]")
    assert status == 1
    assert "kedi model install" in err


# ── in this process ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("= `[1, 'a']`", "[1, 'a']\n"),
        ("= `None`", ""),
        ("[x] = 1", ""),
        ("", ""),
        ("# nothing", ""),
        ("= ", "\n"),
        ("= two  words", "two  words\n"),
        ("~P(a: int)\n= `P(1)`", "a=1\n"),
        ("= `'a\\nb'`", "a\nb\n"),
    ],
)
def test_what_is_printed(kedi: Run, text: str, out: str) -> None:
    assert kedi("-c", text) == (0, out, "")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["--dry-run"], {"dry_run": True}),
        (["--n", "5"], {"n": "5"}),
        (["--n=5"], {"n": "5"}),
        (["--n="], {"n": ""}),
        (["--n", ""], {"n": ""}),
        (["--n", "-5", "--m", "-.5", "--k", "-"], {"n": "-5", "m": "-.5", "k": "-"}),
        (["--a", "--b"], {"a": True, "b": True}),
        (["--a", "1", "--a", "2"], {"a": "1"}),
        (["-x", "1"], {"x": "1"}),
        (["--größe", "ü"], {"größe": "ü"}),
        (["--", "--test", "--idle", "x"], {"test": True, "idle": "x"}),
        (["--n", "a=b"], {"n": "a=b"}),
    ],
)
def test_program_arguments(kedi: Run, given: list[str], read: dict[str, object]) -> None:
    assert kedi("-c", "= `dict(vars(args))`", *given) == (0, f"{read}\n", "")


def test_a_missing_argument_reads_none(kedi: Run) -> None:
    assert kedi("-c", "= `[args.nope, args.n]`", "--n", "1").out == "[None, '1']\n"


def test_arguments_cannot_be_bound(kedi: Run) -> None:
    assert kedi("-c", "[args] = 1").status == 1


def test_a_token_that_is_no_argument_is_pointed_out(kedi: Run) -> None:
    status, out, err = kedi("-c", "= ok", "stray")
    assert (status, out) == (0, "ok\n")
    assert "`stray` is ignored" in err


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("mian.kedi", "did you mean `main.kedi`"),
        ("main", "did you mean `main.kedi`"),
        ("package", "main.kedi` is"),
        ("nothing/like/it.kedi", "there is no file"),
        ("", "name of the file is empty"),
        ("nul\0byte", "is not a file name"),
        ("line\nbreak", "there is no file `line\\x0abreak`"),
        ("x" * 5000, "cannot be read"),
        ("main.kedi/x", "cannot be read"),
    ],
)
def test_files_that_cannot_be_opened(kedi: Run, write: Write, path: str, said: str) -> None:
    write("main.kedi", "= x")
    write("package/main.kedi", "= x")
    said = said.replace("main.kedi` is", "package/main.kedi`")
    status, out, err = kedi(path)
    assert (status, out) == (2, "")
    assert said in err


def test_a_file_that_is_not_utf8(kedi: Run) -> None:
    Path("latin.kedi").write_bytes("[a] = ü\n= äcafé".encode()[:-2] + b"\xe9")
    status, _, err = kedi("latin.kedi")
    assert status == 1
    assert "latin.kedi, line 2, column 7" in err
    assert "0xe9" in err


def test_a_source_that_never_ends(kedi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAX_SOURCE_BYTES", 1000)
    assert kedi("/dev/zero").status == 2
    Path("big.kedi").write_text("#" * 1001, encoding="utf-8")
    assert "larger than 1,000 bytes" in kedi("big.kedi").err
    Path("big.kedi").write_text("#" * 1000, encoding="utf-8")
    assert kedi("big.kedi").status == 0


def test_line_ends_and_byte_order_mark(kedi: Run) -> None:
    Path("dos.kedi").write_bytes(b"\xef\xbb\xbf[x] = a\r\n= <x>\r\n")
    assert kedi("dos.kedi") == (0, "a\n", "")


def test_a_result_without_text(kedi: Run, write: Write) -> None:
    write(
        "bad.kedi",
        "```\nclass Bad:\n    def __str__(self):\n        raise ValueError\n```\n= `Bad()`\n",
    )
    status, out, err = kedi("bad.kedi")
    assert (status, out) == (1, "")
    assert "its result (a Bad) cannot be shown" in err


def test_adapters_of_the_command_line(kedi: Run) -> None:
    status, _, err = kedi("-c", "= ok", "--adapter", "locla")
    assert status == 2
    assert "did you mean `local`" in err
    assert kedi("-c", "= ok", "--adapter", "local") == (0, "ok\n", "")
    assert kedi("-c", "= ok", "--adapter=claude").status == 2


def test_a_bad_setting_of_the_environment(kedi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDI_PARALLEL", "many")
    status, _, err = kedi("-c", "= ok")
    assert status == 1
    assert err.startswith("error: KEDI_PARALLEL")


@pytest.mark.parametrize("name", ["GeneratorExit", "BaseException"])
def test_exceptions_that_ask_for_an_end(kedi: Run, name: str) -> None:
    status, _, err = kedi("-c", f"`raise {name}('why')`")
    assert status == 1
    assert f"the program ended with {name}: why" in err
    assert "<command>, line 1" in err
    assert "kedi/" not in err


def test_an_error_inside_kedi_is_said_to_be_one(kedi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> int:
        raise RuntimeError("a bug")

    monkeypatch.setattr("kedi.cli.programs.run_program", broken)
    status, _, err = kedi("-c", "= ok")
    assert status == 1
    assert "a bug" in err
    assert "Kedi itself failed: RuntimeError" in err


def test_nothing_of_the_process_stays_changed(kedi: Run) -> None:
    import gc
    import sys

    path = list(sys.path)
    assert kedi("-c", "= ok").status == 0
    assert kedi("-c", "= `1/0`").status == 1
    assert sys.path == path
    assert gc.isenabled()


# ── parse ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("form", [["parse", "p.kedi"], ["p.kedi", "-p"], ["--parse", "p.kedi"]])
def test_parse_lists_statements_and_runs_nothing(kedi: Run, write: Write, form: list[str]) -> None:
    write("p.kedi", "> show: no\n@f(a: int) -> int:\n  > if: `a`:\n    = `a`\n")
    status, out, err = kedi(*form)
    assert (status, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["1:1", "Show"],
        ["2:1", "Procedure"],
        ["3:3", "If"],
        ["4:5", "Return"],
    ]


def test_parse_reports_errors(kedi: Run) -> None:
    assert kedi("-p", "-c", "= ok").out == "1:1  Return  = ok\n"
    status, out, err = kedi("-p", "-c", "= <")
    assert (status, out) == (1, "")
    assert "<command>, line 1, column 3" in err
