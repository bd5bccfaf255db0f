"""Measuring a proposal by the rules of its contract. Every rule runs; every failure is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._mode import is_strict
from ._numbers import finite_number
from .data_types import DimReasonCode
from .models import InvariantSpec, PolicyProposal, RuntimeContractProjection


@dataclass(frozen=True)
class InvariantEvaluationFailure:
    """A rule that does not hold, and why."""

    reason: str | DimReasonCode
    invariant_id: str


def get_nested_value(obj: Any, path: str) -> Any:
    """Walk a dotted path through mappings and attributes; None where it ends early."""
    here = obj
    for name in path.split("."):
        if here is None:
            return None
        here = here.get(name) if isinstance(here, Mapping) else getattr(here, name, None)
    return here


def evaluate_range_rule(
    rule: InvariantSpec, proposal: PolicyProposal
) -> InvariantEvaluationFailure | None:
    """Is the number within its bounds? Both bounds belong to the range.

    Text, truth values and NaN are no numbers. A rule that has only an upper bound of zero or more
    means an amount, so it refuses what is below zero.
    """
    value = get_nested_value(proposal, rule.field)
    if value is None:
        return _missing(rule)
    number = finite_number(value)
    if number is None:
        return InvariantEvaluationFailure(f"Invalid numeric field for invariant {rule.id}", rule.id)
    lowest = rule.min
    if lowest is None and rule.max is not None and rule.max >= 0:
        lowest = 0.0
    if lowest is not None and number < lowest:
        return _failed(rule)
    if rule.max is not None and number > rule.max:
        return _failed(rule)
    return None


def evaluate_set_rule(
    rule: InvariantSpec, proposal: PolicyProposal
) -> InvariantEvaluationFailure | None:
    """Is the value outside what is denied and within what is allowed?

    Denied texts are compared without regard to case, or looked for inside the value with
    `match: substring`. Allowed values are compared exactly.
    """
    value = get_nested_value(proposal, rule.field)
    if value is None:
        return _missing(rule)
    if any(_is_denied(value, denied, rule.match) for denied in rule.denied):
        return _failed(rule)
    if rule.allowed and not any(_same(value, allowed) for allowed in rule.allowed):
        return _failed(rule)
    return None


def evaluate_state_match_rule(
    rule: InvariantSpec, proposal: PolicyProposal, context: Mapping[str, Any]
) -> InvariantEvaluationFailure | None:
    """Does what the proposal assumes still agree with the live state?"""
    if not rule.snapshot_path:
        return InvariantEvaluationFailure(
            f"Invariant {rule.id} matches a state and names no snapshot_path", rule.id
        )
    proposed = get_nested_value(proposal, rule.field)
    if proposed is None:
        return _missing(rule)
    state = context.get("state", context)
    live = get_nested_value(state, rule.snapshot_path.removeprefix("state."))
    envelope = rule.drift_envelope_pct or 0.0
    if rule.expected is not None and envelope == 0:
        agrees = _same(proposed, rule.expected) and _same(live, rule.expected)
        return None if agrees else _failed(rule)
    if live is None and finite_number(proposed) is not None:
        return InvariantEvaluationFailure(DimReasonCode.CONTRACT_PARAMETER_MISSING, rule.id)
    return None if _within_envelope(proposed, live, envelope) else _failed(rule)


def evaluate_invariants(
    proposal: PolicyProposal,
    projection: RuntimeContractProjection,
    context: Mapping[str, Any],
) -> list[InvariantEvaluationFailure]:
    """All rules that do not hold, in the order of the contract."""
    failures = []
    for rule in projection.invariants:
        kinds = rule.applies_to_policy_kinds
        if kinds and proposal.policy_kind not in kinds:
            continue
        failure = _evaluate(rule, proposal, context)
        if failure is not None:
            failures.append(failure)
    return failures


def _evaluate(
    rule: InvariantSpec, proposal: PolicyProposal, context: Mapping[str, Any]
) -> InvariantEvaluationFailure | None:
    if rule.type == "range":
        return evaluate_range_rule(rule, proposal)
    if rule.type == "set":
        return evaluate_set_rule(rule, proposal)
    return evaluate_state_match_rule(rule, proposal, context)


def _missing(rule: InvariantSpec) -> InvariantEvaluationFailure | None:
    if not rule.required and not is_strict():
        return None
    return InvariantEvaluationFailure(DimReasonCode.CONTRACT_PARAMETER_MISSING, rule.id)


def _failed(rule: InvariantSpec) -> InvariantEvaluationFailure:
    return InvariantEvaluationFailure(rule.reason_code, rule.id)


def _is_denied(value: Any, denied: Any, match: str) -> bool:
    if not isinstance(value, str):
        return _same(value, denied)
    if not isinstance(denied, str):
        return False
    if match == "substring":
        return denied.casefold() in value.casefold()
    return denied.casefold() == value.casefold()


def _same(one: Any, other: Any) -> bool:
    """Equality in which a truth value is not the number that Python takes it for."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _within_envelope(proposed: Any, live: Any, envelope: float) -> bool:
    assumed, actual = finite_number(proposed), finite_number(live)
    if assumed is None or actual is None:
        return _same(proposed, live)
    if envelope <= 0:
        return assumed == actual
    distance = abs(assumed - actual)
    if actual != 0:
        distance = distance / abs(actual) * 100.0
    return distance <= envelope
