"""``kedi install``: check a package and copy it into the user's registry."""

from __future__ import annotations

import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedi._version import __version__
from kedi.analysis.module_files import MAIN, MANIFEST, FileReader, default_registry, unreadable
from kedi.analysis.package import read_manifest
from kedi.cli.dependencies import unmet
from kedi.cli.registry import RECEIPT, Listing, PackageProblem, copy_tree, publish, work_folder
from kedi.errors import KediParseError
from kedi.repl import output as terminal
from kedi.runtime.directory import absolute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kedi.analysis.package import PackageManifest

RECEIPT_FORMAT = 1


def install_package(manifest_path: str | None) -> int:
    """Install the package of a manifest (a file, or a directory that holds ``package.kedi``).

    Raises :class:`KediParseError` for a manifest or main module with errors.
    """
    terminal.load_environment()
    path = Path(manifest_path or MANIFEST)
    if path.is_dir():
        path /= MANIFEST
    if not os.path.lexists(path):
        hint = "run it in the folder of a package, or name the manifest: kedi install PATH"
        terminal.complain(f"there is no package manifest `{path}`", hint)
        return 2
    try:
        manifest, place = _install(path)
    except PackageProblem as problem:
        terminal.complain(str(problem), problem.hint)
        return 1
    version = f" {manifest.version}" if manifest.version else ""
    terminal.out(f"Installed {manifest.name}{version} in {place}")
    missing = unmet(manifest.python_dependencies)
    if missing:
        command = shlex.join([sys.executable, "-m", "pip", "install", *missing])
        terminal.note(f"{manifest.name} needs Python packages that are not installed here; run:")
        terminal.err(f"  {command}")
    return 0


def _install(path: Path) -> tuple[PackageManifest, Path]:
    manifest, diagnostics = read_manifest(path)
    if manifest is None:
        raise KediParseError(diagnostics)
    _check_python(manifest)
    root = absolute(path).parent
    registry = default_registry()
    if not registry.is_absolute():
        raise PackageProblem(
            f"KEDI_HOME must be an absolute path, not `{registry.parent}`",
            "otherwise what is installed would depend on the working directory",
        )
    listing = Listing.of(root, path.name, manifest.source, registry)
    _check_main(root / manifest.source / MAIN)
    with work_folder(registry) as folder:
        staged = folder / manifest.name
        digests = copy_tree(listing, staged)
        _write_receipt(staged / RECEIPT, _receipt(manifest, root, digests))
        return manifest, publish(staged, registry / manifest.name)


def _check_python(manifest: PackageManifest) -> None:
    running = sys.version_info[:2]
    if manifest.python is not None and not manifest.python.allows(running):
        here = ".".join(map(str, running))
        raise PackageProblem(
            f"{manifest.name} runs on Python {manifest.python}, and this is Python {here}",
            "run `kedi` with another Python, or ask the package's author",
        )


def _check_main(path: Path) -> None:
    """Refuse a package whose main module does not parse: it would replace one that does."""
    from kedi.syntax import parse

    try:
        text = FileReader().read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise KediParseError([unreadable(path, error)]) from None
    result = parse(text, str(path), path=str(path), mode="file")
    if result.status != "complete":
        raise KediParseError(result.diagnostics)


def _receipt(manifest: PackageManifest, root: Path, digests: Mapping[str, str]) -> dict[str, Any]:
    return {
        "format": RECEIPT_FORMAT,
        "name": manifest.name,
        "version": manifest.version,
        "source_kind": "local",
        "source_path": str(root),
        "installed_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "kedi_version": __version__,
        "files": dict(sorted(digests.items())),
    }


def _write_receipt(path: Path, content: dict[str, Any]) -> None:
    import json

    # Escapes keep the document valid for paths that are not valid Unicode.
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
