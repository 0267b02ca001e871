"""What is being typed at the end of embedded Python, judged by its tokens alone."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

PyKind = Literal["nothing", "name", "attribute", "key", "module", "imported", "global"]


@dataclass(frozen=True, slots=True)
class PyContext:
    """The end of a piece of Python.

    ``object`` is the text of the expression before the dot (``attribute``), of
    the subscripted one (``key``; ``quote`` is the string's opening quote, empty
    before one) or of the module (``module`` after ``import``, ``imported``
    after ``from … import``). ``call`` is the callee when an argument begins
    here, ``given`` how many positional arguments stand before and ``used`` the
    keywords that do.
    """

    kind: PyKind
    prefix: str = ""
    object: str = ""
    quote: str = ""
    call: str = ""
    given: int = 0
    used: frozenset[str] = frozenset()


_NOTHING = PyContext("nothing")
_MOST = 100_000


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class _OpenString(NamedTuple):
    prefix: str
    quote: str
    content: str


_TOKEN = re.compile(
    r"""(?P<ws>[ \t\f\r]+|\\\n)
    |(?P<nl>\n)
    |(?P<comment>\#[^\n]*)
    |(?P<string>(?i:[rbfut]{0,3})(?P<quote>\"\"\"|'''|"|'))
    |(?P<name>[^\W\d]\w*)
    |(?P<number>\.?\d[\w.]*)
    |(?P<op>->|:=|\*\*|//|[=!<>]=|\.\.\.|.)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSERS = {")": "(", "]": "[", "}": "{"}
_KEY_METHODS = frozenset(("get", "pop", "setdefault"))
_DEFINING = frozenset(("def", "class", "as"))


def context_of(code: str) -> PyContext:
    """Judge the end of ``code``. Never raises."""
    if len(code) > _MOST:
        newline = code.find("\n", len(code) - _MOST)
        code = code[newline + 1 :] if newline >= 0 else code[-_MOST:]
    tokens, opened, comment = _lex(code)
    if comment:
        return _NOTHING
    if opened is not None:
        return _in_string(code, tokens, opened)
    prefix = ""
    if tokens and tokens[-1].kind == "name" and tokens[-1].end == len(code):
        prefix = tokens.pop().text
    elif tokens and tokens[-1].kind == "number" and tokens[-1].end == len(code):
        return _NOTHING
    return replace(_at(code, tokens), prefix=prefix)


def _lex(code: str) -> tuple[list[_Token], _OpenString | None, bool]:
    """Tokens, the string that is still open, and whether the end is a comment.

    Blanks, comments and line ends inside brackets are left out.
    """
    tokens: list[_Token] = []
    at, size = 0, len(code)
    depth = 0
    while at < size:
        match = _TOKEN.match(code, at)
        assert match
        kind = match.lastgroup or "op"
        if match["string"] is not None:
            kind, quote = "string", match["quote"]
            end = _string_end(code, match.end(), quote)
            if end < 0:
                opened = _OpenString(match["string"], quote, code[match.end() :])
                return tokens, opened, False
            tokens.append(_Token(kind, code[at:end], at, end))
            at = end
            continue
        if kind == "comment" and match.end() == size:
            return tokens, None, True
        if kind not in ("ws", "comment") and (kind != "nl" or not depth):
            tokens.append(_Token(kind, match[0], at, match.end()))
            if match[0] in ("(", "[", "{"):
                depth += 1
            elif match[0] in _CLOSERS:
                depth = max(0, depth - 1)
        at = match.end()
    return tokens, None, False


def _string_end(code: str, at: int, quote: str) -> int:
    """Just after the closing quote, or -1. A line end closes a broken one-line string."""
    while True:
        close = code.find(quote, at)
        slash = code.find("\\", at, close if close >= 0 else len(code))
        line = code.find("\n", at) if len(quote) == 1 else -1
        if slash >= 0 and (line < 0 or slash < line):
            at = slash + 2
            continue
        if line >= 0 and (close < 0 or line < close):
            return line
        return close + len(quote) if close >= 0 else -1


def _in_string(code: str, tokens: list[_Token], opened: _OpenString) -> PyContext:
    if "f" in opened.prefix.lower():
        inner = _replacement(opened.content)
        if inner is not None:
            return context_of(inner)
    simple = len(opened.quote) == 1 and opened.prefix == opened.quote
    if not simple or not tokens or "\\" in opened.content:
        return _NOTHING
    last = tokens[-1]
    if last.text == "[":
        start = _primary(tokens, len(tokens) - 2)
    elif (
        last.text == "("
        and len(tokens) > 3
        and tokens[-2].text in _KEY_METHODS
        and tokens[-3].text == "."
    ):
        start = _primary(tokens, len(tokens) - 4)
        last = tokens[-3]
    else:
        return _NOTHING
    if start < 0:
        return _NOTHING
    source = code[tokens[start].start : last.start]
    return PyContext("key", opened.content, source, opened.quote)


def _replacement(content: str) -> str | None:
    """The code after the last open brace of an f-string's text."""
    content = content.replace("{{", "  ")
    opened = content.rfind("{")
    return content[opened + 1 :] if opened > content.rfind("}") else None


def _at(code: str, tokens: list[_Token]) -> PyContext:
    if not tokens:
        return PyContext("name")
    last = tokens[-1]
    if last.text == ".":
        module = _import_path(tokens)
        if module is not None:
            return module
        start = _primary(tokens, len(tokens) - 2)
        if start < 0:
            return _NOTHING
        return PyContext("attribute", object=code[tokens[start].start : last.start])
    if last.kind == "string" and last.end == len(code):
        return _NOTHING
    line = _last_line(tokens)
    if line and line[0].text in ("import", "from"):
        return _importing(line)
    if last.text in _DEFINING:
        return _NOTHING
    if line and line[0].text in ("global", "nonlocal"):
        return PyContext("global")
    found = _call(code, tokens)
    if last.text == "[":
        start = _primary(tokens, len(tokens) - 2)
        if start >= 0:
            return replace(found, object=code[tokens[start].start : last.start])
    return found


def _last_line(tokens: list[_Token]) -> list[_Token]:
    """Tokens of the statement at the end: those after the last line end or semicolon."""
    at = len(tokens)
    while at > 0 and tokens[at - 1].text not in ("\n", ";"):
        at -= 1
    return tokens[at:]


def _import_path(tokens: list[_Token]) -> PyContext | None:
    """``import a.b.`` and ``from a.b.``: the module before the last dot."""
    line = _last_line(tokens)
    if not line or line[0].text not in ("import", "from"):
        return None
    at = len(line) - 1
    while at > 0 and (line[at].text == "." or line[at].kind == "name"):
        if line[at].kind == "name" and line[at].text in ("import", "as"):
            break
        at -= 1
    if line[0].text == "from" and any(item.text == "import" for item in line):
        return _NOTHING
    return PyContext("module", object="".join(item.text for item in line[at + 1 : -1]))


def _importing(line: list[_Token]) -> PyContext:
    texts = [item.text for item in line]
    if texts[0] == "from":
        if "import" in texts:
            at = texts.index("import")
            if texts[-1] not in ("import", ",", "("):
                return _NOTHING
            return PyContext("imported", object="".join(texts[1:at]))
        return PyContext("module") if len(texts) == 1 else _NOTHING
    return PyContext("module") if texts[-1] in ("import", ",") else _NOTHING


def _call(code: str, tokens: list[_Token]) -> PyContext:
    """A name, perhaps at the start of an argument of an open call."""
    depth = 0
    given = 0
    used: set[str] = set()
    for at in range(len(tokens) - 1, -1, -1):
        text = tokens[at].text
        if text in _CLOSERS:
            depth += 1
        elif text in ("(", "[", "{"):
            if depth:
                depth -= 1
                continue
            if text != "(" or tokens[-1].text not in ("(", ","):
                break
            start = _primary(tokens, at - 1)
            if start < 0:
                break
            source = code[tokens[start].start : tokens[at].start]
            return PyContext("name", call=source, given=given - len(used), used=frozenset(used))
        elif depth == 0 and text == ",":
            given += 1
        elif depth == 0 and text == "=" and at > 0 and tokens[at - 1].kind == "name":
            used.add(tokens[at - 1].text)
        elif text in ("\n", ";") and depth == 0:
            break
    return PyContext("name")


def _primary(tokens: list[_Token], at: int) -> int:
    """Index of the first token of the primary expression that ends at ``at``; -1 without one."""
    first = at
    while first >= 0:
        token = tokens[first]
        if token.text in _CLOSERS:
            opener = _matching(tokens, first)
            if opener < 0:
                return -1
            before = tokens[opener - 1] if opener > 0 else None
            if before is not None and _ends_primary(before) and token.text != "}":
                first = opener - 1
                continue
            return opener
        if token.kind not in ("name", "string", "number") or keyword.iskeyword(token.text):
            return -1 if token.text not in ("None", "True", "False") else first
        if first > 1 and tokens[first - 1].text == ".":
            first -= 2
            continue
        return first
    return -1


def _ends_primary(token: _Token) -> bool:
    if token.kind == "name":
        return not keyword.iskeyword(token.text)
    return token.kind == "string" or token.text in (")", "]")


def _matching(tokens: list[_Token], at: int) -> int:
    depth = 0
    for index in range(at, -1, -1):
        text = tokens[index].text
        if text in _CLOSERS:
            depth += 1
        elif text in ("(", "[", "{"):
            depth -= 1
            if depth == 0:
                return index if text == _CLOSERS[tokens[at].text] else -1
    return -1


__all__ = ["PyContext", "PyKind", "context_of"]
