"""From what embedded Python stored to the bindings it meant: checked first, then given away."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kedi.errors import KediError
from kedi.runtime.frames import RunFrame
from kedi.runtime.scopes import MISSING, Scope, dict_del, dict_get, dict_set, reserved, store
from kedi.runtime.text import safe_str

#: A binding's owner, its name and the new value.
Change = tuple[Scope, str, Any]


def keep(
    frame: RunFrame,
    scope: Scope,
    before: list[tuple[str, Any]],
    through: frozenset[str],
    failure: BaseException | None = None,
) -> None:
    """Give what a block stored to its owners, all of it or, when one value may not be, none.

    ``before`` are the scope's own values of the watched names when the block began; those of
    ``through`` have been checked and stored one by one, where they are bound.
    ``failure`` is what a block that failed raised: that is the error to report, and a
    refused value becomes a note of it.
    """
    changes: list[Change] = []
    for name, old in before:
        new = dict_get(scope, name, MISSING)
        if new is old:
            continue
        if old is not MISSING:
            if name in through and new is not MISSING:
                continue
            dict_set(scope, name, old)
            # ``del x`` (or the end of ``except … as x``) does not end a Kedi binding.
            if new is not MISSING:
                changes.append((scope, name, new))
            continue
        dict_del(scope, name)
        owner = scope.parent.owner_of(name) if scope.parent is not None else None
        if owner is not None:
            changes.append((owner, name, new))
    if changes:
        give(frame, changes, failure)


def give(frame: RunFrame, changes: list[Change], failure: BaseException | None) -> None:
    """:func:`commit` for a block that ended with ``failure``, or well."""
    if failure is None:
        commit(frame, changes)
        return
    try:
        commit(frame, changes)
    except Exception as problem:
        text = problem.message if isinstance(problem, KediError) else safe_str(problem)
        # The notes of an exception may be anything by now.
        with suppress(TypeError, AttributeError):
            BaseException.add_note(failure, f"also, what the block assigned was not kept: {text}")


def commit(frame: RunFrame, changes: list[Change]) -> None:
    """Assign owned names after checking every value, and tell the observer."""
    args_name = frame.interpreter.args_name
    for owner, name, value in changes:
        if name == args_name and owner.parent is None:
            raise reserved(name)
        contract = owner.contract_of(name)
        if contract is not None and type(value) is not contract.exact:
            contract.check(value, name)
    observer = frame.interpreter.observer
    for owner, name, value in changes:
        if observer is None:
            store(owner, name, value)
            continue
        old = dict_get(owner, name, MISSING)
        store(owner, name, value)
        observer.binding_written(frame, owner, name, old, value)


def write(frame: RunFrame, owner: Scope, name: str, value: Any) -> None:
    """Assign an owned name, checked, and tell the observer."""
    commit(frame, [(owner, name, value)])
