"""What a model call is told: directives, their scopes, captures and precedence."""

from __future__ import annotations

from typing import Any

import pytest

import kedi
from kedi.agent_adapter import AdapterCapabilities
from kedi.errors import KediCompileError, KediParseError, KediValueExecutionError


class Recorder:
    """A third party's adapter that notes what each call is told."""

    kind = "agent-framework"
    shortname = "recorder"
    capabilities = AdapterCapabilities(
        supports_structured_output=True,
        supports_model_override=True,
        supports_effort=True,
        supports_settings=True,
        supports_profile=True,
    )

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def _note(self, prompt: str, told: dict[str, Any]) -> None:
        kept = {name: told.get(name) for name in ("model", "effort", "system", "settings")}
        self.calls.append((prompt, {name: value for name, value in kept.items() if value}))

    def produce_sync(
        self, *, template: str, output_schema: dict[str, Any], **told: Any
    ) -> dict[str, Any]:
        self._note(template, told)
        return dict.fromkeys(output_schema, "x")

    async def produce(self, *, template: str, output_schema: dict[str, Any], **told: Any) -> Any:
        return self.produce_sync(template=template, output_schema=output_schema, **told)

    def invoke_sync(self, *, prompt: str, **told: Any) -> str:
        self._note(prompt, told)
        return "x"

    async def invoke(self, *, prompt: str, **told: Any) -> str:
        return self.invoke_sync(prompt=prompt, **told)


