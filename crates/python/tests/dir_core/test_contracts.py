"""Reading contracts, compiling rules, evaluating them, amending them."""

import math
import random
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from writkeeper.dir_core import (
    ContractParameterAmendment,
    InvariantSpec,
    PolicyProposal,
    ResponsibilityContract,
    RuntimeContractProjection,
    evaluate_invariants,
    project_contract,
    validate_amendment_patch,
    validate_proposal,
)
from writkeeper.dir_core.amendments import (
    effective_invariants,
    projection_with_effective_invariants,
    resolve_expires_at,
)
from writkeeper.dir_core.contract_projection import ensure_projection_invariants, import_notes
from writkeeper.dir_core.invariant_compile import (
    LIMIT_TO_PARAM_FIELD,
    compile_authority_invariants,
    compile_sugar_invariants,
    invariants_to_transaction_limits,
)
from writkeeper.dir_core.invariants import (
    InvariantEvaluationFailure,
    evaluate_range_rule,
    evaluate_set_rule,
    evaluate_state_match_rule,
    get_nested_value,
)

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def proposal(kind: str = "TRADE", **params: Any) -> PolicyProposal:
    return PolicyProposal(dfid="d", agent_id="a", policy_kind=kind, params=params)


def ids(rules: list[InvariantSpec]) -> list[str]:
    return [rule.id for rule in rules]


def test_every_short_form_becomes_a_rule() -> None:
    rules = compile_sugar_invariants(
        {
            "allowed_policy_types": ["BUY"],
            "resource_scope": {"instruments": ["BTC"]},
            "limits": {"max_order_size_usd": {"value": 500, "unit": "USD"}, "daily_count": 3},
            "exclusions": {"prohibited_industries": ["Fireworks"]},
        },
        {"max_price_slippage": 0.5},
    )
    shown = [(r.id, r.type, r.field, r.reason_code) for r in rules]
    assert shown == [
        ("INV_ALLOWED_POLICY_TYPES", "set", "policy_kind", "UNAUTHORIZED_POLICY_TYPE"),
        ("INV_INSTRUMENT_SCOPE", "set", "params.instrument", "UNAUTHORIZED_INSTRUMENT"),
        ("INV_LIMIT_MAX_ORDER_SIZE_USD", "range", "params.order_value", "CONTRACT_LIMIT_EXCEEDED"),
        ("INV_LIMIT_DAILY_COUNT", "range", "params.daily_count", "CONTRACT_LIMIT_EXCEEDED"),
        ("INV_PROHIBITED_INDUSTRIES", "set", "params.industry", "PROHIBITED_INDUSTRY"),
        ("INV_PRICE_SLIPPAGE", "state_match", "params.reference_price", "STALE_PRICE_CONTEXT"),
    ]
    limit = rules[2]
    assert (limit.max, limit.min_floor, limit.max_ceiling) == (500.0, 0.0, 500.0)
    assert limit.runtime_amendable
    assert (rules[5].snapshot_path, rules[5].drift_envelope_pct) == ("state.price", 0.5)


@pytest.mark.parametrize(
    ("key", "field"),
    [*LIMIT_TO_PARAM_FIELD.items(), ("max_refund", "params.refund"), ("max_max_x", "params.max_x")],
)
def test_limits_know_their_fields(key: str, field: str) -> None:
    [rule] = compile_sugar_invariants({key: 10})
    assert (rule.id, rule.field) == (f"INV_LIMIT_{key.upper()}", field)


def test_what_is_no_number_is_no_limit() -> None:
    assert compile_sugar_invariants({"max_a": True, "max_b": "ten", "max_ceiling": 5}) == []


def test_written_rules_win_by_id_and_by_place() -> None:
    written = {"id": "MINE", "type": "set", "field": "policy_kind", "allowed": ["A"]}
    same_id = {"id": "INV_LIMIT_MAX_X", "type": "range", "field": "params.y", "max": 1}
    rules = compile_authority_invariants(
        {
            "authority": {
                "invariants": [written, same_id],
                "allowed_policy_types": ["B"],
                "limits": {"max_x": 5, "max_z": 6},
            }
        }
    )
    assert ids(rules) == ["MINE", "INV_LIMIT_MAX_X", "INV_LIMIT_MAX_Z"]
    with pytest.raises(ValueError):
        compile_authority_invariants({"authority": {"invariants": ["nonsense"]}})


