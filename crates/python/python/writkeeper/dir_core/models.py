"""The records that agents, the kernel and people exchange."""

from __future__ import annotations

import math
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from ._canonical import canonical_json, sha256_hex
from ._mode import is_strict
from ._times import utcnow
from .data_types import (
    ContractRole,
    DecisionFlowStatus,
    DecisionRecordOutcome,
    EscalationSeverity,
    FlowTimelineEventType,
)

NARRATIVE_SHOWN = 100
SNAPSHOT_ID_LENGTH = 16


class CompensationAction(StrEnum):
    """What can be done about a flow that stopped half-way."""

    REVERT = "REVERT"
    CLOSE_ALL = "CLOSE_ALL"
    ALERT_HUMAN = "ALERT_HUMAN"
    NOOP = "NOOP"


class Record(BaseModel):
    """A model that drops fields it does not know, and refuses them in strict mode."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, data: Any) -> Any:
        if is_strict() and isinstance(data, dict):
            unknown = sorted(str(name) for name in data if name not in cls.model_fields)
            if unknown:
                raise ValueError(f"{cls.__name__} has no field {', '.join(unknown)}")
        return data


class ResponsibilityContract(Record):
    """What an agent is for and what it may do, in the flat form."""

    agent_id: str
    role: ContractRole = ContractRole.EXECUTOR
    mission: str = ""
    authorized_instruments: list[str] = Field(default_factory=list)
    allowed_policy_types: list[str] = Field(default_factory=list)
    escalate_on_uncertainty: float = 0.7
    max_drawdown_limit: float = 0.05
    escalation_triggers: list[str] = Field(
        default_factory=lambda: ["uncertainty_threshold", "authority_breach", "risk_limit_exceeded"]
    )
    parent_agent_id: str | None = None
    wake_up_threshold_pct: float = 0.5


class ContractReleaseRef(Record):
    """Which release of a contract something was made for."""

    contract_id: str = "legacy"
    contract_version: str = "0.0.0"
    api_version: str = "legacy"
    contract_hash: str = ""


class InvariantSpec(Record):
    """One rule that a proposal is measured by.

    `required` is an addition: False leaves a proposal alone that does not carry the field at all.
    """

    id: str
    type: Literal["range", "set", "state_match"]
    field: str
    min: float | None = None
    max: float | None = None
    allowed: list[Any] = Field(default_factory=list)
    denied: list[Any] = Field(default_factory=list)
    match: Literal["exact", "substring"] = "exact"
    applies_to_policy_kinds: list[str] = Field(default_factory=list)
    snapshot_path: str | None = None
    expected: Any = None
    drift_envelope_pct: float | None = 0.0
    reason_code: str = "INVARIANT_VIOLATION"
    runtime_amendable: bool = False
    min_floor: float | None = None
    max_ceiling: float | None = None
    amend_ttl_seconds: int | None = None
    required: bool = True

    @model_serializer(mode="wrap")
    def _as_in_the_reference(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """`required` is shown only where it says something."""
        shown: dict[str, Any] = dumped(self)
        if shown.get("required"):
            del shown["required"]
        return shown

    @field_validator("type", mode="before")
    @classmethod
    def _plain_type(cls, value: Any) -> Any:
        return value.strip().lower() if isinstance(value, str) else value

    @field_validator("min", "max", "min_floor", "max_ceiling", "drift_envelope_pct")
    @classmethod
    def _a_bound_is_a_number(cls, value: float | None) -> float | None:
        if value is not None and math.isnan(value):
            raise ValueError("a bound must be a number, not NaN")
        return value


class ContractParameterAmendment(Record):
    """A person's change of one amendable rule, within the floor and ceiling of the contract."""

    agent_id: str
    base_release: ContractReleaseRef = Field(default_factory=ContractReleaseRef)
    invariant_id: str
    patch: dict[str, Any] = Field(default_factory=dict)
    actor_id: str
    dfid: str = ""
    created_at: datetime = Field(default_factory=utcnow)
    expires_at: datetime | None = None
    impact_category: str = "HIGH_IMPACT"


class RuntimeContractProjection(Record):
    """A contract as the kernel applies it: everything reduced to rules."""

    release: ContractReleaseRef = Field(default_factory=ContractReleaseRef)
    agent_id: str = ""
    role: ContractRole = ContractRole.EXECUTOR
    mission: str = ""
    allowed_policy_types: list[str] = Field(default_factory=list)
    resource_scope: dict[str, list[str]] = Field(default_factory=dict)
    transaction_limits: dict[str, dict[str, Any]] = Field(default_factory=dict)
    execution_conditions: dict[str, Any] = Field(default_factory=dict)
    evidence_requirements: dict[str, Any] = Field(default_factory=dict)
    escalation_policy: dict[str, Any] = Field(default_factory=dict)
    aggregate_policies: list[Any] = Field(default_factory=list)
    invariants: list[InvariantSpec] = Field(default_factory=list)
    parameter_amendments: list[ContractParameterAmendment] = Field(default_factory=list)


