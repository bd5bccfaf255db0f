"""AutoGen with a scripted model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("autogen_agentchat")

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, RequestUsage
from autogen_core.tools import FunctionTool
from autogen_ext.models.replay import ReplayChatCompletionClient
import pages
from story import Call, Shop, check, check_draft

from writkeeper import Guard
from writkeeper.autogen import guard_tools


def replied(number: int, call: Call) -> CreateResult:
    made = FunctionCall(id=f"call-{number}", name=call[0], arguments=json.dumps(call[1]))
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    return CreateResult(finish_reason="function_calls", content=[made], usage=usage, cached=False)


def drive(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    async def run() -> list[str]:
        replies: list[Any] = [*(replied(number, call) for number, call in enumerate(calls)), "done"]
        info: Any = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown", "structured_output": False}
        client = ReplayChatCompletionClient(replies, model_info=info)
        tools: list[Any] = [FunctionTool(tool, description=tool.__doc__ or "") for tool in shop.tools]
        agent = AssistantAgent(
            "shop",
            model_client=client,
            tools=guard_tools(guard, tools) if guard else tools,
            max_tool_iterations=len(calls) + 1,
        )
        result = await agent.run(task="help me")
        read: list[str] = []
        for message in result.messages:
            if message.type == "ToolCallExecutionEvent":
                read += [str(one.content) for one in message.content]
        return read

    return asyncio.run(run())


@pytest.mark.parametrize("awaited", [False, True])
def test_story(tmp_path: Path, awaited: bool) -> None:
    check(drive, tmp_path, awaited=awaited)


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = [replied(number, ("refund", call)) for number, call in enumerate(pages.CALLS)]
    replies: list[Any] = [*made, "done", replied(9, ("refund", pages.CALLS[-1])), "done"]
    info: Any = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown", "structured_output": False}
    pages.run("python/autogen.md", tmp_path, model=ReplayChatCompletionClient(replies, model_info=info))


def test_a_draft_from_its_tools() -> None:
    check_draft([FunctionTool(tool, description=tool.__doc__ or "") for tool in Shop().tools])
