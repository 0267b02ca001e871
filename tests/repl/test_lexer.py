"""Highlighting: nothing is lost, what is what, embedded Python, hostile texts."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Name, Operator, String, Token

from kedi.repl.lexer import KediLexer
from tests.conftest import ROOT

LEXER = KediLexer(ensurenl=False, stripnl=False)
EXAMPLES = sorted((ROOT / "examples").rglob("*.kedi"))


def kinds(text: str) -> dict[str, object]:
    """The kind of each piece that is no blank."""
    return {value.strip(): kind for kind, value in LEXER.get_tokens(text) if value.strip()}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_have_no_errors(path: object) -> None:
    text = path.read_text(encoding="utf-8")  # type: ignore[attr-defined]
    tokens = list(LEXER.get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    assert not [value for kind, value in tokens if kind in Error or kind in Token.Generic.Error]


def test_statements() -> None:
    found = kinds(
        "@add(a: int, b: T = `1`) -> list[str]:\n  [x: int] = <call(<a>, \\,)>\n  = `len(x)`\n"
    )
    assert found["@"] in Keyword
    assert found["add"] in Name.Function
    assert found["call"] in Name.Function
    assert found["int"] in Keyword.Type
    assert found["T"] in Name.Class
    assert found["x"] in Name
    assert found["->"] in Operator
    assert found["\\,"] in String.Escape
    assert found["len"] in Name.Builtin


@pytest.mark.parametrize(
    ("text", "piece", "kind"),
    [
        ("> if: `True`:", "if", Keyword),
        ("> loop [item]: `xs`:", "item", Name.Variable),
        ("> model: some-name", "model", Keyword),
        (">> Ask [answer: str]", ">>", Keyword),
        (">> Ask [answer: str]", "answer", Name.Variable),
        ("~Trip(city, days: int)", "Trip", Name.Class),
        ("[raw] << text", "<<", Operator),
        ("[x] := <y>", ":=", Operator),
        ("[x] := <y>", "y", Name.Variable),
        ("# a comment", "# a comment", Comment),
        ("###\nlong\n###", "long", Comment),
        ("= <`sorted(x)`>", "sorted", Name.Builtin),
        ("```\nimport os\n```", "import", Keyword),
        ("```\nimport os", "import", Keyword),
        ("[x: int] = ```\nreturn 1\n```", "return", Keyword),
        ("= `[\n  len(x),\n]`", "len", Name.Builtin),
        ("@test: f:", "@test", Keyword),
    ],
)
def test_pieces(text: str, piece: str, kind: object) -> None:
    assert kinds(text)[piece] in kind  # type: ignore[operator]


@given(st.text(alphabet="`[]<>@~=:#\\(){},>\n \t|'\"aé日+-", max_size=80))
def test_no_text_is_lost(text: str) -> None:
    text = text.replace("\r", "")
    assert "".join(value for _, value in LEXER.get_tokens(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        *("`", "[", "<", "<a(", "\\", " ", "`a[\n x\n", "[a: [", "@f(", "a ", "###\n", "```\n"),
        *("> ", "`[\n", "'a-", "-", "a`", "~T(a: [", "= ```\n", '[a: "', "<`", "@f() -> ["),
    ],
)
def test_hostile_texts_end(text: str) -> None:
    long = text * (40_000 // len(text))
    assert "".join(value for _, value in LEXER.get_tokens(long)) == long


def test_pygments_finds_it() -> None:
    points = entry_points(group="pygments.lexers")
    assert [point.load() for point in points if point.name == "kedi"] == [KediLexer]
    assert isinstance(get_lexer_by_name("kedi"), KediLexer)
    assert isinstance(get_lexer_for_filename("main.kedi"), KediLexer)
