"""Refunds with CrewAI (sample 35): category, window and amount, from a form or from a letter.

Needs `pip install 'writkeeper[crewai]'`. Run it with `python crew_refunds.py`; the model is scripted.
"""

from __future__ import annotations

import json
import re
from typing import Any

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

import writkeeper
from writkeeper.crewai import guard_tools

CONTRACT = """
agent: refund-crew
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, category: text, days: number, amount: money EUR }
    refuse:
      - { when: "category == 'gift card'", reason: CATEGORY_EXCLUDED }
      - { when: days > 30, reason: WINDOW_CLOSED }
    allow: amount <= 50
    ask: amount <= 500
approvers: [refund-desk]
"""
FORMS: list[dict[str, Any]] = [
    {"order": "A", "category": "shoes", "days": 5, "amount": 40},
    {"order": "B", "category": "shoes", "days": 5, "amount": 300},
    {"order": "C", "category": "gift card", "days": 5, "amount": 20},
    {"order": "D", "category": "shoes", "days": 45, "amount": 20},
]
LETTERS = [
    "Order E: the shoes arrived 3 days ago and do not fit, please send back my 30 EUR.",
    "Order F: the coat arrived 10 days ago with a hole in it. I want my 220 EUR.",
]


def read_letter(letter: str) -> dict[str, Any]:
    """The intake: what a letter asks for, by rules. A model may do it as well; the contract judges what it makes of it."""
    order, thing, days, amount = (
        re.search(pattern, letter)
        for pattern in (r"Order (\w+)", r"the (\w+) arrived", r"(\d+) days", r"(\d+) EUR")
    )
    assert order and thing and days and amount, "the letter does not say enough"
    return {"order": order[1], "category": thing[1], "days": int(days[1]), "amount": int(amount[1])}


class Scripted(BaseLLM):
    """A model that makes the calls it is told to, and keeps what it reads."""

    script: list[Any] = []
    turn: int = 0
    read: list[str] = []

    def call(self, messages: Any, *more: Any, **named: Any) -> Any:
        texts = [str(message.get("content")) for message in messages]
        if self.turn:
            last = [text for text in texts if "Action Input:" in text and "\nObservation:" in text][-1]
            # Reminders of the format may follow it.
            self.read.append(last.split("\nObservation:", 1)[1].strip().splitlines()[0])
        self.turn += 1
        if self.turn <= len(self.script):
            asked = json.dumps(self.script[self.turn - 1])
            return f"Thought: go on\nAction: refund\nAction Input: {asked}"
        return "Thought: I now can give a great answer\nFinal Answer: done"

    def supports_function_calling(self) -> bool:
        return False

    def supports_stop_words(self) -> bool:
        return False


def run(guarded: bool = True) -> tuple[list[str], list[str]]:
    """What the model read after each call, and what was paid."""
    paid: list[str] = []

    @tool
    def refund(order: str, category: str, days: int, amount: float) -> str:
        """Pays money back for an order."""
        paid.append(order)
        return f"paid {amount} for {order}"

    script = [*FORMS, *(read_letter(letter) for letter in LETTERS)]
    model = Scripted(model="scripted", script=script, read=[])
    with writkeeper.open("memory:", contract=CONTRACT) as keeper:
        tools: Any = guard_tools(keeper.guard("refund-crew"), [refund]) if guarded else [refund]
        agent = Agent(
            role="refunds", goal="help", backstory="a shop", llm=model, tools=tools, max_iter=len(script) + 3,
            max_retry_limit=0,
        )  # fmt: skip
        task = Task(description="refund what is due", expected_output="done", agent=agent)
        Crew(agents=[agent], tasks=[task], verbose=False).kickoff()
    return model.read, paid


if __name__ == "__main__":
    for line in run()[0]:
        print(line)
