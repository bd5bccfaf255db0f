"""What a keeper asks people, and what they answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from writkeeper import _json
from writkeeper._awaiting import SLICE_SECONDS, to_thread
from writkeeper._handle import Handle
from writkeeper._proposal import instead_of
from writkeeper._types import Intent, Question, id_of


class AskingPeople(Handle):
    """The part of a keeper that is about people."""

    def people(self, groups: Mapping[str, Iterable[str]]) -> int:
        """Says who is in these groups, and nobody else is; how many people changed.

        >>> import writkeeper
        >>> writkeeper.open("memory:").people({"refund-desk": ["ann", "bob"]})
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
            words["instead"] = instead_of(data, instead)
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

    def _await_answer(self, question: str, deadline: float) -> dict[str, Any] | None:
        while True:
            left = deadline - time.monotonic()
            found = self._native.await_answer(question, min(max(left, 0.0), SLICE_SECONDS))
            standing: dict[str, Any] | None = None if found is None else _json.decode(found)
            if standing is None or standing["state"] != "OPEN" or left <= 0:
                return standing
