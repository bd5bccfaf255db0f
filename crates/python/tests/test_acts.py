"""What an agent does in its flow besides proposing: it asks, holds and notes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import writkeeper
from writkeeper import Flow, Keeper, Refused

CONTRACT = """
agent: bot
actions:
  pay:
    once: "pay:{order}"
    params: { order: text, amount: money EUR }
    allow: amount <= 25
escalation: { budget: { max: 3, per: 1h }, approvers: [desk], on_exhausted: ABORT }
"""


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    with writkeeper.open(tmp_path / "kept.db", contract=CONTRACT) as keeper:
        # Nobody answers what the user of this machine asks in an agent's name, so nobody here has the name of one.
        keeper.people({"desk": ["ann-of-the-desk"]})
        yield keeper


def code(call: object, *arguments: object, **named: object) -> str:
    with pytest.raises(Refused) as refused:
        call(*arguments, **named)  # type: ignore[operator]
    return refused.value.code


def test_a_question_of_the_agents_own_counts_on_the_budget(keeper: Keeper) -> None:
    flow = keeper.flow("bot")
    asked = [flow.ask(f"unsure {turn}", context={"turn": turn}) for turn in range(3)]
    assert code(flow.ask, "unsure again") == "ESCALATION_BUDGET_EXHAUSTED"
    assert {question.id for question in keeper.questions()} == {question.id for question in asked}
    shown = keeper.question(asked[0])
    assert (shown.kind, shown.data["request"]) == ("request", {"reason": "unsure 0", "context": {"turn": 0}})
    keeper.answer(asked[0], "approve", by="ann-of-the-desk", because="fine")
    assert keeper.question(asked[0]).state == "OVERRIDDEN"
    assert code(flow.ask, "") == "PARAM_INVALID"


def test_an_approved_proposal_becomes_an_intent(keeper: Keeper) -> None:
    flow = keeper.flow("bot")
    question = flow.ask("twice?", proposal={"action": "pay", "params": {"order": "A-1", "amount": 5}}, impact="LOW")
    keeper.answer(question, "approve", by="ann-of-the-desk", because="fine")
    assert [intent.params["order"] for intent in keeper.intents()] == ["A-1"]


def test_flows_hold_no_more_than_there_is(keeper: Keeper) -> None:
    first, second = keeper.flow("bot"), keeper.flow("bot")
    available = {"cash": Decimal("100.50")}
    assert first.reserve({"cash": 60}, available=available) == {"cash": Decimal("60")}
    assert first.reserve({"cash": 0.5}, available=available) == {"cash": Decimal("60.5")}
    assert code(second.reserve, {"cash": 60}, available=available) == "RESOURCE_CONTENTION"
    assert code(second.reserve, {"cash": 101}, available=available, wait=9) == "RESOURCE_INSUFFICIENT"
    assert code(second.reserve, {"cash": 1, "desk": 3}, available={**available, "desk": 2}) == "RESOURCE_INSUFFICIENT"
    assert second.reserve({"cash": 40}, available=available) == {"cash": Decimal("40")}
    assert first.release() == ["cash"]
    assert second.release("other") == []
    first.close()
    with pytest.raises(Refused):
        first.reserve({"cash": 1}, available=available)


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf"), True, Decimal("NaN")])
def test_an_amount_is_finite_and_not_negative(keeper: Keeper, amount: float) -> None:
    with pytest.raises(ValueError, match="cash"):
        keeper.flow("bot").reserve({"cash": amount}, available={"cash": 100})


def test_eight_threads_at_once_get_what_is_there(keeper: Keeper) -> None:
    flows = [keeper.flow("bot") for _ in range(8)]
    taken: list[Flow] = []

    def take(flow: Flow) -> None:
        try:
            flow.reserve({"cash": 40}, available={"cash": 100})
            taken.append(flow)
        except Refused:
            pass

    threads = [threading.Thread(target=take, args=(flow,)) for flow in flows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 2


def test_who_waits_gets_what_is_released(keeper: Keeper) -> None:
    first, second = keeper.flow("bot"), keeper.flow("bot")
    first.reserve({"cash": 100}, available={"cash": 100})
    freed = threading.Timer(0.2, first.release)
    freed.start()
    assert second.reserve({"cash": 100}, available={"cash": 100}, wait=30) == {"cash": Decimal("100")}
    freed.join()


def test_notes_are_in_the_timeline(keeper: Keeper) -> None:
    flow = keeper.flow("bot")
    flow.note("PROPOSAL_ACCEPT", {"price": Decimal("12.5"), "by": None})
    flow.close()
    flow.note("any name at all")
    noted = [entry for entry in flow.timeline()["timeline"] if entry["kind"] == "note"]
    assert [(entry["name"], entry["details"]) for entry in noted] == [
        ("PROPOSAL_ACCEPT", {"price": Decimal("12.5"), "by": None}),
        ("any name at all", {}),
    ]
    assert code(flow.note, "LARGE", {"text": "x" * 20_000}) == "PARAM_INVALID"


def test_awaited(keeper: Keeper) -> None:
    async def all_of_it() -> list[str]:
        flow = await keeper.flow_async("bot")
        question = await flow.ask_async("unsure")
        assert question.id
        await flow.reserve_async({"cash": 1}, available={"cash": 1})
        await flow.note_async("SEEN")
        return await flow.release_async()

    assert asyncio.run(all_of_it()) == ["cash"]


def test_a_contract_of_the_reference_is_imported(tmp_path: Path) -> None:
    made = writkeeper.import_contract({"agent_id": "trader", "allowed_policy_types": ["BUY"], "max_order_size": 100})
    with writkeeper.open("memory:", contract=made.text) as keeper:
        verdicts = [
            keeper.decide(agent="trader", action="BUY", params={"order_value": value}).verdict for value in (100, 101)
        ]
    assert verdicts == ["ACCEPT", "REJECT"]
    with pytest.raises(ValueError, match="hard_stop"):
        writkeeper.import_contract({"agent_id": "trader", "allowed_policy_types": ["BUY"], "hard_stop": True})