def test_limits_view() -> None:
    rules = [
        InvariantSpec(id="INV_LIMIT_MAX_X", type="range", field="params.x", max=5, min=1),
        InvariantSpec(id="OTHER", type="range", field="confidence", max=1),
        InvariantSpec(id="LOW", type="range", field="params.x", min=1),
    ]
    assert invariants_to_transaction_limits(rules) == {
        "max_x": {"value": 5.0, "metric": "x", "min": 1.0},
        "OTHER": {"value": 1.0, "metric": "confidence"},
    }


def test_a_nested_contract() -> None:
    projection = project_contract(
        {
            "metadata": {"contract_id": "c", "version": "1.2.0", "api_version": "v1"},
            "subject": {"agent_id": "bot", "role": "MONITOR"},
            "mission": {"statement": "watch"},
            "authority": {"allowed_policy_types": ["HOLD"], "limits": {"max_order_size": 5}},
            "responsibility": {"evidence_level": 2, "escalate_on_uncertainty": 0.6},
            "governance": {"aggregate_policies": [{"id": "g"}]},
        }
    )
    assert projection.release.model_dump() == {
        "contract_id": "c",
        "contract_version": "1.2.0",
        "api_version": "v1",
        "contract_hash": "",
    }
    assert (projection.agent_id, projection.role, projection.mission) == ("bot", "MONITOR", "watch")
    assert projection.evidence_requirements == {"level": 2}
    assert projection.escalation_policy == {"confidence_below": 0.6}
    assert projection.aggregate_policies == [{"id": "g"}]
    assert projection.transaction_limits == {"max_order_size": {"value": 5.0, "metric": "order_value"}}
    assert ids(projection.invariants) == ["INV_ALLOWED_POLICY_TYPES", "INV_LIMIT_MAX_ORDER_SIZE"]


def test_the_escalation_block() -> None:
    def policy(**responsibility: Any) -> dict[str, Any]:
        return project_contract({"responsibility": responsibility}).escalation_policy

    assert policy(escalation={"confidence_below": 0.5}) == {"confidence_below": 0.5}
    assert policy(escalation="human") == {"mode": "human"}
    assert project_contract({"escalate_on_uncertainty": 0.9}).escalation_policy == {}


def test_a_flat_contract_and_its_two_deviations() -> None:
    contract = {
        "agent_id": "bot",
        "allowed_policy_types": ["BUY"],
        "authorized_instruments": ["BTC"],
        "max_order_size": 100,
        "max_drawdown_limit": 0.05,
    }
    projection = project_contract(contract)
    assert ids(projection.invariants) == [
        "INV_ALLOWED_POLICY_TYPES",
        "INV_INSTRUMENT_SCOPE",
        "INV_LIMIT_MAX_ORDER_SIZE",
    ]

    def reason(**params: Any) -> str:
        return str(validate_proposal(proposal("BUY", **params), {}, contract=contract)[1])

    assert reason(order_value=1, instrument="BTC") == "VALIDATION_PASSED"
    assert reason(order_value=1, instrument="DOGE") == "UNAUTHORIZED_INSTRUMENT"
    assert reason(order_value=1) == "VALIDATION_PASSED"
    notes = import_notes(contract)
    assert any("max_drawdown_limit" in note for note in notes)
    assert any("authorized_instruments" in note for note in notes)
    assert import_notes({"hard_stop": 1}) == ["hard_stop is not known and has no effect"]


def test_a_dumped_responsibility_contract_is_usable() -> None:
    model = ResponsibilityContract(agent_id="a", allowed_policy_types=["TRADE"])
    assert validate_proposal(proposal(), {}, contract=model)[0] == "ACCEPT"
    assert validate_proposal(proposal("OTHER"), {}, contract=model)[0] == "REJECT"
    contract = model.model_dump()
    assert validate_proposal(proposal(), {}, contract=contract)[0] == "ACCEPT"
    assert validate_proposal(proposal("OTHER"), {}, contract=contract)[1] == "UNAUTHORIZED_POLICY_TYPE"


def test_a_projection_survives_its_dump() -> None:
    projection = project_contract(
        {"subject": {"agent_id": "a"}, "authority": {"limits": {"max_order_size": 5}}}
    )
    assert project_contract(projection.model_dump(mode="json")) == projection
    assert project_contract({"agent_id": "a", "invariants": [], "allowed_policy_types": ["HOLD"]}).invariants[
        0
    ].allowed == ["HOLD"]


