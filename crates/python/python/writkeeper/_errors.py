"""What can go wrong, sorted by what the caller does next."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from writkeeper._shapes import RefusalBody, RefusalShape

Status = Literal["denied", "pending", "in_doubt", "unavailable"]
"""What a model is told about a call that did not run."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call did not run, as a model reads it.

    >>> refusal = Refusal("denied", "issue_refund", ("NOT_ALLOWED",), "amount is too large", "ask for less")
    >>> refusal.as_dict()["writkeeper"]["status"]
    'denied'
    """

    status: Status
    action: str
    reasons: tuple[str, ...] = ()
    message: str = ""
    fix: str = ""
    proposal: str | None = None
    question: str | None = None
    intent: str | None = field(default=None, compare=False)

    def as_dict(self) -> RefusalShape:
        """The shape that every adapter hands to the model."""
        body: RefusalBody = {
            "status": self.status,
            "action": self.action,
            "reasons": list(self.reasons),
            "message": self.message,
            "fix": self.fix,
            "proposal": self.proposal,
        }
        if self.question is not None:
            body["question"] = self.question
        return {"writkeeper": body}

    def as_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    def raised(self) -> WritkeeperError:
        """The same as an exception."""
        if self.status == "in_doubt":
            return InDoubt(self.intent or "", self.message, self.fix)
        if self.status == "unavailable":
            return Unavailable(self.message, fix=self.fix)
        return Refused(self)


class DiagnosticShape(TypedDict):
    """One thing wrong with a contract."""

    code: str
    path: str
    message: str
    help: str | None
    line: int
    column: int


class WritkeeperError(Exception):
    """Something was not done. ``code`` is stable, ``message`` says what, ``fix`` what to do."""

    def __init__(self, message: str, *, code: str = "INVALID_DATA", fix: str = "") -> None:
        super().__init__(f"{message} ({code})" + (f"; {fix}" if fix else ""))
        self.code = code
        self.message = message
        self.fix = fix

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(kind: type[WritkeeperError], words: tuple[object, ...], told: Mapping[str, object]) -> WritkeeperError:
    """An error that came from another process: its words are not put together a second time."""
    error = kind.__new__(kind, *words)
    error.__dict__.update(told)
    return error


class Refused(WritkeeperError):
    """The kernel said no, and the same call gets the same answer."""

    def __init__(self, refusal: Refusal) -> None:
        code = refusal.reasons[0] if refusal.reasons else refusal.status.upper()
        super().__init__(refusal.message or refusal.status, code=code, fix=refusal.fix)
        self.refusal = refusal


class Unavailable(WritkeeperError):
    """Nothing was decided; the same call may succeed later."""

    def __init__(self, message: str, *, code: str = "UNAVAILABLE", fix: str = "") -> None:
        super().__init__(message, code=code, fix=fix)


class InDoubt(WritkeeperError):
    """Nobody knows whether the effect happened, and it is not tried again before a person has looked."""

    def __init__(self, intent: str, message: str = "", fix: str = "") -> None:
        text = message or f"nobody knows whether intent {intent} happened"
        super().__init__(text, code="IN_DOUBT", fix=fix or "look with the other side, then answer the question about it")
        self.intent = intent


class ContractInvalid(WritkeeperError, ValueError):
    """The text is no contract that can be used; every diagnostic has its place."""

    def __init__(self, diagnostics: Sequence[DiagnosticShape], message: str = "", *, code: str = "CONTRACT_INVALID") -> None:
        text = message or "; ".join(entry["message"] for entry in diagnostics)
        helps = [help for entry in diagnostics if (help := entry["help"])]
        super().__init__(text, code=code, fix="; ".join(helps))
        self.diagnostics: tuple[DiagnosticShape, ...] = tuple(diagnostics)


class Closed(WritkeeperError):
    """The store is closed, or was opened before this process was forked off."""

    def __init__(self, message: str = "the store is closed", *, fix: str = "open the store again") -> None:
        super().__init__(message, code="CLOSED", fix=fix)


class NotFound(WritkeeperError, LookupError):
    """Nothing has this name or id."""


class Invalid(WritkeeperError, ValueError):
    """What was given cannot be used; the same call fails again."""


class DidNotHappen(Exception):
    """Raise it in a tool or an executor to say that the effect did not happen and will not.

    Any other exception means that nobody knows: the intent is in doubt, and a person is asked.
    """

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        listener = listening.get()
        if listener is not None:
            listener[:] = [self]


listening: ContextVar[list[DidNotHappen] | None] = ContextVar("writkeeper_listening", default=None)
"""Where a call that is under way keeps its latest ``DidNotHappen``: some frameworks turn what a tool raises into text."""


def from_native(kind: str, code: str, message: str, fix: str, details: str) -> WritkeeperError:
    """The exception for what the native half reports."""
    told: Any = json.loads(details)
    if kind == "closed":
        return Closed(message, fix=fix)
    if kind == "unavailable":
        return Unavailable(message, code=code, fix=fix)
    if kind == "contract":
        return ContractInvalid(told or [], message, code=code)
    if kind == "not_found":
        return NotFound(message, code=code, fix=fix)
    if kind == "refused":
        found: Sequence[Mapping[str, str]] = told or []
        reasons = tuple(dict.fromkeys(finding["code"] for finding in found)) or (code,)
        return Refused(Refusal("denied", "", reasons, message, fix))
    return Invalid(message, code=code, fix=fix)
