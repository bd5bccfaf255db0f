"""The package in twelve lines: `python quick_start.py`, or one cell of a notebook."""

from __future__ import annotations

import writkeeper

CONTRACT = """
agent: refund-bot
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 100
approvers: [desk]
"""


def main() -> None:
    """Allowed, refused, asked, answered."""
    keeper = writkeeper.open("memory:", contract=CONTRACT)
    keeper.people({"desk": ["ann"]})
    guard = keeper.guard("refund-bot")

    @guard.tool
    def refund(order: str, amount: float) -> object:
        """Pays money back."""
        return f"paid {amount} EUR for {order}"

    print(refund("A-1", 12.5))
    print(refund("A-2", 5000))
    print(refund("A-3", 60))
    keeper.answer(keeper.questions()[0], "approve", by="ann", because="the parcel was late")
    print(refund("A-3", 60))
    keeper.close()


if __name__ == "__main__":
    main()
