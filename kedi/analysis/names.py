"""What analysis may ask about names that the program in hand does not declare itself.

A session answers for its earlier fragments, a compiler for ``env`` values, a
language server for open documents. Analysis asks only on demand, so answering
may be lazy; it never runs or imports user code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol

from kedi.diagnostics import Diagnostic
from kedi.source import Span
from kedi.syntax.nodes import ValueRecord

Kind = Literal["value", "parameter", "procedure", "type", "profile", "python", "module"]


class Exported(ValueRecord):
    """One published name: what it is, where it is declared, its signature or type if known.

    ``span`` is the declaration in the module that really declares the name, also
    when another module re-exports it; ``None`` when that is not a Kedi source.
    """

    kind: Kind
    span: Span | None = None
    detail: str = ""
    docstring: str = ""


_NO_EXPORTS: Mapping[str, Exported] = MappingProxyType({})


class ModuleExports(ValueRecord):
    """What importing a module publishes.

    ``complete`` is false when some names could not be determined (a module
    below it is broken): then a name that is missing here is not certainly wrong.
    ``private`` are top-level names the module has but does not export.
    """

    path: Path | None
    names: Mapping[str, Exported] = _NO_EXPORTS
    private: frozenset[str] = frozenset()
    complete: bool = True


class ModuleProblem(Exception):
    """Base of the reasons why a module cannot be imported."""


class ModuleNotFound(ModuleProblem):
    """No candidate file exists; ``candidates`` lists every place tried, in order."""

    def __init__(self, candidates: Sequence[Path | str], reason: str = "") -> None:
        self.candidates = tuple(candidates)
        self.reason = reason
        super().__init__(reason or "module not found")


class ImportCycle(ModuleProblem):
    """Modules that import each other; ``paths`` is the cycle, its first module repeated last."""

    def __init__(self, paths: Sequence[Path | str]) -> None:
        self.paths = tuple(paths)
        super().__init__(" -> ".join(cycle_labels(self.paths)))


class ModuleBroken(ModuleProblem):
    """A module that was found but cannot be used; ``diagnostics`` say why (never empty)."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics[0].message)


def cycle_labels(paths: Sequence[Path | str]) -> list[str]:
    """Short names for the modules of a cycle: stems, or whole paths when stems collide."""
    stems = [Path(path).stem for path in paths]
    clear = len(set(stems)) == len({str(path) for path in paths})
    return stems if clear else [str(path) for path in paths]


class Names(Protocol):
    """Names visible to a program from outside of it."""

    def kind_of(self, name: str) -> Kind | None:
        """What ``name`` is before the program starts, ``None`` when nothing binds it."""
        ...

    def all_names(self) -> Iterable[str]:
        """Every such name, for suggestions only; may be slow."""
        ...

    def module_exports(self, path: str) -> ModuleExports:
        """What ``> import: path`` publishes. Raises a :class:`ModuleProblem`."""
        ...


class NoNames:
    """Nothing is visible from outside and no module can be found."""

    def kind_of(self, name: str) -> Kind | None:
        """Always ``None``."""
        return None

    def all_names(self) -> Iterable[str]:
        """Nothing."""
        return ()

    def module_exports(self, path: str) -> ModuleExports:
        """Raise :class:`ModuleNotFound`: there is no place to look in."""
        raise ModuleNotFound((), "modules cannot be looked up here")


_MAX_POOL = 2000


def near(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Names of ``candidates`` that ``name`` may be a slip of, best first."""
    import difflib

    limit = max(2, len(name) // 2)
    lowered = name.lower()
    letters = set(lowered)
    pool: dict[str, str] = {}
    for other in candidates:
        if other != name and abs(len(other) - len(name)) <= limit:
            low = other.lower()
            # Cheap bound before the costly comparison: most letters must be shared.
            if 2 * len(letters.intersection(low)) >= len(letters):
                pool.setdefault(low, other)
                if len(pool) >= _MAX_POOL:
                    break
    found = difflib.get_close_matches(lowered, pool, n=count, cutoff=0.6)
    return [pool[item] for item in found]


def suggestion(name: str, candidates: Iterable[str]) -> str | None:
    """A hint "did you mean …?", or ``None`` when nothing is near."""
    found = near(name, candidates)
    if not found:
        return None
    return f"did you mean {' or '.join(f'`{item}`' for item in found)}?"
