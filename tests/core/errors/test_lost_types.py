"""An error whose original exception cannot be pickled is still shown under its type's name."""

from __future__ import annotations

import pickle

import pytest

import kedi
from kedi.errors import KediExecutionError, OriginalError

# Classes of a function cannot be found by name, so pickle refuses their instances.
LOCAL = "def make():\n    class E(Exception): pass\n    return E\nE = make()"
FALSE = (
    "def make():\n    class E(Exception):\n        def __bool__(self): return False\n"
    "    return E\nE = make()"
)


@pytest.mark.parametrize(
    ("prelude", "statement", "shown"),
    [
        (LOCAL, "raise E(1)", "E: 1"),
        (LOCAL, "raise E()", "E"),
        (FALSE, "raise E(1)", "E: 1"),
        (LOCAL, "raise ValueError(E)", "ValueError: "),
        (LOCAL, "raise ValueError(lambda: 1)", "ValueError: "),
        (LOCAL, "raise ExceptionGroup('both', [E(1), KeyError(2)])", "ExceptionGroup: both"),
    ],
)
def test_type_name_survives(prelude: str, statement: str, shown: str) -> None:
    with kedi.interactive() as session:
        session.execute(f"```\n{prelude}\n```")
        with pytest.raises(KediExecutionError) as caught:
            session.execute(f"```\n{statement}\n```")
    error = caught.value
    assert any(line.startswith(shown) for line in error.render().splitlines())
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again.original, OriginalError)
    assert again.original.type_name == type(error.original).__name__
    assert again.render() == error.render()
    assert pickle.loads(pickle.dumps(again)).render(use_color=True) == error.render(use_color=True)
