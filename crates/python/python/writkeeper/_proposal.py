"""Proposals on their way to the kernel, and the wait for its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from writkeeper import _json, _native
from writkeeper._awaiting import running_loop
from writkeeper._types import id_of

if TYPE_CHECKING:
    import asyncio

_ENVELOPE = (
    "agent", "action", "params", "confidence", "flow", "snapshot", "idempotency_key", "id", "step", "justification",
    "valid_until", "tokens", "provenance",
)  # fmt: skip


def proposal_text(given: Mapping[str, Any]) -> str:
    """The text of a proposal. What JSON cannot hold is refused here, before anything is asked."""
    fields = {name: given[name] for name in _ENVELOPE if given[name] is not None}
    for name in ("flow", "snapshot"):
        if name in fields:
            fields[name] = id_of(fields[name])
    return _json.encode(fields)


def instead_of(question: Mapping[str, Any], instead: Mapping[str, object]) -> dict[str, object]:
    """The proposal that is to happen instead: a whole one, or other params for the one in question."""
    if "action" in instead and "params" in instead:
        return dict(instead)
    asked = question["proposal"]
    params = {**asked["params"], **instead}
    return {"agent": asked["agent"], "action": asked["action"], "params": params}


async def polled(later: _native.Later) -> tuple[str, bool, str | None]:
    """Awaits an answer: the thread that commits it wakes this event loop."""
    loop = running_loop()
    future: asyncio.Future[tuple[str, bool, str | None]] = loop.create_future()

    def poll() -> None:
        if future.done():
            return
        try:
            reply = later.poll(wake)
        except Exception as error:
            future.set_exception(error)
            return
        if reply is not None:
            future.set_result(reply)

    def wake() -> None:
        loop.call_soon_threadsafe(poll)

    poll()
    return await future
