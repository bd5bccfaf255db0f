"""One story for every framework: what is allowed, denied, pending, approved, changed, done already, raising, unavailable.

A framework gives a function that makes its agent with the tools of the shop, guarded unless there is no guard, lets a
scripted model make one call after the other, and gives back what the model read after each.
"""

from __future__ import annotations

import contextlib
import functools
import json
import threading
import time
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
    """The tools of an agent, and what really happened. ``awaited``: they are coroutine functions."""

    def __init__(self, awaited: bool = False) -> None:
        self.paid: list[tuple[str, float]] = []
        self.erased = 0
        self.is_closed = True
        shop = self

        def refund(order: str, amount: float) -> str:
            """Pays money back for an order."""
            if order == "closed" and shop.is_closed:
                raise writkeeper.DidNotHappen("the bank is closed")
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

        plain: list[Callable[..., Any]] = [refund, look, erase]
        self.tools = [as_coroutine(tool) for tool in plain] if awaited else plain


def as_coroutine(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function for frameworks that await their tools."""

    @functools.wraps(function)
    async def awaited(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    return awaited


def said(text: str) -> dict[str, Any]:
    """What the guard said to the model, wherever the framework put it."""
    start = text.find('{"writkeeper"')
    assert start >= 0, f"no refusal in {text!r}"
    told, _ = json.JSONDecoder().raw_decode(text[start:])
    body: dict[str, Any] = told["writkeeper"]
    return body


def tell(drive: Drive, guarded: bool, folder: Path, awaited: bool, hears: bool) -> None:
    """The whole story. ``hears``: the adapter sees what a tool raises, and not only that it failed."""
    keeper = writkeeper.open(folder / "kept.db", contract=CONTRACT)
    keeper.people({"desk": ["ann"]})
    guard = keeper.guard("refund-bot") if guarded else None
    shop = Shop(awaited)

    def call(name: str, **args: Any) -> str:
        [read] = drive(guard, shop, [(name, args)])
        return read

    try:
        _tell(keeper, guard, shop, drive, call)
        if guard is not None:
            _told_that_it_did_not_happen(keeper, shop, call, hears)
            _waited_for(keeper, drive, awaited)
            _unavailable(keeper, guard, shop, call)
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


def _told_that_it_did_not_happen(keeper: writkeeper.Keeper, shop: Shop, call: Callable[..., str], hears: bool) -> None:
    with contextlib.suppress(Exception):
        call("refund", order="closed", amount=5)
    state = {intent.params["order"]: intent.state for intent in keeper.intents()}["closed"]
    assert state == ("FAILED" if hears else "IN_DOUBT")
    shop.is_closed = False
    if hears:
        assert "paid 5" in call("refund", order="closed", amount=5), "it did not happen, so it may be tried again"


def _waited_for(keeper: writkeeper.Keeper, drive: Drive, awaited: bool) -> None:
    """A guard that waits blocks until somebody answers."""

    def approve() -> None:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            for question in keeper.questions():
                if question.params.get("order") == "A-6":
                    keeper.answer(question, "approve", by="ann", because="late")
                    return
            time.sleep(0.02)

    person = threading.Thread(target=approve)
    person.start()
    shop = Shop(awaited)
    [read] = drive(keeper.guard("refund-bot", on_ask="wait", wait=30), shop, [("refund", {"order": "A-6", "amount": 60})])
    person.join()
    assert "paid 60" in read and shop.paid == [("A-6", 60)]


def _unavailable(keeper: writkeeper.Keeper, guard: Guard, shop: Shop, call: Callable[..., str]) -> None:
    """A guard that cannot judge lets nothing run, whatever goes wrong in it."""
    before = len(shop.paid)

    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a fault of ours")

    guard._ask = broken  # type: ignore[method-assign]
    assert said(call("refund", order="A-8", amount=5))["status"] == "unavailable"
    del guard._ask
    keeper.close()
    assert said(call("refund", order="A-9", amount=5))["status"] == "unavailable"
    assert len(shop.paid) == before


def check(drive: Drive, folder: Path, *, awaited: bool = False, hears: bool = True) -> None:
    """The story holds with the guard, and is seen to fail without it."""
    (folder / "with").mkdir()
    (folder / "without").mkdir()
    tell(drive, True, folder / "with", awaited, hears)
    with pytest.raises(AssertionError):
        tell(drive, False, folder / "without", awaited, hears)


def check_draft(tools: list[Any]) -> None:
    """A contract from the framework's own schemas is closed: nothing else may be called, and amounts wait for a number."""
    contract = writkeeper.draft(tools, agent="refund-bot")
    with writkeeper.open("memory:", contract=contract) as keeper:
        guard = keeper.guard("refund-bot")

        def reasons(name: str, **args: Any) -> tuple[str, ...]:
            asked = guard.ask(name, args)
            assert isinstance(asked, writkeeper.Refusal)
            return asked.reasons

        assert reasons("refund", order="A-1", amount=5) == ("LIMIT_EXCEEDED",)
        assert reasons("refund", order="A-1") == ("PARAM_MISSING",)
        assert reasons("fly") == ("ACTION_NOT_ALLOWED",)
