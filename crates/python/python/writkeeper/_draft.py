"""The schemas of tools, from whatever a framework calls a tool."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal, Union


def schemas_of(tools: Iterable[object]) -> list[dict[str, Any]]:
    """Name, description and JSON Schema of each tool."""
    return [schema_of(tool) for tool in tools]


def schema_of(tool: object) -> dict[str, Any]:
    """Of a mapping, of a framework's tool, or of a function.

    >>> def refund(order: str, amount: float) -> str:
    ...     "Pays money back."
    >>> schema_of(refund)["parameters"]["required"]
    ['order', 'amount']
    """
    if isinstance(tool, Mapping):
        return dict(tool)
    # AG2 keeps name and schema one level below.
    for held in (tool, getattr(getattr(tool, "schema", None), "function", None)):
        name, schema = getattr(held, "name", None), _schema(held)
        if isinstance(name, str) and schema is not None:
            description = str(getattr(held, "description", "") or "")
            return {"name": name, "description": description, "parameters": _without_null(schema)}
    # ADK keeps the function and makes a schema of it when a model asks.
    function = getattr(tool, "func", None)
    if callable(function):
        return _of_function(function)
    if callable(tool):
        return _of_function(tool)
    raise TypeError(f"{type(tool).__name__} is no tool: it has no schema and cannot be called")


def _schema(tool: object) -> dict[str, Any] | None:
    """A framework's own schema: LangChain, CrewAI, OpenAI Agents, Pydantic AI, MCP and AutoGen each have a place for it."""
    for place in ("params_json_schema", "parameters_json_schema", "inputSchema", "input_schema", "parameters"):
        found = getattr(tool, place, None)
        if isinstance(found, Mapping):
            return _of_types(found)
    function_schema = getattr(tool, "function_schema", None)
    if isinstance(found := getattr(function_schema, "json_schema", None), Mapping):
        return dict(found)
    declared = getattr(tool, "schema", None)
    if isinstance(declared, Mapping) and isinstance(found := declared.get("parameters"), Mapping):
        return dict(found)
    for place in ("tool_call_schema", "args_schema"):
        model = getattr(tool, place, None)
        if isinstance(model, Mapping):
            return dict(model)
        make = getattr(model, "model_json_schema", None)
        if make is not None:
            return dict(make())
    return None


def _of_types(schema: Mapping[Any, Any]) -> dict[str, Any]:
    """A JSON Schema as it is; a mapping of names to types, which the Claude Agent SDK takes, as the schema it means."""
    if not schema or not all(isinstance(value, type) or typing.get_origin(value) for value in schema.values()):
        return dict(schema)
    properties = {str(name): _of_type(hint) for name, hint in schema.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """What may be null is optional: the guard leaves out what a model leaves empty."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return schema
    kept: dict[str, Any] = {}
    optional: set[str] = set()
    for name, declared in properties.items():
        choices = declared.get("anyOf") if isinstance(declared, Mapping) else None
        others = [choice for choice in choices or [] if choice != {"type": "null"}]
        if choices and len(others) == 1 and len(others) < len(choices):
            optional.add(name)
            rest = {key: value for key, value in declared.items() if key not in ("anyOf", "default")}
            declared = {**rest, **others[0]}
        kept[name] = declared
    required = [name for name in schema.get("required") or [] if name not in optional]
    return {**schema, "properties": kept, "required": required}


def _of_function(function: Any) -> dict[str, Any]:
    name = getattr(function, "__name__", type(function).__name__)
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError):
        hints = {}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        properties[parameter.name] = _of_type(hints.get(parameter.name))
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": inspect.getdoc(function) or "", "parameters": schema}


_SIMPLE: dict[object, dict[str, Any]] = {
    str: {"type": "string"}, bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"},
    Decimal: {"type": "number"},
}  # fmt: skip


def _of_type(hint: Any) -> dict[str, Any]:
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _of_type(arguments[0])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        kept = [argument for argument in arguments if argument is not type(None)]
        return _of_type(kept[0]) if len(kept) == 1 else {}
    if origin in (list, tuple, set, frozenset):
        return {"type": "array", "items": _of_type(arguments[0])} if arguments else {"type": "array"}
    if origin is dict or hint is dict:
        return {"type": "object"}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    return {}
