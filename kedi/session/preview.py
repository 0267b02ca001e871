"""Values as bounded text.

A preview costs by its own length, never by the size of the value: containers,
models, dataclasses and plain objects are written piece by piece until the room
is used up, and a ``__repr__`` of user code runs only for objects that hold
little. What it prints is dropped, what it raises becomes part of the text.
Nesting of any depth and cycles are fine.
"""

from __future__ import annotations

import collections
import re
import sys
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, cast

from kedi.diagnostics import printable
from kedi.runtime.promises import KediPromise
from kedi.runtime.scopes import MISSING, Scope
from kedi.session.signatures import callable_text, class_text, function_text
from kedi.session.static import (
    BYTEARRAY,
    BYTES,
    COMPLEX,
    DEQUE,
    DICT,
    FLOAT,
    FROZENSET,
    INT,
    LIST,
    RANGE,
    SET,
    STR,
    TUPLE,
    VIEWS,
    attributes_of,
    class_attribute,
    defined_repr,
    instance_dict,
    is_real,
    kind_of,
    label_of,
    mapping_behind,
    module_of,
    mro_of,
    name_of,
    outweighs,
    size_of,
    slots_of,
)

PREVIEW_LIMIT = 200
"""Characters of a preview."""

TEXT_LIMIT = 50_000_000
"""Characters of a full text: a few shared lists can stand for endless ones."""

_DEPTH = 8
_HEAVY = 10_000
_LONG_INT = 4_000
_MARK = "…"

#: Classes of the standard library whose ``__repr__`` is known to run no user code.
_COLLECTIONS = collections.__dict__
_KNOWN = frozenset(
    ("datetime", "decimal", "fractions", "uuid", "pathlib", "enum", "ipaddress", "re", "zoneinfo")
)


@dataclass(frozen=True, slots=True)
class Preview:
    """A value on one line.

    ``cut`` when there is more; ``length`` is the value's own: characters of a
    text, bytes of bytes, items of a container, ``None`` for other values.
    """

    text: str
    cut: bool
    length: int | None


def preview(
    value: Any, *, limit: int = PREVIEW_LIMIT, hex: bool = False, run_repr: bool = True
) -> Preview:
    """``value`` on one line of at most ``limit`` characters.

    ``hex`` writes whole numbers in base 16. Without ``run_repr`` no
    ``__repr__`` of user code runs; such objects show what they store.
    """
    text, cut = _Writer(limit, hex, run_repr, True).write(value)
    return Preview(text, cut, size_of(value))


def full_text(
    value: Any, *, limit: int = TEXT_LIMIT, hex: bool = False, run_repr: bool = True
) -> str:
    """The whole of what :func:`preview` shows the beginning of, up to ``limit`` characters.

    Line breaks of a user's ``__repr__`` stay. Always encodable: lone surrogates are escaped.
    """
    return _Writer(limit, hex, run_repr, False).write(value)[0]


# ── the writer ────────────────────────────────────────────────────────────────


