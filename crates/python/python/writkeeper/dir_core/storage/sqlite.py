"""The built-in storages in an SQLite file, safe among threads and processes."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._canonical import canonical_json
from .._times import row_instant
from ..data_types import AgentRegistryStatus, HumanDecision
from . import _claims, _journal
from ._file import BUSY_SECONDS, ensure_flow, prepare, reading, writing

if TYPE_CHECKING:
    from ..models import ProofCarryingIntent

AUDIT_SEVERITIES = frozenset({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})

# What the life cycle calls a status, as the table of flows calls it.
_FLOW_ROW_STATUS = {
    "CREATED": "CREATED",
    "ACTIVE": "RUNNING",
    "VALIDATING": "RUNNING",
    "ACCEPTED": "RUNNING",
    "EXECUTING": "RUNNING",
    "MAINTENANCE_MODE": "RUNNING",
    "ESCALATED": "WAITING_ESCALATION",
    "PARTIAL_SUCCESS_DIRTY": "COMPENSATING",
    "CLOSED": "COMPLETED",
    "ABORTED": "CANCELLED",
}
_ENDED = frozenset({"COMPLETED", "CANCELLED"})

# Contract as JSON, priority, status, version, token.
AgentChange = tuple[str, int, str, str | None, str | None]


def ensure_db(
    path: str | Path,
    create_tables: Callable[[sqlite3.Connection], Any] | None = None,
) -> Path:
    """Make the file and its folders, let the caller add tables, and return the full path."""
    file = Path(path).resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(file, timeout=BUSY_SECONDS)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        if create_tables is not None:
            create_tables(connection)
        connection.commit()
    finally:
        connection.close()
    return file


class _SqliteStorage:
    """A storage in a file that any number of threads and processes may share."""

    def __init__(self, db_path: str | Path) -> None:
        self.db_path = str(db_path)
        self.init_schema()

    def init_schema(self) -> None:
        """Make the tables that are missing."""
        prepare(self.db_path)


class SqliteAgentRegistryStorage(_SqliteStorage):
    """Agents in the table agent_registry."""

    def upsert_agent(
        self,
        agent_id: str,
        contract_json: str,
        priority: int,
        status: str,
        agent_version: str | None,
        session_token: str | None,
    ) -> None:
        """Insert or replace one agent; the reason of its status and everything it owns stay."""
        with writing(self.db_path) as connection:
            _upsert(
                connection,
                agent_id,
                (contract_json, priority, str(status), agent_version, session_token),
            )

    def change_agent(
        self, agent_id: str, decide: Callable[[dict[str, Any] | None], AgentChange | None]
    ) -> None:
        """Show the record to `decide` and write what it returns, in one transaction."""
        with writing(self.db_path) as connection:
            change = decide(_agent(connection, agent_id))
            if change is not None:
                _upsert(connection, agent_id, change)

    def get_agent(self, agent_id: str) -> dict[str, Any] | None:
        """The record, or None."""
        with reading(self.db_path) as connection:
            return _agent(connection, agent_id)

    def update_status(self, agent_id: str, status: str, suspension_reason: str | None) -> bool:
        """Set status and reason; True if there was such an agent."""
        with writing(self.db_path) as connection:
            changed = connection.execute(
                "UPDATE agent_registry SET status = ?, suspension_reason = ?, updated_at = ?"
                " WHERE agent_id = ?",
                (str(status), suspension_reason, row_instant(), agent_id),
            )
            return changed.rowcount > 0

    def get_status(self, agent_id: str) -> tuple[str, str | None] | None:
        """Status and reason, or None."""
        record = self.get_agent(agent_id)
        return None if record is None else (record["status"], record["suspension_reason"])

    def list_active_agents(self) -> list[str]:
        """The agents whose status is ACTIVE, in the order of their registration."""
        with reading(self.db_path) as connection:
            rows = connection.execute(
                "SELECT agent_id FROM agent_registry WHERE status = ? ORDER BY rowid",
                (AgentRegistryStatus.ACTIVE.value,),
            )
            return [row["agent_id"] for row in rows]


def _agent(connection: sqlite3.Connection, agent_id: str) -> dict[str, Any] | None:
    row = connection.execute(
        "SELECT agent_id, contract, priority, status, agent_version, session_token,"
        " suspension_reason FROM agent_registry WHERE agent_id = ?",
        (agent_id,),
    ).fetchone()
    if row is None:
        return None
    return {**dict(row), "contract": json.loads(row["contract"] or "{}")}


def _upsert(connection: sqlite3.Connection, agent_id: str, change: AgentChange) -> None:
    contract, priority, status, version, token = change
    now = row_instant()
    connection.execute(
        "INSERT INTO agent_registry (agent_id, contract, priority, status, agent_version,"
        " session_token, registered_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(agent_id) DO UPDATE SET contract = excluded.contract,"
        " priority = excluded.priority, status = excluded.status,"
        " agent_version = excluded.agent_version, session_token = excluded.session_token,"
        " updated_at = excluded.updated_at",
        (agent_id, contract or "{}", priority, status, version, token, now, now),
    )


class SqliteContextStorage(_SqliteStorage):
    """Sessions in flow_context, states in agent_state."""

    def get_session(self, dfid: str) -> str | None:
        """The session of a flow."""
        with reading(self.db_path) as connection:
            return _text(connection, "flow_context", "dfid", dfid)

    def set_session(self, dfid: str, data_json: str, *, agent_id: str | None = None) -> None:
        """Replace the session of a flow."""
        with writing(self.db_path) as connection:
            ensure_flow(connection, dfid, agent_id)
            _set_text(connection, "flow_context", "dfid", dfid, data_json)

    def merge_session(
        self, dfid: str, updates: Mapping[str, Any], agent_id: str | None = None
    ) -> None:
        """Merge keys into the session of a flow, in one transaction."""
        with writing(self.db_path) as connection:
            ensure_flow(connection, dfid, agent_id)
            _merge_text(connection, "flow_context", "dfid", dfid, updates)

    def get_state(self, agent_id: str) -> str | None:
        """The state of an agent."""
        with reading(self.db_path) as connection:
            return _text(connection, "agent_state", "agent_id", agent_id)

    def set_state(self, agent_id: str, data_json: str) -> None:
        """Replace the state of an agent."""
        with writing(self.db_path) as connection:
            _set_text(connection, "agent_state", "agent_id", agent_id, data_json)

    def merge_state(self, agent_id: str, updates: Mapping[str, Any]) -> None:
        """Merge keys into the state of an agent, in one transaction."""
        with writing(self.db_path) as connection:
            _merge_text(connection, "agent_state", "agent_id", agent_id, updates)


def _text(connection: sqlite3.Connection, table: str, key: str, value: str) -> str | None:
    row = connection.execute(f"SELECT data FROM {table} WHERE {key} = ?", (value,)).fetchone()
    return None if row is None else str(row["data"])


def _set_text(connection: sqlite3.Connection, table: str, key: str, value: str, data: str) -> None:
    connection.execute(
        f"INSERT INTO {table} ({key}, data, version, updated_at) VALUES (?, ?, 1, ?)"
        f" ON CONFLICT({key}) DO UPDATE SET data = excluded.data,"
        f" version = {table}.version + 1, updated_at = excluded.updated_at",
        (value, data, row_instant()),
    )


def _merge_text(
    connection: sqlite3.Connection, table: str, key: str, value: str, updates: Mapping[str, Any]
) -> None:
    before = json.loads(_text(connection, table, key, value) or "{}")
    _set_text(connection, table, key, value, json.dumps({**before, **updates}, default=str))


class SqliteIdempotencyStorage(_SqliteStorage):
    """Results in idempotency_cache; who runs a step is an intent of the kernel's."""

    def get(self, key: str) -> Any:
        """The kept result, or None."""
        return _claims.kept(self.db_path, key)[1]

    def set(self, key: str, result: Any) -> None:
        """Keep a result; whoever claimed the effect has it done."""
        with writing(self.db_path) as connection:
            _claims.keep(connection, key, result)


