"""AutoGen: guarded tools around an agent's own.

    agent = AssistantAgent("shop", model_client=client, tools=guard_tools(guard, [refund]))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

try:
    from autogen_core.tools import BaseTool, FunctionTool
except ImportError as error:
    raise ImportError("this needs AutoGen: pip install 'writkeeper[autogen]'") from error

from writkeeper import Guard, Refusal

__all__ = ["guard_tools"]


class GuardedTool(BaseTool[Any, Any]):  # type: ignore[misc,unused-ignore]
    """One tool behind the guard."""

    def __init__(self, guard: Guard, inner: Any) -> None:
        super().__init__(inner.args_type(), inner.return_type(), inner.name, inner.description)
        self._guard = guard
        self._inner = inner

    @property
    def schema(self) -> Any:
        """What the model is told of the tool."""
        return self._inner.schema

    async def run(self, args: Any, cancellation_token: Any) -> Any:
        """The tool with arguments that were validated already."""
        return await self.run_json(args.model_dump(exclude_none=True), cancellation_token)

    async def run_json(self, args: Mapping[str, Any], cancellation_token: Any, call_id: str | None = None) -> Any:
        """Asks, runs the tool with the intent's params, and reports."""

        async def run(params: dict[str, Any]) -> Any:
            return await self._inner.run_json(params, cancellation_token, call_id)

        return await self._guard.call_async(self.name, dict(args), run, call_id=call_id)

    def return_value_as_string(self, value: Any) -> str:
        """A refusal as the model reads it, anything else as the tool writes it."""
        if isinstance(value, Refusal):
            return value.as_json()
        return str(self._inner.return_value_as_string(value))


def guard_tools(guard: Guard, tools: Iterable[Any]) -> list[Any]:
    """A guarded tool for each tool; plain functions become tools."""
    return [GuardedTool(guard, _tool(tool)) for tool in tools]


def _tool(tool: Any) -> Any:
    if isinstance(tool, BaseTool):
        return tool
    if not callable(tool):
        raise TypeError(f"{type(tool).__name__} is no tool that can be guarded")
    return FunctionTool(tool, description=tool.__doc__ or tool.__name__)
