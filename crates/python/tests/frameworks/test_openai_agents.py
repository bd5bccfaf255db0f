"""OpenAI Agents with a scripted model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, RunConfig, Runner, function_tool
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
import pages
from story import CONTRACT, Call, Shop, check, check_draft, said

import writkeeper
from writkeeper import Guard
from writkeeper.openai_agents import guard_tools


class Scripted(Model):
    """Makes one call after the other, and keeps what it reads."""

    def __init__(self, calls: list[Call]) -> None:
        self.calls = calls
        self.turn = 0
        self.read: list[str] = []

    async def get_response(self, system_instructions: Any, input: Any, *more: Any, **named: Any) -> ModelResponse:
        if isinstance(input, list):
            outputs = [item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
            self.read = [str(item["output"]) for item in outputs]
        output: Any
        if self.turn < len(self.calls):
            name, args = self.calls[self.turn]
            output = ResponseFunctionToolCall(
                call_id=f"call-{self.turn}", name=name, arguments=json.dumps(args), type="function_call"
            )
        else:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            output = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        self.turn += 1
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *more: Any, **named: Any) -> Any:
        raise NotImplementedError


def drive(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    tools: list[Any] = [function_tool(tool) for tool in shop.tools]
    model = Scripted(calls)
    agent = Agent(name="shop", tools=guard_tools(guard, tools) if guard else tools, model=model)
    asyncio.run(Runner.run(agent, "help me", run_config=RunConfig(tracing_disabled=True)))
    return model.read


@pytest.mark.parametrize("awaited", [False, True])
def test_story(tmp_path: Path, awaited: bool) -> None:
    check(drive, tmp_path, awaited=awaited)


def test_what_raises_reaches_the_model_as_the_tool_says() -> None:
    with writkeeper.open("memory:", contract="agent: bot\nactions: { refund: { params: { order: text, amount: number } } }\n") as keeper:
        shop = Shop()
        read = drive(keeper.guard("bot"), shop, [("refund", {"order": "boom", "amount": 5})])
        assert "error" in read[0].lower(), "the framework's own words for a tool that failed"
        assert [intent.state for intent in keeper.intents()] == ["IN_DOUBT"]


def test_a_tool_that_runs_elsewhere_cannot_be_guarded() -> None:
    with writkeeper.open("memory:") as keeper, pytest.raises(TypeError):
        guard_tools(keeper.guard("bot"), [5])



def test_the_users_words_are_evidence() -> None:
    contract = CONTRACT.replace("    ask: amount <= 100\n", "    from: { order: [user, state] }\n")
    with writkeeper.open("memory:", contract=contract) as keeper:
        calls: list[Call] = [("refund", {"order": "me", "amount": 5}), ("refund", {"order": "A-2", "amount": 5})]
        paid, refused = drive(keeper.guard("refund-bot"), Shop(), calls)
        assert "paid 5" in paid and said(refused)["reasons"] == ["EVIDENCE_MISSING"]


class Twice(Scripted):
    """Makes the calls of two runs."""

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        answer = await super().get_response(*given, **named)
        if self.turn > len(self.calls):
            self.calls, self.turn = self.calls[-1:], 0
        return answer


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    # The framework's own loop for programs that have none.
    asyncio.set_event_loop(asyncio.new_event_loop())
    pages.run("python/openai-agents.md", tmp_path, model=Twice([("refund", call) for call in pages.CALLS]))
    asyncio.get_event_loop().close()


def test_a_draft_from_its_tools() -> None:
    check_draft([function_tool(tool) for tool in Shop().tools])
