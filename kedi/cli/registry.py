"""Copying a package's files into the registry: bounded, contained, all or nothing."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kedi.analysis.module_files import MANIFEST

RECEIPT = ".kedi-install.json"
MAX_FILES = 5_000
MAX_BYTES = 200_000_000
MAX_DEPTH = 40

_CHUNK = 1 << 20
_STALE_SECONDS = 3600.0
_PREFIX = ".install-"
_SKIPPED_DIRECTORIES = frozenset({"__pycache__", "node_modules"})
_SKIPPED_SUFFIXES = (".pyc", ".pyo")


class PackageProblem(Exception):
    """A package that cannot be installed. ``hint`` says what to do."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Listing:
    """Files to copy: the manifest, and the source tree as ``(real file, path in the package)``.

    Hidden entries (``.git``, ``.env``, ``.venv`` …), Python's caches and
    ``node_modules`` are left out. Links to files and directories inside the
    package are followed and become copies.
    """

    manifest: Path
    files: tuple[tuple[Path, str], ...]

    @classmethod
    def of(cls, root: Path, manifest: str, source: str, registry: Path) -> Listing:
        """List a package. Raises :class:`PackageProblem` for what may not be copied."""
        real_root = root.resolve()
        manifest_path = root / manifest
        if manifest_path.is_symlink():
            raise PackageProblem(f"the manifest `{manifest_path}` is a link", "use a real file")
        top = root / source
        real_top = top.resolve()
        if registry.resolve().is_relative_to(real_top):
            raise PackageProblem(
                f"the Kedi home lies inside the package's source `{top}`",
                "move one of them, or set KEDI_HOME to another folder",
            )
        walk = _Walk(real_root)
        prefix = "" if source == "." else f"{source}/"
        walk.directory(top, prefix, 0, frozenset({real_top}))
        # With the source "." the manifest is in the tree; it is copied under its own name.
        own = {manifest, MANIFEST}
        return cls(manifest_path, tuple(item for item in walk.files if item[1] not in own))


class _Walk:
    def __init__(self, real_root: Path) -> None:
        self.real_root = real_root
        self.files: list[tuple[Path, str]] = []
        self.total = 0

    def directory(self, path: Path, prefix: str, depth: int, above: frozenset[Path]) -> None:
        """List a directory; ``above`` are the real directories on the way to it."""
        if depth > MAX_DEPTH:
            raise PackageProblem(f"`{path}` is nested more than {MAX_DEPTH} directories deep")
        try:
            names = sorted(item.name for item in path.iterdir())
        except OSError as error:
            raise PackageProblem(f"`{path}` cannot be read: {error.strerror or error}") from None
        for name in names:
            if name.startswith(".") or name in _SKIPPED_DIRECTORIES:
                continue
            if not name.endswith(_SKIPPED_SUFFIXES):
                self.entry(path / name, f"{prefix}{name}", depth, above)

    def entry(self, path: Path, inner: str, depth: int, above: frozenset[Path]) -> None:
        try:
            if path.is_symlink() and not path.resolve(strict=True).is_relative_to(self.real_root):
                raise PackageProblem(
                    f"the link `{path}` leads out of the package, to `{path.resolve()}`",
                    "copy what it points at into the package",
                )
            info = path.stat()
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "the links go in a circle"
            raise PackageProblem(f"`{path}` cannot be read: {reason or error}") from None
        if stat.S_ISDIR(info.st_mode):
            real = path.resolve()
            if real in above:
                raise PackageProblem(
                    f"the link `{path}` leads to a directory it is in", "remove it"
                )
            self.directory(path, f"{inner}/", depth + 1, above | {real})
        elif stat.S_ISREG(info.st_mode):
            self.file(path, inner, info.st_size)
        else:
            raise PackageProblem(f"`{path}` is neither a file nor a directory", "remove it")

    def file(self, path: Path, inner: str, size: int) -> None:
        self.files.append((path, inner))
        self.total += size
        if len(self.files) > MAX_FILES:
            raise PackageProblem(f"the package has more than {MAX_FILES:,} files")
        if self.total > MAX_BYTES:
            raise PackageProblem(f"the package is larger than {MAX_BYTES:,} bytes")


@contextmanager
def work_folder(registry: Path) -> Generator[Path]:
    """A folder beside the installed packages, removed afterwards with all that is in it."""
    try:
        registry.mkdir(parents=True, exist_ok=True)
        _remove_stale(registry)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=registry))
    except OSError as error:
        raise PackageProblem(
            f"the registry `{registry}` cannot be written: {error.strerror or error}",
            "set KEDI_HOME to a folder that can",
        ) from None
    try:
        yield folder
    except OSError as error:
        raise PackageProblem(
            f"the package could not be copied to `{registry}`: {error.strerror or error}",
            "nothing was changed",
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale(registry: Path) -> None:
    """Remove what an installation that was killed left behind; younger ones may be at work."""
    for old in registry.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(old, ignore_errors=True)


def copy_tree(listing: Listing, target: Path) -> dict[str, str]:
    """Copy the files of a listing; ``{path in the package: "sha256:…"}`` of what was written."""
    target.mkdir()
    digests: dict[str, str] = {}
    total = 0
    for path, inner in [(listing.manifest, MANIFEST), *listing.files]:
        destination = target / inner
        destination.parent.mkdir(parents=True, exist_ok=True)
        digest, size = _copy(path, destination)
        digests[inner] = f"sha256:{digest}"
        total += size
        if total > 2 * MAX_BYTES:
            raise PackageProblem("the package grew while it was copied")
    return digests


def _copy(source: Path, destination: Path) -> tuple[str, int]:
    digest = hashlib.sha256()
    size = 0
    with source.open("rb") as reader, destination.open("xb") as writer:
        while chunk := reader.read(_CHUNK):
            digest.update(chunk)
            writer.write(chunk)
            size += len(chunk)
            if size > 2 * MAX_BYTES:
                raise PackageProblem(f"`{source}` grew while it was copied")
        writer.flush()
        os.fsync(writer.fileno())
    return digest.hexdigest(), size


def publish(staged: Path, target: Path) -> Path:
    """Put a complete copy in the place of ``target``; what was there goes where it came from."""
    if target.is_symlink() or (target.exists() and not (target / RECEIPT).is_file()):
        raise PackageProblem(
            f"`{target}` was not put there by `kedi install`", "move it away, then install again"
        )
    if not os.path.lexists(target):
        try:
            staged.rename(target)
            return target
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            # Another installation was faster: replace what it made.
    if not _exchange(staged, target):
        _swap(staged, target)
    return target


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two directories in one step, where the system can."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0


def _swap(staged: Path, target: Path) -> None:
    """Two renames, the first undone when the second fails."""
    old = staged.with_name(f"{staged.name}.old")
    target.rename(old)
    try:
        staged.rename(target)
    except OSError:
        old.rename(target)
        raise
