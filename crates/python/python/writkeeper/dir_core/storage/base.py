"""What a storage must be able to do. Any object with the methods will serve.

A storage of your own stays the truth: the managers hold a lock per storage object and key, which
makes their acts atomic inside one process and not across processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ..models import ProofCarryingIntent


class StorageError(Exception):
    """A storage failed."""


class ResourceContentionError(StorageError):
    """A lock could not be had in time."""


@runtime_checkable
class AgentRegistryStorage(Protocol):
    """Agents: one record each."""

    def init_schema(self) -> None:
        """Make the tables if they are not there."""
        ...

    def upsert_agent(
        self,
        agent_id: str,
        contract_json: str,
        priority: int,
        status: str,
        agent_version: str | None,
        session_token: str | None,
    ) -> None:
        """Insert or replace one agent."""
        ...

    def get_agent(self, agent_id: str) -> dict[str, Any] | None:
        """agent_id, contract, priority, status, agent_version and session_token, or None."""
        ...

    def update_status(self, agent_id: str, status: str, suspension_reason: str | None) -> bool:
        """Set status and reason; True if there was such an agent."""
        ...

    def get_status(self, agent_id: str) -> tuple[str, str | None] | None:
        """Status and reason, or None."""
        ...

    def list_active_agents(self) -> list[str]:
        """The agents whose status is ACTIVE."""
        ...


@runtime_checkable
class ContextStorage(Protocol):
    """Sessions of flows and states of agents, as JSON text."""

    def init_schema(self) -> None:
        """Make the tables if they are not there."""
        ...

    def get_session(self, dfid: str) -> str | None:
        """The session of a flow."""
        ...

    def set_session(self, dfid: str, data_json: str, *, agent_id: str | None = None) -> None:
        """Replace the session of a flow."""
        ...

    def get_state(self, agent_id: str) -> str | None:
        """The state of an agent."""
        ...

    def set_state(self, agent_id: str, data_json: str) -> None:
        """Replace the state of an agent."""
        ...


@runtime_checkable
class IdempotencyStorage(Protocol):
    """Results by key."""

    def get(self, key: str) -> Any:
        """The kept result, or None."""
        ...

    def set(self, key: str, result: Any) -> None:
        """Keep a result."""
        ...


@runtime_checkable
class DecisionAuditStorage(Protocol):
    """Notes about flows, in the order of writing."""

    def init_schema(self) -> None:
        """Make the tables if they are not there."""
        ...

    def record(
        self,
        dfid: str,
        event: str,
        *,
        step_id: str = "",
        state: str = "",
        details: dict[str, Any] | None = None,
        root_dfid: str | None = None,
        agent_id: str | None = None,
        severity: str = "INFO",
    ) -> None:
        """Append one note."""
        ...

    def events_for_dfid(self, dfid: str) -> list[dict[str, Any]]:
        """The notes about one flow."""
        ...

    def all_events_chronological(self) -> list[dict[str, Any]]:
        """All notes."""
        ...


@runtime_checkable
class DecisionLedgerStorage(Protocol):
    """Verified decisions: one per flow, appended and never changed."""

    def init_schema(self) -> None:
        """Make the tables if they are not there."""
        ...

    def append(
        self, pci: ProofCarryingIntent, *, agent_id: str, root_dfid: str | None = None
    ) -> None:
        """Append one decision; a second one of the same flow is ignored."""
        ...

    def get_by_dfid(self, dfid: str) -> dict[str, Any] | None:
        """The decision of a flow, or None."""
        ...

    def entries_for_dfid(self, dfid: str) -> list[dict[str, Any]]:
        """The decision of a flow, in a list."""
        ...

    def all_entries_chronological(self) -> list[dict[str, Any]]:
        """All decisions."""
        ...


@runtime_checkable
class SagaStorage(Protocol):
    """Flows that stopped half-way."""

    def init_schema(self) -> None:
        """Make the tables if they are not there."""
        ...

    def mark_dirty(self, dfid: str, failed_step: str, partial_state_json: str) -> None:
        """Note where a flow stopped; replaces an earlier note."""
        ...

    def get_dirty_flows(self) -> list[str]:
        """The flows that have such a note."""
        ...

    def get_dirty_state(self, dfid: str) -> dict[str, Any] | None:
        """failed_step and partial_state, or None."""
        ...

    def clear_dirty(self, dfid: str) -> None:
        """Remove the note."""
        ...


@runtime_checkable
class ResourceLockStorage(Protocol):
    """Amounts that flows hold of resources."""

    def init_schema(self) -> None:
        """Make the tables if they are not there."""
        ...

    def get_locked_amount(self, resource_id: str, exclude_dfid: str) -> float:
        """What flows other than this one hold of a resource."""
        ...

    def acquire_batch(self, dfid: str, resources: dict[str, float], timeout_sec: float) -> bool:
        """Write all holds of a flow at once; False if that was not possible in time."""
        ...

    def release(self, dfid: str) -> None:
        """Drop all holds of a flow."""
        ...


@runtime_checkable
class IntentRetryStorage(Protocol):
    """Rejections by flow."""

    def get_count(self, dfid: str) -> int:
        """How many there were."""
        ...

    def set_count(self, dfid: str, count: int) -> None:
        """Set the number."""
        ...

    def delete(self, dfid: str) -> None:
        """Forget the flow."""
        ...


@runtime_checkable
class EscalationStorage(Protocol):
    """Requests for people, and how many an agent has made lately."""

    def init_schema(self) -> None:
        """Make the tables if they are not there."""
        ...

    def get_window_count(self, agent_id: str, since_str: str) -> int:
        """How many requests an agent made since an instant, `YYYY-MM-DD HH:MM:SS` in UTC."""
        ...

    def record_budget_token(self, agent_id: str) -> None:
        """Count one request."""
        ...

    def insert_request(
        self,
        dfid: str,
        agent_id: str,
        reason: str,
        context_json: str,
        proposal_json: str,
        impact: str,
    ) -> None:
        """Keep a request as PENDING."""
        ...

    def resolve_request(
        self, dfid: str, resolved_at: str, decision: str, proposal_json: str | None
    ) -> None:
        """Answer the pending request of a flow."""
        ...

    def get_pending_requests(self) -> list[dict[str, Any]]:
        """dfid, agent_id, reason, context, proposal and impact of each pending request."""
        ...


@runtime_checkable
class LifecycleStorage(Protocol):
    """Transitions of flows, in the order of writing."""

    def record_transition(
        self, dfid: str, from_status: str, to_status: str, *, root_dfid: str | None = None
    ) -> None:
        """Append one transition."""
        ...


class AuditStore:
    """Notes about flows and kept results behind one object."""

    __slots__ = ("_decision_audit", "_idempotency")

    def __init__(
        self, decision_audit: DecisionAuditStorage, idempotency: IdempotencyStorage
    ) -> None:
        self._decision_audit = decision_audit
        self._idempotency = idempotency

    def record(
        self,
        dfid: str,
        event: str,
        *,
        step_id: str = "",
        state: str = "",
        details: dict[str, Any] | None = None,
        root_dfid: str | None = None,
        agent_id: str | None = None,
        severity: str = "INFO",
    ) -> None:
        """Append one note of any name."""
        self._decision_audit.record(
            dfid,
            event,
            step_id=step_id,
            state=state,
            details=details,
            root_dfid=root_dfid,
            agent_id=agent_id,
            severity=severity,
        )

    def events_for_dfid(self, dfid: str) -> list[dict[str, Any]]:
        """The notes about one flow."""
        return self._decision_audit.events_for_dfid(dfid)

    def all_events_chronological(self) -> list[dict[str, Any]]:
        """All notes."""
        return self._decision_audit.all_events_chronological()

    def get_idempotent_result(self, key: str) -> Any:
        """The kept result, or None."""
        return self._idempotency.get(key)

    def save_idempotent_result(self, key: str, dfid: str, result: dict[str, Any]) -> None:
        """Keep a result with its flow under `_dfid`."""
        self._idempotency.set(key, {**result, "_dfid": dfid})

    def close(self) -> None:
        """Nothing is held open between calls."""
