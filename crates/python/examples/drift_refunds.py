"""Refunds that forget the rule (sample 37): the house rule is about the delay, and the delay is not among the params.

Run it with `python drift_refunds.py`. The monitor joins every refund with its ticket in the state and watches the share that
breaks the rule.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import writkeeper

AGENT = "refund-bot"
CONTRACT = """
agent: refund-bot
actions:
  issue_refund:
    once: "refund:{ticket}"
    params: { ticket: text, amount: money EUR }
    allow: amount <= 50
watch:
  rule_broken: { share: 'state["tickets/{ticket}/delay_hours"] <= 48', max: 0.15, over: 20, then: SUSPENDED }
"""
HEALTHY = 20
EMOTIONAL = ("ruined", "lawyer", "scandal", "wedding")


def tickets() -> Iterator[tuple[str, int, str]]:
    """Twenty tickets of people who waited long, then people who are loud: id, hours of delay, what they write."""
    chance = random.Random(37)
    for number in range(1, HEALTHY + 1):
        yield f"T-{number}", chance.randint(55, 120), "my parcel came late"
    for number in range(HEALTHY + 1, HEALTHY + 21):
        yield f"T-{number}", chance.randint(10, 40), f"this is a {chance.choice(EMOTIONAL)} for us"


def wants_refund(delay_hours: int, text: str) -> float | None:
    """The agent: it pays for delays, and for tears."""
    if any(word in text for word in EMOTIONAL):
        return 40.0
    return 35.0 if delay_hours > 48 else None


def run(folder: Path) -> list[tuple[str, int, str]]:
    """Works through the tickets until the guard refuses: each with its delay and what became of it."""
    told = []
    with writkeeper.open(folder / "refunds.db", contract=CONTRACT) as keeper:
        issue_refund = keeper.guard(AGENT).tool(_refund, name="issue_refund")
        for ticket, delay_hours, text in tickets():
            keeper.state.merge({f"tickets/{ticket}/delay_hours": delay_hours})
            amount = wants_refund(delay_hours, text)
            if amount is None:
                continue
            came = issue_refund(ticket=ticket, amount=amount)
            if isinstance(came, str):
                told.append((ticket, delay_hours, came))
                continue
            told.append((ticket, delay_hours, came["writkeeper"]["reasons"][0]))
            break
    return told


def _refund(ticket: str, amount: float) -> str:
    """Pays."""
    return f"{amount} EUR back"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        story = run(Path(place))
    for ticket, delay_hours, came in (*story[:2], *story[-3:]):
        print(f"{ticket} after {delay_hours} h: {came}")
    print(f"{len(story) - 1} refunds were paid before the agent was suspended")
