"""Builtin functions and methods that watches and hovers may call: they run no code of anybody."""

from __future__ import annotations

import builtins
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from kedi.runtime.procedures import info_of
from kedi.runtime.scopes import MISSING
from kedi.session.debugger.plain import (
    NUMBERS,
    Budget,
    Refused,
    article,
    check_key,
    check_plain,
    copied,
    entry,
    iterate,
    length,
    plain_base,
    truth,
)
from kedi.session.debugger.pure_ops import check_bits, computed, represented, written
from kedi.session.static import DICT, class_attribute, is_real, kind_of, label_of, name_of, size_of

# ── functions ─────────────────────────────────────────────────────────────────


def call(
    function: Any, shown: str, arguments: list[Any], names: dict[str, Any], budget: Budget
) -> Any:
    """A builtin function or type, called. Raises :class:`Refused` for every other."""
    run = next((run for known, run in FUNCTIONS if known is function), None)
    if run is None:
        raise Refused(called_reason(function, shown))
    if not (set(names) <= _OPTIONS.get(shown, frozenset())):
        raise Refused(f"gives `{shown}` the argument `{next(iter(names))}`")
    return run(budget, *arguments, **names)


_OPTIONS = {
    "sorted": frozenset(("reverse",)),
    "min": frozenset(("default",)),
    "max": frozenset(("default",)),
}


def is_callable(function: Any) -> bool:
    """Whether :func:`call` can call it."""
    return any(known is function for known, _ in FUNCTIONS)


def called_reason(target: Any, shown: str) -> str:
    """What calling a value would do."""
    if info_of(target) is not None:
        return f"would call the procedure `{shown}`"
    if is_real(target, type):
        return f"would make {article(name_of(target))}"
    return f"would call `{shown}`"


def _numbers(budget: Budget, *values: Any) -> None:
    for value in values:
        check_plain(value, budget, "computing with")
    check_bits(*values)


def _sum(budget: Budget, values: Any, start: Any = 0) -> Any:
    items = iterate(values, budget)
    for item in (*items, start):
        if type(item) not in NUMBERS:
            raise Refused("sums what is no builtin number")
    check_bits(*items, start)
    return sum(items, start)


def _ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(budget: Budget, *values: Any, **names: Any) -> Any:
        items = iterate(values[0], budget) if len(values) == 1 else list(values)
        check_plain(items, budget, "comparing")
        budget.spend(len(items))
        return computed(lambda: function(items, **names))

    return run


def _isinstance(budget: Budget, value: Any, kinds: Any) -> bool:
    listed = cast("tuple[Any, ...]", kinds) if type(kinds) is tuple else (kinds,)
    for kind in listed:
        budget.spend()
        if not is_real(kind, type):
            raise Refused("`isinstance` with what is no class")
        if is_real(value, kind):
            return True
        if class_attribute(kind_of(kind), "__instancecheck__") is not _CHECK:
            raise Refused(f"`isinstance` with `{name_of(kind)}` runs its code")
    return False


_CHECK: Any = type.__dict__["__instancecheck__"]


def _round(budget: Budget, value: Any, digits: Any = None) -> Any:
    _numbers(budget, value, digits)
    if type(digits) is int and abs(digits) > 1_000:
        raise Refused("rounds to more than 1,000 digits")
    return computed(lambda: round(value) if digits is None else round(value, digits))


def _int(budget: Budget, value: Any = 0, base: Any = MISSING) -> int:
    _numbers(budget, value)
    if type(value) in (str, bytes, bytearray) and len(value) > 5_000:
        raise Refused("reads a number of more than 5,000 digits")
    if base is MISSING:
        return computed(lambda: int(value))
    _numbers(budget, base)
    return int(value, base)


