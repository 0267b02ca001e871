"""Types that are written plainly: names, forms, order of declaration, suggestions."""

from __future__ import annotations

import pytest

from kedi.analysis.names import Kind, NoNames


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[x: strr] = a", ["unknown-type 1:5-9"]),
        ("@f(a: Nope) -> Gone:\n  = x", ["unknown-type 1:7-11", "unknown-type 1:16-20"]),
        ("~A(x: Nope, y: list[Gone])", ["unknown-type 1:7-11", "unknown-type 1:21-25"]),
        (">> A [x: Nope] b", ["unknown-type 1:10-14"]),
        ("[x] << Say <f(make [t: Nope])>", ["unknown-type 1:24-28"]),
        ("> profile: p:\n  > output: Nope", ["unknown-type 2:13-17"]),
        ("~A(\n  one: int,\n  two: dict[str,\n    Nope]\n)", ["unknown-type 4:5-9"]),
        ("[x: str | Nope | None] = a", ["unknown-type 1:11-15"]),
        ("[x: Nope.Inner] = a", ["unknown-type 1:5-9"]),
        ('[x: Literal["é", "😀"] | Nope] = a', ["unknown-type 1:25-29"]),
        ('[x: Annotated[Nope, "text"]] = a', ["unknown-type 1:15-19"]),
    ],
)
def test_unknown_types_are_found_where_they_stand(check, source, expected):
    assert check(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "[x: int] = `1`",
        "[x: list[int] | dict[str, float] | None] = `None`",
        "[x: tuple[int, ...]] = `(1,)`\n[y: tuple] = `()`\n[z: tuple[()]] = `()`",
        '[x: Literal["a", 1, -1, None, True, b"x"]] = a',
        '[x: Optional[Union[int, str]]] = `1`\n[y: Annotated[int, "n", 5]] = `1`',
        "[x: datetime | date | time | timedelta | Decimal | UUID | Path] = `None`",
        "[x: Regex | Email | HttpUrl | FileUrl | bytes | object | Any] = `None`",
        "[x: `whatever.goes(here)`] = a",
        "~Node(value: int, children: list[Node] = `[]`)",
        "```\nimport decimal\nfrom fractions import Fraction as F\n```\n[a: decimal.Ctx | F] = `1`",
        "```\nclass K: ...\nT = list[int]\n```\n[c: K] = `1`\n[d: T] = `1`",
        "```\nfrom somewhere import *\n```\n[a: Anything] = `1`",
        "```\nglobals().update(T=int)\n```\n[a: T] = `1`",
        "[T] = `list[int]`\n[x: T] = `[1]`",
        "~list(a)\n[x: list] = `1`",
        "~int(a)\n[y: int] = `1`",
    ],
)
def test_good_types_pass(check, source):
    assert check(source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[a: list[int, str]] = `1`", ["type-arguments 1:5-19"]),
        ("[a: dict[str]] = `1`", ["type-arguments 1:5-14"]),
        ("[a: int[str]] = `1`", ["type-arguments 1:5-8"]),
        ("[a: Optional] = `1`", ["type-arguments 1:5-13"]),
        ("[a: Annotated[int]] = `1`", ["type-arguments 1:5-19"]),
        ("~P(a)\n[x: P[int]] = `1`", ["type-arguments 2:5-6"]),
        ("[a: 'int'] = `1`", ["invalid-type 1:5-10"]),
        ("[a: 3] = `1`", ["invalid-type 1:5-6"]),
        ("[a: f(int)] = `1`", ["invalid-type 1:5-11"]),
        ("[a: list[...]] = `1`", ["invalid-type 1:10-13"]),
        ("[a: Literal[x]] = y", ["invalid-type 1:13-14"]),
        ("[a: Literal[1.5]] = y", ["invalid-type 1:13-16"]),
        ("[a: int & str] = y", ["invalid-type 1:5-14"]),
        ("@f() -> int:\n  = `1`\n[x: f] = `1`", ["not-a-type 3:5-6"]),
        ("> profile: p:\n  > model: m\n[x: p] = `1`", ["not-a-type 3:5-6"]),
        ("[n: int] = `1`\n[x: n] = `1`", ["not-a-type 2:5-6"]),
        ("[n] = text\n[x: n] = `1`", ["not-a-type 2:5-6"]),
        (">> [n]\n\n[x: n] = `1`", ["not-a-type 3:5-6"]),
    ],
)
def test_wrong_forms(check, source, expected):
    assert check(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # A signature resolves where it stands, a body when it runs.
        ("@f(x: T):\n  = x\n~T(a)", ["unknown-type 1:7-8"]),
        ("@f():\n  [x: T] = `T('a')`\n  = x\n~T(a)", []),
        ("[x: T] = `1`\n~T(a)", ["unknown-type 1:5-6"]),
        ("> if: `True`:\n  [x: T] = `1`\n~T(a)", ["unknown-type 2:7-8"]),
        ("@f():\n  > loop [i]: `[1]`:\n    [x: T] = `1`\n  = x\n~T(a)", []),
        ("@f():\n  [x: T] = `1`\n  ~T(a)\n  = x", ["unknown-type 2:7-8"]),
        ("@f():\n  @g():\n    [x: T] = `1`\n    = x\n  ~T(a)\n  = `g()`", []),
        ("@f():\n  ~T(a)\n  = x\n[y: T] = `1`", ["unknown-type 4:5-6"]),
        ("~A(b: B)\n~B(a: A)", ["unknown-type 1:7-8"]),
        ("~A(a: A | None, b: list[A])", []),
        ("> loop [i]: `[1]`:\n  ~T(a)\n> map:\n  [x: T] = `1`", []),
        ("@f(T):\n  [x: T] = `1`\n  = x", ["not-a-type 2:7-8"]),
        ("@f(T: type):\n  = x", ["unknown-type 1:7-11"]),
    ],
)
def test_order_of_declaration(check, source, expected):
    assert check(source) == expected


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("[x: strr] = a", "`str`"),
        ("~Person(a)\n[x: Persn] = a", "`Person`"),
        ("[x: complex] = a", "backticks"),
        ("[x: Zebra] = a", "~Zebra("),
        ("[x: T] = a\n~T(a)", "before the statement"),
        ("[x: 'int'] = a", "without quotes"),
        ("[x: Literal[a]] = a", '"a"'),
    ],
)
def test_advice(errors, source, part):
    (error,) = errors(source)
    assert part in (error.hint or "")
    assert error.source_line == source.split("\n")[error.span.line - 1]


class _Outside(NoNames):
    def __init__(self, **kinds: Kind) -> None:
        self.kinds = kinds
        self.asked: list[str] = []

    def kind_of(self, name: str) -> Kind | None:
        self.asked.append(name)
        return self.kinds.get(name)

    def all_names(self) -> list[str]:
        return list(self.kinds)


def test_names_from_outside_count(check, errors):
    names = _Outside(Person="type", np="module", make="procedure", thing="value", K="python")
    assert (
        check("[a: Person] = `1`\n[b: np.ndarray] = `1`\n[c: thing] = `1`\n[d: K] = `1`", names)
        == []
    )
    assert check("[a: make] = `1`", names) == ["not-a-type 1:5-9"]
    (error,) = errors("[a: Prson] = `1`", names)
    assert error.hint == "did you mean `Person`?"


def test_outside_names_are_asked_on_demand_only(errors):
    names = _Outside()
    errors("[x: int] = `y`\n~T(a)\n[z: T] = `T(x)`\n= <x> <unknown> `nothing`", names)
    assert names.asked == []
