"""The services on every kind of storage, one thread."""

import json
import math
import sqlite3
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from writkeeper.dir_core import (
    AuditStore,
    CompensationAction,
    ContextStore,
    ContractParameterAmendment,
    DecisionLedger,
    DecisionRuntime,
    EscalationManager,
    EscalationOutcome,
    EscalationRequest,
    FlowStatus,
    HumanDecision,
    IdempotencyGuard,
    ImpactCategory,
    InDoubt,
    IntentRetryGovernor,
    LockResult,
    MemoryBackend,
    MemoryEscalationStorage,
    MemoryLifecycleStorage,
    Policy,
    PolicyProposal,
    ProofCarryingIntent,
    ResourceLockManager,
    SagaCompensation,
    SQLiteBackend,
    StorageBundle,
    idempotency_key,
    memory_storage,
    sqlite_storage,
    strict,
    transition,
)
from writkeeper.dir_core.storage import SqliteLifecycleStorage, base, ensure_db
from writkeeper.dir_core.storage.sqlite import SqliteDecisionLedgerStorage

CONTRACT: dict[str, Any] = {
    "permissions": {"allowed_policy_types": ["HOLD"]},
    "safety_rules": {"min_confidence_threshold": 0.5},
}


def proposal(**fields: Any) -> PolicyProposal:
    return PolicyProposal(**{"dfid": "d", "agent_id": "a", "policy_kind": "HOLD", **fields})


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


@pytest.mark.parametrize(
    "service", [ContextStore, EscalationManager, SagaCompensation, ResourceLockManager]
)
def test_services_need_a_place(service: Any) -> None:
    with pytest.raises(ValueError, match="Provide either"):
        service()


def test_ensure_db(tmp_path: Any) -> None:
    made = ensure_db(tmp_path / "a" / "b.db", lambda c: c.execute("CREATE TABLE mine (x)"))
    assert made == (tmp_path / "a" / "b.db").resolve()
    assert rows(str(made), "SELECT name FROM sqlite_master") == [("mine",)]
    assert ensure_db(str(made)) == made


# --- context


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


# --- idempotency


def test_a_step_runs_once(bundle: StorageBundle) -> None:
    guard, runs = IdempotencyGuard(bundle.idempotency), []

    def pay(amount: int) -> dict[str, int]:
        runs.append(amount)
        return {"paid": amount}

    assert guard.run("d", "pay", {"amount": 5}, pay) == {"paid": 5}
    assert guard.run("d", "pay", {"amount": 5}, pay) == {"paid": 5}
    assert guard.run("d", "pay", {"amount": 6}, pay) == {"paid": 6}
    assert guard.run("e", "pay", {"amount": 5}, pay) == {"paid": 5}
    assert runs == [5, 6, 5]
    assert bundle.idempotency.get(idempotency_key("d", "pay", {"amount": 5})) == {"paid": 5}


def test_none_is_a_result(bundle: StorageBundle) -> None:
    guard, runs = IdempotencyGuard(bundle.idempotency), []
    for _ in range(3):
        assert guard.run("d", "s", {}, lambda: runs.append(1)) is None
    assert runs == [1]


@pytest.mark.parametrize("result", [0, "", [], {}, False, 1.5, [1, {"a": None}]])
def test_falsy_and_plain_results_are_kept(bundle: StorageBundle, result: Any) -> None:
    guard, runs = IdempotencyGuard(bundle.idempotency), []
    for _ in range(2):
        assert guard.run("d", "s", {}, lambda: runs.append(1) or result) == result
    assert runs == [1]


def test_an_exception_is_not_kept(bundle: StorageBundle) -> None:
    guard, runs = IdempotencyGuard(bundle.idempotency), []

    def flaky() -> dict[str, bool]:
        runs.append(1)
        if len(runs) == 1:
            raise RuntimeError("down")
        return {"ok": True}

    with pytest.raises(RuntimeError, match="down"):
        guard.run("d", "s", {}, flaky)
    assert guard.run("d", "s", {}, flaky) == {"ok": True}
    assert len(runs) == 2


def test_a_colon_in_a_name_makes_no_collision(bundle: StorageBundle) -> None:
    guard = IdempotencyGuard(bundle.idempotency)
    assert guard.run("a:b", "c", {}, lambda: "first") == "first"
    assert guard.run("a", "b:c", {}, lambda: "second") == "second"
    assert guard.run("a:b", "c", {}, lambda: "third") == "first"


