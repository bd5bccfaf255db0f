"""Asking a person, within a budget; the first answer stands."""

from __future__ import annotations

import json
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from ._backend import MISSING_BACKEND
from ._keyed import held
from ._mode import is_known_person, is_strict
from ._times import row_instant, utcnow
from .data_types import EscalationSeverity, HumanDecision, ImpactCategory
from .models import EscalationRequest, Policy, PolicyProposal
from .storage.base import EscalationStorage
from .storage.memory import MemoryEscalationStorage
from .storage.sqlite import SqliteEscalationStorage

__all__ = ["EscalationManager", "EscalationOutcome", "HumanDecision", "ImpactCategory"]

_URGENT = frozenset({EscalationSeverity.HIGH, EscalationSeverity.CRITICAL})


class EscalationOutcome(StrEnum):
    """Whether a person will be asked."""

    GRANTED = "GRANTED"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"


class EscalationManager:
    """Keeps requests and answers. The budget is a rolling window for each agent."""

    def __init__(
        self,
        db_path: str | Path | None = None,
        max_escalations_per_hour: int = 3,
        refill_interval_sec: int = 3600,
        *,
        storage: EscalationStorage | None = None,
    ) -> None:
        self.max_escalations_per_hour = max_escalations_per_hour
        self.refill_interval_sec = refill_interval_sec
        if storage is not None:
            self._storage: EscalationStorage = storage
        elif db_path is not None:
            self.db_path = str(db_path)
            self._storage = SqliteEscalationStorage(db_path)
        else:
            raise ValueError(MISSING_BACKEND)

    def request_escalation(
        self,
        dfid: str,
        agent_id: str,
        reason: str,
        context: dict[str, Any],
        proposal: PolicyProposal | dict[str, Any],
        impact: ImpactCategory | str,
    ) -> EscalationOutcome:
        """GRANTED and kept, or BUDGET_EXHAUSTED and nothing kept."""
        request = (
            dfid,
            agent_id,
            reason,
            json.dumps(context, default=str),
            _proposal_json(proposal),
            ImpactCategory(impact).value,
        )
        since = utcnow() - timedelta(seconds=self.refill_interval_sec)
        most = self.max_escalations_per_hour
        if isinstance(self._storage, SqliteEscalationStorage):
            granted = self._storage.ask_within(most, row_instant(since), request)
        elif isinstance(self._storage, MemoryEscalationStorage):
            granted = self._ask_unshared(most, row_instant(since), request)
        else:
            # A storage of the user's compares whole seconds.
            granted = self._ask_unshared(most, since.strftime("%Y-%m-%d %H:%M:%S"), request)
        return EscalationOutcome.GRANTED if granted else EscalationOutcome.BUDGET_EXHAUSTED

    def request_from_model(self, escalation: EscalationRequest) -> EscalationOutcome:
        """The same for a model: HIGH and CRITICAL are high impact, a policy becomes a proposal."""
        urgent = escalation.severity in _URGENT
        return self.request_escalation(
            escalation.dfid,
            escalation.from_agent_id,
            escalation.trigger,
            escalation.context,
            _as_proposal(escalation),
            ImpactCategory.HIGH_IMPACT if urgent else ImpactCategory.LOW_IMPACT,
        )

    def resolve_escalation(
        self,
        dfid: str,
        decision: HumanDecision | str,
        modified_proposal: PolicyProposal | dict[str, Any] | None = None,
        *,
        actor_id: str | None = None,
    ) -> None:
        """Answer the pending request of a flow. ValueError for an unknown decision.

        In strict mode the actor must be a known person.
        """
        answer = HumanDecision(str(decision).upper())
        if is_strict() and not is_known_person(actor_id):
            raise ValueError(
                f"{actor_id!r} is not a known person; name people with strict(people=…)"
            )
        instead = None if modified_proposal is None else _proposal_json(modified_proposal)
        with held(self._storage, "answer", dfid):
            # A storage of the user's may overwrite an answer; the built-in ones never do.
            if any(request["dfid"] == dfid for request in self.get_pending()):
                self._storage.resolve_request(
                    dfid=dfid,
                    resolved_at=utcnow().isoformat(),
                    decision=answer.value,
                    proposal_json=instead,
                )

    def get_pending(self) -> list[dict[str, Any]]:
        """dfid, agent_id, reason, context, proposal and impact of each pending request."""
        return self._storage.get_pending_requests()

    def _ask_unshared(
        self, most: int, since: str, request: tuple[str, str, str, str, str, str]
    ) -> bool:
        dfid, agent_id, reason, context, proposal, impact = request
        with held(self._storage, "budget", agent_id):
            if self._storage.get_window_count(agent_id, since) >= most:
                return False
            self._storage.record_budget_token(agent_id)
            self._storage.insert_request(
                dfid=dfid,
                agent_id=agent_id,
                reason=reason,
                context_json=context,
                proposal_json=proposal,
                impact=impact,
            )
            return True


def _proposal_json(proposal: PolicyProposal | dict[str, Any]) -> str:
    if isinstance(proposal, dict):
        return json.dumps(proposal, default=str)
    return proposal.model_dump_json()


def _as_proposal(escalation: EscalationRequest) -> PolicyProposal:
    policy = escalation.original_policy
    if isinstance(policy, PolicyProposal):
        return policy
    if isinstance(policy, Policy):
        return PolicyProposal(
            dfid=policy.dfid,
            agent_id=policy.agent_id,
            policy_kind=policy.proposed_action,
            justification=policy.justification,
            confidence=policy.confidence,
        )
    return PolicyProposal(
        dfid=escalation.dfid,
        agent_id=escalation.from_agent_id,
        policy_kind="escalation",
        params={"trigger": escalation.trigger},
    )
