"""Storages in memory, for tests and for what need not outlive the process."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .._times import as_utc, utcnow
from ..data_types import AgentRegistryStatus, HumanDecision

if TYPE_CHECKING:
    from ..models import ProofCarryingIntent

_ABSENT = object()


def _instant() -> str:
    return utcnow().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class _Schemaless:
    """A storage without tables, with one lock for its fields."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def init_schema(self) -> None:
        """There is nothing to make."""


class MemoryAgentRegistryStorage(_Schemaless):
    """Agents in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._agents: dict[str, dict[str, Any]] = {}

    def upsert_agent(
        self,
        agent_id: str,
        contract_json: str,
        priority: int,
        status: str,
        agent_version: str | None,
        session_token: str | None,
    ) -> None:
        """Insert or replace one agent; the reason of its status stays."""
        with self._lock:
            before = self._agents.get(agent_id, {})
            self._agents[agent_id] = {
                "agent_id": agent_id,
                "contract": json.loads(contract_json) if contract_json else {},
                "priority": priority,
                "status": str(status),
                "agent_version": agent_version,
                "session_token": session_token,
                "suspension_reason": before.get("suspension_reason"),
            }

    def get_agent(self, agent_id: str) -> dict[str, Any] | None:
        """A copy of the record, or None."""
        with self._lock:
            return copy.deepcopy(self._agents.get(agent_id))

    def update_status(self, agent_id: str, status: str, suspension_reason: str | None) -> bool:
        """Set status and reason; True if there was such an agent."""
        with self._lock:
            record = self._agents.get(agent_id)
            if record is None:
                return False
            record["status"] = str(status)
            record["suspension_reason"] = suspension_reason
            return True

    def get_status(self, agent_id: str) -> tuple[str, str | None] | None:
        """Status and reason, or None."""
        with self._lock:
            record = self._agents.get(agent_id)
            return None if record is None else (record["status"], record["suspension_reason"])

    def list_active_agents(self) -> list[str]:
        """The agents whose status is ACTIVE."""
        with self._lock:
            return [
                agent_id
                for agent_id, record in self._agents.items()
                if record["status"] == AgentRegistryStatus.ACTIVE
            ]


class MemoryContextStorage(_Schemaless):
    """Sessions and states in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[str, str] = {}
        self._states: dict[str, str] = {}

    def get_session(self, dfid: str) -> str | None:
        """The session of a flow."""
        return self._sessions.get(dfid)

    def set_session(self, dfid: str, data_json: str, *, agent_id: str | None = None) -> None:
        """Replace the session of a flow."""
        self._sessions[dfid] = data_json

    def get_state(self, agent_id: str) -> str | None:
        """The state of an agent."""
        return self._states.get(agent_id)

    def set_state(self, agent_id: str, data_json: str) -> None:
        """Replace the state of an agent."""
        self._states[agent_id] = data_json


class MemoryIdempotencyStorage:
    """Results in memory."""

    def __init__(self) -> None:
        self._results: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        """The kept result, or None."""
        return self._results.get(key)

    def set(self, key: str, result: Any) -> None:
        """Keep a result."""
        self._results[key] = result

    def kept(self, key: str) -> tuple[bool, Any]:
        """Whether there is a result, and which: None is one too."""
        found = self._results.get(key, _ABSENT)
        return (False, None) if found is _ABSENT else (True, found)


class MemoryDecisionAuditStorage(_Schemaless):
    """Notes in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[dict[str, Any]] = []

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
        now = _instant()
        row = {
            "dfid": dfid,
            "root_dfid": root_dfid or dfid,
            "event": event,
            "event_type": event,
            "timestamp": now,
            "created_at": now,
            "severity": severity,
            "step_id": step_id,
            "state": state,
            "details": copy.deepcopy(details or {}),
        }
        with self._lock:
            self._rows.append(row)

    def events_for_dfid(self, dfid: str) -> list[dict[str, Any]]:
        """The notes about one flow, as copies."""
        return [row for row in self.all_events_chronological() if row["dfid"] == dfid]

    def all_events_chronological(self) -> list[dict[str, Any]]:
        """All notes, as copies."""
        with self._lock:
            return copy.deepcopy(self._rows)


class MemoryDecisionLedgerStorage(_Schemaless):
    """Verified decisions in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str, dict[str, Any]] = {}

    def append(
        self, pci: ProofCarryingIntent, *, agent_id: str, root_dfid: str | None = None
    ) -> None:
        """Append one decision; a second one of the same flow is ignored."""
        entry = {
            "dfid": pci.dfid,
            "root_dfid": root_dfid or pci.dfid,
            "agent_id": agent_id,
            "intent_payload": copy.deepcopy(pci.intent_payload),
            "context_ref": pci.context_ref,
            "evidence_hash": pci.evidence_hash,
            "signature": pci.signature or "",
            "committed_at": _instant(),
        }
        with self._lock:
            self._entries.setdefault(pci.dfid, entry)

    def get_by_dfid(self, dfid: str) -> dict[str, Any] | None:
        """A copy of the decision of a flow, or None."""
        with self._lock:
            return copy.deepcopy(self._entries.get(dfid))

    def entries_for_dfid(self, dfid: str) -> list[dict[str, Any]]:
        """The decision of a flow, in a list."""
        entry = self.get_by_dfid(dfid)
        return [] if entry is None else [entry]

    def all_entries_chronological(self) -> list[dict[str, Any]]:
        """All decisions, as copies."""
        with self._lock:
            return copy.deepcopy(list(self._entries.values()))


