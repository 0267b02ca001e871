"""Which names embedded Python reads and binds, against Python's own symbol tables."""

from __future__ import annotations

import ast
import symtable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedi.analysis.pynames import bound_names, offset_in, uses

SAMPLES = [
    "x = y",
    "x += 1",
    "def f(a, *b, c=d, **e) -> g:\n    return a, b, c, e, h",
    "def f():\n    global x\n    x = 1\n    def g():\n        nonlocal_like = x\n    return g",
    "class A(B, metaclass=M):\n    x = y\n    def m(self):\n        return x, z",
    "[a for a in b if c for d in a]",
    "{k: v for k, v in items}\n{s for s in t}\n(u for u in w)",
    "print([y := f(x), y])",
    "[y := x for x in z]",
    "lambda a, b=c: a + b + d",
    "for i in range(n):\n    pass\nelse:\n    j = i",
    "try:\n    pass\nexcept E as e:\n    e\nfinally:\n    z",
    "with a as b, c as (d, f):\n    pass",
    "match x:\n  case [1, *rest]: pass\n  case {'k': v, **more}: pass\n  case A(p=q) as w: pass",
    "import a.b, c as d\nfrom e import f as g, h",
    "del x",
    "async def f():\n    async with a as b:\n        await c",
    "@deco(x)\ndef f(): ...",
    "def outer():\n    x = 1\n    def inner():\n        return x + y\n    return inner",
    "x: int = 1",
    "if a:\n    b = 1\nelif c:\n    b = 2",
    "f'{a} {b!r:>{c}}'",
]


def by_symtable(code: str) -> tuple[set[str], set[str]]:
    """``(read from, bound at)`` the level of the module, as Python itself decides."""
    reads: set[str] = set()
    writes: set[str] = set()
    stack = [symtable.symtable(code, "<test>", "exec")]
    while stack:
        table = stack.pop()
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            outer = top or symbol.is_global()
            if outer and symbol.is_referenced():
                reads.add(symbol.get_name())
            if outer and (symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()):
                writes.add(symbol.get_name())
        stack.extend(table.get_children())
    return reads, writes


@pytest.mark.parametrize("code", SAMPLES)
def test_uses_agree_with_python(code):
    found = uses(ast.parse(code))
    reads, writes = by_symtable(code)
    # Annotations and `x += 1` differ in what Python calls a reference.
    assert found.reads - {"int"} >= reads - {"int"}
    assert found.reads - reads <= {"x", "int", "g"}
    assert found.writes == writes


@pytest.mark.parametrize(
    ("code", "names", "is_open"),
    [
        ("import a.b\nx, (y, *z) = f()\ndef g():\n    local = 1", {"a", "x", "y", "z", "g"}, False),
        ("def g():\n    global made\n    made = 1", {"g", "made"}, False),
        ("from m import *", set(), True),
        ("globals()['x'] = 1", set(), True),
        ("[a for a in b]\n[c := a for a in b]", {"c"}, False),
    ],
)
def test_bound_names(code, names, is_open):
    found = bound_names(ast.parse(code))
    assert set(found.names) == names
    assert found.open is is_open


def test_a_missing_tree_is_open():
    assert bound_names(None).open
    assert uses(None).occurrences == ()


@given(st.text(max_size=30))
def test_offsets_agree_with_python(text):
    for line_number, line in enumerate(text.split("\n"), 1):
        for column in range(len(line) + 1):
            width = len(line[:column].encode("utf-8", "surrogatepass"))
            start = sum(len(other) + 1 for other in text.split("\n")[: line_number - 1])
            assert offset_in(text, line_number, width) == start + column


def test_deep_trees_are_no_matter():
    code = "if a:\n    pass\n" + "elif b:\n    c = d\n" * 900
    found = uses(ast.parse(code))
    assert found.reads == {"a", "b", "d"}
    assert found.writes == {"c"}
