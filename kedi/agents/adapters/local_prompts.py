"""How the local model is asked: priming, prompts with types, schemas that end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args, get_origin

from kedi.agents.schemas import described
from kedi.agents.validation import type_label

MAX_STRING = 60
MAX_ITEMS = 6

# Formats that llama.cpp's grammar enforces by itself.
ENFORCED_FORMATS = frozenset({"date", "time", "date-time", "uuid"})
# Bytes without a pattern become escapes without end.
_PATTERNS: Mapping[str, str] = {
    "duration": "^P([0-9]{1,3}D|T[0-9]{1,3}[HMS])$",
    "binary": f"^[A-Za-z0-9 .,]{{0,{MAX_STRING}}}$",
}

SYSTEM = (
    "You fill in blanks. The user gives a sentence with blanks written as [name: type]. "
    "Reply only with a JSON object that gives the correct value of every blank."
)
PRIMING: Mapping[str, str] = {
    "The capital of Italy is [capital: str] and has [population: int] inhabitants.": (
        '{"capital": "Rome", "population": 2800000}'
    ),
    "The mood of the message 'I am so tired of these delays.' is "
    "[mood: Literal['happy','unhappy']].": '{"mood": "unhappy"}',
    "It is [answer: bool] that fish live in water.": '{"answer": true}',
    "It is [answer: bool] that Rome is the capital of Norway.": '{"answer": false}',
    "Two plus two equals [total: int], and two animals on a farm are [animals: list[str]].": (
        '{"total": 4, "animals": ["cow", "pig"]}'
    ),
    "The phone number in the text 'Call Tom on 555-0142.' is [phone: str].": (
        '{"phone": "555-0142"}'
    ),
}


def fill_in_prompt(template: str, output_schema: dict[str, Any]) -> str:
    """The template with every ``[name]`` written ``[name: type]``, as the model was primed.

    Fields that the text does not mention are appended; a claim becomes a
    sentence about its truth.
    """
    text = template
    unseen: list[str] = []
    for name, expected in output_schema.items():
        blank = f"[{name}: {prompt_type(expected)}]"
        if f"[{name}]" in text:
            text = text.replace(f"[{name}]", blank)
        else:
            unseen.append(blank)
    if not unseen:
        return text
    if list(output_schema) == ["claim"]:
        return f"It is {unseen[0]} that {text}"
    return f"{text}\n{' '.join(unseen)}"


def prompt_type(expected: Any, depth: int = 3) -> str:
    """A type as the prompt shows it: models with their fields, literals without spaces."""
    kept, _ = described(expected)
    fields = getattr(kept, "model_fields", None)
    if isinstance(kept, type) and isinstance(fields, dict) and depth > 0:
        known = cast("dict[str, Any]", fields)
        inner = ", ".join(
            f"{name}: {prompt_type(item.annotation, depth - 1)}" for name, item in known.items()
        )
        return f"{kept.__name__}({inner})"
    label = type_label(kept)
    if label.startswith("Literal["):
        return f"Literal[{','.join(repr(item) for item in get_args(kept))}]"
    args = get_args(kept)
    if get_origin(kept) is list and len(args) == 1:
        return f"list[{prompt_type(args[0], depth)}]"
    return label


def bounded(schema: Any) -> Any:
    """The schema with open strings and arrays capped, so that greedy decoding ends.

    What llama.cpp's grammar cannot enforce (other formats, patterns with
    lookaround) is taken out; validation still checks it.
    """
    if isinstance(schema, list):
        return [bounded(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {
        key: bounded(value)
        if key not in ("properties", "$defs")
        else {name: bounded(item) for name, item in value.items()}
        for key, value in cast("dict[str, Any]", schema).items()
    }
    if out.get("type") == "string":
        if "(?" in str(out.get("pattern", "")):
            del out["pattern"]
        if out.get("format") in _PATTERNS:
            out = {"type": "string", "pattern": _PATTERNS[out["format"]]}
        elif out.get("format") not in ENFORCED_FORMATS:
            out.pop("format", None)
        if not {"enum", "const", "format", "pattern"} & out.keys():
            most = max(MAX_STRING, out.get("minLength", 0))
            out["maxLength"] = min(out.get("maxLength", most), most)
    if out.get("type") == "array" and "prefixItems" not in out:
        out.setdefault("maxItems", max(MAX_ITEMS, out.get("minItems", 0)))
    return out


__all__ = ["ENFORCED_FORMATS", "PRIMING", "SYSTEM", "bounded", "fill_in_prompt", "prompt_type"]