class MemorySagaStorage(_Schemaless):
    """Unfinished flows in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._dirty: dict[str, dict[str, Any]] = {}

    def mark_dirty(self, dfid: str, failed_step: str, partial_state_json: str) -> None:
        """Note where a flow stopped; replaces an earlier note."""
        self._dirty[dfid] = {
            "failed_step": failed_step,
            "partial_state": json.loads(partial_state_json or "{}"),
        }

    def get_dirty_flows(self) -> list[str]:
        """The flows that have such a note."""
        return list(self._dirty)

    def get_dirty_state(self, dfid: str) -> dict[str, Any] | None:
        """failed_step and partial_state, or None."""
        return copy.deepcopy(self._dirty.get(dfid))

    def clear_dirty(self, dfid: str) -> None:
        """Remove the note."""
        self._dirty.pop(dfid, None)


class MemoryResourceLockStorage(_Schemaless):
    """Holds in memory. What a flow acquires adds to what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self._holds: dict[str, dict[str, float]] = {}

    def get_locked_amount(self, resource_id: str, exclude_dfid: str) -> float:
        """What flows other than this one hold of a resource."""
        with self._lock:
            return sum(
                held.get(resource_id, 0.0)
                for dfid, held in self._holds.items()
                if dfid != exclude_dfid
            )

    def acquire_batch(self, dfid: str, resources: dict[str, float], timeout_sec: float) -> bool:
        """Add to the holds of a flow without looking at capacities."""
        with self._lock:
            held = self._holds.setdefault(dfid, {})
            for resource_id, amount in resources.items():
                held[resource_id] = held.get(resource_id, 0.0) + amount
            return True

    def reserve(
        self, dfid: str, requests: Mapping[str, float], capacities: Mapping[str, float]
    ) -> bool:
        """Look and take under one lock; False, and nothing taken, if some resource has too little."""
        with self._lock:
            others = {name: self.get_locked_amount(name, dfid) for name in requests}
            # Written so that a capacity that is not a number is too little.
            if not all(
                capacities[name] - others[name] >= amount for name, amount in requests.items()
            ):
                return False
            held = self._holds.setdefault(dfid, {})
            for name, amount in requests.items():
                held[name] = min(held.get(name, 0.0) + amount, capacities[name] - others[name])
            return True

    def release(self, dfid: str) -> None:
        """Drop all holds of a flow."""
        with self._lock:
            self._holds.pop(dfid, None)


class MemoryIntentRetryStorage:
    """Rejections in memory."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def get_count(self, dfid: str) -> int:
        """How many there were."""
        return self._counts.get(dfid, 0)

    def set_count(self, dfid: str, count: int) -> None:
        """Set the number."""
        self._counts[dfid] = count

    def delete(self, dfid: str) -> None:
        """Forget the flow."""
        self._counts.pop(dfid, None)


class MemoryEscalationStorage(_Schemaless):
    """Requests for people in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: list[tuple[str, datetime]] = []
        self._requests: list[dict[str, Any]] = []

    def get_window_count(self, agent_id: str, since_str: str) -> int:
        """How many requests an agent made since an instant."""
        since = as_utc(datetime.fromisoformat(since_str))
        with self._lock:
            return sum(1 for agent, at in self._asked if agent == agent_id and at >= since)

    def record_budget_token(self, agent_id: str) -> None:
        """Count one request."""
        with self._lock:
            self._asked.append((agent_id, utcnow()))

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
        request = {
            "dfid": dfid,
            "root_dfid": dfid,
            "agent_id": agent_id,
            "reason": reason,
            "context": json.loads(context_json or "{}"),
            "proposal": json.loads(proposal_json or "{}"),
            "impact": impact,
            "status": "PENDING",
            "resolved_at": None,
            "human_decision": None,
        }
        with self._lock:
            self._requests.append(request)

    def resolve_request(
        self, dfid: str, resolved_at: str, decision: str, proposal_json: str | None
    ) -> None:
        """Answer the pending request of a flow; an answer that is there stays."""
        answer = HumanDecision(decision.upper())
        with self._lock:
            for request in self._requests:
                if request["dfid"] != dfid or request["status"] != "PENDING":
                    continue
                request["status"] = "REJECTED" if answer is HumanDecision.ABORT else "APPROVED"
                request["human_decision"] = answer.value
                request["resolved_at"] = resolved_at
                if proposal_json:
                    request["proposal"] = json.loads(proposal_json)

    def get_pending_requests(self) -> list[dict[str, Any]]:
        """The pending requests, as copies."""
        shown = ("dfid", "agent_id", "reason", "context", "proposal", "impact")
        with self._lock:
            return [
                copy.deepcopy({key: request[key] for key in shown})
                for request in self._requests
                if request["status"] == "PENDING"
            ]


class MemoryLifecycleStorage:
    """Transitions in memory."""

    def __init__(self) -> None:
        self._transitions: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def record_transition(
        self, dfid: str, from_status: str, to_status: str, *, root_dfid: str | None = None
    ) -> None:
        """Append one transition. A flow that is recorded as CLOSED or ABORTED stays that."""
        with self._lock:
            last = next((one["to_status"] for one in reversed(self._transitions) if one["dfid"] == dfid), None)
            if last in ("CLOSED", "ABORTED") and last != to_status:
                raise ValueError(f"flow {dfid} is {last} and cannot become {to_status}")
            self._append(dfid, from_status, to_status, root_dfid)

    def _append(self, dfid: str, from_status: str, to_status: str, root_dfid: str | None) -> None:
        self._transitions.append(
            {
                "dfid": dfid,
                "root_dfid": root_dfid or dfid,
                "from_status": from_status,
                "to_status": to_status,
                "created_at": utcnow().isoformat(),
            }
        )

    def get_transitions(self, dfid: str | None = None) -> list[dict[str, Any]]:
        """Copies of the transitions of one flow, or of all."""
        return [dict(one) for one in self._transitions if dfid is None or one["dfid"] == dfid]
