"""Embedded Python as Python's own tools see it."""

from __future__ import annotations

import gc
import linecache
import sys
import traceback
import warnings
from pathlib import Path

import pytest

import kedi
from kedi.errors import KediExecutionError, KediKeyExecutionError, KediParseError
from kedi.lang import compile_program, parse_program


def modules() -> set[str]:
    gc.collect()
    return {name for name in sys.modules if name.startswith("kedi:")}


def test_source_of_functions_and_methods() -> None:
    with kedi.interactive() as session:
        session.execute(
            "```\nimport inspect\ndef f(a):\n    # a comment\n    return a\n\nclass C:\n"
            "    def m(self):\n        return 1\n```"
        )
        assert session.execute("= `inspect.getsource(f)`") == (
            "def f(a):\n    # a comment\n    return a\n"
        )
        assert session.execute("= `inspect.getsource(C.m)`").strip().startswith("def m(self)")
        assert session.execute("[q] = q\n[g] = ```\ndef g():\n    return 1\nreturn g\n```\n= `g`")
        assert session.execute("= `inspect.getsource(g)`") == "def g():\n    return 1\n"
        assert session.execute("= `inspect.getsourcelines(f)[1]`") == 3
        assert session.execute("= `inspect.getsourcefile(f)`") == "<interactive:1>"


def test_source_of_a_named_fragment_is_its_own_not_the_file_s(tmp_path: Path) -> None:
    Path("cell.kedi").write_text("something else\n" * 9, encoding="utf-8")
    with kedi.interactive() as session:
        session.execute("```\nimport inspect\ndef f():\n    return 1\n```", source_name="cell.kedi")
        assert session.execute("= `inspect.getsource(f)`") == "def f():\n    return 1\n"


def test_source_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "main.kedi"
    source = "```\nimport inspect\ndef f():\n    return 1\n```\n= `inspect.getsource(f)`\n"
    path.write_text(source, encoding="utf-8")
    with compile_program(parse_program(source, str(path))) as runtime:
        assert runtime.run_main() == "def f():\n    return 1\n"


def test_line_cache_is_left_clean() -> None:
    before = set(linecache.cache)
    with kedi.interactive() as session:
        for number in range(20):
            session.execute(f"[x{number}] = a")
        session.evaluate("<x1>")
        assert "<interactive:20>" in linecache.cache
        linecache.checkcache()
        assert linecache.getline("<interactive:3>", 1) == "[x2] = a"
    assert set(linecache.cache) == before


def test_closing_one_session_keeps_the_lines_of_another() -> None:
    first = kedi.interactive()
    first.execute("[a] = first")
    with kedi.interactive() as second:
        second.execute("[a] = second")
        first.close()
        assert linecache.getline("<interactive:1>", 1) == "[a] = second"


def test_modules_are_forgotten_with_their_session() -> None:
    before = modules()
    session = kedi.interactive()
    session.execute("```\nclass C: pass\n```")
    name = session.execute("= `C.__module__`")
    assert name in modules() - before
    assert session.execute("= `__import__(__name__).C is C`") is True
    session.close()
    del session
    assert modules() == before


def test_module_names_are_unique() -> None:
    with kedi.interactive() as one, kedi.interactive() as two:
        names = [session.execute("= `__name__`") for session in (one, two)]
        assert len(set(names)) == 2
        one.execute("[x] = one")
        two.execute("[x] = two")
        assert [getattr(sys.modules[name], "x") for name in names] == ["one", "two"]  # noqa: B009
        assert not hasattr(sys.modules[names[0]], "y")


def test_names_of_a_module_by_file(tmp_path: Path) -> None:
    source = "= `(__file__, __name__.partition('-')[0], __doc__, __spec__)`"
    path = tmp_path / "main.kedi"
    with compile_program(parse_program(source, str(path))) as runtime:
        assert runtime.run_main() == (str(path), "kedi:main", None, None)
    runtime = compile_program(parse_program("= `__file__`", "<memory>"))
    with runtime, pytest.raises(KediExecutionError, match="__file__"):
        runtime.run_main()
    with kedi.interactive() as session, pytest.raises(KediExecutionError, match="__file__"):
        session.execute("= `__file__`")


def test_warnings_stand_at_their_line() -> None:
    with kedi.interactive() as session, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session.execute(
            "[q] = q\n> if: `True`:\n  ```\n  import warnings\n  warnings.warn('hey')\n  ```"
        )
    assert [(item.filename, item.lineno) for item in caught] == [("<interactive:1>", 5)]


def test_tracebacks_show_the_kedi_source() -> None:
    with kedi.interactive() as session:
        session.execute(
            "[q] = q\n[text] = ```\nimport traceback\ntry:\n    1 / 0\n"
            "except ZeroDivisionError:\n    return traceback.format_exc()\n```"
        )
        text = session.execute("= <text>")
    assert 'File "<interactive:1>", line 5, in <fenced python>' in text
    assert "    1 / 0" in text
    assert "kedi/runtime" not in text


