"""What coroutines need of asyncio, loaded when the first one runs: most programs that import the package have none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    import asyncio

Given = ParamSpec("Given")
Value = TypeVar("Value")

SLICE_SECONDS = 0.25
"""A blocking wait looks up this often, so that an interrupt is heard."""


async def to_thread(function: Callable[Given, Value], /, *args: Given.args, **named: Given.kwargs) -> Value:
    """Runs a function that blocks, beside the event loop."""
    import asyncio

    return await asyncio.to_thread(function, *args, **named)


async def shielded(awaitable: Awaitable[Value]) -> Value:
    """Goes on to its end also where the task that awaits it is cancelled."""
    import asyncio

    return await asyncio.shield(awaitable)


async def sleep(seconds: float) -> None:
    """Waits, and lets others run."""
    import asyncio

    await asyncio.sleep(seconds)


def running_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the coroutine that asks."""
    import asyncio

    return asyncio.get_running_loop()
