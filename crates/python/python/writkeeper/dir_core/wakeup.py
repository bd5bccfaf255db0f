"""Cheap questions that decide whether an agent is worth waking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

PRICE_CHANGE_THRESHOLD = 0.005
VOLATILITY_THRESHOLD = 0.03


@dataclass
class WakeupPredicate:
    """A named question about an event's payload."""

    name: str
    condition: Callable[[dict[str, Any]], bool]

    def evaluate(self, payload: dict[str, Any]) -> bool:
        """What the question says of this payload."""
        return self.condition(payload)


def price_change_significant(
    payload: dict[str, Any], threshold: float = PRICE_CHANGE_THRESHOLD
) -> bool:
    """True if the price moved by more than the threshold, up or down. 0.005 is half a percent."""
    return bool(abs(payload.get("price_delta_pct", 0)) > threshold)


def volatility_elevated(payload: dict[str, Any], threshold: float = VOLATILITY_THRESHOLD) -> bool:
    """True if the volatility is above the threshold."""
    return bool(payload.get("volatility", 0) > threshold)


def is_relevant_instrument(payload: dict[str, Any], instruments: Sequence[str]) -> bool:
    """True if the event is about one of these instruments."""
    return payload.get("instrument") in instruments


def should_wake(payload: dict[str, Any], predicates: Iterable[WakeupPredicate]) -> bool:
    """True if every question says yes; the first no ends the asking."""
    return all(predicate.evaluate(payload) for predicate in predicates)
