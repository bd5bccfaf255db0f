"""The registry: handshakes, versions, statuses, amendments."""

import math
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from writkeeper.dir_core import (
    AgentRegistry,
    AgentRegistryStatus,
    ContextStore,
    ContractParameterAmendment,
    DecisionRuntime,
    EscalationOutcome,
    ImpactCategory,
    InvariantSpec,
    PolicyProposal,
    RuntimeContractProjection,
    StorageBundle,
    sqlite_storage,
    strict,
)

CONTRACT: dict[str, Any] = {"authority": {"allowed_policy_types": ["BUY"], "limits": {"max_order_size": 100}}}


def wider(**changes: Any) -> dict[str, Any]:
    return {"authority": {**CONTRACT["authority"], **changes}}


@pytest.fixture
def registry(bundle: StorageBundle) -> AgentRegistry:
    return AgentRegistry(storage=bundle.agent_registry)


def test_a_place_to_keep_things_is_needed(db: str) -> None:
    with pytest.raises(ValueError, match="Provide either"):
        AgentRegistry()
    assert AgentRegistry(db).handshake("a", {}, "1.0").accepted
    assert AgentRegistry(db).list_agents() == ["a"]


def test_a_handshake(registry: AgentRegistry) -> None:
    first = registry.handshake("a", {"caps": ["TRADE"]}, "1.2", priority=7)
    assert (first.accepted, first.reason) == (True, None)
    assert first.session_token
    again = registry.handshake("a", {"caps": ["TRADE"]}, "1.3", priority=8)
    assert again.session_token not in (None, first.session_token)
    assert registry.get_agent_priority("a") == 8
    assert registry.get_agent_contract("a") == {"caps": ["TRADE"]}
    assert registry.get_agent_manifest("a") == {"caps": ["TRADE"]}
    assert registry.get_agent_status("a") == ("ACTIVE", None)


def test_a_wrong_version_stores_nothing(registry: AgentRegistry) -> None:
    refused = registry.handshake("a", CONTRACT, agent_version="2.0")
    assert (refused.accepted, refused.session_token) == (False, None)
    assert refused.reason == "VERSION_MISMATCH"
    assert registry.get_agent_contract("a") is None


@pytest.mark.parametrize(
    ("supported", "accepted", "refused"),
    [
        ("1.x", "1.0 1.9.9 1.0.0-rc1 1.0+b", "2.0 0.9 1 v1.0 1.0.0.0 one"),
        ("1.2.x", "1.2.0 1.2.9 1.2", "1.0.0 1.1.9 1.3.0 2.2.0"),
        ("1.2", "1.2.0 1.3.0 1.9", "1.1.9 2.2.0"),
        (">=1.2,<2", "1.2.0 1.9.9", "1.1.9 2.0.0"),
        (">= 1.2 < 2", "1.2.0 1.9.9", "1.1.9 2.0.0"),
        (">=1.2, !=1.3.0", "1.2.0 1.3.1 2.0", "1.1.9 1.3.0 1.3"),
        (">=1.2 or so", "", "1.2.0 1.3.0"),
        ("^1.2", "1.2.0 1.9.9", "1.1.9 2.0.0"),
        ("^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0 1.0.0"),
        ("~1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0"),
        ("1.*", "1.0.0 1.9.0", "2.0.0"),
        ("1.x || 3.x", "1.0.0 3.1.0", "2.0.0"),
        ("x.x", "", "1.0.0"),
        ("", "", "1.0.0"),
    ],
)
def test_versions(db: str, supported: str, accepted: str, refused: str) -> None:
    registry = AgentRegistry(db, supported)
    for version in accepted.split():
        assert registry.handshake("a", {}, f" {version} ").accepted, version
    for version in refused.split():
        assert registry.handshake("a", {}, version).reason == "VERSION_MISMATCH", version


def test_unknown_agents(registry: AgentRegistry) -> None:
    assert registry.get_agent_contract("x") is None
    assert registry.get_agent_projection("x") is None
    assert registry.get_agent_priority("x") == 0
    assert registry.get_agent_status("x") is None
    assert registry.get_schema("x") is None
    assert registry.set_agent_status("x", "SUSPENDED") is False