def calls(*fragments: str, **config: Any) -> list[tuple[str, dict[str, Any]]]:
    """``(prompt, what was told)`` of every call that the fragments make."""
    recorder = Recorder()
    with kedi.interactive(adapter=recorder, **config) as session:
        for fragment in fragments:
            session.execute(fragment)
    return recorder.calls


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        pytest.param(
            [">> a [x]\n> model: m1\n>> b [x]\n> effort: high\n> model: m2\n>> c [x]", ">> d [x]"],
            [
                ("a [x]", {}),
                ("b [x]", {"model": "m1"}),
                ("c [x]", {"model": "m2", "effort": "high"}),
                ("d [x]", {"model": "m2", "effort": "high"}),
            ],
            id="directives_hold_from_where_they_stand",
        ),
        pytest.param(
            [
                (
                    "> model: first\n@f() -> str:\n  >> F [x]\n  = <x>\n> model: second\n"
                    "@g() -> str:\n  >> G [x]\n  = <x>"
                ),
                "> model: third\n[a] = <f()>\n[b] = <g()>\n>> top [x]",
            ],
            [
                ("F [x]", {"model": "first"}),
                ("G [x]", {"model": "second"}),
                ("top [x]", {"model": "third"}),
            ],
            id="procedures_capture_what_stands_before_them",
        ),
        pytest.param(
            [
                (
                    "> model: outer\n@f() -> str:\n  > effort: low\n  >> F [x]\n  > if: `True`:\n"
                    "    > model: branch\n    >> B [x]\n  >> after [x]\n  = <x>\n"
                    "[a] = <f()>\n>> top [x]"
                )
            ],
            [
                ("F [x]", {"model": "outer", "effort": "low"}),
                ("B [x]", {"model": "branch", "effort": "low"}),
                ("after [x]", {"model": "outer", "effort": "low"}),
                ("top [x]", {"model": "outer"}),
            ],
            id="inner_ones_last_until_their_block_ends",
        ),
        pytest.param(
            [
                (
                    "@f() -> str:\n  >> F [x]\n  = <x>\n"
                    "@g() -> str:\n  > model: gm\n  [r] = <f()>\n  >> G [x]\n  = <r>\n[z] = <g()>"
                )
            ],
            [("F [x]", {}), ("G [x]", {"model": "gm"})],
            id="a_caller_does_not_configure_what_it_calls",
        ),
        pytest.param(
            [
                (
                    "@o() -> str:\n  > model: one\n  @i() -> str:\n    >> I [x]\n    = <x>\n"
                    "  > model: two\n  [a] = <i()>\n  >> O [x]\n  = <x>\n[z] = <o()>"
                )
            ],
            [("I [x]", {"model": "one"}), ("O [x]", {"model": "two"})],
            id="nested_procedures_capture_too",
        ),
        pytest.param(
            [
                (
                    "> loop [i]: `range(2)`:\n  >> before [x]\n  > model: `f'm{i}'`\n  >> in [x]\n"
                    ">> after [x]"
                )
            ],
            [
                ("before [x]", {}),
                ("in [x]", {"model": "m0"}),
                ("before [x]", {}),
                ("in [x]", {"model": "m1"}),
                ("after [x]", {}),
            ],
            id="each_iteration_begins_without_them",
        ),
        pytest.param(
            [
                (
                    "> settings:\n    temperature: 0.2\n    timeout: 30\n"
                    "@f() -> str:\n  > settings:\n      timeout: 120\n"
                    "      stop_sequences: `['E']`\n  >> F [x]\n  = <x>\n[z] = <f()>\n>> top [x]"
                )
            ],
            [
                (
                    "F [x]",
                    {"settings": {"temperature": 0.2, "timeout": 120, "stop_sequences": ["E"]}},
                ),
                ("top [x]", {"settings": {"temperature": 0.2, "timeout": 30}}),
            ],
            id="settings_merge_by_key",
        ),
        pytest.param(
            [
                (
                    "> profile: p:\n    > model: pm\n    > effort: medium\n    > system: Cite.\n"
                    "    > settings:\n        temperature: 0.1\n"
                ),
                ">> a [x]\n> use: p\n>> b [x]\n> effort: high\n>> c [x]",
                "@f() -> str:\n  >> F [x]\n  = <x>\n[z] = <f()>",
            ],
            [
                ("a [x]", {}),
                (
                    "b [x]",
                    {
                        "model": "pm",
                        "effort": "medium",
                        "system": "Cite.",
                        "settings": {"temperature": 0.1},
                    },
                ),
                (
                    "c [x]",
                    {
                        "model": "pm",
                        "effort": "high",
                        "system": "Cite.",
                        "settings": {"temperature": 0.1},
                    },
                ),
                (
                    "F [x]",
                    {
                        "model": "pm",
                        "effort": "high",
                        "system": "Cite.",
                        "settings": {"temperature": 0.1},
                    },
                ),
            ],
            id="profiles_apply_and_are_captured",
        ),
        pytest.param(
            [
                "> profile: p:\n    > model: pm\n    > effort: medium\n",
                "> effort: max\n> use: p\n>> a [x]",
            ],
            [("a [x]", {"model": "pm", "effort": "max"})],
            id="direct_directives_win_over_profiles_in_any_order",
        ),
        pytest.param(
            [
                "> profile: p:\n    > model: one\n> profile: q:\n    > use: p\n    > effort: low\n",
                "> use: q\n>> a [x]\n> profile: p:\n    > model: two\n>> b [x]\n> use: q\n>> c [x]",
            ],
            [
                ("a [x]", {"model": "one", "effort": "low"}),
                ("b [x]", {"model": "one", "effort": "low"}),
                ("c [x]", {"model": "two", "effort": "low"}),
            ],
            id="profiles_use_profiles",
        ),
        pytest.param(
            [
                (
                    "[m] = one\n> profile: p:\n    > model: `m`\n"
                    "@f() -> str:\n  [m] = inner\n  > use: p\n  >> F [x]\n  = <x>\n"
                    "[m] := two\n[z] = <f()>"
                )
            ],
            [("F [x]", {"model": "two"})],
            id="members_are_evaluated_when_used_with_the_names_of_their_place",
        ),
        pytest.param(
            [
                (
                    "[who] = devs\n> system:\n    Act for <who>.\n    Mode <`1 + 1`>.\n>> a [x]\n"
                    "[who] := ops\n>> b [x]\n> system: Be <who>, `who`.\n>> c [x]\n"
                    "> system: 42\n>> d [x]"
                )
            ],
            [
                ("a [x]", {"system": "Act for devs.\nMode 2."}),
                ("b [x]", {"system": "Act for devs.\nMode 2."}),
                ("c [x]", {"system": "Be ops, ops."}),
                ("d [x]", {"system": "42"}),
            ],
            id="instructions_are_rendered_where_they_stand",
        ),
        pytest.param(
            ["> model: 4\n>> a [x]\n> model: nan\n[y] << raw"],
            [("a [x]", {"model": "4"}), ("raw", {"model": "nan"})],
            id="names_of_models_are_text",
        ),
    ],
)
def test_calls_are_told(fragments: list[str], expected: list[tuple[str, dict[str, Any]]]) -> None:
    assert calls(*fragments) == expected


