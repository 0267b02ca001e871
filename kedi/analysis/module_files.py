"""Where module files are: the order of search, reading, and what can be imported.

Order of search, as documented: next to the importing file, modules bundled
with Kedi, installed packages. ``name`` of a package is its ``main.kedi``,
``name/sub`` a file below its source directory. Paths never leave the place
they are looked up in.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from kedi.analysis.names import ModuleBroken, ModuleNotFound
from kedi.diagnostics import Diagnostic
from kedi.source import Span
from kedi.syntax.nodes import Record

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


class _Candidate(Record):
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
    """The file ``> import: path`` means.

    Raises :class:`ModuleNotFound` with all candidates, and :class:`ModuleBroken` for an
    installed package whose manifest says nothing usable.
    """
    problem = path_problem(path)
    if problem is not None:
        raise ModuleNotFound((), problem)
    tried: list[Path] = []
    for item in _candidates(path, base_dir, registry_home, bundled):
        tried.append(item.path)
        if item.path.name == MANIFEST:
            if registry_home is not None and item.path.parent.parent == registry_home:
                _refuse_broken(item.path)
            continue
        if not _exists(item.path):
            continue
        if item.root is not None and not is_within(item.path, item.root):
            raise ModuleNotFound(tried, f"{item.path} leads out of {item.root}")
        return item.path
    raise ModuleNotFound(tried)


def _refuse_broken(manifest: Path) -> None:
    """Raise :class:`ModuleBroken` for a manifest that is there and has faults."""
    from kedi.analysis.package import read_manifest

    if manifest.is_file():
        _, diagnostics = read_manifest(manifest)
        if diagnostics:
            raise ModuleBroken(diagnostics)


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


# ── Listing ───────────────────────────────────────────────────────────────────

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
