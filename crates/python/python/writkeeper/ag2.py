"""AG2: the guard as a middleware of the agent.

    agent = Agent("shop", config=config, tools=[refund], middleware=[guard_middleware(guard)])
"""

from __future__ import annotations

import copy
import json
from typing import Any

try:
    from ag2.events import ToolErrorEvent, ToolResultEvent
    from ag2.middleware import BaseMiddleware
except ImportError as error:
    raise ImportError("this needs AG2: pip install 'writkeeper[ag2]'") from error

from writkeeper import Guard, Refusal, _json

__all__ = ["guard_middleware"]


class _GuardMiddleware(BaseMiddleware):  # type: ignore[misc,unused-ignore]
    def __init__(self, event: Any, context: Any, guard: Guard) -> None:
        super().__init__(event, context)
        self._guard = guard

    async def on_tool_execution(self, call_next: Any, event: Any, context: Any) -> Any:
        try:
            args = json.loads(event.arguments or "{}")
        except ValueError:
            args = None
        if not isinstance(args, dict):
            refusal = Refusal("denied", event.name, ("PARAM_INVALID",), "the arguments are no JSON object", "send one")
            return ToolResultEvent.from_call(event, refusal.as_json())
        permit = await self._guard.ask_async(event.name, args, call_id=event.id)
        if isinstance(permit, Refusal):
            return ToolResultEvent.from_call(event, permit.as_json())
        call = copy.copy(event)
        call.arguments = _json.encode(permit.params)
        call.serialized_arguments = permit.params
        try:
            result = await call_next(call, context)
        except BaseException as error:
            await permit.failed_async(error)
            raise
        if isinstance(result, ToolErrorEvent):
            await permit.failed_async(result.error)
        else:
            await permit.done_async(str(getattr(result, "result", "")))
        return result


class _Factory:
    """Makes the middleware of one turn."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __call__(self, event: Any, context: Any) -> Any:
        return _GuardMiddleware(event, context, self._guard)


def guard_middleware(guard: Guard) -> Any:
    """Judges every tool call of the agent before it runs."""
    return _Factory(guard)
