"""OpenAI Agents: guarded copies of function tools.

    agent = Agent(name="shop", tools=guard_tools(guard, [refund]))

By default the framework turns what a tool raises into text for the model, so that a failed effect would look done. The
guarded copy sees the exception first, and then the framework does with it what the tool says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

try:
    from agents import FunctionTool, function_tool
    from agents import tool as _tool
except ImportError as error:
    raise ImportError("this needs OpenAI Agents: pip install 'writkeeper[openai-agents]'") from error

from writkeeper import Guard, Refusal, _json
from writkeeper._provenance import stated
from writkeeper._shapes import Origin

__all__ = ["guard_tools"]

_FIELDS = ("_failure_error_function", "_use_default_failure_error_function")


def guard_tools(guard: Guard, tools: Iterable[Any]) -> list[Any]:
    """Guarded copies of the tools; plain functions become tools. Tools that run elsewhere cannot be guarded here."""
    _demand_names()
    return [_guarded(guard, tool) for tool in tools]


def _demand_names() -> None:
    """What the copies rely on and the framework does not document; without it a failure would look like success."""
    known = {field.name for field in dataclasses.fields(FunctionTool)}
    missing = [name for name in _FIELDS if name not in known]
    if not hasattr(_tool, "with_function_tool_failure_error_handler"):
        missing.append("with_function_tool_failure_error_handler")
    if missing:
        raise RuntimeError(f"this version of OpenAI Agents has no {', '.join(missing)}; nothing can be guarded")


def _guarded(guard: Guard, tool: Any) -> Any:
    if not isinstance(tool, FunctionTool):
        if not callable(tool):
            raise TypeError(f"{type(tool).__name__} runs elsewhere; only function tools can be guarded")
        tool = function_tool(tool)
    silent = {"_failure_error_function": None, "_use_default_failure_error_function": False}
    inner = dataclasses.replace(tool, **silent)

    async def invoke(context: Any, text: str) -> Any:
        name = str(getattr(context, "tool_name", None) or tool.name)
        try:
            args = _json.decode(text) if text else {}
        except ValueError:
            args = None
        if not isinstance(args, dict):
            return Refusal("denied", name, ("PARAM_INVALID",), "the arguments are no JSON object", "send one").as_json()
        permit = await guard.ask_async(name, args, call_id=_call_id(context), provenance=_origins(context, args))
        if isinstance(permit, Refusal):
            return permit.as_json()
        try:
            value = await inner.on_invoke_tool(context, _json.encode(permit.params))
        except BaseException as error:
            await permit.failed_async(error)
            raise
        await permit.done_async(value)
        return value

    handled = _tool.with_function_tool_failure_error_handler(invoke, lambda *_: None)
    return dataclasses.replace(tool, on_invoke_tool=handled)


def _call_id(context: Any) -> str | None:
    """The call's id, with the conversation's where the framework has one."""
    call = getattr(context, "tool_call_id", None)
    conversation = getattr(context, "conversation_id", None)
    named = [str(part) for part in (conversation, call) if part]
    return "/".join(named) or None


def _origins(context: Any, args: dict[str, Any]) -> dict[str, Origin]:
    """What the user wrote and what tools answered, as the input of this turn holds it."""
    user: list[str] = []
    tools: list[str] = []
    for item in getattr(context, "turn_input", None) or []:
        if not isinstance(item, dict):
            continue
        if item.get("role") == "user":
            user += _texts(item.get("content"))
        elif str(item.get("type", "")).endswith("_output"):
            tools += _texts(item.get("output"))
    return stated(args, said_by_user=user, said_by_tools=tools)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part]
