"""Retries, transitions, compensation and the ledger."""

import sqlite3
from typing import Any

import pytest

from writkeeper.dir_core import (
    CompensationAction,
    DecisionLedger,
    FlowStatus,
    IntentRetryGovernor,
    MemoryLifecycleStorage,
    ProofCarryingIntent,
    SagaCompensation,
    StorageBundle,
    transition,
)
from writkeeper.dir_core.storage import SqliteLifecycleStorage
from writkeeper.dir_core.storage.sqlite import SqliteDecisionLedgerStorage


def rows(db: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(db)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


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
    transition("e", FlowStatus.CREATED, FlowStatus.ACTIVE, storage=recorder, root_dfid="d")
    assert recorder.rows.pop() == ("e", "CREATED", "ACTIVE", "d")
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


def test_a_storage_of_ones_own_is_told_of_roots_where_it_knows_them() -> None:
    class Demands:
        told: Any = None

        def record_transition(self, dfid: str, from_status: str, to_status: str, *, root_dfid: str | None) -> None:
            self.told = (dfid, root_dfid)

    class Older:
        told: Any = None

        def record_transition(self, dfid: str, from_status: str, to_status: str) -> None:
            self.told = (dfid,)

    def check(storage: Any, told: tuple[Any, ...]) -> None:
        transition("d", FlowStatus.CREATED, FlowStatus.ACTIVE, storage=storage)
        assert storage.told == told

    check(Demands(), ("d", None))
    check(Older(), ("d",))


def test_a_flow_that_ended_stays_ended_whatever_the_caller_says_it_was(bundle: StorageBundle) -> None:
    transition("t", FlowStatus.ACTIVE, FlowStatus.CLOSED, storage=bundle.lifecycle)
    with pytest.raises(ValueError, match="CLOSED"):
        transition("t", FlowStatus.ACTIVE, FlowStatus.EXECUTING, storage=bundle.lifecycle)
