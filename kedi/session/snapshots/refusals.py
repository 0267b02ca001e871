"""Why a snapshot cannot hold a value: one reason per kind, each with what to do instead.

Nothing here runs code of the value.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

from kedi.runtime.procedures import info_of
from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import MISSING
from kedi.session.snapshots.parts import Hole
from kedi.session.static import (
    class_attribute,
    is_real,
    kind_of,
    label_of,
    module_of,
    mro_of,
    namespace_of,
    qualified_name,
)

_KEPT = (
    *(bool, int, float, complex, str, bytes, bytearray),
    *(dict, OrderedDict, list, tuple, set, frozenset, deque),
)
_LOCKS = ("_thread", "threading", "queue", "_queue", "multiprocessing", "contextvars")
_TASKS = ("asyncio", "_asyncio", "concurrent")
_OPEN = ("socket", "_socket", "mmap", "sqlite3", "subprocess", "selectors", "select", "ssl")


def reason_for(value: Any) -> str:
    """The reason, as the end of a sentence that begins with the path of the value."""
    kind = kind_of(value)
    if kind is Hole:
        return value.reason
    if is_real(value, KediPromise):
        return "it is a promise, not its value: take the value with `kedi.force(…)`"
    if is_real(value, ModuleType):
        return f"it is the module `{_module_name(value)}`, and imports are not kept"
    if is_real(value, type):
        return _class_reason(value)
    if kind in (FunctionType, MethodType, BuiltinFunctionType):
        return _function_reason(value)
    if kind in (GeneratorType, CoroutineType, AsyncGeneratorType):
        what = kind.__name__.replace("_", " ")
        return f"it is a {what}, whose position in its code cannot be saved: keep `list(…)` of it"
    package = module_of(kind).partition(".")[0]
    if _any(kind, ("Future", "Task"), _TASKS):
        return "it is a task or future, which belongs to a running loop: keep its result"
    if package in _LOCKS:
        return f"it is a `{label_of(value)}`, which belongs to the threads of this process"
    if package in _OPEN or class_attribute(kind, "fileno") is not MISSING:
        return f"it is an open resource (`{label_of(value)}`): keep its name and open it again"
    if class_attribute(kind, "__next__") is not MISSING:
        return f"it is an iterator (`{label_of(value)}`): keep `list(…)` of it"
    for base in _KEPT:
        if base in mro_of(kind):
            return (
                f"it is a `{label_of(value)}`, a subclass of `{base.__name__}` which would be "
                f"flattened: keep a plain `{base.__name__}`"
            )
    for base in mro_of(kind):
        if "__kedi_site__" in namespace_of(base):
            return f"it is a `{label_of(value)}`, a Python subclass of the type `{base.__name__}`"
    if class_attribute(kind, "__call__") is not MISSING:
        return f"it is a callable object (`{qualified_name(kind)}`)"
    return f"it is an instance of `{_class_name(kind)}`, which has no form in a snapshot"


def _any(kind: type, names: tuple[str, ...], packages: tuple[str, ...]) -> bool:
    return any(
        base.__name__ in names and module_of(base).partition(".")[0] in packages
        for base in mro_of(kind)
    )


def _module_name(value: Any) -> str:
    try:
        return str(ModuleType.__getattribute__(value, "__name__"))
    except AttributeError:
        return "?"


def _class_name(kind: type) -> str:
    module = module_of(kind)
    name = qualified_name(kind)
    return name if module in ("builtins", "") else f"{module}.{name}"


def _class_reason(value: type) -> str:
    return f"it is the class `{_class_name(value)}`: only types defined with `~` are kept"


def _function_reason(value: Any) -> str:
    if type(value) is MethodType:
        return "it is a bound method: keep the object and call the method on it"
    name = value.__name__
    if info_of(value) is not None:
        return f"it is the procedure `{name}` of another session"
    if type(value) is FunctionType:
        if name == "<lambda>":
            return "it is a lambda, a Python callable: define a procedure with `@`"
        return f"it is the Python function `{name}`: define a procedure with `@`"
    if not is_real(value.__self__, ModuleType):
        return "it is a bound method: keep the object and call the method on it"
    return f"it is the builtin function `{name}`: call it where it is needed"
