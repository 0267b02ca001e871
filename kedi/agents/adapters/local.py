"""A small open-weights model in this process: no key, no network, no other process.

SmolLM2-135M through llama.cpp (``xllamacpp``). Answers follow the JSON schema
by constrained decoding, so they have the right types; whether they are true is
another matter: it is a model for demonstrations. One thread, temperature 0, a
fixed seed and a constant few-shot prefix give the same text for the same calls.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from concurrent.futures import Future
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast
from weakref import WeakValueDictionary

from kedi.agents.adapters.local_prompts import (
    ENFORCED_FORMATS,
    PRIMING,
    SYSTEM,
    bounded,
    fill_in_prompt,
)
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
from kedi.agents.install import find_local_model, model_path
from kedi.agents.reprs import short_repr
from kedi.agents.requests import ModelCallError
from kedi.agents.schemas import json_schema

MODEL = "SmolLM2-135M-Instruct.Q4_1"
CONTEXT_TOKENS = 2048
MAX_TOKENS = 200
_CPUINFO = Path("/proc/cpuinfo")


class LocalAdapter:
    """The adapter ``local``.

    ``path`` is a GGUF file; without it, the one that ``kedi model install``
    fetched. ``max_tokens`` bounds one answer. The model is loaded at the first
    call and shared by all adapters of the process with the same file; calls
    take turns.
    """

    kind: AgentAdapterKind = "agent-framework"
    shortname = "local"
    capabilities = AdapterCapabilities(
        supports_structured_output=True,
        supports_profile=True,
        supports_settings=True,
        supports_model_override=False,
        supports_effort=False,
        supports_tools=False,
        supports_mcp=False,
        supports_history=False,
        supports_artifacts=False,
        supports_subagents=False,
        supports_approvals=False,
        supports_stream=False,
        setting_names=frozenset({"max_tokens"}),
        schema_formats=ENFORCED_FORMATS,
    )

    def __init__(self, *, path: str | Path | None = None, max_tokens: int = MAX_TOKENS) -> None:
        self._path = None if path is None else _check_path(path)
        self._max_tokens = _check_max_tokens(max_tokens)
        self._engine: _Engine | None = None

    def produce_sync(
        self,
        *,
        template: str,
        output_schema: dict[str, Any],
        system: str | None = None,
        settings: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Fill the blanks of a template by constrained decoding."""
        schema = bounded(json_schema(output_schema))
        prompt = fill_in_prompt(template, output_schema)
        messages = [{"role": "system", "content": f"{SYSTEM}\n{system}" if system else SYSTEM}]
        for question, answer in PRIMING.items():
            messages.append({"role": "user", "content": question})
            messages.append({"role": "assistant", "content": answer})
        messages.append({"role": "user", "content": prompt})
        text, usage = self._complete(messages, settings, schema)
        info = CallInfo(usage=usage, cost=0.0, model=MODEL, attempts=(Attempt(text),))
        try:
            values = json.loads(text)
        except ValueError as problem:
            error = ModelCallError(
                f"the local model's answer is not JSON: {problem}", original=problem
            )
            error.refused, error.info = True, info
            raise error from problem
        return Answer(cast("dict[str, Any]", values), info)

    async def produce(self, **kw: Any) -> dict[str, Any]:
        """Fill the blanks of a template on another thread."""
        import asyncio

        return await asyncio.to_thread(self.produce_sync, **kw)

    def invoke_sync(
        self, *, prompt: str, system: str | None = None, settings: dict[str, Any] | None = None
    ) -> str:
        """Answer freely."""
        messages = [{"role": "user", "content": prompt}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        text, usage = self._complete(messages, settings, None)
        info = CallInfo(usage=usage, cost=0.0, model=MODEL, attempts=(Attempt(text),))
        return TextAnswer(text, info)

    async def invoke(self, **kw: Any) -> str:
        """Answer freely, on another thread."""
        import asyncio

        return await asyncio.to_thread(self.invoke_sync, **kw)

    def close(self) -> None:
        """Let go of the model; it is unloaded when no other adapter uses it."""
        self._engine = None

    def _complete(
        self,
        messages: list[dict[str, str]],
        settings: dict[str, Any] | None,
        schema: dict[str, Any] | None,
    ) -> tuple[str, Usage]:
        max_tokens = _check_max_tokens((settings or {}).get("max_tokens", self._max_tokens))
        request: dict[str, Any] = {
            "messages": messages,
            "temperature": 0,
            "seed": 0,
            "max_tokens": max_tokens,
        }
        if schema is not None:
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema},
            }
        engine = self._engine
        if engine is None:
            engine = self._engine = _engine_for(self._path or _installed())
        return _read_reply(engine.complete(request), max_tokens, schema is None)


def _check_path(value: Any) -> Path:
    try:
        path = Path(value).expanduser()
    except TypeError:
        raise ConfigurationError(
            f"`path` of the adapter `local` must be a path, not {type(value).__name__}"
        ) from None
    except RuntimeError as error:  # `~name` of nobody
        raise ConfigurationError(f"`path` of the adapter `local`: {error}") from None
    return path


