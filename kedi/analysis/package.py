"""The package manifest ``package.kedi``: one ``> package: name:`` block, checked.

``kedi install`` and the search for installed modules both read it from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kedi.analysis.report import Place, Reporter
from kedi.analysis.requirements import is_version, requirement_problem
from kedi.diagnostics import Diagnostic
from kedi.source import Span
from kedi.syntax.ast import (
    Broken,
    NameLine,
    Package,
    Program,
    Setting,
    Stmt,
    Text,
    Value,
)

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PYTHON = re.compile(r"python@(\d+)\.(\d+)(?:-(\d+)\.(\d+))?")
_WORDS = ("author", "contact", "license", "description")
_MAX_NUMBER = 5


@dataclass(frozen=True, slots=True)
class PythonRange:
    """Python versions a package runs on, both ends included, as ``(major, minor)``."""

    lowest: tuple[int, int]
    highest: tuple[int, int]

    def allows(self, version: tuple[int, int]) -> bool:
        """Whether an interpreter of that version will do."""
        return self.lowest <= version <= self.highest

    def __str__(self) -> str:
        low = ".".join(map(str, self.lowest))
        return low if self.lowest == self.highest else f"{low}-{'.'.join(map(str, self.highest))}"


@dataclass(frozen=True, slots=True)
class PackageManifest:
    """A valid manifest. ``source`` is relative to the manifest's directory, with ``/``."""

    name: str
    source: str
    version: str | None = None
    python: PythonRange | None = None
    python_dependencies: tuple[str, ...] = ()
    author: str | None = None
    contact: str | None = None
    license: str | None = None
    description: str | None = None


def read_manifest(path: Path) -> tuple[PackageManifest | None, tuple[Diagnostic, ...]]:
    """The manifest in a file, and what is wrong with it (also with the tree it describes).

    The manifest is ``None`` exactly when there are diagnostics.
    """
    from kedi.analysis.module_files import FileReader, unreadable

    try:
        text = FileReader().read(path)
    except (OSError, UnicodeDecodeError) as error:
        return None, (unreadable(path, error),)
    from kedi.syntax import parse

    result = parse(text, str(path), path=str(path), mode="file")
    if result.status != "complete":
        return None, result.diagnostics
    return check_manifest(result.program, path.parent)


def read_source(path: Path) -> str | None:
    """The source directory a manifest names, ``None`` when it has no usable one."""
    if not path.is_file():
        return None
    manifest, _ = read_manifest(path)
    return manifest.source if manifest is not None else None


def check_manifest(
    program: Program, directory: Path | None = None
) -> tuple[PackageManifest | None, tuple[Diagnostic, ...]]:
    """The manifest of a parsed ``package.kedi``; ``directory`` is where its source tree is."""
    checker = _ManifestChecker(program, directory)
    manifest = checker.run()
    found = tuple(checker.report.sorted())
    return (None if found else manifest), found


