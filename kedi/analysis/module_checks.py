"""Checks of ``> import:`` and ``> export:``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedi.analysis.names import ImportCycle, ModuleBroken, ModuleExports, ModuleNotFound
from kedi.analysis.report import Place
from kedi.syntax.ast import Export, Import, Stmt

if TYPE_CHECKING:
    from kedi.analysis.checker import CheckerBase as Checker


def check_import(checker: Checker, stmt: Stmt, node: Import) -> None:
    """A module that exists, can be used, and exports what is asked for."""
    path = node.path.text
    place = Place(stmt, node.path, checker.base)
    exports: ModuleExports | None = None
    try:
        exports = checker.names.module_exports(path)
    except ModuleNotFound as error:
        tried = ", ".join(str(item) for item in error.candidates)
        reason = f": {error.reason}" if error.reason else ""
        checker.report.add(
            "module-not-found",
            f"there is no module `{path}`{reason}",
            place,
            f"tried {tried}" if tried else None,
        )
    except ImportCycle as error:
        checker.import_cycle(place, path, error)
    except ModuleBroken as error:
        checker.broken_module(place, path, error)
    checker.imports[path] = exports
    if not node.selective:
        return
    for item in checker.name_line_items(stmt):
        name = item.text
        if exports is None or not exports.complete or name in exports.names:
            continue
        if name in exports.private:
            message = f"the module `{path}` has `{name}` but does not export it"
            hint = f"add `{name}` to its `> export:` list"
        else:
            message = f"the module `{path}` exports no `{name}`"
            hint = checker.suggest(name, exports.names) or _published(exports)
        checker.report.add("not-exported", message, item.place, hint)


def _published(exports: ModuleExports) -> str:
    names = sorted(exports.names)
    if not names:
        return "it exports nothing: a module publishes only the names of its `> export:`"
    shown = ", ".join(f"`{name}`" for name in names[:8])
    return f"it exports {shown}" + (" and more" if len(names) > 8 else "")


def check_export(checker: Checker, stmt: Stmt, node: Export) -> None:
    """Names that the module declares, each exported once."""
    if node.everything:
        checker.duplicate(checker.exported, "*", Place(stmt, node, checker.base), "`> export: *`")
        return
    for item in checker.name_line_items(stmt):
        name = item.text
        checker.duplicate(checker.exported, name, item.place, f"the export of `{name}`")
        if checker.lookup(name, late=True) is not None:
            continue
        checker.report.add(
            "unknown-export",
            f"`{name}` is exported but never declared at the top level",
            item.place,
            checker.suggest(name, checker.visible())
            or "export what this module declares or imports",
        )
