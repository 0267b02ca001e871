"""What nested scopes need for what Python looks up past their ``__missing__``."""

from __future__ import annotations

import builtins
from typing import Any

from kedi.runtime.scopes import MISSING, Scope, dict_get, dict_has, dict_set

_BUILTINS: dict[str, Any] = builtins.__dict__


class BuiltinsBridge(dict[str, Any]):
    """Builtins that first look in the enclosing scopes.

    Python resolves names in class bodies and in ``eval``/``exec`` strings by
    looking into the globals dict directly, without ``__missing__``, and then in
    the builtins. Putting this bridge under ``__builtins__`` of a nested scope
    makes enclosing names visible there too.
    """

    __slots__ = ("scope",)

    scope: Scope

    def __missing__(self, key: str) -> Any:
        value = self.scope.lookup(key)
        return _BUILTINS[key] if value is MISSING else value


def bridge_builtins(scope: Scope) -> None:
    """Install a :class:`BuiltinsBridge` in a nested scope, once."""
    if scope.parent is None or isinstance(dict_get(scope, "__builtins__"), BuiltinsBridge):
        return
    # __import__ and __build_class__ are read from the dict itself by some Pythons.
    bridge = BuiltinsBridge(
        __import__=builtins.__import__, __build_class__=builtins.__build_class__
    )
    bridge.scope = scope
    dict_set(scope, "__builtins__", bridge)


def name_module(scope: Scope) -> None:
    """Let functions and classes made in a nested scope know their module by name."""
    if not dict_has(scope, "__name__"):
        dict_set(scope, "__name__", scope.lookup("__name__"))
