"""validate_proposal: the order of its checks, its sentences, the faults that are mended."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from writkeeper.dir_core import (
    DimReasonCode,
    IntentRetryGovernor,
    InvariantSpec,
    PolicyProposal,
    RuntimeContractProjection,
    ValidationVerdict,
    project_contract,
    strict,
    validate_proposal,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=timezone.utc)
CONTRACT = {"permissions": {"allowed_policy_types": ["TRADE"]}}


def proposal(**fields: Any) -> PolicyProposal:
    return PolicyProposal(**{"dfid": "d", "agent_id": "a", "policy_kind": "TRADE", **fields})


def judged(one: PolicyProposal, context: dict | None = None, **more: Any) -> tuple[str, str]:
    verdict, reason = validate_proposal(one, {} if context is None else context, **more)
    assert isinstance(verdict, ValidationVerdict)
    return str(verdict), str(reason)


PASSED = ("ACCEPT", "VALIDATION_PASSED")


def test_without_a_contract_or_an_action_list_it_is_accepted() -> None:
    assert validate_proposal(proposal(), {}) == (
        ValidationVerdict.ACCEPT,
        DimReasonCode.VALIDATION_PASSED,
    )
    assert judged(proposal(), contract={}) == PASSED
    assert judged(proposal(), contract={"safety_rules": {"min_confidence_threshold": 0.8}}) == PASSED


@pytest.mark.parametrize(
    ("fields", "more", "reason"),
    [
        ({"policy_kind": ""}, {}, "Missing policy_kind"),
        ({"agent_id": ""}, {}, "Missing agent_id"),
        ({"valid_until": NOW - timedelta(seconds=1)}, {}, "TTL_EXPIRED"),
        ({}, {"allowed_agents": ["b"]}, "Agent 'a' not authorized (RBAC)"),
        ({}, {"allowed_agents": []}, "Agent 'a' not authorized (RBAC)"),
        ({"policy_kind": "X"}, {"contract": CONTRACT}, "UNAUTHORIZED_POLICY_TYPE"),
        (
            {"confidence": 0.7},
            {"contract": {"safety_rules": {"min_confidence_threshold": 0.8}}},
            "Proposal confidence (0.7) is below threshold (0.8)",
        ),
        (
            {"confidence": 0.7},
            {"contract": {"permissions": {"min_confidence_threshold": 0.8}}},
            "Proposal confidence (0.7) is below threshold (0.8)",
        ),
        (
            {"confidence": 0.7},
            {"contract": {"allowed_policy_types": ["TRADE"], "min_confidence_threshold": 0.8}},
            "Proposal confidence (0.7) is below threshold (0.8)",
        ),
        (
            {"confidence": 0.5},
            {"contract": {**CONTRACT, "responsibility": {"escalate_on_uncertainty": 0.6}}},
            "Proposal confidence (0.5) is below threshold (0.6)",
        ),
        ({}, {"custom_validators": [lambda p, c, k: "no"]}, "Custom validation failed: no"),
    ],
)
def test_sentences(fields: dict, more: dict, reason: str) -> None:
    assert judged(proposal(**fields), now=NOW, **more) == ("REJECT", reason)


def test_the_first_check_that_fails_gives_the_reason() -> None:
    everything = {
        "allowed_agents": ["b"],
        "contract": CONTRACT,
        "custom_validators": [lambda p, c, k: "no"],
        "now": NOW,
    }
    one = proposal(policy_kind="deploy_to_production", valid_until=NOW - timedelta(days=1))
    context = {"state": {"risk_score": 0.9}}
    assert judged(one, context, **everything)[1] == "TTL_EXPIRED"
    one.valid_until = None
    assert judged(one, context, **everything)[1] == "Agent 'a' not authorized (RBAC)"
    everything["allowed_agents"] = ["a"]
    assert judged(one, context, **everything)[1] == "UNAUTHORIZED_POLICY_TYPE"
    del everything["contract"]
    assert judged(one, context, **everything)[1] == "Risk score 0.9 too high for deployment"
    assert judged(one, {}, **everything)[1] == "Custom validation failed: no"


def test_the_risk_limit_itself_passes() -> None:
    one = proposal(policy_kind="deploy_to_production")
    assert judged(one, {"state": {"risk_score": 0.8}}) == PASSED
    assert judged(one, {"state": {"risk_score": float("nan")}})[0] == "REJECT"
    assert judged(one, {"state": {"risk_score": "high"}})[0] == "REJECT"
    assert judged(one, {"state": None}) == PASSED
    assert judged(proposal(), {"state": {"risk_score": 0.95}}) == PASSED


def test_time_to_live() -> None:
    assert judged(proposal(valid_until=NOW), now=NOW) == PASSED
    window = proposal(created_at=NOW, execution_constraints={"validity_window_sec": 30})
    assert judged(window, now=NOW + timedelta(seconds=30)) == PASSED
    assert judged(window, now=NOW + timedelta(seconds=31))[1] == "TTL_EXPIRED"
    both = proposal(
        created_at=NOW,
        valid_until=NOW + timedelta(seconds=60),
        execution_constraints={"validity_window_sec": 1},
    )
    assert judged(both, now=NOW + timedelta(seconds=50)) == PASSED


@pytest.mark.parametrize("window", ["soon", float("nan"), [1]])
def test_a_window_that_is_no_number_has_expired(window: Any) -> None:
    one = proposal(execution_constraints={"validity_window_sec": window})
    assert judged(one)[1] == "TTL_EXPIRED"


def test_times_without_a_zone_are_utc() -> None:
    naive = NOW.replace(tzinfo=None)
    assert judged(proposal(valid_until=naive - timedelta(seconds=1)), now=NOW)[1] == "TTL_EXPIRED"
    assert judged(proposal(valid_until=naive + timedelta(seconds=1)), now=NOW) == PASSED
    assert judged(proposal(valid_until=NOW + timedelta(seconds=1)), now=naive) == PASSED
    window = proposal(created_at=naive, execution_constraints={"validity_window_sec": 5})
    assert judged(window, now=NOW + timedelta(seconds=6))[1] == "TTL_EXPIRED"


def test_every_failed_rule_is_named_and_written_into_the_context() -> None:
    projection = RuntimeContractProjection(
        agent_id="a",
        invariants=[
            InvariantSpec(id="T", type="set", field="params.t", denied=["x"], reason_code="NO_T"),
            InvariantSpec(id="M", type="range", field="params.m", max=1, reason_code="TOO_MUCH"),
        ],
    )
    context: dict[str, Any] = {}
    one = proposal(params={"t": "X", "m": 2})
    assert judged(one, context, contract=projection) == ("REJECT", "NO_T;TOO_MUCH")
    assert context["_dim_audit"] == {
        "failed_invariant_id": "T",
        "failures": [
            {"invariant_id": "T", "reason": "NO_T"},
            {"invariant_id": "M", "reason": "TOO_MUCH"},
        ],
    }
    assert judged(proposal(params={"t": "y", "m": 1}), context, contract=projection) == PASSED
    assert "_dim_audit" not in context


def test_a_single_code_equals_its_enum() -> None:
    contract = project_contract({"authority": {"limits": {"max_order_size": 10}}})
    over = validate_proposal(proposal(params={"order_value": 11}), {}, contract=contract)
    assert over == (ValidationVerdict.REJECT, DimReasonCode.CONTRACT_LIMIT_EXCEEDED)
    none = validate_proposal(proposal(), {}, contract=contract)
    assert none == (ValidationVerdict.REJECT, DimReasonCode.CONTRACT_PARAMETER_MISSING)


@pytest.mark.parametrize("value", [float("nan"), "nan", "1e1", True, -1e12, float("inf")])
def test_what_slips_past_comparison_is_refused(value: Any) -> None:
    contract = {"authority": {"allowed_policy_types": ["TRADE"], "limits": {"max_order_size": 100}}}
    assert judged(proposal(params={"order_value": value}), contract=contract)[0] == "REJECT"


def test_validators_see_the_contract_and_run_in_order() -> None:
    seen = []

    def look(one: PolicyProposal, context: dict, contract: dict) -> None:
        seen.append((one.dfid, context, contract))

    def object_(one: PolicyProposal, context: dict, contract: dict) -> str:
        return "second"

    def never(one: PolicyProposal, context: dict, contract: dict) -> str:
        raise AssertionError("the second one has objected")

    context = {"k": 1}
    verdict = judged(proposal(), context, contract=CONTRACT, custom_validators=[look, object_, never])
    assert verdict == ("REJECT", "Custom validation failed: second")
    assert seen == [("d", context, CONTRACT)]
    validate_proposal(proposal(), {}, contract=project_contract(CONTRACT), custom_validators=[look])
    assert seen[1][2]["allowed_policy_types"] == ["TRADE"]
    validate_proposal(proposal(), {}, custom_validators=[look])
    assert seen[2][2] == {}


def test_rejections_are_counted_and_the_fourth_is_exhaustion() -> None:
    governor = IntentRetryGovernor()
    for _ in range(3):
        assert judged(proposal(policy_kind="X"), contract=CONTRACT, retry_governor=governor) == (
            "REJECT",
            "UNAUTHORIZED_POLICY_TYPE",
        )
    assert judged(proposal(), contract=CONTRACT, retry_governor=governor) == (
        "REJECT",
        "REASONING_EXHAUSTION",
    )
    assert governor.record_rejection("d") == 4
    assert judged(proposal(dfid="other"), contract=CONTRACT, retry_governor=governor) == PASSED


def test_strict_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    with strict():
        assert judged(proposal()) == ("REJECT", "No contract for agent 'a'")
        assert judged(proposal(), contract={})[0] == "REJECT"
        assert judged(proposal(), contract={"safety_rules": {"min_confidence_threshold": 0.1}})[0] == "REJECT"
        assert judged(proposal(), contract=CONTRACT) == PASSED
        with pytest.raises(ValueError, match="no field reasoning"):
            proposal(reasoning="because")
        flat = {"allowed_policy_types": ["TRADE"], "authorized_instruments": ["BTC"]}
        assert judged(proposal(), contract=flat)[1] == "CONTRACT_PARAMETER_MISSING"
    assert judged(proposal()) == PASSED
    monkeypatch.setenv("WRITKEEPER_DIR_STRICT", "1")
    assert judged(proposal())[0] == "REJECT"
    with strict(False):
        assert judged(proposal()) == PASSED
    monkeypatch.setenv("WRITKEEPER_DIR_STRICT", "0")
    assert judged(proposal()) == PASSED