class SqliteDecisionAuditStorage(_SqliteStorage):
    """Notes in decision_audit_events."""

    _COLUMNS = (
        "SELECT dfid, root_dfid, event_type, severity, step_id, state, detail_json, created_at"
        " FROM decision_audit_events"
    )

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
        """Append one note. A severity that is not one of the five becomes INFO."""
        shown = details or {}
        level = severity if severity in AUDIT_SEVERITIES else "INFO"
        with writing(self.db_path) as connection:
            ensure_flow(connection, dfid, agent_id or shown.get("agent_id"))
            connection.execute(
                "INSERT INTO decision_audit_events (dfid, root_dfid, event_type, severity,"
                " step_id, state, detail_json, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    dfid,
                    root_dfid or dfid,
                    str(event),
                    level,
                    step_id,
                    state,
                    canonical_json(shown),
                    row_instant(),
                ),
            )

    def events_for_dfid(self, dfid: str) -> list[dict[str, Any]]:
        """The notes about one flow."""
        with reading(self.db_path) as connection:
            rows = connection.execute(self._COLUMNS + " WHERE dfid = ? ORDER BY id", (dfid,))
            return [_event(row) for row in rows]

    def all_events_chronological(self) -> list[dict[str, Any]]:
        """All notes."""
        with reading(self.db_path) as connection:
            return [_event(row) for row in connection.execute(self._COLUMNS + " ORDER BY id")]


