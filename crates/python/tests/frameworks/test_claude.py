"""Claude Agent SDK: the hooks, called as its command line calls them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import ClaudeAgentOptions, tool
import pages
from story import CONTRACT, Call, Shop, check, check_draft

import writkeeper
from writkeeper import Guard
from writkeeper.claude import guard_hooks

_session = 0


def drive(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    """The command line's side of it: a hook that denies keeps the tool from running, and its reason is what is read."""
    global _session
    _session += 1
    hooks: Any = guard_hooks(guard) if guard else {}
    tools = {tool.__name__: tool for tool in shop.tools}
    base = {"session_id": f"s-{_session}", "transcript_path": "", "cwd": ""}

    async def fire(moment: str, **given: Any) -> list[dict[str, Any]]:
        found = [hook for matcher in hooks.get(moment, []) for hook in matcher.hooks]
        asked = {**base, "hook_event_name": moment, **given}
        return [await hook(asked, given["tool_use_id"], {"signal": None}) for hook in found]

    async def one(number: int, name: str, args: dict[str, Any]) -> str:
        call = {"tool_name": name, "tool_input": args, "tool_use_id": f"call-{number}"}
        for said in await fire("PreToolUse", **call):
            told = said["hookSpecificOutput"]
            if told["permissionDecision"] == "deny":
                return str(told["permissionDecisionReason"])
            args = told.get("updatedInput", args)
        try:
            value = tools[name](**args)
        except Exception as error:
            await fire("PostToolUseFailure", **call, error=str(error))
            return str(error)
        await fire("PostToolUse", **call, tool_response=value)
        return str(value)

    async def run() -> list[str]:
        return [await one(number, name, args) for number, (name, args) in enumerate(calls)]

    return asyncio.run(run())


def test_story(tmp_path: Path) -> None:
    # The command line tells in words what a tool raised.
    check(drive, tmp_path, hears=False)


def test_an_answer_that_says_error_is_a_doubt() -> None:
    with writkeeper.open("memory:", contract=CONTRACT) as keeper:
        hooks = guard_hooks(keeper.guard("refund-bot"))
        call = {"session_id": "s", "tool_name": "refund", "tool_input": {"order": "A-1", "amount": 5}}

        async def run() -> None:
            await hooks["PreToolUse"][0].hooks[0](call, "u", {})
            await hooks["PostToolUse"][0].hooks[0]({**call, "tool_response": {"is_error": True}}, "u", {})

        asyncio.run(run())
        assert [intent.state for intent in keeper.intents()] == ["IN_DOUBT"]


def test_a_hook_that_fails_blocks() -> None:
    with writkeeper.open("memory:") as keeper:
        hooks = guard_hooks(keeper.guard("refund-bot"))
        ClaudeAgentOptions(hooks=hooks)
        assert [matcher.on_failure for matcher in hooks["PreToolUse"]] == ["block"]


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pages.run("python/claude.md", tmp_path)


def test_a_draft_from_its_tools() -> None:
    async def refund(args: dict[str, Any]) -> dict[str, Any]:
        return {}

    check_draft([tool("refund", "Pays money back.", {"order": str, "amount": float})(refund)])
