"""The keeper: a store with the kernel in front of it."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from writkeeper import _functions, _json, _native
from writkeeper._awaiting import running_loop, to_thread
from writkeeper._draft import schemas_of
from writkeeper._errors import Closed, Invalid, Refused
from writkeeper._shapes import Origin, Outcome, ReasonShape
from writkeeper._types import Decision, Intent, Question, Snapshot, Tally, id_of

if TYPE_CHECKING:
    import asyncio

    from writkeeper._guard import Guard

Function = TypeVar("Function", bound=Callable[..., object])

SLICE_SECONDS = 0.25
"""A blocking wait looks up this often, so that an interrupt is heard."""

LOOK_SECONDS = 0.1
"""An awaiting task looks this often whether a person answered."""


class _Shared:
    """One native store per process and path: everyone who opens it shares it, and the last one closes it."""

    def __init__(self, store: _native.Store, key: str | None) -> None:
        self.store = store
        self.key = key
        self.handles = 1


_lock = threading.RLock()
_shared: dict[str, _Shared] = {}


def _forget() -> None:
    """In a forked child nothing of the parent may be used: its threads are not here."""
    global _lock
    _lock = threading.RLock()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _release(shared: _Shared) -> None:
    """One handle less. The last one serves what waits and closes the store."""
    with _lock:
        shared.handles -= 1
        last = shared.handles == 0
        if last and shared.key is not None and _shared.get(shared.key) is shared:
            del _shared[shared.key]
    if last:
        shared.store.close()


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
    name = operator or _user()
    key = _key_of(location, token, name)
    with _lock:
        shared = _shared.get(key) if key else None
        if shared is not None and shared.store.is_open:
            shared.handles += 1
        else:
            native = _native.Store(location, operator=name, create=create, key=token)
            shared = _Shared(native, key)
            if key:
                _shared[key] = shared
    keeper = Keeper(shared)
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


def _key_of(location: str, token: str | None, operator: str) -> str | None:
    """What two openings have in common; a store in memory is its own, and to a server each token is another caller."""
    if location.startswith("memory:"):
        return None
    if "://" in location:
        return "\0".join((location, token or "", operator))
    return os.path.realpath(location.removeprefix("sqlite:"))


def contract_text(contract: str | os.PathLike[str]) -> str:
    """The text of a contract: text that holds a line or a brace is the contract, anything else names its file."""
    text = os.fspath(contract)
    if isinstance(contract, str) and ("\n" in text or "{" in text):
        return text
    try:
        return Path(text).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"cannot read the contract `{text}`: {error}", fix="name a file, or pass the text") from None


class State:
    """Facts that agents see and that decisions are compared with, each with a version.

    >>> keeper = open("memory:")
    >>> keeper.state.merge({"accounts/7/balance": 100})
    {'accounts/7/balance': 1}
    >>> keeper.state.get("accounts/7/balance")
    100
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def merge(self, values: Mapping[str, object], *, expect: Mapping[str, int] | None = None) -> dict[str, int]:
        """Writes all values or none; ``expect`` demands versions (0: not there yet). The versions they have now."""
        wanted = expect or {}
        writes: list[dict[str, object]] = []
        for key, value in values.items():
            write: dict[str, object] = {"key": key, "value": value}
            if key in wanted:
                write["expect"] = wanted[key]
            writes.append(write)
        told = _json.decode(self._keeper._native.merge(_json.encode(writes)))
        versions: dict[str, int] = told["versions"]
        return versions

    async def merge_async(
        self, values: Mapping[str, object], *, expect: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """The same, awaited."""
        return await to_thread(self.merge, values, expect=expect)

    def get(self, key: str, default: object = None) -> Any:
        """The value of a key."""
        found = self._keeper._native.state(key)
        return default if found is None else _json.decode(found)["value"]

    async def get_async(self, key: str, default: object = None) -> Any:
        """The same, awaited."""
        return await to_thread(self.get, key, default)

    def version(self, key: str) -> int:
        """The version of a key; 0 where it is not there."""
        found = self._keeper._native.state(key)
        return 0 if found is None else int(_json.decode(found)["version"])


class Flow:
    """One undertaking of an agent: proposals, a session, snapshots. A ``with`` block closes it, or aborts it on an error.

    >>> keeper = open("memory:", contract="{agent: bot, actions: {look: {reads: true, params: {what: text}}}}")
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

        >>> keeper = open("memory:", contract="{agent: bot, actions: {look: {reads: true, params: {}}}}")
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

        >>> keeper = open("memory:", contract="{agent: bot, actions: {look: {reads: true, params: {}}}}")
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

        >>> keeper = open("memory:", contract="{agent: bot, actions: {look: {reads: true, params: {}}}}")
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


class Keeper:
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

    def __init__(self, shared: _Shared) -> None:
        self._shared: _Shared | None = shared
        self.state = State(self)
        # Also where nobody closes it: when it is let go of, and when the interpreter ends.
        self._finalizer = weakref.finalize(self, _release, shared)

    # ── life ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _native(self) -> _native.Store:
        shared = self._shared
        if shared is None:
            raise Closed()
        return shared.store

    @property
    def location(self) -> str:
        """Where the store lies."""
        return self._native.location

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should hear about the store."""
        return tuple(self._native.notices())

    def close(self) -> None:
        """Lets go of the store. The last handle of this process serves what waits and closes it."""
        self._shared = None
        self._finalizer()

    async def close_async(self) -> None:
        """The same, awaited."""
        await to_thread(self.close)

    def __enter__(self) -> Keeper:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Keeper:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await to_thread(self.close)

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
        text = _proposal(locals())
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
        text = _proposal(locals())
        native, trusts = self._native, provenance is not None
        if await to_thread(native.asks_plugins, agent):
            # Validators are asked before anything is sent, and may take their time.
            later = await to_thread(native.decide_later, text, trusts)
        else:
            later = native.decide_later(text, trusts)
        return Decision.read(await _polled(later), action)

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

    # ── people ────────────────────────────────────────────────────────────────────────────────────────────────────

    def people(self, groups: Mapping[str, Iterable[str]]) -> int:
        """Says who is in these groups, and nobody else is; how many people changed.

        >>> open("memory:").people({"refund-desk": ["ann", "bob"]})
        2
        """
        return self._native.people(_json.encode({group: list(people) for group, people in groups.items()}))

    async def people_async(self, groups: Mapping[str, Iterable[str]]) -> int:
        """The same, awaited."""
        return await to_thread(self.people, groups)

    def questions(self) -> list[Question]:
        """What waits for people, most urgent first."""
        self._native.tick()
        return [Question.read(question) for question in _json.decode(self._native.questions())["questions"]]

    async def questions_async(self) -> list[Question]:
        """The same, awaited."""
        return await to_thread(self.questions)

    def question(self, id: str | Question) -> Question:
        """One question, by its own id or that of its proposal, flow or intent. A beginning will do."""
        return Question.read(_json.decode(self._native.question(id_of(id))))

    async def question_async(self, id: str | Question) -> Question:
        """The same, awaited."""
        return await to_thread(self.question, id)

    def answer(
        self,
        id: str | Question,
        decision: str,
        *,
        by: str,
        because: str,
        digest: str | None = None,
        instead: Mapping[str, object] | None = None,
    ) -> Intent | None:
        """Gives a person's answer: ``approve``, ``deny``, or ``modify`` with the params that are to count ``instead``.

        To the question whether something happened: ``happened``, ``did_not`` or ``retry``. The intent, where the answer
        makes one. This program vouches for the person.
        """
        question = self._native.question(id_of(id))
        data = _json.decode(question)
        words: dict[str, object] = {"decision": decision, "by": by, "because": because}
        words["digest"] = digest
        if instead is not None:
            words["instead"] = _instead(data, instead)
        told = _json.decode(self._native.answer("=" + data["id"], _json.encode(words)))
        return Intent.read(told["intent"]) if told["intent"] else None

    async def answer_async(
        self,
        id: str | Question,
        decision: str,
        *,
        by: str,
        because: str,
        digest: str | None = None,
        instead: Mapping[str, object] | None = None,
    ) -> Intent | None:
        """The same, awaited."""
        return await to_thread(
            self.answer, id, decision, by=by, because=because, digest=digest, instead=instead
        )

    # ── effects ───────────────────────────────────────────────────────────────────────────────────────────────────

    def intents(self, state: str | None = None, limit: int = 1_000) -> list[Intent]:
        """The latest intents, oldest first."""
        return [Intent.read(intent) for intent in _json.decode(self._native.intents(state, limit))]

    async def intents_async(self, state: str | None = None, limit: int = 1_000) -> list[Intent]:
        """The same, awaited."""
        return await to_thread(self.intents, state, limit)

    def intent(self, id: str | Intent) -> Intent:
        """One intent with everything that happened to it in ``data["timeline"]``."""
        return Intent.read(_json.decode(self._native.intent(id_of(id))))

    async def intent_async(self, id: str | Intent) -> Intent:
        """The same, awaited."""
        return await to_thread(self.intent, id)

    def report(self, id: str | Intent, outcome: Outcome, *, detail: str = "reported", result: object = None) -> str:
        """Says what became of an intent that this program, or the agent's host, performed; where it stands now."""
        return self._native.report(id_of(id), outcome, detail, None, _functions.result_text(result))

    async def report_async(
        self, id: str | Intent, outcome: Outcome, *, detail: str = "reported", result: object = None
    ) -> str:
        """The same, awaited."""
        return await to_thread(self.report, id, outcome, detail=detail, result=result)

    def wait(self, decision: Decision, seconds: float) -> Intent | None:
        """Follows a decision to its outcome for at most so long: the answer of people, then the effect.

        The intent as it stands then; nothing where there is none yet.
        """
        deadline = time.monotonic() + seconds
        intent = decision.intent.id if decision.intent else None
        if decision.question is not None:
            standing = self._await_answer(decision.question.id, deadline)
            intent = standing.get("intent") if standing else None
        if intent is None:
            return None
        while True:
            left = deadline - time.monotonic()
            found = self._native.await_outcome(intent, min(max(left, 0.0), SLICE_SECONDS))
            if found is None or _json.decode(found)["settled"] or left <= 0:
                return self.intent("=" + intent)

    async def wait_async(self, decision: Decision, seconds: float) -> Intent | None:
        """The same, awaited."""
        return await to_thread(self.wait, decision, seconds)

    def _await_answer(self, question: str, deadline: float) -> dict[str, Any] | None:
        while True:
            left = deadline - time.monotonic()
            found = self._native.await_answer(question, min(max(left, 0.0), SLICE_SECONDS))
            standing: dict[str, Any] | None = None if found is None else _json.decode(found)
            if standing is None or standing["state"] != "OPEN" or left <= 0:
                return standing

    def executor(self, name: str) -> Callable[[Function], Function]:
        """Registers a function that performs actions whose contract says ``run: { function: NAME }``.

        It gets the params by name, and the ``attempt`` where it has an argument of that name. Each intent is claimed and
        marked before it is called. What it returns is the result; what it raises leaves the intent in doubt, unless it
        raises ``DidNotHappen``. A thread of the package performs what becomes due until the keeper is closed.
        """

        def register(function: Function) -> Function:
            self._native.set_executor(name, _functions.executor(function))
            self._native.work()
            return function

        return register

    def validator(self, name: str, *, version: str = "1") -> Callable[[Function], Function]:
        """Registers a function that a contract asks as ``validators: { NAME: { function: NAME } }``.

        It gets the proposal. ``None`` and ``True`` pass, ``False`` and text refuse; see the guide for mappings. It is
        asked before anything is queued, on a thread of its own.
        """

        def register(function: Function) -> Function:
            self._native.set_validator(name, _functions.validator(name, function, version))
            return function

        return register

    def perform(self) -> Tally:
        """Performs everything that is due with the registered executors, once, and comes back."""
        told = _json.decode(self._native.perform())
        succeeded, failed, in_doubt, called_off = (
            int(told[name]) for name in ("succeeded", "failed", "in_doubt", "called_off")
        )
        return Tally(succeeded, failed, in_doubt, called_off, tuple(told["waiting"]))

    async def perform_async(self) -> Tally:
        """The same, awaited."""
        return await to_thread(self.perform)

    def tick(self) -> None:
        """Lets time act: questions that nobody answered end, intents that nobody started are called off."""
        self._native.tick()

    async def tick_async(self) -> None:
        """The same, awaited."""
        await to_thread(self.tick)

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


def explain(code: str) -> ReasonShape:
    """What a reason means and what to do about it."""
    told: ReasonShape = _json.decode(_native.explain(code))
    return told


def draft(tools: Iterable[object], *, agent: str = "agent") -> str:
    """A closed contract from the schemas of tools; amounts get a limit of 0 until someone writes a number.

    >>> print(draft([{"name": "pay", "parameters": {"type": "object", "properties": {"amount": {"type": "number"}}}}]))
    ... # doctest: +ELLIPSIS
    # yaml-language-server: ...
    """
    return _native.draft(_json.encode(schemas_of(tools)), agent)


class ImportedContract(NamedTuple):
    """A contract that was written for something else, as text of ours."""

    text: str
    notes: list[str]
    """What it adds, leaves out or takes as given."""


def import_contract(contract: Mapping[str, Any] | str, *, source: Literal["dir"] = "dir") -> ImportedContract:
    """A contract of the Decision Intelligence Runtime as a contract here; what cannot be carried over is refused.

    >>> made = import_contract({"agent_id": "bot", "allowed_policy_types": ["HOLD"], "max_drawdown_limit": 0.05})
    >>> made.notes
    ["`max_drawdown_limit` is a limit of the agent's whole conduct: it is a note and no rule on each proposal"]
    >>> _ = open("memory:", contract=made.text)
    """
    if source != "dir":
        raise ValueError(f"contracts are imported from 'dir', not from {source!r}")
    text = contract if isinstance(contract, str) else _json.encode(dict(contract))
    return ImportedContract(*_native.import_dir(text))


def verify(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Verifies an export without its store: ``whole``, how many records were ``replayed``, and what is the ``damage``."""
    told: dict[str, Any] = _json.decode(_native.verify(os.fspath(path)))
    return told


def _amount(name: str, amount: Decimal | float) -> Decimal:
    """An amount of a resource: finite, exactly as it is written."""
    if not isinstance(amount, bool):
        exact = amount if isinstance(amount, Decimal) else Decimal(str(amount))
        if exact.is_finite() and exact >= 0:
            return exact
    raise ValueError(f"{name}: {amount!r} is no finite amount of 0 or more")


_ENVELOPE = (
    "agent", "action", "params", "confidence", "flow", "snapshot", "idempotency_key", "id", "step", "justification",
    "valid_until", "tokens", "provenance",
)  # fmt: skip


def _proposal(given: Mapping[str, Any]) -> str:
    """The text of a proposal. What JSON cannot hold is refused here, before anything is asked."""
    fields = {name: given[name] for name in _ENVELOPE if given[name] is not None}
    for name in ("flow", "snapshot"):
        if name in fields:
            fields[name] = id_of(fields[name])
    return _json.encode(fields)


def _instead(question: Mapping[str, Any], instead: Mapping[str, object]) -> dict[str, object]:
    """The proposal that is to happen instead: a whole one, or other params for the one in question."""
    if "action" in instead and "params" in instead:
        return dict(instead)
    asked = question["proposal"]
    params = {**asked["params"], **instead}
    return {"agent": asked["agent"], "action": asked["action"], "params": params}


async def _polled(later: _native.Later) -> tuple[str, bool, str | None]:
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
