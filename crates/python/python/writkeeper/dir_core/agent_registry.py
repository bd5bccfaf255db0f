"""Which agents there are, under which contracts, and whether they may act."""

from __future__ import annotations

import json
import logging
import uuid
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._backend import MISSING_BACKEND
from ._keyed import held
from ._mode import is_known_person, is_strict
from ._versions import is_supported
from ._width import widens
from .amendments import resolve_expires_at, validate_amendment_patch
from .contract_projection import (
    confidence_threshold,
    import_notes,
    project_contract,
    unknown_keys,
)
from .data_types import AgentRegistryStatus, HandshakeRejectionReason
from .models import ContractParameterAmendment, RuntimeContractProjection
from .storage.base import AgentRegistryStorage
from .storage.sqlite import AgentChange, SqliteAgentRegistryStorage

logger = logging.getLogger(__name__)

MISSING_AGENT_ID = "MISSING_AGENT_ID"
CONTRACT_WIDENED = "CONTRACT_WIDENED"
ACTOR_UNKNOWN = "ACTOR_UNKNOWN"


@dataclass
class HandshakeResult:
    """Whether an agent was admitted, with its token or the reason why not."""

    accepted: bool
    session_token: str | None = None
    reason: str | None = None


@dataclass
class AmendmentResult:
    """Whether an amendment was accepted, with the contract as it is now or the reason why not."""

    accepted: bool
    reason: str | None = None
    projection: RuntimeContractProjection | None = None


class AgentRegistry:
    """The registry. An agent registers itself; only people widen, suspend and reinstate it."""

    def __init__(
        self,
        db_path: str | Path | None = None,
        supported_versions: str = "1.x",
        *,
        storage: AgentRegistryStorage | None = None,
    ) -> None:
        self.supported_versions = supported_versions
        if storage is not None:
            self._storage: AgentRegistryStorage = storage
        elif db_path is not None:
            self.db_path = str(db_path)
            self._storage = SqliteAgentRegistryStorage(db_path)
        else:
            raise ValueError(MISSING_BACKEND)

    def handshake(
        self,
        agent_id: str,
        contract: dict[str, Any],
        agent_version: str,
        priority: int = 0,
    ) -> HandshakeResult:
        """Admit an agent, or refuse it with VERSION_MISMATCH or CONTRACT_WIDENED.

        An agent that is already known keeps its status and everything it owns. It may come back
        with the same or a narrower contract; a wider one takes `replace_contract`.
        """
        if not is_supported(agent_version, self.supported_versions):
            return HandshakeResult(False, reason=HandshakeRejectionReason.VERSION_MISMATCH.value)
        return self._register(agent_id, contract, priority, agent_version, str(uuid.uuid4()))

    def register_projection(
        self,
        projection: RuntimeContractProjection,
        agent_version: str,
        priority: int = 0,
    ) -> HandshakeResult:
        """Admit an agent under a contract that is already reduced to rules."""
        if not projection.agent_id:
            return HandshakeResult(False, reason=MISSING_AGENT_ID)
        dumped = projection.model_dump(mode="json")
        return self.handshake(projection.agent_id, dumped, agent_version, priority)

    def register_agent(self, agent_id: str, contract: dict[str, Any], priority: int = 0) -> None:
        """Admit an agent without version and token. Deprecated: use `handshake`."""
        warnings.warn(
            "register_agent is deprecated; use handshake, which checks the version",
            DeprecationWarning,
            stacklevel=2,
        )
        self._register(agent_id, contract, priority, None, None)

    def replace_contract(
        self, agent_id: str, contract: dict[str, Any], *, actor_id: str
    ) -> HandshakeResult:
        """An operator gives a known agent another contract, wider or not. Its status stays."""
        if is_strict() and not is_known_person(actor_id):
            return HandshakeResult(False, reason=ACTOR_UNKNOWN)
        result = HandshakeResult(False, reason="AGENT_NOT_FOUND")

        def decide(record: dict[str, Any] | None) -> AgentChange | None:
            nonlocal result
            if record is None:
                return None
            result = HandshakeResult(True, record["session_token"])
            return _with_contract(record, contract)

        self._change(agent_id, decide)
        logger.info("contract of %s replaced by %s", agent_id, actor_id)
        return result

    def get_schema(self, agent_id: str, schema_kind: str | None = None) -> Any:
        """The schema of this kind, else the contract's one schema, else None."""
        contract = self.get_agent_contract(agent_id)
        if not contract:
            return None
        kinds = contract.get("schemas") or {}
        if schema_kind is not None and schema_kind in kinds:
            return kinds[schema_kind]
        return contract.get("schema")

    def get_agent_contract(self, agent_id: str) -> dict[str, Any] | None:
        """The contract as it was given, or None."""
        record = self._storage.get_agent(agent_id)
        return None if record is None else dict(record["contract"])

    def get_agent_manifest(self, agent_id: str) -> dict[str, Any] | None:
        """Another name of `get_agent_contract`."""
        return self.get_agent_contract(agent_id)

    def get_agent_projection(self, agent_id: str) -> RuntimeContractProjection | None:
        """The contract as rules, or None for an unknown agent."""
        contract = self.get_agent_contract(agent_id)
        return None if contract is None else project_contract(contract)

    def get_agent_priority(self, agent_id: str) -> int:
        """The priority; 0 for an unknown agent."""
        record = self._storage.get_agent(agent_id)
        return 0 if record is None else int(record["priority"])

    def list_agents(self) -> list[str]:
        """The agents whose status is ACTIVE."""
        return self._storage.list_active_agents()

    def set_agent_status(
        self, agent_id: str, status: str, suspension_reason: str | None = None
    ) -> bool:
        """An operator's act; True if there is such an agent. In strict mode RETIRED is final."""
        with held(self._storage, "agent", agent_id):
            if is_strict() and self._leaves_retirement(agent_id, status):
                raise ValueError(f"agent {agent_id} is RETIRED, which is final in strict mode")
            return self._storage.update_status(agent_id, str(status), suspension_reason)

    def get_agent_status(self, agent_id: str) -> tuple[str, str | None] | None:
        """Status and reason, or None for an unknown agent."""
        return self._storage.get_status(agent_id)

    def apply_parameter_amendment(self, amendment: ContractParameterAmendment) -> AmendmentResult:
        """Change one amendable rule. The agent's status stays; the actor is recorded as named."""
        if is_strict() and not is_known_person(amendment.actor_id):
            return AmendmentResult(False, ACTOR_UNKNOWN)
        result = AmendmentResult(False, "AGENT_NOT_FOUND")

        def decide(record: dict[str, Any] | None) -> AgentChange | None:
            nonlocal result
            if record is None:
                return None
            amended = _amended(record["contract"], amendment)
            if isinstance(amended, str):
                result = AmendmentResult(False, amended)
                return None
            result = AmendmentResult(True, projection=project_contract(amended))
            return _with_contract(record, amended, record["agent_version"] or "1.0.0")

        self._change(amendment.agent_id, decide)
        return result

    def _register(
        self,
        agent_id: str,
        contract: dict[str, Any],
        priority: int,
        version: str | None,
        token: str | None,
    ) -> HandshakeResult:
        if is_strict() and unknown_keys(contract):
            raise ValueError(f"a contract has no field {', '.join(unknown_keys(contract))}")
        encoded = json.dumps(contract)
        result = HandshakeResult(True, token)

        def decide(record: dict[str, Any] | None) -> AgentChange | None:
            nonlocal result
            if record is None:
                return encoded, priority, AgentRegistryStatus.ACTIVE.value, version, token
            if widens(record["contract"], json.loads(encoded)):
                result = HandshakeResult(False, reason=CONTRACT_WIDENED)
                return None
            kept = _with_amendments(contract, record["contract"])
            return json.dumps(kept), priority, record["status"], version, token

        self._change(agent_id, decide)
        if not result.accepted:
            logger.warning("agent %s came back with a wider contract and was refused", agent_id)
        for note in import_notes(contract):
            logger.info("contract of %s: %s", agent_id, note)
        return result

    def _change(
        self, agent_id: str, decide: Callable[[dict[str, Any] | None], AgentChange | None]
    ) -> None:
        if isinstance(self._storage, SqliteAgentRegistryStorage):
            self._storage.change_agent(agent_id, decide)
            return
        with held(self._storage, "agent", agent_id):
            status = self._storage.get_status(agent_id)
            change = decide(self._storage.get_agent(agent_id))
            if change is None:
                return
            encoded, priority, new_status, version, token = change
            self._storage.upsert_agent(
                agent_id=agent_id,
                contract_json=encoded,
                priority=priority,
                status=new_status,
                agent_version=version,
                session_token=token,
            )
            # A storage of the user's may drop the reason when it replaces the record.
            if status is not None and self._storage.get_status(agent_id) != status:
                self._storage.update_status(agent_id, *status)

    def _leaves_retirement(self, agent_id: str, status: str) -> bool:
        known = self._storage.get_status(agent_id)
        retired = AgentRegistryStatus.RETIRED
        return known is not None and known[0] == retired and status != retired


