"""Completion from a live session: one engine for terminals, debug consoles and editors.

Candidates come from the text in front of the cursor (declarations that have
not run yet), from the session's bindings, and from the tables of the language.
User code never runs and nothing is waited for: objects are read statically.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from kedi.agents.registry import available
from kedi.analysis.completion import visible
from kedi.analysis.cursor import Cursor, cursor_at
from kedi.analysis.directive_values import CAPABILITIES
from kedi.analysis.module_files import BUNDLED, default_registry, known_modules
from kedi.analysis.names import Kind, ModuleProblem, Names
from kedi.analysis.queries import describe
from kedi.analysis.resolve import analyze
from kedi.analysis.symbols import Declaration
from kedi.analysis.types import BUILTIN_TYPES
from kedi.analysis.view import Analysis, Options
from kedi.runtime.directory import working_directory
from kedi.runtime.imports import ScopeNames
from kedi.runtime.scopes import MISSING, Scope, dict_get
from kedi.runtime.types import is_type_like
from kedi.session.candidates import Candidate, CompletionKind
from kedi.session.inspect import type_of, view_kind
from kedi.session.pycomplete import complete_python
from kedi.session.pyresolve import Resolver, declared_parameters
from kedi.session.signatures import class_text, function_text, parameters_of, signature_of
from kedi.session.static import is_real
from kedi.syntax.directives import DIRECTIVES, DirectiveSpec

if TYPE_CHECKING:
    from kedi.runtime.frames import Unit
    from kedi.runtime.interpreter import Interpreter
    from kedi.syntax.ast import Program


@dataclass(frozen=True, slots=True)
class Completion:
    """One thing that may be typed.

    ``insert_text`` takes the place of ``text[replace_start:replace_end]``.
    ``detail`` is a type, a signature or a short explanation. ``sort`` orders
    completions as text. A completion of kind ``argument`` only informs: it says
    which argument is expected and inserts nothing.
    """

    label: str
    kind: CompletionKind
    detail: str
    insert_text: str
    replace_start: int
    replace_end: int
    sort: str


def complete(
    interpreter: Interpreter,
    scope: Scope,
    text: str,
    cursor: int,
    *,
    directory: Path | None = None,
    mode: Literal["file", "fragment"] = "fragment",
    memory: Memory | None = None,
) -> list[Completion]:
    """What may be typed in ``text`` at the offset ``cursor``, best first.

    ``scope`` is the live scope; ``directory`` the base of module paths (the
    working directory when not given). Offsets outside the text are clamped.
    Give the same ``memory`` with each keystroke: then only what changed costs.
    """
    cursor = min(max(0, cursor), len(text))
    memory = memory or Memory()
    place = cursor_at(text[:cursor], mode=mode, previous=memory.program)
    memory.program = place.program
    request = _Request(
        interpreter, scope, place, text[cursor:], directory or working_directory(), mode, memory
    )
    prefix = place.prefix
    found: dict[str, Completion] = {}
    for item in request.candidates():
        width = len(prefix) if item.prefix is None else item.prefix
        word = text[cursor - width : cursor]
        if item.label in found or not _fits(item, word):
            continue
        insert = item.label if item.insert is None else item.insert
        case = 0 if item.label.startswith(word) else 1
        sort = f"{item.rank}{case}{item.order:03}{item.label.lower()}"
        found[item.label] = Completion(
            item.label, item.kind, item.detail, insert, cursor - width, cursor, sort
        )
    return sorted(found.values(), key=lambda item: (item.sort, item.label))


class Memory:
    """What the last completion found out about a text that is being typed."""

    __slots__ = ("analysis", "program", "surroundings")

    def __init__(self) -> None:
        self.program: Program | None = None
        self.analysis: Analysis | None = None
        self.surroundings: tuple[Scope, Path] | None = None

    def analyze(
        self, program: Program, interpreter: Interpreter, scope: Scope, directory: Path
    ) -> Analysis:
        """Analyse the text in front of the cursor, taking over what did not change."""
        last = self.analysis
        if last is None or self.surroundings != (scope, directory):
            last = None
            names: Names = ScopeNames(interpreter, scope, _unit(directory))
        else:
            names = last.names
        # What has run since may have imported a module, and so bound other names.
        options = Options(version=len(interpreter.units), lint=False)
        self.analysis = analyze(program, names, last, options)
        self.surroundings = scope, directory
        return self.analysis


def _unit(directory: Path) -> Unit:
    """Stands for the text in front of the cursor, as the source of imports."""
    from kedi.runtime.frames import Unit
    from kedi.source import SourceFile

    return Unit(SourceFile("<completion>", "", None), "fragment", str(directory))


def _fits(item: Candidate, word: str) -> bool:
    if item.kind == "argument":
        return True
    label = item.label
    if not label.lower().startswith(word.lower()):
        return False
    if label.startswith("_") and item.kind not in ("key", "parameter"):
        return word.startswith("__" if label.startswith("__") else "_")
    return True


class _Request:
    """One question: where the cursor is, and where candidates come from."""

    def __init__(
        self,
        interpreter: Interpreter,
        scope: Scope,
        place: Cursor,
        after: str,
        directory: Path,
        mode: Literal["file", "fragment"],
        memory: Memory,
    ) -> None:
        self.interpreter = interpreter
        self.scope = scope
        self.place = place
        self.after = after
        self.directory = directory
        self.mode: Literal["file", "fragment"] = mode
        self.memory = memory
        self._declared: dict[str, Declaration] | None = None

    def candidates(self) -> Iterator[Candidate]:
        place = self.place
        match place.kind:
            case "nothing":
                return
            case "python" | "statement":
                yield from self._python(place.code)
            case "name" | "target":
                yield from self._names()
            case "argument":
                yield from self._argument()
            case "type":
                yield from self._types()
            case "directive":
                yield from self._directives()
            case "value":
                yield from self._directive_value()
            case "setting":
                for item in place.spec.fields if place.spec else ():
                    yield Candidate(item.name, "setting", item.summary, 1, f"{item.name}: ")
            case "setting-value":
                if place.field is not None:
                    words = place.field.words or _FLAGS.get(place.field.kind, ())
                    yield from (Candidate(word, "word", place.field.summary) for word in words)
            case "list":
                yield from self._listed()
            case "module":
                yield from self._modules()
            case "suite":
                yield from self._names("procedure")

    # ── names ────────────────────────────────────────────────────────────────

    def declared(self) -> dict[str, Declaration]:
        """What the text before the cursor declares, by name, nearest first."""
        if self._declared is None:
            self._declared = {}
            program = self.place.program
            if program is not None:
                analysis = self.memory.analyze(
                    program, self.interpreter, self.scope, self.directory
                )
                for item in visible(analysis, self.place.line, self.place.column):
                    self._declared.setdefault(item.name, item)
        return self._declared

    def _names(self, *kinds: str) -> Iterator[Candidate]:
        """Names of the text, then those of the scope and the scopes around it."""
        for name, item in self.declared().items():
            if not kinds or item.kind in kinds:
                yield Candidate(name, _kind_of(item.kind), describe(item), 1)
        for name, value in self._bound():
            kind: CompletionKind = "promise" if value is MISSING else view_kind(value)
            if kind == "python" and is_real(value, ModuleType):
                kind = "module"
            if not kinds or kind in kinds:
                yield Candidate(name, kind, _detail(value), 2)

    def _bound(self) -> Iterator[tuple[str, Any]]:
        """Visible bindings that fit, inner ones first; a pending name has no value yet."""
        prefix = self.place.prefix.lower()
        for part in self.scope.chain():
            for name in part.own_names():
                if name.lower().startswith(prefix):
                    yield name, dict_get(part, name, MISSING)

    def _python(self, code: str) -> Iterator[Candidate]:
        declared = self.declared()
        resolver = Resolver(self.scope, declared.get, code)
        yield from complete_python(code, resolver, self._names, self.after)

    def _argument(self) -> Iterator[Candidate]:
        name, index = self.place.owner, self.place.index
        item = self.declared().get(name)
        if item is not None:
            texts = [text for _, text in declared_parameters(item)]
            whole = describe(item)
        else:
            owner = self.scope.owner_of(name)
            value = MISSING if owner is None else dict_get(owner, name, MISSING)
            parameters = parameters_of(value) if value is not MISSING else None
            if parameters is None:
                return
            texts = [one.text for one in parameters if one.kind != "keyword"]
            whole = f"{name}{signature_of(value)}"
        if index < len(texts):
            yield Candidate(texts[index], "argument", whole, 0, "", 0)

    # ── types ────────────────────────────────────────────────────────────────

    def _types(self) -> Iterator[Candidate]:
        if self.place.code.removesuffix(self.place.prefix).endswith("."):
            yield from self._python(self.place.code)
            return
        for name, item in self.declared().items():
            if item.kind in ("type", "python", "module"):
                yield Candidate(name, item.kind, describe(item), 1)
        for name, value in self._bound():
            if value is not MISSING and _names_type(value):
                yield Candidate(name, view_kind(value), _detail(value), 1)
        for name in sorted(BUILTIN_TYPES):
            yield Candidate(name, "type", "built-in type", 2)

    # ── directives ───────────────────────────────────────────────────────────

    def _directives(self) -> Iterator[Candidate]:
        before = self.place.before
        text = before.text.lstrip(" \t").replace(" ", "") if before is not None else ""
        for spec in DIRECTIVES.values():
            if self.place.place not in spec.places:
                continue
            if spec.name == "else" and not text.startswith(">if"):
                continue
            if spec.name == "map" and not text.startswith(">loop["):
                continue
            yield Candidate(spec.name, "directive", spec.summary, 1, _opening(spec))

    def _directive_value(self) -> Iterator[Candidate]:
        spec = self.place.spec
        if spec is None:
            return
        if spec.name in ("adapter", "agent"):
            kind = "agent-framework" if spec.name == "adapter" else "agent-harness"
            yield from (Candidate(name, "word", spec.summary) for name in available(kind))
        elif spec.name == "use":
            yield from self._names("procedure", "profile", "python")
            yield Candidate("skills", "word", "project skills")
        elif spec.name == "subagent":
            yield from self._names("profile")
        elif spec.name == "requires":
            word = self.place.prefix.replace(",", " ").rpartition(" ")[2]
            yield from (Candidate(name, "word", prefix=len(word)) for name in CAPABILITIES)
        else:
            words = spec.words or _FLAGS.get(spec.value, ())
            yield from (Candidate(word, "word", spec.summary) for word in words)

    def _listed(self) -> Iterator[Candidate]:
        name = self.place.spec.name if self.place.spec is not None else ""
        if name == "import":
            try:
                exports = self.interpreter.modules.exports(self.place.owner, _unit(self.directory))
            except ModuleProblem:
                return
            for label, item in exports.names.items():
                yield Candidate(label, _kind_of(item.kind), item.detail)
        elif name == "requires":
            yield from (Candidate(item, "word") for item in CAPABILITIES)
        elif name == "export":
            for label, item in self.declared().items():
                yield Candidate(label, "value", describe(item))
        else:
            yield from self._names("procedure", "python")

    def _modules(self) -> Iterator[Candidate]:
        for path in known_modules(self.directory, default_registry(), BUNDLED):
            yield Candidate(path, "path")


_FLAGS: dict[str, tuple[str, ...]] = {"flag": ("enabled", "disabled", "true", "false")}


def _opening(spec: DirectiveSpec) -> str:
    """What stands after ``>`` when the directive is chosen."""
    only_block = spec.form == "none" or (spec.form == "text" and spec.block == "always")
    return f"{spec.name}:" if only_block else f"{spec.name}: "


def _kind_of(kind: Kind) -> CompletionKind:
    return "value" if kind == "parameter" else kind


def _names_type(value: Any) -> bool:
    return view_kind(value) in ("type", "python") and is_type_like(value)


def _detail(value: Any) -> str:
    """A few words on a bound value: its signature or the name of its type."""
    if value is MISSING:
        return "not there yet"
    if is_real(value, type):
        return class_text(value)
    kind = view_kind(value)
    if kind in ("procedure", "python") and type(value).__name__ == "function":
        return function_text(value)
    return type_of(value)


__all__ = ["Completion", "CompletionKind", "Memory", "complete"]
