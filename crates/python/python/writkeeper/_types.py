"""What the keeper gives back: frozen values, with the JSON they were read from in ``data``."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from writkeeper import _json
from writkeeper._errors import Refusal
from writkeeper._frozen import Frozen
from writkeeper._shapes import Verdict


def _time(text: str | None) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(text) if text else None


@dataclass(frozen=True, slots=True)
class Finding:
    """What one gate had to say."""

    code: str
    gate: str
    field: str | None
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Intent:
    """Permission to cause one effect once. ``state`` is where it stood when it was read; a decision does not say."""

    id: str
    agent: str
    action: str
    params: Mapping[str, Any] = field(hash=False)
    effect_key: str
    flow: str
    proposal: str
    valid_until: datetime.datetime | None
    state: str | None = None
    question: str | None = None
    result: Mapping[str, Any] | None = field(default=None, hash=False)
    data: Mapping[str, Any] = field(default_factory=Frozen, repr=False, compare=False)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Intent:
        """Of the JSON of an answer or of a list."""
        order = data.get("order") or data
        return cls(
            id=data["id"],
            agent=data.get("agent", ""),
            action=order.get("action", ""),
            params=Frozen(order.get("params") or {}),
            effect_key=data.get("effect_key", ""),
            flow=data.get("flow", ""),
            proposal=data.get("proposal", ""),
            valid_until=_time(data.get("valid_until")),
            state=data.get("state"),
            question=data.get("question"),
            result=data.get("result"),
            data=Frozen(data),
        )

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Question:
    """A question to people. One that a decision names holds its id and deadline only; ``Keeper.question`` reads the rest."""

    id: str
    deadline: datetime.datetime | None
    state: str = "OPEN"
    kind: str = "proposal"
    agent: str = ""
    action: str = ""
    params: Mapping[str, Any] = field(default_factory=Frozen, hash=False)
    flow: str = ""
    proposal: str = ""
    intent: str | None = None
    digest: str = ""
    reasons: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=Frozen, repr=False, compare=False)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Question:
        """Of the JSON of an answer, or of the inbox."""
        proposal = data.get("proposal")
        asked: Mapping[str, Any] = proposal if isinstance(proposal, Mapping) else {}
        return cls(
            id=data["id"],
            deadline=_time(data.get("deadline")),
            state=data.get("state", "OPEN"),
            kind=data.get("kind", "proposal"),
            agent=data.get("agent", ""),
            action=asked.get("action", ""),
            params=Frozen(asked.get("params") or {}),
            flow=data.get("flow", ""),
            proposal=data.get("proposal_id", ""),
            intent=data.get("intent"),
            digest=data.get("digest", ""),
            reasons=tuple(data.get("reasons", ())),
            approvers=tuple(data.get("approvers", ())),
            data=Frozen(data),
        )

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Decision:
    """What the kernel said about one proposal.

    ``line`` is the answer as the kernel wrote it: the same bytes through every door.
    """

    id: str
    verdict: Verdict
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...]
    intent: Intent | None
    question: Question | None
    line: str = field(repr=False, default="")
    action: str = field(default="", compare=False)
    fresh: bool = field(default=True, compare=False, repr=False)
    blocked_by: str | None = field(default=None, compare=False, repr=False)

    @classmethod
    def read(cls, reply: tuple[str, bool, str | None], action: str = "") -> Decision:
        """Of what the native half replies."""
        line, fresh, blocked_by = reply
        data = _json.decode(line)
        intent, question = data["intent"], data.get("question")
        return cls(
            id=data["id"],
            verdict=data["verdict"],
            reasons=tuple(data["reasons"]),
            findings=tuple(Finding(**finding) for finding in data["findings"]),
            intent=Intent.read(intent) if intent else None,
            question=Question.read(question) if question else None,
            line=line,
            action=action,
            fresh=fresh,
            blocked_by=blocked_by,
        )

    @property
    def accepted(self) -> bool:
        """Whether it may happen."""
        return self.verdict == "ACCEPT"

    @property
    def refusal(self) -> Refusal | None:
        """Why it may not happen now; nothing where it may."""
        if self.accepted:
            return None
        status = "pending" if self.verdict == "ESCALATE" else "denied"
        supporting = [finding for finding in self.findings if finding.code in self.reasons]
        message = "; ".join(dict.fromkeys(finding.message for finding in supporting))
        fix = "; ".join(dict.fromkeys(finding.fix for finding in supporting if finding.fix))
        question = self.question.id if self.question else None
        return Refusal(
            "pending" if status == "pending" else "denied", self.action, self.reasons, message, fix, self.id, question
        )

    def raise_for_refusal(self) -> Decision:
        """Raises ``Refused`` unless it was accepted; gives itself back otherwise."""
        refusal = self.refusal
        if refusal is not None:
            raise refusal.raised()
        return self


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State and session as they were at one moment; a proposal that names it is compared with how things are."""

    id: str
    at: datetime.datetime | None
    state: Mapping[str, Any] = field(hash=False)

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at an effect, as an executor is told of it.

    ``key`` is the same in every attempt: hand it to the other side as an idempotency key.
    """

    intent: str
    action: str
    agent: str
    params: Mapping[str, Any] = field(hash=False)
    key: str
    epoch: int
    doubted: bool
    undoes: str | None


@dataclass(frozen=True, slots=True)
class Tally:
    """What performing came to."""

    succeeded: int
    failed: int
    in_doubt: int
    called_off: int
    waiting: tuple[str, ...]


def id_of(value: object) -> str:
    """The id of something that has one, or the id itself."""
    if isinstance(value, str):
        return value
    found = getattr(value, "id", None)
    if isinstance(found, str):
        return found
    raise TypeError(f"an id is text, or something with an `id`, not {type(value).__name__}")
