"""LangChain and LangGraph: the guard as a middleware around every tool call.

    agent = create_agent(model, tools, middleware=[GuardMiddleware(guard)])

or, for a graph of your own, the same callables into ``ToolNode``:

    guarded = GuardMiddleware(guard)
    node = ToolNode(tools, wrap_tool_call=guarded.wrap_tool_call, awrap_tool_call=guarded.awrap_tool_call)

A tool that answers with a message of status ``error`` leaves its intent in doubt, as one that raises does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
except ImportError as error:
    raise ImportError("this needs LangChain: pip install 'writkeeper[langchain]'") from error

from writkeeper import Guard, Permit, Refusal
from writkeeper._provenance import stated
from writkeeper._shapes import Origin

__all__ = ["GuardMiddleware"]


class GuardMiddleware(AgentMiddleware):  # type: ignore[misc,unused-ignore]
    """Judges every tool call before it runs, and reports how it went.

    With ``interrupt=True`` a call that needs a person interrupts the graph; resume it with a ``Command`` once the
    question is answered. Otherwise the model reads that the answer is pending.
    """

    def __init__(self, guard: Guard, *, interrupt: bool = False) -> None:
        super().__init__()
        self.guard = guard
        self.interrupt = interrupt

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Asks, runs the tool with the intent's params, and reports."""
        name, args, call_id = _call(request)
        provenance = _origins(request, args)
        permit = self.guard.ask(name, args, call_id=call_id, provenance=provenance)
        if self._interrupts(permit):
            permit = self.guard.ask(name, args, call_id=call_id, provenance=provenance)
        if isinstance(permit, Refusal):
            return _message(permit, request)
        try:
            with permit.listening():
                result = handler(_with_params(request, permit))
        except BaseException as error:
            permit.failed(error)
            raise
        _settle(permit, result)
        return result

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The same for agents that are awaited."""
        name, args, call_id = _call(request)
        provenance = _origins(request, args)
        permit = await self.guard.ask_async(name, args, call_id=call_id, provenance=provenance)
        if self._interrupts(permit):
            permit = await self.guard.ask_async(name, args, call_id=call_id, provenance=provenance)
        if isinstance(permit, Refusal):
            return _message(permit, request)
        try:
            with permit.listening():
                result = await handler(_with_params(request, permit))
        except BaseException as error:
            await permit.failed_async(error)
            raise
        await asyncio.shield(asyncio.to_thread(_settle, permit, result))
        return result

    def _interrupts(self, permit: Permit | Refusal) -> bool:
        """Interrupts the graph for a question. Once it is resumed the node runs again from its top."""
        if not self.interrupt or not isinstance(permit, Refusal) or permit.status != "pending":
            return False
        from langgraph.types import interrupt

        interrupt(permit.as_dict())
        return True


def _call(request: Any) -> tuple[str, dict[str, Any], str | None]:
    call = request.tool_call
    config = getattr(getattr(request, "runtime", None), "config", None) or {}
    thread = (config.get("configurable") or {}).get("thread_id")
    named = [str(part) for part in (thread, call.get("id")) if part]
    return str(call["name"]), dict(call.get("args") or {}), "/".join(named) or None


def _with_params(request: Any, permit: Permit) -> Any:
    return request.override(tool_call={**request.tool_call, "args": permit.params})


def _settle(permit: Permit, result: Any) -> None:
    if isinstance(result, ToolMessage):
        if result.status == "error":
            permit.failed(permit.error(_text(result), "langgraph"))
            return
        permit.done(result.content)
        return
    permit.done()


def _message(refusal: Refusal, request: Any) -> Any:
    call = request.tool_call
    return ToolMessage(
        content=refusal.as_json(), name=call["name"], tool_call_id=call.get("id") or "", status="error"
    )


def _origins(request: Any, args: dict[str, Any]) -> dict[str, Origin]:
    """What the user wrote and what tools answered, as the agent's own state holds it."""
    messages = list(_messages(getattr(request, "state", None)))
    user = [_text(message) for message in messages if isinstance(message, HumanMessage)]
    tools = [_text(message) for message in messages if isinstance(message, ToolMessage)]
    return stated(args, said_by_user=user, said_by_tools=tools)


def _messages(state: Any) -> Iterable[Any]:
    found = state if isinstance(state, list) else None
    if found is None and isinstance(state, dict):
        found = state.get("messages")
    if found is None:
        found = getattr(state, "messages", None)
    return [message for message in found or [] if not isinstance(message, AIMessage)]


def _text(message: Any) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, str) else str(part.get("text", "")) for part in content]
    return "\n".join(parts)
