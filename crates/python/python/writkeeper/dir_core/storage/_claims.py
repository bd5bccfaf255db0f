"""Guarded steps: each is an intent of the kernel's, at most one for each effect.

The intent is made before the step runs and reported after it. A step whose process died in between is in doubt, and so is
one that was broken off: nobody knows whether it happened, and it is not run again.
"""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import timedelta
from enum import Enum
from typing import Any

from ... import _json
from ..._errors import Refused
from ..._keeper import Keeper
from ..._types import Intent
from .._canonical import canonical_json, sha256_hex
from .._times import row_instant, utcnow
from . import _journal, _owner
from ._file import reading, writing
from .base import StorageError

KEPT_FOR = timedelta(days=365)
SHORTEST_WAIT = 0.005
LONGEST_WAIT = 0.1

# An intent that somebody began and has not reported.
_BEGUN = frozenset({"READY", "CLAIMED", "IN_FLIGHT", "HANDED_OUT", "UNREPORTED"})
_SETTLER = "dir_core"
_STEP_CHARS = 256


class Standing(Enum):
    """How an effect stands for whoever asks for it."""

    OURS = "ours"
    DONE = "done"
    IN_DOUBT = "in doubt"
    RUNNING = "running"


# The intents that this process is working on, by file and key, with the thread that does.
_working: dict[tuple[str, str], tuple[int, str]] = {}
_working_lock = threading.Lock()
_asking_lock = threading.Lock()


def claim(path: str, key: str, step: str = "") -> tuple[Standing, Any]:
    """Wait until nobody works on the effect; then DONE with its result, IN_DOUBT, or OURS.

    For the thread that works on it itself the outcome cannot be known yet.
    """
    with _working_lock:
        worked_on = _working.get(_place(path, key))
    if worked_on is not None and worked_on[0] == threading.get_ident():
        return Standing.IN_DOUBT, None
    wait = SHORTEST_WAIT
    while True:
        standing, result = _try_claim(path, key, step)
        if standing is not Standing.RUNNING:
            return standing, result
        time.sleep(wait)
        wait = min(wait * 1.5, LONGEST_WAIT)


def done(path: str, key: str) -> None:
    """The effect happened and its result is kept."""
    _report(path, key, "succeeded", "the step returned")


def give_back(path: str, key: str) -> None:
    """The effect did not happen: it can be tried again."""
    _report(path, key, "failed", "the step raised an exception")


def doubt(path: str, key: str) -> None:
    """Nobody can say whether the effect happened."""
    _report(path, key, "doubt", "the step was broken off")


def settle(path: str, key: str, happened: bool) -> bool:
    """A person says what became of an effect in doubt; False if it is not in doubt."""
    if kept(path, key)[0]:
        return False
    standing, intent = _asked(path, key, "")
    if standing is not Standing.IN_DOUBT:
        if standing is Standing.OURS:
            _report(path, key, "failed", "asked only how it stands")
        return False
    answer = "happened" if happened else "did_not"
    because = "it happened" if happened else "it did not happen"
    keeper = _journal.store(path)
    keeper.people({_journal.SETTLERS: [_SETTLER]})
    keeper.answer(f"={intent.id}", answer, by=_SETTLER, because=because)
    return True


def keep(connection: Any, key: str, result: Any) -> None:
    """Write a result, inside a transaction."""
    text = canonical_json(result)
    connection.execute(
        "INSERT INTO idempotency_cache"
        " (idempotency_key, request_hash, result, created_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT(idempotency_key) DO UPDATE SET"
        " request_hash = excluded.request_hash, result = excluded.result,"
        " created_at = excluded.created_at, expires_at = excluded.expires_at",
        (key, sha256_hex(text), text, row_instant(), row_instant(utcnow() + KEPT_FOR)),
    )


def kept(path: str, key: str) -> tuple[bool, Any]:
    """Whether there is a result, and which: None is one too."""
    with reading(path) as connection:
        row = connection.execute(
            "SELECT result FROM idempotency_cache WHERE idempotency_key = ?", (key,)
        ).fetchone()
    if row is None:
        return False, None
    # In a file that the reference made, the column turns the text of a number into the number.
    result = row["result"]
    return True, json.loads(result) if isinstance(result, str) else result


