"""One lock for each storage object and key, for storages that cannot decide atomically themselves."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager


class _Entry:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0


_table_lock = threading.Lock()
_table: dict[tuple[int, str, str], _Entry] = {}


@contextmanager
def held(storage: object, kind: str, key: str) -> Generator[None, None, None]:
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


class Marks:
    """Keys that are marked for a storage object, as long as the object lives."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marked: dict[int, tuple[object, set[str]]] = {}

    def has(self, storage: object, key: str) -> bool:
        """True if the key is marked."""
        with self._lock:
            return key in self._marked.get(id(storage), (None, ()))[1]

    def add(self, storage: object, key: str) -> None:
        """Mark the key."""
        with self._lock:
            if id(storage) not in self._marked:
                self._marked[id(storage)] = (self._watched(storage), set())
            self._marked[id(storage)][1].add(key)

    def remove(self, storage: object, key: str) -> bool:
        """Take the mark off; True if there was one."""
        with self._lock:
            _watched, keys = self._marked.get(id(storage), (None, set()))
            found = key in keys
            keys.discard(key)
            if not keys:
                self._marked.pop(id(storage), None)
            return found

    def _watched(self, storage: object) -> object:
        """A reference that forgets the marks with the object, or the object where there is none."""
        place = id(storage)
        try:
            return weakref.ref(storage, lambda _gone: self._marked.pop(place, None))
        except TypeError:
            return storage


def _forget_after_fork() -> None:
    """A child has none of the threads that held these locks."""
    global _table_lock
    _table_lock = threading.Lock()
    _table.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
