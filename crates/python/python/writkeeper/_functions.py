"""Functions of the embedding program as the kernel calls them: executors and validators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from writkeeper import _json
from writkeeper._errors import DidNotHappen
from writkeeper._types import Attempt

DETAIL_MAX = 300
"""Characters of an exception that a record keeps."""


def described(error: BaseException) -> str:
    """An exception in a few words, for a record."""
    return f"{type(error).__name__}: {error}"[:DETAIL_MAX]


def result_text(value: object) -> str | None:
    """What a function returned, as a record keeps it; nothing where there is nothing to keep."""
    if value is None:
        return None
    try:
        return _json.encode(value)
    except (TypeError, ValueError):
        return _json.encode(repr(value))


def executor(function: Callable[..., object]) -> Callable[[str], str]:
    """A function as the native half calls it for every attempt."""
    signature = inspect.signature(function)

    def perform(text: str) -> str:
        attempt = Attempt(**_json.decode(text))
        try:
            value = _called(function, signature, attempt)
        except DidNotHappen as error:
            return _json.encode({"observed": "failed", "detail": described(error)})
        except Exception as error:
            return _json.encode({"observed": "doubt", "detail": described(error)})
        return _json.encode({"observed": "succeeded", "detail": "returned", "result": result_text(value)})

    return perform


def _called(function: Callable[..., object], signature: inspect.Signature, attempt: Attempt) -> object:
    """With the params by name, and with the attempt where the function has an argument of that name."""
    params = dict(attempt.params)
    names = signature.parameters
    extra: dict[str, object] = {"attempt": attempt} if "attempt" in names and "attempt" not in params else {}
    try:
        signature.bind(**params, **extra)
    except TypeError:
        required = [name for name, one in names.items() if one.default is one.empty]
        if len(names) == 1 and len(required) <= 1:
            return function(attempt if next(iter(names)) in ("attempt", "intent") else params)
        raise
    return function(**params, **extra)


def validator(name: str, function: Callable[..., object], version: str) -> Callable[[str], str]:
    """A function as the native half asks it. It gets the proposal and says whether it may happen.

    ``None`` and ``True`` pass, ``False`` and text refuse, a mapping is the whole answer (``verdict``, ``message``,
    ``reason``, ``score``). An exception is no answer, and what needs one is refused.
    """

    def answer(text: str) -> str:
        question = _json.decode(text)
        said = function(question["proposal"])
        told: dict[str, Any] = {"verdict": "pass", "version": version}
        if isinstance(said, Mapping):
            told.update(said)
        elif isinstance(said, str):
            told.update(verdict="reject", message=said)
        elif said is False:
            told.update(verdict="reject", message=f"{name} says no")
        elif said is not None and said is not True:
            raise TypeError(f"validator `{name}` returned {type(said).__name__}, not None, a bool, text or a mapping")
        return _json.encode(told)

    return answer