@pytest.mark.parametrize(
    ("source", "line", "columns"),
    [
        ("= `1 / 0`", 1, (4, 9)),
        ("= é <`1 / 0`>", 1, (7, 12)),
        ("= `'é🐈' + 1 / 0`", 1, (11, 16)),
        ("[x] = `(\n  '🐈', 1 / 0)`", 2, (8, 13)),
        ("`y = 'é', 1 / 0`", 1, (11, 16)),
        ("[q] = q\n```\nx = 'é🐈'; y = 1 / 0\n```", 3, (15, 20)),
        ("> if: `True`:\n  ```\n  if True:\n      é = 1 / 0\n  ```", 4, (11, 16)),
        ("> if: `True`:\n\t```\n\tx = 1 / 0\n\t```", 3, (6, 11)),
        ("[q] = q\r\n```\r\nx = 1\r\ny = 1 / 0\r\n```\r\n", 4, (5, 10)),
        ("\ufeff= `1 / 0`", 1, (4, 9)),
        ("```\nx = 1 / 0\n```", 2, (5, 10)),
        ("@f(x: int = `1 / 0`) -> int:\n  = `x`", 1, (14, 19)),
        ("~T(a: str,\n  x: int = `1 / 0`)", 2, (13, 18)),
        ("> if: `1 / 0`:\n  = a", 1, (8, 13)),
        ("> loop [i]: `1 / 0`:\n  [x] = a", 1, (14, 19)),
        ("> show: a `1 / 0`", 1, (12, 17)),
        ("@f(a) -> str:\n  = <a>\n= <f(<f(`1 / 0`)>)>", 3, (10, 15)),
        ("[x: `1 / 0`] = a", 1, (6, 11)),
    ],
)
def test_python_errors_have_exact_columns(source: str, line: int, columns: tuple[int, int]) -> None:
    with kedi.interactive() as session, pytest.raises(KediExecutionError) as caught:
        session.execute(source)
    span = caught.value.frames[-1].span
    assert (span.line, (span.column, span.end_column)) == (line, columns)


@pytest.mark.parametrize(
    ("source", "places"),
    [
        ("= `1 +`", [(1, 4)]),
        ("[q] = é\n= `)`\n[x] = `(`\n= `a b`", [(2, 4), (3, 7), (4, 4)]),
        ("[q] = q\n```\nx = 1\n  y = 2\n```", [(4, 3)]),
        ("[q] = q\n```\nnonlocal q\n```", [(3, 1)]),
        ("[q] = q\n```\nbreak\n```", [(3, 1)]),
        ("`x = 1; return`", [(1, 9)]),
        ("[q] = q\n```\ndef f(a, a): pass\n```", [(3, 10)]),
        ("```\nawait x\n```", [(2, 1)]),
    ],
)
def test_syntax_errors_have_places(source: str, places: list[tuple[int, int]]) -> None:
    with kedi.interactive() as session, pytest.raises(KediParseError) as caught:
        session.execute(source)
    found = [(item.span.line, item.span.column) for item in caught.value.diagnostics]
    assert [line for line, _ in found] == [line for line, _ in places]


def test_deep_and_long_python() -> None:
    with kedi.interactive() as session:
        assert session.execute(f"= `{'(' * 80}1{')' * 80}`") == 1
        assert session.execute(f"= `{' + '.join(['1'] * 500)}`") == 500
        with pytest.raises(KediParseError):
            session.execute(f"= `{'(' * 5000}1{')' * 5000}`")
        with pytest.raises(KediParseError):
            session.execute(f"= `{'-' * 100_000}1`")
        body = "\n".join(f"x{number} = {number}" for number in range(3000))
        assert session.execute(f"[q] = q\n= ```\n{body}\nreturn x2999\n```") == 2999
        deep = "\n".join("    " * depth + "if True:" for depth in range(60))
        assert session.execute(f"[q] = q\n= ```\n{deep}\n{'    ' * 60}return 1\n```") == 1
        assert session.execute("= `1`") == 1


def test_frames_of_python_can_be_walked() -> None:
    with kedi.interactive() as session:
        session.execute("```\nimport sys\ndef here():\n    return sys._getframe(1)\n```")
        session.execute("@f(n: int) -> object:\n  = `here()`")
        frame = session.execute("= `f(3)`")
        assert frame.f_globals["n"] == 3
        assert frame.f_code.co_filename == "<interactive:2>"
        assert frame.f_lineno == 2
        summary = traceback.extract_stack(frame, limit=1)[0]
        assert summary.line == "= `here()`"


@pytest.mark.parametrize(
    "source", ["1", "f(1)", "a if b else c", "[lambda: y for y in z]", "(f(\n  2))", "(\n1)"]
)
@pytest.mark.parametrize("lead", ["= ", "[name: int] = ", "> show: " + "x" * 200])
def test_code_begins_on_its_own_line(source: str, lead: str) -> None:
    """As ``compile`` would say of the same text in a file: no line is the wrapper's."""
    from kedi.runtime.frames import Unit
    from kedi.runtime.pycode import Piece
    from kedi.source import SourceFile
    from kedi.syntax import ast as syntax
    from kedi.syntax import parse

    text = f"[q] = q\n{lead}`{source}`"
    program = parse(text, "x", mode="fragment").program
    _, (stmt, line) = program.top_level()
    value = stmt.node.value.parts[-1]
    assert isinstance(value, syntax.Python)
    unit = Unit(SourceFile("x", text), "fragment", ".")
    code = Piece.of_python(unit, stmt, value, line).function()
    assert code.co_firstlineno == 2
    lines = [item for item in code.co_positions() if item[0] is not None]
    assert min(item[0] for item in lines) == 2
    assert all(item[0] <= 2 + source.count("\n") and item[1] >= item[0] for item in lines)
    whole = compile(f"\n{source}", "x", "eval")
    rows = {item[0] for item in whole.co_positions() if item[0] is not None}
    assert {item[0] for item in lines} <= rows | {2}


def test_builtins_cannot_be_taken_from_a_session() -> None:
    with kedi.interactive() as session:
        with pytest.raises(KediKeyExecutionError):
            session.execute("`globals()['__builtins__'] = {}`")
        assert session.execute("```\nimport math\n```\n= `math.floor(2.5)`") == 2
