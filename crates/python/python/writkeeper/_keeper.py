"""The keeper: a store with the kernel in front of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from writkeeper import _json
from writkeeper._awaiting import to_thread
from writkeeper._contracts import contract_text, draft, explain
from writkeeper._effects import CausingEffects
from writkeeper._flow import Flow
from writkeeper._proposal import polled, proposal_text
from writkeeper._shapes import Origin, ReasonShape
from writkeeper._shared import SharedStore, acquire
from writkeeper._state import State
from writkeeper._types import Decision, Intent, Question, Snapshot, id_of

if TYPE_CHECKING:
    from writkeeper._guard import Guard


def open(
    store: str | os.PathLike[str] = "memory:",
    *,
    contract: str | os.PathLike[str] | None = None,
    token: str | None = None,
    operator: str | None = None,
    create: bool = True,
) -> Keeper:
    """Opens a store: a path, ``memory:`` for one that is forgotten, or the address of a server.

    ``contract`` is a file, or the text of a contract; its agent is enrolled if it is new. ``token`` is for a server.
    Whoever opens the same path in the same process shares one store.

    >>> with open("memory:", contract="{agent: bot, actions: {look: {reads: true, params: {what: text}}}}") as keeper:
    ...     keeper.decide(agent="bot", action="look", params={"what": "A-1"}).verdict
    'ACCEPT'
    """
    location = os.fspath(store)
    keeper = Keeper(acquire(location, operator=operator or _user(), create=create, token=token))
    try:
        if contract is not None:
            keeper.enrol(contract)
    except BaseException:
        keeper.close()
        raise
    return keeper


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "python"


class Keeper(CausingEffects):
    """A store with the kernel in front of it. Threads may share it; a forked child opens its own.

    >>> contract = '''
    ... agent: refund-bot
    ... actions:
    ...   refund:
    ...     once: "refund:{order}"
    ...     params: { order: text, amount: money EUR }
    ...     allow: amount <= 25
    ...     ask: amount <= 100
    ... approvers: [desk]
    ... '''
    >>> keeper = open("memory:", contract=contract)
    >>> keeper.decide(agent="refund-bot", action="refund", params={"order": "A-1", "amount": 12.5}).accepted
    True
    >>> keeper.decide(agent="refund-bot", action="refund", params={"order": "A-2", "amount": 5000}).reasons
    ('NOT_ALLOWED',)
    """

    def __init__(self, shared: SharedStore) -> None:
        super().__init__(shared)
        self.state = State(self)

    # ── deciding ──────────────────────────────────────────────────────────────────────────────────────────────────

    def enrol(self, contract: str | os.PathLike[str], *, allow_inert: bool = False) -> str:
        """Puts a contract in force for its agent, if the agent is new; the agent's name.

        An agent that acts under another contract keeps it, and that is an error.
        """
        return self._native.enrol(contract_text(contract), allow_inert)

    async def enrol_async(self, contract: str | os.PathLike[str], *, allow_inert: bool = False) -> str:
        """The same, awaited."""
        return await to_thread(self.enrol, contract, allow_inert=allow_inert)

    def decide(
        self,
        *,
        agent: str,
        action: str,
        params: Mapping[str, object],
        confidence: Decimal | float | None = None,
        flow: str | Flow | None = None,
        snapshot: str | Snapshot | None = None,
        idempotency_key: str | None = None,
        id: str | None = None,
        step: str | None = None,
        justification: str | None = None,
        valid_until: str | None = None,
        tokens: int | None = None,
        provenance: Mapping[str, Origin] | None = None,
    ) -> Decision:
        """Judges a proposal. When it returns, the decision is durable; a refusal is an answer, not an exception.

        ``provenance`` is this program's own statement of where values came from. Never take it from a model.
        """
        text = proposal_text(locals())
        return Decision.read(self._native.decide(text, provenance is not None), action)

    async def decide_async(
        self,
        *,
        agent: str,
        action: str,
        params: Mapping[str, object],
        confidence: Decimal | float | None = None,
        flow: str | Flow | None = None,
        snapshot: str | Snapshot | None = None,
        idempotency_key: str | None = None,
        id: str | None = None,
        step: str | None = None,
        justification: str | None = None,
        valid_until: str | None = None,
        tokens: int | None = None,
        provenance: Mapping[str, Origin] | None = None,
    ) -> Decision:
        """The same, awaited. Cancelling stops the waiting and nothing else: the decision is made all the same."""
        text = proposal_text(locals())
        native, trusts = self._native, provenance is not None
        if await to_thread(native.asks_plugins, agent):
            # Validators are asked before anything is sent, and may take their time.
            later = await to_thread(native.decide_later, text, trusts)
        else:
            later = native.decide_later(text, trusts)
        return Decision.read(await polled(later), action)

    def decide_json(self, proposal: str | bytes, *, trust_provenance: bool = False) -> Decision:
        """Judges a proposal that is JSON text already. ``trust_provenance`` lets its own statement count."""
        text = proposal.decode() if isinstance(proposal, bytes) else proposal
        return Decision.read(self._native.decide(text, trust_provenance))

    async def decide_json_async(self, proposal: str | bytes, *, trust_provenance: bool = False) -> Decision:
        """The same, awaited."""
        return await to_thread(self.decide_json, proposal, trust_provenance=trust_provenance)

    def flow(self, agent: str, parent: str | Flow | None = None) -> Flow:
        """Opens a flow."""
        above = None if parent is None else id_of(parent)
        return Flow(self, self._native.open_flow(agent, above), agent)

    async def flow_async(self, agent: str, parent: str | Flow | None = None) -> Flow:
        """The same, awaited."""
        return await to_thread(self.flow, agent, parent)

    def flows(self, agent: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """The latest flows, newest first."""
        told: list[dict[str, Any]] = _json.decode(self._native.flows(agent, limit))
        return told

    async def flows_async(self, agent: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """The same, awaited."""
        return await to_thread(self.flows, agent, limit)

    def snapshot(self, flow: str | Flow | None = None, keys: Iterable[str] = ()) -> Snapshot:
        """Freezes keys of the state, and the session of a flow."""
        told = _json.decode(self._native.snapshot(None if flow is None else id_of(flow), list(keys)))
        at = Question.read({"id": "", "deadline": told["at"]}).deadline
        return Snapshot(told["snapshot"], at, told["state"])

    async def snapshot_async(self, flow: str | Flow | None = None, keys: Iterable[str] = ()) -> Snapshot:
        """The same, awaited."""
        return await to_thread(self.snapshot, flow, keys)

    # ── looking and proving ───────────────────────────────────────────────────────────────────────────────────────

    def agent(self, name: str) -> dict[str, Any]:
        """What the registry knows of an agent."""
        told: dict[str, Any] = _json.decode(self._native.agent(name))
        return told

    async def agent_async(self, name: str) -> dict[str, Any]:
        """The same, awaited."""
        return await to_thread(self.agent, name)

    def explain(self, code: str) -> ReasonShape:
        """What a reason means and what to do about it.

        >>> open("memory:").explain("NOT_ALLOWED")["category"]
        'contract'
        """
        return explain(code)

    def receipt(self, id: str | Decision | Intent | Question) -> str:
        """A text that proves a decision to a stranger. It needs a store that is a file."""
        return self._native.receipt(id_of(id))

    async def receipt_async(self, id: str | Decision | Intent | Question) -> str:
        """The same, awaited."""
        return await to_thread(self.receipt, id)

    def export(self, path: str | os.PathLike[str]) -> int:
        """Writes the signed ledger into a file; how many entries it has."""
        return self._native.export(os.fspath(path))

    async def export_async(self, path: str | os.PathLike[str]) -> int:
        """The same, awaited."""
        return await to_thread(self.export, path)

    def draft(self, tools: Iterable[object], *, agent: str = "agent") -> str:
        """A closed contract from the schemas of tools: a framework's tools, functions, or dictionaries."""
        return draft(tools, agent=agent)

    def guard(
        self, agent: str, *, on_ask: Literal["pending", "wait"] = "pending", wait: float = 0.0
    ) -> Guard:
        """What stands between an agent and its tools."""
        from writkeeper._guard import Guard

        return Guard(self, agent, on_ask=on_ask, wait=wait)
