"""Branches, loops and map stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from kedi.errors import KediTypeExecutionError, LoopIterationLimitError
from kedi.runtime.blocks import Step
from kedi.runtime.compiler import Compiler
from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.python import python_runner
from kedi.runtime.scopes import Scope, dict_set, new_scope
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from kedi.runtime.interpreter import Interpreter

Condition = Callable[[RunFrame, Scope], bool]


def compile_control(
    compiler: Compiler, stmt: Stmt, line: int, follower: tuple[Stmt, int] | None
) -> tuple[Site, Step]:
    """Compile ``> if:`` (with its else), ``> loop:`` or a binder loop (with its map)."""
    match stmt.node:
        case syntax.If():
            return _if(compiler, stmt, line, follower)
        case syntax.Loop():
            return _loop(compiler, stmt, line)
        case syntax.LoopEach():
            return _each(compiler, stmt, line, follower)
        case node:
            raise TypeError(f"not a control statement: {node!r}")


def run_in_child(
    interpreter: Interpreter,
    frame: RunFrame,
    parent: Scope,
    scope: Scope,
    body: Step,
) -> bool | None:
    """Run a block in its own scope; the frame points back at ``parent`` afterwards.

    An error leaves ``frame.scope`` where it happened, for whoever looks at the frame;
    no statement of the same frame runs after it.
    """
    observer = interpreter.observer
    frame.scope = scope
    if observer is None:
        ended = body(frame, scope)
        frame.scope = parent
        return ended
    observer.scope_opened(frame, scope)
    try:
        ended = body(frame, scope)
    finally:
        observer = interpreter.observer
        if observer is not None:
            observer.scope_closed(frame, scope)
    frame.scope = parent
    return ended


def _condition(
    compiler: Compiler, site: Site, python: syntax.Python | None, claim: Any, what: str
) -> Condition:
    if python is None:
        from kedi.runtime.models import claim_runner

        return claim_runner(compiler, site, claim)
    run = python_runner(compiler.interpreter, site.at(python, "condition"), python)

    def decide(frame: RunFrame, scope: Scope) -> bool:
        value = run(frame, scope)
        if value is True or value is False:
            return value
        raise KediTypeExecutionError(
            f"the condition of `{what}` must be exactly `bool`, got {type(value).__name__}",
            hint="compare it, or wrap it: `bool(…)`",
        )

    return decide


def _if(
    compiler: Compiler, stmt: Stmt, line: int, follower: tuple[Stmt, int] | None
) -> tuple[Site, Step]:
    node = stmt.node
    assert isinstance(node, syntax.If)
    interpreter = compiler.interpreter
    site = compiler.site(stmt, line, "condition", "> if")
    decide = _condition(compiler, site, node.condition, node.claim, "> if")
    yes = compiler.block(stmt.body, line)
    no = None if follower is None else compiler.block(follower[0].body, follower[1])

    def branch(frame: RunFrame, scope: Scope) -> bool | None:
        body = yes if decide(frame, scope) else no
        if body is None:
            return None
        return run_in_child(interpreter, frame, scope, new_scope(scope, "branch"), body)

    return site, branch


def _loop(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    node = stmt.node
    assert isinstance(node, syntax.Loop)
    interpreter = compiler.interpreter
    site = compiler.site(stmt, line, "loop", "> loop")
    decide = _condition(compiler, site, node.condition, node.claim, "> loop")
    body = compiler.block(stmt.body, line)

    def loop(frame: RunFrame, scope: Scope) -> bool | None:
        limit = interpreter.loop_limit
        count = 0
        while decide(frame, scope):
            if count >= limit:
                raise LoopIterationLimitError(
                    f"`> loop` went round {limit:,} times and its condition still holds",
                    hint="let the condition become False, or raise `loop_iteration_limit`",
                )
            count += 1
            if run_in_child(interpreter, frame, scope, new_scope(scope, "loop"), body):
                return True
            _again(interpreter, frame, site)
        return None

    return site, loop


def _each(
    compiler: Compiler, stmt: Stmt, line: int, follower: tuple[Stmt, int] | None
) -> tuple[Site, Step]:
    node = stmt.node
    assert isinstance(node, syntax.LoopEach)
    interpreter = compiler.interpreter
    name = node.binder.text
    site = compiler.site(stmt, line, "loop", f"> loop [{name}]")
    items = python_runner(interpreter, site.at(node.iterable), node.iterable)
    body = compiler.block(stmt.body, line)
    stage: Step | None = None
    stage_site = site
    if follower is not None:
        stage = compiler.block(follower[0].body, follower[1])
        stage_site = compiler.site(follower[0], follower[1], "loop", "> map")

    def each(frame: RunFrame, scope: Scope) -> bool | None:
        kept: list[Scope] | None = [] if stage is not None else None
        iterator = _iterate(items(frame, scope))
        try:
            for value in iterator:
                inner = new_scope(scope, "loop")
                dict_set(inner, name, value)
                if run_in_child(interpreter, frame, scope, inner, body):
                    return True
                if kept is not None:
                    kept.append(inner)
                _again(interpreter, frame, site)
        finally:
            _close(iterator)
        if stage is not None and kept:
            _again(interpreter, frame, stage_site)
            return interpreter.engine.run_map(interpreter, frame, scope, kept, stage)
        return None

    return site, each


def _again(interpreter: Interpreter, frame: RunFrame, site: Site) -> None:
    """At the header of a loop's next round or of its map: places to stop, like statements."""
    frame.site = site
    observer = interpreter.observer
    if observer is not None:
        observer.statement(frame)
    elif site.trap is not None:
        site.trap(frame, frame.scope)


def _iterate(value: Any) -> Iterator[Any]:
    # Not ``isinstance(value, Iterable)``: a class with ``__getitem__`` alone can be iterated too.
    cls = cast("type[Any]", type(value))
    if not (hasattr(cls, "__iter__") or hasattr(cls, "__getitem__")):
        raise KediTypeExecutionError(
            f"`> loop [name]` needs something to iterate over, got {cls.__name__}",
            hint="give a list, a range, a generator or another iterable",
        )
    return iter(cast("Iterable[Any]", value))


def _close(iterator: Any) -> None:
    close = getattr(iterator, "close", None)
    # A file is an iterator with ``close`` too; it belongs to who opened it.
    if callable(close) and not hasattr(iterator, "fileno"):
        close()
