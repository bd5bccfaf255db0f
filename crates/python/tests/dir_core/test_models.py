"""The records: fields, defaults, the flow and its timeline."""

import math
from datetime import timezone

import pytest
from pydantic import ValidationError

from writkeeper.dir_core import (
    AgentState,
    CompensationAction,
    ContextSnapshot,
    ContractParameterAmendment,
    ContractReleaseRef,
    ContractRole,
    DecisionFlow,
    DecisionFlowStatus,
    DecisionRecord,
    EscalationRequest,
    ExecutionIntent,
    ExplainResult,
    InvariantSpec,
    Policy,
    PolicyProposal,
    ProofCarryingIntent,
    ResponsibilityContract,
    RuntimeContractProjection,
    SelfCheckResult,
)


def test_defaults() -> None:
    contract = ResponsibilityContract(agent_id="a")
    assert contract.model_dump(mode="json") == {
        "agent_id": "a",
        "role": "EXECUTOR",
        "mission": "",
        "authorized_instruments": [],
        "allowed_policy_types": [],
        "escalate_on_uncertainty": 0.7,
        "max_drawdown_limit": 0.05,
        "escalation_triggers": [
            "uncertainty_threshold",
            "authority_breach",
            "risk_limit_exceeded",
        ],
        "parent_agent_id": None,
        "wake_up_threshold_pct": 0.5,
    }
    assert ContractReleaseRef().model_dump() == {
        "contract_id": "legacy",
        "contract_version": "0.0.0",
        "api_version": "legacy",
        "contract_hash": "",
    }
    proposal = PolicyProposal(dfid="d", agent_id="a", policy_kind="K")
    assert (proposal.params, proposal.confidence, proposal.valid_until) == ({}, 1.0, None)
    assert proposal.created_at.tzinfo is timezone.utc
    assert AgentState(agent_id="a").policy_version == 1
    assert DecisionRecord(dfid="d").outcome == "PENDING"
    assert SelfCheckResult(passed=True).should_escalate is False
    assert EscalationRequest(dfid="d", from_agent_id="a", trigger="t").severity == "MEDIUM"
    assert ProofCarryingIntent(dfid="d", intent_payload={}, context_ref="", evidence_hash="").signature == ""
    amendment = ContractParameterAmendment(agent_id="a", invariant_id="i", actor_id="p")
    assert (amendment.dfid, amendment.patch, amendment.impact_category) == ("", {}, "HIGH_IMPACT")


def test_unknown_fields_are_dropped() -> None:
    proposal = PolicyProposal(dfid="d", agent_id="a", policy_kind="K", reasoning="because")
    assert "reasoning" not in proposal.model_dump()
    assert PolicyProposal.model_validate(proposal.model_dump()) == proposal


@pytest.mark.parametrize("confidence", [-0.1, 1.1, math.nan])
def test_confidence_is_between_0_and_1(confidence: float) -> None:
    with pytest.raises(ValidationError):
        PolicyProposal(dfid="d", agent_id="a", policy_kind="K", confidence=confidence)
    with pytest.raises(ValidationError):
        Policy(dfid="d", agent_id="a", proposed_action="x", justification="y", confidence=confidence)


def test_roles_include_interface() -> None:
    assert ResponsibilityContract(agent_id="a", role="INTERFACE").role is ContractRole.INTERFACE
    with pytest.raises(ValidationError):
        ResponsibilityContract(agent_id="a", role="KING")


def test_rule_types_are_trimmed_and_bounds_are_numbers() -> None:
    assert InvariantSpec(id="i", type=" Range ", field="params.x").type == "range"
    with pytest.raises(ValidationError):
        InvariantSpec(id="i", type="magic", field="f")
    with pytest.raises(ValidationError):
        InvariantSpec(id="i", type="range", field="f", max=math.nan)
    rule = InvariantSpec(id="i", type="set", field="f")
    assert (rule.match, rule.reason_code, rule.runtime_amendable) == (
        "exact",
        "INVARIANT_VIOLATION",
        False,
    )


def test_a_dumped_rule_has_the_fields_of_the_reference() -> None:
    rule = InvariantSpec(id="i", type="set", field="f")
    assert (
        list(rule.model_dump())
        == (
            "id type field min max allowed denied match applies_to_policy_kinds snapshot_path expected"
            " drift_envelope_pct reason_code runtime_amendable min_floor max_ceiling amend_ttl_seconds"
        ).split()
    )
    optional = rule.model_copy(update={"required": False})
    assert InvariantSpec.model_validate(optional.model_dump(mode="json")) == optional


def test_projection_defaults() -> None:
    projection = RuntimeContractProjection(agent_id="a")
    assert projection.role == "EXECUTOR"
    assert projection.invariants == []
    assert projection.parameter_amendments == []


def test_a_flow_writes_its_timeline() -> None:
    flow = DecisionFlow(dfid="d", parent_dfid="p")
    flow.set_context(ContextSnapshot.create("d", {"a": 1}))
    flow.record_explain(
        ExplainResult(dfid="d", agent_id="a", narrative="n" * 101, identified_signals=["s"], risks=["r", "q"])
    )
    flow.record_policy(
        Policy(dfid="d", agent_id="a", proposed_action="BUY", justification="j", confidence=0.875)
    )
    flow.record_proposal(PolicyProposal(dfid="d", agent_id="b", policy_kind="BUY"))
    flow.record_escalation(EscalationRequest(dfid="d", from_agent_id="a", trigger="risk", severity="HIGH"))
    assert flow.status is DecisionFlowStatus.ESCALATED
    flow.record_execution(ExecutionIntent(dfid="d", idempotency_key="k", policy_kind="BUY"))
    flow.create_child_flow("c")
    flow.complete("done")
    assert [event.summary for event in flow.timeline] == [
        "Context bound: f9d86028c6e0d64e",
        "Explain: 1 signals, 2 risks",
        "Policy: BUY (conf=0.88)",
        "Proposal: BUY",
        "Escalated: risk (HIGH)",
        "Executed: BUY",
        "Child flow: c",
        "done",
    ]
    assert flow.timeline[1].details["narrative"] == "n" * 100 + "..."
    assert flow.participating_agents == ["a", "b"]
    assert (flow.status, flow.outcome_summary) == ("COMPLETED", "done")
    assert flow.completed_at is not None
    assert flow.child_dfids == ["c"]
    report = flow.get_timeline_report().splitlines()
    assert report[:2] == ["=== DecisionFlow Report ===", "DFID: d"]
    assert report[2:4] == ["Status: COMPLETED", f"Created: {flow.created_at.isoformat()}"]
    assert report[4:7] == ["Parent: p", "Context: f9d86028c6e0d64e", "Agents: a, b"]
    assert report[8] == "--- Timeline (8 events) ---"
    assert report[10].startswith("   2. [") and report[10].endswith("] EXPLAIN [a]: Explain: 1 signals, 2 risks")
    assert report[-2:] == ["--- Outcome ---", "  done"]


def test_an_aborted_flow() -> None:
    flow = DecisionFlow(dfid="d")
    assert flow.status == "IN_PROGRESS"
    flow.abort("no")
    assert (flow.status, flow.timeline[-1].event_type) == ("ABORTED", "FLOW_ABORTED")
    assert CompensationAction("REVERT") == "REVERT"
