"""The guard: what stands between an agent and its tools, whatever framework calls them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import logging
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from writkeeper import _functions, _json
from writkeeper._awaiting import shielded, sleep, to_thread
from writkeeper._errors import (
    DidNotHappen,
    Refusal,
    Refused,
    WritkeeperError,
    listening,
)
from writkeeper._shapes import Origin
from writkeeper._types import Decision

if TYPE_CHECKING:
    from writkeeper._keeper import Keeper

Function = TypeVar("Function", bound=Callable[..., Any])
Value = TypeVar("Value")

_log = logging.getLogger("writkeeper")

LOOK_SECONDS = 0.1
"""A task that awaits a person's answer looks this often."""

REMEMBERED_MAX = 1_000
"""Pending calls that a guard remembers; older ones are found in the store by their effect key."""

KEY_SHOWN = 64
"""Characters of a call's id that its idempotency key shows, for people who look for it."""

ATTEMPTS_MAX = 32
"""Attempts at one call, each after one of which its tool said that it did not happen."""

_UNKNOWN_STATES = ("IN_DOUBT", "UNREPORTED")
_NOTHING_STATES = ("FAILED", "CANCELLED")
_WAY_OUT = "try again later, or tell the operator"


_live: set[str] = set()
"""Intents that this process performs right now; about others of the kind nobody here knows whether they are alive."""

_asking: Counter[tuple[str, str]] = Counter()
_asking_lock = threading.Lock()
"""Agents and actions that this process is being asked about: between a decision and its permit nobody is in ``_live`` yet."""


@contextlib.contextmanager
def _counted(asked: tuple[str, str]) -> Generator[None, None, None]:
    with _asking_lock:
        _asking[asked] += 1
    try:
        yield
    finally:
        with _asking_lock:
            _asking[asked] -= 1
            if not _asking[asked]:
                del _asking[asked]


class Permit:
    """Permission for one call. Run the tool with ``params``, then say how it went.

    Where nothing is said the intent stays open, and in the end nobody knows: a person is asked.
    """

    def __init__(self, guard: Guard, action: str, params: dict[str, Any], proposal: str, taken: dict[str, Any] | None) -> None:
        self._guard = guard
        self._taken = taken
        self._told = threading.Lock()
        self._is_told = False
        self._did_not: list[DidNotHappen] = []
        self.action = action
        self.params = params
        self.proposal = proposal
        if taken is not None:
            _live.add(str(taken["intent"]))

    @property
    def intent(self) -> str | None:
        """The intent; nothing for a call that only reads."""
        return None if self._taken is None else str(self._taken["intent"])

    @property
    def key(self) -> str | None:
        """The key under which the other side recognises the effect, the same in every attempt."""
        return None if self._taken is None else str(self._taken["key"])

    def done(self, value: object = None) -> None:
        """It happened; what it returned is kept with the intent."""
        self._report("succeeded", "returned", _functions.result_text(value))

    def failed(self, error: BaseException | None = None) -> None:
        """It raised: nobody knows whether it happened, unless it raised ``DidNotHappen``."""
        detail = "failed" if error is None else _functions.described(error)
        self._report("failed" if isinstance(error, DidNotHappen) else "doubt", detail, None)

    @contextlib.contextmanager
    def listening(self) -> Generator[None, None, None]:
        """Hears a ``DidNotHappen`` also where the framework turns it into a result before anybody else sees it."""
        token = listening.set(self._did_not)
        try:
            yield
        finally:
            listening.reset(token)

    def error(self, text: str, framework: str) -> BaseException:
        """What a tool raised whose framework gives ``text`` in its place.

        Nobody knows, unless it was a ``DidNotHappen`` that came all the way up into the framework: one that the tool
        caught itself says nothing about what it did afterwards.
        """
        for heard in self._did_not:
            trace = heard.__traceback__
            caught_in = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
            if caught_in.partition(".")[0] == framework:
                return heard
        return RuntimeError(text)

    async def done_async(self, value: object = None) -> None:
        """The same as ``done``, awaited."""
        if self._taken is not None:
            await to_thread(self.done, value)

    async def failed_async(self, error: BaseException | None = None) -> None:
        """The same as ``failed``, awaited; it is said also where the task was cancelled."""
        if self._taken is not None:
            await shielded(to_thread(self.failed, error))

    def _report(self, outcome: str, detail: str, result: str | None) -> None:
        with self._told:
            if self._is_told or self._taken is None:
                return
            self._is_told = True
        _live.discard(str(self._taken["intent"]))
        try:
            store = self._guard.keeper._native
            store.report("=" + self._taken["intent"], outcome, detail, self._taken["epoch"], result)
        except Exception as error:
            # The effect is over; that nobody could write it down leaves it in doubt, which is the truth.
            _log.warning("the outcome of intent %s was not recorded: %s", self._taken["intent"], error)


