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
        permit = await self.guard.ask_async(tool.name, dict(tool_args), call_id=_call_id(tool_context))
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
        """It happened."""
        permit = self._taken(tool_context)
        if permit is not None:
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
