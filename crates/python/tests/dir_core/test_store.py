"""The built-in SQLite storages are handles: the Writkeeper store beside the file has what is true."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import writkeeper
from writkeeper.dir_core import (
    AgentRegistry,
    AuditStore,
    ContextStore,
    DecisionLedger,
    EscalationManager,
    FlowStatus,
    IdempotencyGuard,
    ImpactCategory,
    InDoubt,
    IntentRetryGovernor,
    LockResult,
    ProofCarryingIntent,
    ResourceLockManager,
    SagaCompensation,
    SQLiteBackend,
    sqlite_storage,
    transition,
)

CONTRACT = {"authority": {"allowed_policy_types": ["BUY"], "limits": {"max_order_size": 100}}}


def filled(db: Path) -> None:
    """Something in every table."""
    bundle = sqlite_storage(db)
    AgentRegistry(storage=bundle.agent_registry).handshake("trader", CONTRACT, "1.0.0", priority=3)
    context = ContextStore(storage=bundle.context)
    context.update_session("d", {"a": 1}, agent_id="trader")
    context.update_state("trader", {"b": 2.5})
    IdempotencyGuard(bundle.idempotency).run("d", "pay", {"amount": 5}, lambda amount: {"paid": amount})
    audit = AuditStore(bundle.decision_audit, bundle.idempotency)
    audit.record("d", "SEEN", details={"x": "y"}, agent_id="trader")
    pci = ProofCarryingIntent(dfid="d", intent_payload={"k": 1}, context_ref="c", evidence_hash="h")
    DecisionLedger(bundle.decision_ledger).append(pci, agent_id="trader")
    saga = SagaCompensation(storage=bundle.saga)
    saga.mark_dirty("d", "pay", {"half": True})
    locks = ResourceLockManager(storage=bundle.resource_lock, availability_provider=lambda _: 100)
    assert locks.acquire("d", {"cash": 40, "a b": 1.5}) is LockResult.ACQUIRED
    IntentRetryGovernor(storage=bundle.intent_retry).record_rejection("d")
    asking = EscalationManager(storage=bundle.escalation)
    asking.request_escalation("d", "trader", "why", {}, {}, ImpactCategory.LOW_IMPACT)
    transition("d", FlowStatus.CREATED, FlowStatus.ACTIVE, storage=bundle.lifecycle)


TABLES = [
    "agent_registry",
    "decision_flows",
    "flow_context",
    "agent_state",
    "idempotency_cache",
    "decision_audit_events",
    "decision_ledger_entries",
    "saga_dirty_state",
    "resource_locks",
    "intent_retry",
    "escalation_budget",
    "escalation_requests",
    "flow_transitions",
]


def rows(db: Path) -> dict[str, list[Any]]:
    connection = sqlite3.connect(db)
    try:
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES}
    finally:
        connection.close()


def test_the_tables_are_made_again_from_the_store(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    filled(db)
    before = rows(db)
    assert all(before.values()), before
    db.unlink()
    bundle = sqlite_storage(db)
    after = rows(db)
    # A hold is dated by the kernel's own instant, everything else by the row.
    assert {**after, "resource_locks": None} == {**before, "resource_locks": None}
    assert [row[:3] for row in after["resource_locks"]] == [row[:3] for row in before["resource_locks"]]
    assert AgentRegistry(storage=bundle.agent_registry).get_agent_contract("trader") == CONTRACT
    kept = IdempotencyGuard(bundle.idempotency).run("d", "pay", {"amount": 5}, lambda amount: 1 / 0)
    assert kept == {"paid": 5}


def test_the_ledger_of_the_store_can_be_verified(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    filled(db)
    with writkeeper.open(f"{db}.writkeeper") as keeper:
        assert keeper.state.get("dir/agent_registry/trader")["priority"] == 3
        intents = keeper.intents()
        assert [(one.action, one.state) for one in intents] == [("run_step", "SUCCEEDED")]
        assert keeper.export(tmp_path / "export") > 10
    assert writkeeper.verify(tmp_path / "export")["whole"]


def test_a_process_that_died_before_it_wrote_the_tables(tmp_path: Path) -> None:
    """The store has the row; whoever comes next brings the tables up to it."""
    db = tmp_path / "x.db"
    sqlite_storage(db)
    program = f"""
        import os
        from writkeeper.dir_core import sqlite_storage
        from writkeeper.dir_core.storage import _journal
        keep = _journal.keep
        def killed(connection, path):
            keep(connection, path)
            os._exit(9)
        bundle = sqlite_storage({str(db)!r})
        _journal.keep = killed
        bundle.intent_retry.set_count("d", 2)
    """
    died = subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(program)], check=False)
    assert died.returncode == 9
    connection = sqlite3.connect(db)
    assert connection.execute("SELECT * FROM intent_retry").fetchall() == []
    connection.close()
    assert sqlite_storage(db).intent_retry.get_count("d") == 2


def test_a_claim_of_an_earlier_version_is_in_doubt(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    from writkeeper.dir_core import idempotency_key

    connection = sqlite3.connect(db)
    connection.execute("CREATE TABLE wk_claims (effect_key TEXT PRIMARY KEY, owner TEXT, in_doubt INTEGER)")
    connection.execute("INSERT INTO wk_claims VALUES (?, 'gone', 0)", (idempotency_key("d", "pay", {}),))
    connection.commit()
    connection.close()
    guard = IdempotencyGuard(SQLiteBackend(db))
    with pytest.raises(InDoubt):
        guard.run("d", "pay", {}, lambda: pytest.fail("it ran again"))
    guard.settle("d", "pay", {}, happened=False)
    assert guard.run("d", "pay", {}, lambda: 1) == 1


def test_a_store_that_somebody_removed_is_made_anew(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    guard = IdempotencyGuard(SQLiteBackend(db))
    assert guard.run("d", "pay", {}, lambda: 1) == 1
    for file in tmp_path.glob("x.db*"):
        if file.is_file():
            os.unlink(file)
    assert IdempotencyGuard(SQLiteBackend(db)).run("d", "pay", {}, lambda: 2) == 2


@pytest.mark.parametrize("name", ["cash", "two words", " blank ", "a\nb", "ż", "x" * 60])
def test_a_resource_may_have_any_name(tmp_path: Path, name: str) -> None:
    storage = sqlite_storage(tmp_path / "x.db").resource_lock
    provider: Callable[[str], float] = lambda _: 10
    locks = ResourceLockManager(storage=storage, availability_provider=provider)
    assert locks.acquire("one", {name: 6}) is LockResult.ACQUIRED
    assert locks.acquire("other", {name: 6}) is LockResult.INSUFFICIENT_LIQUIDITY
    assert storage.get_locked_amount(name, "other") == 6
    locks.release("one")
    assert locks.acquire("other", {name: 6}) is LockResult.ACQUIRED