def test_rules_are_backfilled() -> None:
    bare = RuntimeContractProjection(agent_id="a", transaction_limits={"max_order_size": {"value": 5}})
    assert ids(ensure_projection_invariants(bare).invariants) == ["INV_LIMIT_MAX_ORDER_SIZE"]
    empty = RuntimeContractProjection(agent_id="a")
    assert ensure_projection_invariants(empty).invariants == []


def test_paths_walk_attributes_and_keys() -> None:
    one = proposal(a={"b": 3})
    assert get_nested_value(one, "params.a.b") == 3
    assert get_nested_value(one, "policy_kind") == "TRADE"
    assert get_nested_value(one, "params.a.b.c") is None
    assert get_nested_value(one, "nothing.at.all") is None


MISSING = "CONTRACT_PARAMETER_MISSING"
NOT_A_NUMBER = "Invalid numeric field for invariant R"


@pytest.mark.parametrize(
    ("bounds", "value", "reason"),
    [
        ({"max": 100}, 100, None),
        ({"max": 100}, 0, None),
        ({"max": 100}, Decimal("99.5"), None),
        ({"max": 100}, 100.01, "LIMIT"),
        ({"max": 100}, None, MISSING),
        ({"max": 100}, "many", NOT_A_NUMBER),
        ({"max": 100}, math.nan, NOT_A_NUMBER),
        ({"max": 100}, "nan", NOT_A_NUMBER),
        ({"max": 100}, "1e1", NOT_A_NUMBER),
        ({"max": 100}, True, NOT_A_NUMBER),
        ({"max": 100}, [1], NOT_A_NUMBER),
        ({"max": 100}, -1e12, "LIMIT"),
        ({"max": 100}, -1, "LIMIT"),
        ({"max": 100, "min": -5}, -5, None),
        ({"max": 100, "min": -5}, -6, "LIMIT"),
        ({"max": -1}, -2, None),
        ({"min": 10}, 10, None),
        ({"min": 10}, 9, "LIMIT"),
        ({"min": 10}, math.inf, NOT_A_NUMBER),
        ({"max": 100}, 0.1 + 0.2 - 0.3, None),
        ({"max": 100}, 5e-324, None),
        ({"max": 100}, -5e-324, "LIMIT"),
        ({"max": 100}, Decimal("99.999999999999999999999"), None),
        ({"max": 100}, Decimal("100.00000000000000000001"), "LIMIT"),
        ({"max": 100}, 1e300, "LIMIT"),
        ({"max": 100}, 10**100, "LIMIT"),
        ({"min": 10}, 1e300, None),
        ({"max": 1e300}, 1e300, None),
        ({"max": 1e300}, math.nextafter(1e300, math.inf), "LIMIT"),
        ({"min": 1e-40, "max": 1e40}, 1e-40, None),
        ({"min": 1e-40, "max": 1e40}, 9e-41, "LIMIT"),
        ({"min": -1e40, "max": 1e-40}, -1e39, None),
    ],
)
def test_ranges(bounds: dict, value: Any, reason: str | None) -> None:
    rule = InvariantSpec(id="R", type="range", field="params.x", reason_code="LIMIT", **bounds)
    failure = evaluate_range_rule(rule, proposal(x=value))
    expected = None if reason is None else InvariantEvaluationFailure(reason, "R")
    assert failure == expected


@pytest.mark.parametrize(
    ("spec", "value", "reason"),
    [
        ({"allowed": ["A"]}, "A", None),
        ({"allowed": ["A"]}, "a", "SET"),
        ({"allowed": ["A"]}, None, MISSING),
        ({"denied": ["Syria"]}, "SYRIA", "SET"),
        ({"denied": ["Syria"]}, "in Syria", None),
        ({"denied": ["Syria"], "match": "substring"}, "Stock in SYRIA now", "SET"),
        ({"denied": [7]}, 7, "SET"),
        ({"denied": ["A"], "allowed": ["A", "B"]}, "A", "SET"),
        ({"denied": ["A"], "allowed": ["A", "B"]}, "B", None),
        ({}, "anything", None),
    ],
)
def test_sets(spec: dict, value: Any, reason: str | None) -> None:
    rule = InvariantSpec(id="S", type="set", field="params.x", reason_code="SET", **spec)
    failure = evaluate_set_rule(rule, proposal(x=value))
    assert failure == (None if reason is None else InvariantEvaluationFailure(reason, "S"))


