"""Light records: what ``dataclass(slots=True)`` gives, at a fraction of the import time.

``dataclass`` compiles several methods for each class when it is defined; for
the classes of the syntax tree that alone took longer than Python takes to
start. Here a class costs next to nothing until its first instance is made:
then its ``__init__`` is compiled, and it is as fast as a dataclass's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, dataclass_transform


class _Field:
    __slots__ = ("compare", "default", "has_default", "repr")

    def __init__(self, default: Any, has_default: bool, compare: bool, repr: bool) -> None:
        self.default = default
        self.has_default = has_default
        self.compare = compare
        self.repr = repr


_MISSING: Any = object()


def field(*, default: Any = _MISSING, compare: bool = True, repr: bool = True) -> Any:
    """A field with options; ``compare=False`` leaves it out of equality."""
    return _Field(default, default is not _MISSING, compare, repr)


def _first_init(self: Any, *args: Any, **kwargs: Any) -> None:
    """The ``__init__`` of a record class until its first instance: compiles the real one."""
    cls: Any = self.__class__
    parameters: list[str] = []
    lines: list[str] = []
    scope: dict[str, Any] = {}
    for name, item in cls._fields.items():
        if item.has_default:
            scope[f"_{name}"] = item.default
            parameters.append(f"{name}=_{name}")
        else:
            parameters.append(name)
        lines.append(f" self.{name} = {name}")
    body = "\n".join(lines) or " pass"
    exec(f"def __init__(self, {', '.join(parameters)}):\n{body}", scope)
    made = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = made
    made(self, *args, **kwargs)


@dataclass_transform(field_specifiers=(field,))
class RecordType(type):
    """Metaclass of records: the annotations of a class become its slots and parameters."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> RecordType:
        """Make the class; its annotated names become slots."""
        inherited: dict[str, _Field] = {}
        for base in bases:
            inherited.update(getattr(base, "_fields", {}))
        own: dict[str, _Field] = {}
        for key, hint in namespace.get("__annotations__", {}).items():
            if "ClassVar" in str(hint):
                continue
            default = namespace.pop(key, _MISSING)
            if not isinstance(default, _Field):
                default = _Field(default, default is not _MISSING, True, True)
            own[key] = default
        namespace["__slots__"] = tuple(own)
        fields = {**inherited, **own}
        namespace["_fields"] = fields
        namespace["__match_args__"] = tuple(fields)
        # Each class compiles its own: an inherited one would take the base's parameters.
        namespace.setdefault("__init__", _first_init)
        return super().__new__(cls, name, bases, namespace)


class Record(metaclass=RecordType):
    """Base of records; equal only to themselves."""

    _fields: ClassVar[Mapping[str, _Field]]

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={getattr(self, name)!r}" for name, item in self._fields.items() if item.repr
        )
        return f"{type(self).__qualname__}({shown})"


class ValueRecord(Record):
    """Base of records that are equal when their compared fields are."""

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(
            getattr(self, name) == getattr(other, name)
            for name, item in self._fields.items()
            if item.compare
        )

    __hash__ = None  # type: ignore[assignment]
