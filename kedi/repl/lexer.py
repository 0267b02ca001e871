"""Highlighting of Kedi, embedded Python included: a lexer for Pygments.

Pygments finds it by the name ``kedi`` and for ``*.kedi`` files once Kedi is installed.
It colours text that is being typed, so it accepts anything and stays on the safe side:
an unclosed construct ends with its line, except where the language lets it go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from pygments.lexer import (
    RegexLexer,
    bygroups,  # pyright: ignore[reportUnknownVariableType]
    include,
    using,  # pyright: ignore[reportUnknownVariableType]
)
from pygments.lexers.python import PythonLexer  # pyright: ignore[reportMissingTypeStubs]
from pygments.token import (
    Comment,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
)

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_BLOCK = r"(?:(?![ \t]*```)[^\n]*\n)*"
#: Inline Python: on its line, or over several ones while a bracket is open at the end of a line.
_INLINE = (
    r"(`)([^`\n]+(?:(?<=[\[({,])[ \t]*\n[^`\n]*[^`\s][^`\n]*"
    r"(?:\n[^`\n]*[^`\s][^`\n]*){0,200})?)(`)"
)
_TYPES = (
    r"(?:str|int|float|bool|bytes|object|Any|None|list|dict|tuple|set|frozenset|Union|Optional"
    r"|Literal|Annotated|datetime|date|time|timedelta|Decimal|UUID|Path|Regex|Email|HttpUrl"
    r"|FileUrl)\b"
)

_python: Any = cast("Any", using)(PythonLexer)


class KediLexer(RegexLexer):
    """For Kedi programs and fragments."""

    name = "Kedi"
    url = "https://pypi.org/project/kedi/"
    aliases: ClassVar[Sequence[str]] = ["kedi"]
    filenames: ClassVar[Sequence[str]] = ["*.kedi"]
    mimetypes: ClassVar[Sequence[str]] = ["text/x-kedi"]

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"^([ \t]*)(###)([ \t]*\n)", bygroups(Whitespace, Comment.Multiline, Whitespace),
             "comment"),
            (r"^([ \t]*)(```)([ \t]*)(#[^\n]*)?(\n)",
             bygroups(Whitespace, String.Delimiter, Whitespace, Comment.Single, Whitespace),
             "fence"),
            (rf"^([ \t]*)(@(?:test|eval))(:)([ \t]*)({_NAME})(:)?",
             bygroups(Whitespace, Keyword, Punctuation, Whitespace, Name.Function, Punctuation),
             "text"),
            (rf"^([ \t]*)(@)({_NAME})",
             bygroups(Whitespace, Keyword, Name.Function), ("text", "header")),
            (rf"^([ \t]*)(~)({_NAME})",
             bygroups(Whitespace, Keyword, Name.Class), ("text", "header")),
            (r"^([ \t]*)(>>)", bygroups(Whitespace, Keyword), "text"),
            (rf"^([ \t]*)(>)([ \t]*)({_NAME})([ \t]*)(\[[ \t]*)({_NAME})([ \t]*\])([ \t]*)(:)",
             bygroups(Whitespace, Keyword, Whitespace, Keyword, Whitespace, Punctuation,
                      Name.Variable, Punctuation, Whitespace, Punctuation), "text"),
            (rf"^([ \t]*)(>)([ \t]*)({_NAME})([ \t]*)(:)",
             bygroups(Whitespace, Keyword, Whitespace, Keyword, Whitespace, Punctuation), "text"),
            (rf"^([ \t]*)(\[[ \t]*)({_NAME})([ \t]*)(\])([ \t]*)(:?=|<<)",
             bygroups(Whitespace, Punctuation, Name.Variable, Whitespace, Punctuation, Whitespace,
                      Operator), "value"),
            (rf"^([ \t]*)(\[[ \t]*)({_NAME})([ \t]*)(:)",
             bygroups(Whitespace, Punctuation, Name.Variable, Whitespace, Punctuation),
             ("value", "assignment", "type")),
            (r"^([ \t]*)(=)", bygroups(Whitespace, Keyword), "value"),
            (r"\n", Whitespace),
            (r"[ \t]+(?=\n)", Whitespace),
            include("inline"),
        ],
        "comment": [
            (r"^([ \t]*)(###)([ \t]*)$", bygroups(Whitespace, Comment.Multiline, Whitespace),
             "#pop"),
            (r"[^\n]+", Comment.Multiline),
            (r"\n", Comment.Multiline),
        ],
        "fence": [
            (r"^([ \t]*)(```)", bygroups(Whitespace, String.Delimiter), "#pop"),
            (rf"({_BLOCK})(?=[ \t]*```)", bygroups(_python)),
            # Not closed yet: everything up to the end.
            (r"((?:[^\n]*\n)*[^\n]*)", bygroups(_python), "#pop"),
        ],
        # Behind `=` a fence may open; otherwise it is text.
        "value": [
            (r"([ \t]*)(```)([ \t]*)(#[^\n]*)?(\n)",
             bygroups(Whitespace, String.Delimiter, Whitespace, Comment.Single, Whitespace),
             ("#pop", "fence")),
            (r"\\[ \t]*\n", String.Escape),
            include("text"),
        ],
        "assignment": [
            (r"([ \t]*)(:?=|<<)", bygroups(Whitespace, Operator), "#pop"),
            (r"", Text, "#pop"),
        ],
        "text": [
            (r"(?=\n)", Text, "#pop"),
            include("inline"),
        ],
        "inline": [
            (r"[ \t]+", Whitespace),
            (r"\\[<>\[\]()=@,#~`\\tns]|~~", String.Escape),
            (r"\\.?", Generic.Error),
            (r"#[^\n]*", Comment.Single),
            (rf"(<){_INLINE}(>)",
             bygroups(Punctuation, String.Backtick, _python, String.Backtick, Punctuation)),
            (_INLINE, bygroups(String.Backtick, _python, String.Backtick)),
            (r"(`)([^`\n]*)", bygroups(String.Backtick, _python)),
            (rf"(<)([ \t]*{_NAME}[ \t]*)(\()", bygroups(Punctuation, Name.Function, Punctuation),
             "call"),
            (rf"(<)([ \t]*{_NAME}[ \t]*)(>)", bygroups(Punctuation, Name.Variable, Punctuation)),
            (rf"(\[[ \t]*)({_NAME})([ \t]*)(:)",
             bygroups(Punctuation, Name.Variable.Instance, Whitespace, Punctuation), "type"),
            (rf"(\[[ \t]*)({_NAME})([ \t]*)(\])",
             bygroups(Punctuation, Name.Variable.Instance, Whitespace, Punctuation)),
            (r"[A-Za-z0-9.!?'\"]+(?: [A-Za-z0-9.!?'\"]+)*", Text),
            (r"[^\n]", Text),
        ],
        "call": [
            (r"(\))([ \t]*)(>)", bygroups(Punctuation, Whitespace, Punctuation), "#pop"),
            (r",", Punctuation),
            (r"(?=\n)", Text, "#pop"),
            (r"[^\S\n]+", Whitespace),
            (r"[A-Za-z0-9]+", Text),
            include("inline"),
        ],
        # The parentheses of a header, which may span lines, and the type after the arrow.
        "header": [
            (r"[ \t]+", Whitespace),
            (r"\(", Punctuation, "parameters"),
            (r"->", Operator, "returns"),
            (r":(?=[ \t]*(?:#|\n|\Z))", Punctuation, "#pop"),
            (r"", Text, "#pop"),
        ],
        "parameters": [
            (r"\)", Punctuation, "#pop"),
            (rf"({_NAME})([ \t]*)(:)", bygroups(Name.Variable, Whitespace, Punctuation),
             "parameter-type"),
            (_NAME, Name.Variable),
            (r"=", Operator),
            (_INLINE, bygroups(String.Backtick, _python, String.Backtick)),
            (r"#[^\n]*", Comment.Single),
            (r"\n(?=[ \t]*(?:@|~|>|=))", Whitespace, "#pop"),
            (r"\s", Whitespace),
            (r",", Punctuation),
            (r"[^\n]", Text),
        ],
        "parameter-type": [
            (r"(?=[,)=\n])", Text, "#pop"),
            include("type-parts"),
        ],
        "returns": [
            (r":(?=[ \t]*(?:#|\n|\Z))", Punctuation, "#pop"),
            (r"(?=\n)", Text, "#pop"),
            include("type-parts"),
        ],
        # A type up to the bracket that closes its field.
        "type": [
            (r"\]", Punctuation, "#pop"),
            (r"(?=\n)", Text, "#pop"),
            include("type-parts"),
        ],
        "type-parts": [
            (r"[ \t]+", Whitespace),
            (_INLINE, bygroups(String.Backtick, _python, String.Backtick)),
            (r"[\[(]", Punctuation, "bracketed"),
            (_TYPES, Keyword.Type),
            (_NAME, Name.Class),
            (r"\d+", Number.Integer),
            (r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", String),
            (r"[|.,]", Punctuation),
            (r"[^\n]", Text),
        ],
        "bracketed": [
            (r"[\])]", Punctuation, "#pop"),
            (r"(?=\n)", Text, "#pop"),
            include("type-parts"),
        ],
    }  # fmt: skip


__all__ = ["KediLexer"]