def _event(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "dfid": row["dfid"],
        "root_dfid": row["root_dfid"],
        "event": row["event_type"],
        "event_type": row["event_type"],
        "timestamp": row["created_at"],
        "created_at": row["created_at"],
        "severity": row["severity"],
        "step_id": row["step_id"],
        "state": row["state"],
        "details": json.loads(row["detail_json"] or "{}"),
    }


class SqliteDecisionLedgerStorage(_SqliteStorage):
    """Verified decisions in decision_ledger_entries."""

    _COLUMNS = (
        "SELECT dfid, root_dfid, agent_id, intent_payload, context_ref, evidence_hash, signature,"
        " committed_at FROM decision_ledger_entries"
    )

    def append(
        self, pci: ProofCarryingIntent, *, agent_id: str, root_dfid: str | None = None
    ) -> None:
        """Append one decision; a second one of the same flow is ignored."""
        with writing(self.db_path) as connection:
            ensure_flow(connection, pci.dfid, agent_id)
            connection.execute(
                "INSERT OR IGNORE INTO decision_ledger_entries (dfid, root_dfid, agent_id,"
                " intent_payload, context_ref, evidence_hash, signature, committed_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    pci.dfid,
                    root_dfid or pci.dfid,
                    agent_id,
                    canonical_json(pci.intent_payload),
                    pci.context_ref,
                    pci.evidence_hash,
                    pci.signature or "",
                    row_instant(),
                ),
            )

    def get_by_dfid(self, dfid: str) -> dict[str, Any] | None:
        """The decision of a flow, or None."""
        with reading(self.db_path) as connection:
            row = connection.execute(self._COLUMNS + " WHERE dfid = ?", (dfid,)).fetchone()
        return None if row is None else _entry(row)

    def entries_for_dfid(self, dfid: str) -> list[dict[str, Any]]:
        """The decision of a flow, in a list."""
        entry = self.get_by_dfid(dfid)
        return [] if entry is None else [entry]

    def all_entries_chronological(self) -> list[dict[str, Any]]:
        """All decisions."""
        with reading(self.db_path) as connection:
            return [_entry(row) for row in connection.execute(self._COLUMNS + " ORDER BY id")]


