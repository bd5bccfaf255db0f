"""The keeper: deciding, asking, reporting, proving."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import os
from decimal import Decimal
from pathlib import Path

import pytest

import writkeeper
from writkeeper import Keeper, _shared


def propose(keeper: Keeper, order: str, amount: object, **more: object) -> writkeeper.Decision:
    return keeper.decide(agent="refund-bot", action="refund", params={"order": order, "amount": amount}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("amount", "verdict", "reasons"),
    [
        (12.5, "ACCEPT", ("VALIDATION_PASSED",)),
        (Decimal("25.00"), "ACCEPT", ("VALIDATION_PASSED",)),
        (Decimal("25.01"), "ESCALATE", ("NEEDS_APPROVAL",)),
        (100, "ESCALATE", ("NEEDS_APPROVAL",)),
        (101, "REJECT", ("NOT_ALLOWED",)),
        (-1, "REJECT", ("LIMIT_BELOW_MINIMUM",)),
        ("much", "REJECT", ("PARAM_INVALID",)),
        (2**60, "REJECT", ("NUMBER_NOT_EXACT",)),
    ],
)
def test_verdicts(keeper: Keeper, amount: object, verdict: str, reasons: tuple[str, ...]) -> None:
    decision = propose(keeper, "A-1", amount)
    assert (decision.verdict, decision.reasons) == (verdict, reasons)
    assert decision.accepted == (verdict == "ACCEPT")
    assert json.loads(decision.line)["verdict"] == verdict
    assert (decision.intent is not None) == decision.accepted
    assert (decision.question is not None) == (verdict == "ESCALATE")


def test_a_refusal_says_why_and_what_to_do(keeper: Keeper) -> None:
    decision = propose(keeper, "A-1", 5000)
    with pytest.raises(writkeeper.Refused) as caught:
        decision.raise_for_refusal()
    error = caught.value
    assert error.code == "NOT_ALLOWED" and "params.amount <= 25" in error.message and error.fix
    assert error.refusal.as_dict()["writkeeper"]["proposal"] == decision.id
    assert propose(keeper, "A-2", 5).raise_for_refusal().accepted


def test_the_same_key_gets_the_same_answer(keeper: Keeper) -> None:
    first = propose(keeper, "A-1", 5, idempotency_key="k-1")
    again = propose(keeper, "A-1", 5, idempotency_key="k-1")
    assert first.line == again.line and first.fresh and not again.fresh
    assert propose(keeper, "A-1", 6, idempotency_key="k-1").reasons == ("IDEMPOTENCY_KEY_REUSED",)
    assert propose(keeper, "A-1", 5).reasons == ("IN_PROGRESS",)


def test_a_person_answers(keeper: Keeper) -> None:
    asked = propose(keeper, "A-1", 60)
    assert asked.question is not None
    [question] = keeper.questions()
    assert (question.id, question.action, question.params["amount"]) == (asked.question.id, "refund", 60)
    with pytest.raises(writkeeper.Refused) as caught:
        keeper.answer(question, "approve", by="mallory", because="x")
    assert caught.value.code == "APPROVER_NOT_ENTITLED"
    with pytest.raises(writkeeper.Refused):
        keeper.answer(question, "approve", by="ann", because="x", digest="0" * 64)
    intent = keeper.answer(question.id, "approve", by="ann", because="late", digest=question.digest)
    assert intent is not None and intent.params["amount"] == 60
    assert keeper.questions() == []
    assert keeper.question(asked.question).state == "OVERRIDDEN"
    with pytest.raises(writkeeper.Refused):
        keeper.answer(question, "deny", by="ann", because="on second thought")


def test_a_person_changes_the_params(keeper: Keeper) -> None:
    asked = propose(keeper, "A-1", 60)
    assert asked.question is not None
    intent = keeper.answer(asked.question, "modify", by="ann", because="half", instead={"amount": Decimal("20.5")})
    assert intent is not None and intent.params == {"order": "A-1", "amount": Decimal("20.5")}
    for words in [{"decision": "modify"}, {"decision": "approve", "instead": {"amount": 1}}, {"decision": "maybe"}]:
        other = propose(keeper, str(words), 61).question
        assert other is not None
        with pytest.raises(writkeeper.Invalid):
            keeper.answer(other, by="ann", because="x", **words)  # type: ignore[arg-type]


def test_what_became_of_an_intent(keeper: Keeper) -> None:
    intent = propose(keeper, "A-1", 5).intent
    assert intent is not None and keeper.intent(intent).state == "HANDED_OUT"
    assert keeper.report(intent, "succeeded", result={"refund": "r-77"}) == "SUCCEEDED"
    assert keeper.report(intent, "succeeded") == "SUCCEEDED", "the same again is no news"
    read = keeper.intent(intent.id[:18])
    assert read.state == "SUCCEEDED" and read.result is not None
    assert json.loads(read.result["body"]["text"]) == {"refund": "r-77"}
    assert propose(keeper, "A-1", 5).reasons == ("ALREADY_DONE",)
    assert [one.id for one in keeper.intents("SUCCEEDED")] == [intent.id]


def test_a_doubt_is_resolved_by_a_person(keeper: Keeper) -> None:
    intent = propose(keeper, "A-1", 5).intent
    assert intent is not None
    assert keeper.report(intent, "doubt", detail="no answer") == "IN_DOUBT"
    [question] = keeper.questions()
    assert question.kind == "doubt"
    with pytest.raises(writkeeper.Invalid):
        keeper.answer(question, "approve", by="ann", because="x")
    keeper.answer(question, "did_not", by="ann", because="their list has none")
    assert keeper.intent(intent).state == "ABANDONED"
    assert propose(keeper, "A-1", 5).accepted


def test_where_a_value_came_from_is_this_programs_word(keeper: Keeper) -> None:
    def pay(order: str, **more: object) -> tuple[str, ...]:
        params = {"order": order, "amount": 5, "iban": "DE89"}
        return keeper.decide(agent="refund-bot", action="refund", params=params, **more).reasons  # type: ignore[arg-type]

    assert pay("A-1") == ("EVIDENCE_MISSING",)
    assert pay("A-2", provenance={"iban": "tool"}) == ("EVIDENCE_UNTRUSTED",)
    assert pay("A-3", provenance={"iban": "user"}) == ("VALIDATION_PASSED",)
    claimed = '{"agent":"refund-bot","action":"refund","params":{"order":"B","amount":5,"iban":"DE"},"provenance":{"iban":"user"}}'
    assert "PROVENANCE_CLAIMED" in keeper.decide_json(claimed).reasons
    assert keeper.decide_json(claimed, trust_provenance=True).accepted


def test_flows_and_state(keeper: Keeper) -> None:
    with keeper.flow("refund-bot") as flow:
        assert flow.decide(action="refund", params={"order": "A-1", "amount": 5}).accepted
        flow.remember({"ticket": 7})
        keeper.state.merge({"orders/A-1": {"total": Decimal("12.5")}})
        snapshot = flow.snapshot(["orders/A-1"])
        assert snapshot.state["orders/A-1"] == {"total": Decimal("12.5")}
        child = flow.child()
    assert flow.decide(action="look", params={"order": "A-1"}).reasons == ("FLOW_CLOSED",)
    assert flow.timeline()["state"] == "CLOSED"
    assert {row["flow"] for row in keeper.flows("refund-bot")} >= {flow.id, child.id}
    with pytest.raises(KeyError), child:
        raise KeyError("x")
    assert child.timeline()["state"] == "ABORTED"
    assert keeper.state.merge({"orders/A-1": 2}, expect={"orders/A-1": 1}) == {"orders/A-1": 2}
    with pytest.raises(writkeeper.Refused) as caught:
        keeper.state.merge({"orders/A-1": 3}, expect={"orders/A-1": 1})
    assert caught.value.code == "STATE_CONFLICT"
    assert keeper.state.get("nothing", 5) == 5 and keeper.state.version("orders/A-1") == 2


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda keeper: keeper.enrol("agent: 5\n"), writkeeper.ContractInvalid, "CONTRACT_INVALID"),
        (lambda keeper: keeper.enrol("nowhere.yaml"), writkeeper.Invalid, "INVALID_DATA"),
        (lambda keeper: keeper.intent("zz"), writkeeper.NotFound, "INTENT_UNKNOWN"),
        (lambda keeper: keeper.question("zz"), writkeeper.NotFound, "APPROVAL_UNKNOWN"),
        (lambda keeper: keeper.agent("refund-pot"), writkeeper.NotFound, "AGENT_NOT_REGISTERED"),
        (lambda keeper: keeper.explain("NOT_ALOWED"), writkeeper.Invalid, "USAGE"),
        (lambda keeper: keeper.report("zz", "maybe"), writkeeper.Invalid, "USAGE"),
        (lambda keeper: keeper.flow("nobody-knows"), writkeeper.Refused, "AGENT_NOT_REGISTERED"),
    ],
)
def test_errors_have_codes(keeper: Keeper, call: object, kind: type[writkeeper.WritkeeperError], code: str) -> None:
    with pytest.raises(kind) as caught:
        call(keeper)  # type: ignore[operator]
    assert caught.value.code == code and caught.value.message


def test_a_contract_error_has_its_place(keeper: Keeper) -> None:
    with pytest.raises(writkeeper.ContractInvalid) as caught:
        keeper.enrol("agent: bot\nactions:\n  pay: { alow: true }\n")
    [diagnostic] = caught.value.diagnostics
    assert diagnostic["line"] == 3 and "alow" in diagnostic["message"]


def test_what_can_be_proved(store: Path, contract: str, tmp_path: Path) -> None:
    with writkeeper.open(store, contract=contract) as keeper:
        decision = propose(keeper, "A-1", 5)
        assert "refund-bot" in keeper.receipt(decision) or len(keeper.receipt(decision)) > 100
        export = tmp_path / "kept.ledger"
        assert keeper.export(export) >= 3
    assert writkeeper.verify(export)["whole"] is True
    export.write_text(export.read_text().replace('"amount":5', '"amount":6'))
    assert writkeeper.verify(export)["damage"]
    with writkeeper.open("memory:") as other, pytest.raises(writkeeper.Invalid):
        other.receipt("x")


def test_one_store_per_path(store: Path, contract: str) -> None:
    first = writkeeper.open(store, contract=contract)
    second = writkeeper.open(str(store))
    assert propose(first, "A-1", 5).accepted
    first.close()
    first.close()
    with pytest.raises(writkeeper.Closed):
        propose(first, "A-2", 5)
    assert propose(second, "A-1", 5).reasons == ("IN_PROGRESS",)
    second.close()
    with writkeeper.open(store) as third:
        assert propose(third, "A-2", 5).accepted
    with pytest.raises(writkeeper.NotFound):
        writkeeper.open(store.with_name("nowhere.db"), create=False)
    with pytest.raises(writkeeper.Invalid):
        writkeeper.open(store, contract=contract.replace("25", "30"))


def test_who_forgets_to_close(store: Path, contract: str) -> None:
    keeper = writkeeper.open(store, contract=contract)
    native = keeper._native
    propose(keeper, "A-1", 5)
    del keeper
    gc.collect()
    assert not native.is_open and os.path.realpath(store) not in _shared._stores


def test_a_draft_is_closed(keeper: Keeper) -> None:
    def refund(order: str, amount: float, note: str | None = None) -> str:
        """Pays money back."""
        return order

    drafted = keeper.draft([refund, {"name": "look", "description": "Reads an order", "parameters": {}}], agent="shop")
    assert "agent: shop" in drafted and "refund" in drafted and "TODO" in drafted
    with writkeeper.open("memory:", contract=drafted) as other:
        refused = other.decide(agent="shop", action="refund", params={"order": "A-1", "amount": 5})
        assert not refused.accepted


@pytest.mark.parametrize("kind", [writkeeper.Keeper, writkeeper.Flow, writkeeper.State])
def test_what_may_wait_has_a_twin_with_the_same_arguments(kind: type) -> None:
    """All but what only registers or looks nothing up."""
    at_once = {"executor", "validator", "guard", "explain", "draft", "version"}
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if name.startswith("_") or name.endswith("_async") or name in at_once:
            continue
        twin = getattr(kind, f"{name}_async", None)
        assert twin is not None and inspect.iscoroutinefunction(twin), name
        assert inspect.signature(twin).parameters == inspect.signature(method).parameters, name


def test_a_keeper_in_coroutines(store: Path, contract: str) -> None:
    async def run() -> None:
        async with writkeeper.open(store, contract=contract) as keeper:
            assert await keeper.people_async({"desk": ["ann"]}) == 1
            async with await keeper.flow_async("refund-bot") as flow:
                await flow.remember_async({"ticket": 7})
                params = {"order": "A-1", "amount": 60}
                decision = await flow.decide_async(action="refund", params=params)
                assert decision.question is not None
                question = await keeper.question_async(decision.question.id)
                assert (question.params["order"], (await flow.timeline_async())["flow"]) == ("A-1", flow.id)
                intent = await keeper.answer_async(question, "approve", by="ann", because="late")
                assert intent is not None
                assert await keeper.report_async(intent, "succeeded") == "SUCCEEDED"
            assert (await keeper.agent_async("refund-bot"))["status"] == "ACTIVE"
            await keeper.state.merge_async({"a": 1})
            assert await keeper.state.get_async("a") == 1
            await keeper.tick_async()

    asyncio.run(run())
