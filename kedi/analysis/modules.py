"""Finding modules and what they export, without running anything.

Order of search, as documented: next to the importing file, modules bundled
with Kedi, installed packages. ``name`` of a package is its ``main.kedi``,
``name/sub`` a file below its source directory. Paths never leave the place
they are looked up in.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kedi.analysis.names import (
    ImportCycle,
    Kind,
    ModuleBroken,
    ModuleExports,
    ModuleNotFound,
    ModuleProblem,
)
from kedi.diagnostics import Diagnostic
from kedi.source import Span
from kedi.syntax.ast import Import, Program

SUFFIX = ".kedi"
MAIN = "main.kedi"
MANIFEST = "package.kedi"
BUNDLED = Path(__file__).resolve().parent.parent / "modules"


def kedi_home() -> Path:
    """``$KEDI_HOME``, or ``~/.kedi``."""
    chosen = os.environ.get("KEDI_HOME")
    return Path(chosen).expanduser() if chosen else Path("~/.kedi").expanduser()


def default_registry() -> Path:
    """Where installed packages live: ``registry`` in the Kedi home."""
    return kedi_home() / "registry"


def path_problem(path: str) -> str | None:
    """Why ``path`` cannot name a module at all, or ``None``."""
    if not path:
        return "a module path is needed"
    if "\0" in path or "\\" in path or ":" in path:
        return "a module path is made of names and `/`"
    if path.startswith(("/", "~")):
        return "a module path is relative to the importing file"
    parts = path.split("/")
    if ".." in parts:
        return "a module path cannot leave the directory of the importing file with `..`"
    if "" in parts or "." in parts:
        return "a module path has a name between its `/`"
    if path.endswith(SUFFIX):
        return f"a module path is written without `{SUFFIX}`: `{path.removesuffix(SUFFIX)}`"
    if any(len(part.encode("utf-8", "surrogatepass")) > 200 for part in parts):
        return "a name of the module path is too long"
    return None


def candidates(
    path: str, base_dir: Path | None, registry_home: Path | None, bundled: Path | None = BUNDLED
) -> list[Path]:
    """Files that ``> import: path`` may mean, in the order they are tried.

    ``base_dir`` is the directory of the importing file. An installed package
    is asked for its source directory; one that is not installed yields the
    place where its manifest would be. Empty for a path that names no module.
    """
    return [item.path for item in _candidates(path, base_dir, registry_home, bundled)]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file to try; what it is really must lie inside ``root``, if there is one."""

    path: Path
    root: Path | None = None


def _candidates(
    path: str, base_dir: Path | None, registry_home: Path | None, bundled: Path | None
) -> list[_Candidate]:
    if path_problem(path) is not None:
        return []
    found: list[_Candidate] = []
    parts = path.split("/")
    relative = Path(*parts[:-1], parts[-1] + SUFFIX)
    if base_dir is not None:
        found.append(_Candidate(base_dir / relative, _package_root(base_dir, registry_home)))
    if bundled is not None:
        found.append(_Candidate(bundled / relative, bundled))
    if registry_home is not None:
        found.append(_installed(parts, registry_home))
    return found


def _package_root(directory: Path, registry_home: Path | None) -> Path | None:
    """The package that ``directory`` belongs to, when it is an installed one."""
    if registry_home is None:
        return None
    try:
        inside = directory.resolve().relative_to(registry_home.resolve())
    except (ValueError, OSError, RuntimeError):
        return None
    return registry_home / inside.parts[0] if inside.parts else None


def _installed(parts: Sequence[str], registry_home: Path) -> _Candidate:
    from kedi.analysis.package import read_source

    root = registry_home / parts[0]
    source = read_source(root / MANIFEST)
    if source is None:
        return _Candidate(root / MANIFEST)
    inner = Path(*parts[1:-1], parts[-1] + SUFFIX) if len(parts) > 1 else Path(MAIN)
    return _Candidate(root / source / inner, root)


