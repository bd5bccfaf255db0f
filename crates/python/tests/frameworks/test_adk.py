"""Google ADK with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import types
import pages
from story import CONTRACT, Call, Shop, check, check_draft, said

import writkeeper
from writkeeper import Guard
from writkeeper.adk import GuardPlugin


class Scripted(BaseLlm):
    calls: list[Any]
    turn: int = 0

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        if self.turn < len(self.calls):
            name, args = self.calls[self.turn]
            part = types.Part(function_call=types.FunctionCall(id=f"call-{self.turn}", name=name, args=args))
        else:
            part = types.Part(text="done")
        self.turn += 1
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def drive(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    async def run() -> list[str]:
        agent = LlmAgent(name="shop", model=Scripted(model="scripted", calls=calls), tools=list(shop.tools))
        app = App(name="shop", root_agent=agent, plugins=[GuardPlugin(guard)] if guard else [])
        events = await InMemoryRunner(app=app).run_debug("help me", quiet=True)
        answers = [answer for event in events for answer in event.get_function_responses()]
        return [text(answer.response) for answer in answers]

    return asyncio.run(run())


def text(response: Any) -> str:
    if isinstance(response, dict) and "writkeeper" in response:
        return json.dumps(response)
    return str(response)


@pytest.mark.parametrize("awaited", [False, True])
def test_story(tmp_path: Path, awaited: bool) -> None:
    check(drive, tmp_path, awaited=awaited)


def test_an_error_in_the_result_is_a_doubt() -> None:
    """ADK answers a call without its arguments with an error, and does not run the tool."""
    with writkeeper.open("memory:", contract="agent: bot\nactions: { refund: { params: { order: text } } }\n") as keeper:
        drive(keeper.guard("bot"), Shop(), [("refund", {"order": "A-1"})])
        assert [intent.state for intent in keeper.intents()] == ["IN_DOUBT"]


def test_the_users_words_are_evidence() -> None:
    contract = CONTRACT.replace("    ask: amount <= 100\n", "    from: { order: [user, state] }\n")
    with writkeeper.open("memory:", contract=contract) as keeper:
        calls: list[Call] = [("refund", {"order": "me", "amount": 5}), ("refund", {"order": "A-2", "amount": 5})]
        paid, refused = drive(keeper.guard("refund-bot"), Shop(), calls)
        assert "paid 5" in paid and said(refused)["reasons"] == ["EVIDENCE_MISSING"]


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    class Twice(Scripted):
        """Makes the calls of two runs."""

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
            async for answer in super().generate_content_async(llm_request, stream):
                if self.turn > len(self.calls):
                    self.calls, self.turn = self.calls[-1:], 0
                yield answer

    pages.run("python/adk.md", tmp_path, model=Twice(model="scripted", calls=[("refund", call) for call in pages.CALLS]))


def test_a_draft_from_its_tools() -> None:
    check_draft([FunctionTool(tool) for tool in Shop().tools])
