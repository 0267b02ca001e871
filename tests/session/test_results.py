"""What ``execute`` gives, and what persists between fragments."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import kedi
from kedi import InteractiveSession
from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import KediParseError


def test_the_documented_example() -> None:
    with kedi.interactive() as session:
        session.execute("[base: int] = `40`")
        session.execute(
            """
@add_two() -> int:
    = `base + 2`
""".strip()
        )
        assert session.execute("= `add_two()`") == 42


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("= `1 + 1`", 2),
        ("= `True`", True),
        ("= `None`", None),
        ("= `'5'`", "5"),
        ("= `1.5`", 1.5),
        ("= `[1, (2, 3)]`", [1, (2, 3)]),
        ("= <n>", "7"),
        ("= <double(`n`)>", "14"),
        ("= `double(n)`", 14),
        ("= n is <n>", "n is 7"),
        ("= `n` of `n`", "7 of 7"),
        ("= <`n`>", "7"),
        ("= plain", "plain"),
        ("= ```\nreturn [n]\n```", [7]),
        ("[x] = 1", None),
        ("", None),
        ("# nothing here", None),
        ("\n\n", None),
        ("> show: <n>", None),
        ("`n + 1`", None),
        ("```\nn + 1\n```", None),
        ("> if: `n == 7`:\n  = `n`", 7),
        ("> if: `n != 7`:\n  = `n`", None),
        ("> loop [i]: `range(3)`:\n  > if: `i == 1`:\n    = `i`", 1),
    ],
)
def test_native_and_rendered_returns(
    session: InteractiveSession, source: str, expected: object
) -> None:
    session.execute("[n: int] = `7`\n@double(v: int) -> int:\n  = `v * 2`")
    result = session.execute(source)
    assert result == expected
    assert type(result) is type(expected)


def test_a_native_result_is_the_object_itself(session: InteractiveSession) -> None:
    marker = object()
    with kedi.interactive(env={"marker": marker}) as other:
        assert other.execute("= `marker`") is marker
    session.execute("[items: list[int]] = `[1]`")
    session.execute("= `items`").append(2)
    assert session.execute("= `items`") == [1, 2]


def test_earlier_fragments_are_neither_joined_nor_run_again(
    session: InteractiveSession, capsys: pytest.CaptureFixture[str]
) -> None:
    session.execute("> show: once\n[n: int] = `0`")
    for _ in range(3):
        session.execute("`n += 1`")
    assert session.execute("= `n`") == 3
    assert capsys.readouterr().out == "once\n"


def test_everything_persists(make: Callable[..., InteractiveSession]) -> None:
    model = ScriptedAdapter(lambda prompt: {"answer": prompt})
    session = make(adapter=model)
    session.execute(
        "```\nimport math\nSIZE = 3\ndef area(r):\n    return math.floor(r * SIZE)\n```"
    )
    session.execute("~Point(x: int, y: int = `2`)")
    session.execute("> profile: calm:\n  > settings:\n    temperature: 0.5")
    session.execute("> use: calm\n> effort: low")
    session.execute("> settings:\n  seed: 3")
    session.execute("[p: Point] = `Point(1)`")
    assert session.execute("= `(math.pi > 3, SIZE, area(2), p.y)`") == (True, 3, 6, 2)
    session.execute(">> say [answer]")
    assert session.execute("= <answer>") == "say [answer]"
    options = model.options[-1]
    assert options["effort"] == "low"
    assert options["model_settings" if "model_settings" in options else "settings"] == {
        "temperature": 0.5,
        "seed": 3,
    }


def test_a_conversation_of_model_calls_is_listed(make: Callable[..., InteractiveSession]) -> None:
    session = make(adapter="scripted", answers=[{"a": 1}, {"b": "x"}])
    session.execute(">> first [a: int]")
    session.execute(">> second <a> [b]")
    assert [call.number for call in session.calls] == [1, 2]
    assert [call.span.source_name for call in session.calls] == [
        "<interactive:1>",
        "<interactive:2>",
    ]
    assert session.execute("= `(a, b)`") == (1, "x")


def test_evaluate_gives_what_a_return_gives(session: InteractiveSession) -> None:
    session.execute("[n: int] = `7`")
    assert session.evaluate("`n`") == 7
    assert session.evaluate("<n>") == "7"
    assert session.evaluate("n is <n>") == "n is 7"
    assert session.evaluate("= `n + 1`") == 8
    assert session.evaluate("") == ""
    assert [one.name for one in session.fragments] == ["<interactive:1>"]


@pytest.mark.parametrize("text", ["`n +`", "<n", "<missing>", "`1`\n[x] = 2\n= `x`"])
def test_evaluate_refuses_what_is_no_expression(session: InteractiveSession, text: str) -> None:
    with pytest.raises(kedi.errors.KediError):
        session.evaluate(text)
    assert session.execute("= `1`") == 1


@pytest.mark.parametrize("value", [None, 5, b"= `1`", ["= `1`"]])
def test_a_fragment_is_text(session: InteractiveSession, value: Any) -> None:
    for call in (session.execute, session.evaluate):
        with pytest.raises(TypeError, match=type(value).__name__):
            call(value)
    assert session.execute("= `1`") == 1
    assert [one.name for one in session.fragments] == ["<interactive:1>"]


def test_line_ends_and_byte_order_marks(session: InteractiveSession) -> None:
    assert session.execute("\ufeff[a: int] = `1`\r\n[b: int] = `2`\r\n= `a + b`\r\n") == 3
    assert (
        session.execute("@f(x: int) -> int:\r\n\t= ```\r\n\ty = x\r\n\treturn y * 2\r\n\t```\r\n")
        is None
    )
    assert session.execute("= `f(4)`") == 8


def test_unicode(session: InteractiveSession) -> None:
    session.execute("[text] = naïve 漢字 🎉 \u0301")
    assert session.execute("= <text>!") == "naïve 漢字 🎉 \u0301!"
    assert session.execute("= `'\\ud800'`") == "\ud800"


def test_a_large_fragment(session: InteractiveSession) -> None:
    source = "\n".join(f"[v{i}: int] = `{i}`" for i in range(3_000)) + "\n= `v2999`"
    assert session.execute(source) == 2999
    assert session.execute("= `'" + "x" * 1_000_000 + "'`") == "x" * 1_000_000


def test_deep_nesting_is_refused_with_a_place(session: InteractiveSession) -> None:
    for source in (
        "\n".join("  " * depth + "> if: `True`:" for depth in range(3_000))
        + "\n"
        + "  " * 3_000
        + "`1`",
        "= " + "<len(" * 5_000 + "x" + ")>" * 5_000,
        "= `" + "(" * 5_000 + ")" * 5_000 + "`",
    ):
        with pytest.raises(KediParseError) as caught:
            session.execute(source)
        assert caught.value.diagnostics[0].span.line >= 1
    assert session.execute("= `1`") == 1


def test_sessions_do_not_share_names(make: Callable[..., InteractiveSession]) -> None:
    one, two = make(), make()
    one.execute("[x] = one")
    two.execute("[x] = two")
    assert (one.execute("= <x>"), two.execute("= <x>")) == ("one", "two")
    assert copy.copy(one.fragments) != two.fragments
