"""The tables of the built-in SQLite storages, which follow the store beside the file.

Every act that reads and then writes is one BEGIN IMMEDIATE transaction, so that threads and
processes queue. It begins by bringing the tables to the end of the store's ledger and ends by
writing the rows that changed into the store, before the tables are committed. The tables have the
reference's names and columns, because reports read them with SQL; those that begin with `wk_` are
ours.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .._times import row_instant
from . import _journal

BUSY_SECONDS = 60.0
KERNEL_AGENT = "__dir_kernel__"

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS agent_registry (
        agent_id TEXT PRIMARY KEY,
        contract TEXT NOT NULL DEFAULT '{}',
        priority INTEGER NOT NULL DEFAULT 0,
        status TEXT NOT NULL DEFAULT 'ACTIVE',
        agent_version TEXT,
        session_token TEXT,
        suspension_reason TEXT,
        registered_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    "CREATE INDEX IF NOT EXISTS idx_agent_registry_status ON agent_registry(status)",
    """CREATE TABLE IF NOT EXISTS decision_flows (
        dfid TEXT PRIMARY KEY,
        root_dfid TEXT NOT NULL,
        dfid_parent TEXT,
        agent_id TEXT NOT NULL,
        flow_type TEXT NOT NULL DEFAULT 'DEFAULT',
        flow_version TEXT NOT NULL DEFAULT '1.0',
        status TEXT NOT NULL DEFAULT 'CREATED',
        created_by_type TEXT,
        created_by_id TEXT,
        priority INTEGER NOT NULL DEFAULT 0,
        started_at TIMESTAMP,
        completed_at TIMESTAMP,
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    "CREATE INDEX IF NOT EXISTS idx_decision_flows_root_dfid ON decision_flows(root_dfid)",
    "CREATE INDEX IF NOT EXISTS idx_decision_flows_agent_id ON decision_flows(agent_id)",
    """CREATE TABLE IF NOT EXISTS flow_context (
        dfid TEXT PRIMARY KEY,
        data TEXT NOT NULL DEFAULT '{}',
        version INTEGER NOT NULL DEFAULT 1,
        updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    """CREATE TABLE IF NOT EXISTS agent_state (
        agent_id TEXT PRIMARY KEY,
        data TEXT NOT NULL DEFAULT '{}',
        version INTEGER NOT NULL DEFAULT 1,
        updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    """CREATE TABLE IF NOT EXISTS decision_feedback_trajectory (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        agent_id TEXT NOT NULL,
        dfid TEXT NOT NULL,
        status TEXT NOT NULL,
        reason TEXT,
        score REAL,
        source TEXT NOT NULL DEFAULT 'KERNEL',
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    """CREATE TABLE IF NOT EXISTS idempotency_cache (
        idempotency_key TEXT PRIMARY KEY,
        request_hash TEXT NOT NULL,
        result TEXT NOT NULL DEFAULT '{}',
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
        expires_at TIMESTAMP NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS saga_dirty_state (
        dfid TEXT PRIMARY KEY,
        failed_step TEXT NOT NULL DEFAULT '',
        partial_state_json TEXT NOT NULL DEFAULT '{}',
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    """CREATE TABLE IF NOT EXISTS resource_locks (
        resource_id TEXT NOT NULL,
        dfid TEXT NOT NULL,
        amount REAL NOT NULL DEFAULT 0,
        acquired_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
        expires_at TIMESTAMP,
        PRIMARY KEY (resource_id, dfid))""",
    "CREATE INDEX IF NOT EXISTS idx_resource_locks_dfid ON resource_locks(dfid)",
    """CREATE TABLE IF NOT EXISTS intent_retry (
        dfid TEXT PRIMARY KEY,
        rejection_count INTEGER NOT NULL DEFAULT 0,
        max_retries INTEGER NOT NULL DEFAULT 3,
        retry_policy TEXT NOT NULL DEFAULT 'EXPONENTIAL_BACKOFF',
        next_retry_at TIMESTAMP,
        backoff_until TIMESTAMP,
        updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    """CREATE TABLE IF NOT EXISTS escalation_budget (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        agent_id TEXT NOT NULL,
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    """CREATE INDEX IF NOT EXISTS idx_escalation_budget_agent_id
        ON escalation_budget(agent_id)""",
    """CREATE TABLE IF NOT EXISTS escalation_requests (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        dfid TEXT NOT NULL,
        root_dfid TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        reason TEXT NOT NULL DEFAULT '',
        context_json TEXT NOT NULL DEFAULT '{}',
        proposal_json TEXT NOT NULL DEFAULT '{}',
        impact TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL DEFAULT 'PENDING',
        human_decision TEXT,
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
        resolved_at TIMESTAMP)""",
    "CREATE INDEX IF NOT EXISTS idx_escalation_requests_dfid ON escalation_requests(dfid)",
    """CREATE TABLE IF NOT EXISTS flow_transitions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        dfid TEXT NOT NULL,
        root_dfid TEXT NOT NULL,
        from_status TEXT,
        to_status TEXT NOT NULL,
        correlation_id TEXT,
        causation_id TEXT,
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    "CREATE INDEX IF NOT EXISTS idx_flow_transitions_dfid ON flow_transitions(dfid)",
    """CREATE TABLE IF NOT EXISTS decision_ledger_entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        dfid TEXT NOT NULL UNIQUE,
        root_dfid TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        intent_payload TEXT NOT NULL DEFAULT '{}',
        context_ref TEXT NOT NULL DEFAULT '',
        evidence_hash TEXT NOT NULL DEFAULT '',
        signature TEXT NOT NULL DEFAULT '',
        committed_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    """CREATE TABLE IF NOT EXISTS decision_audit_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        dfid TEXT NOT NULL,
        root_dfid TEXT NOT NULL,
        event_type TEXT NOT NULL,
        severity TEXT NOT NULL DEFAULT 'INFO',
        correlation_id TEXT,
        causation_id TEXT,
        step_id TEXT NOT NULL DEFAULT '',
        state TEXT NOT NULL DEFAULT '',
        detail_json TEXT NOT NULL DEFAULT '{}',
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)""",
    "CREATE INDEX IF NOT EXISTS idx_decision_audit_events_dfid ON decision_audit_events(dfid)",
)

# A table of the newest version that was made here: if it is there, so are the others.
_LAST_TABLE = "wk_cursor"


def connect(path: str, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """A connection for one act. Foreign keys stay off: a state needs no registered agent."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


@contextmanager
def reading(path: str) -> Generator[sqlite3.Connection, None, None]:
    """A connection that only reads."""
    connection = connect(path)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def writing(
    path: str, busy_seconds: float = BUSY_SECONDS
) -> Generator[sqlite3.Connection, None, None]:
    """One transaction that owns the file from its first statement on."""
    connection = connect(path, busy_seconds)
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _journal.catch_up(connection, path)
            yield connection
            _journal.keep(connection, path)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    finally:
        connection.close()


def prepare(path: str) -> None:
    """Make the tables that are missing and bring them to the end of the ledger."""
    with reading(path) as connection:
        is_made = _has_table(connection, _LAST_TABLE)
    if is_made:
        with writing(path):
            return
    connection = connect(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        if not _has_table(connection, _LAST_TABLE):
            _make_tables(connection, path)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _make_tables(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables; what a file that has some of them holds goes into the store."""
    had_holds = _has_table(connection, "resource_locks")
    if had_holds:
        # The reference keys holds by resource alone, so that one flow's hold replaces another's.
        connection.execute("ALTER TABLE resource_locks RENAME TO wk_old_locks")
    for statement in _SCHEMA:
        connection.execute(statement)
    _journal.watch(connection)
    _journal.catch_up(connection, path)
    _journal.keep(connection, path)
    if had_holds:
        for row in connection.execute("SELECT dfid, resource_id, amount FROM wk_old_locks").fetchall():
            _journal.hold(connection, path, row["dfid"], {row["resource_id"]: row["amount"]}, None)
        connection.execute("DROP TABLE wk_old_locks")
    if _has_table(connection, "wk_claims"):
        for row in connection.execute("SELECT effect_key FROM wk_claims").fetchall():
            _journal.doubt_step(path, row["effect_key"])
        connection.execute("DROP TABLE wk_claims")


def ensure_flow(connection: sqlite3.Connection, dfid: str, agent_id: str | None) -> None:
    """Make a row for the flow if it has none, so that reports can join on it."""
    now = row_instant()
    connection.execute(
        "INSERT OR IGNORE INTO decision_flows (dfid, root_dfid, agent_id, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (dfid, dfid, agent_id or KERNEL_AGENT, now, now),
    )


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)
    ).fetchone()
    return found is not None

