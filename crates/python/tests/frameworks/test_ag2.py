"""AG2 with a scripted model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ag2")

from ag2 import Agent
from ag2 import tool as make_tool
from ag2.events import ToolCallEvent, ToolResultEvent
from ag2.middleware import BaseMiddleware
from ag2.testing import TestConfig
import pages
from story import Call, Shop, check, check_draft

from writkeeper import Guard
from writkeeper.ag2 import guard_middleware


def drive(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    read: list[str] = []

    class Watch(BaseMiddleware):
        """Outermost: sees what the model will read."""

        async def on_tool_execution(self, call_next: Any, event: Any, context: Any) -> Any:
            result = await call_next(event, context)
            if isinstance(result, ToolResultEvent):
                read.append("\n".join(str(getattr(part, "content", part)) for part in result.result.parts))
            return result

    def watch(event: Any, context: Any) -> Any:
        return Watch(event, context)

    script: list[Any] = [
        ToolCallEvent(name, id=f"call-{number}", arguments=json.dumps(args))
        for number, (name, args) in enumerate(calls)
    ]
    middleware: list[Any] = [watch, *([guard_middleware(guard)] if guard else [])]
    agent: Any = Agent("shop", config=TestConfig(*script, "done"), tools=list(shop.tools), middleware=middleware)
    asyncio.run(agent.ask("help me"))
    return read


@pytest.mark.parametrize("awaited", [False, True])
def test_story(tmp_path: Path, awaited: bool) -> None:
    check(drive, tmp_path, awaited=awaited)


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read: list[str] = []

    class Watch(BaseMiddleware):
        async def on_tool_execution(self, call_next: Any, event: Any, context: Any) -> Any:
            result = await call_next(event, context)
            read.append("\n".join(str(getattr(part, "content", part)) for part in result.result.parts))
            return result

    def call(number: int, args: dict[str, Any]) -> Any:
        return ToolCallEvent("refund", id=f"call-{number}", arguments=json.dumps(args))

    first = [call(number, args) for number, args in enumerate(pages.CALLS)]
    again: list[Any] = [call(9, pages.CALLS[-1]), "done"]

    class Twice(TestConfig):
        """Every run starts its script from the top; the second has another one."""

        def create(self) -> Any:
            client, self.events = super().create(), tuple(again)
            return client

    config = Twice(*first, "done")
    pages.run("python/ag2.md", tmp_path, config=config, read=read, watch=lambda event, context: Watch(event, context))


def test_a_draft_from_its_tools() -> None:
    check_draft([make_tool(tool) for tool in Shop().tools])
