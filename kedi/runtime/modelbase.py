"""The base class of types defined with ``~``."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from pydantic import BaseModel, ConfigDict


class KediModel(BaseModel):
    """A pydantic model that can also be constructed positionally, in field order."""

    model_config = ConfigDict(
        arbitrary_types_allowed=True, validate_default=False, protected_namespaces=()
    )

    def __init__(self, /, *values: Any, **named: Any) -> None:
        if values:
            names = list(type(self).model_fields)
            if len(values) > len(names):
                raise TypeError(
                    f"{type(self).__name__}() takes {len(names)} fields, got {len(values)}"
                )
            for name, value in zip(names, values, strict=False):
                if name in named:
                    raise TypeError(f"{type(self).__name__}() got field {name!r} twice")
                named[name] = value
        super().__init__(**named)


class FieldSignature:
    """The signature of a type: its fields in order, which may be given by position or by name."""

    def __get__(self, instance: object, owner: type[BaseModel]) -> Signature:
        return Signature(
            [
                Parameter(
                    name,
                    Parameter.POSITIONAL_OR_KEYWORD,
                    default=Parameter.empty if field.is_required() else field.get_default(),
                    annotation=field.annotation,
                )
                for name, field in owner.model_fields.items()
            ]
        )