def _with_contract(
    record: Mapping[str, Any], contract: Mapping[str, Any], version: str | None = None
) -> AgentChange:
    return (
        json.dumps(contract),
        int(record["priority"]),
        str(record["status"]),
        version or record["agent_version"],
        record["session_token"],
    )


def _amended(
    contract: dict[str, Any], amendment: ContractParameterAmendment
) -> dict[str, Any] | str:
    """The contract with the amendment appended, or the code of what is wrong with it."""
    projection = project_contract(contract)
    rule = next((one for one in projection.invariants if one.id == amendment.invariant_id), None)
    if rule is None:
        return "INVARIANT_NOT_FOUND"
    fault = validate_amendment_patch(rule, amendment.patch)
    if fault is not None:
        return fault
    stored = _amendable(contract)
    entry = amendment.model_dump(mode="json")
    end = resolve_expires_at(amendment, rule)
    entry["expires_at"] = None if end is None else end.isoformat()
    stored["parameter_amendments"] = [*(stored.get("parameter_amendments") or []), entry]
    return stored


def _with_amendments(contract: dict[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """A returning agent's contract with the amendments that people made meanwhile."""
    made = before.get("parameter_amendments")
    if not made or not contract:
        return contract
    rules = {rule.id: rule for rule in project_contract(contract).invariants}
    still = [
        entry
        for entry in made
        if (rule := rules.get(entry["invariant_id"])) is not None
        and validate_amendment_patch(rule, entry["patch"]) is None
    ]
    return {**_amendable(contract), "parameter_amendments": still} if still else contract


def _amendable(contract: Mapping[str, Any]) -> dict[str, Any]:
    """The contract in the form that can carry amendments."""
    if contract.get("invariants"):
        return dict(contract)
    stored = project_contract(contract).model_dump(mode="json")
    threshold = confidence_threshold(contract)
    if threshold is not None:
        stored["safety_rules"] = {"min_confidence_threshold": threshold}
    if contract.get("schema") is not None or contract.get("schemas"):
        stored.update({key: contract[key] for key in ("schema", "schemas") if key in contract})
    return stored