def _entry(row: sqlite3.Row) -> dict[str, Any]:
    return {**dict(row), "intent_payload": json.loads(row["intent_payload"] or "{}")}


class SqliteSagaStorage(_SqliteStorage):
    """Unfinished flows in saga_dirty_state."""

    def mark_dirty(self, dfid: str, failed_step: str, partial_state_json: str) -> None:
        """Note where a flow stopped; replaces an earlier note."""
        with writing(self.db_path) as connection:
            ensure_flow(connection, dfid, None)
            connection.execute(
                "INSERT INTO saga_dirty_state (dfid, failed_step, partial_state_json, created_at)"
                " VALUES (?, ?, ?, ?) ON CONFLICT(dfid) DO UPDATE SET"
                " failed_step = excluded.failed_step,"
                " partial_state_json = excluded.partial_state_json,"
                " created_at = excluded.created_at",
                (dfid, failed_step, partial_state_json, row_instant()),
            )

    def get_dirty_flows(self) -> list[str]:
        """The flows that have such a note."""
        with reading(self.db_path) as connection:
            rows = connection.execute("SELECT dfid FROM saga_dirty_state ORDER BY rowid")
            return [row["dfid"] for row in rows]

    def get_dirty_state(self, dfid: str) -> dict[str, Any] | None:
        """failed_step and partial_state, or None."""
        with reading(self.db_path) as connection:
            row = connection.execute(
                "SELECT failed_step, partial_state_json FROM saga_dirty_state WHERE dfid = ?",
                (dfid,),
            ).fetchone()
        if row is None:
            return None
        return {
            "failed_step": row["failed_step"],
            "partial_state": json.loads(row["partial_state_json"] or "{}"),
        }

    def clear_dirty(self, dfid: str) -> None:
        """Remove the note."""
        with writing(self.db_path) as connection:
            connection.execute("DELETE FROM saga_dirty_state WHERE dfid = ?", (dfid,))


class SqliteResourceLockStorage(_SqliteStorage):
    """Holds of the kernel's, shown in resource_locks with one row for each flow and resource."""

    def get_locked_amount(self, resource_id: str, exclude_dfid: str) -> float:
        """What flows other than this one hold of a resource."""
        with reading(self.db_path) as connection:
            return _held(connection, resource_id, "<>", exclude_dfid)

    def acquire_batch(self, dfid: str, resources: dict[str, float], timeout_sec: float) -> bool:
        """Add to the holds of a flow without looking at capacities; False if not in time."""
        return self._in_time(
            timeout_sec,
            lambda connection: _hold(connection, self.db_path, dfid, resources, None),
        )

    def reserve(
        self,
        dfid: str,
        requests: Mapping[str, float],
        capacities: Mapping[str, float],
        timeout_sec: float,
    ) -> bool | None:
        """Look and take in one act. False if some resource has too little, None if the file could
        not be had in time; nothing is taken then."""
        enough = False

        def take(connection: sqlite3.Connection) -> None:
            nonlocal enough
            free = {
                name: capacities[name] - _held(connection, name, "<>", dfid) for name in requests
            }
            # Its own holds do not stand in a flow's way: it asks for what is left of them.
            wanted = {
                name: min(amount, max(free[name] - _held(connection, name, "=", dfid), 0.0))
                if free[name] >= amount
                else amount
                for name, amount in requests.items()
            }
            # What is not a number is too little, and the kernel takes numbers only.
            enough = not any(math.isnan(capacities[name]) for name in requests)
            if enough:
                enough = _hold(connection, self.db_path, dfid, wanted, capacities)

        return enough if self._in_time(timeout_sec, take) else None

    def _in_time(self, timeout_sec: float, act: Callable[[sqlite3.Connection], object]) -> bool:
        try:
            with writing(self.db_path, timeout_sec) as connection:
                act(connection)
        except sqlite3.OperationalError as failure:
            if failure.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return False
            raise
        return True

    def release(self, dfid: str) -> None:
        """Drop all holds of a flow."""
        with writing(self.db_path) as connection:
            _journal.let_go(connection, self.db_path, dfid)


