"""Embedded Python: where a piece ends, and whether it is valid.

Nothing here runs code. Pieces are checked with Python's own parser, and with
its compiler where only that one finds a fault (``return`` or ``yield`` out of
place, duplicate arguments), so that nothing of a source runs before all its
Python is known to be well formed.
"""

from __future__ import annotations

import ast
import re
from types import CodeType
from typing import Literal

from kedi.syntax.cache import TwoGenerations
from kedi.syntax.faults import Fault

Kind = Literal["expr", "stmt", "suite"]

_ONLY_AST = ast.PyCF_ONLY_AST
_INSIDE = re.compile(
    r"""(?:[^()\[\]{}"'#`\n]++|\n)++"""
    r"""|#[^\n]*+"""
    r'''|"""(?:[^\\"]++|\\.|"(?!""))*+(?:"""|\Z)'''
    r"""|\'\'\'(?:[^\\']++|\\.|'(?!''))*+(?:\'\'\'|\Z)"""
    r"""|"(?:[^\\"\n]++|\\.)*+(?:"|(?=\n)|\Z)"""
    r"""|'(?:[^\\'\n]++|\\.)*+(?:'|(?=\n)|\Z)"""
    r"""|.""",
    re.DOTALL,
)
# Constructs that Python's parser accepts and its compiler may refuse.
_NEEDS_COMPILER = re.compile(
    r"\b(?:return|yield|await|async|lambda|def|class|break|continue|nonlocal|global"
    r"|import|del|__debug__|case)\b|:=|(?:^|[(\[{,=:;\n]|\bin)[ \t\n]*\*"
)
# The compiler refuses a keyword argument given twice in one call.
_KEYWORD = re.compile(r"[(,]\s*(\w+)\s*=(?!=)")
# No strings, comments or line breaks, nothing that a parenthesis alone makes an expression, and
# none of the forms that Python's compiler warns of.
_SIMPLE = re.compile(
    r"(?!.*(?:\b(?:for|is|yield|await|lambda)\b|:=|(?:^|,)\s*\*|\]\s*\("
    r"|\b\d[\w.]*(?:and|or|if|else|in|not)\b|\b\d\w*\s*[(\[]))"
    r"[\w .,:+\-*/%()\[\]{}<>=!&|^~@]+"
)
# What Python may warn of while it compiles: escapes, numbers glued to a word, `is` with a
# literal, calls and subscripts of literals, asserted tuples, jumps out of `finally`.
_MAY_WARN = re.compile(
    r"""\\|\b\d[\w.]*(?:and|or|if|else|in|is|not|for)\b|\bis\b|\bassert\s*\(|\bfinally\b|~\s*[TF]"""
    r"""|["']\s*[(\[]|\b\d[\w.]*\s*[(\[]"""
    r"""|\b(?:True|False|None)\s*[(\[]|\.\.\.\s*[(\[]"""
)
_BRACKETS_IN_ROW = re.compile(r"[)\]}]\s*[(\[]")
# A bracket that makes a value rather than calling or subscripting one.
_DISPLAY = re.compile(
    r"(?:^|[^\w)\]}\s]|\w\s+|\n|\b(?:and|or|not|in|is|if|else|return|yield|await|assert|lambda))"
    r"\s*[(\[{]"
)
#: The file name of code that is compiled to be checked, under which warnings are not shown.
SILENT = "<kedi check>"
_BLANK_LINE = re.compile(r"\n[ \t]*+(?=\n)")

_trees: TwoGenerations[tuple[Kind, str], ast.AST | tuple[str, int, int, int, int]] = TwoGenerations(
    8192
)


def may_warn(code: str) -> bool:
    """Whether Python may warn of something in ``code`` when it compiles it."""
    if _MAY_WARN.search(code):
        return True
    return _BRACKETS_IN_ROW.search(code) is not None and _DISPLAY.search(code) is not None


def silent_name(code: str) -> str:
    """A file name under which ``code`` can be compiled without warnings being shown.

    Python's filters are of the whole process, and changing them for a while would disturb
    other threads; this one concerns no other code, so it may stay.
    """
    if may_warn(code):
        import warnings

        warnings.filterwarnings("ignore", module=rf"{SILENT}\Z")
    return SILENT


