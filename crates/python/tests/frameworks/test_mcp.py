"""MCP: a guarded server, and a guarded client of a server that is not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client
from mcp.server.mcpserver import MCPServer
import pages
from story import CONTRACT, Call, Shop, check, check_draft

import writkeeper
from writkeeper import Guard
from writkeeper.mcp import GuardedSession, guard_server


def server_of(shop: Shop) -> Any:
    server = MCPServer("shop")
    for tool in shop.tools:
        server.add_tool(tool)
    return server


async def called(client: Any, calls: list[Call]) -> list[str]:
    results = [await client.call_tool(name, args) for name, args in calls]
    return ["\n".join(part.text for part in result.content) for result in results]


def drive_server(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    async def run() -> list[str]:
        server = server_of(shop)
        async with Client(guard_server(guard, server) if guard else server) as client:
            return await called(client, calls)

    return asyncio.run(run())


def drive_client(guard: Guard | None, shop: Shop, calls: list[Call]) -> list[str]:
    async def run() -> list[str]:
        async with Client(server_of(shop)) as client:
            return await called(GuardedSession(guard, client) if guard else client, calls)

    return asyncio.run(run())


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("drive", [drive_server, drive_client])
def test_story(drive: Any, tmp_path: Path, awaited: bool) -> None:
    check(drive, tmp_path, awaited=awaited)


def test_a_session_opens_its_client() -> None:
    async def run() -> list[str]:
        with writkeeper.open("memory:", contract=CONTRACT) as keeper:
            async with GuardedSession(keeper.guard("refund-bot"), Client(server_of(Shop()))) as session:
                return await called(session, [("look", {"order": "A-1"})])

    assert asyncio.run(run()) == ["order A-1 is late"]


def test_everything_else_passes() -> None:
    async def run() -> list[str]:
        with writkeeper.open("memory:") as keeper:
            async with Client(guard_server(keeper.guard("refund-bot"), server_of(Shop()))) as client:
                session = GuardedSession(keeper.guard("refund-bot"), client)
                return [tool.name for tool in (await session.list_tools()).tools]

    assert asyncio.run(run()) == ["refund", "look", "erase"]


def test_a_server_without_middleware_is_refused() -> None:
    with writkeeper.open("memory:") as keeper, pytest.raises(RuntimeError):
        guard_server(keeper.guard("refund-bot"), object())


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pages.run("python/mcp.md", tmp_path)


def test_a_draft_from_its_tools() -> None:
    async def listed() -> list[Any]:
        async with Client(server_of(Shop())) as client:
            return list((await client.list_tools()).tools)

    check_draft(asyncio.run(listed()))