class _Part:
    """A value inside another one, still to be written."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


_Pieces = Iterator["str | _Part"]


class _Writer:
    """Writes one value with an explicit stack, so that nesting cannot exhaust Python's."""

    __slots__ = ("cut", "hex", "one_line", "pieces", "room", "run_repr", "whole")

    def __init__(self, limit: int, hex: bool, run_repr: bool, one_line: bool) -> None:
        self.room = max(1, limit)
        self.hex = hex
        self.run_repr = run_repr
        self.one_line = one_line
        self.pieces: list[str] = []
        self.cut = False

    def write(self, value: Any) -> tuple[str, bool]:
        """The text, and whether something is missing from it."""
        stack: list[tuple[_Pieces, int]] = []
        path: set[int] = set()
        self._enter(value, stack, path)
        while stack and self.room > 0:
            pieces, ident = stack[-1]
            try:
                piece = next(pieces)
            except StopIteration:
                stack.pop()
                path.discard(ident)
                continue
            except RuntimeError:
                # The container changed while it was read (another thread fills it).
                self._add(_MARK)
                self.cut = True
                stack.pop()
                path.discard(ident)
                continue
            if type(piece) is str:
                self._add(piece)
            else:
                self._enter(cast("_Part", piece).value, stack, path)
        if self.room <= 0 and stack:
            self._rest(stack)
        return "".join(self.pieces), self.cut

    def _rest(self, stack: list[tuple[_Pieces, int]]) -> None:
        """The room is used up: say so when something is left."""
        if not self.cut and any(_has_more(pieces) for pieces, _ in stack):
            self.cut = True
            last = self.pieces[-1]
            self.pieces[-1] = last[:-1] + _MARK if last else _MARK

    def _enter(self, value: Any, stack: list[tuple[_Pieces, int]], path: set[int]) -> None:
        pieces = self._pieces(value)
        if type(pieces) is str:
            self._add(pieces)
            return
        ident = id(value)
        if ident in path:
            self._add(_recursive(value))
        elif self.one_line and len(stack) >= _DEPTH:
            self._add(_recursive(value))
            self.cut = True
        else:
            path.add(ident)
            stack.append((cast("_Pieces", pieces), ident))

    def _add(self, text: str) -> None:
        if len(text) > self.room:
            text = text[: max(0, self.room - 1)] + _MARK
            self.cut = True
        self.pieces.append(text)
        self.room -= len(text)

    def _pieces(self, value: Any) -> str | _Pieces:
        """The text of a leaf, or the pieces of a compound."""
        found = defined_repr(value)
        handler = _HANDLERS.get(id(found))
        if handler is not None:
            return handler(self, value)
        cls: type = kind_of(value)
        if is_real(value, Scope):
            return f"<{value.kind} scope of {DICT.__len__(value)} names>"
        if _is_generated(found, cls):
            return _call_form(name_of(cls), attributes_of(value))
        if _is_model_repr(found):
            return _call_form(name_of(cls), _model_fields(value))
        if _is_named_tuple(found, cls):
            names = class_attribute(cls, "_fields")
            return _call_form(name_of(cls), dict(zip(names, TUPLE.__iter__(value), strict=False)))
        if self._may_run(value, found):
            return self._own(value)
        return _structure(self, value)

    def _may_run(self, value: Any, found: Any) -> bool:
        if not self.run_repr:
            return module_of(kind_of(value)).partition(".")[0] in _KNOWN
        return not self.one_line or not outweighs(value, _HEAVY)

    def _own(self, value: Any) -> str:
        """What the object's own ``__repr__`` says, in one line if that is wanted."""
        try:
            with _Muted():
                text: Any = repr(value)
                text = STR.__str__(text)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Also SystemExit and the like: looking at a value must not end anything.
            return f"<{label_of(value)}: its repr failed with {label_of(error)}>"
        if not self.one_line:
            return encodable(text)
        text = text[: 4 * self.room + 100]
        return printable(_BREAK.sub(" ", text)) if not text.isprintable() else text


_BREAK = re.compile(r"[ \t]*[\r\n]\s*")


def _has_more(pieces: _Pieces) -> bool:
    try:
        return next(pieces, None) is not None
    except RuntimeError:
        return True