def depth_after(code: str) -> int:
    """Brackets still open at the end of ``code``, strings and comments skipped."""
    depth = 0
    for match in _INSIDE.finditer(code):
        piece = match[0]
        if piece in ("(", "[", "{"):
            depth += 1
        elif piece in (")", "]", "}"):
            depth -= 1
    return depth


def inline_end(text: str, start: int) -> int:
    """End of inline Python that spans lines, its opening backtick at ``start``; -1 if it does not.

    Every line but the last must end inside a bracket or with a backslash, and
    the closing backtick must leave no bracket open.
    """
    close = text.find("`", start + 1)
    if close < 0:
        return -1
    code = text[start + 1 : close]
    if "\n" not in code or code[:1] == "`":
        return -1
    if _BLANK_LINE.search(code):
        return -1
    depth = 0
    lines = code.split("\n")
    for line in lines[:-1]:
        depth += depth_after(line)
        if depth <= 0 and not line.endswith("\\"):
            return -1
    return close + 1 if depth + depth_after(lines[-1]) == 0 else -1


def type_end(text: str, start: int, limit: int | None = None) -> int:
    r"""End of a type that starts at ``start``: an unnested ``] ) , = : # \n`` or backtick."""
    depth = 0
    limit = len(text) if limit is None else limit
    for match in _INSIDE.finditer(text, start, limit):
        piece = match[0]
        first = piece[0]
        if first in "([{":
            depth += 1
        elif first in ")]}":
            if depth == 0:
                return match.start()
            depth -= 1
        elif first == "`":
            return match.start()
        elif first in "\"'":
            if "\n" in piece:
                return match.start()
        elif depth == 0 and first == "#":
            return match.start()
        elif depth == 0:
            for offset, char in enumerate(piece):
                if char in ",=:\n":
                    return match.start() + offset
    return limit


