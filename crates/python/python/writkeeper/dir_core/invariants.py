"""Measuring a proposal by the rules of its contract. Every rule runs; every failure is named.

The kernel judges each rule; here are the paths into the proposal and the reference's codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import _ranges
from ._judging import findings
from ._mode import is_strict
from .data_types import DimReasonCode
from .models import InvariantSpec, PolicyProposal, RuntimeContractProjection

# What the kernel finds where a number was to be.
_NO_NUMBER = frozenset({"PARAM_INVALID", "NUMBER_NOT_EXACT"})


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
    found = _ranges.judged(value, _ranges.bound(rule.min), _ranges.bound(rule.max))
    if set(found) & _NO_NUMBER:
        return InvariantEvaluationFailure(f"Invalid numeric field for invariant {rule.id}", rule.id)
    return _failed(rule) if found else None


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
    texts = [denied for denied in rule.denied if isinstance(denied, str)]
    # The kernel denies texts; other values are denied here.
    if any(_same(value, denied) for denied in rule.denied if not isinstance(denied, str)):
        return _failed(rule)
    if isinstance(value, str) or rule.allowed:
        denied = texts if isinstance(value, str) else []
        limit = {"id": "set", "type": "set", "allowed": rule.allowed, "denied": denied}
        return _failed(rule) if findings({**limit, "match": rule.match}, value) else None
    return None


def evaluate_state_match_rule(
    rule: InvariantSpec, proposal: PolicyProposal, context: Mapping[str, Any]
) -> InvariantEvaluationFailure | None:
    """Does what the proposal assumes still agree with the live state?"""
    if not rule.snapshot_path:
        return InvariantEvaluationFailure(
            f"Invalid state_match invariant {rule.id}: missing snapshot_path", rule.id
        )
    proposed = get_nested_value(proposal, rule.field)
    if proposed is None:
        return _missing(rule)
    state = context.get("state", context)
    live = get_nested_value(state, rule.snapshot_path.removeprefix("state."))
    envelope = max(rule.drift_envelope_pct or 0.0, 0.0)
    expected = rule.expected if envelope == 0 else None
    assumed, actual = _ranges.exactly(proposed), _ranges.exactly(live)
    if live is None and expected is None and assumed is not None:
        return InvariantEvaluationFailure(DimReasonCode.CONTRACT_PARAMETER_MISSING, rule.id)
    if expected is None and assumed is not None and actual is not None:
        # There is no percentage of nothing: the envelope is the distance itself.
        margin = _ranges.bound(envelope)
        if margin is None:
            return None
        ends = _ranges.around(actual, margin) if actual else (-margin, margin)
        return _failed(rule) if _ranges.judged(proposed, *ends, once=True) else None
    limit: dict[str, Any] = {"id": "match", "type": "state_match", "snapshot_path": "state.live"}
    if expected is not None:
        limit["expected"] = expected
    return _failed(rule) if findings(limit, proposed, live) else None


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


def _same(one: Any, other: Any) -> bool:
    """Equality in which a truth value is not the number that Python takes it for."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)

