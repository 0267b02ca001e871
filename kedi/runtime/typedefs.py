"""``~Name(fields)``: pydantic models defined by a program."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ForwardRef

from kedi.diagnostics import Diagnostic
from kedi.errors import KediCompileError, KediTypeExecutionError
from kedi.runtime.blocks import Step
from kedi.runtime.compiler import Compiler, bind
from kedi.runtime.frames import RunFrame, Site
from kedi.runtime.python import Run, python_runner
from kedi.runtime.scopes import MISSING, Scope, dict_get
from kedi.runtime.types import ATOMS, EPOCH, SHADOWED, STR, TypeSource
from kedi.syntax import ast as syntax
from kedi.syntax.ast import Stmt

if TYPE_CHECKING:
    from pydantic import BaseModel


@lru_cache(maxsize=1)
def model_base() -> type[BaseModel]:
    """The base class of all Kedi types. Imports pydantic, so on demand."""
    from kedi.runtime.modelbase import KediModel

    return KediModel


def is_kedi_type(value: Any) -> bool:
    """Whether a value is a class that a program defined with ``~``."""
    return isinstance(value, type) and "__kedi_site__" in value.__dict__


def compile_type(compiler: Compiler, stmt: Stmt, line: int) -> tuple[Site, Step]:
    """``~Name(fields)``: the step that defines it."""
    node = stmt.node
    assert isinstance(node, syntax.TypeDef)
    interpreter = compiler.interpreter
    unit = compiler.unit
    name = node.name.text
    site = read_type(compiler, stmt, line)
    fields: list[tuple[str, TypeSource | None, Run | None]] = []
    for item in node.fields:
        where = site.at(item, "type expression", item.name.text)
        source = TypeSource(where.at(item.type), item.type) if item.type is not None else None
        default = (
            python_runner(interpreter, where.at(item.default), item.default)
            if item.default is not None
            else None
        )
        fields.append((item.name.text, source, default))

    def define(frame: RunFrame, scope: Scope) -> None:
        own = {name: ForwardRef(name)}
        definitions: dict[str, tuple[Any, Any]] = {}
        for field, source, default in fields:
            contract = source.resolve(frame, scope, own) if source is not None else STR
            value = default(frame, scope) if default is not None else ...
            definitions[field] = (contract.type, value)
        module = scope.lookup("__name__")
        model = build_type(name, definitions, site, module if module is not MISSING else unit.name)
        before = dict_get(scope, name)
        if is_kedi_type(before):
            before.__kedi_replaced__ = True
        if before is not None:
            EPOCH[0] += 1
        bind(frame, scope, name, model, None)

    return site, define


def read_type(compiler: Compiler, stmt: Stmt, line: int) -> Site:
    """The place of a ``~Name(…)`` statement, once its names are known to be usable.

    Raises :class:`~kedi.errors.KediCompileError`.
    """
    node = stmt.node
    assert isinstance(node, syntax.TypeDef)
    name = node.name.text
    if name in ATOMS:
        SHADOWED.add(name)
    _check_names(compiler, stmt, line, node)
    return compiler.site(stmt, line, "definition", f"~{name}")


def _check_names(compiler: Compiler, stmt: Stmt, line: int, node: syntax.TypeDef) -> None:
    """Refuse names that would break the model: Python and pydantic use them themselves."""
    problems: list[Diagnostic] = []
    for item in node.fields:
        name = item.name.text
        if name.startswith("_"):
            reason = "a field cannot start with `_`"
            better = name.strip("_") or "value"
        elif name in _MODEL_NAMES:
            reason = f"every type has a `{name}` of its own, which a field cannot replace"
            better = name.removeprefix("model_") + "_"
        else:
            continue
        span = compiler.site(stmt, line, "definition").at(item.name).span
        problems.append(
            Diagnostic(
                "field-name",
                f"{reason}: `{node.name.text}.{name}`",
                span,
                hint=f"choose another name, such as `{better}`",
                source_line=compiler.unit.line_text(span.line),
            )
        )
    if problems:
        raise KediCompileError(problems)


#: What pydantic's models offer under these names is part of every type (language, section 5).
_MODEL_NAMES = frozenset(
    {
        "model_computed_fields",
        "model_config",
        "model_construct",
        "model_copy",
        "model_dump",
        "model_dump_json",
        "model_extra",
        "model_fields",
        "model_fields_set",
        "model_json_schema",
        "model_parametrized_name",
        "model_post_init",
        "model_rebuild",
        "model_validate",
        "model_validate_json",
        "model_validate_strings",
    }
)


def build_type(
    name: str, fields: dict[str, tuple[Any, Any]], site: Site, module: str
) -> type[BaseModel]:
    """The class of a type with ``fields`` of ``(type, default)``; ``...`` is no default.

    The field types may hold a ``ForwardRef`` to the type itself. Raises
    :class:`~kedi.errors.KediTypeExecutionError` for what pydantic or a default's type refuses.
    """
    import warnings

    from pydantic import Field, PydanticUserError, create_model
    from pydantic.errors import PydanticSchemaGenerationError

    from kedi.runtime.modelbase import FieldSignature

    definitions: dict[str, Any] = {}
    for field, (kind, default) in fields.items():
        described = _description(kind)
        options: dict[str, Any] = {"description": described} if described else {}
        definitions[field] = (
            (kind, Field(**options)) if default is ... else (kind, Field(default, **options))
        )
    base = model_base()
    try:
        with warnings.catch_warnings():
            # A field may shadow an attribute of BaseModel (``copy``, ``json``): the program wins.
            warnings.simplefilter("ignore", UserWarning)
            model = create_model(name, __base__=base, __module__=module, **definitions)
            if not model.__pydantic_complete__:
                model.model_rebuild(_types_namespace={name: model}, raise_errors=True)
    except (PydanticUserError, PydanticSchemaGenerationError, NameError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise KediTypeExecutionError(
            f"type `{name}` cannot be built: {reason}",
            hint="give each field a type that pydantic can check",
        ) from None
    model.__kedi_site__ = site  # pyright: ignore[reportAttributeAccessIssue]
    model.__kedi_fields__ = fields  # pyright: ignore[reportAttributeAccessIssue]
    model.__signature__ = FieldSignature()  # pyright: ignore[reportAttributeAccessIssue]
    _check_defaults(name, model, fields)
    return model


def _check_defaults(name: str, model: type[BaseModel], fields: dict[str, tuple[Any, Any]]) -> None:
    from kedi.agents.validation import TypeMismatch, check_native
    from kedi.runtime.mismatches import mismatch

    for field, (kind, default) in fields.items():
        if default is ... or isinstance(kind, ForwardRef):
            continue
        try:
            check_native(default, model.__annotations__.get(field, kind))
        except TypeMismatch as error:
            raise mismatch(error, f"{name}.{field}", default, kind) from None
        except TypeError:
            continue  # a type that refers to the model itself: checked on construction


def _description(kind: Any) -> str | None:
    for item in getattr(kind, "__metadata__", ()):
        if isinstance(item, str):
            return item
    return None