def encodable(text: str) -> str:
    """``text`` with lone surrogates escaped, so that it can be written anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


class _Muted:
    """Drops what this thread prints while it is entered; other threads print as before."""

    __slots__ = ("_targets",)

    def __enter__(self) -> None:
        self._targets = (_Silent(sys.stdout), _Silent(sys.stderr))
        sys.stdout, sys.stderr = cast("Any", self._targets)

    def __exit__(self, *_: object) -> None:
        out, err = self._targets
        # A stream that another thread has put over this one keeps forwarding to it.
        out.active = err.active = False
        if cast("Any", sys.stdout) is out:
            sys.stdout = out.target
        if cast("Any", sys.stderr) is err:
            sys.stderr = err.target


class _Silent:
    """A stream that swallows the writes of one thread."""

    def __init__(self, target: Any) -> None:
        self.target = target
        self.active = True
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        """Write, unless this is the muted thread."""
        if self.active and threading.get_ident() == self._thread:
            return len(text)
        return self.target.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)


def _recursive(value: Any) -> str:
    if is_real(value, list):
        return "[...]"
    if is_real(value, dict) or is_real(value, set):
        return "{...}"
    return "(...)" if is_real(value, tuple) else f"{label_of(value)}(...)"


# ── forms ─────────────────────────────────────────────────────────────────────


def _items(values: Any, before: str, after: str) -> _Pieces:
    yield before
    separator = ""
    for item in values:
        if separator:
            yield separator
        yield _Part(item)
        separator = ", "
    yield after


def _pairs(mapping: Any, before: str, after: str) -> _Pieces:
    yield before
    separator = ""
    for key, item in DICT.items(mapping):
        if separator:
            yield separator
        yield _Part(key)
        yield ": "
        yield _Part(item)
        separator = ", "
    yield after


def _call_form(name: str, fields: dict[str, Any]) -> _Pieces:
    yield f"{name}("
    separator = ""
    for key, item in fields.items():
        yield f"{separator}{key}="
        yield _Part(item)
        separator = ", "
    yield ")"


def _joined(*groups: _Pieces | str) -> _Pieces:
    for group in groups:
        if type(group) is str:
            yield group
        else:
            yield from group


def _structure(writer: _Writer, value: Any) -> str | _Pieces:
    """An object by what it stores, when its own ``__repr__`` is not asked."""
    name = label_of(value)
    for base, write in _CONTAINERS:
        if is_real(value, base):
            inner = write(writer, value)
            return _joined(f"{name}(", inner, ")")
    for base in (str, bytes, bytearray, int, float, complex):
        if is_real(value, base):
            return _joined(f"{name}(", _HANDLERS[id(base.__repr__)](writer, value), ")")
    return _object(writer, value)


def _object(writer: _Writer, value: Any) -> str | _Pieces:
    name = label_of(value)
    fields = attributes_of(value)
    if not fields:
        return f"<{name} object>"
    return _joined(f"<{name} ", _spaced(fields), ">")


def _spaced(fields: dict[str, Any]) -> _Pieces:
    separator = ""
    for key, item in fields.items():
        yield f"{separator}{key}="
        yield _Part(item)
        separator = " "


# ── known kinds of values ─────────────────────────────────────────────────────


def _int(writer: _Writer, value: Any) -> str:
    if writer.hex:
        if writer.one_line and int.bit_length(value) > _LONG_INT * 4:
            writer.cut = True
            top = INT.__abs__(value) >> (int.bit_length(value) - 64)
            return f"{'-' if INT.__lt__(value, 0) else ''}0x{top:x}{_MARK}"
        return INT.__format__(value, "#x")
    bits = int.bit_length(value)
    if bits < _LONG_INT:
        return INT.__repr__(value)
    if not writer.one_line:
        from decimal import Decimal

        # Python refuses to write very long numbers; the decimal module does not.
        return (
            f"{Decimal(INT.__add__(value, 0)):f}"
            if bits < 5_000_000
            else INT.__format__(value, "#x")
        )
    from math import log10

    writer.cut = True
    top = INT.__abs__(value) >> (bits - 64)
    exponent = log10(top) + (bits - 64) * log10(2)
    digits = int(exponent)
    sign = "-" if INT.__lt__(value, 0) else ""
    return f"{sign}{10 ** (exponent - digits):.6f}e+{digits}{_MARK}"


def _bool(writer: _Writer, value: Any) -> str:
    return "True" if value is True else "False"


def _str(writer: _Writer, value: Any) -> str:
    if STR.__len__(value) > writer.room:
        writer.cut = True
        return STR.__repr__(STR.__getitem__(value, slice(0, writer.room)))
    return STR.__repr__(value)


def _bytes(writer: _Writer, value: Any) -> str:
    if BYTES.__len__(value) > writer.room:
        writer.cut = True
        return BYTES.__repr__(BYTES.__getitem__(value, slice(0, writer.room)))
    return BYTES.__repr__(value)


def _bytearray(writer: _Writer, value: Any) -> str:
    if BYTEARRAY.__len__(value) > writer.room:
        writer.cut = True
        value = BYTEARRAY.__getitem__(value, slice(0, writer.room))
    return f"bytearray({BYTES.__repr__(bytes(value))})"


def _list(writer: _Writer, value: Any) -> _Pieces:
    return _items(LIST.__iter__(value), "[", "]")


def _tuple(writer: _Writer, value: Any) -> _Pieces:
    return _items(TUPLE.__iter__(value), "(", ",)" if TUPLE.__len__(value) == 1 else ")")


def _dict(writer: _Writer, value: Any) -> _Pieces:
    return _pairs(value, "{", "}")


def _set(writer: _Writer, value: Any) -> str | _Pieces:
    if not SET.__len__(value):
        return f"{label_of(value)}()"
    inner = _items(SET.__iter__(value), "{", "}")
    return inner if type(value) is set else _joined(f"{label_of(value)}(", inner, ")")


def _frozenset(writer: _Writer, value: Any) -> str | _Pieces:
    name = label_of(value)
    if not FROZENSET.__len__(value):
        return f"{name}()"
    return _items(FROZENSET.__iter__(value), f"{name}({{", "})")


def _deque(writer: _Writer, value: Any) -> _Pieces:
    limit = DEQUE.maxlen.__get__(value)
    after = "])" if limit is None else f"], maxlen={limit})"
    return _items(DEQUE.__iter__(value), f"{label_of(value)}([", after)


def _named_dict(writer: _Writer, value: Any) -> str | _Pieces:
    name = label_of(value)
    return _pairs(value, f"{name}({{", "})") if DICT.__len__(value) else f"{name}()"


def _defaultdict(writer: _Writer, value: Any) -> _Pieces:
    factory = _DEFAULT.default_factory.__get__(value)
    made = name_of(factory) if is_real(factory, type) else _Part(factory)
    yield f"{label_of(value)}("
    yield made
    yield ", "
    yield from _pairs(value, "{", "})")


def _behind(writer: _Writer, value: Any) -> str | _Pieces:
    inner = mapping_behind(value)
    name = label_of(value)
    if inner is None:
        return f"<{name} object>"
    if name == "dict_keys":
        return _items(DICT.__iter__(inner), "dict_keys([", "])")
    if name == "dict_values":
        return _items(DICT.values(inner), "dict_values([", "])")
    if name == "dict_items":
        return _items(DICT.items(inner), "dict_items([", "])")
    return _pairs(inner, f"{name}({{", "})")


def _error(writer: _Writer, value: Any) -> _Pieces:
    arguments = cast("Any", BaseException).args.__get__(value)
    return _items(TUPLE.__iter__(arguments), f"{label_of(value)}(", ")")


def _namespace(writer: _Writer, value: Any) -> _Pieces:
    return _call_form(
        "namespace" if type(value) is SimpleNamespace else label_of(value),
        attributes_of(value),
    )


def _module(writer: _Writer, value: Any) -> str:
    name = (instance_dict(value) or {}).get("__name__")
    return f"<module {name}>" if type(name) is str else "<module>"


def _class(writer: _Writer, value: Any) -> str:
    return class_text(value)


def _function(writer: _Writer, value: Any) -> str:
    return function_text(value)


def _promise(writer: _Writer, value: Any) -> str:
    return _PROMISE.__repr__(value)


_Handler = Callable[[_Writer, Any], "str | _Pieces"]

# Keyed by identity: a class may set anything as its ``__repr__``, also what cannot be hashed.
_ORDERED: Any = OrderedDict
_COUNTER: Any = Counter
_DEFAULT: Any = defaultdict
_PROXY: Any = MappingProxyType
_PROMISE: Any = KediPromise

_BY_REPR: tuple[tuple[Any, _Handler], ...] = (
    (INT, _int),
    (bool, _bool),
    (STR, _str),
    (BYTES, _bytes),
    (BYTEARRAY, _bytearray),
    (LIST, _list),
    (TUPLE, _tuple),
    (DICT, _dict),
    (SET, _set),
    (FROZENSET, _frozenset),
    (DEQUE, _deque),
    (_ORDERED, _named_dict),
    (_COUNTER, _named_dict),
    (_DEFAULT, _defaultdict),
    (_PROXY, _behind),
    *((view, _behind) for view in VIEWS),
    (BaseException, _error),
    (SimpleNamespace, _namespace),
    (ModuleType, _module),
    (type, _class),
    (FunctionType, _function),
    (MethodType, lambda writer, value: callable_text(value)),
    (BuiltinFunctionType, lambda writer, value: callable_text(value)),
    (FLOAT, lambda writer, value: FLOAT.__repr__(value)),
    (COMPLEX, lambda writer, value: COMPLEX.__repr__(value)),
    (RANGE, lambda writer, value: RANGE.__repr__(value)),
    (type(None), lambda writer, value: "None"),
    (type(...), lambda writer, value: "Ellipsis"),
    (_PROMISE, _promise),
    (object, _object),
)
_HANDLERS: dict[int, _Handler] = {
    id(class_attribute(cls, "__repr__")): handler for cls, handler in _BY_REPR
}
_CONTAINERS: tuple[tuple[type, _Handler], ...] = (
    (list, _list),
    (tuple, _tuple),
    (dict, _dict),
    (set, lambda writer, value: _items(SET.__iter__(value), "{", "}")),
    (frozenset, lambda writer, value: _items(FROZENSET.__iter__(value), "{", "}")),
    (deque, lambda writer, value: _items(DEQUE.__iter__(value), "[", "]")),
)


def _is_generated(found: Any, cls: type) -> bool:
    """Whether a ``__repr__`` is the one that ``dataclasses`` generates."""
    if type(found) is not FunctionType or class_attribute(cls, "__dataclass_fields__") is MISSING:
        return False
    inner = found.__dict__.get("__wrapped__", found)
    return type(inner) is FunctionType and inner.__code__.co_filename == "<string>"


def _is_model_repr(found: Any) -> bool:
    """Whether a ``__repr__`` is pydantic's own."""
    pydantic = sys.modules.get("pydantic.main")
    model = (instance_dict(pydantic) or {}).get("BaseModel") if pydantic else None
    return model is not None and found is class_attribute(model, "__repr__")


def _model_fields(value: Any) -> dict[str, Any]:
    fields = dict(instance_dict(value) or {})
    extra = dict(slots_of(value)).get("__pydantic_extra__")
    if type(extra) is dict:
        fields.update(cast("dict[str, Any]", extra))
    return fields


def _is_named_tuple(found: Any, cls: type) -> bool:
    """Whether a ``__repr__`` is the one that ``collections.namedtuple`` generates."""
    return (
        type(found) is FunctionType
        and found.__globals__ is _COLLECTIONS
        and type(class_attribute(cls, "_fields")) is tuple
        and tuple in mro_of(cls)
    )


__all__ = ["PREVIEW_LIMIT", "TEXT_LIMIT", "Preview", "encodable", "full_text", "preview"]
