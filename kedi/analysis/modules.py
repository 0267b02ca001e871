"""What modules export, without running anything: a graph of parsed and checked modules."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path

from kedi.analysis.module_files import (
    BUNDLED,
    FileReader,
    Reader,
    candidates,
    default_registry,
    kedi_home,
    known_modules,
    path_problem,
    resolve,
    unreadable,
)
from kedi.analysis.names import (
    ImportCycle,
    Kind,
    ModuleBroken,
    ModuleExports,
    ModuleNotFound,
    ModuleProblem,
)
from kedi.diagnostics import Diagnostic
from kedi.syntax.ast import Import, Program
from kedi.syntax.nodes import Record

__all__ = [
    "BUNDLED",
    "FileReader",
    "GraphNames",
    "Module",
    "ModuleGraph",
    "Reader",
    "candidates",
    "default_registry",
    "kedi_home",
    "known_modules",
    "path_problem",
    "resolve",
    "unreadable",
]


class Module(Record):
    """A parsed module: its text's stamp, what it imports, and once checked, what it exports.

    ``broken`` are errors of reading and parsing; ``errors`` those and the ones
    of the checks. ``version`` grows whenever anything it depends on changed.
    """

    path: Path
    stamp: Hashable
    program: Program | None
    broken: tuple[Diagnostic, ...]
    imports: tuple[str, ...]
    errors: tuple[Diagnostic, ...] = ()
    version: int = 0
    key: Hashable = None
    exports: ModuleExports | None = None


class _Edge(Record):
    """An import of a module: what it resolved to, or why it did not."""

    name: str
    target: Path | ModuleProblem


class ModuleGraph:
    """Parsed and checked modules, kept as long as their files do not change.

    ``outer`` answers for names visible in every module (``env``). One graph may
    serve many programs; it is not locked: use one per thread.
    """

    def __init__(
        self,
        reader: Reader | None = None,
        *,
        registry_home: Path | None = None,
        bundled: Path | None = BUNDLED,
        outer: Callable[[str], Kind | None] = lambda _: None,
    ) -> None:
        self.reader: Reader = reader or FileReader()
        self.registry_home = registry_home if registry_home is not None else default_registry()
        self.bundled = bundled
        self.outer = outer
        self._modules: dict[Path, Module] = {}

    def resolve(self, path: str, base_dir: Path | None) -> Path:
        """The file a module path means. Raises :class:`ModuleNotFound`."""
        return resolve(path, base_dir, self.registry_home, self.bundled)

    def exports(
        self, path: str, base_dir: Path | None, importing: Sequence[Path] = ()
    ) -> ModuleExports:
        """What ``> import: path`` publishes; ``importing`` are the files on the way to it.

        Raises a :class:`ModuleProblem`.
        """
        return self.exports_of(self.resolve(path, base_dir), importing)

    def exports_of(self, path: Path, importing: Sequence[Path] = ()) -> ModuleExports:
        """What the module in a file publishes.

        Raises :class:`ImportCycle` or :class:`ModuleBroken`.
        """
        module = self.module(path, importing)
        if module.exports is None:
            raise ModuleBroken(module.errors)
        return module.exports

    def module(self, path: Path, importing: Sequence[Path] = ()) -> Module:
        """The module of a file, it and everything below it loaded and checked.

        A broken module has ``errors`` and no ``exports``. Raises :class:`ImportCycle`.
        """
        trail = [_identity(item) for item in importing]
        root = _identity(path)
        if root in trail:
            raise ImportCycle([*trail[trail.index(root) :], root])
        done: set[Path] = set()
        first = self._load(root)
        stack: list[tuple[Module, list[_Edge], int]] = [(first, self._edges(first), 0)]
        trail.append(root)
        while stack:
            module, edges, index = stack.pop()
            if index == len(edges):
                self._finish(module, edges)
                done.add(module.path)
                trail.pop()
                continue
            stack.append((module, edges, index + 1))
            target = edges[index].target
            if not isinstance(target, Path) or target in done:
                continue
            if target in trail:
                raise ImportCycle([*trail[trail.index(target) :], target])
            inner = self._load(target)
            stack.append((inner, self._edges(inner), 0))
            trail.append(target)
        return self._modules[root]

    def _load(self, path: Path) -> Module:
        known = self._modules.get(path)
        try:
            stamp = self.reader.stamp(path)
            if known is not None and known.stamp == stamp:
                return known
            text = self.reader.read(path)
        except (OSError, UnicodeDecodeError) as error:
            broken = Module(path, None, None, (unreadable(path, error),), ())
            return self._keep(broken, known)
        from kedi.syntax import parse

        result = parse(text, str(path), path=str(path), mode="file")
        errors = result.diagnostics if result.status != "complete" else ()
        imports = tuple(dict.fromkeys(_import_paths(result.program)))
        return self._keep(Module(path, stamp, result.program, errors, imports), known)

    def _keep(self, module: Module, known: Module | None) -> Module:
        module.version = known.version + 1 if known is not None else 0
        self._modules[module.path] = module
        return module

    def _edges(self, module: Module) -> list[_Edge]:
        edges: list[_Edge] = []
        for name in module.imports:
            try:
                edges.append(_Edge(name, _identity(self.resolve(name, module.path.parent))))
            except ModuleProblem as error:
                edges.append(_Edge(name, error))
        return edges

    def _finish(self, module: Module, edges: Sequence[_Edge]) -> None:
        """Check a module whose imports are finished, unless nothing it depends on changed."""
        key = tuple(
            (edge.name, edge.target, self._modules[edge.target].version)
            if isinstance(edge.target, Path)
            else (edge.name, None, -1)
            for edge in edges
        )
        if module.key == key:
            return
        if module.key is not None:
            module.version += 1
        module.key = key
        module.exports = None
        module.errors = module.broken
        if module.program is None or module.broken:
            return
        targets = {edge.name: edge.target for edge in edges}
        from kedi.analysis.checks import compile_errors
        from kedi.analysis.exports import module_exports

        names = _Below(self, targets)
        module.errors = tuple(compile_errors(module.program, names))
        if not module.errors:
            module.exports = module_exports(module.program, module.path, names)

    def finished(self, path: Path) -> ModuleExports:
        """Exports of a module that this graph has checked. Raises :class:`ModuleBroken`."""
        module = self._modules[path]
        if module.exports is None:
            raise ModuleBroken(module.errors)
        return module.exports


class _Below:
    """Names for checking a module whose imports are already finished."""

    def __init__(self, graph: ModuleGraph, targets: dict[str, Path | ModuleProblem]) -> None:
        self.graph = graph
        self.targets = targets

    def kind_of(self, name: str) -> Kind | None:
        return self.graph.outer(name)

    def all_names(self) -> Iterable[str]:
        return ()

    def module_exports(self, path: str) -> ModuleExports:
        target = self.targets.get(path) or ModuleNotFound((), "unknown module")
        if isinstance(target, ModuleProblem):
            raise target
        return self.graph.finished(target)


class GraphNames:
    """Names for a program in ``base_dir``: modules from a graph, other names by a function.

    ``importing`` is the program's own file, if it has one: a module that
    imports it back is a cycle.
    """

    def __init__(
        self,
        graph: ModuleGraph,
        base_dir: Path | None,
        importing: Path | None = None,
        kinds: Mapping[str, Kind] | None = None,
    ) -> None:
        self.graph = graph
        self.base_dir = base_dir
        self.importing = (importing,) if importing is not None else ()
        self.kinds: Mapping[str, Kind] = kinds or {}

    def kind_of(self, name: str) -> Kind | None:
        """The kind given for ``name``, or what is visible in every module."""
        return self.kinds.get(name) or self.graph.outer(name)

    def all_names(self) -> Iterable[str]:
        """Names whose kinds were given."""
        return self.kinds.keys()

    def module_exports(self, path: str) -> ModuleExports:
        """What ``> import: path`` publishes. Raises a :class:`ModuleProblem`."""
        return self.graph.exports(path, self.base_dir, self.importing)

    def modules(self) -> list[str]:
        """Paths that can be imported from ``base_dir``, for completion."""
        return known_modules(self.base_dir, self.graph.registry_home, self.graph.bundled)


def _identity(path: Path) -> Path:
    """One path per file, so that a cycle through links is seen as one."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def _import_paths(program: Program) -> Iterable[str]:
    for stmt, _ in program.walk():
        if isinstance(stmt.node, Import):
            yield stmt.node.path.text
