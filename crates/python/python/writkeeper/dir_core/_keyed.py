"""One lock for each storage object and key, for storages that cannot decide atomically themselves."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Entry:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0


_table_lock = threading.Lock()
_table: dict[tuple[int, str, str], _Entry] = {}


@contextmanager
def held(storage: object, kind: str, key: str) -> Iterator[None]:
    """Hold the lock of this storage object and key for the length of the block.

    The table keeps an entry only while somebody uses it, and whoever uses it holds the storage, so
    an identity is never that of another object.
    """
    place = (id(storage), kind, key)
    with _table_lock:
        entry = _table.setdefault(place, _Entry())
        entry.users += 1
    try:
        with entry.lock:
            yield
    finally:
        with _table_lock:
            entry.users -= 1
            if entry.users == 0:
                _table.pop(place, None)


def _forget_after_fork() -> None:
    """A child has none of the threads that held these locks."""
    global _table_lock
    _table_lock = threading.Lock()
    _table.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
