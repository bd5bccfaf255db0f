"""CrewAI with a scripted model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
pytest.importorskip("crewai")

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool as make_tool
from story import Call, Shop, check

from writkeeper import Guard
from writkeeper.crewai import guard_tools


class Scripted(BaseLLM):
    """Makes one call after the other in CrewAI's own text form, and keeps what it reads."""

    script: list[Any] = []
    turn: int = 0
    read: list[str] = []

    def call(self, messages: Any, *more: Any, **named: Any) -> Any:
        texts = [str(message.get("content")) for message in messages] if isinstance(messages, list) else [messages]
        if self.turn:
            # The result of the last action stands behind it; reminders of the format may follow.
            last = [text for text in texts if "Action Input:" in text and "\nObservation:" in text][-1]
            self.read.append(last.split("\nObservation:", 1)[1])
        self.turn += 1
        if self.turn <= len(self.script):
            name, args = self.script[self.turn - 1]
            return f"Thought: go on\nAction: {name}\nAction Input: {json.dumps(args)}"
        return "Thought: I now can give a great answer\nFinal Answer: done"

    def supports_function_calling(self) -> bool:
        return False

    def supports_stop_words(self) -> bool:
        return False


def drive(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    tools: list[Any] = [make_tool(tool) for tool in shop.tools]
    model = Scripted(model="scripted", script=calls, read=[])
    agent = Agent(
        role="shop",
        goal="help",
        backstory="a shop",
        llm=model,
        tools=guard_tools(guard, tools) if guard else tools,
        max_iter=len(calls) + 3,
        max_retry_limit=0,
    )
    task = Task(description="help me", expected_output="done", agent=agent)
    Crew(agents=[agent], tasks=[task], verbose=False).kickoff()
    return model.read


@pytest.mark.parametrize("awaited", [False, True])
def test_story(tmp_path: Path, awaited: bool) -> None:
    check(drive, tmp_path, awaited=awaited)
