"""May this adapter be asked this? Everything that can be said before any I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, cast

from kedi.agents.contract import REQUIREMENTS, AdapterCapabilities
from kedi.agents.requests import ModelCallError, ModelRequest
from kedi.agents.validation import type_label


def adapter_name(adapter: Any) -> str:
    """The adapter's short name, or its class's name when it has none."""
    name = getattr(adapter, "shortname", None)
    return name if isinstance(name, str) and name else type(adapter).__name__


def check_request(adapter: Any, request: ModelRequest) -> None:
    """Raise :class:`ModelCallError` for anything the adapter is known not to do."""
    known = capabilities_of(adapter)
    if request.output_schema and known.supports_structured_output is False:
        what = "`> if:` with a claim" if request.kind == "claim" else "a template with fields"
        refuse_gap(
            adapter,
            "structured output",
            what,
            "take the whole answer as text with `[name] << …`, or choose another adapter",
        )
    check_requirements(adapter, request.requires)
    for used, answer, what, directive in (
        (request.model, known.supports_model_override, "a choice of model", "> model:"),
        (request.effort, known.supports_effort, "effort", "> effort:"),
        (request.system, known.supports_profile, "a system text", "> system:"),
        (request.settings, known.supports_settings, "settings", "> settings:"),
        (request.tools, known.supports_tools, "tools", "> use:"),
    ):
        if used and answer is False:
            refuse_gap(
                adapter, what, f"`{directive}`", f"remove `{directive}` or choose another adapter"
            )
    names = known.setting_names
    if names is not None:
        for name in request.settings:
            if name not in names:
                near = _close(name, names, 1)
                listed = ", ".join(sorted(names)) or "none"
                raise ModelCallError(
                    f"the adapter `{adapter_name(adapter)}` has no setting `{name}`",
                    hint=f"did you mean `{near[0]}`?" if near else f"its settings: {listed}",
                )


def check_requirements(adapter: Any, requires: tuple[str, ...]) -> None:
    """Raise :class:`ModelCallError` unless the adapter is known to have all of ``requires``."""
    known = capabilities_of(adapter)
    for name in requires:
        if name not in REQUIREMENTS:
            near = _close(name, REQUIREMENTS, 1)
            raise ModelCallError(
                f"`> requires:` names the unknown capability `{name}`",
                hint=f"did you mean `{near[0]}`?"
                if near
                else f"capabilities: {', '.join(sorted(REQUIREMENTS))}",
            )
        if known.get(name) is not True:
            refuse_gap(adapter, f"`{name}`", "`> requires:`", "choose an adapter that supports it")


def _close(name: str, known: Iterable[str], count: int) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, list(known), count)


def capabilities_of(adapter: Any) -> AdapterCapabilities:
    """What the adapter says about itself; all unknown when it says nothing."""
    known = getattr(adapter, "capabilities", None)
    if isinstance(known, AdapterCapabilities):
        return known
    if known is None:
        return AdapterCapabilities()
    raise ModelCallError(
        f"`capabilities` of the adapter `{adapter_name(adapter)}` is "
        f"{type_label(cast('type[Any]', type(known)))}, not AdapterCapabilities",
        hint="use `from kedi.agent_adapter import AdapterCapabilities`",
    )


def refuse_gap(adapter: Any, capability: str, user: str, hint: str) -> NoReturn:
    """Raise the error for a capability that ``user``, a directive or statement, needs."""
    raise ModelCallError(
        f"the adapter `{adapter_name(adapter)}` does not support {capability}, which {user} needs",
        hint=hint,
    )


__all__ = ["adapter_name", "capabilities_of", "check_request", "check_requirements", "refuse_gap"]
