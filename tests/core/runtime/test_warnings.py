"""What Python warns of in embedded code is said once, at its file and line, when it is run."""

from __future__ import annotations

import threading
import warnings

import pytest

import kedi
from kedi.errors import KediParseError
from kedi.syntax import parse
from kedi.syntax.embedded import compile_simple, may_warn

CASES = [
    ("= `1and 2`", 1, "invalid decimal literal"),
    ('= `"a" is 5`', 1, '"is" with'),
    ("[x] = a\n= `x is 5`", 2, '"is" with'),
    ('```\nx = "\\d"\n```', 2, "invalid escape sequence"),
    ("@f():\n  ```\n\n  x = '\\d'\n  ```\n  = x", 4, "invalid escape sequence"),
    ("= ```\nif 0:\n    assert (1, 'a')\nreturn 's'\n```", 3, "assertion is always true"),
    ("= <`[1][1,2] if 0 else 2`>", 1, "list indices must be integers"),
    ("= <`1(2) if 0 else 2`>", 1, "'int' object is not callable"),
    ("= <`(1, 2)(3) if 0 else 2`>", 1, "'tuple' object is not callable"),
    ("= <`[0,\n  'x' is 1]`>", 2, '"is" with'),
    ("[x: `int if 1 is 1 else str`] = `5`", 1, '"is" with'),
    ("[s] = a\n```\nfor i in []:\n    s = i is 5\n```", 4, '"is" with'),
    ("[n] = `1`\n```\nglobal n\nn = 2 if n is 1 else 3\n```", 4, '"is" with'),
]


@pytest.mark.parametrize(("source", "line", "message"), CASES)
def test_each_warning_comes_once_when_it_runs(source: str, line: int, message: str) -> None:
    with kedi.interactive() as session:
        with warnings.catch_warnings(record=True) as early:
            warnings.simplefilter("always")
            assert parse(source).status == "complete"
            assert session.check(source).status == "complete"
        assert [str(item.message) for item in early] == []
        with warnings.catch_warnings(record=True) as late:
            warnings.simplefilter("always")
            session.execute(source)
    assert [(item.filename, item.lineno) for item in late] == [("<interactive:1>", line)]
    assert str(late[0].message).startswith(message)


@pytest.mark.filterwarnings("error")
def test_a_filter_makes_an_error_of_it() -> None:
    with kedi.interactive() as session:
        with pytest.raises(KediParseError) as caught:
            session.execute("[x] = a\n= `x is 5`")
        assert caught.value.span[:2] == ("<interactive:1>", 2)
        assert session.execute("= `[1, 2][0] is not None`") is True


@pytest.mark.parametrize(
    "code",
    ["1and x", "0x1for x", "1.5if x else y", "(1, 2)(3)", "[1][1, 2]", "{1}[0]", "{}(x)", "1[0]"],
)
def test_what_python_warns_of_is_not_simple(code: str) -> None:
    assert may_warn(code)
    assert compile_simple(f"= `{code}`", code, 3) is None


@pytest.mark.parametrize("code", ["f(a)[0]", "d[a][b]", "f(a)(b)", "x1(y)", "x.y1[0]", "a + 1"])
def test_what_it_never_warns_of_stays_simple(code: str) -> None:
    assert not may_warn(code)
    assert compile_simple(f"= `{code}`", code, 3) is not None


def test_filters_of_other_threads_stay_as_they_are() -> None:
    stop = threading.Event()

    def check() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            parse(f"= `{number} is x`")

    thread = threading.Thread(target=check)
    thread.start()
    try:
        for _ in range(200):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                warnings.warn("mine", UserWarning, stacklevel=1)
            assert [str(item.message) for item in seen] == ["mine"]
    finally:
        stop.set()
        thread.join()
