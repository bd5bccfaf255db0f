"""The JSON text that hashes are taken of, byte for byte as the reference writes it."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Sorted keys, a space after each comma and colon, ASCII only; foreign values as their text."""
    return json.dumps(value, sort_keys=True, default=str)


def exact_json(value: Any) -> str:
    """The same text, and TypeError for a value that JSON does not have."""
    return json.dumps(value, sort_keys=True)


def sha256_hex(text: str) -> str:
    """64 lower-case hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
