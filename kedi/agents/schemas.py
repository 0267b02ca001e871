"""From ``{field: type}`` to a JSON schema, and back from an answer that follows it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin

from kedi.agents.validation import UnusableType, type_label

if TYPE_CHECKING:
    from pydantic import BaseModel


def described(expected: Any) -> tuple[Any, str | None]:
    """``(type, description)``: texts in ``Annotated`` become the field's description."""
    if get_origin(expected) is not Annotated:
        return expected, None
    inner, *metadata = get_args(expected)
    texts = [item for item in metadata if isinstance(item, str)]
    others = [item for item in metadata if not isinstance(item, str)]
    kept: Any = Annotated[(inner, *others)] if others else inner  # type: ignore[assignment]
    return kept, " ".join(texts) or None


def answer_model(output_schema: Mapping[str, Any]) -> type[BaseModel]:
    """A pydantic model with exactly these fields, in this order, as aliases.

    Field names are the user's: aliases keep them apart from pydantic's own
    attributes and allow a leading underscore. Raises
    :class:`~kedi.agents.validation.UnusableType` for what is not a type.
    """
    from pydantic import ConfigDict, Field, create_model

    fields: dict[str, Any] = {}
    for index, (name, expected) in enumerate(output_schema.items()):
        kept, text = described(expected)
        fields[f"field{index}"] = (kept, Field(alias=name, description=text))
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    with _usable(output_schema):
        return create_model("Answer", __config__=config, **fields)


def json_schema(output_schema: Mapping[str, Any]) -> dict[str, Any]:
    """One JSON schema for an object with exactly these fields, in this order.

    Nested models stand under ``$defs``. Raises
    :class:`~kedi.agents.validation.UnusableType` for a type that JSON cannot
    hold.
    """
    model = answer_model(output_schema)
    with _usable(output_schema):
        return cast("dict[str, Any]", _without_titles(model.model_json_schema(by_alias=True)))


@contextmanager
def _usable(output_schema: Mapping[str, Any]) -> Generator[None]:
    from pydantic import PydanticUserError
    from pydantic.errors import PydanticInvalidForJsonSchema

    try:
        yield
    except (PydanticUserError, TypeError, ValueError, RecursionError) as problem:
        types = ", ".join(f"[{name}: {type_label(item)}]" for name, item in output_schema.items())
        if isinstance(problem, PydanticInvalidForJsonSchema):
            reason = "JSON has no form for its values"
        else:
            reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        # Not from it: pydantic's own text speaks of its internals.
        raise UnusableType(f"{types} cannot be asked of a model: {reason}") from None


def _without_titles(schema: Any, inside_properties: bool = False) -> Any:
    """The schema without generated titles, which would only cost tokens."""
    if isinstance(schema, dict):
        items = cast("dict[str, Any]", schema).items()
        return {
            key: _without_titles(value, key in ("properties", "$defs") and not inside_properties)
            for key, value in items
            if inside_properties or key != "title" or not isinstance(value, str)
        }
    if isinstance(schema, list):
        return [_without_titles(item) for item in cast("list[Any]", schema)]
    return schema


__all__ = ["answer_model", "described", "json_schema"]
