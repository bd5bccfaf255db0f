"""Each test of a service runs on every kind of storage."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from writkeeper.dir_core import StorageBundle, memory_storage, sqlite_storage
from writkeeper.dir_core.storage import _journal


TURN_SECONDS = 0.002


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """A process keeps the stores of its files open; that of hundreds of tests would come to its limit."""
    yield
    with _journal._open.lock:
        for keeper, _identity in _journal._open.stores.values():
            keeper.close()
        _journal._open.stores.clear()


class Foreign:
    """A storage of somebody else's: it has the methods of another one and nothing more."""

    def __init__(self, inner: object) -> None:
        self.inner = inner
        for name in dir(inner):
            method = getattr(inner, name)
            if not name.startswith("_") and callable(method):
                setattr(self, name, self._plain(method))

    @staticmethod
    def _plain(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            answer = copy.deepcopy(method(*args, **kwargs))
            # As a remote storage would: other threads get their turn before the caller goes on.
            time.sleep(TURN_SECONDS)
            return answer

        return call


def foreign_storage() -> StorageBundle:
    """A bundle in which no storage is one of the built-in classes."""
    inner = memory_storage()
    return StorageBundle(**{f.name: Foreign(getattr(inner, f.name)) for f in fields(StorageBundle)})


@pytest.fixture(params=["memory", "sqlite", "foreign"])
def bundle(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorageBundle]:
    if request.param == "memory":
        yield memory_storage()
    elif request.param == "sqlite":
        yield sqlite_storage(tmp_path / "kept.db")
    else:
        yield foreign_storage()


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "folder" / "kept.db")
