"""The guard: nothing runs that was not permitted, once, with what was permitted."""

from __future__ import annotations

import asyncio
import functools
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import writkeeper
from writkeeper import DidNotHappen, Guard, Keeper, Permit, Refusal


class Bank:
    """What really happened."""

    def __init__(self) -> None:
        self.paid: list[tuple[str, Any]] = []

    def refund(self, order: str, amount: float) -> str:
        self.paid.append((order, amount))
        if order.startswith("boom"):
            raise ConnectionError("no answer")
        if order.startswith("closed"):
            raise DidNotHappen("the bank is closed")
        return f"paid {amount}"


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def guard(keeper: Keeper) -> Guard:
    return keeper.guard("refund-bot")


def body(value: Any) -> dict[str, Any]:
    assert isinstance(value, dict), value
    told: dict[str, Any] = value["writkeeper"]
    return told


def tool(guard: Guard, bank: Bank) -> Any:
    return guard.tool(bank.refund)


def test_allowed_runs_once(guard: Guard, bank: Bank) -> None:
    refund = tool(guard, bank)
    assert refund("A-1", 12.5) == "paid 12.5"
    assert body(refund(order="A-1", amount=12.5))["reasons"] == ["ALREADY_DONE"]
    assert body(refund(order="A-1", amount=12))["status"] == "denied"
    assert bank.paid == [("A-1", 12.5)]
    [intent] = guard.keeper.intents()
    assert intent.state == "SUCCEEDED"
    read = guard.keeper.intent(intent)
    assert read.result is not None and read.result["body"] == {"text": '"paid 12.5"'}


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ({"order": "A-1", "amount": 5000}, "NOT_ALLOWED"),
        ({"order": "A-1", "amount": -5}, "LIMIT_BELOW_MINIMUM"),
        ({"order": "A-1", "amount": float("nan")}, "PARAM_INVALID"),
        ({"order": b"A-1", "amount": 5}, "PARAM_INVALID"),
    ],
)
def test_denied_does_not_run(guard: Guard, bank: Bank, args: dict[str, Any], reason: str) -> None:
    told = body(tool(guard, bank)(**args))
    assert told["status"] == "denied" and reason in told["reasons"] and told["action"] == "refund"
    assert told["message"] and told["fix"] and bank.paid == []


def test_a_tool_that_is_not_in_the_contract(guard: Guard) -> None:
    ran: list[int] = []
    told = body(guard.tool(lambda: ran.append(1), name="erase")())
    assert told["reasons"] == ["ACTION_NOT_ALLOWED"] and ran == []


def test_reading_runs_as_often_as_one_likes(guard: Guard) -> None:
    look = guard.tool(lambda order: order, name="look")
    assert [look(order="A-1"), look(order="A-1")] == ["A-1", "A-1"]
    assert guard.keeper.intents() == []


def test_pending_then_approved(guard: Guard, bank: Bank) -> None:
    refund, keeper = tool(guard, bank), guard.keeper
    told = body(refund(order="A-1", amount=60))
    assert told["status"] == "pending" and told["question"] and bank.paid == []
    assert body(refund(order="A-1", amount=60))["question"] == told["question"], "people are asked once"
    keeper.answer(told["question"], "approve", by="ann", because="late")
    assert refund(order="A-1", amount=60) == "paid 60"
    assert body(refund(order="A-1", amount=60))["reasons"] == ["ALREADY_DONE"]
    assert bank.paid == [("A-1", 60)]


def test_approved_for_another_guard_and_another_process(guard: Guard, bank: Bank) -> None:
    """A guard that does not remember finds what was approved by the effect key, and only for exactly that call."""
    told = body(tool(guard, bank)(order="A-1", amount=60))
    guard.keeper.answer(told["question"], "approve", by="ann", because="late")
    later = guard.keeper.guard("refund-bot")
    told = body(tool(later, bank)(order="A-1", amount=10))
    assert (told["status"], told["reasons"]) == ("denied", ["IN_PROGRESS"]), "60 were approved, not 10"
    assert tool(later, bank)(order="A-1", amount=60.0) == "paid 60.0"
    assert body(tool(guard, bank)(order="A-1", amount=60))["status"] == "denied"
    assert bank.paid == [("A-1", 60.0)]


def test_a_person_changes_the_params(guard: Guard, bank: Bank) -> None:
    refund = tool(guard, bank)
    told = body(refund(order="A-1", amount=60.5))
    guard.keeper.answer(told["question"], "modify", by="ann", because="half", instead={"amount": Decimal("20.5")})
    assert refund(order="A-1", amount=60.5) == "paid 20.5"
    assert bank.paid == [("A-1", 20.5)] and type(bank.paid[0][1]) is float


def test_a_person_says_no(guard: Guard, bank: Bank) -> None:
    refund = tool(guard, bank)
    told = body(refund(order="A-1", amount=60))
    guard.keeper.answer(told["question"], "deny", by="ann", because="it was delivered")
    told = body(refund(order="A-1", amount=60))
    assert told["status"] == "denied" and "ann said no: it was delivered" == told["message"]
    assert bank.paid == []


