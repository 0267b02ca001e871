"""Answers without a model: from a list, a mapping or a function.

For tests, demonstrations and documentation. Prompts are recorded. An answer is
a mapping of fields for templates and claims (a claim also takes a bare
``bool``) and text for raw calls; an exception is raised instead of answered.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from kedi.agents.contract import AdapterCapabilities, AgentAdapterKind
from kedi.agents.errors import ConfigurationError
from kedi.agents.requests import ModelCallError

Answers = Sequence[Any] | Mapping[Any, Any] | Callable[..., Any]


class ScriptedAdapter:
    """A model that says what it was told to say.

    ``answers`` is one of:

    - a list: one answer per call, in order; ``repeat=True`` starts over at its end;
    - a mapping from a prompt, or a compiled pattern searched in the prompt, to
      an answer; exact prompts win, then patterns in order;
    - a function ``f(prompt)`` or ``f(prompt, schema)`` with the field types.

    ``calls`` holds ``(prompt, schema)`` of every call so far, ``prompts`` the prompts.
    """

    kind: AgentAdapterKind = "agent-framework"
    shortname = "scripted"
    capabilities = AdapterCapabilities(
        supports_structured_output=True,
        supports_profile=True,
        supports_model_override=True,
        supports_effort=True,
        supports_settings=True,
        supports_tools=False,
        supports_mcp=False,
        supports_history=False,
        supports_artifacts=False,
        supports_subagents=False,
        supports_approvals=False,
        supports_stream=False,
    )

    def __init__(self, answers: Answers, *, repeat: bool = False) -> None:
        self._function: Callable[..., Any] | None = None
        self._mapping: dict[Any, Any] | None = None
        self._script: list[Any] = []
        if callable(answers):
            self._function = answers
        elif isinstance(answers, Mapping):
            self._mapping = dict(answers)
        else:
            self._script = _script(answers)
        self._repeat = repeat
        self._next = 0
        self._lock = threading.Lock()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.options: list[dict[str, Any]] = []

    @property
    def prompts(self) -> list[str]:
        """Prompts received so far, in order."""
        return [prompt for prompt, _ in self.calls]

    @property
    def remaining(self) -> int | None:
        """Answers of a list that nobody has taken yet; ``None`` for other scripts."""
        if self._function or self._mapping is not None or self._repeat:
            return None
        return len(self._script) - self._next

    def produce_sync(self, *, template: str, output_schema: dict[str, Any], **kw: Any) -> Any:
        """Give the scripted fields."""
        answer = self._answer(template, output_schema, kw)
        if isinstance(answer, bool) and list(output_schema) == ["claim"]:
            return {"claim": answer}
        return answer

    async def produce(self, *, template: str, output_schema: dict[str, Any], **kw: Any) -> Any:
        """Give the scripted fields."""
        return self.produce_sync(template=template, output_schema=output_schema, **kw)

    def invoke_sync(self, *, prompt: str, **kw: Any) -> Any:
        """Give the scripted text."""
        return self._answer(prompt, {}, kw)

    async def invoke(self, *, prompt: str, **kw: Any) -> Any:
        """Give the scripted text."""
        return self.invoke_sync(prompt=prompt, **kw)

    def _answer(self, prompt: str, schema: dict[str, Any], options: dict[str, Any]) -> Any:
        with self._lock:
            self.calls.append((prompt, dict(schema)))
            self.options.append(options)
            answer: Any = None if self._function else self._looked_up(prompt)
        if self._function:
            # Outside the lock: the function may be slow, or call a model itself.
            answer = _call(self._function, prompt, schema)
        if isinstance(answer, BaseException):
            raise answer
        # A later call must not see what a program did to an earlier answer.
        return dict(cast("Mapping[str, Any]", answer)) if type(answer) is dict else answer

    def _looked_up(self, prompt: str) -> Any:
        if self._mapping is not None:
            return _matching(self._mapping, prompt)
        script = self._script
        if self._repeat and script:
            answer = script[self._next % len(script)]
        elif self._next < len(script):
            answer = script[self._next]
        else:
            raise ModelCallError(
                f"the script has no answer left: {len(script)} were given and this is "
                f"call {len(self.calls)}",
                hint=f"add an answer for the prompt {_shown(prompt)}",
            )
        self._next += 1
        return answer


def _script(answers: Any) -> list[Any]:
    if isinstance(answers, Sequence) and not isinstance(answers, (str, bytes)):
        return list(cast("Sequence[Any]", answers))
    raise ConfigurationError(
        "`answers` of the adapter `scripted` must be a list, a mapping or a function, "
        f"not {type(answers).__name__}"
    )


def _matching(answers: dict[Any, Any], prompt: str) -> Any:
    if prompt in answers:
        return answers[prompt]
    for key, answer in answers.items():
        if isinstance(key, re.Pattern) and cast("re.Pattern[str]", key).search(prompt):
            return answer
    raise ModelCallError(
        f"the script has no answer for the prompt {_shown(prompt)}",
        hint="add that prompt, or a compiled pattern that is found in it, to the mapping",
    )


def _call(function: Callable[..., Any], prompt: str, schema: dict[str, Any]) -> Any:
    import inspect

    try:
        inspect.signature(function).bind(prompt, schema)
        takes_schema = True
    except (TypeError, ValueError):
        takes_schema = False
    # Called outside of the handler: its own errors have nothing to do with the signature.
    return function(prompt, schema) if takes_schema else function(prompt)


def _shown(prompt: str) -> str:
    return repr(prompt if len(prompt) <= 200 else prompt[:200] + "…")


def create(*, answers: Answers | None = None, repeat: bool = False) -> ScriptedAdapter:
    """Make the adapter for the name ``scripted``."""
    if answers is None:
        raise ConfigurationError(
            "the adapter `scripted` needs answers: pass `answers=` a list, a mapping or a function"
        )
    return ScriptedAdapter(answers, repeat=repeat)


__all__ = ["Answers", "ScriptedAdapter", "create"]