def test_schemas(registry: AgentRegistry) -> None:
    registry.handshake("a", {"schema": {"type": "object"}, "schemas": {"p": {"x": 1}}}, "1.0")
    assert registry.get_schema("a") == {"type": "object"}
    assert registry.get_schema("a", "p") == {"x": 1}
    assert registry.get_schema("a", "q") == {"type": "object"}
    registry.handshake("b", {}, "1.0")
    assert registry.get_schema("b") is None


def test_the_old_way_warns(registry: AgentRegistry) -> None:
    with pytest.deprecated_call():
        assert registry.register_agent("a", CONTRACT, priority=3) is None  # type: ignore[func-returns-value]
    assert registry.get_agent_priority("a") == 3


def test_statuses(registry: AgentRegistry) -> None:
    registry.handshake("a", CONTRACT, "1.0")
    registry.handshake("b", CONTRACT, "1.0")
    assert registry.set_agent_status("a", AgentRegistryStatus.SUSPENDED, "DRIFT") is True
    assert registry.get_agent_status("a") == ("SUSPENDED", "DRIFT")
    assert registry.list_agents() == ["b"]
    assert registry.set_agent_status("a", "RETIRED") is True
    assert registry.set_agent_status("a", AgentRegistryStatus.ACTIVE) is True
    assert registry.get_agent_status("a") == ("ACTIVE", None)


def test_projections(registry: AgentRegistry) -> None:
    nameless = registry.register_projection(RuntimeContractProjection(), "1.0")
    assert (nameless.accepted, nameless.reason) == (False, "MISSING_AGENT_ID")
    projection = RuntimeContractProjection(agent_id="a", allowed_policy_types=["HOLD"])
    assert registry.register_projection(projection, "1.0.0", 4).accepted
    stored = registry.get_agent_projection("a")
    assert stored is not None
    assert [rule.id for rule in stored.invariants] == ["INV_ALLOWED_POLICY_TYPES"]


def test_a_handshake_never_lifts(registry: AgentRegistry) -> None:
    registry.handshake("a", CONTRACT, "1.0")
    registry.set_agent_status("a", "SUSPENDED", "DRIFT")
    assert registry.handshake("a", CONTRACT, "1.1").accepted
    assert registry.get_agent_status("a") == ("SUSPENDED", "DRIFT")
    with pytest.deprecated_call():
        registry.register_agent("a", CONTRACT)
    assert registry.get_agent_status("a") == ("SUSPENDED", "DRIFT")


@pytest.mark.parametrize(
    "after",
    [
        wider(allowed_policy_types=["BUY", "SELL"]),
        wider(allowed_policy_types=[]),
        wider(limits={"max_order_size": 101}),
        wider(limits={}),
        {"authority": {"limits": {"max_order_size": 100}}},
        {**CONTRACT, "safety_rules": {"min_confidence_threshold": 0.4}},
    ],
)
def test_a_handshake_never_widens(registry: AgentRegistry, after: dict[str, Any]) -> None:
    before = {**CONTRACT, "safety_rules": {"min_confidence_threshold": 0.5}}
    registry.handshake("a", before, "1.0")
    refused = registry.handshake("a", after, "1.0")
    assert (refused.accepted, refused.reason) == (False, "CONTRACT_WIDENED")
    assert registry.get_agent_contract("a") == before


@pytest.mark.parametrize(
    "after",
    [
        wider(limits={"max_order_size": 99}),
        {**CONTRACT, "schema": {"type": "object"}},
        {**CONTRACT, "safety_rules": {"min_confidence_threshold": 0.4}},
        wider(exclusions={"prohibited_industries": ["x"]}),
        {},
    ],
)
def test_a_handshake_may_narrow(registry: AgentRegistry, after: dict[str, Any]) -> None:
    registry.handshake("a", CONTRACT, "1.0")
    assert registry.handshake("a", after, "1.0").accepted
    assert registry.get_agent_contract("a") == after