def _try_claim(path: str, key: str, step: str) -> tuple[Standing, Any]:
    found, result = kept(path, key)
    if found:
        return Standing.DONE, result
    standing, intent = _asked(path, key, step)
    if standing is Standing.DONE:
        # Its process may have ended before it wrote the tables.
        with writing(path):
            pass
        found, result = kept(path, key)
        return (Standing.DONE, result) if found else (Standing.IN_DOUBT, None)
    if standing is Standing.RUNNING:
        _await(_journal.store(path), path, key, intent)
    return standing, None


def _asked(path: str, key: str, step: str) -> tuple[Standing, Intent]:
    """Ask the kernel for the effect: it is ours, or how the intent stands that has it."""
    keeper = _journal.store(path)
    params = {"key": key, "owner": _owner.own_name(path), "step": step[:_STEP_CHARS]}
    # Whoever finds the intent of another thread must find that thread at work.
    with _asking_lock:
        decision = keeper.decide(agent=_journal.AGENT, action=_journal.STEP_ACTION, params=params)
        if decision.accepted and decision.intent is not None:
            _start_working(path, key, decision.intent.id)
            return Standing.OURS, decision.intent
    if decision.blocked_by is None:
        raise StorageError(f"the step cannot be claimed: {', '.join(decision.reasons)}")
    intent = keeper.intent("=" + decision.blocked_by)
    return _standing(path, key, keeper, intent), intent


def _standing(path: str, key: str, keeper: Keeper, intent: Intent) -> Standing:
    if intent.state == "SUCCEEDED":
        return Standing.DONE
    if intent.state not in _BEGUN:
        # In doubt; or it failed meanwhile, and then the effect can be had again.
        return Standing.IN_DOUBT if intent.state in ("IN_DOUBT", "ABANDONED") else Standing.RUNNING
    if _is_worked_on(path, key, str((intent.params or {}).get("owner", ""))):
        return Standing.RUNNING
    # The process may have reported between our looks at the intent and at the process.
    intent = keeper.intent("=" + intent.id)
    if intent.state not in _BEGUN:
        return Standing.RUNNING
    try:
        keeper.report("=" + intent.id, "doubt", detail="the process that ran the step is gone")
    except Refused:
        # Somebody else found it at the same time: look again.
        return Standing.RUNNING
    return Standing.IN_DOUBT


def _await(keeper: Keeper, path: str, key: str, intent: Intent) -> None:
    """Wait until the intent is over or its process is gone."""
    owner = str((intent.params or {}).get("owner", ""))
    wait = SHORTEST_WAIT
    while _is_worked_on(path, key, owner):
        found = keeper._native.await_outcome(intent.id, wait)
        if found is None or _json.decode(found)["settled"]:
            return
        wait = min(wait * 1.5, LONGEST_WAIT)


def _report(path: str, key: str, outcome: Any, detail: str) -> None:
    with _working_lock:
        worked_on = _working.get(_place(path, key))
    if worked_on is None:
        return
    try:
        _journal.store(path).report("=" + worked_on[1], outcome, detail=detail)
    except Refused:
        # Somebody took this process for dead and said so; the kept result counts all the same.
        if outcome == "failed":
            raise
    finally:
        with _working_lock:
            _working.pop(_place(path, key), None)


def _is_worked_on(path: str, key: str, owner: str) -> bool:
    if _owner.is_own(path, owner):
        with _working_lock:
            return _place(path, key) in _working
    return _owner.is_alive(path, owner)


def _start_working(path: str, key: str, intent: str) -> None:
    with _working_lock:
        _working[_place(path, key)] = (threading.get_ident(), intent)


def _place(path: str, key: str) -> tuple[str, str]:
    """The same for every spelling of a path."""
    return os.path.realpath(path), key


def _start_anew_in_child() -> None:
    """A forked child works on none of its parent's claims."""
    global _asking_lock, _working_lock
    _asking_lock, _working_lock = threading.Lock(), threading.Lock()
    _working.clear()


os.register_at_fork(after_in_child=_start_anew_in_child)
