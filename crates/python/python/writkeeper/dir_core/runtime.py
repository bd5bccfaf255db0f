"""Registry, context, escalation and audit behind one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ._width import has_rules
from .agent_registry import AgentRegistry, AmendmentResult, HandshakeResult
from .context_store import ContextStore
from .contract_projection import as_mapping, confidence_threshold, project_contract
from .data_types import (
    AgentRegistryStatus,
    DimReasonCode,
    ValidationResult,
    ValidationVerdict,
)
from .dim import AUDIT_KEY, Contract, CustomValidator, judge
from .escalation import EscalationManager
from .intent_retry import IntentRetryGovernor
from .models import (
    ContractParameterAmendment,
    PolicyProposal,
    ResponsibilityContract,
    RuntimeContractProjection,
)
from .storage import StorageBundle
from .storage.base import AuditStore

__all__ = ["CustomValidator", "DecisionRuntime"]

_EVENTS = {
    ValidationVerdict.ACCEPT: "PROPOSAL_ACCEPT",
    ValidationVerdict.REJECT: "PROPOSAL_REJECT",
    ValidationVerdict.ESCALATE: "PROPOSAL_ESCALATE",
}
_REFUSED_BY_STATUS = {
    AgentRegistryStatus.SUSPENDED: DimReasonCode.AGENT_SUSPENDED,
    AgentRegistryStatus.RETIRED: DimReasonCode.AGENT_RETIRED,
    AgentRegistryStatus.DEGRADED: DimReasonCode.AGENT_DEGRADED,
}


class DecisionRuntime:
    """The usual way in: register agents, evaluate what they propose."""

    def __init__(
        self,
        storage_bundle: StorageBundle,
        *,
        supported_versions: str = "1.x",
        max_escalations_per_hour: int = 3,
        escalation_refill_interval_sec: int = 3600,
    ) -> None:
        self.registry = AgentRegistry(
            supported_versions=supported_versions, storage=storage_bundle.agent_registry
        )
        self.context_store = ContextStore(storage=storage_bundle.context)
        self.escalation = EscalationManager(
            max_escalations_per_hour=max_escalations_per_hour,
            refill_interval_sec=escalation_refill_interval_sec,
            storage=storage_bundle.escalation,
        )
        self.audit = AuditStore(storage_bundle.decision_audit, storage_bundle.idempotency)

    def register_agent(
        self,
        agent_id: str,
        contract: dict[str, Any],
        agent_version: str,
        *,
        priority: int = 0,
    ) -> HandshakeResult:
        """A handshake with the registry."""
        return self.registry.handshake(agent_id, contract, agent_version, priority)

    def register_projection(
        self,
        projection: RuntimeContractProjection,
        agent_version: str,
        *,
        priority: int = 0,
    ) -> HandshakeResult:
        """A handshake with a contract that is already reduced to rules."""
        return self.registry.register_projection(projection, agent_version, priority)

    def apply_parameter_amendment(
        self, amendment: ContractParameterAmendment, *, record_audit: bool = True
    ) -> AmendmentResult:
        """Change one amendable rule and note it under the amendment's flow, else the agent."""
        result = self.registry.apply_parameter_amendment(amendment)
        if record_audit and result.accepted:
            self.audit.record(
                amendment.dfid or amendment.agent_id,
                "CONTRACT_PARAMETER_AMENDED",
                details={
                    "agent_id": amendment.agent_id,
                    "invariant_id": amendment.invariant_id,
                    "patch": dict(amendment.patch),
                    "actor_id": amendment.actor_id,
                    "base_release": amendment.base_release.model_dump(mode="json"),
                    "impact_category": amendment.impact_category,
                },
                agent_id=amendment.agent_id,
            )
        return result

    def evaluate_proposal(
        self,
        proposal: PolicyProposal,
        raw_web_context: dict[str, Any],
        *,
        dim_context: dict[str, Any] | None = None,
        allowed_agents: Sequence[str] | None = None,
        contract: Contract | ResponsibilityContract | None = None,
        use_registry_contract: bool = True,
        retry_governor: IntentRetryGovernor | None = None,
        custom_validators: Sequence[CustomValidator] | None = None,
        now: datetime | None = None,
        record_audit: bool = True,
    ) -> ValidationResult:
        """Verdict and reason, and a note of both.

        An agent that nobody registered, an agent that is restricted, and a contract that rules
        nothing are refused.
        """
        if isinstance(contract, ResponsibilityContract):
            contract = as_mapping(contract)
        gate = self._gate(proposal, contract)
        if gate is not None:
            self._note(proposal, gate, {}, record_audit)
            return gate
        self.context_store.update_session(
            proposal.dfid, dict(raw_web_context), agent_id=proposal.agent_id
        )
        context = self._context(proposal, raw_web_context, dim_context)
        applied, threshold, fault = self._applied_contract(
            proposal, contract, use_registry_contract
        )
        if fault is not None:
            result = _refused(proposal, fault, retry_governor)
        else:
            result = judge(
                proposal,
                context,
                allowed_agents=allowed_agents,
                now=now,
                retry_governor=retry_governor,
                contract=applied,
                threshold=threshold,
                custom_validators=custom_validators,
            )
        self._note(proposal, result, context.get(AUDIT_KEY) or {}, record_audit)
        return result

    def _gate(self, proposal: PolicyProposal, contract: Contract | None) -> ValidationResult | None:
        known = self.registry.get_agent_status(proposal.agent_id)
        if known is None:
            # A caller that brings a contract of its own answers for the agent.
            return None if contract else (ValidationVerdict.REJECT, "AGENT_NOT_FOUND")
        status = known[0]
        if status == AgentRegistryStatus.ACTIVE:
            return None
        if status == AgentRegistryStatus.ESCALATION_ONLY:
            return ValidationVerdict.ESCALATE, "AGENT_ESCALATION_ONLY"
        for restricted, reason in _REFUSED_BY_STATUS.items():
            if status == restricted:
                return ValidationVerdict.REJECT, reason
        return ValidationVerdict.REJECT, f"AGENT_{status}"

    def _context(
        self,
        proposal: PolicyProposal,
        raw_web_context: dict[str, Any],
        dim_context: dict[str, Any] | None,
    ) -> dict[str, Any]:
        if dim_context is not None:
            named = {"dfid": proposal.dfid, "agent_id": proposal.agent_id}
            return {**dim_context, "meta": {**named, **(dim_context.get("meta") or {})}}
        context = self.context_store.compile_working_context(proposal.agent_id, proposal.dfid)
        context["web"] = dict(raw_web_context)
        schema = self.registry.get_schema(proposal.agent_id)
        if schema is not None:
            context["meta"]["schema"] = schema
        return context

    def _applied_contract(
        self, proposal: PolicyProposal, contract: Contract | None, use_registry: bool
    ) -> tuple[Contract | None, Any, str | None]:
        """The contract that applies, its confidence threshold, or why it cannot apply."""
        if contract is None and not use_registry:
            return None, None, None
        chosen = contract
        if chosen is None:
            chosen = self.registry.get_agent_contract(proposal.agent_id) or {}
        if isinstance(chosen, RuntimeContractProjection):
            return chosen, None, None
        if not chosen:
            return None, None, "CONTRACT_EMPTY"
        try:
            projection = project_contract(chosen)
        except ValueError:
            return None, None, "CONTRACT_INVALID"
        if contract is not None:
            return chosen, confidence_threshold(chosen), None
        if not has_rules(chosen, projection):
            return None, None, "CONTRACT_RULES_NOTHING"
        return projection, confidence_threshold(chosen), None

    def _note(
        self,
        proposal: PolicyProposal,
        result: ValidationResult,
        audit: Mapping[str, Any],
        record_audit: bool,
    ) -> None:
        if not record_audit:
            return
        verdict, reason = result
        details: dict[str, Any] = {
            "agent_id": proposal.agent_id,
            "policy_kind": proposal.policy_kind,
            "reason": str(reason),
            "verdict": str(verdict),
            "confidence": proposal.confidence,
        }
        if audit.get("failed_invariant_id"):
            details["failed_invariant_id"] = audit["failed_invariant_id"]
        if audit.get("failures"):
            details["failures"] = audit["failures"]
            details["reason_codes"] = [str(one["reason"]) for one in audit["failures"]]
        self.audit.record(
            proposal.dfid, _EVENTS[verdict], details=details, agent_id=proposal.agent_id
        )


def _refused(
    proposal: PolicyProposal, fault: str, governor: IntentRetryGovernor | None
) -> ValidationResult:
    if governor is not None:
        if governor.should_abort(proposal.dfid):
            return ValidationVerdict.REJECT, DimReasonCode.REASONING_EXHAUSTION
        governor.record_rejection(proposal.dfid)
    return ValidationVerdict.REJECT, fault
