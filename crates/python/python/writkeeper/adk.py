"""Google ADK: the guard as a plugin of the app.

    app = App(name="shop", root_agent=agent, plugins=[GuardPlugin(guard)])

Put it first: a plugin before it that answers in place of a tool would keep the guard from being asked.
"""

from __future__ import annotations

import threading
from typing import Any

try:
    from google.adk.plugins.base_plugin import BasePlugin
except ImportError as error:
    raise ImportError("this needs Google ADK: pip install 'writkeeper[adk]'") from error

from writkeeper import Guard, Permit, Refusal
from writkeeper._provenance import stated
from writkeeper._shapes import Origin

__all__ = ["GuardPlugin"]


class GuardPlugin(BasePlugin):  # type: ignore[misc,unused-ignore]
    """Judges every tool call before it runs, and reports how it went."""

    def __init__(self, guard: Guard, name: str = "writkeeper") -> None:
        super().__init__(name)
        self.guard = guard
        self._lock = threading.Lock()
        self._permits: dict[int, Permit] = {}

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
        """Asks; a refusal takes the place of the tool's result. Arguments are changed in place."""
        args, call_id = dict(tool_args), _call_id(tool_context)
        permit = await self.guard.ask_async(tool.name, args, call_id=call_id, provenance=_origins(tool_context, args))
        if isinstance(permit, Refusal):
            return permit.as_dict()
        tool_args.clear()
        tool_args.update(permit.params)
        with self._lock:
            self._permits[id(tool_context)] = permit
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> Any:
        """It happened, unless the result says that it went wrong: ``{"error": …}`` is how ADK's own tools say so."""
        permit = self._taken(tool_context)
        if permit is None:
            return None
        if isinstance(result, dict) and result.get("error"):
            await permit.failed_async(RuntimeError(str(result["error"])))
        else:
            await permit.done_async(result)
        return None

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: Exception
    ) -> Any:
        """Nobody knows whether it happened."""
        permit = self._taken(tool_context)
        if permit is not None:
            await permit.failed_async(error)
        return None

    def _taken(self, tool_context: Any) -> Permit | None:
        with self._lock:
            return self._permits.pop(id(tool_context), None)


def _call_id(context: Any) -> str | None:
    session = getattr(getattr(context, "session", None), "id", None)
    named = [str(part) for part in (session, getattr(context, "function_call_id", None)) if part]
    return "/".join(named) or None


def _origins(context: Any, args: dict[str, Any]) -> dict[str, Origin]:
    """What the user wrote and what tools answered, as the session's own events hold it."""
    user, tools = _texts(getattr(context, "user_content", None)), list[str]()
    for event in getattr(getattr(context, "session", None), "events", None) or []:
        content = getattr(event, "content", None)
        if getattr(event, "author", None) == "user":
            user += _texts(content)
        for part in getattr(content, "parts", None) or []:
            response = getattr(part, "function_response", None)
            if response is not None:
                tools.append(str(response.response))
    return stated(args, said_by_user=user, said_by_tools=tools)


def _texts(content: Any) -> list[str]:
    return [part.text for part in getattr(content, "parts", None) or [] if getattr(part, "text", None)]
