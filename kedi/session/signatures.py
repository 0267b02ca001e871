"""Signatures of procedures, functions and classes, read without running anything."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Literal, Union, cast

from kedi.agents.validation import type_label
from kedi.runtime.procedures import info_of
from kedi.runtime.scopes import MISSING
from kedi.session.static import (
    class_attribute,
    is_real,
    kind_of,
    label_of,
    module_of,
    name_of,
    namespace_of,
    qualified_name,
    slots_of,
)

_NONE = type(None)
_annotations: Any = vars(FunctionType)["__annotations__"]

_annotations: Any = vars(FunctionType)["__annotations__"]

ParameterKind = Literal["positional", "both", "keyword", "rest", "keywords"]


@dataclass(frozen=True, slots=True)
class ParameterView:
    """One parameter: its type in words (empty when unknown) and default (``None`` without)."""

    name: str
    type: str = ""
    default: str | None = None
    kind: ParameterKind = "both"

    @property
    def text(self) -> str:
        """``name: T = default``."""
        stars = {"rest": "*", "keywords": "**"}.get(self.kind, "")
        text = f"{stars}{self.name}"
        if self.type:
            text += f": {self.type}"
        if self.default is not None:
            text += f" = {self.default}" if self.type else f"={self.default}"
        return text


def parameters_of(value: Any) -> tuple[ParameterView, ...] | None:
    """Parameters of a call of ``value``, ``None`` when nothing is known of them."""
    info = info_of(value)
    if info is not None:
        names = [(name, contract.label) for name, contract in info.parameters]
        return _with_defaults(names, value.__defaults__ or ())
    if type(value) is FunctionType:
        return _of_function(value)
    if type(value) is MethodType:
        found = parameters_of(cast("Any", value.__func__))
        return found[1:] if found else found
    if is_real(value, type):
        return _of_class(value)
    return None


def returns_of(value: Any) -> Any:
    """The class that a call of ``value`` certainly gives an instance of, or ``MISSING``."""
    info = info_of(value)
    if info is not None:
        returned = info.returns.type if info.returns is not None else str
    elif type(value) is FunctionType:
        returned = annotations_of(value).get("return", MISSING)
    elif type(value) is MethodType:
        return returns_of(cast("Any", value.__func__))
    elif is_real(value, type):
        # A metaclass or ``__new__`` may answer with something else, but hardly ever does.
        return value
    else:
        return MISSING
    return class_behind(returned)


def class_behind(annotation: Any) -> Any:
    """The class an annotation stands for, or ``MISSING``.

    That is itself, what ``list[int]`` is a form of, or the one that may be ``None``.
    """
    if is_real(annotation, type):
        return annotation
    if module_of(kind_of(annotation)) in ("types", "typing"):
        origin = getattr(annotation, "__origin__", None)
        if is_real(origin, type):
            return origin
        if origin is None or origin is Union:
            others = [item for item in getattr(annotation, "__args__", ()) if item is not _NONE]
            return class_behind(others[0]) if len(others) == 1 else MISSING
    return MISSING


def annotations_of(function: Any) -> dict[str, Any]:
    """Annotations of a function as they were evaluated; nothing where reading would run them."""
    if sys.version_info >= (3, 14):
        return {}
    found: Any = _annotations.__get__(function)
    return cast("dict[str, Any]", found).copy() if type(found) is dict else {}


def annotation_label(annotation: Any) -> str:
    """A readable name of an annotation, empty when that would ask user code."""
    if annotation is MISSING:
        return ""
    if annotation is None:
        return "None"
    if type(annotation) is str:
        return annotation
    if is_real(annotation, type):
        return name_of(annotation)
    if module_of(kind_of(annotation)) in ("types", "typing"):
        return type_label(annotation)
    return ""


def signature_of(value: Any) -> str:
    """``(a: int, b=…) -> str`` of a callable; empty when nothing is known."""
    found = parameters_of(value)
    if found is None:
        return ""
    parts: list[str] = []
    starred = False
    for index, item in enumerate(found):
        if item.kind == "keyword" and not starred:
            parts.append("*")
            starred = True
        starred = starred or item.kind == "rest"
        parts.append(item.text)
        following = found[index + 1].kind if index + 1 < len(found) else "rest"
        if item.kind == "positional" and following != "positional":
            parts.append("/")
    text = f"({', '.join(parts)})"
    returns = _return_label(value)
    return f"{text} -> {returns}" if returns else text


def _return_label(value: Any) -> str:
    info = info_of(value)
    if info is not None:
        return info.returns.label if info.returns is not None else "str"
    if type(value) is FunctionType:
        return annotation_label(annotations_of(value).get("return", MISSING))
    return ""


def function_text(value: Any) -> str:
    """``@name(a: int) -> str`` of a procedure, ``<function name(a, b)>`` of a Python function."""
    if info_of(value) is not None:
        return f"@{value.__name__}{signature_of(value)}"
    return f"<function {value.__name__}{signature_of(value)}>"


def class_text(value: Any) -> str:
    """``~Name(field: T)`` of a Kedi type, ``<class module.Name>`` of others."""
    name = name_of(value)
    if "__kedi_site__" in namespace_of(value):
        return f"~{name}{signature_of(value)}"
    module = module_of(value)
    shown = qualified_name(value)
    return f"<class {shown}>" if module in ("builtins", "") else f"<class {module}.{shown}>"


def callable_text(value: Any) -> str:
    """A bound or builtin method without what it is bound to."""
    if type(value) is MethodType:
        function: Any = value.__func__
        name = function.__name__ if type(function) is FunctionType else label_of(function)
        return f"<method {name}{signature_of(value)}>"
    assert type(value) is BuiltinFunctionType
    return f"<builtin {value.__name__}>"


# ── where parameters come from ────────────────────────────────────────────────


def _with_defaults(
    names: list[tuple[str, str]], defaults: tuple[Any, ...]
) -> tuple[ParameterView, ...]:
    required = len(names) - len(defaults)
    return tuple(
        ParameterView(
            name, label, default_text(defaults[at - required]) if at >= required else None
        )
        for at, (name, label) in enumerate(names)
    )


def default_text(value: Any) -> str:
    """A default on a few characters; no user code runs."""
    from kedi.session.preview import preview

    return preview(value, limit=40, run_repr=False).text


def _of_function(function: FunctionType) -> tuple[ParameterView, ...]:
    code = function.__code__
    labels = annotations_of(function)
    count = code.co_argcount
    names = code.co_varnames
    defaults = function.__defaults__ or ()
    keywords = function.__kwdefaults__ or {}
    found: list[ParameterView] = []
    for at, name in enumerate(names[:count]):
        place = at - (count - len(defaults))
        found.append(
            ParameterView(
                name,
                annotation_label(labels.get(name, MISSING)),
                default_text(defaults[place]) if place >= 0 else None,
                "positional" if at < code.co_posonlyargcount else "both",
            )
        )
    only = code.co_kwonlyargcount
    end = count + only
    if code.co_flags & inspect.CO_VARARGS:
        found.append(ParameterView(names[end], kind="rest"))
        end += 1
    for name in names[count : count + only]:
        default = default_text(keywords[name]) if name in keywords else None
        label = annotation_label(labels.get(name, MISSING))
        found.append(ParameterView(name, label, default, "keyword"))
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append(ParameterView(names[end], kind="keywords"))
    return tuple(found)


def _of_class(cls: type) -> tuple[ParameterView, ...] | None:
    fields = class_attribute(cls, "__pydantic_fields__")
    if type(fields) is dict:
        return tuple(_of_field(name, item) for name, item in cast("dict[str, Any]", fields).items())
    init = class_attribute(cls, "__init__")
    if type(init) is FunctionType:
        found = _of_function(init)
        return found[1:] if found and found[0].kind != "rest" else found
    new = class_attribute(cls, "__new__")
    if type(new) is staticmethod and type(new.__func__) is FunctionType:
        return _of_function(cast("FunctionType", new.__func__))[1:]
    if "__init__" not in namespace_of(cls) and init is class_attribute(object, "__init__"):
        made = new is MISSING or new is class_attribute(object, "__new__")
        return () if made else None
    return None


def _of_field(name: str, field: Any) -> ParameterView:
    """A field of a pydantic model, from the slots of its ``FieldInfo``."""
    stored = dict(slots_of(field))
    label = annotation_label(stored.get("annotation", MISSING))
    default = stored.get("default", MISSING)
    if stored.get("default_factory") is not None:
        return ParameterView(name, label, "…")
    if default is MISSING or label_of(default) == "PydanticUndefinedType":
        return ParameterView(name, label)
    return ParameterView(name, label, default_text(default))
