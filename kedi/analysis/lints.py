"""Warnings and hints about one chunk: what is legal, but most likely not meant."""

from __future__ import annotations

import builtins
from itertools import chain
from typing import TYPE_CHECKING

from kedi.analysis.calls import check_call
from kedi.analysis.checker import MAX_GUESSES
from kedi.analysis.compatible import accepts
from kedi.analysis.names import suggestion
from kedi.analysis.secrets import find_secrets
from kedi.analysis.symbols import (
    ChunkFacts,
    Declaration,
    LocalScope,
    Range,
    Reference,
    TypedValue,
)
from kedi.diagnostics import Diagnostic, Related, Severity, Tag
from kedi.syntax.ast import Field, Import, Init, RawCall

if TYPE_CHECKING:
    from kedi.analysis.view import Analysis

_PYTHON_NAMES = frozenset(dir(builtins)) | {
    "__name__",
    "__file__",
    "__builtins__",
    "__annotations__",
}


# Of one statement; more tell nobody anything.
_MOST = 500


class Lint:
    """Collects the lints of one chunk, placed relative to it."""

    def __init__(self, analysis: Analysis, index: int) -> None:
        self.analysis = analysis
        self.index = index
        self.facts: ChunkFacts = analysis.facts[index]
        self.name = analysis.program.source.name
        self.found: list[Diagnostic] = []
        self.lines: list[str] | None = None
        self.hints: dict[tuple[str, int], str | None] = {}

    def add(
        self,
        code: str,
        message: str,
        place: Range,
        hint: str | None = None,
        severity: Severity = "warning",
        tags: tuple[Tag, ...] = (),
        related: tuple[Related, ...] = (),
    ) -> None:
        """Record a finding."""
        if len(self.found) >= _MOST:
            return
        if self.lines is None:
            self.lines = self.analysis.program.chunks[self.index].text.split("\n")
        text = self.lines[place.line] if place.line < len(self.lines) else ""
        span = place.span(self.name, 0)
        self.found.append(Diagnostic(code, message, span, severity, hint, text, related, tags))

    def type_of(self, scope: LocalScope, name: str, order: int, late: bool) -> str:
        """The declared type of a name where it is used, empty when unknown."""
        found = self.analysis.lookup(scope, name, order, self.index, late)
        if found is None or found[0].kind not in ("value", "parameter"):
            return ""
        return found[0].type


def chunk_lints(analysis: Analysis, index: int) -> tuple[Diagnostic, ...]:
    """Warnings and hints of one chunk, placed relative to it."""
    lint = Lint(analysis, index)
    facts = lint.facts
    for reference in facts.free:
        if reference.use in ("read", "call", "write"):
            _unknown(lint, reference)
    for reference in facts.references:
        if reference.arguments is not None:
            target = analysis.target(reference, index)
            if target is not None:
                check_call(lint, reference, target[0])
    for item in facts.typed:
        _mismatch(lint, item)
    for scope in facts.scopes[1:]:
        for items in scope.names.values():
            for item in items:
                _unused_local(lint, scope, item)
                _shadowed(lint, scope, item)
    _unused_top(lint)
    for scope in facts.scopes:
        _redefined(lint, scope)
    chunk = analysis.program.chunks[index]
    for place, message in find_secrets(chunk.text):
        lint.add(
            "likely-secret",
            message,
            place,
            "read it from the environment, such as <`os.environ['NAME']`>",
        )
    return tuple(lint.found)


# ── Names ─────────────────────────────────────────────────────────────────────


def _unknown(lint: Lint, reference: Reference) -> None:
    analysis, name = lint.analysis, reference.name
    if name == "args" or analysis.target(reference, lint.index) is not None:
        return
    local = reference.use == "write" or reference.may_be_local or name in _PYTHON_NAMES
    if reference.python and local:
        return
    if analysis.names.kind_of(name) is not None or _open(analysis, lint.index):
        return
    later = any(at >= lint.index for at in analysis.declaring(name))
    if later or any(name in scope.names for scope in reference.scope.chain()):
        lint.add(
            "used-before-binding",
            f"`{name}` is read here, but bound only later",
            reference.place,
            "move the declaration before this statement",
        )
        return
    word = "procedure" if reference.use == "call" and not reference.python else "name"
    message = f"nothing binds the {word} `{name}`"
    lint.add("unknown-name", message, reference.place, _near(lint, reference))


def _near(lint: Lint, reference: Reference) -> str | None:
    name, analysis = reference.name, lint.analysis
    key = (name, id(reference.scope))
    if key not in lint.hints:
        analysis.spent += 1
        local = (other for scope in reference.scope.chain() for other in scope.names)
        lint.hints[key] = (
            suggestion(name, chain(local, analysis.near(name)))
            if analysis.spent <= MAX_GUESSES
            else None
        )
    return lint.hints[key]


def _open(analysis: Analysis, index: int) -> bool:
    """Whether names may be bound that analysis cannot see."""
    if analysis.facts[0].prelude_open:
        return True
    return any(not item.known and at <= index for at, item in analysis.imports.items())


def _unused_local(lint: Lint, scope: LocalScope, item: Declaration) -> None:
    if item.name in scope.reads or item.name.startswith("_") or scope.open:
        return
    if item.kind == "parameter":
        what = "the parameter"
    elif item.kind in ("procedure", "type"):
        what = f"the {item.kind}"
    elif isinstance(item.node, Init | RawCall):
        what = "the binding"
    else:
        return
    lint.add(
        "unused",
        f"{what} `{item.name}` is never read",
        item.place,
        f"remove it, or call it `_{item.name}` to keep it",
        "hint",
        ("unnecessary",),
    )


