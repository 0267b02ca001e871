"""Every conformance case is one test; the cases themselves are checked too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import all_cases, load, run, same

CASES = list(all_cases())


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES])
def test_case(case: dict[str, Any]) -> None:
    problems = run(case)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[case]]\nname='a'\nfragments=['= x']\nreslt='1'\n", "unknown keys"),
        ("[[case]]\nname='a'\nfragments=['= x']\n", "expects nothing"),
        ("[[case]]\nname='a'\nfragments=['= x']\nresult='1'\nline=1\n", "does not expect"),
        ("[[case]]\nname='a'\nresult='1'\n", "nothing to run"),
        ("[[case]]\nname='a'\nfragments=['= x']\nresult='1'\n" * 2, "taken"),
    ],
)
def test_a_faulty_case_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=reason):
        load(path)


def test_equality_minds_types() -> None:
    assert same(1, 1)
    assert not same(1, True)
    assert not same(1, 1.0)


@pytest.mark.parametrize(
    ("case", "finding"),
    [
        ({"result": "41"}, "expected the last"),
        ({"results": ["42", "42"]}, "results"),
        ({"error": "KediError"}, "no error"),
        ({"after": {"x": "2"}}, "afterwards x"),
        ({"stdout": "y"}, "stdout"),
        ({"prompts": ["p"]}, "prompts"),
        ({"fields": [["f"]]}, "fields"),
    ],
)
def test_a_wrong_expectation_is_found(case: dict[str, Any], finding: str) -> None:
    problems = run({"fragments": ["[x: int] = `1`\n= `x + 41`"], **case})
    assert len(problems) == 1
    assert finding in problems[0]


@pytest.mark.parametrize(
    ("expected", "finding"),
    [
        ({"error": "KeyError"}, "expected KeyError"),
        ({"error": "KediExecutionError", "contains": ["absent"]}, "lacks 'absent'"),
        ({"error": "KediExecutionError", "line": 3}, "at line 1"),
        ({"error": "KediExecutionError", "fragment": "x"}, "error in '<interactive:1>'"),
        ({"result": "1"}, "raised"),
    ],
)
def test_a_wrong_error_is_found(expected: dict[str, Any], finding: str) -> None:
    problems = run({"fragments": ["= `1 / 0`"], **expected})
    assert len(problems) == 1
    assert finding in problems[0]