@pytest.mark.parametrize(
    ("spec", "proposed", "live", "reason"),
    [
        ({"drift_envelope_pct": 1.0}, 101, 100, None),
        ({"drift_envelope_pct": 1.0}, 101.1, 100, "STALE"),
        ({"drift_envelope_pct": 1.0}, 1.0, 0, None),
        ({"drift_envelope_pct": 1.0}, 1.1, 0, "STALE"),
        ({"drift_envelope_pct": 1.0}, 100, None, MISSING),
        ({"drift_envelope_pct": 1.0}, None, 100, MISSING),
        ({"drift_envelope_pct": 1.0}, math.nan, 100, "STALE"),
        ({"drift_envelope_pct": 1.0}, 100, math.nan, "STALE"),
        ({}, 100, 100, None),
        ({}, 100, 101, "STALE"),
        ({}, "x", "x", None),
        ({}, "x", "y", "STALE"),
        ({"expected": "open"}, "open", "open", None),
        ({"expected": "open"}, "open", "closed", "STALE"),
        ({"expected": "open"}, "closed", "closed", "STALE"),
    ],
)
def test_state_matches(spec: dict, proposed: Any, live: Any, reason: str | None) -> None:
    rule = InvariantSpec(
        id="M",
        type="state_match",
        field="params.x",
        snapshot_path="state.price",
        reason_code="STALE",
        **spec,
    )
    expected = None if reason is None else InvariantEvaluationFailure(reason, "M")
    assert evaluate_state_match_rule(rule, proposal(x=proposed), {"state": {"price": live}}) == expected
    assert evaluate_state_match_rule(rule, proposal(x=proposed), {"price": live}) == expected


def test_a_state_match_without_a_path_is_invalid() -> None:
    rule = InvariantSpec(id="M", type="state_match", field="params.x")
    failure = evaluate_state_match_rule(rule, proposal(x=1), {})
    assert failure is not None
    assert failure.reason == "Invalid state_match invariant M: missing snapshot_path"


def test_floats_are_compared_as_they_are_written() -> None:
    """Against exact fractions: bounds and envelopes of many digits, values next to them."""
    numbers = random.Random(7)
    for _ in range(300):
        most = numbers.choice([numbers.uniform(0, 1e6), 10 ** numbers.uniform(-30, 30)])
        value = numbers.choice([most, most * numbers.uniform(0, 2), math.nextafter(most, numbers.choice([0, 1e99]))])
        rule = InvariantSpec(id="R", type="range", field="params.x", max=most)
        assert (evaluate_range_rule(rule, proposal(x=value)) is None) == (value <= most), (most, value)
        live, envelope = numbers.uniform(1, 1e5), numbers.uniform(0, 10)
        proposed = live * numbers.uniform(0.88, 1.12)
        match = InvariantSpec(
            id="M", type="state_match", field="params.x", snapshot_path="price", drift_envelope_pct=envelope
        )
        exactly = [Fraction(repr(number)) for number in (proposed, live, envelope)]
        is_near = abs(exactly[0] - exactly[1]) * 100 <= exactly[1] * exactly[2]
        failure = evaluate_state_match_rule(match, proposal(x=proposed), {"price": live})
        assert (failure is None) == is_near, (proposed, live, envelope)


def test_all_rules_run_and_kinds_are_respected() -> None:
    projection = RuntimeContractProjection(
        agent_id="a",
        invariants=[
            InvariantSpec(id="A", type="range", field="params.x", max=1, reason_code="RA"),
            InvariantSpec(id="B", type="range", field="params.x", max=1, applies_to_policy_kinds=["OTHER"]),
            InvariantSpec(id="C", type="set", field="params.y", allowed=["ok"], reason_code="RC"),
        ],
    )
    assert evaluate_invariants(proposal(x=2, y="no"), projection, {}) == [
        InvariantEvaluationFailure("RA", "A"),
        InvariantEvaluationFailure("RC", "C"),
    ]


