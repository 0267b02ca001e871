"""Watching a running program step by step.

Subclass :class:`Observer` and attach it with ``session.observe(observer)`` or
``runtime.observe(observer)``. Methods are called on the program's thread and
may block; that is how a debugger stops a program.
"""

from __future__ import annotations

from kedi.runtime.frames import NOTHING, RunFrame, Site
from kedi.runtime.hooks import Fanout, Observer
from kedi.runtime.scopes import MISSING, Scope

__all__ = ["MISSING", "NOTHING", "Fanout", "Observer", "RunFrame", "Scope", "Site"]