def test_directives_win_over_the_configuration() -> None:
    configured = {"model": "cm", "effort": "low", "system": "S", "settings": {"timeout": 1}}
    told = calls(
        ">> a [x]\n@f() -> str:\n  > model: dm\n  > settings:\n      top_p: 0.5\n"
        "  >> b [x]\n  = <x>\n[z] = <f()>\n>> c [x]",
        **configured,
    )
    inner = {**configured, "model": "dm", "settings": {"timeout": 1, "top_p": 0.5}}
    assert told == [("a [x]", configured), ("b [x]", inner), ("c [x]", configured)]


def test_a_failure_restores_what_was_outside() -> None:
    recorder = Recorder()
    with kedi.interactive(adapter=recorder) as session:
        session.execute("> model: outer\n@f() -> str:\n  > model: inner\n  `1 / 0`\n  = x")
        with pytest.raises(kedi.errors.KediExecutionError):
            session.execute("[z] = <f()>")
        session.execute(">> t [x]")
    assert recorder.calls == [("t [x]", {"model": "outer"})]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("none", None),
        ("3", 3),
        ("-4", -4),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("auto", "auto"),
        ("two words", "two words"),
        ("1_000", "1_000"),
        ("nan", "nan"),
        ("1.2.3", "1.2.3"),
        ("٣", "٣"),
        ("`[1, None]`", [1, None]),
        ("`'3'`", "3"),
    ],
)
def test_plain_settings_are_scalars(text: str, value: Any) -> None:
    ((_, told),) = calls(f"> settings:\n    tool_choice: {text}\n>> a [x]")
    got = told["settings"]["tool_choice"]
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("> modle: x", KediParseError, "did you mean `> model:`"),
        ("> settings:\n    temprature: 1", KediParseError, "temperature"),
        ("> effort: extreme", KediCompileError, "minimal"),
        ("> effort: `'extreme'`", KediValueExecutionError, "minimal"),
        ("> model: `5`", KediValueExecutionError, "model"),
        ("> adapter: nope", KediCompileError, "nope"),
        ("> adapter: codex", KediCompileError, "> agent: codex"),
        ("> agent: pydantic", KediCompileError, "> adapter: pydantic"),
        ("> adapter: pydantic\n> agent: codex", KediCompileError, "exclude"),
        ("> use: nothing", KediCompileError, "nothing"),
        ("[v] = text\n> use: v", KediCompileError, "`v`"),
        ("> output: str", KediParseError, "profile"),
    ],
)
def test_bad_directives_are_refused(source: str, error: type[Exception], message: str) -> None:
    with kedi.interactive(adapter=Recorder()) as session, pytest.raises(error) as caught:
        session.execute(source)
    assert message in str(caught.value)


def test_docstrings_of_profiles() -> None:
    with kedi.interactive() as session:
        profile = session.execute(
            "> profile: p:\n    ###\n    Reviews.\n\n      More.\n    ###\n    > model: m\n= `p`"
        )
        assert profile.docstring == "Reviews.\n\n  More."
        assert repr(profile) == "<profile p>"
