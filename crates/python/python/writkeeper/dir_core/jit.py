"""Has the world moved between the snapshot and the act?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .data_types import ValidationVerdict


def verify_drift(
    snapshot: Mapping[str, Any],
    live: Mapping[str, Any],
    keys_to_compare: Sequence[str] | None = None,
    tolerance: Mapping[str, float] | None = None,
) -> tuple[bool, str]:
    """(True, "") if nothing moved, else (False, the first difference in words).

    Without keys all keys of the snapshot count; with an empty list none does. A value that is
    missing, or that is NaN, has moved.
    """
    keys = list(snapshot) if keys_to_compare is None else keys_to_compare
    margins = tolerance or {}
    for key in keys:
        what = _difference(key, snapshot, live, margins)
        if what is not None:
            return False, (
                f"STATE_DRIFT: {key} {what} (snapshot={snapshot.get(key)}, live={live.get(key)})"
            )
    return True, ""


def _difference(
    key: str,
    snapshot: Mapping[str, Any],
    live: Mapping[str, Any],
    margins: Mapping[str, float],
) -> str | None:
    then, now = snapshot.get(key), live.get(key)
    missing = key not in snapshot or key not in live
    if key not in margins:
        return "changed" if missing or then != now else None
    if missing or then is None or now is None:
        return "changed beyond tolerance"
    before, after = _as_float(then), _as_float(now)
    if before is None or after is None:
        return None if then == now else "mismatch"
    # Written so that NaN on any side is drift.
    return None if abs(before - after) <= margins[key] else "changed beyond tolerance"


def _as_float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


class JITStateVerifier:
    """`verify_drift` as a gate with a verdict."""

    def verify(
        self,
        snapshot: Mapping[str, Any],
        live: Mapping[str, Any],
        keys_to_compare: Sequence[str] | None = None,
        tolerance: Mapping[str, float] | None = None,
    ) -> tuple[ValidationVerdict, str]:
        """ACCEPT with "no state drift", or REJECT with the first difference."""
        unmoved, difference = verify_drift(snapshot, live, keys_to_compare, tolerance)
        if unmoved:
            return ValidationVerdict.ACCEPT, "no state drift"
        return ValidationVerdict.REJECT, difference
