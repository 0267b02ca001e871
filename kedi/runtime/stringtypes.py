"""``Email``, ``HttpUrl`` and ``FileUrl``: text with a checked form.

Values stay plain ``str``, so that text assigned in a program and text answered
by a model are the same kind of thing. Schemas carry the JSON Schema format.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

# One @, a dot in the domain, no spaces: what a form checks, not RFC 5322 whole.
_EMAIL = re.compile(r"[^@\s<>,;]+@[^@\s<>,;.]+(\.[^@\s<>,;.]+)+")


class _Checked(str):
    __slots__ = ()
    json_format: ClassVar[str] = ""

    @classmethod
    def problem(cls, text: str) -> str | None:
        """What is wrong with ``text``, ``None`` when it has the form."""
        return None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def check(text: str) -> str:
            problem = cls.problem(text)
            if problem is not None:
                raise PydanticCustomError("kedi_format", "{problem}", {"problem": problem})
            return text

        return core_schema.no_info_after_validator_function(check, core_schema.str_schema())

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "format": cls.json_format}


class Email(_Checked):
    """An e-mail address."""

    __slots__ = ()
    json_format = "email"

    @classmethod
    def problem(cls, text: str) -> str | None:
        if _EMAIL.fullmatch(text):
            return None
        return "not an e-mail address such as ada@example.org"


class HttpUrl(_Checked):
    """An absolute http or https URL."""

    __slots__ = ()
    json_format = "uri"

    @classmethod
    def problem(cls, text: str) -> str | None:
        try:
            parts = urlsplit(text)
            valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            valid = False
        if valid and not re.search(r"\s", text):
            return None
        return "not an http or https URL such as https://example.org/page"


class FileUrl(_Checked):
    """An absolute file URL."""

    __slots__ = ()
    json_format = "uri"

    @classmethod
    def problem(cls, text: str) -> str | None:
        if text.startswith("file://") and len(text) > 7 and not re.search(r"\s", text):
            return None
        return "not a file URL such as file:///tmp/report.txt"