class Guard:
    """What stands between one agent and its tools.

    ``ask`` judges a call and never raises: it gives a ``Permit`` or a ``Refusal``. With ``on_ask="wait"`` a call that
    needs a person blocks for up to ``wait`` seconds; otherwise the model is told that the answer is pending, and the same
    call later runs with what the person approved.

    >>> import writkeeper
    >>> keeper = writkeeper.open("memory:", contract='''
    ... agent: bot
    ... actions: { pay: { once: "pay:{order}", params: { order: text, amount: number }, allow: amount <= 25 } }
    ... ''')
    >>> guard = keeper.guard("bot")
    >>> @guard.tool
    ... def pay(order: str, amount: float) -> str:
    ...     return f"paid {amount}"
    >>> pay(order="A-1", amount=12.5)
    'paid 12.5'
    >>> pay(order="A-1", amount=12.5)["writkeeper"]["reasons"]
    ['ALREADY_DONE']
    >>> pay(order="A-2", amount=5000)["writkeeper"]["status"]
    'denied'
    """

    def __init__(
        self, keeper: Keeper, agent: str, *, on_ask: Literal["pending", "wait"] = "pending", wait: float = 0.0
    ) -> None:
        if on_ask not in ("pending", "wait"):
            raise ValueError(f"on_ask is `pending` or `wait`, not `{on_ask}`")
        self.keeper = keeper
        self.agent = agent
        self.on_ask = on_ask
        self.wait = wait
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, str], Refusal] = {}

    # ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        name: str,
        args: Mapping[str, object],
        *,
        call_id: str | None = None,
        flow: str | None = None,
        confidence: float | None = None,
        provenance: Mapping[str, Origin] | None = None,
    ) -> Permit | Refusal:
        """Judges a call; never raises. ``call_id`` names it: the same call asked again gets the same answer."""
        seconds = self.wait if self.on_ask == "wait" else 0.0
        name = _text(name)
        return self._safely(name, lambda: self._ask(name, args, call_id, flow, confidence, provenance, seconds))

    async def ask_async(
        self,
        name: str,
        args: Mapping[str, object],
        *,
        call_id: str | None = None,
        flow: str | None = None,
        confidence: float | None = None,
        provenance: Mapping[str, Origin] | None = None,
    ) -> Permit | Refusal:
        """The same, awaited."""
        deadline = time.monotonic() + (self.wait if self.on_ask == "wait" else 0.0)
        name = _text(name)

        def ask() -> Permit | Refusal:
            return self._safely(name, lambda: self._ask(name, args, call_id, flow, confidence, provenance, 0.0))

        asked = await to_thread(ask)
        while isinstance(asked, Refusal) and asked.status == "pending" and time.monotonic() < deadline:
            await sleep(LOOK_SECONDS)
            pending = asked
            standing = await to_thread(
                self._safely, name, lambda: self._standing(pending, args, time.monotonic())
            )
            asked = standing
        return asked

    def _safely(self, name: str, ask: Callable[[], Permit | Refusal]) -> Permit | Refusal:
        """Nothing that goes wrong here lets a call through."""
        try:
            return ask()
        except Refused as error:
            refusal = error.refusal
            return Refusal("denied", name, refusal.reasons, refusal.message, refusal.fix, refusal.proposal)
        except WritkeeperError as error:
            return Refusal("unavailable", name, (error.code,), error.message, error.fix or _WAY_OUT)
        except Exception as error:
            _log.exception("the guard failed")
            return Refusal("unavailable", name, ("UNAVAILABLE",), f"the guard failed: {error}", _WAY_OUT)

    def _ask(
        self,
        name: str,
        args: Mapping[str, object],
        call_id: str | None,
        flow: str | None,
        confidence: float | None,
        provenance: Mapping[str, Origin] | None,
        seconds: float,
    ) -> Permit | Refusal:
        deadline = time.monotonic() + seconds
        try:
            given = _mapping(args)
            # What a model leaves empty is absent: some frameworks make it name every argument.
            args = {key: value for key, value in given.items() if value is not None}
            asked = (name, _json.canonical(args))
        except (TypeError, ValueError) as error:
            return Refusal("denied", name, ("PARAM_INVALID",), str(error), "send JSON values only")
        with _counted((self.agent, name)):
            answer = self._judged(asked, args, call_id, flow, confidence, provenance, deadline)
        if isinstance(answer, Permit):
            answer.params = {**{key: None for key, value in given.items() if value is None}, **answer.params}
        return answer

    def _judged(
        self,
        asked: tuple[str, str],
        args: Mapping[str, object],
        call_id: str | None,
        flow: str | None,
        confidence: float | None,
        provenance: Mapping[str, Origin] | None,
        deadline: float,
    ) -> Permit | Refusal:
        name = asked[0]
        if provenance is not None:
            provenance = {param: origin for param, origin in provenance.items() if param in args}
        with self._lock:
            remembered = self._pending.get(asked)
        if remembered is not None:
            standing = self._standing(remembered, args, deadline)
            if isinstance(standing, Refusal) and standing.status == "pending":
                return standing
            with self._lock:
                self._pending.pop(asked, None)
            if isinstance(standing, Permit) or standing.status != "denied" or standing.reasons != ("IN_PROGRESS",):
                return standing
        decision = self._decided(asked, args, call_id, flow, confidence, provenance)
        for _ in range(ATTEMPTS_MAX):
            if decision.fresh or decision.intent is None or not self._came_to_nothing(decision.intent.id):
                break
            # The answer to this very call was used up by an attempt that did not happen: this is the next attempt.
            call_id = f"{call_id}/{decision.intent.id}"
            decision = self._decided(asked, args, call_id, flow, confidence, provenance)
        answer = self._answered(decision, name, args, deadline)
        if isinstance(answer, Refusal) and answer.status == "pending":
            with self._lock:
                if len(self._pending) >= REMEMBERED_MAX:
                    self._pending.pop(next(iter(self._pending)))
                self._pending[asked] = answer
        return answer

    def _decided(
        self,
        asked: tuple[str, str],
        args: Mapping[str, object],
        call_id: str | None,
        flow: str | None,
        confidence: float | None,
        provenance: Mapping[str, Origin] | None,
    ) -> Decision:
        return self.keeper.decide(
            agent=self.agent,
            action=asked[0],
            params=args,
            confidence=confidence,
            flow=flow,
            idempotency_key=_key(call_id, asked),
            provenance=provenance,
        )

    def _came_to_nothing(self, intent: str) -> bool:
        return self._stands(intent)["state"] in _NOTHING_STATES

    def _stands(self, intent: str) -> dict[str, Any]:
        """Where an intent stands; its history is not the agent's to read."""
        standing: dict[str, Any] = _json.decode(self.keeper._native.standing("=" + intent))
        return standing

    def _answered(self, decision: Decision, name: str, args: Mapping[str, object], deadline: float) -> Permit | Refusal:
        refusal = decision.refusal
        if refusal is None:
            if decision.intent is None:
                return Permit(self, name, dict(args), decision.id, None)
            return self._taken_up(decision.intent.id, decision.fresh, decision.id, name, args)
        if refusal.status == "pending":
            return self._standing(refusal, args, deadline)
        if decision.blocked_by is not None:
            return self._blocked(decision.blocked_by, refusal, name, args)
        return refusal

    def _blocked(self, intent: str, refusal: Refusal, name: str, args: Mapping[str, object]) -> Permit | Refusal:
        """The effect has an intent already. If a person approved exactly this call, that intent is for this call."""
        standing = self._stands(intent)
        if standing["state"] in ("HANDED_OUT", "READY"):
            approved = self._approved(intent)
            if approved is not None and (approved["agent"], approved["action"]) == (self.agent, name):
                if _json.canonical(approved["params"]) == _json.canonical(args):
                    return self._taken_up(intent, False, refusal.proposal or "", name, args)
            if approved is not None and not self.keeper.state.version(f"agents/{self.agent}/taken/{intent}"):
                return refusal
        return self._doubted(standing["state"], intent, refusal)

    def _approved(self, intent: str) -> dict[str, Any] | None:
        """The call that a person approved with this very intent."""
        found = self.keeper._native.approved("=" + intent)
        approved: dict[str, Any] | None = None if found is None else _json.decode(found)
        return approved

    def _standing(self, pending: Refusal, args: Mapping[str, object], deadline: float) -> Permit | Refusal:
        """How a question stands: still open, answered with a yes that is taken up, or with a no."""
        self.keeper.tick()
        standing = self.keeper._await_answer(pending.question or "", deadline)
        if standing is None or standing["state"] == "OPEN":
            return pending
        if standing["intent"]:
            return self._taken_up(standing["intent"], False, pending.proposal or "", pending.action, args)
        who, why = standing["by"], standing["because"]
        message = f"{who} said no: {why}" if who else "nobody answered in time"
        fix = "do not repeat it; propose something else"
        return Refusal("denied", pending.action, pending.reasons, message, fix, pending.proposal, pending.question)

    def _taken_up(
        self, intent: str, fresh: bool, proposal: str, name: str, args: Mapping[str, object]
    ) -> Permit | Refusal:
        try:
            taken: dict[str, Any] = _json.decode(self.keeper._native.take_up("=" + intent, fresh))
        except Refused as error:
            refused = error.refusal
            refusal = Refusal("denied", name, refused.reasons, refused.message, refused.fix, proposal)
            return self._doubted(self._stands(intent)["state"], intent, refusal)
        except WritkeeperError as error:
            if error.code == "USAGE":
                # A worker would perform it behind the back of a model that was told it did not run.
                self.keeper._native.call_off("=" + intent)
            raise
        return Permit(self, name, _json.as_given(args, taken["params"]), proposal, taken)

    def _doubted(self, state: str | None, intent: str, refusal: Refusal) -> Refusal:
        # What another process began is under way, or that process is dead: either way nobody here knows.
        begun = state in ("HANDED_OUT", "IN_FLIGHT")
        # Who asks at the same time may be the one who began it: look whether others ask first, and then what runs.
        is_asked_here = begun and _asking[(self.agent, refusal.action)] > 1
        if begun and (is_asked_here or intent in _live):
            return refusal
        if begun:
            # It may have ended since.
            begun = self._stands(intent)["state"] in ("HANDED_OUT", "IN_FLIGHT")
        if state not in _UNKNOWN_STATES and not begun:
            return refusal
        message = f"nobody knows whether an earlier attempt in intent {intent} happened"
        fix = "do not repeat it; a person finds out"
        return Refusal("in_doubt", refusal.action, refusal.reasons, message, fix, refusal.proposal, None, intent)

    # ── calling ───────────────────────────────────────────────────────────────────────────────────────────────────

    def call(
        self,
        name: str,
        args: Mapping[str, object],
        run: Callable[[dict[str, Any]], Value],
        *,
        call_id: str | None = None,
        flow: str | None = None,
        provenance: Mapping[str, Origin] | None = None,
    ) -> Value | Refusal:
        """Asks, runs ``run(params)`` if it may, and says how it went."""
        permit = self.ask(name, args, call_id=call_id, flow=flow, provenance=provenance)
        if isinstance(permit, Refusal):
            return permit
        try:
            value = run(permit.params)
        except BaseException as error:
            permit.failed(error)
            raise
        permit.done(value)
        return value

    async def call_async(
        self,
        name: str,
        args: Mapping[str, object],
        run: Callable[[dict[str, Any]], Awaitable[Value]],
        *,
        call_id: str | None = None,
        flow: str | None = None,
        provenance: Mapping[str, Origin] | None = None,
    ) -> Value | Refusal:
        """The same for a coroutine function."""
        permit = await self.ask_async(name, args, call_id=call_id, flow=flow, provenance=provenance)
        if isinstance(permit, Refusal):
            return permit
        try:
            value = await run(permit.params)
        except BaseException as error:
            await permit.failed_async(error)
            raise
        await permit.done_async(value)
        return value

    @overload
    def tool(self, function: Function, /) -> Function: ...
    @overload
    def tool(self, function: None = None, /, *, name: str | None = None) -> Callable[[Function], Function]: ...
    @overload
    def tool(self, function: Function, /, *, name: str | None = None) -> Function: ...

    def tool(self, function: Any = None, /, *, name: str | None = None) -> Any:
        """Guards any function, coroutine functions too: the action is its name, the params are its arguments.

        A refusal comes back as a dictionary that a model can read. The function runs with the intent's params, which
        differ from the arguments where a person changed them.
        """
        if function is None:
            return functools.partial(self.tool, name=name)
        action = name or getattr(function, "__name__", None)
        if action is None:
            raise TypeError(f"{type(function).__name__} has no name; say tool(…, name=…)")
        signature = inspect.signature(function)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def guarded_async(*positional: Any, **named: Any) -> Any:
                args = _arguments(signature, positional, named)
                value = await self.call_async(action, args, lambda params: function(**params))
                return value.as_dict() if isinstance(value, Refusal) else value

            return guarded_async

        @functools.wraps(function)
        def guarded(*positional: Any, **named: Any) -> Any:
            args = _arguments(signature, positional, named)
            value = self.call(action, args, lambda params: function(**params))
            return value.as_dict() if isinstance(value, Refusal) else value

        return guarded


