"""Flows: what belongs together in an agent's work."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Any

from writkeeper import _json
from writkeeper._awaiting import to_thread
from writkeeper._errors import Refused
from writkeeper._types import Decision, Question, Snapshot

if TYPE_CHECKING:
    from writkeeper._keeper import Keeper


class Flow:
    """One undertaking of an agent: proposals, a session, snapshots. A ``with`` block closes it, or aborts it on an error.

    >>> import writkeeper
    >>> keeper = writkeeper.open("memory:", contract="{agent: bot, actions: {look: {reads: true, params: {what: text}}}}")
    >>> with keeper.flow("bot") as flow:
    ...     flow.decide(action="look", params={"what": "A-1"}).accepted
    True
    """

    def __init__(self, keeper: Keeper, id: str, agent: str) -> None:
        self._keeper = keeper
        self.id = id
        self.agent = agent

    def __str__(self) -> str:
        return self.id

    def decide(self, *, action: str, params: Mapping[str, object], **more: Any) -> Decision:
        """Judges a proposal in this flow."""
        return self._keeper.decide(agent=self.agent, action=action, params=params, flow=self.id, **more)

    async def decide_async(self, *, action: str, params: Mapping[str, object], **more: Any) -> Decision:
        """The same, awaited."""
        return await self._keeper.decide_async(agent=self.agent, action=action, params=params, flow=self.id, **more)

    def remember(self, values: Mapping[str, object]) -> None:
        """Adds values to the session of the flow."""
        self._keeper._native.remember(self.id, _json.encode(values))

    async def remember_async(self, values: Mapping[str, object]) -> None:
        """The same, awaited."""
        await to_thread(self.remember, values)

    def ask(
        self,
        reason: str,
        *,
        context: Mapping[str, object] | None = None,
        proposal: Mapping[str, object] | None = None,
        impact: str = "HIGH",
    ) -> Question:
        """Asks a person of the agent's own accord: the contract's budget, deadline and approvers count.

        With a proposal, an approval judges it again and makes an intent of it.

        >>> import writkeeper
        >>> keeper = writkeeper.open("memory:", contract="{agent: bot, actions: {look: {reads: true, params: {}}}}")
        >>> flow = keeper.flow("bot")
        >>> question = flow.ask("two accounts look alike", context={"accounts": ["A-1", "A-7"]})
        >>> keeper.question(question).data["request"]["reason"]
        'two accounts look alike'
        """
        said = {"reason": reason, "context": dict(context or {}), "proposal": proposal, "impact": impact}
        told = _json.decode(self._keeper._native.ask(self.agent, self.id, _json.encode(said)))
        kind = "request" if proposal is None else "proposal"
        return Question.read({"id": told.pop("question"), "agent": self.agent, "flow": self.id, "kind": kind, **told})

    async def ask_async(
        self,
        reason: str,
        *,
        context: Mapping[str, object] | None = None,
        proposal: Mapping[str, object] | None = None,
        impact: str = "HIGH",
    ) -> Question:
        """The same, awaited."""
        return await to_thread(self.ask, reason, context=context, proposal=proposal, impact=impact)

    def reserve(
        self,
        resources: Mapping[str, Decimal | float],
        *,
        available: Mapping[str, Decimal | float],
        lasts: float | None = None,
        wait: float = 0.0,
    ) -> dict[str, Decimal]:
        """Holds amounts of resources, all or none, of what their provider says there is; what the flow holds of them now.

        It lasts so many seconds, or until it is released or the flow ends. What only other flows are in the way of is
        waited for; then ``Refused`` says RESOURCE_CONTENTION. More than there is is RESOURCE_INSUFFICIENT at once.

        >>> import writkeeper
        >>> keeper = writkeeper.open("memory:", contract="{agent: bot, actions: {look: {reads: true, params: {}}}}")
        >>> flow, other = keeper.flow("bot"), keeper.flow("bot")
        >>> flow.reserve({"cash": 60}, available={"cash": 100})
        {'cash': Decimal('60')}
        >>> try:
        ...     other.reserve({"cash": 60}, available={"cash": 100})
        ... except Refused as refused:
        ...     refused.code
        'RESOURCE_CONTENTION'
        >>> flow.release()
        ['cash']
        """
        said: dict[str, object] = {
            "resources": {name: str(_amount(name, amount)) for name, amount in resources.items()},
            "available": {name: str(_amount(name, amount)) for name, amount in available.items()},
            "for": None if lasts is None else f"{round(lasts * 1000)}ms",
        }
        until = time.monotonic() + wait
        while True:
            left = max(0.0, min(until - time.monotonic(), 1.0))
            try:
                span = f"{round(left * 1000)}ms" if left >= 0.001 else None
                told = self._keeper._native.reserve(self.id, _json.encode({**said, "wait": span}))
            except Refused as refused:
                if refused.code != "RESOURCE_CONTENTION" or time.monotonic() >= until:
                    raise
                continue
            return {name: Decimal(amount) for name, amount in _json.decode(told)["held"].items()}

    async def reserve_async(
        self,
        resources: Mapping[str, Decimal | float],
        *,
        available: Mapping[str, Decimal | float],
        lasts: float | None = None,
        wait: float = 0.0,
    ) -> dict[str, Decimal]:
        """The same, awaited."""
        return await to_thread(self.reserve, resources, available=available, lasts=lasts, wait=wait)

    def release(self, *resources: str) -> list[str]:
        """Gives back what the flow holds: these resources, or all; which it were."""
        told: list[str] = _json.decode(self._keeper._native.release(self.id, list(resources)))["resources"]
        return told

    async def release_async(self, *resources: str) -> list[str]:
        """The same, awaited."""
        return await to_thread(self.release, *resources)

    def note(self, name: str, details: Mapping[str, object] | None = None) -> None:
        """Writes something down under a name; the timeline shows it and nothing follows from it.

        >>> import writkeeper
        >>> keeper = writkeeper.open("memory:", contract="{agent: bot, actions: {look: {reads: true, params: {}}}}")
        >>> flow = keeper.flow("bot")
        >>> flow.note("PRICE_SEEN", {"price": 12.5})
        >>> flow.timeline()["timeline"][-1]["details"]
        {'price': Decimal('12.5')}
        """
        self._keeper._native.note(self.id, name, _json.encode(dict(details or {})))

    async def note_async(self, name: str, details: Mapping[str, object] | None = None) -> None:
        """The same, awaited."""
        await to_thread(self.note, name, details)

    def snapshot(self, keys: Iterable[str] = ()) -> Snapshot:
        """Freezes the session and these keys of the state."""
        return self._keeper.snapshot(self, keys)

    async def snapshot_async(self, keys: Iterable[str] = ()) -> Snapshot:
        """The same, awaited."""
        return await to_thread(self.snapshot, keys)

    def child(self, agent: str | None = None) -> Flow:
        """A flow that comes out of this one."""
        return self._keeper.flow(agent or self.agent, parent=self)

    async def child_async(self, agent: str | None = None) -> Flow:
        """The same, awaited."""
        return await to_thread(self.child, agent)

    def close(self) -> None:
        """Takes no more proposals; what was accepted is still performed."""
        self._keeper._native.end_flow(self.id, False)

    async def close_async(self) -> None:
        """The same, awaited."""
        await to_thread(self.close)

    def abort(self) -> None:
        """Calls off what was not started."""
        self._keeper._native.end_flow(self.id, True)

    async def abort_async(self) -> None:
        """The same, awaited."""
        await to_thread(self.abort)

    def timeline(self) -> dict[str, Any]:
        """What happened in it."""
        told: dict[str, Any] = _json.decode(self._keeper._native.timeline(self.id))
        return told

    async def timeline_async(self) -> dict[str, Any]:
        """The same, awaited."""
        return await to_thread(self.timeline)

    def __enter__(self) -> Flow:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    async def __aenter__(self) -> Flow:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await to_thread(self.__exit__, kind, error, trace)


def _amount(name: str, amount: Decimal | float) -> Decimal:
    """An amount of a resource: finite, exactly as it is written."""
    if not isinstance(amount, bool):
        exact = amount if isinstance(amount, Decimal) else Decimal(str(amount))
        if exact.is_finite() and exact >= 0:
            return exact
    raise ValueError(f"{name}: {amount!r} is no finite amount of 0 or more")
