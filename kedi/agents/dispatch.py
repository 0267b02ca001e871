"""Ask an adapter once, through whichever half of the contract it has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kedi.agents.async_bridge import in_running_loop, run_coroutine
from kedi.agents.capabilities import adapter_name, refuse_gap
from kedi.agents.contract import AgentAdapter, LazyAdapter
from kedi.agents.requests import ModelCallError, ModelRequest
from kedi.agents.validation import UnusableType
from kedi.errors import KediError


def dispatch(adapter: Any, request: ModelRequest) -> Any:
    """Ask the adapter once; whatever it raises becomes a :class:`ModelCallError`."""
    try:
        return _ask(adapter, request)
    except ModelCallError:
        raise
    except UnusableType as problem:
        # Nothing was sent and the adapter is not to blame.
        raise ModelCallError(
            str(problem), hint="ask for a `~Type`, text, numbers or lists and dicts of them"
        ) from problem
    except Exception as problem:
        message = problem.message if isinstance(problem, KediError) else str(problem)
        hint = getattr(problem, "hint", None)
        raise ModelCallError(
            f"the adapter `{adapter_name(adapter)}` failed: {message or type(problem).__name__}",
            original=problem,
            hint=hint if isinstance(hint, str) else None,
        ) from problem


def _ask(adapter: Any, request: ModelRequest) -> Any:
    if isinstance(adapter, LazyAdapter):
        adapter = adapter.load()
    schema = request.output_schema
    arguments: dict[str, Any]
    if schema:
        name, arguments = "produce", {"template": request.prompt, "output_schema": schema}
    else:
        # A template without fields asks for nothing that a schema could hold.
        name, arguments = "invoke", {"prompt": request.prompt}
    options = {
        key: value
        for key, value in (
            ("model", request.model),
            ("effort", request.effort),
            ("system", request.system),
            ("settings", dict(request.settings)),
            ("tools", list(request.tools)),
        )
        if value
    }
    sync, asynchronous = _half(adapter, f"{name}_sync"), _half(adapter, name)
    if sync is None and asynchronous is None:
        raise ModelCallError(
            f"the adapter `{adapter_name(adapter)}` has neither `{name}_sync` nor `{name}`",
            hint="an adapter implements the synchronous or the asynchronous half of the contract",
        )
    # Below a running loop a synchronous half may not start its own.
    first, second = (asynchronous, sync) if in_running_loop() else (sync, asynchronous)
    method = first or second
    assert method is not None
    try:
        return _finish(method, arguments | _accepted(adapter, method, options))
    except NotImplementedError as problem:
        other = second if method is first else None
        if other is None or not _raised_by_stub(problem, method):
            raise
        return _finish(other, arguments | _accepted(adapter, other, options))


def _half(adapter: Any, name: str) -> Callable[..., Any] | None:
    method = getattr(adapter, name, None)
    if not callable(method):
        return None
    # The protocol's own empty bodies are inherited by adapters that subclass it.
    if getattr(method, "__func__", None) is getattr(AgentAdapter, name):
        return None
    return method


def _finish(method: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(method):
        return run_coroutine(lambda: method(**arguments))
    answer = method(**arguments)
    if inspect.isawaitable(answer):
        pending = answer

        async def wait() -> Any:
            return await pending

        return run_coroutine(wait)
    return answer


def _raised_by_stub(problem: NotImplementedError, method: Callable[..., Any]) -> bool:
    """Whether the method's own body raised it: it is a stub and has done nothing yet."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    code = getattr(method, "__code__", None)
    return trace is not None and trace.tb_frame.f_code is code


def _accepted(adapter: Any, method: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options, which the method must be able to take: none is dropped silently."""
    if not options:
        return options
    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return options
    if any(item.kind is item.VAR_KEYWORD for item in parameters.values()):
        return options
    for name in options:
        if name not in parameters:
            directive = "> use:" if name == "tools" else f"> {name}:"
            refuse_gap(
                adapter,
                f"the keyword `{name}`",
                f"`{directive}`",
                f"remove `{directive}` or choose another adapter",
            )
    return options


__all__ = ["dispatch"]