def test_an_operator_may_widen_without_lifting(registry: AgentRegistry) -> None:
    registry.handshake("a", CONTRACT, "1.0", priority=2)
    registry.set_agent_status("a", "SUSPENDED", "DRIFT")
    more = wider(limits={"max_order_size": 1000})
    assert registry.replace_contract("a", more, actor_id="ann").accepted
    assert registry.get_agent_contract("a") == more
    assert registry.get_agent_status("a") == ("SUSPENDED", "DRIFT")
    assert registry.get_agent_priority("a") == 2
    assert registry.replace_contract("x", more, actor_id="ann").reason == "AGENT_NOT_FOUND"


def test_a_handshake_resets_nothing(bundle: StorageBundle) -> None:
    runtime = DecisionRuntime(bundle, max_escalations_per_hour=1)
    runtime.register_agent("a", CONTRACT, "1.0.0")
    runtime.context_store.update_state("a", {"seen": 1})
    one = PolicyProposal(dfid="d", agent_id="a", policy_kind="BUY", params={"order_value": 500})

    def ask() -> EscalationOutcome:
        return runtime.escalation.request_escalation("d", "a", "r", {}, one, ImpactCategory.LOW_IMPACT)

    assert ask() == EscalationOutcome.GRANTED
    assert ask() == EscalationOutcome.BUDGET_EXHAUSTED
    runtime.registry.set_agent_status("a", "SUSPENDED", "DRIFT")
    assert not runtime.register_agent("a", wider(limits={"max_order_size": 1000}), "1.0.0").accepted
    assert runtime.register_agent("a", CONTRACT, "1.0.0").accepted
    assert ask() == EscalationOutcome.BUDGET_EXHAUSTED
    assert runtime.context_store.get_state("a") == {"seen": 1}
    assert runtime.evaluate_proposal(one, {}) == ("REJECT", "AGENT_SUSPENDED")


def amendment(**changes: Any) -> ContractParameterAmendment:
    fields = {
        "agent_id": "a",
        "invariant_id": "INV_LIMIT_MAX_ORDER_SIZE",
        "patch": {"max": 50},
        "actor_id": "ann",
    }
    return ContractParameterAmendment(**{**fields, **changes})


def test_amendments(registry: AgentRegistry) -> None:
    assert registry.apply_parameter_amendment(amendment()).reason == "AGENT_NOT_FOUND"
    registry.handshake("a", CONTRACT, "1.0", priority=5)
    assert registry.apply_parameter_amendment(amendment(invariant_id="X")).reason == "INVARIANT_NOT_FOUND"
    refused = registry.apply_parameter_amendment(amendment(patch={"max": 101}))
    assert (refused.accepted, refused.reason) == (False, "PATCH_EXCEEDS_MAX_CEILING")
    for nothing in (None, math.nan):
        assert not registry.apply_parameter_amendment(amendment(patch={"max": nothing})).accepted
    done = registry.apply_parameter_amendment(amendment())
    assert (done.accepted, done.reason) == (True, None)
    assert done.projection is not None
    assert [one.patch for one in done.projection.parameter_amendments] == [{"max": 50}]
    assert registry.get_agent_projection("a") == done.projection
    assert registry.get_agent_priority("a") == 5
    registry.apply_parameter_amendment(amendment(patch={"max": 40}))
    stored = registry.get_agent_contract("a")
    assert stored is not None and len(stored["parameter_amendments"]) == 2


def test_an_amendment_never_reactivates(registry: AgentRegistry) -> None:
    registry.handshake("a", CONTRACT, "1.0")
    registry.set_agent_status("a", "SUSPENDED", "DRIFT")
    assert registry.apply_parameter_amendment(amendment()).accepted
    assert registry.get_agent_status("a") == ("SUSPENDED", "DRIFT")


def test_an_amendment_keeps_the_confidence_threshold(bundle: StorageBundle) -> None:
    runtime = DecisionRuntime(bundle)
    contract = {**CONTRACT, "safety_rules": {"min_confidence_threshold": 0.9}}
    runtime.register_agent("a", contract, "1.0")
    assert runtime.apply_parameter_amendment(amendment()).accepted
    one = PolicyProposal(dfid="d", agent_id="a", policy_kind="BUY", params={"order_value": 1}, confidence=0.5)
    assert "below threshold (0.9)" in runtime.evaluate_proposal(one, {})[1]


