"""Judging a proposal. The order of the checks and their sentences are fixed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ._judging import reaches
from ._mode import is_strict
from ._numbers import finite_number
from ._times import as_utc, seconds_after, utcnow
from .amendments import projection_with_effective_invariants
from .contract_projection import (
    as_mapping,
    confidence_threshold,
    ensure_projection_invariants,
    project_contract,
)
from .data_types import (
    DimReasonCode,
    ValidationReason,
    ValidationResult,
    ValidationVerdict,
)
from .invariants import InvariantEvaluationFailure, evaluate_invariants
from .models import PolicyProposal, ResponsibilityContract, RuntimeContractProjection

if TYPE_CHECKING:
    from .intent_retry import IntentRetryGovernor

CustomValidator = Callable[[PolicyProposal, dict[str, Any], dict[str, Any]], str | None]
Contract = Mapping[str, Any] | RuntimeContractProjection

AUDIT_KEY = "_dim_audit"
RISKY_KIND = "deploy_to_production"
RISK_LIMIT = 0.8


def validate_proposal(
    proposal: PolicyProposal,
    context: dict[str, Any],
    allowed_agents: Sequence[str] | None = None,
    now: datetime | None = None,
    retry_governor: IntentRetryGovernor | None = None,
    contract: Contract | ResponsibilityContract | None = None,
    custom_validators: Sequence[CustomValidator] | None = None,
) -> ValidationResult:
    """ACCEPT or REJECT, with the reason.

    What rules failed is written into the caller's context under `_dim_audit`. Without a contract
    the proposal is accepted, as in the reference; `strict()` refuses it.
    """
    if isinstance(contract, ResponsibilityContract):
        contract = as_mapping(contract)
    threshold = confidence_threshold(contract) if isinstance(contract, Mapping) else None
    return judge(
        proposal,
        context,
        allowed_agents=allowed_agents,
        now=now,
        retry_governor=retry_governor,
        contract=contract,
        threshold=threshold,
        custom_validators=custom_validators,
    )


def judge(
    proposal: PolicyProposal,
    context: dict[str, Any],
    *,
    allowed_agents: Sequence[str] | None,
    now: datetime | None,
    retry_governor: IntentRetryGovernor | None,
    contract: Contract | None,
    threshold: Any,
    custom_validators: Sequence[CustomValidator] | None,
) -> ValidationResult:
    """`validate_proposal` with the confidence threshold found by the caller."""
    if AUDIT_KEY in context:
        del context[AUDIT_KEY]
    if retry_governor is not None and retry_governor.should_abort(proposal.dfid):
        return ValidationVerdict.REJECT, DimReasonCode.REASONING_EXHAUSTION
    instant = as_utc(now) if now is not None else utcnow()
    objection = (
        _shape_objection(proposal)
        or _time_objection(proposal, instant)
        or _agent_objection(proposal, allowed_agents)
        or _contract_objection(proposal, context, contract, threshold, instant)
        or _risk_objection(proposal, context)
        or _validator_objection(proposal, context, contract, custom_validators or ())
    )
    if objection is None:
        return ValidationVerdict.ACCEPT, DimReasonCode.VALIDATION_PASSED
    if retry_governor is not None:
        retry_governor.record_rejection(proposal.dfid)
    return ValidationVerdict.REJECT, objection


def _shape_objection(proposal: PolicyProposal) -> ValidationReason | None:
    if not proposal.policy_kind:
        return "Missing policy_kind"
    return None if proposal.agent_id else "Missing agent_id"


def _time_objection(proposal: PolicyProposal, instant: datetime) -> ValidationReason | None:
    if proposal.valid_until is not None:
        end = as_utc(proposal.valid_until)
    else:
        window = proposal.execution_constraints.get("validity_window_sec")
        if window is None:
            return None
        try:
            end = seconds_after(proposal.created_at, float(window))
        except (TypeError, ValueError):
            return DimReasonCode.TTL_EXPIRED
    return DimReasonCode.TTL_EXPIRED if instant > end else None


def _agent_objection(
    proposal: PolicyProposal, allowed_agents: Sequence[str] | None
) -> ValidationReason | None:
    if allowed_agents is None or proposal.agent_id in allowed_agents:
        return None
    return f"Agent '{proposal.agent_id}' not authorized (RBAC)"


def _contract_objection(
    proposal: PolicyProposal,
    context: MutableMapping[str, Any],
    contract: Contract | None,
    threshold: Any,
    instant: datetime,
) -> ValidationReason | None:
    if not contract:
        return f"No contract for agent '{proposal.agent_id}'" if is_strict() else None
    projection = _in_force(contract, instant)
    if threshold is None:
        threshold = projection.escalation_policy.get("confidence_below")
    if threshold is not None and not reaches(proposal.confidence, threshold):
        return f"Proposal confidence ({proposal.confidence}) is below threshold ({threshold})"
    if is_strict() and not projection.allowed_policy_types and not projection.invariants:
        return f"The contract of agent '{proposal.agent_id}' names no action"
    failures = evaluate_invariants(proposal, projection, context)
    if not failures:
        return None
    context[AUDIT_KEY] = {
        "failed_invariant_id": failures[0].invariant_id,
        "failures": [_shown(failure) for failure in failures],
    }
    return ";".join(str(failure.reason) for failure in failures)


def _in_force(contract: Contract, instant: datetime) -> RuntimeContractProjection:
    if isinstance(contract, RuntimeContractProjection):
        projection = ensure_projection_invariants(contract)
    else:
        projection = project_contract(contract)
    if projection.parameter_amendments:
        return projection_with_effective_invariants(projection, now=instant)
    return projection


def _shown(failure: InvariantEvaluationFailure) -> dict[str, str]:
    return {"invariant_id": failure.invariant_id, "reason": str(failure.reason)}


def _risk_objection(
    proposal: PolicyProposal, context: Mapping[str, Any]
) -> ValidationReason | None:
    if proposal.policy_kind != RISKY_KIND:
        return None
    state = context.get("state")
    score = state.get("risk_score", 0.0) if isinstance(state, Mapping) else 0.0
    number = finite_number(score)
    if number is not None and number <= RISK_LIMIT:
        return None
    return f"Risk score {score} too high for deployment"


def _validator_objection(
    proposal: PolicyProposal,
    context: dict[str, Any],
    contract: Contract | None,
    validators: Sequence[CustomValidator],
) -> ValidationReason | None:
    if not validators:
        return None
    if isinstance(contract, RuntimeContractProjection):
        shown: dict[str, Any] = contract.model_dump(mode="json")
    else:
        shown = dict(contract or {})
    for validator in validators:
        said = validator(proposal, context, shown)
        if said is not None:
            return f"Custom validation failed: {said}"
    return None
