"""Watches and hovers: what they show, what they refuse, and that nothing ever runs."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kedi
from kedi import InteractiveSession
from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import Scope, dict_set, new_scope
from kedi.session.debugger.pure import Refused, look
from tests.session.traps import TRAPS

PREPARED = """
```
import enum, math
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cached_property
ran = []
class Plain:
    kind = "plain"
    def __init__(self): self.own = [1, 2]
    def method(self): ran.append("method"); return 1
    @property
    def total(self): ran.append("total"); return 1
    @cached_property
    def cached(self): ran.append("cached"); return 1
class Slots:
    __slots__ = ("a", "b")
    def __init__(self): self.a = 5
class Getting:
    def __getattr__(self, name): ran.append(name); return 1
class Reading:
    def __init__(self): self.own = 1
    def __getattribute__(self, name): ran.append(name); return 1
class Evil:
    def __eq__(self, other): ran.append("eq"); return True
    def __hash__(self): ran.append("hash"); return hash("a")
    def __bool__(self): ran.append("bool"); return True
    def __len__(self): ran.append("len"); return 1
    def __iter__(self): ran.append("iter"); return iter(())
    def __getitem__(self, key): ran.append("getitem"); return 1
    def __format__(self, spec): ran.append("format"); return ""
    def __str__(self): ran.append("str"); return ""
    def __repr__(self): ran.append("repr"); return ""
    def __index__(self): ran.append("index"); return 0
    def __lt__(self, other): ran.append("lt"); return True
    def __add__(self, other): ran.append("add"); return 1
    def __radd__(self, other): ran.append("radd"); return 1
    def __call__(self): ran.append("call"); return 1
    def __contains__(self, item): ran.append("contains"); return True
    def __neg__(self): ran.append("neg"); return 1
class Key:
    def __eq__(self, other): ran.append("key eq"); return True
    def __hash__(self): return hash("a")
class Listed(list): pass
class Changed(list):
    def __getitem__(self, key): ran.append("changed"); return 1
    def __iter__(self): ran.append("changed"); return iter(())
    def __len__(self): ran.append("changed"); return 1
class Making(dict):
    def __missing__(self, key): ran.append("missing"); return 1
class Color(enum.Enum):
    RED = "r"
class Level(enum.IntEnum):
    LOW = 1
@dataclass
class Point:
    x: int
    y: int
Pair = namedtuple("Pair", "left right")
plain, slots, getting, reading, evil = Plain(), Slots(), Getting(), Reading(), Evil()
def helper(*a): ran.append("helper"); return 1
n, s, items, table = 3, "text", [1, 2, 3], {"a": 1, "b": {"c": [10, 20]}, 2: "two", (1, 2): "pair"}
keyed = {Key(): 1, "b": 2}
listed, changed, making = Listed([1, 2]), Changed([1]), Making(a=1)
default = defaultdict(list, a=[1])
ordered, queue, several = OrderedDict(a=1), deque([1, 2]), {1, 2, 3}
point, pair = Point(1, 2), Pair(1, "r")
day, moment = date(2024, 5, 6), datetime(2024, 5, 6, tzinfo=timezone.utc)
price = Decimal("1.50")
loop = []; loop.append(loop)
deep = []
for _ in range(50_000): deep = [deep]
shared = []
for _ in range(60): shared = [shared, shared]
gen = (ran.append("gen") for _ in range(3))
huge = "x" * 900_000
error = ValueError("bad", 3)
```
[flag: bool] = `True`
[person] = Ada
~Person(name, age: int = `3`)
[someone] = `Person(name="Bo")`
@proc(x) -> str:
  = <x>!
@asks(topic) -> str:
  >> Tell me of <topic>: [answer]
  = <answer>
