"""Pydantic AI: the guard as a capability of the agent, or around one toolset.

    agent = Agent(model, tools=[refund], capabilities=[GuardCapability(guard)])
    agent = Agent(model, toolsets=[GuardToolset(toolset, guard=guard)])

With ``defer=True`` a call that needs a person ends the run with a ``DeferredToolRequests``; go on with the results once
the question is answered. Calls are known by their tool-call id, because the id of the run changes in between.
"""

from __future__ import annotations

import dataclasses
from typing import Any

try:
    from pydantic_ai.exceptions import ApprovalRequired
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart
    from pydantic_ai.toolsets import WrapperToolset
except ImportError as error:
    raise ImportError("this needs Pydantic AI: pip install 'writkeeper[pydantic-ai]'") from error

from writkeeper import Guard, Refusal
from writkeeper._provenance import stated

__all__ = ["GuardCapability", "GuardToolset"]


@dataclasses.dataclass
class GuardCapability(AbstractCapability[Any]):  # type: ignore[misc,unused-ignore]
    """Judges every call of the agent's own tools before it runs."""

    guard: Guard
    defer: bool = False

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        """Asks, runs the tool with the intent's params, and reports."""
        return await _guarded(self.guard, self.defer, ctx, call.tool_name, args, call.tool_call_id, handler)


@dataclasses.dataclass
class GuardToolset(WrapperToolset[Any]):  # type: ignore[misc,unused-ignore]
    """Judges every call of one toolset before it runs."""

    guard: Guard = dataclasses.field(kw_only=True)
    defer: bool = dataclasses.field(default=False, kw_only=True)

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Asks, runs the tool with the intent's params, and reports."""

        async def run(args: dict[str, Any]) -> Any:
            return await self.wrapped.call_tool(name, args, ctx, tool)

        return await _guarded(self.guard, self.defer, ctx, name, tool_args, ctx.tool_call_id, run)


async def _guarded(guard: Guard, defer: bool, ctx: Any, name: str, args: Any, call_id: str | None, run: Any) -> Any:
    given = dict(args)
    permit = await guard.ask_async(name, given, call_id=call_id, provenance=_origins(ctx, given))
    if isinstance(permit, Refusal):
        if defer and permit.status == "pending":
            raise ApprovalRequired(metadata=dict(permit.as_dict()))
        return permit.as_dict()
    try:
        value = await run(permit.params)
    except BaseException as error:
        await permit.failed_async(error)
        raise
    await permit.done_async(value)
    return value


def _origins(ctx: Any, args: dict[str, Any]) -> Any:
    """What the user wrote and what tools answered, as the run's own messages hold it."""
    parts = [part for message in getattr(ctx, "messages", None) or [] for part in message.parts]
    user = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    prompt = getattr(ctx, "prompt", None)
    if isinstance(prompt, str):
        user.append(prompt)
    tools = [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]
    return stated(args, said_by_user=user, said_by_tools=tools)