def is_within(path: Path, root: Path) -> bool:
    """Whether ``path``, links followed, lies in ``root``, links followed."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def resolve(
    path: str, base_dir: Path | None, registry_home: Path | None, bundled: Path | None = BUNDLED
) -> Path:
    """The file ``> import: path`` means. Raises :class:`ModuleNotFound` with all candidates."""
    problem = path_problem(path)
    if problem is not None:
        raise ModuleNotFound((), problem)
    tried: list[Path] = []
    for item in _candidates(path, base_dir, registry_home, bundled):
        tried.append(item.path)
        if item.path.name == MANIFEST or not _exists(item.path):
            continue
        if item.root is not None and not is_within(item.path, item.root):
            raise ModuleNotFound(tried, f"{item.path} leads out of {item.root}")
        return item.path
    raise ModuleNotFound(tried)


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except PermissionError:
        # It may be there: reading it then says what is wrong.
        return True
    except (OSError, ValueError):
        return False
    return True


# ── Reading ───────────────────────────────────────────────────────────────────


class Reader(Protocol):
    """Where module texts come from: files, or a language server's open documents."""

    def stamp(self, path: Path) -> Hashable:
        """Something that changes whenever the text does. Raises ``OSError``."""
        ...

    def read(self, path: Path) -> str:
        """The text. Raises ``OSError`` or ``UnicodeDecodeError``."""
        ...


class FileReader:
    """Texts from disk; only regular files, so that a pipe or device never blocks."""

    def stamp(self, path: Path) -> Hashable:
        """Modification time and size."""
        info = path.stat()
        return info.st_mtime_ns, info.st_size, info.st_mode

    def read(self, path: Path) -> str:
        """The file's text as UTF-8, line ends as they are."""
        if not stat.S_ISREG(path.stat().st_mode):
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise OSError(f"{path} is {kind}")
        return path.read_bytes().decode("utf-8")


def unreadable(path: Path, error: OSError | UnicodeDecodeError) -> Diagnostic:
    """The diagnostic for a text that cannot be read; stands at its place, if that is known."""
    hint = None
    line = column = 1
    if isinstance(error, UnicodeDecodeError):
        before = error.object[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        message = f"{path} is not UTF-8: byte 0x{error.object[error.start]:02x} at {line}:{column}"
        hint = "save the file as UTF-8"
    elif path.is_dir():
        message = f"{path} is a directory, not a file"
    else:
        message = f"{path} cannot be read: {error.strerror or error}"
    return Diagnostic("unreadable", message, Span(str(path), line, column, line, column), hint=hint)


# ── Graph ─────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Module:
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


@dataclass(frozen=True, slots=True)
class _Edge:
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


_MAX_KNOWN = 1000
_MAX_DEPTH = 4


def known_modules(
    base_dir: Path | None, registry_home: Path | None, bundled: Path | None = BUNDLED
) -> list[str]:
    """Module paths that can be imported, at most a thousand; hidden directories are left out."""
    found: dict[str, None] = {}
    for root in (base_dir, bundled):
        if root is not None:
            found.update((path, None) for path in _below(root))
    if registry_home is not None:
        for package in _listdir(registry_home):
            from kedi.analysis.package import read_source

            source = read_source(package / MANIFEST)
            if source is not None:
                found[package.name] = None
                for path in _below(package / source):
                    if path != "main":
                        found[f"{package.name}/{path}"] = None
    return [path for path in found if path_problem(path) is None][:_MAX_KNOWN]


def _below(root: Path) -> Iterator[str]:
    stack = [(root, "", 0)]
    count = 0
    while stack and count < _MAX_KNOWN:
        directory, prefix, depth = stack.pop()
        for entry in _listdir(directory):
            name = entry.name
            if name.startswith(".") or name == MANIFEST:
                continue
            if name.endswith(SUFFIX) and entry.is_file():
                count += 1
                yield prefix + name.removesuffix(SUFFIX)
            elif depth < _MAX_DEPTH and not entry.is_symlink() and entry.is_dir():
                stack.append((entry, f"{prefix}{name}/", depth + 1))


def _listdir(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())[:_MAX_KNOWN]
    except OSError:
        return []


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
