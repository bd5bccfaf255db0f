"""Pydantic AI with a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Tool, Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset
import pages
from story import CONTRACT, Call, Shop, check, check_draft, said

import writkeeper
from writkeeper import Guard
from writkeeper.pydantic_ai import GuardCapability, GuardToolset


def parts(messages: Any) -> list[str]:
    found = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return [part.model_response_str() for part in found]


def scripted(calls: list[Call]) -> FunctionModel:
    async def answer(messages: Any, info: Any) -> ModelResponse:
        made = sum(isinstance(part, ToolCallPart) for message in messages for part in message.parts)
        if made < len(calls):
            name, args = calls[made]
            return ModelResponse(parts=[ToolCallPart(name, args, tool_call_id=f"call-{made}")])
        return ModelResponse(parts=[TextPart("done")])

    return FunctionModel(answer)


def drive(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    capabilities: list[Any] = [GuardCapability(guard)] if guard else []
    agent: Any = Agent(scripted(calls), tools=shop.tools, capabilities=capabilities)
    return parts(asyncio.run(agent.run("help me")).all_messages())


def drive_toolset(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    toolset: Any = FunctionToolset(shop.tools)
    agent: Any = Agent(scripted(calls), toolsets=[GuardToolset(toolset, guard=guard) if guard else toolset])
    return parts(asyncio.run(agent.run("help me")).all_messages())


@pytest.mark.parametrize("awaited", [False, True])
def test_story(tmp_path: Path, awaited: bool) -> None:
    check(drive, tmp_path, awaited=awaited)


def test_story_of_a_toolset(tmp_path: Path) -> None:
    check(drive_toolset, tmp_path)


def test_a_deferred_call_waits_for_a_person(tmp_path: Path) -> None:
    with writkeeper.open(tmp_path / "kept.db", contract=CONTRACT) as keeper:
        keeper.people({"desk": ["ann"]})
        shop = Shop()
        agent: Any = Agent(
            scripted([("refund", {"order": "A-1", "amount": 60})]),
            tools=shop.tools,
            capabilities=[GuardCapability(keeper.guard("refund-bot"), defer=True)],
            output_type=[str, DeferredToolRequests],
        )
        first = asyncio.run(agent.run("help me"))
        [call] = first.output.approvals
        told = first.output.metadata[call.tool_call_id]["writkeeper"]
        assert told["status"] == "pending" and shop.paid == []
        keeper.answer(told["question"], "approve", by="ann", because="late")
        results = DeferredToolResults(approvals={call.tool_call_id: True})
        second = asyncio.run(agent.run(message_history=first.all_messages(), deferred_tool_results=results))
        assert parts(second.all_messages()) in (["paid 60 for A-1"], ["paid 60.0 for A-1"]) and shop.paid == [("A-1", 60)]


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = [ToolCallPart("refund", call, tool_call_id=f"call-{number}") for number, call in enumerate(pages.CALLS)]
    again = ToolCallPart("refund", pages.CALLS[-1], tool_call_id="call-9")
    turns: Any = iter([*made, TextPart("done"), again, TextPart("done")])
    model = FunctionModel(lambda messages, info: ModelResponse(parts=[next(turns)]))
    pages.run("python/pydantic-ai.md", tmp_path, model=model)


class Wanted(BaseModel):
    order: str
    amount: float


def test_a_tool_that_takes_a_model(tmp_path: Path) -> None:
    """The contract judges its fields, and a person's change of them makes another one."""
    contract = """
agent: bot
actions:
  refund:
    params:
      type: object
      additionalProperties: false
      required: [wanted]
      properties:
        wanted:
          type: object
          additionalProperties: false
          required: [order, amount]
          properties: { order: { type: string, maxLength: 40 }, amount: { type: number } }
    allow: params.wanted.amount <= 25
    ask: params.wanted.amount <= 100
approvers: [desk]
"""
    paid: list[Wanted] = []

    def refund(wanted: Wanted, note: str | None = None) -> str:
        paid.append(wanted)
        return "paid"

    with writkeeper.open("memory:", contract=contract) as keeper:
        keeper.people({"desk": ["ann"]})
        guard = keeper.guard("bot")

        def ask(amount: float) -> list[str]:
            calls: list[Call] = [("refund", {"wanted": {"order": "A-1", "amount": amount}})]
            agent: Any = Agent(scripted(calls), tools=[refund], capabilities=[GuardCapability(guard)])
            return parts(asyncio.run(agent.run("help me")).all_messages())

        assert ask(5) == ["paid"] and paid == [Wanted(order="A-1", amount=5)]
        pending = said(ask(60)[0])
        changed = {"wanted": {"order": "A-1", "amount": 20}}
        keeper.answer(pending["question"], "modify", by="ann", because="half", instead=changed)
        assert ask(60) == ["paid"] and paid[1:] == [Wanted(order="A-1", amount=20)]


def test_a_draft_from_its_tools() -> None:
    check_draft([Tool(tool) for tool in Shop().tools])