def _check_max_tokens(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= CONTEXT_TOKENS:
        raise ConfigurationError(
            f"`max_tokens` of the adapter `local` must be from 1 to {CONTEXT_TOKENS}, "
            f"not {short_repr(value)}"
        )
    return value


def _read_reply(reply: dict[str, Any], max_tokens: int, free: bool) -> tuple[str, Usage]:
    if "choices" not in reply:
        error: Any = reply.get("error", reply)
        message = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else error
        if "context size" in str(message):
            # The runtime would have its context enlarged, which no user can do.
            raise ModelCallError(
                "the prompt is too long for the local model: its context size is "
                f"{CONTEXT_TOKENS} tokens, for the prompt and its answer",
                hint="write a shorter prompt, or choose an adapter with a larger model",
            )
        raise ModelCallError(f"the local model refused the call: {message or 'no reason given'}")
    choice = cast("dict[str, Any]", reply["choices"][0])
    text = cast("str", choice["message"]["content"])
    # Free text that reaches the bound is a long answer; JSON that does is broken.
    if choice["finish_reason"] != "stop" and not (free and choice["finish_reason"] == "length"):
        raise ModelCallError(
            f"the local model's answer was cut off after {max_tokens} tokens",
            hint="ask for less in one template, or raise `max_tokens` in `> settings:`",
        )
    counts = cast("dict[str, Any]", reply.get("usage") or {})
    return text, Usage(counts.get("prompt_tokens"), counts.get("completion_tokens"))


class _Engine:
    """One loaded model. Calls take turns; Ctrl+C does not wait for the answer."""

    def __init__(self, path: Path) -> None:
        xllamacpp = _runtime()
        _check_file(path)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = 1
        params.verbosity = 0
        # The number of threads changes the text.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        # The runtime also listens on a loopback port; nobody can know this key.
        params.api_keys = [secrets.token_hex(16)]
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as problem:
            raise ModelCallError(
                f"the local model {path} could not be loaded: {problem}",
                hint="`kedi model install` fetches it again when the file was damaged",
                original=problem,
            ) from problem
        self._lock = threading.Lock()

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The runtime's reply to one chat request, as if it had not been streamed.

        It is streamed because only a streamed answer can be stopped: Ctrl+C
        returns at once and the generation ends with its next token.
        """
        done: Future[dict[str, Any]] = Future()
        stopped = threading.Event()

        def work() -> None:
            try:
                with self._lock:
                    done.set_result({} if stopped.is_set() else self._stream(request, stopped))
            except BaseException as problem:
                done.set_exception(problem)

        # Not a daemon: the interpreter must not go away below a running generation.
        threading.Thread(target=work, name="kedi-local-model").start()
        try:
            return done.result()
        except BaseException:
            stopped.set()
            raise

    def _stream(self, request: dict[str, Any], stopped: threading.Event) -> dict[str, Any]:
        text: list[str] = []
        reply: dict[str, Any] = {}
        finish: list[str] = []

        def receive(chunk: dict[str, Any]) -> bool:
            if chunk.get("usage"):
                reply["usage"] = chunk["usage"]
            if "choices" not in chunk:
                reply.update(chunk)
            for choice in chunk.get("choices", ()):
                text.append(choice["delta"].get("content") or "")
                if choice["finish_reason"]:
                    finish.append(choice["finish_reason"])
            return stopped.is_set()

        options = {"stream": True, "stream_options": {"include_usage": True}}
        answer = self._server.handle_chat_completions({**request, **options}, receive)
        if answer:
            reply.update(answer)
        if finish:
            reply["choices"] = [
                {"finish_reason": finish[-1], "message": {"content": "".join(text)}}
            ]
        return reply


_engines: WeakValueDictionary[Path, _Engine] = WeakValueDictionary()
_engines_lock = threading.Lock()


def _engine_for(path: Path) -> _Engine:
    key = path.resolve()
    with _engines_lock:
        engine = _engines.get(key)
        if engine is None:
            engine = _engines[key] = _Engine(path)
        return engine


def _runtime() -> Any:
    if find_spec("xllamacpp") is None:
        raise ModelCallError(
            "the adapter `local` needs the package xllamacpp, which is not installed",
            hint="`pip install xllamacpp` (the extra `local`)",
        )
    _check_processor()
    try:
        return import_module("xllamacpp")
    except ImportError as problem:
        raise ModelCallError(
            f"the package xllamacpp cannot be loaded: {problem}",
            hint="`pip install --force-reinstall xllamacpp`",
            original=problem,
        ) from problem


def _check_processor() -> None:
    """The runtime's x86 builds need AVX2; without it the process would be killed."""
    if not sys.platform.startswith("linux"):
        return
    try:
        info = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    flags = next((line for line in info.splitlines() if line.startswith("flags")), None)
    if flags is not None and "avx2" not in flags.split():
        raise ModelCallError(
            "the adapter `local` needs a processor with AVX2",
            hint="choose another adapter, such as `pydantic`",
        )


def _installed() -> Path:
    path = find_local_model()
    if path is None:
        raise ModelCallError(
            f"the local model is not installed ({model_path()} is missing or incomplete)",
            hint="`kedi model install` fetches it once; after that no network is needed",
        )
    return path


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as problem:
        raise ModelCallError(
            f"the local model {path} cannot be read: {problem.strerror or problem}",
            hint="`kedi model install` fetches the model",
            original=problem,
        ) from problem
    if magic != b"GGUF":
        installed = path == model_path()
        raise ModelCallError(
            f"{path} is not a GGUF model file",
            hint="`kedi model install` replaces it with the right one"
            if installed
            else "`path` of the adapter `local` must name a GGUF file; "
            "without it the installed model is used",
        )


def create(*, path: str | Path | None = None, max_tokens: int = MAX_TOKENS) -> LocalAdapter:
    """Make the adapter for the name ``local``; a ``path`` is that of a file which exists."""
    adapter = LocalAdapter(path=path, max_tokens=max_tokens)
    if path is not None and not _check_path(path).is_file():
        raise ConfigurationError(f"`path` of the adapter `local` is no file: {path}")
    return adapter


__all__ = ["MODEL", "LocalAdapter", "create"]