def _redefined(lint: Lint, scope: LocalScope) -> None:
    """A procedure or type that replaces an earlier one of the same scope of a file."""
    if lint.analysis.program.mode != "file":
        return
    for name, items in scope.names.items():
        item = items[-1]
        if item.kind not in ("procedure", "type"):
            continue
        if len(items) > 1:
            earlier, index = items[-2], lint.index
        elif scope.kind == "top":
            found = lint.analysis.lookup_top(name, lint.index, False)
            if found is None:
                continue
            earlier, index = found
        else:
            continue
        if earlier.kind != item.kind:
            continue
        base = lint.analysis.program.lines
        if index != lint.index:
            lint.analysis.linked.add(lint.index)
        place = earlier.place.span(lint.name, base[index] - base[lint.index])
        lint.add(
            "redefined",
            f"this replaces the {item.kind} `{name}` that is defined before",
            item.place,
            "rename one of the two, if both are meant",
            related=(Related(place, "the one that is replaced"),),
        )


def _unused_top(lint: Lint) -> None:
    analysis, facts = lint.analysis, lint.facts
    node = facts.stmt.node if facts.stmt is not None else None
    if isinstance(node, Import):
        _unused_import(lint, node)
    elif isinstance(node, Init) and analysis.program.mode == "file":
        name = node.target.name.text
        if not analysis.used(name):
            lint.add(
                "unused",
                f"the binding `{name}` is never read",
                facts.top.names[name][-1].place,
                "remove it, or export it",
                "hint",
                ("unnecessary",),
            )


def _unused_import(lint: Lint, node: Import) -> None:
    analysis = lint.analysis
    imported = analysis.imports[lint.index]
    if not imported.known:
        return
    unused = [item for name, item in imported.names.items() if not analysis.used(name)]
    tags: tuple[Tag, ...] = ("unnecessary",)
    if node.selective:
        for item in unused:
            message = f"the import `{item.name}` is never used"
            lint.add("unused", message, item.place, "remove it", "hint", tags)
    elif unused and len(unused) == len(imported.names) and analysis.program.mode == "file":
        message = f"nothing of the module `{node.path.text}` is used"
        lint.add("unused", message, unused[0].place, "remove the import", "hint", tags)


def _shadowed(lint: Lint, scope: LocalScope, item: Declaration) -> None:
    """A new binding in a branch or loop where the outer one was most likely meant."""
    if scope.kind not in ("branch", "loop") or not isinstance(item.node, Init):
        return
    outer = scope.parent
    late = False
    while outer is not None and outer.kind != "top":
        items = [other for other in outer.names.get(item.name, ()) if other.order < item.order]
        if items:
            _shadow(lint, item, items[-1], lint.index)
            return
        late = late or outer.late
        outer = outer.parent
    found = lint.analysis.lookup_top(item.name, lint.index, late)
    if found is not None and found[0].kind == "value":
        _shadow(lint, item, *found)


def _shadow(lint: Lint, item: Declaration, outer: Declaration, index: int) -> None:
    if outer.kind not in ("value", "parameter"):
        return
    base = lint.analysis.program.lines
    if index != lint.index:
        lint.analysis.linked.add(lint.index)
    place = outer.place.span(lint.name, base[index] - base[lint.index])
    hint = f"to change the outer one, write `[{item.name}] := …`"
    lint.add(
        "shadowed",
        f"this makes a new `{item.name}` that ends with its block; the outer one stays as it is",
        item.place,
        hint if outer.kind == "value" else None,
        "information",
        related=(Related(place, "the outer one"),),
    )


# ── Types ─────────────────────────────────────────────────────────────────────


def _mismatch(lint: Lint, item: TypedValue) -> None:
    declared, actual = item.declared, item.actual
    late = any(scope.late for scope in item.scope.chain())
    if item.what == "assignment":
        assert item.target is not None
        found = lint.analysis.target(item.target, lint.index)
        if found is None or not isinstance(found[0].node, Init | RawCall | Field):
            return
        declared = found[0].type
    if not actual and item.name:
        actual = lint.type_of(item.scope, item.name, item.order, late)
    if not declared or not actual:
        return
    if accepts(declared, actual, lambda name: _kedi_type(lint, item, name, late)) is not False:
        return
    if item.rendered:
        lint.add(
            "type-mismatch",
            f"this returns text, but the procedure returns `{declared}`",
            item.place,
            "a native return is one backtick expression: ``= `value` ``",
        )
        return
    what = {
        "binding": "the binding is declared as",
        "assignment": "the binding holds",
        "return": "the procedure returns",
        "condition": "a condition is",
    }[item.what]
    hint = "write the value in backticks" if actual == "str" and item.what != "return" else None
    if item.what == "return" and declared == "str":
        hint = f"declare what it returns: `-> {actual}`"
    lint.add("type-mismatch", f"{what} `{declared}`, and this is `{actual}`", item.place, hint)


def _kedi_type(lint: Lint, item: TypedValue, name: str, late: bool) -> bool:
    found = lint.analysis.lookup(item.scope, name, item.order, lint.index, late)
    return found is not None and found[0].kind == "type"
