"""Where a statement or directive can stand."""

from __future__ import annotations

from typing import Literal

Place = Literal["top", "fragment", "block", "procedure", "inner", "profile", "test", "eval"]
"""The top level of a file or of a fragment, a block outside procedures, directly in a
procedure, a block inside one, a profile, a suite."""

CODE_PLACES: frozenset[Place] = frozenset({"top", "fragment", "block", "procedure", "inner"})
"""Places of statements; in the others only directives can stand."""

ALL_PLACES: frozenset[Place] = CODE_PLACES.union({"profile", "test", "eval"})
