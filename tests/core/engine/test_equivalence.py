"""Random programs give the same with every engine: results, errors, prompts, output, bindings."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedi.agents.adapters.scripted import ScriptedAdapter
from kedi.errors import KediCompileError, KediExecutionError
from tests.core.engine.support import answer, session

NAMES = ["a", "b", "c", "d"]
#: Bound before every program, so that most reads succeed.
BEFORE = "\n".join(f"[{name}] = {name}0" for name in NAMES) + "\n[xs: list[str]] = `[]`"

names = st.sampled_from(NAMES)
words = st.sampled_from(["one", "two", "three", "FAIL"])


def indented(block: list[str]) -> list[str]:
    return ["  " + line for line in block]


@st.composite
def prompts(draw: st.DrawFn) -> str:
    parts = draw(
        st.lists(
            st.one_of(
                st.sampled_from(["one", "two", "three"]),
                names.map(lambda name: f"<{name}>"),
                names.map(lambda name: f"<`{name}[:3]`>"),
                st.just("<xs>"),
                st.just("FAIL") if draw(st.integers(0, 9)) == 0 else st.just("four"),
            ),
            min_size=1,
            max_size=4,
        )
    )
    return " ".join(parts)


def about(prompt: str, *fields: str) -> str:
    """The prompt without reads of the fields that the same call fills."""
    for name in fields:
        prompt = prompt.replace(f"<{name}>", "five").replace(f"<`{name}[:3]`>", "six")
    return prompt


def joined(blocks: list[list[str]]) -> list[str]:
    return [line for block in blocks for line in block]


def simple() -> st.SearchStrategy[list[str]]:
    return st.one_of(
        st.tuples(prompts(), names).map(lambda t: [f">> Ask {about(*t)}: [{t[1]}]"]),
        st.tuples(prompts(), names).map(lambda t: [f">> Ask {about(*t)}: [{t[1]}]", ""]),
        st.tuples(prompts(), names, names)
        .filter(lambda t: t[1] != t[2])
        .map(lambda t: [f">> Both {about(*t)}: [{t[1]}] and [{t[2]}: str]"]),
        st.tuples(prompts(), names).map(lambda t: [f"[{t[1]}] << Say {about(*t)}"]),
        prompts().map(lambda text: [f">> Note {text}"]),
        st.tuples(names, prompts()).map(lambda t: [f"[{t[0]}] = {t[1]}"]),
        st.tuples(names, names).map(lambda t: [f"[{t[0]}] := <{t[1]}>"]),
        st.tuples(names, names).map(lambda t: [f"`{t[0]} = {t[1]}[:5]`"]),
        names.map(lambda name: [f"`xs.append({name})`"]),
        names.map(lambda name: [f"> show: <{name}> `len(xs)`"]),
        st.just(["`xs.clear()`"]),
    )


def compound(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    blocks = st.lists(inner, min_size=1, max_size=3).map(joined)
    return st.one_of(
        st.tuples(prompts(), blocks, blocks).map(
            lambda t: [f"> if: {t[0]} holds", *indented(t[1]), "> else:", *indented(t[2])]
        ),
        st.tuples(names, blocks).map(lambda t: [f"> if: `len({t[0]}) % 2 == 0`:", *indented(t[1])]),
        st.tuples(st.integers(0, 3), blocks).map(
            lambda t: [f"> loop [d]: `'wxyz'[:{t[0]}]`:", *indented(t[1])]
        ),
        st.tuples(st.integers(0, 4), blocks, prompts(), names).map(
            # Stages may overlap, so a stage of a map only works for itself: under a name that
            # the body before it cannot bind, by which two stages could get one key.
            lambda t: [
                "[got: dict[str, str]] = `{}`",
                f"> loop [key]: `'wxyz'[:{t[0]}]`:",
                *indented(t[1]),
                "> map:",
                f"  >> Stage <key> {t[2].replace('<xs>', 'x')}: [m]",
                f"  `got[key] = m + {t[3]}`",
                "`xs.extend(got[item] for item in sorted(got))`",
            ]
        ),
        st.tuples(blocks, names, names).map(
            lambda t: [
                "@proc(c) -> str:",
                *indented(t[0]),
                f"  = <{t[1]}>",
                f"[{t[2]}] = <proc(<{t[1]}>)>",
            ]
        ),
        st.tuples(blocks, names, names, st.booleans()).map(
            # What stands after a call that fails may have run when the failure is found. So
            # here, where it is caught and the program goes on, nothing does.
            lambda t: [
                "@risky(c) -> str:",
                *(line.replace("FAIL", "fine") for line in indented(t[0])),
                *(["  >> FAIL [z]"] if t[3] else []),
                f"  = <{t[1]}>",
                f"[{t[2]}] = ```",
                "try:",
                f"    return risky({t[1]})",
                "except Exception as error:",
                "    return type(error).__name__",
                "```",
            ]
        ),
    )


programs = st.lists(st.recursive(simple(), compound, max_leaves=6), min_size=1, max_size=7).map(
    lambda items: "\n".join(joined(items))
)


def run(source: str, engine: str, workers: int) -> dict[str, Any]:
    shown: list[str] = []
    adapter = ScriptedAdapter(answer)
    with session(adapter=adapter, engine=engine, max_workers=workers) as live:
        live._interpreter.show = shown.append  # what the program prints, in order
        live.execute(BEFORE)
        seen: dict[str, Any] = {}
        try:
            seen["value"] = live.execute(f"{source}\n= `([a, b, c, d], xs)`")
        except KediExecutionError as error:
            return {"error": type(error), "frames": error.frames, "message": error.message}
        except KediCompileError as error:
            # Such as a parameter that is assigned: no engine gets to see it.
            return {"refused": str(error)}
        seen["shown"] = shown
        seen["prompts"] = sorted(adapter.prompts)
        seen["bindings"] = sorted(
            (view.name, live.evaluate(f"`{view.name}`"))
            for view in live.bindings()
            if view.kind == "value"
        )
        return seen


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(source=programs, workers=st.sampled_from([1, 2, 5]))
def test_engines_agree(source: str, workers: int) -> None:
    assert run(source, "parallel", workers) == run(source, "sequential", workers)
