"""JSON text for the kernel, and values out of it: exact numbers, nothing guessed.

A number is what its text says. ``Decimal`` and ``int`` stay what they are; a ``float`` is the shortest text that means
it, which is what people see when they print it.

>>> encode({"amount": Decimal("12.50"), "order": "A-1"})
'{"amount":12.50,"order":"A-1"}'
>>> encode(Decimal("0.1000000000000000000001"))
'"0.1000000000000000000001"'
>>> encode({"at": {1, 2}})
Traceback (most recent call last):
    ...
TypeError: `at` is of type set, which JSON cannot hold
>>> decode('{"amount":12.5,"count":3}')
{'amount': Decimal('12.5'), 'count': 3}
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

DEPTH_MAX = 32
"""Deeper values are refused by the kernel as well."""

_reader = json.JSONDecoder(parse_float=Decimal)
_writer = json.JSONEncoder(ensure_ascii=False)


def encode(value: object) -> str:
    """The JSON text of a value. Raises ``TypeError`` or ``ValueError`` for what JSON cannot hold exactly."""
    parts: list[str] = []
    _write(value, "the value", parts, 0)
    return "".join(parts)


def decode(text: str | bytes) -> Any:
    """The value of JSON text: whole numbers as ``int``, others as ``Decimal``."""
    return _reader.decode(text) if isinstance(text, str) else json.loads(text, parse_float=Decimal)


def canonical(value: object) -> str:
    """One text for equal values, to compare them by: 1 and 1.0 and Decimal("1.00") are the same number."""
    return json.dumps(_plain(decode(encode(value))), sort_keys=True, ensure_ascii=False)


def as_given(given: object, decided: Any) -> Any:
    """What was decided, in the types it was asked with: whoever passed a ``float`` gets a ``float`` back."""
    if isinstance(given, Mapping) and isinstance(decided, dict):
        return {key: as_given(given.get(key), value) for key, value in decided.items()}
    if isinstance(given, (list, tuple)) and isinstance(decided, list):
        paired = list(given) + [None] * max(0, len(decided) - len(given))
        return [as_given(before, value) for before, value in zip(paired, decided)]
    try:
        if given is not None and canonical(given) == canonical(decided):
            return given
    except (TypeError, ValueError):
        return decided
    if isinstance(decided, dict) and (members := _members(given)) is not None:
        return _made_again(given, as_given(members, decided))
    if isinstance(decided, Decimal) and not isinstance(given, (Decimal, str)):
        return float(decided)
    return decided


def _write(value: object, path: str, parts: list[str], depth: int) -> None:
    if depth > DEPTH_MAX:
        raise ValueError(f"`{path}` is nested deeper than {DEPTH_MAX} levels")
    # What nearly every value is comes first.
    if type(value) is str:
        parts.append(_text(value, path))
        return
    if type(value) is dict:
        _write_members(value, path, parts, depth)
        return
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, str):
        parts.append(_text(value, path))
    elif isinstance(value, int):
        parts.append(str(int(value)))
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"`{path}` is {value}, which is no number in JSON")
        parts.append(repr(float(value)))
    elif isinstance(value, Decimal):
        parts.append(_decimal(value, path))
    elif isinstance(value, Mapping):
        _write_members(value, path, parts, depth)
    elif isinstance(value, (list, tuple)):
        parts.append("[")
        for index, item in enumerate(value):
            parts.append("," if index else "")
            _write(item, f"{path}[{index}]", parts, depth + 1)
        parts.append("]")
    elif isinstance(value, (datetime.datetime, datetime.date, uuid.UUID)):
        parts.append(_text(_moment(value, path), path))
    elif (members := _members(value)) is not None:
        _write_members(members, path, parts, depth)
    else:
        raise TypeError(f"`{path}` is of type {type(value).__name__}, which JSON cannot hold")


def _write_members(value: Mapping[Any, Any], path: str, parts: list[str], depth: int) -> None:
    parts.append("{")
    for index, (key, item) in enumerate(value.items()):
        if not isinstance(key, str):
            raise TypeError(f"`{path}` has the key {key!r}, and keys are text")
        parts.append("," if index else "")
        parts.append(_text(key, path) + ":")
        _write(item, key if path == "the value" else f"{path}.{key}", parts, depth + 1)
    parts.append("}")


def _members(value: object) -> dict[str, Any] | None:
    """The fields of a pydantic model or of a dataclass, which tools take as arguments; nothing for anything else."""
    if isinstance(value, type):
        return None
    fields = getattr(type(value), "model_fields", None)
    if isinstance(fields, Mapping) and hasattr(value, "model_dump"):
        return {str(name): getattr(value, str(name)) for name in fields}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _made_again(given: Any, members: dict[str, Any]) -> Any:
    """A value of the same class with these fields."""
    make = getattr(type(given), "model_validate", None)
    return type(given)(**members) if make is None else make(members)


def _text(value: str, path: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"`{path}` holds half of a character, which no text can") from None
    return _writer.encode(value)


def _decimal(value: Decimal, path: str) -> str:
    if not value.is_finite():
        raise ValueError(f"`{path}` is {value}, which is no number in JSON")
    # A number that others would read as another one is sent as text.
    exact = Decimal(repr(float(value))) == value
    return str(value) if exact else f'"{value}"'


def _moment(value: datetime.date | uuid.UUID, path: str) -> str:
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, datetime.datetime) and value.utcoffset() is None:
        raise ValueError(f"`{path}` is a time without an offset, so nobody knows when it is")
    return value.isoformat()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    number = Decimal(value).normalize()
    return f"#{number:f}"
