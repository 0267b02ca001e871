"""The base class of types defined with ``~``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class KediModel(BaseModel):
    """A pydantic model that can also be constructed positionally, in field order."""

    model_config = ConfigDict(
        arbitrary_types_allowed=True, validate_default=False, protected_namespaces=()
    )

    def __init__(self, *values: Any, **named: Any) -> None:
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