def compile_simple(text: str, code: str, code_start: int) -> CodeType | None:
    """The code object of a simple expression, for :attr:`Python.compiled`; else ``None``.

    One compilation then serves as syntax check and as what runs. Simple means that the
    parenthesis around it cannot be closed from within and that Python has nothing to warn of,
    since a warning would need the name of the source.
    """
    if not _SIMPLE.fullmatch(code):
        return None
    if ("(" in code or "[" in code or ")" in code) and (not _closes_own(code) or may_warn(code)):
        return None
    before = text[text.rfind("\n", 0, code_start) + 1 : code_start]
    width = len(before) if before.isascii() else len(before.encode("utf-8", "surrogatepass"))
    try:
        # The lambda stands on a line of its own, so that the expression keeps its columns.
        outer = compile(f"lambda:(\n{' ' * width}{code}\n)", "<kedi>", "eval", 0, True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return next(const for const in outer.co_consts if const.__class__ is CodeType)


def _closes_own(code: str) -> bool:
    depth = 0
    for char in code:
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth < 0:
                return False
    return True


def parse_python(text: str, code: str, code_start: int, kind: Kind, indent: int = 0) -> ast.AST:
    """The Python tree of ``code``, which stands in ``text`` at ``code_start``.

    Raises :class:`Fault` at the place of a Python syntax error. Trees are
    shared between equal pieces and must not be changed.
    """
    key = (kind, code)
    found = _trees.get(key)
    if found is None:
        found = _check(code, kind)
        _trees.put(key, found, len(code))
    if isinstance(found, ast.AST):
        return found
    message, line, column, end_line, end_column = found
    start = _place(text, code_start, indent, line, column)
    end = _place(text, code_start, indent, end_line, end_column)
    hint = _advice(message, code, kind)
    raise Fault("python-syntax", f"Python: {message}", start, max(end, start), hint)


def _advice(message: str, code: str, kind: Kind) -> str | None:
    if kind == "suite":
        if "nonlocal" in message:
            return "Kedi bindings are globals of Python: declare the name `global` instead"
        return None
    if "unterminated" in message or "never closed" in message:
        return "a backtick ends inline Python; write \\x60 for one inside a string, or use a fence"
    if kind == "expr" and isinstance(_check(code, "suite"), ast.AST):
        return "an expression is expected here; a statement stands alone on a line or in a fence"
    return None


def _check(code: str, kind: Kind) -> ast.AST | tuple[str, int, int, int, int]:
    try:
        return _parse(code, kind)
    except SyntaxError as error:
        line = error.lineno or 1
        column = max((error.offset or 1) - 1, 0)
        end_line = error.end_lineno or line
        end_column = (error.end_offset or 0) - 1
        if end_line < line or (end_line == line and end_column <= column):
            end_line, end_column = line, column + 1
        return error.msg or "invalid syntax", line, column, end_line, end_column
    except (MemoryError, RecursionError):
        return "this code is nested too deeply", 1, 0, 1, 1
    except UnicodeError:
        return "source code cannot hold lone surrogates", 1, 0, 1, 1
    except (ValueError, OverflowError) as error:
        return str(error), 1, 0, 1, 1


def _parse(code: str, kind: Kind) -> ast.AST:
    name = silent_name(code)
    if kind == "expr":
        expression = compile(code, name, "eval", _ONLY_AST, True)
        assert isinstance(expression, ast.Expression)
        if _needs_compiler(code):
            compile(expression, name, "eval", 0, True)
        return expression
    tree = compile(code, name, "exec", _ONLY_AST, True)
    assert isinstance(tree, ast.Module)
    if kind == "suite":
        if _needs_compiler(code):
            _check_suite(tree, code)
        return tree
    if len(tree.body) != 1:
        raise _not_one_statement(tree, code)
    if _needs_compiler(code):
        compile(tree, name, "exec", 0, True)
    return tree


def _needs_compiler(code: str) -> bool:
    if _NEEDS_COMPILER.search(code):
        return True
    if code.count("=") < 2 or "(" not in code:
        return False
    keywords = _KEYWORD.findall(code)
    return len(set(keywords)) != len(keywords)


def _not_one_statement(tree: ast.Module, code: str) -> SyntaxError:
    if not tree.body:
        return SyntaxError("expected a statement", ("<kedi>", 1, 1, code, 1, 2))
    second = tree.body[1]
    before = code.split("\n")[second.lineno - 1].encode()[: second.col_offset]
    column = len(before.decode("utf-8", "ignore")) + 1
    where = ("<kedi>", second.lineno, column, code, second.lineno, column + 1)
    return SyntaxError("one statement only; put several in a fence", where)


def _check_suite(tree: ast.Module, code: str) -> None:
    """Compile a suite as Kedi will run it: a ``return`` at its top level ends it."""
    if "return" not in code or not _returns(tree.body):
        compile(tree, SILENT, "exec", 0, True)
        return
    wrapper = ast.parse("def _suite(): pass", "<kedi>")
    function = wrapper.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = tree.body
    compiled = compile(wrapper, SILENT, "exec", 0, True)
    for constant in compiled.co_consts:
        flags = getattr(constant, "co_flags", 0)
        if flags & (0x20 | 0x200):  # a generator: the suite itself yields
            node = _first_yield(tree.body)
            line, column = (node.lineno, node.col_offset) if node else (1, 0)
            raise SyntaxError("'yield' outside function", ("<kedi>", line, column + 1, code))


def _scope_nodes(body: list[ast.stmt]) -> list[ast.AST]:
    """Nodes of ``body`` outside nested functions, lambdas and classes."""
    found: list[ast.AST] = []
    stack: list[ast.AST] = list(body)
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    while stack:
        node = stack.pop()
        found.append(node)
        if not isinstance(node, inner):
            stack.extend(ast.iter_child_nodes(node))
    return found


def _returns(body: list[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return) for node in _scope_nodes(body))


def _first_yield(body: list[ast.stmt]) -> ast.expr | None:
    found = [node for node in _scope_nodes(body) if isinstance(node, (ast.Yield, ast.YieldFrom))]
    return min(found, key=lambda node: (node.lineno, node.col_offset), default=None)


def _place(text: str, code_start: int, indent: int, line: int, column: int) -> int:
    """Offset into ``text`` of a 1-based line and 0-based column of a piece of code."""
    at = code_start
    for _ in range(line - 1):
        following = text.find("\n", at)
        if following < 0:
            return len(text)
        at = following + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    if line > 1:
        column += indent
    return min(at + column, end)


def forget_pieces() -> None:
    """Empty the memory of Python pieces; for measurements."""
    _trees.clear()
