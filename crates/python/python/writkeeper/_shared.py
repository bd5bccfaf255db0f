"""Stores that this process has open: everyone who opens the same one shares it."""

from __future__ import annotations

import os
import threading

from writkeeper import _native


class SharedStore:
    """One native store per process and path: everyone who opens it shares it, and the last one closes it."""

    def __init__(self, store: _native.Store, key: str | None) -> None:
        self.store = store
        self.key = key
        self.handles = 1


_lock = threading.RLock()
_stores: dict[str, SharedStore] = {}


def _forget() -> None:
    """In a forked child nothing of the parent may be used: its threads are not here."""
    global _lock
    _lock = threading.RLock()
    _stores.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def release(shared: SharedStore) -> None:
    """One handle less. The last one serves what waits and closes the store."""
    with _lock:
        shared.handles -= 1
        last = shared.handles == 0
        if last and shared.key is not None and _stores.get(shared.key) is shared:
            del _stores[shared.key]
    if last:
        shared.store.close()


def acquire(location: str, *, operator: str, create: bool, token: str | None) -> SharedStore:
    """The store at a location, opened now or shared."""
    key = _key_of(location, token, operator)
    with _lock:
        shared = _stores.get(key) if key else None
        if shared is not None and shared.store.is_open:
            shared.handles += 1
            return shared
        native = _native.Store(location, operator=operator, create=create, key=token)
        shared = SharedStore(native, key)
        if key:
            _stores[key] = shared
        return shared


def _key_of(location: str, token: str | None, operator: str) -> str | None:
    """What two openings have in common; a store in memory is its own, and to a server each token is another caller."""
    if location.startswith("memory:"):
        return None
    if "://" in location:
        return "\0".join((location, token or "", operator))
    return os.path.realpath(location.removeprefix("sqlite:"))
