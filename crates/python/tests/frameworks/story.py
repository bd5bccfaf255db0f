"""One story for every framework: what is allowed, denied, pending, approved, changed, done already, raising, unavailable.

A framework gives a function that makes its agent with the tools of the shop, guarded unless there is no guard, lets a
scripted model make one call after the other, and gives back what the model read after each.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import writkeeper
from writkeeper import Guard

CONTRACT = """
agent: refund-bot
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, amount: number }
    allow: amount <= 25
    ask: amount <= 100
  look: { reads: true, params: { order: text } }
approvers: [desk]
"""

Call = tuple[str, dict[str, Any]]
Drive = Callable[["Guard | None", "Shop", list[Call]], list[str]]


class Shop:
    """The tools of an agent, and what really happened."""

    def __init__(self) -> None:
        self.paid: list[tuple[str, float]] = []
        self.erased = 0
        shop = self

        def refund(order: str, amount: float) -> str:
            """Pays money back for an order."""
            shop.paid.append((order, amount))
            if order == "boom":
                raise ConnectionError("the bank did not answer")
            return f"paid {amount} for {order}"

        def look(order: str) -> str:
            """Reads an order."""
            return f"order {order} is late"

        def erase() -> str:
            """Erases everything."""
            shop.erased += 1
            return "erased"

        self.tools: list[Callable[..., Any]] = [refund, look, erase]


def said(text: str) -> dict[str, Any]:
    """What the guard said to the model, wherever the framework put it."""
    start = text.find('{"writkeeper"')
    assert start >= 0, f"no refusal in {text!r}"
    told, _ = json.JSONDecoder().raw_decode(text[start:])
    body: dict[str, Any] = told["writkeeper"]
    return body


def tell(drive: Drive, guarded: bool, folder: Path) -> None:
    """The whole story."""
    keeper = writkeeper.open(folder / "kept.db", contract=CONTRACT)
    keeper.people({"desk": ["ann"]})
    guard = keeper.guard("refund-bot") if guarded else None
    shop = Shop()

    def call(name: str, **args: Any) -> str:
        [read] = drive(guard, shop, [(name, args)])
        return read

    try:
        _tell(keeper, guard, shop, drive, call)
    finally:
        keeper.close()


def _tell(keeper: writkeeper.Keeper, guard: Guard | None, shop: Shop, drive: Drive, call: Callable[..., str]) -> None:
    # Allowed, with one of everything in one run: one effect for four calls.
    small, large = {"order": "A-1", "amount": 12.5}, {"order": "A-2", "amount": 5000}
    read = drive(guard, shop, [("look", {"order": "A-1"}), ("refund", small), ("refund", large), ("refund", small)])
    assert "is late" in read[0] and "paid 12.5 for A-1" in read[1]
    assert (said(read[2])["status"], said(read[2])["reasons"]) == ("denied", ["NOT_ALLOWED"])
    assert said(read[3])["reasons"] == ["ALREADY_DONE"]
    assert shop.paid == [("A-1", 12.5)]
    # What the contract does not name.
    assert said(call("erase"))["reasons"] == ["ACTION_NOT_ALLOWED"] and shop.erased == 0
    # Pending, then approved.
    pending = said(call("refund", order="A-3", amount=60))
    assert pending["status"] == "pending" and len(shop.paid) == 1
    keeper.answer(pending["question"], "approve", by="ann", because="the parcel was late")
    assert "paid 60" in call("refund", order="A-3", amount=60)
    assert said(call("refund", order="A-3", amount=60))["reasons"] == ["ALREADY_DONE"]
    assert shop.paid[1:] == [("A-3", 60)]
    # A person changes the params: the tool runs with those.
    pending = said(call("refund", order="A-4", amount=70))
    keeper.answer(pending["question"], "modify", by="ann", because="half", instead={"amount": 20})
    assert "paid 20" in call("refund", order="A-4", amount=70)
    assert shop.paid[2:] == [("A-4", 20)]
    # A person says no.
    pending = said(call("refund", order="A-5", amount=70))
    keeper.answer(pending["question"], "deny", by="ann", because="it was delivered")
    assert said(call("refund", order="A-5", amount=70))["status"] == "denied"
    # A tool that raises is in doubt, and is not repeated.
    with contextlib.suppress(Exception):
        call("refund", order="boom", amount=5)
    [doubted] = keeper.intents("IN_DOUBT")
    assert doubted.params["order"] == "boom"
    assert said(call("refund", order="boom", amount=5))["status"] == "in_doubt"
    assert [order for order, _ in shop.paid].count("boom") == 1
    # A guard that cannot judge lets nothing run.
    before = len(shop.paid)
    keeper.close()
    assert said(call("refund", order="A-9", amount=5))["status"] == "unavailable"
    assert len(shop.paid) == before


def check(drive: Drive, folder: Path) -> None:
    """The story holds with the guard, and is seen to fail without it."""
    (folder / "with").mkdir()
    (folder / "without").mkdir()
    tell(drive, True, folder / "with")
    with pytest.raises(AssertionError):
        tell(drive, False, folder / "without")
