"""Causes, contexts, groups and notes: kept, pickled and shown."""

from __future__ import annotations

import pytest

from kedi.errors import Cause, KediExecutionError
from tests.core.errors.support import fails


def lines_after(error: KediExecutionError, start: str) -> list[str]:
    lines = error.render().splitlines()
    return lines[lines.index(start) + 1 :]


def test_an_explicit_cause() -> None:
    error = fails(
        "```\ndef load():\n    try:\n        {}['k']\n    except KeyError as e:\n"
        "        raise ValueError('bad config') from e\n```",
        "= `load()`",
    )
    (cause,) = error.causes
    assert (cause.relation, cause.type_name, cause.message, cause.depth) == (
        "cause", "KeyError", "'k'", 0
    )  # fmt: skip
    assert cause.span is not None
    assert (cause.span.source_name, cause.span.line, cause.span.column) == ("<interactive:1>", 4, 9)
    assert lines_after(error, "ValueError: bad config") == [
        "  caused by KeyError: 'k' (<interactive:1>, line 4)"
    ]


def test_an_implicit_context() -> None:
    error = fails("```\ntry:\n    {}['k']\nexcept KeyError:\n    1 / 0\n```")
    assert lines_after(error, "ZeroDivisionError: division by zero") == [
        "  while handling KeyError: 'k' (<interactive:1>, line 3)"
    ]


def test_a_suppressed_context() -> None:
    error = fails(
        "```\ntry:\n    {}['k']\nexcept KeyError:\n    raise ValueError('x') from None\n```"
    )
    assert error.causes == ()


def test_chains_and_cycles() -> None:
    error = fails(
        "```\na, b, c = ValueError('a'), KeyError('b'), OSError('c')\na.__cause__ = b\n"
        "b.__context__ = c\nc.__cause__ = a\nraise a\n```"
    )
    assert [(item.relation, item.type_name) for item in error.causes] == [
        ("cause", "KeyError"),
        ("context", "OSError"),
    ]


def test_very_long_chains_are_cut() -> None:
    error = fails(
        "```\nerror = ValueError(0)\nfor i in range(1, 500):\n"
        "    error.__cause__, before = None, error\n"
        "    error = ValueError(i)\n    error.__cause__ = before\nraise error\n```"
    )
    assert len(error.causes) <= 1
    deep = fails(
        "```\nerror = first = ValueError(0)\nfor i in range(1, 500):\n    after = ValueError(i)\n"
        "    error.__cause__ = after\n    error = after\nraise first\n```"
    )
    assert len(deep.causes) == 21
    assert "more exceptions" in deep.causes[-1].message


def test_groups() -> None:
    error = fails(
        "```\nraise ExceptionGroup('several', [ValueError('a'),\n"
        "    ExceptionGroup('inner', [KeyError('b'), OSError(2, 'no file')]), TypeError()])\n```"
    )
    assert isinstance(error.original, ExceptionGroup)
    assert lines_after(error, "ExceptionGroup: several (3 sub-exceptions)") == [
        "  - ValueError: a",
        "  - ExceptionGroup: inner (2 sub-exceptions)",
        "    - KeyError: 'b'",
        "    - FileNotFoundError: [Errno 2] no file",
        "  - TypeError",
    ]


def test_a_group_from_a_task_group() -> None:
    error = fails(
        "```\nimport asyncio\nasync def fail(n):\n    raise ValueError(n)\nasync def main():\n"
        "    async with asyncio.TaskGroup() as group:\n        group.create_task(fail(1))\n"
        "        group.create_task(fail(2))\nasyncio.run(main())\n```"
    )
    members = [item for item in error.causes if item.relation == "member"]
    assert [item.message for item in members] == ["1", "2"]
    assert all(item.span is not None and item.span.line == 4 for item in members)


def test_members_have_causes_of_their_own() -> None:
    error = fails(
        "```\ntry:\n    {}['k']\nexcept KeyError as k:\n    e = ValueError('v')\n"
        "    e.__cause__ = k\n"
        "raise ExceptionGroup('g', [e, TypeError('t')])\n```"
    )
    assert [(item.relation, item.type_name, item.depth) for item in error.causes] == [
        ("member", "ValueError", 0),
        ("cause", "KeyError", 1),
        ("member", "TypeError", 0),
    ]


def test_wide_groups_are_cut() -> None:
    error = fails("```\nraise ExceptionGroup('many', [ValueError(i) for i in range(1000)])\n```")
    assert len(error.render().splitlines()) < 40


def test_except_star_in_the_program() -> None:
    error = fails(
        "```\ntry:\n    raise ExceptionGroup('g', [ValueError('v'), KeyError('k')])\n"
        "except* ValueError:\n    pass\n```"
    )
    assert isinstance(error.original, ExceptionGroup)
    assert [item.type_name for item in error.causes if item.relation == "member"] == ["KeyError"]


def test_a_group_of_exits_passes_unchanged() -> None:
    import kedi

    with kedi.interactive() as session:
        with pytest.raises(BaseExceptionGroup) as caught:
            session.execute("```\nraise BaseExceptionGroup('g', [KeyboardInterrupt()])\n```")
        assert not isinstance(caught.value, KediExecutionError)
        assert session.execute("= ok") == "ok"


def test_notes_of_the_original_and_of_the_host() -> None:
    error = fails("```\ne = ValueError('x')\ne.add_note('look\\nhere')\nraise e\n```")
    error.add_note("from the host")
    assert error.__notes__ == ["look\nhere", "from the host"]
    assert lines_after(error, "ValueError: x") == ["look", "here", "from the host"]


def test_broken_notes() -> None:
    for notes in ("3", "'text'", "[1, None]"):
        error = fails(f"```\ne = ValueError('x')\ne.__notes__ = {notes}\nraise e\n```")
        assert "ValueError: x" in error.render()


def test_the_cause_of_kedis_own_error_is_its_adapter() -> None:
    from kedi.agents.adapters.scripted import ScriptedAdapter

    def model(prompt: str) -> str:
        try:
            raise ConnectionError("refused")
        except ConnectionError as error:
            raise TimeoutError("no answer") from error

    error = fails(">> Some [a].", adapter=ScriptedAdapter(model))
    assert isinstance(error.original, TimeoutError)
    assert [(item.relation, item.type_name) for item in error.causes] == [
        ("cause", "ConnectionError")
    ]


def test_a_cause_is_plain_data() -> None:
    assert Cause("cause", "ValueError", "x") == Cause("cause", "ValueError", "x", None, 0)