def test_a_handshake_keeps_amendments(registry: AgentRegistry) -> None:
    registry.handshake("a", {**CONTRACT, "schema": {"s": 1}}, "1.0")
    registry.apply_parameter_amendment(amendment())
    amended = registry.get_agent_contract("a")
    assert registry.handshake("a", {**CONTRACT, "schema": {"s": 1}}, "1.1").accepted
    assert registry.get_agent_contract("a") == amended
    assert registry.get_schema("a") == {"s": 1}
    assert registry.handshake("a", wider(limits={"max_order_size": 45}), "1.1").accepted
    stored = registry.get_agent_projection("a")
    assert stored is not None and stored.parameter_amendments == []


def test_an_agent_brings_no_amendments(registry: AgentRegistry) -> None:
    rule = {"id": "L", "type": "range", "field": "params.x", "max": 10, "runtime_amendable": True}
    dump = RuntimeContractProjection(agent_id="a", invariants=[rule]).model_dump(mode="json")
    registry.handshake("a", dump, "1.0")
    own = amendment(invariant_id="L", patch={"max": 1000}).model_dump(mode="json")
    wide = registry.handshake("a", {**dump, "parameter_amendments": [own]}, "1.0")
    assert wide.reason == "CONTRACT_WIDENED"


def test_strict_registry(registry: AgentRegistry) -> None:
    with strict(people=["ann"]):
        with pytest.raises(ValueError, match="no field hard_stop"):
            registry.handshake("a", {**CONTRACT, "hard_stop": True}, "1.0")
        registry.handshake("a", CONTRACT, "1.0")
        assert registry.apply_parameter_amendment(amendment(actor_id="bob")).reason == "ACTOR_UNKNOWN"
        assert registry.apply_parameter_amendment(amendment()).accepted
        assert registry.replace_contract("a", {}, actor_id="bob").reason == "ACTOR_UNKNOWN"
        registry.set_agent_status("a", "RETIRED")
        with pytest.raises(ValueError, match="RETIRED"):
            registry.set_agent_status("a", "ACTIVE")
    assert registry.set_agent_status("a", "ACTIVE")


def test_a_state_needs_no_registered_agent(db: str) -> None:
    store = ContextStore(db)
    store.update_state("nobody", {"k": 1})
    assert store.get_state("nobody") == {"k": 1}
    assert AgentRegistry(db).get_agent_status("nobody") is None


def test_a_file_of_the_reference_is_taken_over(tmp_path: Path) -> None:
    file = tmp_path / "theirs.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            """
            CREATE TABLE agent_registry (agent_id TEXT PRIMARY KEY, contract JSON NOT NULL,
                priority INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT 'ACTIVE',
                agent_version TEXT, session_token TEXT, suspension_reason TEXT,
                registered_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
                updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
            INSERT INTO agent_registry (agent_id, contract) VALUES ('old', '{"caps": 1}');
            CREATE TABLE resource_locks (resource_id TEXT PRIMARY KEY, dfid TEXT NOT NULL,
                amount REAL NOT NULL DEFAULT 0,
                acquired_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, expires_at TIMESTAMP);
            CREATE INDEX idx_resource_locks_dfid ON resource_locks(dfid);
            INSERT INTO resource_locks (resource_id, dfid, amount) VALUES ('r', 'd', 40);
            """
        )
    bundle = sqlite_storage(file)
    assert bundle.agent_registry.get_agent("old")["contract"] == {"caps": 1}  # type: ignore[index]
    assert bundle.resource_lock.get_locked_amount("r", "x") == 40
    assert bundle.resource_lock.acquire_batch("e", {"r": 5}, 1.0)
    assert bundle.resource_lock.get_locked_amount("r", "x") == 45


def test_a_rule_may_lose_its_amendability(registry: AgentRegistry) -> None:
    def contract(**rule: Any) -> RuntimeContractProjection:
        fields = {"id": "L", "type": "range", "field": "params.x", "max": 10, **rule}
        return RuntimeContractProjection(agent_id="a", invariants=[InvariantSpec(**fields)])

    registry.register_projection(contract(runtime_amendable=True, max_ceiling=20), "1.0")
    assert registry.register_projection(contract(), "1.0").accepted
    reachable = contract(runtime_amendable=True, max_ceiling=20)
    assert registry.register_projection(reachable, "1.0").reason == "CONTRACT_WIDENED"
