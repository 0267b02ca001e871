"""Settings of model calls that a host or Python gives, by the table that ``> settings:`` reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from kedi.agents.errors import ConfigurationError
from kedi.agents.reprs import short_repr
from kedi.analysis.directive_values import setting_rule
from kedi.runtime.text import nearest
from kedi.syntax.directives import SETTINGS

if TYPE_CHECKING:
    from kedi.agents.config import AgentConfig

_SPECS = {item.name: item for item in SETTINGS}
_NUMERIC = ("count", "number")


def check_settings(config: AgentConfig) -> None:
    """Refuse settings that nobody knows, and values that no adapter can use.

    Names of the table are known, and those that the adapter in ``config`` itself lists
    (``setting_names``); these are its own to check. ``None`` stands for no value. Raises
    :class:`~kedi.agents.errors.ConfigurationError`.
    """
    if not config.settings:
        return
    own = _own_names(config)
    for name, value in config.settings.items():
        if name in own:
            continue
        if name not in _SPECS:
            near = nearest(name, [*_SPECS, *own])
            advice = f"did you mean `{near}`?" if near else "see `> settings:` for those there are"
            raise ConfigurationError(f"`settings` holds the unknown name `{name[:80]}`: {advice}")
        wanted = _wanted(name, value)
        if wanted is not None:
            raise ConfigurationError(
                f"the setting `{name}` must be {wanted}, not {short_repr(value)}"
            )


def _own_names(config: AgentConfig) -> Iterable[str]:
    chosen = config.adapter if config.agent is None else config.agent
    names: Any = getattr(getattr(chosen, "capabilities", None), "setting_names", None)
    return cast("frozenset[str]", names) if isinstance(names, frozenset) else ()


def _wanted(name: str, value: Any) -> str | None:
    """What was expected, or ``None`` when the value is fine."""
    if value is None:
        return None
    kind = _SPECS[name].kind
    if kind in _NUMERIC:
        text = str(value) if _is_number(value) else ""
    elif kind == "flag":
        return None if isinstance(value, bool) else "True or False"
    elif kind == "text":
        return None if isinstance(value, str) else "text"
    else:
        return None
    rule = setting_rule("settings", name)
    return rule(text) if rule is not None else None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    # Longer ones are refused, and Python would not write them out.
    return not isinstance(value, int) or value.bit_length() < 1_000
