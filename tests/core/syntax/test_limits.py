"""Hostile sizes and depths: a clear finding, never an exception or a hang."""

from __future__ import annotations

import threading

import pytest

from kedi.errors import KediParseError
from kedi.syntax import parse, parse_or_raise, print_program
from tests.core.syntax.support import finding, place


def blocks(depth: int) -> str:
    return "".join("  " * i + "> if: `x`:\n" for i in range(depth)) + "  " * depth + "= `1`\n"


def calls(depth: int) -> str:
    return "= " + "<f(" * depth + "x" + ")>" * depth


def test_blocks_nest_a_hundred_deep() -> None:
    assert parse(blocks(100)).status == "complete"
    result = parse(blocks(101) + "= after\n")
    (item,) = result.diagnostics
    assert place(item) == ("too-deep", 102, 203, 102, 208)
    assert result.program.chunks[-1].text == "= after\n"
    assert parse(blocks(2000)).diagnostics[0].code == "too-deep"


def test_calls_nest_a_hundred_deep() -> None:
    text = calls(100)
    result = parse(text)
    assert result.status == "complete"
    assert parse(print_program(result.program)).program.same_as(result.program)
    assert place(finding(calls(101))) == ("too-deep", 1, 303, 1, 306)
    assert finding(calls(50_000)).code == "too-deep"
    assert finding("= " + "<f(" * 50_000).code == "too-deep"


@pytest.mark.parametrize(
    "code",
    [
        "(" * 5000 + ")" * 5000,
        "-" * 50_000 + "1",
        "a" + ".b" * 50_000,
        "1" + "+1" * 50_000,
        "[" * 300 + "]" * 300,
        "lambda: " * 5000 + "1",
        "a\0b",
        "'\ud800'",
        "9" * 5000,
    ],
)
def test_python_that_python_cannot_parse(code: str) -> None:
    for text in (f"= `{code}`", f"`{code}`", f"```\n{code}\n```", f"[x: `{code}`] = 1"):
        item = finding(text)
        assert item.code == "python-syntax"
        assert item.message.startswith("Python: ")


def test_long_lines_and_long_texts() -> None:
    million = 1_000_000
    for text, status in [
        ("= " + "a" * 10 * million, "complete"),
        ("= " + "\\<" * million, "complete"),
        ("= " + "<a " * million, "invalid"),
        ("= " + "`" * million, "invalid"),
        ("= " + "\\" * million + "q", "complete"),
        ("#" * million, "complete"),
        ("[x: " + "list[" * 200_000, "invalid"),
        ("[x: " + "list[" * 200_000 + "]" * 200_000 + "] = 1", "invalid"),
        ("\n" * million, "complete"),
        (">> a\n" + "# b\n" * 100_000 + "c", "complete"),
        ("@f(" + "(" * million, "invalid"),
        ("@f(a: " + "list[" * million, "invalid"),
        ("```\n" + "x\n" * 100_000, "incomplete"),
        ("@f(\n" * 2_000, "invalid"),
        ("= `f(\n" * 2_000, "invalid"),
        ("= `f(\n" + "x\n" * 5_000 + "`", "invalid"),
        ("\t" * million + "= 1", "invalid"),
        ("> system:\n  a\n" + " \n" * 100_000 + "  b\n", "complete"),
    ]:
        assert parse(text).status == status, text[:20]


def test_a_carriage_return_for_every_character() -> None:
    assert len(parse("x\r" * 2000).diagnostics) == 2000


def test_parse_or_raise_carries_every_finding() -> None:
    assert parse_or_raise("= 1").chunks
    with pytest.raises(KediParseError) as caught:
        parse_or_raise("= <a\n= 1\nprose\n", "demo.kedi")
    error = caught.value
    assert isinstance(error, SyntaxError)
    assert (error.filename, error.lineno, error.offset) == ("demo.kedi", 1, 3)
    assert [item.span.line for item in error.diagnostics] == [1, 3]
    assert "demo.kedi, line 3" in error.render()


def test_parse_or_raise_refuses_what_is_not_finished() -> None:
    with pytest.raises(KediParseError, match="opened on line 3"):
        parse_or_raise("= 1\n= 2\n```\nx = 1")


def test_many_threads_parse_at_once() -> None:
    texts = [
        f"@f{n}(a: int) -> int:\n  [x{n}] = <a> `a + {n}`\n  = <g{n}(`x{n}`)>\n= <{n}\n"
        for n in range(60)
    ]
    expected = [[(d.code, d.span) for d in parse(text).diagnostics] for text in texts]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(5):
            for index, text in enumerate(texts):
                found = [(d.code, d.span) for d in parse(text).diagnostics]
                if found != expected[index]:
                    wrong.append(index)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