""".strip()


@pytest.fixture(scope="module")
def scope() -> Any:
    session = kedi.interactive()
    session.execute(PREPARED)
    yield session._scope
    session.close()


SHOWN: dict[str, Any] = {
    "n": 3,
    "1 + 2 * n": 7,
    "-n, +n, ~n, not n": (-3, 3, -4, False),
    "~True": -2,
    "s[0], s[-1], s[1:3], s[::-1]": ("t", "t", "ex", "txet"),
    "items[1:]": [2, 3],
    "table['b']['c'][1]": 20,
    "table[2], table[(1, 2)], table[2.0]": ("two", "pair", "two"),
    "ordered['a'], making['a'], default['a']": (1, 1, [1]),
    "listed[0], listed[1:]": (1, [2]),
    "queue[1], pair.left, pair[1], pair.right": (2, 1, "r", "r"),
    "point.x + point.y": 3,
    "slots.a": 5,
    "plain.own, plain.kind, Plain.kind": ([1, 2], "plain", "plain"),
    "someone.name, someone.age": ("Bo", 3),
    "Color.RED.value, Color.RED.name, Level.LOW.value": ("r", "RED", 1),
    "Color.RED == Color.RED, Color.RED is not None": (True, True),
    "math.pi > 3": True,
    "error.args": ("bad", 3),
    "day.year, moment.hour, day < date": None,
    "moment > moment, day == day": (False, True),
    "price * 2 > price": True,
    "1 < n < 5, n in items, 4 not in items": (True, True, True),
    "'ex' in s, 2 in several, 'a' in table, 'z' in table": (True, True, True, False),
    "2 in queue, 5 in range(10**18), n in (v for v in items)": (True, True, True),
    "plain is plain, plain == plain, plain != None": (True, True, True),
    "type(plain) is Plain, type(n) == int": (True, True),
    "isinstance(plain, Plain), isinstance(n, (str, int)), isinstance(s, int)": (True, True, False),
    "n and s or items": "text",
    "s if flag else n": "text",
    "[v * 2 for v in items if v > 1]": [4, 6],
    "{v: k for k, v in {'x': 1}.items()}": {1: "x"},
    "{v % 2 for v in items}": {0, 1},
    "sum(v for v in items)": 6,
    "[(a, b) for a in items for b in items if a < b]": [(1, 2), (1, 3), (2, 3)],
    "[n for n in items] + [n]": [1, 2, 3, 3],
    "[*items, 4], (*s,), {**{'a': 1}, 'b': 2}": ([1, 2, 3, 4], tuple("text"), {"a": 1, "b": 2}),
    "f'{n} {s!r:>8} {n:03} {items}'": "3   'text' 003 [1, 2, 3]",
    "len(s), len(items), len(several), len(plain.own)": (4, 3, 3, 2),
    "min(items), max(items), sum(items), sorted(items, reverse=True)": (1, 3, 6, [3, 2, 1]),
    "max([], default=7)": 7,
    "abs(-n), round(2.567, 1), int('7'), float('1.5'), bool(items)": (3, 2.6, 7, 1.5, True),
    "str(n), repr(s), str(items), bool()": ("3", "'text'", "[1, 2, 3]", False),
    "list(zip(items, s)), list(enumerate(s))[0], list(reversed(items))": (
        [(1, "t"), (2, "e"), (3, "x")],
        (0, "t"),
        [3, 2, 1],
    ),
    "any(v > 2 for v in items), all(items)": (True, True),
    "dict(a=1) if n < 0 else dict([('k', 1)])": {"k": 1},
    "s.upper().startswith('TE'), ' a b '.split(), table.get('zz', 5), table.get('a')": (
        True,
        ["a", "b"],
        5,
        1,
    ),
    "list(table.keys())[:2], len(table.values())": (["a", "b"], 4),
    "'%s is %03d' % (s, n)": "text is 003",
    "callable(helper), callable(n)": (True, False),
    "2 ** 100": 2**100,
    "1 << 70": 1 << 70,
    "<person>": "Ada",
    "<someone.name>": "Bo",
    "`n + 1`": 4,
    "= `n`": 3,
    "= <n>": "3",
    "= <person> is `n`": "Ada is 3",
    "= <len(`items`)>": "3",
    "hello <person>": "hello Ada",
    "": None,
    "(n,\n n)": (3, 3),
    "n  # why": 3,
    "Plain.__name__, helper.__name__": ("Plain", "helper"),
    "loop is loop[0]": True,
    "plain.__class__ is Plain": True,
    "[] == [], {} == {}, (1, [2]) == (1, [2])": (True, True, True),
    "...": ...,
}
SHOWN["day.year, moment.hour, day < date"] = TypeError


@pytest.mark.parametrize(("text", "expected"), SHOWN.items())
def test_what_is_shown(scope: Scope, text: str, expected: Any) -> None:
    if expected is TypeError:
        with pytest.raises((TypeError, Refused)):
            look(text, scope)
    else:
        found = look(text, scope)
        assert found == expected
        assert type(found) is type(expected)
    assert scope["ran"] == []


REFUSED = {
    "helper()": "would call `helper`",
    "proc('x')": "would call the procedure `proc`",
    "<proc(x)>": "would call the procedure `proc`",
    "= <asks(cats)>": "would call the procedure `asks`",
    "Plain()": "would make a `Plain`",
    "plain.method()": "would call `plain.method`",
    "plain.total": "`total` of `Plain` is a property, whose code would run",
    "plain.cached": "`cached` of `Plain` is computed by a `cached_property`, whose code would run",
    "getting.anything": "`Getting` has no attribute `anything`, and its `__getattr__` would run",
    "reading.own": "reading an attribute of a `Reading` runs its code",
    "evil == 1": "comparing an `Evil` may run its code",
    "[evil] == [evil]": "comparing an `Evil` may run its code",
    "evil + 1": "computing with an `Evil` may run its code",
    "-evil": "computing with an `Evil` may run its code",
    "not evil": "the truth of an `Evil` is found by its code",
    "1 if evil else 2": "the truth of an `Evil` is found by its code",
    "evil and 1": "the truth of an `Evil` is found by its code",
    "len(evil)": "the length of an `Evil` is found by its code",
    "[v for v in evil]": "going through an `Evil` runs its code",
    "[*evil]": "going through an `Evil` runs its code",
    "evil[0]": "reading an item of an `Evil` runs its code",
    "items[evil]": "using as an index an `Evil` may run its code",
    "table[evil]": "hashing an `Evil` may run its code",
    "{evil}": "hashing an `Evil` may run its code",
    "{evil: 1}": "hashing an `Evil` may run its code",
    "1 in evil": "going through an `Evil` runs its code",
    "evil in items": "comparing an `Evil` may run its code",
    "f'{evil}'": "writing an `Evil` may run its code",
    "str(evil)": "writing an `Evil` may run its code",
    "repr([evil])": "writing an `Evil` may run its code",
    "= <evil>": "writing an `Evil` may run its code",
    "evil()": "would call `evil`",
    "sorted([evil, evil])": "comparing an `Evil` may run its code",
    "keyed['a']": "looking a key up may run code of a `Key` in it",
    "'a' in keyed": "looking a key up may run code of a `Key` in it",
    "changed[0]": "reading an item of a `Changed` runs its code",
    "[v for v in changed]": "going through a `Changed` runs its code",
    "len(changed)": "the length of a `Changed` is found by its code",
    "making['zz']": "a `Making` makes a value for a key that is missing",
    "default['zz']": "a `defaultdict` makes a value for a key that is missing",
    "list(gen)": "going through a `generator` runs its code",
    "[v for v in gen]": "going through a `generator` runs its code",
    "sorted(items, key=helper)": "gives `sorted` the argument `key`",
    "(m := 1)": "would write a name",
    "lambda: 1": "makes a function",
    "10**10**10": "would make a number of more than 20,000 bits",
    "2 << 10**9": "would make a number of more than 20,000 bits",
    "'a' * 10**12": "would make a str of 1,000,000,000,000 elements, more than 1,000,000",
    "10**12 * [1]": "would make a list of 1,000,000,000,000 elements, more than 1,000,000",
    "huge + huge": "would make a value of 1,800,000 elements, more than 1,000,000",
    "list(range(10**9))": "would make a list of 1,000,000,000 elements, more than 1,000,000",
    "[1 for v in range(10**9)]": "would make a list of 1,000,000,000 elements, more than 1,000,000",
    "[a for a in range(9999) for b in range(9999)]": "would take too many steps",
    "f'{n:>999999999}'": "would make a text of more than 10,000 characters",
    "'%999999999d' % n": "would make a text of more than 10,000 characters",
    "'%*d' % (9999999, n)": "would make a text of more than 10,000 characters",
    "round(5, -10**9)": "rounds to more than 1,000 digits",
    "int('9' * 100_000)": "reads a number of more than 5,000 digits",
    "loop == loop": "would take too many steps",
    "repr(loop)": "would take too many steps",
    "shared == shared": "would take too many steps",
    "exec('n = 1')": "would call `exec`",
    "eval('n')": "would call `eval`",
    "open('/etc/passwd')": "would call `open`",
    "__import__('os')": "would call `__import__`",
    "print(1)": "would call `print`",
    "input()": "would call `input`",
    "items.append(1)": "would call `items.append`",
    "items.sort()": "would call `items.sort`",
    "table.pop('a')": "would call `table.pop`",
    "table.setdefault('q', 1)": "would call `table.setdefault`",
    "'{0.__class__}'.format(n)": "would call `'{0.__class__}'.format`",
    "type('X', (), {})": None,
    "`helper()`": "would call `helper`",
    ">> say [x]": "is a template, which calls the model",
    "n = 5": "is a Python statement, which may write",
    "import os": "is a Python statement, which may write",
    "[n] := `5`": "is a statement, which may write",
    "[n] = 5": "is a statement, which may write",
    "= ```\nreturn 1\n```": "would run a block of Python",
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.items())
def test_what_is_refused(scope: Scope, text: str, reason: str | None) -> None:
    before = dict(dict.items(scope))
    with pytest.raises((Refused, TypeError)) as caught:
        look(text, scope)
    if reason is not None:
        assert isinstance(caught.value, Refused)
        assert caught.value.reason == reason
    assert scope["ran"] == []
    after = dict(dict.items(scope))
    assert list(before) == list(after)
    assert all(after[name] is value for name, value in before.items())
    assert scope["items"] == [1, 2, 3]
    assert "zz" not in scope["default"]


RAISED = {
    "missing": (NameError, "name 'missing' is not defined"),
    "table['zz']": (KeyError, "'zz'"),
    "items[9]": (IndexError, "list index out of range"),
    "n.nothing": (AttributeError, "'int' object has no attribute 'nothing'"),
    "plain.nothing": (AttributeError, "'Plain' object has no attribute 'nothing'"),
    "slots.b": (AttributeError, "'Slots' object has no attribute 'b'"),
    "1 / 0": (ZeroDivisionError, "division by zero"),
    "n + s": (TypeError, "unsupported operand"),
    "n[0]": (TypeError, "'int' object is not subscriptable"),
    "len(n)": (TypeError, "object of type 'int' has no len()"),
    "int('x')": (ValueError, "invalid literal"),
    "[a for a, b in [(1,)]]": (ValueError, "cannot unpack 1 values into 2 names"),
    "{[]: 1}": (TypeError, "unhashable type"),
    "x y": (kedi.KediParseError, "Python: invalid syntax"),
}


@pytest.mark.parametrize(("text", "expected"), RAISED.items())
def test_what_is_wrong_is_said(scope: Scope, text: str, expected: tuple[type, str]) -> None:
    kind, said = expected
    with pytest.raises(kind) as caught:
        look(text, scope)
    assert said in str(caught.value)


def test_deep_values_and_texts_end(scope: Scope) -> None:
    for text in ("deep == deep", "repr(deep)", "(" * 150 + "n" + ")" * 150, "-" * 5_000 + "n"):
        try:
            look(text, scope)
        except (Refused, kedi.KediParseError):
            pass


def test_looking_reads_enclosing_scopes_and_variables(scope: Scope) -> None:
    inner = new_scope(new_scope(scope, "procedure"), "loop")
    dict_set(inner, "n", 9)
    assert look("n, s", inner) == (9, "text")
    assert look("n, extra", inner, {"n": 1, "extra": 2}) == (1, 2)


def test_promises_are_not_waited_for(session: InteractiveSession) -> None:
    own = session._scope
    promise: KediPromise[Any] = KediPromise("answer")
    own.pending = {"answer": promise}
    with pytest.raises(Refused, match="`answer` is still being computed by the model"):
        look("answer", own)
    with pytest.raises(Refused, match="still being computed"):
        look("= <answer>", own)
    promise.fulfil("yes")
    assert look("answer", own) == "yes"
    assert own.pending == {"answer": promise}
    failed: KediPromise[Any] = KediPromise("answer")
    failed.fail(ValueError("x"))
    own.pending = {"answer": failed}
    with pytest.raises(Refused, match="its model call failed"):
        look("answer", own)
    own.pending = None


def test_builtins_that_the_program_replaced_are_not_called(session: InteractiveSession) -> None:
    session.execute("```\nran = []\ndef len(x): ran.append(x); return 0\n```")
    with pytest.raises(Refused, match="would call `len`"):
        look("len('a')", session._scope)
    assert session._scope["ran"] == []


def test_containers_that_others_change_do_not_break_looking(session: InteractiveSession) -> None:
    session.execute("```\nbusy = {str(k): k for k in range(1000)}\n```")
    busy, done = session._scope["busy"], threading.Event()

    def change() -> None:
        count = 0
        while not done.is_set():
            count += 1
            busy[f"new {count % 500}"] = count
            busy.pop(f"new {(count - 250) % 500}", None)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(50):
            for text in ("busy['7']", "len(busy)", "sum(busy.values()) > 0", "busy == busy"):
                try:
                    look(text, session._scope)
                except (Refused, RuntimeError):
                    pass
    finally:
        done.set()
        thread.join()


# ── random expressions over hostile objects ──────────────────────────────────

_NAMES = (*(f"t_{name.replace(' ', '_')}" for name in TRAPS), "number", "word", "row", "map_")


def _hostile() -> Scope:
    scope = new_scope(None, "session")
    for name, make in TRAPS.items():
        dict_set(scope, f"t_{name.replace(' ', '_')}", make())
    plain = {"number": 3, "word": "ab", "row": [1, TRAPS["trap"]()], "map_": {"a": TRAPS["dict"]()}}
    for name, value in plain.items():
        dict_set(scope, name, value)
    return scope


_atoms = st.sampled_from(
    [
        *_NAMES,
        "0",
        "1",
        "-1",
        "'a'",
        "None",
        "True",
        "()",
        "[]",
        "{}",
        "1.5",
        "int",
        "str",
        "object",
    ]
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def build(pattern: str) -> st.SearchStrategy[str]:
        count = pattern.count("§")
        return st.lists(inner, min_size=count, max_size=count).map(
            lambda parts: _filled(pattern, parts)
        )

    return st.sampled_from(_PATTERNS).flatmap(build)


def _filled(pattern: str, parts: list[str]) -> str:
    for part in parts:
        pattern = pattern.replace("§", f"({part})", 1)
    return pattern


_PATTERNS = (
    *("§ + §", "§ - §", "§ * §", "§ / §", "§ // §", "§ % §", "§ ** §", "§ @ §", "§ << §", "§ | §"),
    *("§ == §", "§ != §", "§ < §", "§ >= §", "§ in §", "§ not in §", "§ is §", "§ and §", "§ or §"),
    *("not §", "-§", "~§", "§ if § else §", "§[§]", "§[§:§]", "§.attribute", "§.stored", "§.own"),
    *("§.value", "§.__class__", "§.__dict__", "§.__len__", "§.a", "§.method", "§.computed"),
    *("[§, §]", "(§,)", "{§}", "{§: §}", "[*§]", "{**§}", "f'{§}'", "f'{§!r}'", "f'{§:{§}}'"),
    *("[v for v in §]", "{v for v in § if §}", "{v: § for v in §}", "sum(§)", "len(§)", "str(§)"),
    *("repr(§)", "bool(§)", "int(§)", "float(§)", "list(§)", "dict(§)", "set(§)", "sorted(§)"),
    *("min(§, §)", "max(§)", "any(§)", "all(§)", "type(§)", "isinstance(§, §)", "abs(§)"),
    *("round(§, §)", "zip(§, §)", "enumerate(§)", "reversed(§)", "callable(§)", "id(§)", "§(§)"),
    *("§.get(§)", "§.items()", "§.keys()", "§.upper()", "§.count(§)", "§.split(§)", "§.index(§)"),
    *("'%s' % §", "range(§)", "tuple(§)", "hash(§)", "ascii(§)", "divmod(§, §)", "§.startswith(§)"),
)


@settings(max_examples=400)
@given(st.recursive(_atoms, _grown, max_leaves=8))
def test_nothing_of_a_user_ever_runs(text: str) -> None:
    scope = _hostile()
    before = {name: id(value) for name, value in dict.items(scope)}
    try:
        look(text, scope, steps=20_000)
    except Exception:
        pass  # Refusals and Python's own errors; a trap that was touched is none of them.
    assert {name: id(value) for name, value in dict.items(scope)} == before
