"""A person's changes of rules at run time, within what the contract leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ._numbers import finite_number
from ._times import as_utc, seconds_after, utcnow
from .invariant_compile import invariants_to_transaction_limits
from .models import ContractParameterAmendment, InvariantSpec, RuntimeContractProjection

ALLOWED_PATCH_KEYS = frozenset({"min", "max", "allowed", "drift_envelope_pct"})


def validate_amendment_patch(
    invariant: InvariantSpec,
    patch: Mapping[str, Any],
    *,
    now: datetime | None = None,
) -> str | None:
    """The code of what is wrong with the patch, or None.

    A bound must be a finite number: null would remove it and NaN would disarm it
    (PATCH_VALUE_INVALID). An empty list of allowed values would allow everything.
    """
    del now
    if not invariant.runtime_amendable:
        return "INVARIANT_NOT_AMENDABLE"
    if not patch:
        return "EMPTY_PATCH"
    foreign = sorted(set(patch) - ALLOWED_PATCH_KEYS)
    if foreign:
        return f"DISALLOWED_PATCH_KEYS: {foreign}"
    return (
        _bound_fault(invariant, patch, "max")
        or _bound_fault(invariant, patch, "min")
        or _allowed_fault(invariant, patch)
        or _envelope_fault(patch)
        or _ttl_fault(invariant)
    )


def apply_amendment_patch(invariant: InvariantSpec, patch: Mapping[str, Any]) -> InvariantSpec:
    """The rule with the patch on it."""
    return InvariantSpec.model_validate({**invariant.model_dump(), **patch})


def resolve_expires_at(
    amendment: ContractParameterAmendment, invariant: InvariantSpec
) -> datetime | None:
    """When the amendment ends: at its own instant, else after the rule's time, else never."""
    if amendment.expires_at is not None:
        return as_utc(amendment.expires_at)
    if invariant.amend_ttl_seconds:
        return seconds_after(amendment.created_at, invariant.amend_ttl_seconds)
    return None


def effective_invariants(
    projection: RuntimeContractProjection, *, now: datetime | None = None
) -> list[InvariantSpec]:
    """The rules with the amendments that are in force, applied in order.

    An amendment that would take a bound away is passed over, wherever it was stored.
    """
    instant = as_utc(now) if now is not None else utcnow()
    rules = {rule.id: rule for rule in projection.invariants}
    for amendment in projection.parameter_amendments:
        rule = rules.get(amendment.invariant_id)
        if rule is None or _takes_a_bound_away(amendment.patch):
            continue
        end = resolve_expires_at(amendment, rule)
        if end is None or instant < end:
            rules[rule.id] = apply_amendment_patch(rule, amendment.patch)
    return list(rules.values())


def projection_with_effective_invariants(
    projection: RuntimeContractProjection, *, now: datetime | None = None
) -> RuntimeContractProjection:
    """The projection as it applies at this instant."""
    rules = effective_invariants(projection, now=now)
    limits = invariants_to_transaction_limits(rules)
    return projection.model_copy(update={"invariants": rules, "transaction_limits": limits})


def _takes_a_bound_away(patch: Mapping[str, Any]) -> bool:
    bounds = ("min", "max", "drift_envelope_pct")
    return any(key in patch and finite_number(patch[key]) is None for key in bounds)


def _bound_fault(invariant: InvariantSpec, patch: Mapping[str, Any], key: str) -> str | None:
    if key not in patch:
        return None
    bound = finite_number(patch[key])
    if bound is None:
        return "PATCH_VALUE_INVALID"
    above = invariant.max_ceiling is not None and bound > invariant.max_ceiling
    below = invariant.min_floor is not None and bound < invariant.min_floor
    if above:
        return "PATCH_EXCEEDS_MAX_CEILING"
    return "PATCH_BELOW_MIN_FLOOR" if below else None


def _allowed_fault(invariant: InvariantSpec, patch: Mapping[str, Any]) -> str | None:
    if "allowed" not in patch:
        return None
    wanted = patch["allowed"]
    if not isinstance(wanted, list):
        return "ALLOWED_PATCH_MUST_BE_LIST"
    if invariant.allowed:
        narrower = wanted and all(value in invariant.allowed for value in wanted)
        return None if narrower else "ALLOWED_PATCH_EXPANSION_FORBIDDEN"
    return "ALLOWED_PATCH_REQUIRES_SIGNED_BASE" if invariant.type == "set" else None


def _envelope_fault(patch: Mapping[str, Any]) -> str | None:
    if "drift_envelope_pct" not in patch:
        return None
    envelope = finite_number(patch["drift_envelope_pct"])
    if envelope is None:
        return "PATCH_VALUE_INVALID"
    return "DRIFT_ENVELOPE_NEGATIVE" if envelope < 0 else None


def _ttl_fault(invariant: InvariantSpec) -> str | None:
    ttl = invariant.amend_ttl_seconds
    return "INVALID_AMEND_TTL" if ttl is not None and ttl <= 0 else None
