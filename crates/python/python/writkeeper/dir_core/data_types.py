"""The closed sets of words that decisions are made of."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias


class ValidationVerdict(StrEnum):
    """What becomes of a proposal."""

    ACCEPT = "ACCEPT"
    REJECT = "REJECT"
    ESCALATE = "ESCALATE"


class DimReasonCode(StrEnum):
    """Reasons with a fixed name. A reason may instead be free text."""

    REASONING_EXHAUSTION = "REASONING_EXHAUSTION"
    TTL_EXPIRED = "TTL_EXPIRED"
    AGENT_SUSPENDED = "AGENT_SUSPENDED"
    AGENT_RETIRED = "AGENT_RETIRED"
    AGENT_DEGRADED = "AGENT_DEGRADED"
    CONTRACT_LIMIT_EXCEEDED = "CONTRACT_LIMIT_EXCEEDED"
    CONTRACT_PARAMETER_MISSING = "CONTRACT_PARAMETER_MISSING"
    INVARIANT_VIOLATION = "INVARIANT_VIOLATION"
    VALIDATION_PASSED = "VALIDATION_PASSED"


ValidationReason: TypeAlias = str | DimReasonCode
ValidationResult: TypeAlias = tuple[ValidationVerdict, ValidationReason]


class ContractRole(StrEnum):
    """What an agent is there for."""

    STRATEGIST = "STRATEGIST"
    EXECUTOR = "EXECUTOR"
    MONITOR = "MONITOR"
    INTERFACE = "INTERFACE"


class DecisionRecordOutcome(StrEnum):
    """How one decision in an agent's history ended."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    ESCALATED = "ESCALATED"
    PENDING = "PENDING"


class EscalationSeverity(StrEnum):
    """How urgently a person is needed."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


class ImpactCategory(StrEnum):
    """How much an escalated decision can cost."""

    LOW_IMPACT = "LOW_IMPACT"
    HIGH_IMPACT = "HIGH_IMPACT"


class FlowTimelineEventType(StrEnum):
    """What can happen on the timeline of a decision flow."""

    FLOW_STARTED = "FLOW_STARTED"
    CONTEXT_SNAPSHOT = "CONTEXT_SNAPSHOT"
    EXPLAIN = "EXPLAIN"
    POLICY = "POLICY"
    SELF_CHECK = "SELF_CHECK"
    PROPOSAL = "PROPOSAL"
    VALIDATION = "VALIDATION"
    EXECUTION = "EXECUTION"
    ESCALATION = "ESCALATION"
    CHILD_FLOW_CREATED = "CHILD_FLOW_CREATED"
    FLOW_COMPLETED = "FLOW_COMPLETED"
    FLOW_ABORTED = "FLOW_ABORTED"


class DecisionFlowStatus(StrEnum):
    """Where the aggregate `DecisionFlow` stands; the life cycle has `FlowStatus`."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    ESCALATED = "ESCALATED"
    ABORTED = "ABORTED"


class HumanDecision(StrEnum):
    """How a person can answer an escalation."""

    OVERRIDE = "OVERRIDE"
    MODIFY = "MODIFY"
    ABORT = "ABORT"


class AgentRegistryStatus(StrEnum):
    """Whether an agent may propose."""

    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    DEGRADED = "DEGRADED"
    ESCALATION_ONLY = "ESCALATION_ONLY"
    RETIRED = "RETIRED"


class HandshakeRejectionReason(StrEnum):
    """Why a handshake is refused."""

    VERSION_MISMATCH = "VERSION_MISMATCH"


class EventBusBackend(StrEnum):
    """Where events travel."""

    MEMORY = "memory"
    KAFKA = "kafka"
    PUBSUB = "pubsub"


class EventType(StrEnum):
    """Event types with a fixed name; any other text is a custom type."""

    OBSERVATION = "OBSERVATION"
    MARKET_SIGNAL = "MARKET_SIGNAL"
    NEWS = "NEWS"
    RISK_ALERT = "RISK_ALERT"
    POLICY_PROPOSAL = "POLICY_PROPOSAL"
    ESCALATION = "ESCALATION"
    VALIDATION_RESULT = "VALIDATION_RESULT"
    VALIDATION_REJECTED = "VALIDATION_REJECTED"
    EXECUTION_INTENT = "EXECUTION_INTENT"
    EXECUTION_RESULT = "EXECUTION_RESULT"
    AGENT_ACTIVATED = "AGENT_ACTIVATED"
    FLOW_COMPLETED = "FLOW_COMPLETED"
