"""Whether the package is strict, and who the known people are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import TracebackType

STRICT_VARIABLE = "WRITKEEPER_DIR_STRICT"
_TRUE = frozenset({"1", "true", "yes", "on"})


class _Setting:
    """What the process has chosen; None leaves the choice to the environment."""

    enabled: bool | None = None
    people: frozenset[str] = frozenset()


class StrictMode:
    """The handle that `strict` returns: leaving its `with` block restores what was before."""

    def __init__(self, enabled: bool | None, people: frozenset[str]) -> None:
        self._before = (enabled, people)

    def __enter__(self) -> StrictMode:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _Setting.enabled, _Setting.people = self._before


def strict(enabled: bool = True, *, people: Iterable[str] | None = None) -> StrictMode:
    """Refuse what the reference lets pass: a proposal without a contract, unknown fields,
    an amendment or answer by someone who is not in `people`, a return from RETIRED.

    Called plainly it holds from now on; as `with strict():` until the block ends. The environment
    variable WRITKEEPER_DIR_STRICT=1 does the same for a whole process.
    """
    handle = StrictMode(_Setting.enabled, _Setting.people)
    _Setting.enabled = enabled
    if people is not None:
        _Setting.people = frozenset(people)
    return handle


def is_strict() -> bool:
    """True if the process or its environment asked for strictness."""
    if _Setting.enabled is not None:
        return _Setting.enabled
    return os.environ.get(STRICT_VARIABLE, "").strip().lower() in _TRUE


def is_known_person(actor: str | None) -> bool:
    """True if `strict(people=…)` named this actor."""
    return actor is not None and actor in _Setting.people
