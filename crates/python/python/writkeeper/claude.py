"""Claude Agent SDK: the guard as hooks.

    options = ClaudeAgentOptions(hooks=guard_hooks(guard))

A hook that fails blocks the call (``on_failure="block"``); a command line that does not know that word refuses to connect.
"""

from __future__ import annotations

import threading
from typing import Any

try:
    from claude_agent_sdk import HookMatcher
except ImportError as error:
    raise ImportError("this needs the Claude Agent SDK: pip install 'writkeeper[claude]'") from error

from writkeeper import Guard, Permit, Refusal

__all__ = ["guard_hooks"]


def guard_hooks(guard: Guard) -> dict[Any, list[Any]]:
    """The hooks that judge every tool call before it runs, and report how it went."""
    lock = threading.Lock()
    permits: dict[str, Permit] = {}

    def taken(given: Any, call_id: str | None) -> Permit | None:
        with lock:
            return permits.pop(_key(given, call_id), None)

    async def before(given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        key = _key(given, tool_use_id)
        permit = await guard.ask_async(given["tool_name"], dict(given.get("tool_input") or {}), call_id=key)
        said: dict[str, Any] = {"hookEventName": "PreToolUse"}
        if isinstance(permit, Refusal):
            said |= {"permissionDecision": "deny", "permissionDecisionReason": permit.as_json()}
        else:
            with lock:
                permits[key] = permit
            said |= {"permissionDecision": "allow", "updatedInput": permit.params}
        return {"hookSpecificOutput": said}

    async def after(given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        permit = taken(given, tool_use_id)
        if permit is None:
            return {}
        response = given.get("tool_response")
        if isinstance(response, dict) and (response.get("is_error") or response.get("isError")):
            await permit.failed_async(RuntimeError(str(response)))
        else:
            await permit.done_async(response)
        return {}

    async def failed(given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        permit = taken(given, tool_use_id)
        if permit is not None:
            await permit.failed_async(RuntimeError(str(given.get("error", "failed"))))
        return {}

    return {
        "PreToolUse": [HookMatcher(hooks=[before], on_failure="block")],
        "PostToolUse": [HookMatcher(hooks=[after])],
        "PostToolUseFailure": [HookMatcher(hooks=[failed])],
    }


def _key(given: Any, tool_use_id: str | None) -> str:
    return f"{given.get('session_id', '')}/{tool_use_id or given.get('tool_use_id') or ''}"
