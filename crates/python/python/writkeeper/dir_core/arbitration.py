"""Which of several proposals goes first: the one whose kind has the lowest number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .models import PolicyProposal

UNKNOWN_KIND_PRIORITY = 10

DEFAULT_PRIORITY_MATRIX: dict[str, int] = {
    "RISK_ALERT": 1,
    "CLOSE_LONG": 2,
    "CLOSE": 2,
    "OPEN_LONG": 3,
    "TAKE_PROFIT": 3,
    "ADJUST_STOP": 4,
    "SENTIMENT_BULLISH": 4,
    "SENTIMENT_BEARISH": 4,
    "RISK_OK": 5,
    "OPEN_POSITION": 5,
    "NEWS_QUALIFIED": 6,
    "SENTIMENT_NEUTRAL": 7,
    "HOLD": 10,
}


def select_winner(
    proposals: Sequence[PolicyProposal],
    priority_matrix: Mapping[str, int] | None = None,
) -> PolicyProposal | None:
    """The winner itself, not a copy; the first of equals; None when nobody proposes."""
    ranks = priority_matrix or DEFAULT_PRIORITY_MATRIX
    best: PolicyProposal | None = None
    best_rank = 0
    for proposal in proposals:
        rank = ranks.get(proposal.policy_kind, UNKNOWN_KIND_PRIORITY)
        if best is None or rank < best_rank:
            best, best_rank = proposal, rank
    return best