def _simple(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(budget: Budget, *values: Any) -> Any:
        _numbers(budget, *values)
        budget.make(sum(size_of(value) or 0 for value in values))
        return computed(lambda: function(*values))

    return run


def _str(budget: Budget, value: Any = "") -> str:
    return written(value, budget)


def _collected(kind: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def run(budget: Budget, *values: Any) -> Any:
        return kind(iterate(values[0], budget)) if len(values) == 1 else cast("Any", kind)(*values)

    return run


def _hashed(kind: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def run(budget: Budget, values: Any = ()) -> Any:
        items = iterate(values, budget)
        check_plain(items, budget, "hashing")
        return kind(items)

    return run


def _dict(budget: Budget, values: Any = ()) -> dict[Any, Any]:
    if is_real(values, dict):
        if plain_base(values, ("__iter__", "__getitem__", "keys", "items")) is not dict:
            raise Refused(f"copying {article(label_of(values))} runs its code")
        pairs: list[Any] = copied(lambda: list(DICT.items(values)))
    else:
        pairs = [iterate(pair, budget) for pair in iterate(values, budget)]
    budget.make(len(pairs), "dict")
    for pair in pairs:
        check_key(pair[0] if pair else None, budget)
    return dict(pairs)


def _zip(budget: Budget, *values: Any) -> list[Any]:
    return list(zip(*[iterate(value, budget) for value in values], strict=False))


def _enumerate(budget: Budget, values: Any, start: Any = 0) -> list[Any]:
    _numbers(budget, start)
    return list(enumerate(iterate(values, budget), start))


def _any(budget: Budget, values: Any) -> bool:
    return any(truth(value) for value in iterate(values, budget))


def _all(budget: Budget, values: Any) -> bool:
    return all(truth(value) for value in iterate(values, budget))


def _only(run: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of one value that costs nothing more."""

    def give(budget: Budget, value: Any) -> Any:
        return run(value)

    return give


def _reversed(budget: Budget, value: Any) -> list[Any]:
    return iterate(value, budget)[::-1]


def _bool(budget: Budget, value: Any = False) -> bool:
    return truth(value)


def _repr(budget: Budget, value: Any) -> str:
    return represented(value, budget)


def _ascii(budget: Budget, value: Any) -> str:
    represented(value, budget)
    return ascii(value)


def _is_callable(value: Any) -> bool:
    return class_attribute(kind_of(value), "__call__") is not MISSING


_B: Any = builtins
#: Functions by identity: hashing what is called could run code.
FUNCTIONS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (_B.len, _only(length)),
    (_B.type, _only(kind_of)),
    (_B.id, _only(id)),
    (_B.callable, _only(_is_callable)),
    (_B.isinstance, _isinstance),
    (_B.str, _str),
    (_B.repr, _repr),
    (_B.ascii, _ascii),
    (_B.bool, _bool),
    (_B.int, _int),
    (_B.float, _simple(float)),
    (_B.complex, _simple(complex)),
    (_B.abs, _simple(abs)),
    (_B.divmod, _simple(divmod)),
    (_B.ord, _simple(ord)),
    (_B.chr, _simple(chr)),
    (_B.hex, _simple(hex)),
    (_B.bin, _simple(bin)),
    (_B.oct, _simple(oct)),
    (_B.range, _simple(range)),
    (_B.round, _round),
    (_B.sum, _sum),
    (_B.min, _ordered(min)),
    (_B.max, _ordered(max)),
    (_B.sorted, _ordered(sorted)),
    (_B.list, _collected(list)),
    (_B.tuple, _collected(tuple)),
    (_B.reversed, _reversed),
    (_B.set, _hashed(set)),
    (_B.frozenset, _hashed(frozenset)),
    (_B.dict, _dict),
    (_B.zip, _zip),
    (_B.enumerate, _enumerate),
    (_B.any, _any),
    (_B.all, _all),
)

#: Methods of builtin types that change nothing and give no more than they were given.
METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        (
            *("capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha"),
            *("isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric"),
            *("isprintable", "isspace", "istitle", "isupper", "lower", "lstrip", "partition"),
            *("removeprefix", "removesuffix", "rfind", "rindex", "rpartition", "rsplit"),
            *("rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title"),
            *("upper",),
        )
    ),
    bytes: frozenset(("count", "endswith", "find", "hex", "lower", "split", "startswith", "upper")),
    int: frozenset(("bit_length", "bit_count")),
    float: frozenset(("is_integer", "hex")),
    list: frozenset(("count", "index", "copy")),
    tuple: frozenset(("count", "index")),
    set: frozenset(("copy", "difference", "intersection", "issubset", "issuperset", "union")),
}


def method(value: Any, name: str) -> Callable[[Budget, list[Any]], Any] | None:
    """``value.name`` as it can be called, ``None`` when that could run code or change anything."""
    if is_real(value, dict):
        if kind_of(value) is not OrderedDict and plain_base(value, (name,)) is not dict:
            return None
        if name == "get":
            return partial(_get, value)
        return partial(_view, value, name) if name in ("keys", "values", "items") else None
    if name not in METHODS.get(kind_of(value), ()):
        return None

    def run(budget: Budget, arguments: list[Any]) -> Any:
        check_plain(value, budget, "using")
        check_plain(arguments, budget, "using")
        budget.make(size_of(value) or 0)
        return getattr(value, name)(*arguments)

    return run


def _get(mapping: Any, budget: Budget, arguments: list[Any]) -> Any:
    if not 1 <= len(arguments) <= 2:
        raise TypeError(f"get expected 1 or 2 arguments, got {len(arguments)}")
    found = entry(mapping, arguments[0], budget)
    return (*arguments, None)[1] if found is None else found[0]


def _view(mapping: Any, name: str, budget: Budget, arguments: list[Any]) -> Any:
    if arguments:
        raise TypeError(f"{name}() takes no arguments ({len(arguments)} given)")
    return getattr(DICT, name)(mapping)
