"""Asking people."""

import json
import sqlite3
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from writkeeper.dir_core import (
    EscalationManager,
    EscalationOutcome,
    EscalationRequest,
    HumanDecision,
    ImpactCategory,
    MemoryEscalationStorage,
    Policy,
    PolicyProposal,
    StorageBundle,
    sqlite_storage,
    strict,
)


def proposal(**fields: Any) -> PolicyProposal:
    return PolicyProposal(**{"dfid": "d", "agent_id": "a", "policy_kind": "HOLD", **fields})


def rows(db: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(db)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


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
        assert (
            manager.request_from_model(
                EscalationRequest(
                    dfid=dfid, from_agent_id="a", trigger="T", severity=severity, original_policy=original
                )
            )
            == EscalationOutcome.GRANTED
        )
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


def test_instants_of_answers_are_written_as_the_others(db: str) -> None:
    manager = EscalationManager(db)
    manager.request_escalation("d", "a", "RISK", {}, proposal(), ImpactCategory.HIGH_IMPACT)
    manager.resolve_escalation("d", HumanDecision.OVERRIDE)
    ((created, resolved),) = rows(db, "SELECT created_at, resolved_at FROM escalation_requests")
    assert len(created) == len(resolved) and "T" not in resolved
