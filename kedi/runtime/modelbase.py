"""The base class of types defined with ``~``."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from pydantic import BaseModel, ConfigDict

from kedi.errors import KediTypeExecutionError
from kedi.runtime.text import nearest


class KediModel(BaseModel):
    """A pydantic model that can also be constructed positionally, in field order.

    Construction refuses names that are no fields, as a call does; reading data
    (``model_validate``, answers of a model) passes over them, as pydantic does.
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True, validate_default=False, protected_namespaces=()
    )

    def __init__(self, /, *values: Any, **named: Any) -> None:
        cls = type(self)
        fields = cls.model_fields
        if values:
            if len(values) > len(fields):
                raise _refused(
                    f"{cls.__name__}() takes {_counted(len(fields))}, got {len(values)}",
                    f"its fields: {', '.join(fields)}" if fields else None,
                )
            for name, value in zip(fields, values, strict=False):
                if name in named:
                    raise _refused(f"{cls.__name__}() got the field {name!r} twice")
                named[name] = value
        if not named.keys() <= fields.keys() and cls.model_config.get("extra") is None:
            _refuse_unknown(cls, named)
        super().__init__(**named)

    # Without this mark pydantic builds nested models by calling `__init__`, which validates
    # laxly whatever was asked for: text would become numbers inside a model's answer.
    __init__.__pydantic_base_init__ = True  # pyright: ignore[reportFunctionMemberAccess]


def _refuse_unknown(cls: type[BaseModel], named: dict[str, Any]) -> None:
    fields = cls.model_fields
    if any(field.alias or field.validation_alias for field in fields.values()):
        return  # A subclass whose fields have other names from outside: pydantic knows them.
    name = next(item for item in named if item not in fields)
    guess = nearest(name, fields)
    advice = f"did you mean `{guess}`?" if guess else f"its fields: {', '.join(fields)}"
    raise _refused(f"{cls.__name__}() has no field `{name}`", advice if fields else None)


def _refused(text: str, hint: str | None = None) -> KediTypeExecutionError:
    return KediTypeExecutionError(text, hint=hint)


def _counted(count: int) -> str:
    return f"{count or 'no'} field{'s' * (count != 1)}"


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
