"""FinOps with LangChain (sample 34): the agent can only propose, and production is what the inventory says it is.

Needs `pip install 'writkeeper[langchain]'`. Run it with `python finops.py`; the model is scripted, so nothing is called.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

import writkeeper
from writkeeper.langchain import GuardMiddleware

CONTRACT = """
agent: finops
validators: { inventory: { function: inventory } }
actions:
  stop_instance:
    once: "stop:{instance}"
    params: { instance: text, environment: text, monthly_usd: number }
    allow: monthly_usd <= 1000
    validators: [inventory]
"""
INVENTORY = {"i-dev-1": "dev", "i-stage-7": "staging", "i-web-1": "prod"}


class Scripted(GenericFakeChatModel):
    """A model that makes the calls it is told to."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def run(guarded: bool = True) -> tuple[list[str], list[str]]:
    """What the model read after each call, and which instances stopped."""
    stopped: list[str] = []

    @tool
    def stop_instance(instance: str, environment: str, monthly_usd: float) -> str:
        """Stops an instance."""
        stopped.append(instance)
        return f"stopped {instance}"

    claims = [("i-dev-1", "dev"), ("i-stage-7", "staging"), ("i-web-1", "dev"), ("i-none", "dev")]
    calls = [
        AIMessage(
            "",
            tool_calls=[
                {
                    "name": "stop_instance",
                    "args": {"instance": instance, "environment": claimed, "monthly_usd": 120.0},
                    "id": f"call-{number}",
                }
            ],
        )
        for number, (instance, claimed) in enumerate(claims)
    ]
    with writkeeper.open("memory:", contract=CONTRACT) as keeper:

        @keeper.validator("inventory")
        def inventory(proposal: Any) -> str | None:
            """Asked before every decision: what the model says about an instance counts for nothing."""
            known = INVENTORY.get(proposal["params"]["instance"])
            if known is None:
                return "no such instance"
            return "the instance is in production" if known == "prod" else None

        middleware: Any = [GuardMiddleware(keeper.guard("finops"))] if guarded else []
        agent = create_agent(Scripted(messages=iter([*calls, AIMessage("done")])), [stop_instance], middleware=middleware)
        result = agent.invoke({"messages": [("user", "stop what nobody uses")]})
    read = [str(message.content) for message in result["messages"] if isinstance(message, ToolMessage)]
    return read, stopped


if __name__ == "__main__":
    for line in run()[0]:
        print(line)
