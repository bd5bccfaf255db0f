"""Effects that are being carried out: claimed before, kept after, in doubt if neither is known."""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import timedelta
from enum import Enum
from typing import Any

from .._canonical import canonical_json, sha256_hex
from .._times import row_instant, utcnow
from . import _owner
from ._file import reading, writing

KEPT_FOR = timedelta(days=365)
SHORTEST_WAIT = 0.005
LONGEST_WAIT = 0.1


class Standing(Enum):
    """How an effect stands for whoever asks for it."""

    OURS = "ours"
    DONE = "done"
    IN_DOUBT = "in doubt"
    RUNNING = "running"


# The claims that this process is working on, by file and key, with the thread that does.
_working: dict[tuple[str, str], int] = {}
_working_lock = threading.Lock()


def claim(path: str, key: str) -> tuple[Standing, Any]:
    """Wait until nobody works on the effect; then DONE with its result, IN_DOUBT, or OURS.

    For the thread that works on it itself the outcome cannot be known yet.
    """
    with _working_lock:
        if _working.get(_place(path, key)) == threading.get_ident():
            return Standing.IN_DOUBT, None
    wait = SHORTEST_WAIT
    while True:
        standing, result = _try_claim(path, key)
        if standing is not Standing.RUNNING:
            return standing, result
        time.sleep(wait)
        wait = min(wait * 1.5, LONGEST_WAIT)


def done(path: str, key: str) -> None:
    """The effect happened and its result is kept."""
    _stop_working(path, key)


def give_back(path: str, key: str) -> None:
    """The effect did not happen: drop the claim, so that it can be tried again."""
    with writing(path) as connection:
        connection.execute("DELETE FROM wk_claims WHERE effect_key = ?", (key,))
    _stop_working(path, key)


def doubt(path: str, key: str) -> None:
    """Nobody can say whether the effect happened."""
    _stop_working(path, key)
    with writing(path) as connection:
        connection.execute("UPDATE wk_claims SET in_doubt = 1 WHERE effect_key = ?", (key,))


def settle(path: str, key: str) -> bool:
    """Drop a claim that is in doubt; False if it is not."""
    with writing(path) as connection:
        row = connection.execute(
            "SELECT owner, in_doubt FROM wk_claims WHERE effect_key = ?", (key,)
        ).fetchone()
        if row is None:
            return False
        if not row["in_doubt"] and _is_worked_on(path, key, row["owner"]):
            return False
        connection.execute("DELETE FROM wk_claims WHERE effect_key = ?", (key,))
    return True


def keep(connection: Any, key: str, result: Any) -> None:
    """Write a result and drop the claim, inside a transaction."""
    connection.execute("DELETE FROM wk_claims WHERE effect_key = ?", (key,))
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
        return _kept(connection, key)


def _kept(connection: Any, key: str) -> tuple[bool, Any]:
    row = connection.execute(
        "SELECT result FROM idempotency_cache WHERE idempotency_key = ?", (key,)
    ).fetchone()
    if row is None:
        return False, None
    # In a file that the reference made, the column turns the text of a number into the number.
    result = row["result"]
    return True, json.loads(result) if isinstance(result, str) else result


def _try_claim(path: str, key: str) -> tuple[Standing, Any]:
    # Looked at without the write lock first: most callers find a result or a running claim.
    with reading(path) as connection:
        standing, result = _look(connection, path, key)
    if standing is not Standing.OURS:
        return standing, result
    owner = _owner.own_name(path)
    started = False
    try:
        with writing(path) as connection:
            standing, result = _look(connection, path, key)
            if standing is Standing.OURS:
                _start_working(path, key)
                started = True
                connection.execute(
                    "INSERT INTO wk_claims (effect_key, owner, claimed_at) VALUES (?, ?, ?)",
                    (key, owner, row_instant()),
                )
    except BaseException:
        if started:
            _stop_working(path, key)
        raise
    return standing, result


def _look(connection: Any, path: str, key: str) -> tuple[Standing, Any]:
    found, result = _kept(connection, key)
    if found:
        return Standing.DONE, result
    row = connection.execute(
        "SELECT owner, in_doubt FROM wk_claims WHERE effect_key = ?", (key,)
    ).fetchone()
    if row is None:
        return Standing.OURS, None
    if row["in_doubt"]:
        return Standing.IN_DOUBT, None
    alive = _is_worked_on(path, key, row["owner"])
    if alive:
        return Standing.RUNNING, None
    return _settled(connection, key, row["owner"])


def _settled(connection: Any, key: str, owner: str) -> tuple[Standing, Any]:
    """The owner is gone. It may have finished between our look at the row and at the owner."""
    found, result = _kept(connection, key)
    if found:
        return Standing.DONE, result
    row = connection.execute("SELECT owner FROM wk_claims WHERE effect_key = ?", (key,)).fetchone()
    if row is None or row["owner"] != owner:
        return Standing.RUNNING, None
    return Standing.IN_DOUBT, None


def _is_worked_on(path: str, key: str, owner: str) -> bool:
    if _owner.is_own(path, owner):
        with _working_lock:
            return _place(path, key) in _working
    return _owner.is_alive(path, owner)


def _start_working(path: str, key: str) -> None:
    with _working_lock:
        _working[_place(path, key)] = threading.get_ident()


def _stop_working(path: str, key: str) -> None:
    with _working_lock:
        _working.pop(_place(path, key), None)


def _place(path: str, key: str) -> tuple[str, str]:
    """The same for every spelling of a path."""
    return os.path.realpath(path), key


def _start_anew_in_child() -> None:
    """A forked child works on none of its parent's claims."""
    global _working_lock
    _working_lock = threading.Lock()
    _working.clear()


os.register_at_fork(after_in_child=_start_anew_in_child)
