"""Completion from a live session."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kedi
from kedi import InteractiveSession
from kedi.session.completion import Completion
from tests.session.traps import TRAPS

Make = Callable[..., InteractiveSession]

SETUP = """
```
import json, os.path
def helper(alpha: int, *, beta="x") -> dict: ...
class Own:
    limit = 3
    def __init__(self, size=1): self.size = size
    @property
    def wide(self) -> str: raise SystemExit
    def twice(self) -> "Own": ...
    @classmethod
    def build(cls, name: str) -> dict: ...
```
~Person(name, age: int = `3`)
@greet(who: Person, loud: bool = `False`) -> Person:
  = `who`
@maybe(n: int) -> Person | None:
  = `None`
[person] = `Person("a")`
[data] = `{"one": 1, "two words": {"in'ner": Person("z"), "x": 1}, 5: 1}`
[own] = `Own(2)`
[number: int] = `5`
[_hidden] = x
> profile: careful:
  > effort: high
""".strip()


@pytest.fixture
def live(make: Make) -> InteractiveSession:
    session = make(env={"outside": 1})
    session.execute(SETUP)
    return session


def labels(session: InteractiveSession, text: str, cursor: int | None = None) -> list[str]:
    return [one.label for one in session.complete(text, cursor)]


def find(session: InteractiveSession, text: str, label: str) -> Completion:
    return next(one for one in session.complete(text) if one.label == label)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Names
        ("= <pers", ["person", "Person"]),
        ("= <g", ["greet"]),
        ("= <out", ["outside"]),
        ("= <_", ["_hidden"]),
        ("[x] = text <num", ["number"]),
        (">> a < b and <num", ["number"]),
        (">> first\nsecond <num", ["number"]),
        ("[a] << raw <num", ["number"]),
        ("> show: <num", ["number"]),
        ("> if: is <num", ["number"]),
        ("> system: you <num", ["number"]),
        ("> system:\n  you <num", ["number"]),
        ("[num", ["number"]),
        ("[number] := `num", ["number"]),
        ("num", ["number"]),
        ("= \\<num", []),
        ("= text num", []),
        ("= <number> num", []),
        ("# <num", []),
        ("= x # <num", []),
        ("###\n<num", []),
        # Attributes
        ("= `person.na", ["name"]),
        ("= `person.name.upp", ["upper"]),
        ("= `greet(person).na", ["name"]),
        ("= `greet(person).name.upp", ["upper"]),
        ("= `maybe(1).na", ["name"]),
        ("= `Person('x').na", ["name"]),
        ("= `own.", ["size", "build", "limit", "twice", "wide"]),
        ("= `own.wide.upp", ["upper"]),
        ("= `Own.build('x').setd", ["setdefault"]),
        ("= `Own.lim", ["limit"]),
        ("= `helper(1).setd", ["setdefault"]),
        ("= `json.dump", ["dump", "dumps"]),
        ("= `os.path.isab", ["isabs"]),
        ("= `'text'.upp", ["upper"]),
        ("= `[1, 2].app", ["append"]),
        ("= `{}.setd", ["setdefault"]),
        ("= `f'{person.na", ["name"]),
        ("= `(person).na", ["name"]),
        ("= `[x for x in [person.na", ["name"]),
        ("= `data['two words'][\"in'ner\"].na", ["name"]),
        ("> loop [i]: `person.na", ["name"]),
        ("> if: `person.na", ["name"]),
        ("@f(a: int = `person.na", ["name"]),
        ("= <greet(`person.na", ["name"]),
        ("person.na", ["name"]),
        ("= `unknown.na", []),
        ("= `person.nothing.na", []),
        ("= `1.", []),
        ("= 'person.na", []),
        ("= `'person.na", []),
        ("= `person # person.na", []),
        # Keys
        ("= `data['", ["one", "two words"]),
        ('= `data["two', ["two words"]),
        ("= `data['two words']['", ["in'ner", "x"]),
        ("= `data.get('o", ["one"]),
        ("= `person['", []),
        # Keyword arguments
        ("= `greet(who", ["who="]),
        ("= `greet(person, lou", ["loud="]),
        ("= `greet(loud=True, wh", ["who=", "while"]),
        ("= `helper(1, be", ["beta="]),
        ("= `Person(na", ["name=", "NameError"]),
        ("= `Own(si", ["size="]),
        ("= `own.twice(si", []),
        ("= `json.dumps(1, sort", ["sort_keys=", "sorted"]),
        # Python itself
        ("= `isin", ["isinstance"]),
        ("`whi", ["while"]),
        ("= `impo", ["ImportError", "ImportWarning", "import"]),
        ("= `json if num", ["number"]),
        ("```\nglobal num", ["number"]),
        ("```\nimport collections.ab", ["abc"]),
        ("```\nfrom os import pathse", ["pathsep"]),
        ("```\nimport json as j", []),
        ("```\ndef num", []),
        # In a fence
        ("```\nlocal = 1\nloc", ["local", "locals"]),
        ("[x] = ```\nfor item, entry in []:\n    ent", ["entry"]),
        ("```\nimport collections as c\nc.Ordered", ["OrderedDict"]),
        ("```\np = Person('x')\np.na", ["name"]),
        ("= ```\nreturn person.na", ["name"]),
        ("```\nx = 1\n```\n= <num", ["number"]),
        # Types
        ("[x: Pers", ["Person"]),
        ("[x: list[Pers", ["Person"]),
        ("[x: str | Pers", ["Person"]),
        ("@f(a: Pers", ["Person"]),
        ("@f(a, b: dict[str, Pers", ["Person"]),
        ("@f(\n  a: int,\n  b: Pers", ["Person"]),
        ("@f(a) -> Pers", ["Person"]),
        ("~T(a: Pers", ["Person"]),
        (">> give [x: Pers", ["Person"]),
        (">> give [x: fl", ["float"]),
        ("[x: Ow", ["Own"]),
        ("[x: json.JSONDecodeE", ["JSONDecodeError"]),
        ("[x: `Pers", ["Person", "person"]),
        ("[x: num", []),
        ('[x: Literal["fl', []),
        # Directives
        ("> eff", ["effort"]),
        (">eff", ["effort"]),
        ("> effort: x", ["xhigh"]),
        ("> history: en", ["enabled"]),
        ("> history:\n  comp", ["compaction_mode", "compaction_threshold"]),
        ("> history:\n  compaction_mode: na", ["native"]),
        ("> settings:\n  temp", ["temperature"]),
        ("> settings:\n  seed: 1\n  temp", ["temperature"]),
        ("> settings:\n  temperature: `num", ["number"]),
        ("> mcp:\n  transport: st", ["stdio", "streamable-http"]),
        ("> adapter: scr", ["scripted"]),
        ("> adapter: `num", ["number"]),
        ("> approval: ", ["allow", "deny"]),
        ("> use: gr", ["greet"]),
        ("> use: car", ["careful"]),
        ("> use:\n  gr", ["greet"]),
        ("> use: num", []),
        ("> requires: structured_output, to", ["tools"]),
        ("> requires:\n  to", ["tools"]),
        ("> expo", []),
        ("> els", []),
        ("> if: `True`:\n  `1`\n> els", ["else"]),
        ("> loop [i]: `[]`:\n  `1`\n> ma", ["map"]),
        ("> loop: `True`:\n  `1`\n> ma", []),
        ("> profile: p:\n  > outp", ["output"]),
        ("> outp", []),
        ("@f():\n  > too", ["tool"]),
        ("> too", []),
        ("@f():\n  > tool:\n    ris", ["risk"]),
        ("@f():\n  > tool:\n    risk: sens", ["sensitive"]),
        ("> profile: x", []),
        ("> nonsense: x", []),
        # What the text itself declares
        ("@f(alpha, beta: Person):\n  = <al", ["alpha"]),
        ("@f(alpha, beta: Person):\n  = `beta.na", ["name"]),
        ("@f(alpha):\n  [gamma] = 1\n  = <gam", ["gamma"]),
        ("@f(alpha):\n  = x\n= <alp", []),
        ("~Local(size: int)\n[z: Local] = `Local(1)`\n= `z.si", ["size"]),
        ("~Local(size: int)\n[x: Loc", ["Local"]),
        ("~Local(size: int)\n= `Local(si", ["size="]),
        ("@made(q: int) -> Person:\n  = `person`\n= `made(1).na", ["name"]),
        ("@made(q: int):\n  = x\n= `made(q", ["q=", "quit"]),
        ("> loop [item]: `[]`:\n  = <ite", ["item"]),
        ("> if: `True`:\n  [inner] = 1\n  = <inn", ["inner"]),
        (">> give [field: int]\n= <fie", ["field"]),
        ("broken = (\n[mine] = 1\n= <min", ["mine"]),
    ],
)  # fmt: skip
def test_labels(live: InteractiveSession, text: str, expected: list[str]) -> None:
    assert labels(live, text) == expected


def test_what_is_replaced(live: InteractiveSession) -> None:
    text = "= <pers> and `number`"
    one = next(item for item in live.complete(text, 7) if item.label == "person")
    assert (one.replace_start, one.replace_end) == (3, 7)
    assert text[: one.replace_start] + one.insert_text + text[one.replace_end :] == (
        "= <person> and `number`"
    )


@pytest.mark.parametrize(
    ("before", "after", "label", "result"),
    [
        ("= `data['tw", "", "two words", "= `data['two words'"),
        ("= `data['tw", "']`", "two words", "= `data['two words']`"),
        ("= `data['two words']['", "", "in'ner", "= `data['two words']['in\\'ner'"),
        ('= `data["two words"]["in', '"]`', "in'ner", '= `data["two words"]["in\'ner"]`'),
        ("= `data[", "]`", "'one'", "= `data['one']`"),
        ("> eff", "", "effort", "> effort: "),
        ("> settings:\n  te", "", "temperature", "> settings:\n  temperature: "),
        ("> sett", "", "settings", "> settings:"),
        ("= `greet(lo", ")`", "loud=", "= `greet(loud=)`"),
        ("= `PERSON.__cl", "`", "__class__", None),
        ("= é🎉 <num", " é", "number", "= é🎉 <number é"),
        ("\ufeff= \r\n= <num", "", "number", "\ufeff= \r\n= <number"),
    ],
)
def test_inserted_text(
    live: InteractiveSession, before: str, after: str, label: str, result: str | None
) -> None:
    text = before + after
    found = [one for one in live.complete(text, len(before)) if one.label == label]
    if result is None:
        assert not found
        return
    (one,) = found
    assert one.replace_end == len(before)
    assert text[: one.replace_start] + one.insert_text + text[one.replace_end :] == result


def test_details_and_kinds(live: InteractiveSession) -> None:
    assert find(live, "= <gr", "greet").detail == (
        "@greet(who: Person, loud: bool = False) -> Person"
    )
    kinds = {one.label: one.kind for one in live.complete("= `")}
    assert kinds["person"] == "value"
    assert kinds["greet"] == "procedure"
    assert kinds["Person"] == "type"
    assert kinds["careful"] == "profile"
    assert kinds["helper"] == "python"
    assert kinds["json"] == "module"
    assert kinds["len"] == "builtin"
    assert kinds["lambda"] == "keyword"
    members = {one.label: one.kind for one in live.complete("= `own.")}
    assert members == {
        "size": "attribute",
        "build": "method",
        "limit": "attribute",
        "twice": "method",
        "wide": "property",
    }
    assert find(live, "= `json.du", "dumps").detail.startswith("dumps(obj, *, skipkeys=False")


def test_arguments_are_hinted(live: InteractiveSession) -> None:
    for text, expected in (
        ("= <greet(", "who: Person"),
        ("= <greet(<person>, ", "loud: bool = False"),
        ("= <greet(a\\, b", "who: Person"),
        ("= <greet(<greet(", "who: Person"),
        ("= <greet(<greet(a)>, ", "loud: bool = False"),
    ):
        (one,) = live.complete(text)
        assert (one.kind, one.label, one.insert_text) == ("argument", expected, "")
        assert "greet(" in one.detail
    assert live.complete("= <greet(<person>, a, ") == []
    assert live.complete("= <number(") == []


def test_best_come_first(live: InteractiveSession) -> None:
    found = live.complete("@f(person_local):\n  = `per")
    assert [one.label for one in found[:3]] == ["person_local", "person", "Person"]
    assert [one.sort for one in found] == sorted(one.sort for one in found)
    assert labels(live, "= `greet(")[:2] == ["who=", "loud="]


def test_private_names_on_request(live: InteractiveSession) -> None:
    assert "_hidden" not in labels(live, "= <")
    assert "__init__" not in labels(live, "= `own.")
    assert "__init__" in labels(live, "= `own.__in")
    assert "__init__" not in labels(live, "= `own._")


def test_cursors_outside_the_text(live: InteractiveSession) -> None:
    assert labels(live, "= <num", 10**9) == ["number"]
    assert labels(live, "= <num", -5) == labels(live, "", 0)
    assert labels(live, "= <num", 4) == ["number"]


def test_a_closed_session_still_answers(live: InteractiveSession) -> None:
    live.close()
    assert labels(live, "= <num") == ["number"]


# ── modules ───────────────────────────────────────────────────────────────────


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_module_paths(make: Make, tmp_path: Path) -> None:
    write(tmp_path / "helpers.kedi", "[one] = 1\n@two(x: int) -> int:\n  = `x`\n[no] = 1\n"
                                     "> export:\n  one\n  two\n")  # fmt: skip
    write(tmp_path / "sub" / "deep.kedi")
    write(tmp_path / ".hidden" / "x.kedi")
    write(tmp_path / "broken.kedi", "[x")
    session = make(cwd=tmp_path)
    assert labels(session, "> import: hel") == ["helpers"]
    assert labels(session, "> import: sub/d") == ["sub/deep"]
    assert ".hidden/x" not in labels(session, "> import: ")
    assert labels(session, "> import: helpers:\n  ") == ["one", "two"]
    assert labels(session, "> import: helpers:\n  one\n  t") == ["two"]
    assert labels(session, "> import: nowhere:\n  ") == []
    assert labels(session, "> import: broken:\n  ") == []
    assert labels(session, "> import: helpers\n= <tw") == ["two"]


def test_python_modules_are_not_imported(make: Make, tmp_path: Path, monkeypatch: Any) -> None:
    write(tmp_path / "loud_module.py", "raise SystemExit")
    write(tmp_path / "loud_package" / "__init__.py", "raise SystemExit")
    write(tmp_path / "loud_package" / "inner.py", "raise SystemExit")
    monkeypatch.syspath_prepend(str(tmp_path))
    session = make()
    assert labels(session, "```\nimport loud") == ["loud_module", "loud_package"]
    assert labels(session, "```\nimport loud_package.") == ["inner"]
    assert labels(session, "```\nfrom loud_package import ") == ["inner"]
    assert labels(session, "```\nimport loud_module\nloud_module.") == []
    assert "loud_module" not in sys.modules


# ── nothing runs ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", TRAPS)
def test_user_code_never_runs(make: Make, name: str) -> None:
    session = make(env={"trap": TRAPS[name](), "holder": {"trap": TRAPS[name]()}})
    for text in (
        "= <", "= `", "= `trap.", "= `trap['", "= `trap[", "= `trap(", "= `trap.method(",
        "= <trap(",
        "= `trap.method(1).", "= `trap.computed.", "= `trap.value.", "= `holder['trap'].",
        "= `trap[0].", "= `trap['a'].", "= `trap.stored.", "[x: tr", "> use: ", "= `trap.__",
    ):  # fmt: skip
        session.complete(text)
    if name == "trap":
        assert "stored" in labels(session, "= `trap.")


def test_keys_with_hostile_equality(make: Make) -> None:
    class Key:
        def __hash__(self) -> int:
            return hash("a")

        def __eq__(self, other: object) -> bool:
            raise SystemExit

    session = make(env={"data": {Key(): 1, "b": "text"}})
    assert labels(session, "= `data['") == ["b"]
    assert labels(session, "= `data['a'].") == []
    assert "upper" in labels(session, "= `data['b'].")


def test_a_large_session(make: Make) -> None:
    session = make(env={f"name{i}": i for i in range(10_000)})
    assert len(labels(session, "= <name")) == 10_000
    assert labels(session, "= <name9999") == ["name9999"]


# ── broken text ───────────────────────────────────────────────────────────────

PIECES = [
    "[x: int] = `1`", "= <", "<greet(", "`", "```", "\n", "  ", "@f(a: ", "-> ", "~T(", ">> ", "[",
    "]",
    "> settings:\n  ", "> if: ", "\\", "#", "###", "'", '"', "{", "(", ")", "person.", "data['",
    "é", "\t",
    ":", ",", "\r\n", "import ", "from ", "f'{", "> loop [i]: ", "\ufeff", "\ud800", "\0",
    "lambda: ",
]  # fmt: skip


@pytest.fixture(scope="module")
def shared() -> Any:
    with kedi.interactive() as session:
        session.execute(SETUP)
        yield session


@settings(max_examples=300)
@given(data=st.data())
def test_any_text_and_cursor(shared: InteractiveSession, data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12)))
    cursor = data.draw(st.integers(0, len(text)))
    for one in shared.complete(text, cursor):
        assert 0 <= one.replace_start <= one.replace_end == cursor
        assert one.label or one.kind == "key"


def test_every_prefix_of_a_program(shared: InteractiveSession) -> None:
    text = SETUP.replace("raise SystemExit", "return ''")
    for cursor in range(len(text) + 1):
        shared.complete(text, cursor)


@pytest.mark.parametrize(
    "text",
    [
        "= <f(" * 20_000,
        "= `" + "(" * 50_000,
        "= `" + "a." * 50_000,
        "= `" + "f(" * 20_000,
        "= `x" + "[0]" * 20_000 + ".",
        "```\n" + "x = (\n" * 20_000,
        "= `'" + "\\" * 50_000,
        ">> " + "[a: " * 20_000,
        "\n".join("  " * i + "> if: `x`:" for i in range(500)),
        "~T(" + "a, " * 20_000,
        "= `f'" + "{" * 30_000,
        "[x: " + "list[" * 20_000,
    ],
    ids=range(12),
)
def test_deep_and_long_text(shared: InteractiveSession, text: str) -> None:
    shared.complete(text)
    shared.complete(text + "x")


def test_long_text_before_the_cursor(shared: InteractiveSession) -> None:
    text = "[a] = 1\n" * 150_000 + "= <pers"
    assert labels(shared, text) == ["person", "Person"]
    rng = random.Random(5)
    line = "".join(rng.choice("abc <>`[](){}\\'\"") for _ in range(1_000_000))
    shared.complete("= " + line)