def test_waiting_for_a_person(keeper: Keeper, bank: Bank) -> None:
    refund = tool(keeper.guard("refund-bot", on_ask="wait", wait=20.0), bank)
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(refund(order="A-1", amount=60)))
    thread.start()
    while not keeper.questions():
        assert thread.is_alive()
    keeper.answer(keeper.questions()[0], "approve", by="ann", because="late")
    thread.join()
    assert results == ["paid 60"]
    impatient = tool(keeper.guard("refund-bot", on_ask="wait", wait=0.05), bank)
    assert body(impatient(order="A-2", amount=60))["status"] == "pending"
    with pytest.raises(ValueError):
        keeper.guard("refund-bot", on_ask="never")  # type: ignore[arg-type]


def test_what_raises_is_in_doubt(guard: Guard, bank: Bank) -> None:
    refund, keeper = tool(guard, bank), guard.keeper
    with pytest.raises(ConnectionError):
        refund(order="boom", amount=5)
    told = body(refund(order="boom", amount=5))
    assert told["status"] == "in_doubt" and len(bank.paid) == 1
    [question] = keeper.questions()
    assert question.kind == "doubt"
    keeper.answer(question, "happened", by="ann", because="it is in their list")
    assert body(refund(order="boom", amount=5))["reasons"] == ["ALREADY_DONE"]


def test_did_not_happen_is_no_doubt(guard: Guard, bank: Bank) -> None:
    refund = tool(guard, bank)
    for _ in range(2):
        with pytest.raises(DidNotHappen):
            refund(order="closed", amount=5)
    assert [intent.state for intent in guard.keeper.intents()] == ["FAILED", "FAILED"]