class _ManifestChecker:
    def __init__(self, program: Program, directory: Path | None) -> None:
        self.program = program
        self.directory = directory
        self.report = Reporter(program.source.name)
        self.base = 0

    def run(self) -> PackageManifest | None:
        package: Stmt | None = None
        first: Place | None = None
        for stmt, base in self.program.top_level():
            self.base = base
            place = Place(stmt, stmt.node, base)
            if isinstance(stmt.node, Broken):
                continue
            if not isinstance(stmt.node, Package):
                self.report.add(
                    "not-metadata",
                    "a package manifest holds one `> package:` block and nothing else",
                    place,
                    "move this into a module below the source directory",
                )
            elif first is not None:
                self.report.add(
                    "duplicate",
                    "a manifest describes one package",
                    place,
                    "remove one of the two blocks",
                    related=self.report.related(first, "first here"),
                )
            else:
                package, first = stmt, place
        if package is None or first is None:
            name = self.program.source.name
            self.report.found.append(
                Diagnostic(
                    "missing-package",
                    "this manifest has no `> package:` block",
                    Span(name, 1, 1, 1, 1),
                    hint="write `> package: name:` with `source: …` below it",
                )
            )
            return None
        self.base = first.base
        return self.package(package)

    def package(self, stmt: Stmt) -> PackageManifest | None:
        node = stmt.node
        assert isinstance(node, Package)
        name = node.name.text
        if not _NAME.fullmatch(name):
            self.report.add(
                "bad-package-name",
                f"`{name}` is not a package name",
                Place(stmt, node.name, self.base),
                "use lower-case letters, digits and `_`, a letter first",
            )
        values: dict[str, tuple[str, Place]] = {}
        dependencies: tuple[str, ...] = ()
        for inner in stmt.body:
            item = inner.node
            if not isinstance(item, Setting):
                continue
            key = item.name.text
            if key == "python_dependencies":
                dependencies = self.dependencies(inner, item)
            else:
                text = self.text(inner, item)
                if text is not None:
                    values[key] = (text, Place(inner, item.value or item.name, self.base))
        if not any(_is_source(inner) for inner in stmt.body):
            self.report.add(
                "missing-field",
                "a package needs a `source` directory",
                Place(stmt, node, self.base),
                "add `source: src`, a directory that holds `main.kedi`",
            )
        return self.manifest(name, values, dependencies)

    def manifest(
        self, name: str, values: dict[str, tuple[str, Place]], dependencies: tuple[str, ...]
    ) -> PackageManifest | None:
        version = values.get("version")
        if version is not None and not is_version(version[0]):
            self.report.add(
                "bad-version",
                f"`{version[0]}` is not a version (PEP 440)",
                version[1],
                "write something like `1.2.0` or `2.0rc1`",
            )
        python = self.python(*values["python"]) if "python" in values else None
        source = self.source(*values["source"]) if "source" in values else None
        if source is None:
            return None
        plain = {key: values[key][0] for key in _WORDS if key in values}
        return PackageManifest(
            name,
            source,
            version[0] if version is not None else None,
            python,
            dependencies,
            plain.get("author"),
            plain.get("contact"),
            plain.get("license"),
            plain.get("description"),
        )

    def text(self, stmt: Stmt, item: Setting) -> str | None:
        place = Place(stmt, item.value or item.name, self.base)
        text = _plain(item.value)
        if text is None:
            self.report.add(
                "bad-value",
                f"`{item.name.text}` takes plain text: a manifest computes nothing",
                place,
            )
        elif not text:
            self.report.add("missing-value", f"`{item.name.text}` has no value", place)
            return None
        return text

    def python(self, text: str, place: Place) -> PythonRange | None:
        match = _PYTHON.fullmatch(text)
        if match is None or any(len(part or "") > _MAX_NUMBER for part in match.groups()):
            self.report.add(
                "bad-python",
                f"`{text}` is not a Python requirement",
                place,
                "write `python@3.11` or `python@3.11-3.14`",
            )
            return None
        low = (int(match[1]), int(match[2]))
        high = (int(match[3]), int(match[4])) if match[3] else low
        if high < low:
            self.report.add(
                "bad-python",
                f"the range `{text}` ends before it starts",
                place,
                "put the lower version first",
            )
            return None
        return PythonRange(low, high)

    def source(self, text: str, place: Place) -> str | None:
        parts = [part for part in text.split("/") if part not in ("", ".")]
        problem = None
        if text.startswith(("/", "~", "\\")) or re.match(r"[A-Za-z]:", text):
            problem = "is not relative to the manifest"
        elif "\\" in text or "\0" in text:
            problem = "is not written with `/`"
        elif ".." in parts:
            problem = "leads out of the package"
        if problem:
            self.report.add(
                "bad-source",
                f"the source `{text}` {problem}",
                place,
                "name a directory below the manifest, such as `src`",
            )
            return None
        source = "/".join(parts) or "."
        if self.directory is not None and not self.tree(source, place):
            return None
        return source

    def tree(self, source: str, place: Place) -> bool:
        from kedi.analysis.module_files import MAIN, is_within

        assert self.directory is not None
        root = self.directory / source
        main = root / MAIN
        problem = hint = None
        try:
            if not root.is_dir():
                problem = f"there is no directory `{source}` beside the manifest"
            elif not is_within(root, self.directory):
                problem = f"the source `{source}` leads out of the package by a link"
            elif not main.is_file():
                problem = f"the source `{source}` holds no `{MAIN}`"
                hint = f"`> import: name` loads `{source}/{MAIN}`"
            elif not is_within(main, self.directory):
                problem = f"`{source}/{MAIN}` leads out of the package by a link"
        except OSError as error:
            problem = f"the source `{source}` cannot be looked at: {error.strerror or error}"
        if problem:
            self.report.add("bad-source", problem, place, hint)
        return problem is None

    def dependencies(self, stmt: Stmt, item: Setting) -> tuple[str, ...]:
        if item.value is not None and _plain(item.value) != "":
            self.report.add(
                "bad-value",
                "`python_dependencies:` is followed by one requirement a line, indented",
                Place(stmt, item.value, self.base),
            )
            return ()
        found: list[str] = []
        for text, place in self.lines(stmt):
            problem = requirement_problem(text)
            if problem:
                self.report.add(
                    "bad-requirement",
                    f"`{text}` is not a requirement (PEP 508): {problem}",
                    place,
                    "write something like `httpx[http2]>=0.27`",
                )
            else:
                found.append(text)
        return tuple(found)

    def lines(self, stmt: Stmt) -> Iterator[tuple[str, Place]]:
        for inner in stmt.body:
            place = Place(inner, inner.node, self.base)
            node = inner.node
            if isinstance(node, NameLine):
                yield node.name.text, place


def _is_source(stmt: Stmt) -> bool:
    return isinstance(stmt.node, Setting) and stmt.node.name.text == "source"


def _plain(value: Value | None) -> str | None:
    if value is None:
        return ""
    if value.kind != "text":
        return None
    parts = [part.text for part in value.parts if isinstance(part, Text)]
    return "".join(parts).strip() if len(parts) == len(value.parts) else None
