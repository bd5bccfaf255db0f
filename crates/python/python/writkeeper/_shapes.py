"""The shapes of JSON that leave the package, for type checkers."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Verdict = Literal["ACCEPT", "REJECT", "ESCALATE"]
"""The three things the kernel can say."""

Origin = Literal["user", "state", "tool", "none"]
"""Where a value came from, as the program that receives the call states it."""

Outcome = Literal["succeeded", "failed", "doubt"]
"""What became of an effect."""


class RefusalBody(TypedDict):
    """What a model reads about a call that did not run."""

    status: Literal["denied", "pending", "in_doubt", "unavailable"]
    action: str
    reasons: list[str]
    message: str
    fix: str
    proposal: str | None
    question: NotRequired[str]


class RefusalShape(TypedDict):
    """The whole object."""

    writkeeper: RefusalBody


class ReasonShape(TypedDict):
    """What ``explain`` gives."""

    code: str
    category: str
    sentence: str
    fix_agent: str
    fix_operator: str