def _held(connection: sqlite3.Connection, resource_id: str, which: str, dfid: str) -> float:
    row = connection.execute(
        "SELECT COALESCE(SUM(amount), 0.0) AS held FROM resource_locks"
        f" WHERE resource_id = ? AND dfid {which} ?",
        (resource_id, dfid),
    ).fetchone()
    return float(row["held"])


def _hold(
    connection: sqlite3.Connection,
    path: str,
    dfid: str,
    amounts: Mapping[str, float],
    capacities: Mapping[str, float] | None,
) -> bool:
    ensure_flow(connection, dfid, None)
    return not amounts or _journal.hold(connection, path, dfid, amounts, capacities)


class SqliteIntentRetryStorage(_SqliteStorage):
    """Rejections in intent_retry."""

    def get_count(self, dfid: str) -> int:
        """How many there were."""
        with reading(self.db_path) as connection:
            return _rejections(connection, dfid)

    def set_count(self, dfid: str, count: int) -> None:
        """Set the number."""
        with writing(self.db_path) as connection:
            _set_rejections(connection, dfid, count)

    def add_one(self, dfid: str) -> int:
        """Count one more in one transaction; the new number."""
        with writing(self.db_path) as connection:
            count = _rejections(connection, dfid) + 1
            _set_rejections(connection, dfid, count)
            return count

    def delete(self, dfid: str) -> None:
        """Forget the flow."""
        with writing(self.db_path) as connection:
            connection.execute("DELETE FROM intent_retry WHERE dfid = ?", (dfid,))


def _rejections(connection: sqlite3.Connection, dfid: str) -> int:
    row = connection.execute(
        "SELECT rejection_count FROM intent_retry WHERE dfid = ?", (dfid,)
    ).fetchone()
    return 0 if row is None else int(row["rejection_count"])


def _set_rejections(connection: sqlite3.Connection, dfid: str, count: int) -> None:
    ensure_flow(connection, dfid, None)
    connection.execute(
        "INSERT INTO intent_retry (dfid, rejection_count, updated_at) VALUES (?, ?, ?)"
        " ON CONFLICT(dfid) DO UPDATE SET rejection_count = excluded.rejection_count,"
        " updated_at = excluded.updated_at",
        (dfid, count, row_instant()),
    )


class SqliteEscalationStorage(_SqliteStorage):
    """Requests in escalation_requests, their number in escalation_budget."""

    def get_window_count(self, agent_id: str, since_str: str) -> int:
        """How many requests an agent made since an instant."""
        with reading(self.db_path) as connection:
            return _asked_since(connection, agent_id, since_str)

    def record_budget_token(self, agent_id: str) -> None:
        """Count one request."""
        with writing(self.db_path) as connection:
            _count_request(connection, agent_id)

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
        with writing(self.db_path) as connection:
            _insert_request(
                connection, (dfid, agent_id, reason, context_json, proposal_json, impact)
            )

    def ask_within(
        self, most: int, since_str: str, request: tuple[str, str, str, str, str, str]
    ) -> bool:
        """Count and keep a request in one transaction, unless the agent has made `most` since."""
        with writing(self.db_path) as connection:
            agent_id = request[1]
            if _asked_since(connection, agent_id, since_str) >= most:
                return False
            _count_request(connection, agent_id)
            _insert_request(connection, request)
            return True

    def resolve_request(
        self, dfid: str, resolved_at: str, decision: str, proposal_json: str | None
    ) -> None:
        """Answer the pending request of a flow; an answer that is there stays."""
        answer = HumanDecision(decision.upper())
        status = "REJECTED" if answer is HumanDecision.ABORT else "APPROVED"
        with writing(self.db_path) as connection:
            connection.execute(
                "UPDATE escalation_requests SET status = ?, human_decision = ?, resolved_at = ?,"
                " proposal_json = COALESCE(?, proposal_json)"
                " WHERE dfid = ? AND status = 'PENDING'",
                (status, answer.value, _row_text(resolved_at), proposal_json, dfid),
            )

    def get_pending_requests(self) -> list[dict[str, Any]]:
        """The pending requests, oldest first."""
        with reading(self.db_path) as connection:
            rows = connection.execute(
                "SELECT dfid, agent_id, reason, context_json, proposal_json, impact"
                " FROM escalation_requests WHERE status = 'PENDING' ORDER BY id"
            )
            return [
                {
                    "dfid": row["dfid"],
                    "agent_id": row["agent_id"],
                    "reason": row["reason"],
                    "context": json.loads(row["context_json"] or "{}"),
                    "proposal": json.loads(row["proposal_json"] or "{}"),
                    "impact": row["impact"],
                }
                for row in rows
            ]


