"""CrewAI: guarded copies of tools.

    agent = Agent(role="refunds", tools=guard_tools(guard, [refund]), …)

CrewAI's own hooks let a call through when they raise, and tell the model nothing of why it was blocked; so every tool gets
one of ours around it. Its cache is off: a cached answer would skip the guard.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import Iterable
from typing import Any

try:
    from crewai.tools import BaseTool
    from crewai.tools import tool as make_tool
except ImportError as error:
    raise ImportError("this needs CrewAI: pip install 'writkeeper[crewai]'") from error

try:
    from crewai.tools.tool_failure import ToolFailure as _Failure
except ImportError:
    # Older versions know failures as exceptions only.
    class _Failure:  # type: ignore[no-redef]
        pass


from writkeeper import Guard, Permit, Refusal

__all__ = ["guard_tools"]

_KEPT = ("description", "args_schema", "result_as_answer", "max_usage_count", "env_vars")


def _never(*_: object, **__: object) -> bool:
    return False


def guard_tools(guard: Guard, tools: Iterable[Any]) -> list[Any]:
    """A guarded tool for each tool; plain functions become tools."""
    return [_guarded(guard, tool) for tool in tools]


def _guarded(guard: Guard, tool: Any) -> Any:
    inner = tool if isinstance(tool, BaseTool) else make_tool(tool)
    action = _action(inner.name)

    class Guarded(BaseTool):  # type: ignore[misc,unused-ignore]
        """The tool behind the guard."""

        def _run(self, **params: Any) -> Any:
            permit = guard.ask(action, _given(params))
            if isinstance(permit, Refusal):
                return permit.as_json()
            try:
                value = inner._run(**permit.params)
                if inspect.isawaitable(value):
                    value = _awaited(value)
            except BaseException as error:
                permit.failed(error)
                raise
            _settle(permit, value)
            return value

        async def _arun(self, **params: Any) -> Any:
            permit = await guard.ask_async(action, _given(params))
            if isinstance(permit, Refusal):
                return permit.as_json()
            try:
                value = await _performed(inner, permit.params)
            except BaseException as error:
                await permit.failed_async(error)
                raise
            await asyncio.shield(asyncio.to_thread(_settle, permit, value))
            return value

    kept = {name: getattr(inner, name) for name in _KEPT if hasattr(inner, name)}
    return Guarded(name=inner.name, cache_function=_never, **kept)


def _action(name: str) -> str:
    """The name of the action: that of the tool, with what no action can have replaced, as the model is shown it."""
    return name if re.fullmatch(r"[\w.-]+", name) else re.sub(r"[^\w.-]+", "_", name.strip()).lower()


def _given(params: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if value is not None}


def _settle(permit: Permit, value: Any) -> None:
    """It happened, unless the framework says that it went wrong."""
    if isinstance(value, _Failure):
        permit.failed(RuntimeError(str(value)))
    else:
        permit.done(value)


async def _performed(inner: Any, params: dict[str, Any]) -> Any:
    # A tool made of a plain function calls it and then says that it cannot be awaited, so it is never asked.
    if not hasattr(inner, "func") and type(inner)._arun is not BaseTool._arun:
        return await inner._arun(**params)
    value = await asyncio.to_thread(inner._run, **params)
    return await value if inspect.isawaitable(value) else value


def _awaited(value: Any) -> Any:
    """The end of a coroutine. It is waited for here, because until then nobody can say how it went."""

    async def end() -> Any:
        return await value

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(end())
    told: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            told.append(asyncio.run(end()))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return told[0]
