"""Any provider that Pydantic AI knows, and any server that speaks OpenAI's protocol.

Pydantic AI is imported at the first call. Every call runs on the one event
loop of :mod:`kedi.agents.async_bridge`, because the HTTP clients behind it
belong to a loop.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, cast

from kedi.agents.async_bridge import run_coroutine
from kedi.agents.contract import (
    AdapterCapabilities,
    AgentAdapterKind,
    Answer,
    Attempt,
    CallInfo,
    TextAnswer,
    Usage,
)
from kedi.agents.errors import ConfigurationError
from kedi.agents.reprs import short_repr
from kedi.agents.requests import ModelCallError
from kedi.agents.schemas import answer_model, json_schema
from kedi.agents.validation import TypeMismatch, from_model

OUTPUT_MODES = ("auto", "tool", "native", "prompted")
_OPENAI_NAMES = ("openai", "openai-chat", "openai-responses")

_BLANKS = (
    "The user's text has blanks, each written as a name in square brackets. "
    "Give the value that belongs into every blank."
)
_CLAIM = (
    "The user states a claim. Set `claim` to true when the claim is true, and to false when it "
    "is false or cannot be established."
)


class PydanticAdapter:
    """The adapter ``pydantic``.

    The model is named per call (``provider:model``). ``base_url`` and
    ``api_key`` select a server that speaks OpenAI's chat protocol; without
    them the provider's own environment variables count, ``OPENAI_BASE_URL``
    included. An answer that does not fit its types is sent back ``retries``
    times (1); every attempt is in the call's record. ``output_mode`` says how
    structure is asked for: ``auto``, ``tool``, ``native`` or ``prompted``.
    """

    kind: AgentAdapterKind = "agent-framework"
    shortname = "pydantic"
    capabilities = AdapterCapabilities(
        supports_structured_output=True,
        supports_profile=True,
        supports_model_override=True,
        supports_effort=True,
        supports_settings=True,
        # Pydantic AI can do more; this adapter does not pass it on yet.
        supports_tools=False,
        supports_mcp=False,
        supports_history=False,
        supports_artifacts=False,
        supports_subagents=False,
        supports_approvals=False,
        supports_stream=False,
    )

    def __init__(
        self,
        *,
        base_url: Any = None,
        api_key: Any = None,
        retries: Any = 1,
        output_mode: Any = "auto",
    ) -> None:
        for name, value in (("base_url", base_url), ("api_key", api_key)):
            if value is not None and (not isinstance(value, str) or not value):
                raise ConfigurationError(f"`{name}` of the adapter `pydantic` must be text")
        if not isinstance(retries, int) or isinstance(retries, bool) or not 0 <= retries <= 10:
            raise ConfigurationError(
                f"`retries` of the adapter `pydantic` must be from 0 to 10, "
                f"not {short_repr(retries)}"
            )
        if output_mode not in OUTPUT_MODES:
            raise ConfigurationError(
                f"`output_mode` of the adapter `pydantic` must be one of "
                f"{', '.join(OUTPUT_MODES)}, not {short_repr(output_mode)}"
            )
        self._base_url: str | None = base_url
        self._api_key: str | None = api_key
        self._retries: int = retries
        self._output_mode: str = output_mode
        self._models: dict[str, Any] = {}

    async def produce(
        self,
        *,
        template: str,
        output_schema: dict[str, Any],
        model: str | None = None,
        effort: str | None = None,
        system: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Fill the fields of a template."""
        first = _CLAIM if list(output_schema) == ["claim"] else _BLANKS
        output, recursive = self._output_type(output_schema)
        agent = await self._agent(output, model, [first, *([system] if system else [])])

        refused: list[str] = []

        def check(answer: Any) -> Any:
            problems = _problems(_fields(answer, output_schema, recursive), output_schema)
            refused[:] = problems
            if problems:
                from pydantic_ai import ModelRetry

                raise ModelRetry("\n".join(problems))
            return answer

        agent.output_validator(check)
        answer, info = await self._run(agent, template, _settings(settings, effort, model), refused)
        return Answer(_fields(answer, output_schema, recursive), info)

    def produce_sync(self, **kw: Any) -> dict[str, Any]:
        """Fill the fields of a template."""
        answer: dict[str, Any] = run_coroutine(lambda: self.produce(**kw))
        return answer

    async def invoke(
        self,
        *,
        prompt: str,
        model: str | None = None,
        effort: str | None = None,
        system: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> str:
        """Answer freely."""
        agent = await self._agent(str, model, [system] if system else [])
        answer, info = await self._run(agent, prompt, _settings(settings, effort, model))
        return TextAnswer(answer, info)

    def invoke_sync(self, **kw: Any) -> str:
        """Answer freely."""
        answer: str = run_coroutine(lambda: self.invoke(**kw))
        return answer

    def close(self) -> None:
        """Close the connections of the models used so far. Later calls open new ones."""
        models = list(self._models.values())
        self._models.clear()

        async def leave() -> None:
            for model in models:
                await model.__aexit__(None, None, None)

        if models:
            run_coroutine(leave)

    async def _agent(self, output: Any, model: str | None, instructions: Sequence[str]) -> Any:
        _require()
        from pydantic_ai import Agent

        made: Any = Agent
        return made(
            await self._model(model),
            output_type=output,
            instructions=list(instructions),
            retries=self._retries,
        )

    async def _model(self, name: str | None) -> Any:
        if name is None:
            raise ModelCallError(
                "the adapter `pydantic` needs a model and none is chosen",
                hint="set KEDI_ADAPTER_MODEL to `provider:model`, write `> model:` in the "
                "program, or pass `model=`",
            )
        found = self._models.get(name)
        if found is None:
            # Kept and entered until `close`: a model owns its connections.
            found = self._models[name] = self._make_model(name)
            await found.__aenter__()
        return found

    def _make_model(self, name: str) -> Any:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model

        base_url = self._base_url or os.environ.get("OPENAI_BASE_URL") or None
        provider, colon, rest = name.partition(":")
        if not colon and not base_url:
            # `vendor/model` is how other libraries write it; a server may use it as a plain name.
            provider, colon, rest = name.partition("/")
        try:
            if base_url and (not colon or provider in _OPENAI_NAMES or self._base_url):
                # Servers that are not OpenAI itself speak the chat protocol only.
                plain = rest if colon and provider in _OPENAI_NAMES else name
                return self._chat_model(plain, base_url)
            if self._api_key and provider in _OPENAI_NAMES:
                return self._chat_model(rest, None)
            return infer_model(f"{provider}:{rest}" if colon else name)
        except UserError as problem:
            raise ModelCallError(
                f"the model `{name}` cannot be used: {problem}",
                hint="models are named `provider:model`; the provider's key must be set",
                original=problem,
            ) from problem
        except ImportError as problem:
            # Without a provider's name the model is one behind an OpenAI-compatible base URL.
            extra = provider.split("-")[0] if colon else "openai"
            raise ModelCallError(
                f"the model `{name}` cannot be used: {problem}",
                hint=f"`pip install 'pydantic-ai-slim[{extra}]'`",
                original=problem,
            ) from problem

    def _chat_model(self, name: str, base_url: str | None) -> Any:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        make_provider: Any = OpenAIProvider
        return OpenAIChatModel(
            name, provider=make_provider(base_url=base_url, api_key=self._api_key)
        )

    def _output_type(self, output_schema: dict[str, Any]) -> tuple[Any, bool]:
        """The output type, and whether it is a model class instead of a plain schema."""
        _require()
        from pydantic_ai import NativeOutput, PromptedOutput, StructuredDict, ToolOutput
        from pydantic_ai.exceptions import UserError

        recursive = False
        made: Any
        try:
            # A plain schema, so that our strict validation sees what the model really said.
            made = StructuredDict(json_schema(output_schema), name="answer")
        except UserError:
            recursive, made = True, answer_model(output_schema)
        wrap: dict[str, Any] = {
            "tool": ToolOutput,
            "native": NativeOutput,
            "prompted": PromptedOutput,
        }
        wrapper = wrap.get(self._output_mode)
        return (made if wrapper is None else wrapper(made)), recursive

    async def _run(
        self, agent: Any, prompt: str, settings: dict[str, Any], refused: Sequence[str] = ()
    ) -> tuple[Any, CallInfo]:
        """Run an agent; ``refused`` says, after a failure, what was wrong with the last answer."""
        from pydantic_ai import capture_run_messages
        from pydantic_ai.exceptions import AgentRunError

        with capture_run_messages() as messages:
            try:
                result = await agent.run(prompt, model_settings=settings or None)
            except AgentRunError as problem:
                raise _failure(problem, _info(messages), refused) from problem
        return result.output, _info(messages)


def _failure(problem: Exception, info: CallInfo, refused: Sequence[str]) -> ModelCallError:
    if refused and info.attempts:
        count = len(info.attempts)
        error = ModelCallError(
            f"the model's answer does not fit after {count} "
            f"{'attempt' if count == 1 else 'attempts'}: {'; '.join(refused)}",
            hint="a more exact prompt or a stronger model may help",
        )
        error.refused = True
        last = Attempt(info.attempts[-1].raw, tuple(refused))
        info = replace(info, attempts=(*info.attempts[:-1], last))
    else:
        from pydantic_ai.exceptions import UnexpectedModelBehavior

        error = ModelCallError(f"the adapter `pydantic` failed: {problem}", original=problem)
        # The model answered, though not with the fields, as often as it was asked.
        error.refused = isinstance(problem, UnexpectedModelBehavior) and bool(info.attempts)
    error.info = info
    return error


def _require() -> None:
    if find_spec("pydantic_ai") is None:
        raise ModelCallError(
            "the adapter `pydantic` needs Pydantic AI, which is not installed",
            hint="`pip install 'pydantic-ai-slim[openai]'` (the extra `pydantic`)",
        )
    # At the first run of a process it writes about itself to the terminal of the program.
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")


def _settings(
    settings: Mapping[str, Any] | None, effort: str | None, model: str | None
) -> dict[str, Any]:
    """Settings for Pydantic AI; an unknown name is an error, since it would be ignored."""
    from difflib import get_close_matches

    from pydantic_ai.settings import ModelSettings

    known = frozenset(ModelSettings.__annotations__)
    provider = re.split(r"[-:/]", model or "", maxsplit=1)[0]
    for name in settings or ():
        if name not in known and not (provider and name.startswith(f"{provider}_")):
            near = get_close_matches(name, known, 1)
            raise ModelCallError(
                f"the adapter `pydantic` has no setting `{name}`",
                hint=f"did you mean `{near[0]}`?"
                if near
                else f"its settings: {', '.join(sorted(known))}",
            )
    out = dict(settings or {})
    if effort is not None:
        out.setdefault("thinking", effort)
    return out


def _fields(answer: Any, output_schema: Mapping[str, Any], recursive: bool) -> dict[str, Any]:
    if recursive:
        return {name: getattr(answer, f"field{n}") for n, name in enumerate(output_schema)}
    return dict(cast("Mapping[str, Any]", answer))


def _problems(values: Mapping[str, Any], output_schema: Mapping[str, Any]) -> list[str]:
    """What is wrong with an answer, one line per field, in words for the model."""
    problems = [f"{name}: this field is missing" for name in output_schema if name not in values]
    problems += [f"{name}: nobody asked for it" for name in values if name not in output_schema]
    for name, expected in output_schema.items():
        if name in values:
            try:
                from_model(values[name], expected)
            except TypeMismatch as problem:
                problems.append(f"{name}: {problem}")
    return problems


def _info(messages: Sequence[Any]) -> CallInfo:
    """Usage, cost and attempts of a run, from its messages."""
    from pydantic_ai.messages import ModelRequest, ModelResponse

    attempts: list[Attempt] = []
    tokens_in = tokens_out = 0
    cost: float | None = None
    model: str | None = None
    counted = False
    for message in messages:
        if isinstance(message, ModelResponse):
            attempts.append(Attempt(_raw(message.parts)))
            usage: Any = message.usage
            if usage.has_values():
                counted = True
                tokens_in += usage.input_tokens
                tokens_out += usage.output_tokens
            if usage.cost is not None:
                cost = (cost or 0.0) + float(usage.cost)
            model = message.model_name or model
        elif isinstance(message, ModelRequest) and attempts:
            errors = [_retry_text(part) for part in message.parts if _asks_again(part)]
            if errors:
                attempts[-1] = Attempt(attempts[-1].raw, tuple(errors))
    return CallInfo(Usage(tokens_in, tokens_out) if counted else None, cost, model, tuple(attempts))


def _asks_again(part: Any) -> bool:
    # Pydantic AI names it by the part's kind or, for output tools, by the outcome.
    return part.part_kind.startswith("retry-") or getattr(part, "outcome", None) == "retried"


def _retry_text(part: Any) -> str:
    content = part.content
    return content if isinstance(content, str) else str(content)


def _raw(parts: Sequence[Any]) -> str:
    """What the model said: its text, or the arguments of the output tool as it wrote them."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    said = [
        part.args_as_json_str() if isinstance(part, ToolCallPart) else part.content
        for part in parts
        if isinstance(part, (TextPart, ToolCallPart)) and (part.has_content())
    ]
    return "\n".join(said)


def create(**keywords: Any) -> PydanticAdapter:
    """Make the adapter for the name ``pydantic``."""
    return PydanticAdapter(**keywords)


__all__ = ["OUTPUT_MODES", "PydanticAdapter", "create"]