def test_nothing_runs_where_the_guard_cannot_judge(guard: Guard, bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    refund = tool(guard, bank)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of the guard itself")

    with monkeypatch.context() as patch:
        patch.setattr(guard, "_ask", broken)
        assert body(refund(order="A-1", amount=5))["status"] == "unavailable"
    guard.keeper.close()
    told = body(refund(order="A-1", amount=5))
    assert told["status"] == "unavailable" and told["reasons"] == ["CLOSED"] and bank.paid == []


def test_the_same_call_asked_again(guard: Guard) -> None:
    args = {"order": "A-1", "amount": 5}
    permit = guard.ask("refund", args, call_id="run-1/call-1")
    assert isinstance(permit, Permit) and permit.params == args and permit.intent and permit.key
    again = guard.ask("refund", args, call_id="run-1/call-1")
    assert isinstance(again, Refusal) and (again.status, again.reasons) == ("denied", ("IN_PROGRESS",))
    permit.done("r-77")
    permit.failed(RuntimeError("told already"))
    again = guard.ask("refund", args, call_id="run-1/call-1")
    assert isinstance(again, Refusal) and again.reasons == ("ALREADY_DONE",)
    other = guard.ask("refund", {"order": "A-2", "amount": 5}, call_id="run-1/call-1")
    assert isinstance(other, Permit), "an id that a framework uses again is no obstacle"


def test_what_is_left_empty_is_absent(guard: Guard) -> None:
    permit = guard.ask("refund", {"order": "A-1", "amount": 5, "iban": None})
    assert isinstance(permit, Permit) and permit.params == {"order": "A-1", "amount": 5, "iban": None}


def test_defaults_are_judged_too(guard: Guard) -> None:
    paid: list[Any] = []

    @guard.tool(name="refund")
    def refund(order: str, amount: float = 5000, iban: str | None = None) -> None:
        paid.append(amount)

    assert body(refund("A-1"))["reasons"] == ["NOT_ALLOWED"] and paid == []  # type: ignore[func-returns-value]
    refund("A-1", 5)
    assert paid == [5] and refund.__name__ == "refund"


def test_a_coroutine_function(guard: Guard, bank: Bank) -> None:
    @guard.tool
    async def refund(order: str, amount: float) -> str:
        return bank.refund(order, amount)

    async def story() -> None:
        assert await refund(order="A-1", amount=12.5) == "paid 12.5"
        assert body(await refund(order="A-1", amount=12.5))["reasons"] == ["ALREADY_DONE"]
        with pytest.raises(ConnectionError):
            await refund(order="boom", amount=5)
        assert body(await refund(order="boom", amount=5))["status"] == "in_doubt"

    asyncio.run(story())


def test_a_cancelled_call_is_in_doubt(guard: Guard) -> None:
    @guard.tool
    async def refund(order: str, amount: float) -> None:
        await asyncio.sleep(60)

    async def story() -> None:
        task = asyncio.create_task(refund(order="A-1", amount=5))
        while not guard.keeper.intents():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert [intent.state for intent in guard.keeper.intents()] == ["IN_DOUBT"]


def test_awaiting_a_person(keeper: Keeper, bank: Bank) -> None:
    guard = keeper.guard("refund-bot", on_ask="wait", wait=20.0)

    @guard.tool
    async def refund(order: str, amount: float) -> str:
        return bank.refund(order, amount)

    async def story() -> None:
        task = asyncio.create_task(refund(order="A-1", amount=60))
        while not (questions := await keeper.questions_async()):
            await asyncio.sleep(0.01)
        await keeper.answer_async(questions[0], "approve", by="ann", because="late")
        assert await task == "paid 60"

    asyncio.run(story())


def test_many_threads_pay_once(guard: Guard, bank: Bank) -> None:
    refund = tool(guard, bank)
    threads = [threading.Thread(target=lambda: refund(order="A-1", amount=5)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert bank.paid == [("A-1", 5)]


def test_one_approval_is_performed_once(keeper: Keeper, bank: Bank) -> None:
    """Eight guards that each remember the same pending call: one of them performs it."""
    guards = [keeper.guard("refund-bot") for _ in range(8)]
    told = [body(tool(guard, bank)(order="A-1", amount=60)) for guard in guards]
    keeper.answer(told[0]["question"], "approve", by="ann", because="late")
    barrier = threading.Barrier(8)

    def call(guard: Guard) -> None:
        barrier.wait()
        tool(guard, bank)(order="A-1", amount=60)

    threads = [threading.Thread(target=call, args=(guard,)) for guard in guards]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert bank.paid == [("A-1", 60)]


def test_a_function_that_a_contract_names(tmp_path: Path, bank: Bank) -> None:
    """With `run: { function: … }` the guard claims and marks the intent; a dead worker's claim ends in doubt."""
    contract = "agent: bot\nactions: { refund: { once: 'r:{order}', params: { order: text, amount: number }, run: { function: refund } } }\n"
    with writkeeper.open(tmp_path / "kept.db", contract=contract) as keeper:
        refund = tool(keeper.guard("bot"), bank)
        assert refund(order="A-1", amount=5) == "paid 5"
        with pytest.raises(ConnectionError):
            refund(order="boom", amount=5)
        assert {intent.state for intent in keeper.intents()} == {"SUCCEEDED", "IN_DOUBT"}


def test_what_a_worker_performs_is_not_run_here(tmp_path: Path, bank: Bank) -> None:
    contract = "agent: bot\nactions: { refund: { params: { order: text, amount: number }, run: POST http://127.0.0.1:9/x } }\n"
    with writkeeper.open(tmp_path / "kept.db", contract=contract) as keeper:
        told = body(tool(keeper.guard("bot"), bank)(order="A-1", amount=5))
        assert told["status"] == "unavailable" and bank.paid == []
        assert [intent.state for intent in keeper.intents()] == ["CANCELLED"]


def test_a_call_that_did_not_happen_is_tried_again_under_its_own_id(keeper: writkeeper.Keeper) -> None:
    guard, tries = keeper.guard("refund-bot"), 0
    for _ in range(3):
        permit = guard.ask("refund", {"order": "A-1", "amount": 5}, call_id="call-1")
        assert isinstance(permit, writkeeper.Permit)
        permit.failed(writkeeper.DidNotHappen("closed"))
        tries += 1
    permit = guard.ask("refund", {"order": "A-1", "amount": 5}, call_id="call-1")
    assert isinstance(permit, writkeeper.Permit)
    permit.done()
    again = guard.ask("refund", {"order": "A-1", "amount": 5}, call_id="call-1")
    assert isinstance(again, writkeeper.Refusal) and again.reasons == ("ALREADY_DONE",)
    assert [intent.state for intent in keeper.intents()] == ["FAILED"] * tries + ["SUCCEEDED"]


def test_what_a_tool_caught_itself_says_nothing_about_the_end(keeper: writkeeper.Keeper) -> None:
    permit = keeper.guard("refund-bot").ask("refund", {"order": "A-1", "amount": 5})
    assert isinstance(permit, writkeeper.Permit)
    here = __name__.partition(".")[0]
    with permit.listening():
        try:
            raise writkeeper.DidNotHappen("the first bank is closed")
        except writkeeper.DidNotHappen:
            pass
    assert isinstance(permit.error("failed", "framework"), RuntimeError)
    assert isinstance(permit.error("failed", here), writkeeper.DidNotHappen)


def test_a_tool_without_a_name_is_given_one(keeper: writkeeper.Keeper) -> None:
    guard = keeper.guard("refund-bot")
    look = functools.partial(lambda order, greeting: f"{greeting} {order}", greeting="hello")
    with pytest.raises(TypeError):
        guard.tool(look)
    assert guard.tool(lambda order: f"hello {order}", name="look")(order="A-1") == "hello A-1"


def test_who_asks_beside_the_one_that_runs_is_told_so(keeper: writkeeper.Keeper) -> None:
    """What runs in this very process is in progress, and nobody is told that nobody knows."""
    guard, told, barrier = keeper.guard("refund-bot"), [], threading.Barrier(8)

    def ask(number: int) -> None:
        for order in range(10):
            barrier.wait()
            asked = guard.ask("refund", {"order": f"R-{order}", "amount": 5}, call_id=f"{number}/{order}")
            barrier.wait()
            told.append("ran" if isinstance(asked, Permit) else asked.status)
            if isinstance(asked, Permit):
                asked.done()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(told)) == ["denied", "ran"] and told.count("ran") == 10