def _arguments(signature: inspect.Signature, positional: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Every argument by its name, with defaults: what runs is what was judged. A default of None is absent."""
    bound = signature.bind(*positional, **named)
    given = set(bound.arguments)
    bound.apply_defaults()
    arguments: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(value)
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            if value:
                raise TypeError("a guarded function takes its arguments by name")
        elif value is not None or name in given:
            arguments[name] = value
    return arguments


def _text(name: object) -> str:
    """A name as a text that can be judged and told: what is none, or holds half a character, is the name of nothing."""
    return str(name).encode("utf-8", "backslashreplace").decode()


def _mapping(args: object) -> Mapping[str, object]:
    """The arguments of a call, whatever a framework or a model hands over."""
    if not isinstance(args, Mapping):
        raise TypeError(f"the arguments of a call are a mapping, not {type(args).__name__}")
    return args


def _key(call_id: object, asked: tuple[str, str]) -> str | None:
    """An idempotency key: the call and exactly what it asks, because not every framework's ids are unique for ever."""
    if call_id is None or call_id == "":
        return None
    call_id = str(call_id)
    named = "\0".join((call_id, *asked)).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(named).hexdigest()
    shown = "".join(letter for letter in call_id if letter.isascii() and (letter.isalnum() or letter in "-_.:"))
    return f"{shown[-KEY_SHOWN:]}:{digest[:32]}" if shown else digest
