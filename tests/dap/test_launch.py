from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dap.client import DapClient, Refused

Program = Callable[..., Path]


def test_a_program_runs_and_its_output_comes_in_order(dap: DapClient, program: Program) -> None:
    path = program(
        "```\nimport sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three')\n```\n\n= `4`\n"
    )
    dap.launch(path)
    assert dap.wait_end() == 0
    assert dap.output() == "one\ntwo\nthree\n4\n"
    assert dap.output("stderr") == "two\n"


def test_a_program_that_is_not_there(dap: DapClient, tmp_path: Path) -> None:
    dap.initialize()
    with pytest.raises(Refused, match="there is no file"):
        dap.request("launch", program=str(tmp_path / "none.kedi"))
