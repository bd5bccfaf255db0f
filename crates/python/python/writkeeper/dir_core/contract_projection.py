"""Reading the reference's contracts: nested, flat, or already a projection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from .invariant_compile import (
    NOTED_LIMITS,
    compile_block,
    invariants_to_transaction_limits,
    limit_value,
)
from .models import (
    ContractReleaseRef,
    ResponsibilityContract,
    RuntimeContractProjection,
)

_FLAT_KEYS = frozenset({"allowed_policy_types", "authorized_instruments"})
_NEVER_LIMITS = _FLAT_KEYS | {"resource_scope", "invariants"}

# Everything that some part of this package reads in a contract.
KNOWN_KEYS = (
    frozenset(ContractReleaseRef.model_fields)
    | frozenset(RuntimeContractProjection.model_fields)
    | frozenset(
        {
            "kind",
            "metadata",
            "subject",
            "authority",
            "permissions",
            "responsibility",
            "governance",
            "safety_rules",
            "schema",
            "schemas",
            "version",
            "min_confidence_threshold",
            "authorized_instruments",
            "escalate_on_uncertainty",
            "escalation_triggers",
            "parent_agent_id",
            "wake_up_threshold_pct",
        }
    )
)


def as_mapping(contract: Mapping[str, Any] | BaseModel) -> Mapping[str, Any]:
    """A contract as a mapping; a model as its dump."""
    return contract.model_dump(mode="json") if isinstance(contract, BaseModel) else contract


def project_contract(
    contract: Mapping[str, Any] | ResponsibilityContract,
) -> RuntimeContractProjection:
    """The contract as rules."""
    contract = as_mapping(contract)
    if _is_projection(contract):
        return _read_projection(contract)
    return ensure_projection_invariants(_read_contract(contract))


def ensure_projection_invariants(
    projection: RuntimeContractProjection,
) -> RuntimeContractProjection:
    """The projection with rules for its lists, limits and conditions if it has no rules at all."""
    if projection.invariants:
        return projection
    block = {
        "allowed_policy_types": projection.allowed_policy_types,
        "resource_scope": projection.resource_scope,
        "limits": projection.transaction_limits,
    }
    rules = compile_block(block, projection.execution_conditions)
    if not rules:
        return projection
    limits = {**projection.transaction_limits, **invariants_to_transaction_limits(rules)}
    return projection.model_copy(update={"invariants": rules, "transaction_limits": limits})


def confidence_threshold(contract: Mapping[str, Any]) -> Any:
    """The least confidence that the contract's own safety rules ask for, or None."""
    rules = contract.get("safety_rules", contract.get("permissions", contract))
    return rules.get("min_confidence_threshold") if isinstance(rules, Mapping) else None


def import_notes(contract: Mapping[str, Any]) -> list[str]:
    """What reading this contract leaves out or adds, one sentence each."""
    authority = _authority(contract)
    limits = authority.get("limits") or authority
    notes = [
        f"{name} is a limit of the agent's whole conduct: noted, no rule on each proposal"
        for name in sorted(NOTED_LIMITS)
        if name in limits or name in contract
    ]
    if authority.get("authorized_instruments"):
        notes.append(
            "authorized_instruments counts: a proposal that names an instrument is held to it"
        )
    notes += [f"{key} is not known and has no effect" for key in unknown_keys(contract)]
    return notes


def unknown_keys(contract: Mapping[str, Any]) -> list[str]:
    """The top-level keys that nothing reads."""
    return sorted(
        str(key) for key in contract if key not in KNOWN_KEYS and not str(key).startswith("max_")
    )


def _is_projection(data: Mapping[str, Any]) -> bool:
    if "release" in data and ("invariants" in data or "transaction_limits" in data):
        return True
    return all(key in data for key in ("agent_id", "invariants", "allowed_policy_types"))


def _read_projection(data: Mapping[str, Any]) -> RuntimeContractProjection:
    fields = {
        key: value
        for key, value in data.items()
        if key in RuntimeContractProjection.model_fields and value is not None
    }
    if isinstance(fields.get("aggregate_policies"), Mapping):
        fields["aggregate_policies"] = []
    projection = RuntimeContractProjection.model_validate(fields)
    if projection.invariants and not projection.transaction_limits:
        limits = invariants_to_transaction_limits(projection.invariants)
        projection = projection.model_copy(update={"transaction_limits": limits})
    return ensure_projection_invariants(projection)


def _authority(data: Mapping[str, Any]) -> Mapping[str, Any]:
    block = data.get("authority") or data.get("permissions")
    if block:
        return dict(block)
    if not _FLAT_KEYS.intersection(data):
        return {}
    return {
        key: value
        for key, value in data.items()
        if key in _FLAT_KEYS or str(key).startswith("max_")
    }


def _read_contract(data: Mapping[str, Any]) -> RuntimeContractProjection:
    authority = _authority(data)
    subject = data.get("subject") or {}
    mission = data.get("mission", "")
    governed = (data.get("governance") or {}).get("aggregate_policies")
    rules = compile_block(authority, data.get("execution_conditions") or {})
    return RuntimeContractProjection(
        release=_release(data),
        agent_id=str(subject.get("agent_id", data.get("agent_id", ""))),
        role=subject.get("role", data.get("role", "EXECUTOR")),
        mission=str(mission.get("statement", "") if isinstance(mission, Mapping) else mission),
        allowed_policy_types=list(authority.get("allowed_policy_types") or []),
        resource_scope=dict(authority.get("resource_scope") or {}),
        transaction_limits={**_limits(authority), **invariants_to_transaction_limits(rules)},
        execution_conditions=dict(data.get("execution_conditions") or {}),
        evidence_requirements=_evidence(data.get("responsibility") or {}),
        escalation_policy=_escalation(data.get("responsibility") or {}),
        aggregate_policies=list(governed) if isinstance(governed, list) else [],
        invariants=rules,
    )


def _release(data: Mapping[str, Any]) -> ContractReleaseRef:
    metadata = data.get("metadata") or {}

    def text(key: str, default: str) -> str:
        return str(metadata.get(key, data.get(key, default)))

    return ContractReleaseRef(
        contract_id=text("contract_id", "legacy"),
        contract_version=text("version", "0.0.0"),
        api_version=text("api_version", "legacy"),
        contract_hash=text("contract_hash", ""),
    )


def _limits(authority: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    limits = {}
    for key, raw in (authority.get("limits") or authority).items():
        if key in _NEVER_LIMITS or limit_value(raw) is None:
            continue
        limits[str(key)] = dict(raw) if isinstance(raw, Mapping) else {"value": float(raw)}
    return limits


def _evidence(responsibility: Mapping[str, Any]) -> dict[str, Any]:
    evidence = dict(responsibility.get("evidence") or {})
    if not evidence and "evidence_level" in responsibility:
        return {"level": responsibility["evidence_level"]}
    return evidence


def _escalation(responsibility: Mapping[str, Any]) -> dict[str, Any]:
    written = responsibility.get("escalation")
    if isinstance(written, Mapping) and written:
        return dict(written)
    policy: dict[str, Any] = {}
    if "escalation" in responsibility:
        policy["mode"] = written
    if "escalate_on_uncertainty" in responsibility:
        policy["confidence_below"] = responsibility["escalate_on_uncertainty"]
    return policy
