"""CrewAI with a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
import runpy
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
pytest.importorskip("crewai")

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import BaseTool
from crewai.tools import tool as make_tool
import pages
from story import CONTRACT, Call, Shop, check, check_draft, said

import writkeeper
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


def test_the_refunds_example() -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "crew_refunds.py"))
    read, paid = example["run"]()
    assert paid == ["A", "E"]
    refused = {letter: said(text)["reasons"] for letter, text in zip("ABCDEF", read) if "writkeeper" in text}
    escalated = ["NEEDS_APPROVAL"]
    assert refused == {"B": escalated, "C": ["CATEGORY_EXCLUDED"], "D": ["WINDOW_CLOSED"], "F": escalated}
    assert example["run"](guarded=False)[1] == list("ABCDEF"), "without the guard everything is paid"


def test_the_name_of_an_action_is_one_that_a_contract_can_have() -> None:
    from writkeeper.crewai import _action

    for name, action in (("refund", "refund"), ("Issue Refund", "issue_refund"), ("Search the web!", "search_the_web_")):
        assert _action(name) == action


class Plain(BaseTool):
    name: str = "refund"
    description: str = "Pays money back."
    runs: list[str] = []

    def _run(self, order: str, amount: float) -> str:
        self.runs.append(order)
        return "paid"


@pytest.mark.parametrize("made_of", ["function", "coroutine", "class"])
def test_an_awaited_tool_runs_once(made_of: str) -> None:
    shop = Shop(awaited=made_of == "coroutine")
    plain = Plain()
    with writkeeper.open("memory:", contract=CONTRACT) as keeper:
        inner = plain if made_of == "class" else make_tool(shop.tools[0])
        [guarded] = guard_tools(keeper.guard("refund-bot"), [inner])
        assert "paid" in asyncio.run(guarded.arun(order="A-1", amount=5))
        assert len(plain.runs) + len(shop.paid) == 1
        assert [intent.state for intent in keeper.intents()] == ["SUCCEEDED"]


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    class Twice(Scripted):
        """Makes the calls of two runs, and keeps the first line of what it reads."""

        def call(self, messages: Any, *more: Any, **named: Any) -> Any:
            told = super().call(messages, *more, **named)
            self.read[:] = [text.strip().splitlines()[0] for text in self.read]
            if self.turn > len(self.script):
                self.script, self.turn = self.script[-1:], 0
            return told

    model = Twice(model="scripted", script=[("refund", call) for call in pages.CALLS], read=[])
    pages.run("python/crewai.md", tmp_path, model=model)


def test_a_draft_from_its_tools() -> None:
    check_draft([make_tool(tool) for tool in Shop().tools])
