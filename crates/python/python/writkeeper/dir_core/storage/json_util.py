"""The JSON text of stored columns."""

from __future__ import annotations

from typing import Any

from .._canonical import canonical_json


def dumps_json_dict(data: Any) -> str:
    """Sorted keys, foreign values as their text: the same on every backend."""
    return canonical_json(data)
