"""MCP: the guard in front of a server's tools, or around a client's calls.

    server = guard_server(guard, MCPServer("shop"))
    session = GuardedSession(guard, client)

A tool that raises is a result with ``isError``: that leaves its intent in doubt.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

try:
    from mcp.types import CallToolResult, TextContent
except ImportError as error:
    raise ImportError("this needs the MCP SDK: pip install 'writkeeper[mcp]'") from error

from writkeeper import Guard, Permit, Refusal

__all__ = ["GuardedSession", "guard_server"]

Server = TypeVar("Server")


def guard_server(guard: Guard, server: Server) -> Server:
    """Judges every ``tools/call`` that reaches the server, before it is validated or run; the same server."""
    chain = getattr(server, "middleware", None)
    if not isinstance(chain, list):
        raise RuntimeError("this version of the MCP SDK has no `middleware` on a server; nothing can be guarded")

    async def judge(ctx: Any, call_next: Any) -> Any:
        if ctx.method != "tools/call":
            return await call_next(ctx)
        params = dict(ctx.params or {})
        name, args = str(params.get("name", "")), dict(params.get("arguments") or {})
        permit = await guard.ask_async(name, args, call_id=_call_id(ctx))
        if isinstance(permit, Refusal):
            return _result(permit)
        changed = dataclasses.replace(ctx, params={**params, "arguments": permit.params})
        try:
            with permit.listening():
                result = await call_next(changed)
        except BaseException as error:
            await permit.failed_async(error)
            raise
        await _settle(permit, result)
        return result

    chain.append(judge)
    return server


class GuardedSession:
    """A client whose tool calls are judged before they are sent; everything else passes through."""

    def __init__(self, guard: Guard, client: Any) -> None:
        self._guard = guard
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def __aenter__(self) -> GuardedSession:
        self._client = await self._client.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._client.__aexit__(*raised)

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, *more: Any, **named: Any) -> Any:
        """Asks, calls the tool with the intent's params, and reports."""
        permit = await self._guard.ask_async(name, dict(arguments or {}))
        if isinstance(permit, Refusal):
            return _result(permit)
        try:
            with permit.listening():
                result = await self._client.call_tool(name, permit.params, *more, **named)
        except BaseException as error:
            await permit.failed_async(error)
            raise
        await _settle(permit, result)
        return result


async def _settle(permit: Permit, result: Any) -> None:
    is_error = getattr(result, "is_error", None)
    if is_error is None and isinstance(result, dict):
        is_error = result.get("isError", result.get("is_error"))
    if is_error:
        await permit.failed_async(permit.error(_text(result) or "the tool answered with an error", "mcp"))
    else:
        await permit.done_async()


def _text(result: Any) -> str:
    content = result.get("content") if isinstance(result, dict) else getattr(result, "content", None)
    parts = [part.get("text") if isinstance(part, dict) else getattr(part, "text", None) for part in content or []]
    return "\n".join(part for part in parts if isinstance(part, str))


def _result(refusal: Refusal) -> Any:
    text = TextContent(type="text", text=refusal.as_json())
    return CallToolResult(content=[text], structured_content=dict(refusal.as_dict()), is_error=True)


def _call_id(ctx: Any) -> str | None:
    """A request's id counts within its session only."""
    session = getattr(ctx, "session_id", None)
    request = getattr(ctx, "request_id", None)
    return f"{session}/{request}" if session and request is not None else None