def test_a_backend_of_ones_own_sees_the_key_of_the_reference() -> None:
    class Backend:
        def __init__(self) -> None:
            self.calls: list[tuple[Any, ...]] = []

        def get(self, key: str) -> Any:
            self.calls.append(("get", key))

        def set(self, key: str, result: Any) -> None:
            self.calls.append(("set", key, result))

    backend = Backend()
    IdempotencyGuard(backend).run("d", "s", {"x": 1}, lambda x: {"x": x})
    key = idempotency_key("d", "s", {"x": 1})
    assert backend.calls == [("get", key), ("set", key, {"x": 1})]


class Failing:
    """A backend that loses what it is given, the first time."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.lost = False

    def get(self, key: str) -> Any:
        return self.kept.get(key)

    def set(self, key: str, result: Any) -> None:
        if not self.lost:
            self.lost = True
            raise OSError("disk full")
        self.kept[key] = result


def test_a_result_that_was_lost_is_in_doubt() -> None:
    backend, ran = Failing(), []
    guard = IdempotencyGuard(backend)
    with pytest.raises(OSError, match="disk full"):
        guard.run("d", "s", {}, lambda: ran.append(1))
    with pytest.raises(InDoubt, match="step s of flow d"):
        IdempotencyGuard(backend).run("d", "s", {}, lambda: ran.append(1))
    assert ran == [1]
    guard.settle("d", "s", {}, happened=True, result={"ok": 1})
    assert guard.run("d", "s", {}, lambda: ran.append(1)) == {"ok": 1}
    with pytest.raises(ValueError, match="not in doubt"):
        guard.settle("d", "s", {}, happened=False)


def test_an_interrupted_step_is_in_doubt(bundle: StorageBundle) -> None:
    guard = IdempotencyGuard(bundle.idempotency)

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guard.run("d", "s", {}, interrupted)
    with pytest.raises(InDoubt):
        guard.run("d", "s", {}, lambda: 1)
    guard.settle("d", "s", {}, happened=False)
    assert guard.run("d", "s", {}, lambda: 2) == 2


def test_params_must_be_json(bundle: StorageBundle) -> None:
    with pytest.raises(TypeError):
        IdempotencyGuard(bundle.idempotency).run("d", "s", {"x": object()}, lambda x: x)


def test_backends_by_their_old_names(db: str) -> None:
    for backend in (MemoryBackend(), SQLiteBackend(db)):
        assert backend.get("k") is None
        backend.set("k", {"a": 1})
        assert backend.get("k") == {"a": 1}
    [(digest, result)] = rows(db, "SELECT request_hash, result FROM idempotency_cache")
    assert digest == "f9d86028c6e0d64e225186f96acb69338b2c59764df79162107f5c4bb34d1310"
    assert json.loads(result) == {"a": 1}


# --- audit


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
    assert rows(db, "SELECT dfid, root_dfid, event_type, severity, detail_json FROM decision_audit_events") == [
        ("d", "d", "X", "INFO", '{"a": "2026-01-01 00:00:00", "b": 1}')
    ]


# --- retries and life cycle


def test_rejections(bundle: StorageBundle) -> None:
    governor = IntentRetryGovernor(2, storage=bundle.intent_retry)
    assert not governor.should_abort("d")
    assert [governor.record_rejection("d") for _ in range(2)] == [1, 2]
    assert governor.should_abort("d") and not governor.should_abort("e")
    governor.reset("d")
    assert governor.record_rejection("d") == 1


def test_rejections_outlive_the_governor(db: str) -> None:
    IntentRetryGovernor(1, db_path=db).record_rejection("d")
    assert IntentRetryGovernor(1, db_path=db).should_abort("d")
    assert not IntentRetryGovernor(1).should_abort("d")


class Recorder:
    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def record_transition(
        self, dfid: str, from_status: str, to_status: str, *, root_dfid: str | None = None
    ) -> None:
        self.rows.append((dfid, from_status, to_status, root_dfid))


def test_a_storage_of_ones_own_gets_texts(db: str) -> None:
    recorder = Recorder()
    transition("d", FlowStatus.CREATED, FlowStatus.ACTIVE, storage=recorder)
    transition("d", FlowStatus.ACTIVE, FlowStatus.CLOSED, db_path=db, storage=recorder)
    assert recorder.rows == [("d", "CREATED", "ACTIVE", None), ("d", "ACTIVE", "CLOSED", None)]
    assert all(type(text) is str for row in recorder.rows for text in row[:3])


def test_the_end_of_a_flow_forgets_its_rejections() -> None:
    for end in (FlowStatus.CLOSED, FlowStatus.ABORTED):
        governor = IntentRetryGovernor(1)
        governor.record_rejection("d")
        transition("d", FlowStatus.ACTIVE, FlowStatus.VALIDATING, governor)
        assert governor.should_abort("d")
        transition("d", FlowStatus.ACTIVE, end, retry_governor=governor)
        assert not governor.should_abort("d")


@pytest.mark.parametrize("end", ["CLOSED", "ABORTED"])
@pytest.mark.parametrize("to", ["EXECUTING", "ACTIVE", "CREATED"])
def test_nothing_leaves_the_end(end: str, to: str) -> None:
    recorder = Recorder()
    with pytest.raises(ValueError, match="cannot become"):
        transition("d", FlowStatus(end), FlowStatus(to), storage=recorder)
    assert recorder.rows == []


def test_transitions_in_the_file(db: str) -> None:
    transition("d", FlowStatus.CREATED, FlowStatus.ACTIVE, db_path=db)
    transition("d", FlowStatus.ACTIVE, FlowStatus.CLOSED, db_path=db)
    query = "SELECT dfid, root_dfid, from_status, to_status FROM flow_transitions ORDER BY id"
    assert rows(db, query) == [("d", "d", "CREATED", "ACTIVE"), ("d", "d", "ACTIVE", "CLOSED")]
    assert rows(db, "SELECT status FROM decision_flows") == [("COMPLETED",)]
    with pytest.raises(ValueError, match="flow d is CLOSED and cannot become EXECUTING"):
        transition("d", FlowStatus.ACTIVE, FlowStatus.EXECUTING, db_path=db)
    SqliteLifecycleStorage(db).record_transition("c", "CREATED", "ACTIVE", root_dfid="d")
    assert rows(db, "SELECT root_dfid FROM flow_transitions WHERE dfid = 'c'") == [("d",)]


def test_transitions_in_memory() -> None:
    storage = MemoryLifecycleStorage()
    transition("d", FlowStatus.CREATED, FlowStatus.ACTIVE, storage=storage)
    [one] = storage.get_transitions("d")
    assert (one["from_status"], one["to_status"], one["root_dfid"]) == ("CREATED", "ACTIVE", "d")
    assert storage.get_transitions("e") == []


# --- escalation


def test_escalation(bundle: StorageBundle) -> None:
    manager = EscalationManager(max_escalations_per_hour=2, storage=bundle.escalation)

    def ask(dfid: str, agent: str = "a") -> EscalationOutcome:
        one = proposal(dfid=dfid, agent_id=agent, params={"x": 1})
        return manager.request_escalation(dfid, agent, "RISK", {"c": 1}, one, ImpactCategory.HIGH_IMPACT)

    assert [ask("d1"), ask("d2"), ask("d3")] == ["GRANTED", "GRANTED", "BUDGET_EXHAUSTED"]
    assert ask("d4", "b") == EscalationOutcome.GRANTED
    pending = manager.get_pending()
    assert [one["dfid"] for one in pending] == ["d1", "d2", "d4"]
    assert sorted(pending[0]) == ["agent_id", "context", "dfid", "impact", "proposal", "reason"]
    assert pending[0]["context"] == {"c": 1}
    assert pending[0]["proposal"]["params"] == {"x": 1}
    assert (pending[0]["reason"], pending[0]["impact"]) == ("RISK", "HIGH_IMPACT")
    manager.resolve_escalation("d1", "OVERRIDE")
    manager.resolve_escalation("d2", HumanDecision.ABORT)
    assert [one["dfid"] for one in manager.get_pending()] == ["d4"]
    with pytest.raises(ValueError):
        manager.resolve_escalation("d4", "MAYBE")
    assert [one["dfid"] for one in manager.get_pending()] == ["d4"]


def test_the_window_rolls(bundle: StorageBundle) -> None:
    manager = EscalationManager(None, 1, 0, storage=bundle.escalation)
    past = (datetime.now(timezone.utc) - timedelta(seconds=5)).strftime("%Y-%m-%d %H:%M:%S")
    future = (datetime.now(timezone.utc) + timedelta(seconds=5)).strftime("%Y-%m-%d %H:%M:%S")
    manager.request_escalation("d", "a", "r", {}, proposal(), ImpactCategory.LOW_IMPACT)
    assert bundle.escalation.get_window_count("a", past) == 1
    assert bundle.escalation.get_window_count("a", future) == 0


def test_a_short_window(db: str) -> None:
    for storage in (MemoryEscalationStorage(), sqlite_storage(db).escalation):
        manager = EscalationManager(None, 1, 1, storage=storage)

        def ask() -> EscalationOutcome:
            return manager.request_escalation("d", "a", "r", {}, proposal(), "LOW_IMPACT")

        assert [ask(), ask()] == ["GRANTED", "BUDGET_EXHAUSTED"]
        manager.refill_interval_sec = 0
        assert ask() == EscalationOutcome.GRANTED


def test_requests_from_models(bundle: StorageBundle) -> None:
    manager = EscalationManager(storage=bundle.escalation)
    policy = Policy(dfid="d", agent_id="a", proposed_action="BUY", justification="j", confidence=0.8)
    for dfid, severity, original in (("d", "HIGH", policy), ("e", "LOW", None), ("f", "CRITICAL", None)):
        assert manager.request_from_model(
            EscalationRequest(
                dfid=dfid, from_agent_id="a", trigger="T", severity=severity, original_policy=original
            )
        ) == EscalationOutcome.GRANTED
    first, second, third = manager.get_pending()
    assert (first["proposal"]["policy_kind"], first["proposal"]["params"]) == ("BUY", {})
    assert (first["impact"], first["reason"]) == ("HIGH_IMPACT", "T")
    assert (second["proposal"]["policy_kind"], second["impact"]) == ("escalation", "LOW_IMPACT")
    assert second["proposal"]["params"] == {"trigger": "T"}
    assert third["impact"] == "HIGH_IMPACT"


def test_the_first_answer_stands(db: str) -> None:
    manager = EscalationManager(db)
    manager.request_escalation("d", "a", "r", {}, proposal(), ImpactCategory.LOW_IMPACT)
    manager.resolve_escalation("d", "MODIFY", proposal(params={"x": 2}))
    manager.resolve_escalation("d", "ABORT")
    query = "SELECT status, human_decision, proposal_json FROM escalation_requests"
    [(status, decision, changed)] = rows(db, query)
    assert (status, decision) == ("APPROVED", "MODIFY")
    assert json.loads(changed)["params"] == {"x": 2}


def test_the_first_answer_stands_in_memory() -> None:
    storage = MemoryEscalationStorage()
    manager = EscalationManager(storage=storage)
    manager.request_escalation("d", "a", "r", {}, proposal(), ImpactCategory.LOW_IMPACT)
    manager.resolve_escalation("d", "abort")
    manager.resolve_escalation("d", "OVERRIDE")
    storage.resolve_request("d", "now", "OVERRIDE", None)
    assert storage._requests[0]["status"] == "REJECTED"


def test_strict_answers_need_a_person(bundle: StorageBundle) -> None:
    manager = EscalationManager(storage=bundle.escalation)
    manager.request_escalation("d", "a", "r", {}, proposal(), ImpactCategory.LOW_IMPACT)
    with strict(people=["ann"]):
        with pytest.raises(ValueError, match="known person"):
            manager.resolve_escalation("d", "OVERRIDE")
        manager.resolve_escalation("d", "OVERRIDE", actor_id="ann")
    assert manager.get_pending() == []


# --- resource locks


def locks(bundle: StorageBundle, capacity: float = 100.0) -> ResourceLockManager:
    return ResourceLockManager(availability_provider=lambda _name: capacity, storage=bundle.resource_lock)


def test_holding_and_releasing(bundle: StorageBundle) -> None:
    manager = locks(bundle, 1000.0)
    assert manager.acquire("d1", {"capital": 500.0}) == LockResult.ACQUIRED
    assert manager.acquire("d2", {"capital": 600.0}) == LockResult.INSUFFICIENT_LIQUIDITY
    assert bundle.resource_lock.get_locked_amount("capital", "d2") == 500.0
    assert bundle.resource_lock.get_locked_amount("capital", "d1") == 0.0
    manager.release("d1")
    assert manager.acquire("d2", {"capital": 600.0}) == LockResult.ACQUIRED
    assert manager.acquire("d3", {}) == LockResult.ACQUIRED


def test_six_flows_one_after_another(bundle: StorageBundle) -> None:
    manager = locks(bundle)
    results = [manager.acquire(f"d{n}", {"r": 40}) for n in range(6)]
    assert results.count(LockResult.ACQUIRED) == 2
    assert bundle.resource_lock.get_locked_amount("r", "") == 80


def test_a_second_acquisition_drops_nothing(bundle: StorageBundle) -> None:
    manager = locks(bundle)
    assert manager.acquire("d", {"a": 100}) == LockResult.ACQUIRED
    assert manager.acquire("d", {"b": 10}) == LockResult.ACQUIRED
    assert manager.acquire("e", {"a": 1}) == LockResult.INSUFFICIENT_LIQUIDITY
    assert manager.acquire("e", {"b": 50}) == LockResult.ACQUIRED
    assert manager.acquire("e", {"b": 30}) == LockResult.ACQUIRED
    assert manager.acquire("f", {"b": 20}) == LockResult.INSUFFICIENT_LIQUIDITY
    assert manager.acquire("f", {"b": 10}) == LockResult.ACQUIRED


def test_a_flow_does_not_stand_in_its_own_way() -> None:
    for bundle in (memory_storage(),):
        manager = locks(bundle)
        assert manager.acquire("d", {"r": 80}) == LockResult.ACQUIRED
        assert manager.acquire("d", {"r": 90}) == LockResult.ACQUIRED
        assert bundle.resource_lock.get_locked_amount("r", "") == 100


def test_all_or_nothing(bundle: StorageBundle) -> None:
    manager = ResourceLockManager(
        availability_provider={"a": 10.0, "b": 1.0}.__getitem__, storage=bundle.resource_lock
    )
    assert manager.acquire("d", {"b": 5, "a": 5}) == LockResult.INSUFFICIENT_LIQUIDITY
    assert bundle.resource_lock.get_locked_amount("a", "") == 0


def test_without_time_it_times_out(bundle: StorageBundle) -> None:
    manager = locks(bundle)
    assert manager.acquire("d", {"r": 1}, timeout_sec=0) == LockResult.RESOURCE_CONTENTION_TIMEOUT
    assert manager.acquire("d", {"r": 101}, timeout_sec=0) == LockResult.INSUFFICIENT_LIQUIDITY
    assert bundle.resource_lock.get_locked_amount("r", "") == 0


@pytest.mark.parametrize("amount", [-1, -1000.0, math.nan, math.inf, "5", True, None])
def test_amounts_are_numbers_of_at_least_0(bundle: StorageBundle, amount: Any) -> None:
    manager = locks(bundle)
    with pytest.raises(ValueError, match="the amount of r"):
        manager.acquire("d", {"r": amount})
    assert manager.acquire("d", {"r": 0}) == LockResult.ACQUIRED
    assert manager.acquire("e", {"r": 101}) == LockResult.INSUFFICIENT_LIQUIDITY


@pytest.mark.parametrize("capacity", [math.nan, None, "lots"])
def test_a_capacity_that_is_no_number_is_too_little(bundle: StorageBundle, capacity: Any) -> None:
    assert locks(bundle, capacity).acquire("d", {"r": 1}) == LockResult.INSUFFICIENT_LIQUIDITY


def test_a_busy_file_times_out(db: str) -> None:
    manager = ResourceLockManager(db, lambda _name: 100.0)
    other = sqlite3.connect(db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert manager.acquire("d", {"r": 1}, 0.2) == LockResult.RESOURCE_CONTENTION_TIMEOUT
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert manager.acquire("d", {"r": 1}, 0.2) == LockResult.ACQUIRED


def test_a_storage_that_cannot_write_is_tried_until_the_time_is_up() -> None:
    class Stubborn:
        tries = 0

        def init_schema(self) -> None: ...
        def get_locked_amount(self, resource_id: str, exclude_dfid: str) -> float:
            return 0.0

        def acquire_batch(self, dfid: str, resources: dict, timeout_sec: float) -> bool:
            self.tries += 1
            return False

        def release(self, dfid: str) -> None: ...

    stubborn = Stubborn()
    manager = ResourceLockManager(availability_provider=lambda _name: 1.0, storage=stubborn)
    assert manager.acquire("d", {"r": 1}, 0.12) == LockResult.RESOURCE_CONTENTION_TIMEOUT
    assert stubborn.tries > 1


# --- saga


def test_compensation(bundle: StorageBundle) -> None:
    called: list[Any] = []
    saga = SagaCompensation(
        revert_callback=lambda dfid, state: called.append((dfid, state)) or len(called) > 1,
        close_all_callback=lambda dfid: True,
        alert_human_callback=lambda dfid, state: called.append("alert"),
        storage=bundle.saga,
    )

    def run(action: str) -> tuple[bool, str]:
        result = saga.execute_compensation("d", CompensationAction(action))
        return result.success, result.message

    assert run("REVERT") == (False, "Flow not in dirty state")
    saga.mark_dirty("d", "one", {"x": 0})
    saga.mark_dirty("d", "two", {"x": 1})
    assert saga.get_dirty_flows() == ["d"]
    assert saga.get_dirty_state("d") == {"failed_step": "two", "partial_state": {"x": 1}}
    assert run("NOOP") == (True, "NOOP")
    assert run("REVERT") == (False, "REVERT")
    assert saga.get_dirty_flows() == ["d"]
    assert run("ALERT_HUMAN") == (True, "ALERT_HUMAN")
    assert saga.get_dirty_flows() == ["d"]
    assert run("REVERT") == (True, "REVERT")
    assert called == [("d", {"x": 1}), "alert", ("d", {"x": 1})]
    assert saga.get_dirty_flows() == [] and saga.get_dirty_state("d") is None
    saga.mark_dirty("d", "s", {})
    assert run("CLOSE_ALL") == (True, "CLOSE_ALL")
    assert saga.get_dirty_flows() == []


def test_compensation_without_callbacks(db: str) -> None:
    saga = SagaCompensation(db)
    saga.mark_dirty("d", "s", {"x": 1})
    messages = {
        action: saga.execute_compensation("d", CompensationAction(action)).message
        for action in ("REVERT", "CLOSE_ALL", "ALERT_HUMAN")
    }
    assert messages == {
        "REVERT": "No revert callback",
        "CLOSE_ALL": "No close_all callback",
        "ALERT_HUMAN": "No alert_human callback",
    }


# --- ledger


def intent(dfid: str, **payload: Any) -> ProofCarryingIntent:
    return ProofCarryingIntent(
        dfid=dfid, intent_payload=payload, context_ref="c", evidence_hash="h", signature="s"
    )


def test_a_ledger_in_memory() -> None:
    ledger = DecisionLedger()
    payload = intent("d", x=[1])
    ledger.append(payload, agent_id="a")
    ledger.append(intent("d", x=[2]), agent_id="a")
    ledger.append(intent("e"))
    assert len(ledger) == 2
    payload.intent_payload["x"].append(9)
    ledger.entries()[0]["intent_payload"]["x"].append(8)
    assert ledger.entries()[0] == {
        "dfid": "d",
        "intent_payload": {"x": [1]},
        "context_ref": "c",
        "evidence_hash": "h",
        "signature": "s",
    }
    assert ledger.entries() == ledger.entries()
    assert ledger.entries() is not ledger.entries()


def test_a_ledger_in_a_storage(bundle: StorageBundle) -> None:
    ledger = DecisionLedger(bundle.decision_ledger)
    for dfid in ("d", "e", "d"):
        ledger.append(intent(dfid, n=dfid), agent_id="a")
    assert [one["dfid"] for one in ledger.entries()] == ["d", "e"]
    assert len(ledger) == 2
    one = bundle.decision_ledger.get_by_dfid("d")
    assert one is not None and one["intent_payload"] == {"n": "d"} and one["agent_id"] == "a"
    assert bundle.decision_ledger.entries_for_dfid("d") == [one]
    assert bundle.decision_ledger.entries_for_dfid("x") == []
    assert bundle.decision_ledger.get_by_dfid("x") is None


def test_the_ledger_in_the_file(db: str) -> None:
    storage = SqliteDecisionLedgerStorage(db)
    storage.append(intent("d", n=1), agent_id="a")
    query = "SELECT dfid, root_dfid, agent_id, intent_payload, context_ref, evidence_hash, signature FROM decision_ledger_entries"
    assert rows(storage.db_path, query) == [("d", "d", "a", '{"n": 1}', "c", "h", "s")]


# --- runtime


@pytest.fixture
def runtime(bundle: StorageBundle) -> DecisionRuntime:
    return DecisionRuntime(bundle)


def events(runtime: DecisionRuntime, dfid: str = "d") -> list[tuple[str, dict[str, Any]]]:
    return [(one["event"], one["details"]) for one in runtime.audit.events_for_dfid(dfid)]


def test_an_accepted_proposal(runtime: DecisionRuntime) -> None:
    assert runtime.register_agent("a", CONTRACT, "1.0.0", priority=1).accepted
    assert runtime.evaluate_proposal(proposal(confidence=0.9), {"note": "x"}) == (
        "ACCEPT",
        "VALIDATION_PASSED",
    )
    assert events(runtime) == [
        (
            "PROPOSAL_ACCEPT",
            {
                "agent_id": "a",
                "policy_kind": "HOLD",
                "reason": "VALIDATION_PASSED",
                "verdict": "ACCEPT",
                "confidence": 0.9,
            },
        )
    ]
    assert runtime.context_store.get_session("d") == {"note": "x"}


def test_a_rejected_proposal_names_its_rules(runtime: DecisionRuntime) -> None:
    runtime.register_agent("a", CONTRACT, "1.0.0")
    assert runtime.evaluate_proposal(proposal(policy_kind="SELL"), {}) == (
        "REJECT",
        "UNAUTHORIZED_POLICY_TYPE",
    )
    [(event, details)] = events(runtime)
    assert event == "PROPOSAL_REJECT"
    assert details == {
        "agent_id": "a",
        "policy_kind": "SELL",
        "reason": "UNAUTHORIZED_POLICY_TYPE",
        "verdict": "REJECT",
        "confidence": 1.0,
        "failed_invariant_id": "INV_ALLOWED_POLICY_TYPES",
        "failures": [
            {"invariant_id": "INV_ALLOWED_POLICY_TYPES", "reason": "UNAUTHORIZED_POLICY_TYPE"}
        ],
        "reason_codes": ["UNAUTHORIZED_POLICY_TYPE"],
    }


def test_no_note_when_none_is_wanted(runtime: DecisionRuntime) -> None:
    runtime.register_agent("a", CONTRACT, "1.0.0")
    runtime.evaluate_proposal(proposal(), {}, record_audit=False)
    runtime.registry.set_agent_status("a", "SUSPENDED")
    runtime.evaluate_proposal(proposal(), {}, record_audit=False)
    assert events(runtime) == []


@pytest.mark.parametrize(
    ("status", "verdict", "reason", "event"),
    [
        ("SUSPENDED", "REJECT", "AGENT_SUSPENDED", "PROPOSAL_REJECT"),
        ("RETIRED", "REJECT", "AGENT_RETIRED", "PROPOSAL_REJECT"),
        ("DEGRADED", "REJECT", "AGENT_DEGRADED", "PROPOSAL_REJECT"),
        ("ESCALATION_ONLY", "ESCALATE", "AGENT_ESCALATION_ONLY", "PROPOSAL_ESCALATE"),
        ("PAUSED", "REJECT", "AGENT_PAUSED", "PROPOSAL_REJECT"),
    ],
)
def test_statuses_bind_and_leave_a_note(
    runtime: DecisionRuntime, status: str, verdict: str, reason: str, event: str
) -> None:
    runtime.register_agent("a", CONTRACT, "1.0.0")
    runtime.registry.set_agent_status("a", status)
    assert runtime.evaluate_proposal(proposal(), {"k": 1}) == (verdict, reason)
    assert [(name, details["reason"]) for name, details in events(runtime)] == [(event, reason)]
    assert runtime.context_store.get_session("d") == {}
    runtime.registry.set_agent_status("a", "ACTIVE")
    assert runtime.evaluate_proposal(proposal(), {})[0] == "ACCEPT"


def test_nobody_and_nothing_are_refused(runtime: DecisionRuntime) -> None:
    assert runtime.evaluate_proposal(proposal(policy_kind="WIRE_ALL_FUNDS"), {})[0] == "REJECT"
    assert [name for name, _ in events(runtime)] == ["PROPOSAL_REJECT"]
    runtime.register_agent("a", {}, "1.0.0")
    assert runtime.evaluate_proposal(proposal(), {})[0] == "REJECT"
    runtime.register_agent("b", {"caps": ["TRADE"]}, "1.0.0")
    assert runtime.evaluate_proposal(proposal(agent_id="b"), {})[0] == "REJECT"
    runtime.register_agent("c", {"role": "KING", **CONTRACT}, "1.0.0")
    assert runtime.evaluate_proposal(proposal(agent_id="c"), {})[0] == "REJECT"
    runtime.register_agent("i", {"role": "INTERFACE", **CONTRACT}, "1.0.0")
    assert runtime.evaluate_proposal(proposal(agent_id="i"), {})[0] == "ACCEPT"


def test_the_threshold_counts_for_registered_contracts(runtime: DecisionRuntime) -> None:
    runtime.register_agent("a", CONTRACT, "1.0.0")
    assert runtime.evaluate_proposal(proposal(confidence=0.01), {}) == (
        "REJECT",
        "Proposal confidence (0.01) is below threshold (0.5)",
    )


def test_contracts_by_hand(runtime: DecisionRuntime) -> None:
    other = {"permissions": {"allowed_policy_types": ["SELL"]}}
    runtime.register_agent("a", CONTRACT, "1.0.0")
    assert runtime.evaluate_proposal(proposal(), {}, contract=other)[0] == "REJECT"
    assert runtime.evaluate_proposal(proposal(policy_kind="SELL"), {}, contract=other)[0] == "ACCEPT"
    free = runtime.evaluate_proposal(proposal(policy_kind="X"), {}, use_registry_contract=False)
    assert free[0] == "ACCEPT"
    assert runtime.evaluate_proposal(proposal(), {}, contract={})[0] == "REJECT"
    assert runtime.evaluate_proposal(proposal(agent_id="new"), {}, contract=other)[0] == "REJECT"


def test_the_context_of_validators(runtime: DecisionRuntime) -> None:
    seen: list[dict[str, Any]] = []

    def look(one: PolicyProposal, context: dict[str, Any], contract: dict[str, Any]) -> None:
        seen.append(context)

    runtime.register_agent("a", {**CONTRACT, "schema": {"type": "object"}}, "1.0.0")
    runtime.context_store.update_state("a", {"s": 1})
    runtime.evaluate_proposal(proposal(), {"w": 1}, custom_validators=[look])
    assert seen[0] == {
        "meta": {
            "agent_id": "a",
            "dfid": "d",
            "source": "ContextStore",
            "schema": {"type": "object"},
        },
        "session": {"w": 1},
        "state": {"s": 1},
        "memory": {},
        "artifacts": {},
        "web": {"w": 1},
    }
    given = {"state": {"x": 1}, "meta": {"dfid": "mine"}}
    runtime.evaluate_proposal(proposal(), {}, dim_context=given, custom_validators=[look])
    assert seen[1] == {"state": {"x": 1}, "meta": {"dfid": "mine", "agent_id": "a"}}
    assert given == {"state": {"x": 1}, "meta": {"dfid": "mine"}}


def test_the_other_arguments_reach_the_judge(runtime: DecisionRuntime) -> None:
    runtime.register_agent("a", CONTRACT, "1.0.0")
    governor = IntentRetryGovernor(1)
    old = proposal(valid_until=datetime(2026, 1, 1, tzinfo=timezone.utc))
    early = datetime(2025, 1, 1, tzinfo=timezone.utc)
    assert runtime.evaluate_proposal(old, {}, now=early)[0] == "ACCEPT"
    assert runtime.evaluate_proposal(old, {}, retry_governor=governor)[1] == "TTL_EXPIRED"
    assert runtime.evaluate_proposal(old, {}, retry_governor=governor)[1] == "REASONING_EXHAUSTION"
    assert "RBAC" in runtime.evaluate_proposal(proposal(), {}, allowed_agents=["b"])[1]


def test_an_amendment_is_noted(runtime: DecisionRuntime) -> None:
    runtime.register_agent("a", {"authority": {"limits": {"max_order_size": 100}}}, "1.0.0")
    amendment = ContractParameterAmendment(
        agent_id="a", invariant_id="INV_LIMIT_MAX_ORDER_SIZE", patch={"max": 10}, actor_id="ann", dfid="d"
    )
    assert runtime.apply_parameter_amendment(amendment).accepted
    assert runtime.apply_parameter_amendment(amendment.model_copy(update={"dfid": ""})).accepted
    runtime.apply_parameter_amendment(amendment, record_audit=False)
    runtime.apply_parameter_amendment(amendment.model_copy(update={"patch": {}}))
    [(event, details)] = events(runtime)
    assert event == "CONTRACT_PARAMETER_AMENDED"
    assert details == {
        "agent_id": "a",
        "invariant_id": "INV_LIMIT_MAX_ORDER_SIZE",
        "patch": {"max": 10},
        "actor_id": "ann",
        "base_release": {
            "contract_id": "legacy",
            "contract_version": "0.0.0",
            "api_version": "legacy",
            "contract_hash": "",
        },
        "impact_category": "HIGH_IMPACT",
    }
    assert len(events(runtime, "a")) == 1
    assert runtime.evaluate_proposal(proposal(params={"order_value": 11}), {})[0] == "REJECT"