def amendable(**changes: Any) -> InvariantSpec:
    fields = {
        "id": "L",
        "type": "range",
        "field": "params.x",
        "max": 1000,
        "runtime_amendable": True,
        "min_floor": 100,
        "max_ceiling": 2000,
    }
    return InvariantSpec(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "patch", "code"),
    [
        ({}, {"max": 1500}, None),
        ({}, {"max": 2000, "min": 100}, None),
        ({"runtime_amendable": False}, {}, "INVARIANT_NOT_AMENDABLE"),
        ({}, {}, "EMPTY_PATCH"),
        ({}, {"field": 1, "denied": []}, "DISALLOWED_PATCH_KEYS: ['denied', 'field']"),
        ({}, {"max": 2001}, "PATCH_EXCEEDS_MAX_CEILING"),
        ({}, {"max": 99}, "PATCH_BELOW_MIN_FLOOR"),
        ({}, {"min": 99}, "PATCH_BELOW_MIN_FLOOR"),
        ({}, {"min": 2001}, "PATCH_EXCEEDS_MAX_CEILING"),
        ({}, {"max": None}, "PATCH_VALUE_INVALID"),
        ({}, {"max": math.nan}, "PATCH_VALUE_INVALID"),
        ({}, {"max": math.inf}, "PATCH_VALUE_INVALID"),
        ({}, {"min": None}, "PATCH_VALUE_INVALID"),
        ({}, {"max": True}, "PATCH_VALUE_INVALID"),
        ({"type": "set", "allowed": ["a", "b"]}, {"allowed": ["a"]}, None),
        ({"type": "set", "allowed": ["a"]}, {"allowed": "a"}, "ALLOWED_PATCH_MUST_BE_LIST"),
        ({"type": "set", "allowed": ["a"]}, {"allowed": ["z"]}, "ALLOWED_PATCH_EXPANSION_FORBIDDEN"),
        ({"type": "set", "allowed": ["a"]}, {"allowed": []}, "ALLOWED_PATCH_EXPANSION_FORBIDDEN"),
        ({"type": "set"}, {"allowed": ["a"]}, "ALLOWED_PATCH_REQUIRES_SIGNED_BASE"),
        ({}, {"drift_envelope_pct": -1}, "DRIFT_ENVELOPE_NEGATIVE"),
        ({}, {"drift_envelope_pct": None}, "PATCH_VALUE_INVALID"),
        ({}, {"drift_envelope_pct": 2}, None),
        ({"amend_ttl_seconds": 0}, {"max": 500}, "INVALID_AMEND_TTL"),
    ],
)
def test_patches(changes: dict, patch: dict, code: str | None) -> None:
    assert validate_amendment_patch(amendable(**changes), patch, now=NOW) == code


def amendment(**changes: Any) -> ContractParameterAmendment:
    fields = {
        "agent_id": "a",
        "invariant_id": "L",
        "patch": {"max": 500},
        "actor_id": "ann",
        "created_at": NOW,
    }
    return ContractParameterAmendment(**{**fields, **changes})


def test_amendments_end() -> None:
    assert resolve_expires_at(amendment(), amendable()) is None
    timed = amendable(amend_ttl_seconds=60)
    assert resolve_expires_at(amendment(), timed) == NOW + timedelta(seconds=60)
    own = amendment(expires_at=NOW + timedelta(seconds=5))
    assert resolve_expires_at(own, timed) == NOW + timedelta(seconds=5)
    assert resolve_expires_at(amendment(expires_at=datetime(2026, 1, 2)), timed) == datetime(
        2026, 1, 2, tzinfo=timezone.utc
    )


def test_amendments_apply_in_order_until_they_end() -> None:
    projection = RuntimeContractProjection(
        agent_id="a",
        invariants=[amendable()],
        parameter_amendments=[
            amendment(patch={"max": 500}),
            amendment(patch={"max": 700}, expires_at=NOW + timedelta(seconds=10)),
            amendment(invariant_id="NOBODY"),
        ],
    )

    def limit(seconds: float) -> float | None:
        return effective_invariants(projection, now=NOW + timedelta(seconds=seconds))[0].max

    assert (limit(0), limit(9.9), limit(10)) == (700, 700, 500)
    disarmed = projection.model_copy(
        update={"parameter_amendments": [amendment(patch={"max": None}), amendment(patch={"max": math.nan})]}
    )
    assert effective_invariants(disarmed, now=NOW)[0].max == 1000
    current = projection_with_effective_invariants(projection, now=NOW)
    assert current.transaction_limits == {"L": {"value": 700.0, "metric": "x"}}
