"""CrewAI: guarded copies of tools.

    agent = Agent(role="refunds", tools=guard_tools(guard, [refund]), …)

CrewAI's own hooks let a call through when they raise, and tell the model nothing of why it was blocked; so every tool gets
one of ours around it. Its cache is off: a cached answer would skip the guard.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

try:
    from crewai.tools import BaseTool
    from crewai.tools import tool as make_tool
except ImportError as error:
    raise ImportError("this needs CrewAI: pip install 'writkeeper[crewai]'") from error

from writkeeper import Guard, Refusal

__all__ = ["guard_tools"]


def _never(*_: object, **__: object) -> bool:
    return False


def guard_tools(guard: Guard, tools: Iterable[Any]) -> list[Any]:
    """A guarded tool for each tool; plain functions become tools."""
    return [_guarded(guard, tool) for tool in tools]


def _guarded(guard: Guard, tool: Any) -> Any:
    inner = tool if isinstance(tool, BaseTool) else make_tool(tool)

    class Guarded(BaseTool):  # type: ignore[misc,unused-ignore]
        """The tool behind the guard."""

        def _run(self, **params: Any) -> Any:
            given = {key: value for key, value in params.items() if value is not None}
            permit = guard.ask(inner.name, given)
            if isinstance(permit, Refusal):
                return permit.as_json()
            try:
                value = inner._run(**permit.params)
            except BaseException as error:
                permit.failed(error)
                raise
            permit.done(value)
            return value

    return Guarded(
        name=inner.name, description=inner.description, args_schema=inner.args_schema, cache_function=_never
    )
