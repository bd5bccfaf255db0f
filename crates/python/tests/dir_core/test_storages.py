"""The storages, the context and the notes."""

import sqlite3
from datetime import datetime
from typing import Any

import pytest

from writkeeper.dir_core import (
    AuditStore,
    ContextStore,
    EscalationManager,
    MemoryBackend,
    ResourceLockManager,
    SagaCompensation,
    StorageBundle,
    memory_storage,
    sqlite_storage,
)
from writkeeper.dir_core.storage import base, ensure_db


def rows(db: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(db)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def test_every_built_in_storage_has_its_protocol(db: str) -> None:
    protocols = {
        "agent_registry": base.AgentRegistryStorage,
        "context": base.ContextStorage,
        "idempotency": base.IdempotencyStorage,
        "decision_audit": base.DecisionAuditStorage,
        "decision_ledger": base.DecisionLedgerStorage,
        "saga": base.SagaStorage,
        "resource_lock": base.ResourceLockStorage,
        "intent_retry": base.IntentRetryStorage,
        "escalation": base.EscalationStorage,
        "lifecycle": base.LifecycleStorage,
    }
    for built in (memory_storage(), sqlite_storage(db)):
        assert sorted(vars(built)) == sorted(protocols)
        for name, protocol in protocols.items():
            assert isinstance(getattr(built, name), protocol)
    assert not isinstance(object(), base.IdempotencyStorage)
    assert issubclass(base.ResourceContentionError, base.StorageError)


@pytest.mark.parametrize("service", [ContextStore, EscalationManager, SagaCompensation, ResourceLockManager])
def test_services_need_a_place(service: Any) -> None:
    with pytest.raises(ValueError, match="Provide either"):
        service()


def test_ensure_db(tmp_path: Any) -> None:
    made = ensure_db(tmp_path / "a" / "b.db", lambda c: c.execute("CREATE TABLE mine (x)"))
    assert made == (tmp_path / "a" / "b.db").resolve()
    assert rows(str(made), "SELECT name FROM sqlite_master") == [("mine",)]
    assert ensure_db(str(made)) == made


def test_context(bundle: StorageBundle) -> None:
    store = ContextStore(storage=bundle.context)
    assert store.get_session("d") == {} and store.get_state("a") == {}
    store.update_session("d", {"a": 1, "b": 1})
    store.update_session("d", {"b": 2}, agent_id="a")
    store.update_state("a", {"mode": "dry"})
    assert store.compile_working_context("a", "d") == {
        "meta": {"agent_id": "a", "dfid": "d", "source": "ContextStore"},
        "session": {"a": 1, "b": 2},
        "state": {"mode": "dry"},
        "memory": {},
        "artifacts": {},
    }


def test_context_outlives_the_store(db: str) -> None:
    ContextStore(db_path=db).update_session("d", {"k": "v"})
    assert ContextStore(db).get_session("d") == {"k": "v"}
    assert rows(db, "SELECT dfid, version FROM flow_context") == [("d", 1)]


def test_notes(bundle: StorageBundle) -> None:
    audit = AuditStore(bundle.decision_audit, bundle.idempotency)
    audit.record("d", "STARTED", step_id="s", state="OK", details={"n": 1}, agent_id="a")
    audit.record("e", "OTHER", root_dfid="d", severity="WARNING")
    [one] = audit.events_for_dfid("d")
    assert sorted(one) == sorted(
        "dfid root_dfid event event_type timestamp created_at severity step_id state details".split()
    )
    assert one["event"] == one["event_type"] == "STARTED"
    assert one["timestamp"] == one["created_at"]
    assert (one["root_dfid"], one["step_id"], one["state"]) == ("d", "s", "OK")
    assert (one["details"], one["severity"]) == ({"n": 1}, "INFO")
    assert [event["event"] for event in audit.all_events_chronological()] == ["STARTED", "OTHER"]
    assert audit.all_events_chronological()[1]["root_dfid"] == "d"
    one["details"]["n"] = 2
    assert audit.events_for_dfid("d")[0]["details"] == {"n": 1}
    audit.save_idempotent_result("k", "d", {"ok": True})
    assert audit.get_idempotent_result("k") == {"ok": True, "_dfid": "d"}
    assert audit.get_idempotent_result("none") is None
    audit.close()


def test_notes_in_the_file(db: str) -> None:
    audit = AuditStore(sqlite_storage(db).decision_audit, MemoryBackend())
    audit.record("d", "X", details={"b": 1, "a": datetime(2026, 1, 1)}, severity="LOUD")
    assert rows(
        db, "SELECT dfid, root_dfid, event_type, severity, detail_json FROM decision_audit_events"
    ) == [("d", "d", "X", "INFO", '{"a": "2026-01-01 00:00:00", "b": 1}')]
