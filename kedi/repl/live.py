"""The session behind a REPL: one that also knows the last result."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kedi.agents.config import make_config
from kedi.runtime.scopes import MISSING, dict_del, dict_get, dict_has, dict_set
from kedi.session.session import InteractiveSession
from kedi.session.static import class_attribute, kind_of, label_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from kedi.session.inspect import BindingView

LAST = "_"
_BINDS = re.compile(r"\[\s*_\s*[\]:]")
_TEXT = re.compile(r"\s*=\s*_\s*")


def asks_text(source: str) -> bool:
    """Whether a fragment gives the text ``_`` where the last result was meant."""
    return _TEXT.fullmatch(source) is not None


class ReplSession(InteractiveSession):
    """A session whose fragments read the last result as ``_``.

    The name lies below the session's own, so it is no binding: it is not listed
    and not saved. A fragment that binds ``_`` itself hides it. Embedded Python may
    use ``_`` as a throw-away name, which neither keeps nor changes anything.
    """

    def execute(self, source: str, **options: Any) -> Any:
        """Run a fragment; its result becomes ``_`` unless it is ``None``."""
        return self._remembering(source, super().execute, **options)

    def evaluate(self, expression: str) -> Any:
        """Evaluate what a return accepts; its value becomes ``_`` unless it is ``None``."""
        return self._remembering(expression, super().evaluate)

    def peek(self, expression: str) -> Any:
        """Evaluate like :meth:`evaluate`, and leave ``_`` as it is."""
        before = dict_get(self._base, LAST, MISSING)
        try:
            return self.evaluate(expression)
        finally:
            self._set_last(before)

    def _remembering(self, source: str, run: Any, **options: Any) -> Any:
        before = dict_get(self._base, LAST, MISSING)
        owned = dict_has(self._scope, LAST)
        value: Any = None
        try:
            value = run(source, **options)
            return value
        finally:
            if not owned and dict_has(self._scope, LAST) and not _BINDS.search(source):
                dict_del(self._scope, LAST)
            kept = value is None or asks_text(source)
            self._set_last(before if kept else value)

    def _set_last(self, value: Any) -> None:
        if value is not MISSING:
            dict_set(self._base, LAST, value)
        elif dict_has(self._base, LAST):
            dict_del(self._base, LAST)

    def use_model(self, model: str) -> None:
        """Choose another model for what follows. Raises ``ConfigurationError``."""
        agents = make_config(self.config.agents, model=model)
        self.config = replace(self.config, agents=agents)
        self._interpreter.config = agents

    @contextmanager
    def without_last(self) -> Generator[None]:
        """Leave the last result out, as saving does."""
        value = dict_get(self._base, LAST, MISSING)
        self._set_last(MISSING)
        try:
            yield
        finally:
            self._set_last(value)

    def binding(self, name: str) -> BindingView | None:
        """The session's own binding of a name."""
        return next((view for view in self.bindings() if view.name == name), None)

    def look_up(self, expression: str) -> Any:
        """What a Python expression names, read without running anything; or ``MISSING``.

        Names, attributes and keys only. An attribute that would have to be computed is missing.
        """
        from kedi.session.pyresolve import Resolver

        known = Resolver(self._scope, lambda _: None).resolve(expression)
        return MISSING if known is None or known.instance else known.value

    def computing_class(self, expression: str) -> str | None:
        """The class whose property keeps :meth:`look_up` from reading ``expression``, if any."""
        owner, _, name = expression.rpartition(".")
        value = self.look_up(owner) if name.isidentifier() else MISSING
        if value is MISSING or class_attribute(kind_of(value), name) is MISSING:
            return None
        return label_of(value)

    def exported(self, path: str) -> frozenset[str]:
        """Names that importing ``path`` publishes; none when there is no such module."""
        from kedi.analysis.names import ModuleProblem

        unit = self._unit("", "<names>", named=False)
        try:
            return frozenset(self._interpreter.modules.exports(path, unit).names)
        except ModuleProblem:
            return frozenset()
