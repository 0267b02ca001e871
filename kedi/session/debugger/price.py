"""What evaluating a text would cost: which procedures, models and Python it would run.

Nothing is run to find out. Prompts are estimated at one token for four characters, of the text
of the template, the system text and the values that are known; so the price is "about", and "at
least" where a loop or a value that is not known yet may add to it. Of branches the dearer counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from kedi.runtime.procedures import ProcedureInfo, info_of
from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import MISSING, Scope, dict_get
from kedi.session.debugger.plain import Budget, Refused
from kedi.session.debugger.pure import Looker
from kedi.session.debugger.pure_functions import is_callable, method
from kedi.session.debugger.texts import Text, classify, classify_value, value_of
from kedi.session.preview import preview
from kedi.session.static import is_real, kind_of, name_of
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

#: Characters of a token, on the average.
CHARACTERS_PER_TOKEN = 4
#: Calls inside each other that are followed, and statements and calls that are looked at.
_DEPTH = 30
_STEPS = 20_000
#: A known value: how many characters it puts into a prompt; ``None`` when it is not known.
_Known = dict[str, "int | None"]


def price(interpreter: Interpreter, text: str, scope: Scope) -> str | None:
    """What evaluating ``text`` in ``scope`` would do, such as ``would call the model``.

    ``None`` when it would run nothing.
    """
    found = classify_value(text)
    if found.kind in ("incomplete", "invalid"):
        found = classify(text)
    bill = Bill()
    pricer = _Pricer(interpreter, scope, bill)
    try:
        pricer.text(found)
    except (RecursionError, Refused):
        bill.more = True
    return bill.said()


@dataclass(slots=True)
class Bill:
    """What would run: model calls with the characters of their prompts, procedures, Python.

    ``more`` says that there may be more calls than were counted, ``longer`` that a prompt may be
    longer, by a value that is not known yet.
    """

    calls: int = 0
    characters: int = 0
    procedures: list[str] = field(default_factory=list[str])
    functions: list[str] = field(default_factory=list[str])
    statements: bool = False
    more: bool = False
    longer: bool = False

    def add(self, other: Bill) -> None:
        """Count what another one has, too."""
        self.calls += other.calls
        self.characters += other.characters
        self.procedures += other.procedures
        self.functions += other.functions
        self.statements |= other.statements
        self.more |= other.more
        self.longer |= other.longer

    def said(self) -> str | None:
        """The bill as the end of a sentence; ``None`` for an empty one."""
        if self.calls:
            tokens = max(1, -(-self.characters // CHARACTERS_PER_TOKEN))
            times = "" if self.calls == 1 and not self.more else f" {_times(self.calls)}"
            often = f" at least{times}" if self.more else times
            size = "at least" if self.more or self.longer else "about"
            unit = "token" if tokens == 1 else "tokens"
            return f"would call the model{often} ({size} {tokens:,} {unit})"
        if self.procedures:
            return f"would call the procedure `{self.procedures[0]}`"
        if self.functions:
            return f"would run Python: `{self.functions[0]}`"
        return "would run Python" if self.statements else None


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


class _Pricer:
    """Adds up what statements and values would run."""

    def __init__(self, interpreter: Interpreter, scope: Scope, bill: Bill) -> None:
        self.interpreter = interpreter
        self.bill = bill
        self._scope = scope
        self._known: _Known = {}
        self._inside: list[ProcedureInfo] = []
        self._steps = _STEPS
        self._agent = interpreter.agent_state(scope)

    def text(self, text: Text) -> None:
        """A classified text."""
        if text.kind == "kedi" and text.program is not None:
            self._block([stmt for stmt, _ in text.program.top_level()])
        elif text.kind == "value":
            value = value_of(text)
            if value is not None:
                self._value(value)
        elif text.kind in ("expression", "suite"):
            self._code(text.source)
            self.bill.statements |= text.kind == "suite"

    # ── statements ───────────────────────────────────────────────────────────

    def _block(self, stmts: Sequence[Stmt]) -> None:
        for index, stmt in enumerate(stmts):
            self._spend()
            following = stmts[index + 1] if index + 1 < len(stmts) else None
            if following is not None and isinstance(following.node, syntax.Else):
                self._branches(stmt, following)
            elif not isinstance(stmt.node, syntax.Else):
                self._statement(stmt)

    def _branches(self, yes: Stmt, no: Stmt) -> None:
        """One of two branches runs: the dearer one is the price."""
        node = yes.node
        assert isinstance(node, syntax.If)
        self._condition(node.condition, node.claim)
        bills: list[Bill] = []
        outer = self.bill
        for body in (yes.body, no.body):
            self.bill = Bill()
            bills.append(self.bill)
            self._block(body)
        self.bill = outer
        outer.add(max(bills, key=lambda bill: (bill.calls, bill.characters, bool(bill.procedures))))

    def _spend(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise Refused("has no end")

    def _statement(self, stmt: Stmt) -> None:
        match stmt.node:
            case syntax.Template(parts=parts) | syntax.RawCall(parts=parts):
                self._prompt(parts)
                self._bound(part.name.text for part in parts if isinstance(part, syntax.Field))
            case syntax.Init(target=target, value=value):
                self._value(value)
                self._known[target.name.text] = self._size(value)
            case syntax.Assign(target=target, value=value):
                self._value(value)
                self._known[target.text] = None
            case syntax.Return(value=value) | syntax.Show(value=value):
                self._value(value)
            case syntax.PythonStatement(python=python) | syntax.Fence(python=python):
                self.bill.statements = True
                self._code(python.code)
            case syntax.If(condition=condition, claim=claim):
                self._condition(condition, claim)
                self._block(stmt.body)
            case syntax.Loop(condition=condition, claim=claim):
                self._condition(condition, claim)
                self._repeated(stmt.body)
            case syntax.LoopEach(iterable=iterable, binder=binder):
                self._code(iterable.code)
                self._bound([binder.text])
                self._repeated(stmt.body)
            case syntax.Map():
                self._repeated(stmt.body)
            case syntax.Optimize():
                self._block(stmt.body)
            case _:
                pass

    def _condition(
        self, condition: syntax.Python | None, claim: tuple[syntax.Part, ...] | None
    ) -> None:
        if condition is not None:
            self._code(condition.code)
        if claim is not None:
            self._prompt(claim)

    def _repeated(self, body: Sequence[Stmt]) -> None:
        before = (self.bill.calls, len(self.bill.procedures), len(self.bill.functions))
        self._block(body)
        if (self.bill.calls, len(self.bill.procedures), len(self.bill.functions)) != before:
            self.bill.more = True

    def _bound(self, names: Any) -> None:
        for name in names:
            self._known[name] = None

    # ── model calls ──────────────────────────────────────────────────────────

    def _prompt(self, parts: Sequence[syntax.Part]) -> None:
        size = 0
        for part in parts:
            self._part(part)
            length = self._part_size(part)
            if length is None:
                self.bill.longer = True
            size += length or 0
        system = self._agent.system
        self.bill.calls += 1
        self.bill.characters += size + (len(system) if isinstance(system, str) else 0)

    def _size(self, value: syntax.Value) -> int | None:
        """Characters of a value's text, ``None`` when it is not known."""
        sizes = [self._part_size(part) for part in value.parts]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def _part_size(self, part: syntax.Part) -> int | None:
        match part:
            case syntax.Text():
                return len(part.text)
            case syntax.Field():
                return len(part.name.text) + 2
            case syntax.Read():
                return self._name_size(part.name.text)
            case syntax.Python() if part.kind == "expr":
                return self._code_size(part.code)
            case _:
                return None

    def _name_size(self, name: str) -> int | None:
        if name in self._known:
            return self._known[name]
        return _text_size(_seen(self._scope, name))

    def _code_size(self, code: str) -> int | None:
        if any(name in self._known for name in _names(code)):
            return self._known.get(code.strip())
        try:
            return _text_size(Looker(self._scope, budget=Budget(2_000)).python(code))
        except Exception:  # Refused, or an error of Python: the value is not known.
            return None

    # ── values and Python ────────────────────────────────────────────────────

    def _value(self, value: syntax.Value) -> None:
        if any(isinstance(part, syntax.Field) for part in value.parts):
            self._prompt(value.parts)
            return
        for part in value.parts:
            self._part(part)

    def _part(self, part: syntax.Part) -> None:
        match part:
            case syntax.Python():
                self.bill.statements |= part.kind != "expr"
                self._code(part.code)
            case syntax.Call():
                for argument in part.arguments:
                    self._value(argument)
                sizes = [self._size(argument) for argument in part.arguments]
                self._called(_seen(self._scope, part.name.text), part.name.text, sizes)
            case _:
                pass

    def _code(self, code: str) -> None:
        self._spend()
        for call in _calls(code):
            if self._is_plain_method(call.func):
                continue
            target = self._target(call.func)
            sizes: list[int | None] = []
            if not any(isinstance(argument, ast.Starred) for argument in call.args):
                sizes = [self._code_size(ast.unparse(argument)) for argument in call.args]
            named = {
                keyword.arg: self._code_size(ast.unparse(keyword.value))
                for keyword in call.keywords
                if keyword.arg is not None
            }
            self._called(target, ast.unparse(call.func), sizes, named)
        if _loops(code) and (self.bill.calls or self.bill.procedures):
            self.bill.more = True

    def _is_plain_method(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Attribute):
            return False
        owner = self._target(node.value)
        return owner is not MISSING and method(owner, node.attr) is not None

    def _target(self, node: ast.expr) -> Any:
        try:
            return Looker(self._scope, budget=Budget(1_000)).expression(node)
        except Exception:  # Refused, or an error of Python: nobody knows what is called.
            return MISSING

    def _called(
        self,
        target: Any,
        shown: str,
        sizes: Sequence[int | None],
        named: dict[str, int | None] | None = None,
    ) -> None:
        info = info_of(target)
        if info is None:
            # A class of the language and builtins cost nothing worth telling.
            if target is MISSING or not is_callable(target):
                kind = name_of(target) if target is not MISSING and is_real(target, type) else shown
                self.bill.functions.append(kind)
            return
        self.bill.procedures.append(shown)
        if info in self._inside or len(self._inside) >= _DEPTH:
            self.bill.more = True
            return
        self._procedure(info, sizes, named or {})

    def _procedure(
        self, info: ProcedureInfo, sizes: Sequence[int | None], named: dict[str, int | None]
    ) -> None:
        outer = self._known, self._scope, self._agent
        known: _Known = dict.fromkeys((name for name, _ in info.parameters), None)
        known.update(zip(known, sizes, strict=False))
        known.update((name, size) for name, size in named.items() if name in known)
        self._inside.append(info)
        self._known, self._scope = known, info.scope
        self._agent = info.agent or self.interpreter.agent_state(info.scope)
        try:
            self._block(info.site.stmt.body)
        finally:
            self._known, self._scope, self._agent = outer
            self._inside.pop()


