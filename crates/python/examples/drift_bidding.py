"""Bids in a market that turned (sample 38): a click is worth 1.80 USD, and the agent follows the market up to 2.00.

Run it with `python drift_bidding.py`. The monitor trips when value less cost was negative five times in a row over the last
ten bids.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import writkeeper

AGENT = "bid-bot"
CONTRACT = """
agent: bid-bot
actions:
  bid:
    once: "bid:{slot}"
    params: { slot: text, cpc: number }
    limits: { cpc: { max: 2.00 } }
watch:
  roi: { margin: params.cpc, value: 1.80, over: 10, times: 5, then: SUSPENDED }
"""


def market() -> Iterator[float]:
    """What a click costs: thirty steps at 1.20, then a climb to 1.98."""
    noise = random.Random(38)
    for _ in range(30):
        yield 1.20 + noise.uniform(-0.02, 0.02)
    for step in range(60):
        yield min(1.20 + 0.78 * step / 39, 1.98) + noise.uniform(-0.02, 0.0)


def run(folder: Path) -> list[tuple[str, float, str]]:
    """Bids until the guard refuses: each slot with the bid and what became of it."""
    told = []
    with writkeeper.open(folder / "bids.db", contract=CONTRACT) as keeper:
        place_bid = keeper.guard(AGENT).tool(_bid, name="bid")
        for number, price in enumerate(market(), start=1):
            cpc = round(price + 0.02, 2)
            came = place_bid(slot=f"S-{number}", cpc=cpc)
            if isinstance(came, str):
                told.append((f"S-{number}", cpc, came))
                continue
            told.append((f"S-{number}", cpc, came["writkeeper"]["reasons"][0]))
            break
    return told


def _bid(slot: str, cpc: float) -> str:
    """Bids."""
    return f"bid {cpc} USD"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        story = run(Path(place))
    for slot, _, came in (*story[:2], *story[-3:]):
        print(f"{slot}: {came}")
    print(f"{len(story) - 1} bids were placed before the agent was suspended")
