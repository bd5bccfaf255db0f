"""Turning the short forms of a contract into rules."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .models import InvariantSpec

logger = logging.getLogger(__name__)

INV_ALLOWED_POLICY_TYPES = "INV_ALLOWED_POLICY_TYPES"
INV_INSTRUMENT_SCOPE = "INV_INSTRUMENT_SCOPE"
INV_PROHIBITED_INDUSTRIES = "INV_PROHIBITED_INDUSTRIES"
INV_PRICE_SLIPPAGE = "INV_PRICE_SLIPPAGE"
LIMIT_PREFIX = "INV_LIMIT_"

LIMIT_TO_PARAM_FIELD: dict[str, str] = {
    "max_order_size": "params.order_value",
    "max_order_size_usd": "params.order_value",
    "max_transaction_usd": "params.transaction_value",
    "max_discount_pct": "params.discount_pct",
    "max_premium_usd": "params.premium",
    "max_limit_usd": "params.limit_value",
    "max_refund_usd": "params.refund_value",
    "max_drawdown_limit_pct": "params.drawdown_pct",
}

# Limits of an agent's whole conduct. As a rule on each proposal this one, which every dumped
# ResponsibilityContract carries, would refuse them all; it is a note instead.
NOTED_LIMITS = frozenset({"max_drawdown_limit"})
# Keys of an authority that start with max_ and are no limits.
_NO_LIMITS = frozenset({"max_ceiling"})


def compile_sugar_invariants(
    authority: Mapping[str, Any],
    execution_conditions: Mapping[str, Any] | None = None,
) -> list[InvariantSpec]:
    """The rules behind allowed_policy_types, resource_scope, limits, exclusions and conditions.

    Where two short forms give the same id, or the same type and field, the first one stands.
    """
    candidates = [
        *_set_rule(
            INV_ALLOWED_POLICY_TYPES,
            "policy_kind",
            "UNAUTHORIZED_POLICY_TYPE",
            allowed=authority.get("allowed_policy_types"),
        ),
        *_instrument_rule(authority),
        *_limit_rules(authority),
        *_set_rule(
            INV_PROHIBITED_INDUSTRIES,
            "params.industry",
            "PROHIBITED_INDUSTRY",
            denied=(authority.get("exclusions") or {}).get("prohibited_industries"),
        ),
        *_slippage_rule(execution_conditions or {}),
    ]
    return _first_of_each(candidates, ())


def compile_authority_invariants(contract: Mapping[str, Any]) -> list[InvariantSpec]:
    """Rules that the contract spells out, then those of its short forms that they leave open."""
    authority = contract.get("authority") or contract.get("permissions") or {}
    return compile_block(authority, contract.get("execution_conditions") or {})


def compile_block(
    authority: Mapping[str, Any], execution_conditions: Mapping[str, Any]
) -> list[InvariantSpec]:
    """The rules of one authority block."""
    explicit = [_explicit_rule(entry) for entry in authority.get("invariants") or []]
    sugar = compile_sugar_invariants(authority, execution_conditions)
    return explicit + _first_of_each(sugar, explicit)


def invariants_to_transaction_limits(
    invariants: Iterable[InvariantSpec],
) -> dict[str, dict[str, Any]]:
    """The upper bounds among the rules, as the older view of limits."""
    limits: dict[str, dict[str, Any]] = {}
    for rule in invariants:
        if rule.type != "range" or rule.max is None:
            continue
        name = rule.id
        if name.startswith(LIMIT_PREFIX):
            name = name.removeprefix(LIMIT_PREFIX).lower()
        view: dict[str, Any] = {"value": rule.max, "metric": rule.field.removeprefix("params.")}
        if rule.min is not None:
            view["min"] = rule.min
        limits[name] = view
    return limits


def limit_value(raw: Any) -> float | None:
    """The number of a limit written plainly or as {value: …}; None if it is neither."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int | float):
        return float(raw)
    if isinstance(raw, Mapping) and not isinstance(raw.get("value"), bool):
        try:
            return float(raw["value"])
        except (KeyError, TypeError, ValueError):
            return None
    return None


def _explicit_rule(entry: Any) -> InvariantSpec:
    if isinstance(entry, InvariantSpec):
        return entry
    if isinstance(entry, Mapping):
        return InvariantSpec.model_validate(dict(entry))
    raise ValueError(f"authority.invariants holds {entry!r}, which is not a rule")


def _set_rule(
    rule_id: str, field: str, reason: str, *, allowed: Any = None, denied: Any = None
) -> list[InvariantSpec]:
    if not allowed and not denied:
        return []
    return [
        InvariantSpec(
            id=rule_id,
            type="set",
            field=field,
            allowed=list(allowed or []),
            denied=list(denied or []),
            reason_code=reason,
        )
    ]


def _instrument_rule(authority: Mapping[str, Any]) -> list[InvariantSpec]:
    scoped = (authority.get("resource_scope") or {}).get("instruments")
    if scoped:
        return _set_rule(
            INV_INSTRUMENT_SCOPE, "params.instrument", "UNAUTHORIZED_INSTRUMENT", allowed=scoped
        )
    flat = _set_rule(
        INV_INSTRUMENT_SCOPE,
        "params.instrument",
        "UNAUTHORIZED_INSTRUMENT",
        allowed=authority.get("authorized_instruments"),
    )
    # Agents with a flat list also propose things that have no instrument.
    return [rule.model_copy(update={"required": False}) for rule in flat]


def _limit_rules(authority: Mapping[str, Any]) -> list[InvariantSpec]:
    limits: Mapping[Any, Any] = authority.get("limits") or {
        key: raw
        for key, raw in authority.items()
        if str(key).startswith("max_") and key not in _NO_LIMITS
    }
    rules = []
    for key, raw in limits.items():
        name = str(key)
        if name in NOTED_LIMITS or name.startswith("min_"):
            logger.debug("%s of the contract is a note, not a rule on each proposal", name)
            continue
        most = limit_value(raw)
        if most is not None:
            rules.append(_limit_rule(name, most))
    return rules


def _limit_rule(name: str, most: float) -> InvariantSpec:
    field = LIMIT_TO_PARAM_FIELD.get(name, "params." + name.replace("max_", "", 1))
    return InvariantSpec(
        id=LIMIT_PREFIX + name.upper(),
        type="range",
        field=field,
        max=most,
        reason_code="CONTRACT_LIMIT_EXCEEDED",
        runtime_amendable=True,
        min_floor=0.0,
        max_ceiling=most,
    )


def _slippage_rule(conditions: Mapping[str, Any]) -> list[InvariantSpec]:
    envelope = limit_value(conditions.get("max_price_slippage"))
    if envelope is None:
        return []
    return [
        InvariantSpec(
            id=INV_PRICE_SLIPPAGE,
            type="state_match",
            field="params.reference_price",
            snapshot_path="state.price",
            drift_envelope_pct=envelope,
            reason_code="STALE_PRICE_CONTEXT",
        )
    ]


def _first_of_each(
    candidates: Sequence[InvariantSpec], taken: Sequence[InvariantSpec]
) -> list[InvariantSpec]:
    """The candidates whose id and whose (type, field) nobody before them has."""
    ids = {rule.id for rule in taken}
    places = {(rule.type, rule.field) for rule in taken}
    kept = []
    for rule in candidates:
        if rule.id in ids or (rule.type, rule.field) in places:
            continue
        ids.add(rule.id)
        places.add((rule.type, rule.field))
        kept.append(rule)
    return kept
