"""What the keeper gives out: frozen, and fit for copies, pickles, sets and JSON. What a guard is asked may be anything."""

from __future__ import annotations

import concurrent.futures
import copy
import dataclasses
import json
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import pytest

import writkeeper
from writkeeper import Decision, Keeper, Permit, Refusal


def decided(keeper: Keeper, amount: float) -> Decision:
    return keeper.decide(agent="refund-bot", action="refund", params={"order": f"A-{amount}", "amount": amount})


def test_values_are_frozen_and_can_be_copied(keeper: Keeper) -> None:
    accepted, refused, asked = (decided(keeper, amount) for amount in (5, 5000, 60))
    assert accepted.intent is not None and asked.question is not None
    values = [accepted, refused, asked, accepted.intent, keeper.questions()[0], keeper.snapshot(), *refused.findings]
    for value in values:
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
        assert {value: 1}[copy.copy(value)] == 1
        name = dataclasses.fields(value)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, "another")
    params: Any = accepted.intent.params
    assert json.loads(json.dumps(params)) == {"order": "A-5", "amount": 5}
    with pytest.raises(TypeError, match="read-only"):
        params["amount"] = 500
    with pytest.raises(TypeError, match="read-only"):
        params.update(amount=500)
    assert dict(params) == {"order": "A-5", "amount": 5}


ERRORS = [
    writkeeper.InDoubt("i-1"),
    writkeeper.Refused(Refusal("denied", "refund", ("NOT_ALLOWED",), "too much", "ask for less", "p-1")),
    writkeeper.Closed(),
    writkeeper.ContractInvalid([]),
    writkeeper.Unavailable("nobody is there", fix="try later"),
    writkeeper.NotFound("nothing has this id"),
    writkeeper.Invalid("no outcome", code="USAGE", fix="look"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_come_whole_from_another_process(error: writkeeper.WritkeeperError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


def _refused(location: str) -> None:
    with writkeeper.open(location) as keeper:
        decided(keeper, 5000).raise_for_refusal()


def test_a_refusal_is_raised_through_a_pool(store: Path, contract: str) -> None:
    writkeeper.open(store, contract=contract).close()
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(writkeeper.Refused) as refused:
            pool.submit(_refused, str(store)).result()
    assert refused.value.refusal.reasons == ("NOT_ALLOWED",)


@pytest.mark.parametrize("args", [None, 5, "text", [1], {1: 2}, {"order": object()}, {"order": "\ud800"}])
def test_arguments_that_are_none(keeper: Keeper, args: Any) -> None:
    asked = keeper.guard("refund-bot").ask("refund", args)
    assert isinstance(asked, Refusal) and (asked.status, asked.reasons) == ("denied", ("PARAM_INVALID",))


@pytest.mark.parametrize("name", [None, 5, b"refund", "\ud800", "\x00", "x" * 10_000])
def test_names_that_are_none(keeper: Keeper, name: Any) -> None:
    asked = keeper.guard("refund-bot").ask(name, {"order": "A-1", "amount": 1})
    assert isinstance(asked, Refusal) and asked.status == "denied"
    json.loads(asked.as_json().encode())


def test_a_call_may_be_named_by_anything(keeper: Keeper) -> None:
    guard = keeper.guard("refund-bot")
    for call in (7, "\ud800\x00" * 500, b"call"):
        name: Any = call
        first = guard.ask("look", {"order": "A-1"}, call_id=name)
        again = guard.ask("look", {"order": "A-1"}, call_id=name)
        assert isinstance(first, Permit) and isinstance(again, Permit) and first.proposal == again.proposal