def _asked_since(connection: sqlite3.Connection, agent_id: str, since: str) -> int:
    row = connection.execute(
        "SELECT COUNT(*) AS asked FROM escalation_budget WHERE agent_id = ? AND created_at >= ?",
        (agent_id, since),
    ).fetchone()
    return int(row["asked"])


def _count_request(connection: sqlite3.Connection, agent_id: str) -> None:
    connection.execute(
        "INSERT INTO escalation_budget (agent_id, created_at) VALUES (?, ?)",
        (agent_id, row_instant()),
    )


def _insert_request(
    connection: sqlite3.Connection, request: tuple[str, str, str, str, str, str]
) -> None:
    dfid, agent_id, reason, context, proposal, impact = request
    ensure_flow(connection, dfid, agent_id)
    connection.execute(
        "INSERT INTO escalation_requests (dfid, root_dfid, agent_id, reason, context_json,"
        " proposal_json, impact, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (dfid, dfid, agent_id, reason, context, proposal, impact, row_instant()),
    )


class SqliteLifecycleStorage(_SqliteStorage):
    """Transitions in flow_transitions; the flow's row follows them."""

    def record_transition(
        self, dfid: str, from_status: str, to_status: str, *, root_dfid: str | None = None
    ) -> None:
        """Append one transition. A flow that is recorded as CLOSED or ABORTED stays that."""
        now = row_instant()
        with writing(self.db_path) as connection:
            _refuse_return(connection, dfid, to_status)
            ensure_flow(connection, dfid, None)
            connection.execute(
                "INSERT INTO flow_transitions (dfid, root_dfid, from_status, to_status,"
                " created_at) VALUES (?, ?, ?, ?, ?)",
                (dfid, root_dfid or dfid, from_status, to_status, now),
            )
            status = _FLOW_ROW_STATUS.get(to_status)
            if status is not None:
                connection.execute(
                    "UPDATE decision_flows SET status = ?, updated_at = ?,"
                    " completed_at = CASE WHEN ? THEN ? ELSE completed_at END WHERE dfid = ?",
                    (status, now, status in _ENDED, now, dfid),
                )


def _row_text(instant: str) -> str:
    """An instant as the other columns hold it; text that is none stays as it is."""
    try:
        return row_instant(datetime.fromisoformat(instant))
    except ValueError:
        return instant


def _refuse_return(connection: sqlite3.Connection, dfid: str, to_status: str) -> None:
    row = connection.execute(
        "SELECT to_status FROM flow_transitions WHERE dfid = ? ORDER BY id DESC LIMIT 1", (dfid,)
    ).fetchone()
    last = None if row is None else row["to_status"]
    if last in ("CLOSED", "ABORTED") and last != to_status:
        raise ValueError(f"flow {dfid} is {last} and cannot become {to_status}")