def _seen(scope: Scope, name: str) -> Any:
    """What a name is bound to, without waiting for it."""
    owner = scope.owner_of(name)
    if owner is None:
        return MISSING
    value = dict_get(owner, name, MISSING)
    if value is MISSING and owner.pending is not None:
        promise = owner.pending.get(name)
        if isinstance(promise, KediPromise) and promise.done and promise.error is None:
            return cast("KediPromise[Any]", promise).resolve()
    return value


def _text_size(value: Any) -> int | None:
    """About how many characters a value has as text, found without running its code."""
    if value is MISSING:
        return None
    if kind_of(value) is str:
        return len(value)
    shown = preview(value, limit=10_000, run_repr=False)
    return None if shown.cut else len(shown.text)


def _tree(code: str) -> ast.AST | None:
    from kedi.syntax.embedded import silent_name

    try:
        return ast.parse(f"({code}\n)", silent_name(code), "eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    try:
        return ast.parse(code, silent_name(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _calls(code: str) -> Iterator[ast.Call]:
    """Calls in a piece of Python, but for those of functions that it only defines."""
    tree = _tree(code)
    pending: list[ast.AST] = [] if tree is None else [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))


def _loops(code: str) -> bool:
    tree = _tree(code)
    loops = (ast.For, ast.While, ast.comprehension)
    return tree is not None and any(isinstance(node, loops) for node in ast.walk(tree))


def _names(code: str) -> set[str]:
    tree = _tree(code)
    if tree is None:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


__all__ = ["CHARACTERS_PER_TOKEN", "Bill", "price"]
