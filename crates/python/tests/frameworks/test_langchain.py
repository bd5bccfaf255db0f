"""LangChain and LangGraph with a scripted model."""

from __future__ import annotations

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool as make_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command
import pages
from story import CONTRACT, Call, Shop, check, check_draft, said

import writkeeper
from writkeeper import Guard
from writkeeper.langchain import GuardMiddleware


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def script(calls: list[Call]) -> Scripted:
    def message(number: int, call: Call) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": call[0], "args": call[1], "id": f"call-{number}"}])

    said = [message(number, call) for number, call in enumerate(calls)]
    return Scripted(messages=iter([*said, AIMessage("done")]))


def agent(guard: Guard | None, shop: Shop, calls: list[Call], **more: Any) -> Any:
    tools = [make_tool(tool) for tool in shop.tools]
    middleware = [GuardMiddleware(guard, **more.pop("options", {}))] if guard else []
    return create_agent(script(calls), tools, middleware=middleware, **more)


def read(result: Any) -> list[str]:
    return [str(message.content) for message in result["messages"] if isinstance(message, ToolMessage)]


def drive(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    return read(agent(guard, shop, calls).invoke({"messages": [("user", "help me")]}))


def drive_async(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    return read(asyncio.run(agent(guard, shop, calls).ainvoke({"messages": [("user", "help me")]})))


def test_story(tmp_path: Path) -> None:
    check(drive, tmp_path)


@pytest.mark.parametrize("awaited", [False, True])
def test_story_awaited(tmp_path: Path, awaited: bool) -> None:
    check(drive_async, tmp_path, awaited=awaited)


def drive_graph(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    """A graph of somebody's own, whose node gives what a tool raises to the model as text."""
    guarded = GuardMiddleware(guard) if guard else None
    wrap: Any = guarded and {"wrap_tool_call": guarded.wrap_tool_call, "awrap_tool_call": guarded.awrap_tool_call}
    model = script(calls)
    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([make_tool(tool) for tool in shop.tools], handle_tool_errors=True, **(wrap or {})))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return read(graph.compile().invoke({"messages": [("user", "help me")]}))


def test_story_of_a_graph(tmp_path: Path) -> None:
    check(drive_graph, tmp_path)


def test_an_interrupt_waits_for_a_person(tmp_path: Path) -> None:
    with writkeeper.open(tmp_path / "kept.db", contract=CONTRACT) as keeper:
        keeper.people({"desk": ["ann"]})
        shop = Shop()
        calls: list[Call] = [("refund", {"order": "A-1", "amount": 60})]
        options = {"interrupt": True}
        graph = agent(keeper.guard("refund-bot"), shop, calls, options=options, checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t-1"}}
        first = graph.invoke({"messages": [("user", "help me")]}, config)
        [interrupt] = first["__interrupt__"]
        assert interrupt.value["writkeeper"]["status"] == "pending" and shop.paid == []
        keeper.answer(interrupt.value["writkeeper"]["question"], "approve", by="ann", because="late")
        assert read(graph.invoke(Command(resume=True), config)) in (["paid 60 for A-1"], ["paid 60.0 for A-1"])
        assert shop.paid == [("A-1", 60)]


def test_the_users_words_are_evidence(tmp_path: Path) -> None:
    contract = CONTRACT.replace("    ask: amount <= 100\n", "    ask: amount <= 100\n    from: { order: [user, state] }\n")
    with writkeeper.open(tmp_path / "kept.db", contract=contract) as keeper:
        shop, guard = Shop(), keeper.guard("refund-bot")
        calls: list[Call] = [("refund", {"order": "A-1", "amount": 5}), ("refund", {"order": "A-2", "amount": 5})]
        result = agent(guard, shop, calls).invoke({"messages": [("user", "please refund A-1")]})
        paid, refused = read(result)
        assert "paid 5" in paid and said(refused)["reasons"] == ["EVIDENCE_MISSING"]



def test_the_finops_example() -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "finops.py"))
    read, stopped = example["run"]()
    assert stopped == ["i-dev-1", "i-stage-7"]
    assert [said(text)["reasons"] for text in read[2:]] == [["VALIDATOR_REJECTED"]] * 2
    assert "i-web-1" in example["run"](guarded=False)[1], "without the guard production stops"


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls = [("refund", call) for call in pages.CALLS]
    messages = [*script(calls).messages, *script(calls[-1:]).messages]
    pages.run("python/langchain.md", tmp_path, model=Scripted(messages=iter(messages)))


def test_a_draft_from_its_tools() -> None:
    check_draft([make_tool(tool) for tool in Shop().tools])
