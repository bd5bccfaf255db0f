"""The runtime."""

from datetime import datetime, timezone
from typing import Any

import pytest

from writkeeper.dir_core import (
    ContractParameterAmendment,
    DecisionRuntime,
    IntentRetryGovernor,
    PolicyProposal,
    StorageBundle,
)

CONTRACT: dict[str, Any] = {
    "permissions": {"allowed_policy_types": ["HOLD"]},
    "safety_rules": {"min_confidence_threshold": 0.5},
}


def proposal(**fields: Any) -> PolicyProposal:
    return PolicyProposal(**{"dfid": "d", "agent_id": "a", "policy_kind": "HOLD", **fields})


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
        "failures": [{"invariant_id": "INV_ALLOWED_POLICY_TYPES", "reason": "UNAUTHORIZED_POLICY_TYPE"}],
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