class ExplainResult(Record):
    """How an agent reads the situation."""

    dfid: str
    agent_id: str
    timestamp: datetime = Field(default_factory=utcnow)
    narrative: str
    identified_signals: list[str] = Field(default_factory=list)
    risks: list[str] = Field(default_factory=list)
    opportunities: list[str] = Field(default_factory=list)
    context_summary: dict[str, Any] = Field(default_factory=dict)


class Policy(Record):
    """What an agent recommends, and why. Not yet an act."""

    dfid: str
    agent_id: str
    timestamp: datetime = Field(default_factory=utcnow)
    proposed_action: str
    justification: str
    confidence: float = Field(ge=0.0, le=1.0)
    assumptions: list[str] = Field(default_factory=list)
    expected_outcomes: list[str] = Field(default_factory=list)
    explain_ref: str | None = None


class SelfCheckResult(Record):
    """What an agent found when it looked at its own policy."""

    passed: bool
    reason: str | None = None
    should_escalate: bool = False
    escalation_trigger: str | None = None


class DecisionRecord(Record):
    """One decision in an agent's history."""

    dfid: str
    timestamp: datetime = Field(default_factory=utcnow)
    explain_summary: str = ""
    policy_action: str = ""
    policy_confidence: float = 0.0
    outcome: DecisionRecordOutcome = DecisionRecordOutcome.PENDING
    outcome_reason: str | None = None


class AgentState(Record):
    """What an agent carries from one decision to the next."""

    agent_id: str
    created_at: datetime = Field(default_factory=utcnow)
    last_active: datetime = Field(default_factory=utcnow)
    decision_trajectory: list[DecisionRecord] = Field(default_factory=list)
    policy_version: int = 1
    current_context: dict[str, Any] = Field(default_factory=dict)
    is_active: bool = True


class PolicyProposal(Record):
    """What an agent asks to be allowed to do."""

    dfid: str
    agent_id: str
    policy_kind: str
    params: dict[str, Any] = Field(default_factory=dict)
    context_ref: str | None = None
    execution_constraints: dict[str, Any] = Field(default_factory=dict)
    valid_until: datetime | None = None
    created_at: datetime = Field(default_factory=utcnow)
    confidence: float = Field(default=1.0, ge=0.0, le=1.0)
    justification: str | None = None
    explain_ref: str | None = None


class EscalationRequest(Record):
    """An agent's request for a person or for its parent."""

    dfid: str
    from_agent_id: str
    to_agent_id: str | None = None
    trigger: str
    context: dict[str, Any] = Field(default_factory=dict)
    original_policy: Policy | PolicyProposal | None = None
    severity: EscalationSeverity = EscalationSeverity.MEDIUM


class ExecutionIntent(Record):
    """An accepted proposal on its way to be carried out."""

    dfid: str
    idempotency_key: str
    policy_kind: str
    params: dict[str, Any] = Field(default_factory=dict)


class DecisionAtom(Record):
    """A decision bound to the snapshot that it was made on."""

    dfid: str
    snapshot_id: str
    params: dict[str, Any] = Field(default_factory=dict)


class ProofCarryingIntent(Record):
    """A decision with the evidence that it claims to rest on."""

    dfid: str
    intent_payload: dict[str, Any]
    context_ref: str
    evidence_hash: str
    signature: str = ""


class ContextSnapshot(Record):
    """The part of the world that an agent saw."""

    snapshot_id: str
    dfid: str
    timestamp: datetime = Field(default_factory=utcnow)
    data: dict[str, Any] = Field(default_factory=dict)
    source: str = "context_store"

    @classmethod
    def create(
        cls, dfid: str, data: dict[str, Any], source: str = "context_store"
    ) -> ContextSnapshot:
        """A snapshot whose id is the start of the hash of its data, and of its data alone."""
        digest = sha256_hex(canonical_json(data))
        return cls(snapshot_id=digest[:SNAPSHOT_ID_LENGTH], dfid=dfid, data=data, source=source)


class FlowEvent(Record):
    """One line on the timeline of a flow."""

    timestamp: datetime = Field(default_factory=utcnow)
    event_type: FlowTimelineEventType
    agent_id: str | None = None
    summary: str = ""
    details: dict[str, Any] = Field(default_factory=dict)


