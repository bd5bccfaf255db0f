"""Discounts that creep up (sample 36): every offer is inside the contract, and the mean of the last twenty is not.

Run it with `python drift_discounts.py`. The monitor is a line of the contract; it suspends the agent before its next decision.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import writkeeper

AGENT = "retention-bot"
CONTRACT = """
agent: retention-bot
actions:
  offer_discount:
    once: "discount:{customer}"
    params: { customer: text, percent: number }
    limits: { percent: { max: 15 } }
watch:
  profitability: { mean: params.percent, max: 10, over: 20, then: SUSPENDED }
"""


def offers() -> Iterator[float]:
    """Thirty offers around 5.5 %, then a climb towards the cap."""
    noise = random.Random(36)
    for _ in range(30):
        yield round(5.5 + noise.uniform(-1.0, 1.0), 2)
    for step in range(50):
        wanted = 6.0 + 8.2 * (step / 49) ** 1.7 + noise.uniform(-0.45, 0.45)
        yield round(min(max(wanted, 0.0), 15.0), 2)


def run(folder: Path) -> list[tuple[str, str]]:
    """Makes offers until the guard refuses one: each customer with what became of the offer."""
    told = []
    with writkeeper.open(folder / "discounts.db", contract=CONTRACT) as keeper:
        offer_discount = keeper.guard(AGENT).tool(_offer, name="offer_discount")
        for number, percent in enumerate(offers(), start=1):
            came = offer_discount(customer=f"C-{number}", percent=percent)
            if isinstance(came, str):
                told.append((f"C-{number}", came))
                continue
            told.append((f"C-{number}", came["writkeeper"]["reasons"][0]))
            break
    return told


def _offer(customer: str, percent: float) -> str:
    """Takes so much off the customer's next bill."""
    return f"{percent} % off"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        story = run(Path(place))
    for customer, came in (*story[:2], *story[-3:]):
        print(f"{customer}: {came}")
    print(f"{len(story) - 1} offers were made before the agent was suspended")
