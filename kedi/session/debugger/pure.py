"""Looking at values by expressions, without any effect: what watches and hovers are made of.

The evaluator goes through the syntax tree itself. Names, attributes that are stored, items of
builtin containers, operators, comparisons, texts and a list of builtin functions on builtin
values are all there is: no code of a program runs, nothing is called, waited for or written,
and size, steps and time are bounded. What is not allowed is refused by :class:`Refused`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import MISSING, Scope, dict_get
from kedi.session.debugger.plain import (
    Budget,
    Refused,
    check_key,
    check_plain,
    item,
    iterate,
    truth,
)
from kedi.session.debugger.pure_functions import call, called_reason, is_callable, method
from kedi.session.debugger.pure_ops import binary, compare, formatted, member, unary, written
from kedi.session.debugger.texts import Text, classify, classify_value, value_of
from kedi.syntax import ast as syntax
from kedi.syntax.embedded import silent_name

_BUILTINS: dict[str, Any] = builtins.__dict__


def look(
    text: str, scope: Scope, variables: Mapping[str, Any] | None = None, *, steps: int | None = None
) -> Any:
    """The value of ``text`` in ``scope``, by reading alone.

    ``text`` is a Python expression, ``<name>``, ``<a.b>``, a value in backticks or ``= value``.
    ``variables`` are names in front of the scope's, such as the locals of a Python frame.

    Raises :class:`Refused` where more than reading is needed,
    :class:`kedi.errors.KediParseError` for what is no value, and what Python raises for a name,
    key or attribute that is not there or values that do not fit.
    """
    found = classify_value(text, "<watch>")
    if found.kind in ("incomplete", "invalid"):
        other = classify(text, "<watch>")
        if other.kind in ("kedi", "suite"):
            raise Refused(statement_reason(other))
        raise found.refuse()
    looker = Looker(scope, variables, Budget() if steps is None else Budget(steps))
    try:
        return looker.text(found)
    except RecursionError:
        raise Refused("is nested too deeply") from None
    except MemoryError:
        raise Refused("would take too much memory") from None


def statement_reason(text: Text) -> str:
    """Why a statement is not looked at."""
    if text.kind == "suite":
        return "is a Python statement, which may write"
    nodes = [stmt.node for stmt, _ in cast("syntax.Program", text.program).top_level()]
    if any(isinstance(node, (syntax.Template, syntax.RawCall)) for node in nodes):
        return "is a template, which calls the model"
    return "is a statement, which may write"


class Looker:
    """Evaluates expressions by reading alone."""

    def __init__(
        self, scope: Scope, variables: Mapping[str, Any] | None = None, budget: Budget | None = None
    ) -> None:
        self.scope = scope
        self.budget = budget or Budget()
        self._locals: list[dict[str, Any]] = [] if variables is None else [dict(variables)]

    def text(self, text: Text) -> Any:
        """A classified text of kind ``expression``, ``value`` or ``nothing``."""
        if text.kind == "nothing":
            return None
        if text.kind == "expression":
            return self.python(text.source)
        value = value_of(text)
        if value is None:
            raise Refused("is more than one value")
        rendered = text.source.startswith("=") and value.kind in ("read", "call")
        found = self._value(value)
        return written(found, self.budget) if rendered else found

    def python(self, code: str) -> Any:
        """A Python expression. Raises :class:`KediParseError` for what is none."""
        try:
            tree = ast.parse(f"({code}\n)", silent_name(code), "eval")
        except (SyntaxError, ValueError):
            raise classify_value(code, "<watch>").refuse() from None
        return self.expression(tree.body)

    # ── values of the language ───────────────────────────────────────────────

    def _value(self, value: syntax.Value) -> Any:
        match value.kind:
            case "native" | "read" | "call":
                return self._part(value.parts[0])
            case "fence":
                raise Refused("would run a block of Python")
            case "text":
                self.budget.spend(len(value.parts))
                texts = [written(self._part(part), self.budget) for part in value.parts]
                self.budget.make(sum(map(len, texts)), "text")
                return "".join(texts)

    def _part(self, part: syntax.Part) -> Any:
        match part:
            case syntax.Text():
                return part.text
            case syntax.Read():
                return self.name(part.name.text, builtin=False)
            case syntax.Python():
                return self.python(part.code)
            case syntax.Call():
                name = part.name.text
                target = self.name(name)
                if not is_callable(target):
                    raise Refused(called_reason(target, name))
                arguments = [self._value(argument) for argument in part.arguments]
                return call(target, name, arguments, {}, self.budget)
            case syntax.Field():
                raise Refused("would call the model")

    # ── Python ───────────────────────────────────────────────────────────────

    def name(self, name: str, *, builtin: bool = True) -> Any:
        """What a name is bound to; nothing is waited for."""
        for names in reversed(self._locals):
            if name in names:
                return names[name]
        part: Scope | None = self.scope
        while part is not None:
            pending = part.pending
            value = dict_get(part, name, MISSING)
            if value is MISSING and pending is not None and name in pending:
                value = self._settled(name, pending.get(name))
            if value is not MISSING:
                return value
            part = part.parent
        if builtin and name in _BUILTINS:
            return _BUILTINS[name]
        raise NameError(f"name '{name}' is not defined")

    def _settled(self, name: str, promise: Any) -> Any:
        if isinstance(promise, KediPromise):
            known = cast("KediPromise[Any]", promise)
            if known.done and known.error is None:
                return known.resolve()
            if known.done:
                raise Refused(f"`{name}` has no value, because its model call failed")
        raise Refused(f"`{name}` is still being computed by the model")

    def expression(self, node: ast.expr) -> Any:
        """The value of a node."""
        self.budget.spend()
        run = self._NODES.get(type(node))
        if run is None:
            raise Refused(_REFUSALS.get(type(node), "uses what only running it can do"))
        return run(self, node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        return self.name(node.id)

    def _attribute(self, node: ast.Attribute) -> Any:
        return member(self.expression(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        value = self.expression(node.value)
        return item(value, self.expression(node.slice), self.budget)

    def _slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*[None if part is None else self.expression(part) for part in parts])

    def _unary(self, node: ast.UnaryOp) -> Any:
        return unary(node.op, self.expression(node.operand), self.budget)

    def _binary(self, node: ast.BinOp) -> Any:
        return binary(node.op, self.expression(node.left), self.expression(node.right), self.budget)

    def _boolean(self, node: ast.BoolOp) -> Any:
        wanted = isinstance(node.op, ast.Or)
        value: Any = None
        for part in node.values:
            value = self.expression(part)
            if part is not node.values[-1] and truth(value) is wanted:
                break
        return value

    def _comparison(self, node: ast.Compare) -> bool:
        left = self.expression(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.expression(part)
            if not compare(op, left, right, self.budget):
                return False
            left = right
        return True

    def _conditional(self, node: ast.IfExp) -> Any:
        return self.expression(node.body if truth(self.expression(node.test)) else node.orelse)

    def _elements(self, nodes: list[ast.expr]) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values += iterate(self.expression(node.value), self.budget)
            else:
                values.append(self.expression(node))
        return values

    def _list(self, node: ast.List) -> list[Any]:
        return self._elements(node.elts)

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._elements(node.elts))

    def _set(self, node: ast.Set) -> set[Any]:
        return self._hashed(self._elements(node.elts))

    def _hashed(self, values: list[Any]) -> set[Any]:
        check_plain(values, self.budget, "hashing")
        return set(values)

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found.update(call(dict, "dict", [self.expression(value)], {}, self.budget))
            else:
                self._put(found, self.expression(key), self.expression(value))
        return found

    def _put(self, mapping: dict[Any, Any], key: Any, value: Any) -> None:
        check_key(key, self.budget)
        mapping[key] = value

    def _joined(self, node: ast.JoinedStr) -> str:
        texts = [cast("str", self.expression(part)) for part in node.values]
        self.budget.make(sum(map(len, texts)), "text")
        return "".join(texts)

    def _formatted(self, node: ast.FormattedValue) -> str:
        value = self.expression(node.value)
        spec = "" if node.format_spec is None else cast("str", self.expression(node.format_spec))
        conversion = "" if node.conversion < 0 else chr(node.conversion)
        return formatted(value, conversion, spec, self.budget)

    # ── comprehensions ───────────────────────────────────────────────────────

    def _list_of(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        found: list[Any] = []
        self._each(node.generators, lambda: found.append(self.expression(node.elt)))
        return found

    def _set_of(self, node: ast.SetComp) -> set[Any]:
        found: list[Any] = []
        self._each(node.generators, lambda: found.append(self.expression(node.elt)))
        return self._hashed(found)

    def _dict_of(self, node: ast.DictComp) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        self._each(
            node.generators,
            lambda: self._put(found, self.expression(node.key), self.expression(node.value)),
        )
        return found

    def _each(self, loops: list[ast.comprehension], act: Callable[[], object]) -> None:
        names: dict[str, Any] = {}
        # What is gone through first is found outside, as Python does.
        first = iterate(self.expression(loops[0].iter), self.budget)
        self._locals.append(names)
        try:
            self._loop(loops, 0, first, names, act)
        finally:
            self._locals.pop()

    def _loop(
        self,
        loops: list[ast.comprehension],
        depth: int,
        values: list[Any],
        names: dict[str, Any],
        act: Callable[[], object],
    ) -> None:
        loop = loops[depth]
        if loop.is_async:
            raise Refused("waits for code")
        for value in values:
            self.budget.spend()
            self._bind(loop.target, value, names)
            if not all(truth(self.expression(test)) for test in loop.ifs):
                continue
            if depth + 1 == len(loops):
                act()
            else:
                inner = iterate(self.expression(loops[depth + 1].iter), self.budget)
                self._loop(loops, depth + 1, inner, names, act)

    def _bind(self, target: ast.expr, value: Any, names: dict[str, Any]) -> None:
        if isinstance(target, ast.Name):
            names[target.id] = value
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise Refused("writes to what is no name")
        values = iterate(value, self.budget)
        if any(isinstance(part, ast.Starred) for part in target.elts):
            raise Refused("takes a value apart with `*`")
        if len(values) != len(target.elts):
            raise ValueError(f"cannot unpack {len(values)} values into {len(target.elts)} names")
        for part, one in zip(target.elts, values, strict=True):
            self._bind(part, one, names)

    # ── calls ────────────────────────────────────────────────────────────────

    def _call(self, node: ast.Call) -> Any:
        shown = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute):
            owner = self.expression(node.func.value)
            run = method(owner, node.func.attr)
            if run is not None:
                if node.keywords:
                    raise Refused(f"gives `{shown}` arguments by name")
                return run(self.budget, self._elements(node.args))
            raise Refused(called_reason(member(owner, node.func.attr), shown))
        target = self.expression(node.func)
        if not is_callable(target):
            raise Refused(called_reason(target, shown))
        names: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise Refused(f"gives `{shown}` arguments by `**`")
            names[keyword.arg] = self.expression(keyword.value)
        return call(target, shown, self._elements(node.args), names, self.budget)

    _NODES: ClassVar[dict[type, Callable[[Looker, Any], Any]]] = {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Subscript: _subscript,
        ast.Slice: _slice,
        ast.UnaryOp: _unary,
        ast.BinOp: _binary,
        ast.BoolOp: _boolean,
        ast.Compare: _comparison,
        ast.IfExp: _conditional,
        ast.List: _list,
        ast.Tuple: _tuple,
        ast.Set: _set,
        ast.Dict: _dict,
        ast.JoinedStr: _joined,
        ast.FormattedValue: _formatted,
        ast.ListComp: _list_of,
        ast.GeneratorExp: _list_of,
        ast.SetComp: _set_of,
        ast.DictComp: _dict_of,
        ast.Call: _call,
    }


_REFUSALS: dict[type, str] = {
    ast.NamedExpr: "would write a name",
    ast.Lambda: "makes a function",
    ast.Await: "waits for code",
    ast.Yield: "waits for code",
    ast.YieldFrom: "waits for code",
    ast.Starred: "takes a value apart with `*`",
}

__all__ = ["Looker", "Refused", "look"]