class DecisionFlow(Record):
    """Everything that belongs to one decision, in the order in which it happened."""

    dfid: str
    parent_dfid: str | None = None
    created_at: datetime = Field(default_factory=utcnow)
    completed_at: datetime | None = None
    context_snapshot: ContextSnapshot | None = None
    explain_results: list[ExplainResult] = Field(default_factory=list)
    policies: list[Policy] = Field(default_factory=list)
    proposals: list[PolicyProposal] = Field(default_factory=list)
    escalations: list[EscalationRequest] = Field(default_factory=list)
    execution_intents: list[ExecutionIntent] = Field(default_factory=list)
    timeline: list[FlowEvent] = Field(default_factory=list)
    status: DecisionFlowStatus = DecisionFlowStatus.IN_PROGRESS
    outcome_summary: str | None = None
    participating_agents: list[str] = Field(default_factory=list)
    child_dfids: list[str] = Field(default_factory=list)

    def add_event(
        self,
        event_type: str,
        summary: str,
        agent_id: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        """Append one line to the timeline."""
        self.timeline.append(
            FlowEvent(
                event_type=FlowTimelineEventType(event_type),
                agent_id=agent_id,
                summary=summary,
                details=details or {},
            )
        )
        if agent_id and agent_id not in self.participating_agents:
            self.participating_agents.append(agent_id)

    def set_context(self, snapshot: ContextSnapshot) -> None:
        """Bind the flow to what was seen."""
        self.context_snapshot = snapshot
        self.add_event(
            FlowTimelineEventType.CONTEXT_SNAPSHOT,
            f"Context bound: {snapshot.snapshot_id}",
            details={"snapshot_id": snapshot.snapshot_id},
        )

    def record_explain(self, result: ExplainResult) -> None:
        """Keep an agent's reading of the situation."""
        shown = result.narrative
        if len(shown) > NARRATIVE_SHOWN:
            shown = shown[:NARRATIVE_SHOWN] + "..."
        self.explain_results.append(result)
        self.add_event(
            FlowTimelineEventType.EXPLAIN,
            f"Explain: {len(result.identified_signals)} signals, {len(result.risks)} risks",
            result.agent_id,
            {"narrative": shown},
        )

    def record_policy(self, policy: Policy) -> None:
        """Keep a recommendation."""
        self.policies.append(policy)
        self.add_event(
            FlowTimelineEventType.POLICY,
            f"Policy: {policy.proposed_action} (conf={policy.confidence:.2f})",
            policy.agent_id,
            {"action": policy.proposed_action, "confidence": policy.confidence},
        )

    def record_proposal(self, proposal: PolicyProposal) -> None:
        """Keep a proposal."""
        self.proposals.append(proposal)
        self.add_event(
            FlowTimelineEventType.PROPOSAL,
            f"Proposal: {proposal.policy_kind}",
            proposal.agent_id,
            {"policy_kind": proposal.policy_kind, "confidence": proposal.confidence},
        )

    def record_escalation(self, escalation: EscalationRequest) -> None:
        """Keep a request for a person; the flow is now ESCALATED."""
        self.escalations.append(escalation)
        self.add_event(
            FlowTimelineEventType.ESCALATION,
            f"Escalated: {escalation.trigger} ({escalation.severity})",
            escalation.from_agent_id,
            {"trigger": escalation.trigger, "severity": escalation.severity},
        )
        self.status = DecisionFlowStatus.ESCALATED

    def record_execution(self, intent: ExecutionIntent) -> None:
        """Keep an intent that was carried out."""
        self.execution_intents.append(intent)
        self.add_event(
            FlowTimelineEventType.EXECUTION,
            f"Executed: {intent.policy_kind}",
            details={"idempotency_key": intent.idempotency_key},
        )

    def complete(self, summary: str) -> None:
        """End the flow well."""
        self._end(DecisionFlowStatus.COMPLETED, FlowTimelineEventType.FLOW_COMPLETED, summary)

    def abort(self, reason: str) -> None:
        """End the flow without a result."""
        self._end(DecisionFlowStatus.ABORTED, FlowTimelineEventType.FLOW_ABORTED, reason)

    def _end(
        self, status: DecisionFlowStatus, event_type: FlowTimelineEventType, summary: str
    ) -> None:
        self.status = status
        self.completed_at = utcnow()
        self.outcome_summary = summary
        self.add_event(event_type, summary)

    def create_child_flow(self, child_dfid: str) -> None:
        """Note that a flow was started from this one."""
        self.child_dfids.append(child_dfid)
        self.add_event(
            FlowTimelineEventType.CHILD_FLOW_CREATED,
            f"Child flow: {child_dfid}",
            details={"child_dfid": child_dfid},
        )

    def get_timeline_report(self) -> str:
        """The flow as text for people."""
        heads = {
            "DFID": self.dfid,
            "Status": self.status,
            "Created": self.created_at.isoformat(),
            "Parent": self.parent_dfid,
            "Context": self.context_snapshot.snapshot_id if self.context_snapshot else None,
            "Agents": ", ".join(self.participating_agents) or "none",
        }
        lines = ["=== DecisionFlow Report ==="]
        lines += [f"{name}: {value}" for name, value in heads.items() if value]
        lines += ["", f"--- Timeline ({len(self.timeline)} events) ---"]
        lines += [_timeline_line(*numbered) for numbered in enumerate(self.timeline, start=1)]
        if self.outcome_summary:
            lines += ["", "--- Outcome ---", f"  {self.outcome_summary}"]
        return "\n".join(lines)


def _timeline_line(number: int, event: FlowEvent) -> str:
    clock = event.timestamp.time().isoformat(timespec="milliseconds")
    by = f" [{event.agent_id}]" if event.agent_id else ""
    return f"  {number:2}. [{clock}] {event.event_type.value}{by}: {event.summary}"
