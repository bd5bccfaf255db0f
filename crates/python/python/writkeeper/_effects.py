"""What a keeper knows of effects: intents, what became of them, and the functions that cause them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from writkeeper import _functions, _json
from writkeeper._awaiting import SLICE_SECONDS, to_thread
from writkeeper._people import AskingPeople
from writkeeper._shapes import Outcome
from writkeeper._types import Decision, Intent, Tally, id_of

Function = TypeVar("Function", bound=Callable[..., object])


class CausingEffects(AskingPeople):
    """The part of a keeper that is about effects."""

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
