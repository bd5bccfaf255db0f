"""Which values count as numbers: never text, never a truth value, never NaN."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any


def finite_number(value: Any) -> float | None:
    """The value as a float if it is a finite number of a number type, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None
