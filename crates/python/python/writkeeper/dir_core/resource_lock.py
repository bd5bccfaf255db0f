"""Amounts that a flow holds of shared resources, never more than there is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from time import monotonic, sleep

from ._backend import MISSING_BACKEND
from ._keyed import held
from ._numbers import finite_number
from .storage.base import ResourceLockStorage
from .storage.memory import MemoryResourceLockStorage
from .storage.sqlite import SqliteResourceLockStorage

RETRY_SECONDS = 0.05


class LockResult(StrEnum):
    """How an attempt to hold resources ended."""

    ACQUIRED = "ACQUIRED"
    INSUFFICIENT_LIQUIDITY = "INSUFFICIENT_LIQUIDITY"
    RESOURCE_CONTENTION_TIMEOUT = "RESOURCE_CONTENTION_TIMEOUT"


class ResourceLockManager:
    """Holds resources for flows. The provider says how much there is of each.

    What a flow acquires adds to what it holds, up to what the other flows leave. Its own holds do
    not stand in its way.
    """

    def __init__(
        self,
        db_path: str | Path | None = None,
        availability_provider: Callable[[str], float] | None = None,
        *,
        storage: ResourceLockStorage | None = None,
    ) -> None:
        if storage is not None:
            self._storage: ResourceLockStorage = storage
        elif db_path is not None:
            self.db_path = str(db_path)
            self._storage = SqliteResourceLockStorage(db_path)
        else:
            raise ValueError(MISSING_BACKEND)
        if availability_provider is None:
            raise ValueError("Provide 'availability_provider', which says how much there is.")
        self.availability_provider = availability_provider

    def acquire(
        self, dfid: str, resources: Mapping[str, float], timeout_sec: float = 5.0
    ) -> LockResult:
        """Hold all of it or none. ValueError for an amount that is negative or not a number."""
        requests = {name: _amount(name, resources[name]) for name in sorted(resources)}
        capacities = {name: _capacity(self.availability_provider(name)) for name in requests}
        if timeout_sec <= 0:
            return self._without_time(dfid, requests, capacities)
        if isinstance(self._storage, SqliteResourceLockStorage):
            taken = self._storage.reserve(dfid, requests, capacities, timeout_sec)
            if taken is None:
                return LockResult.RESOURCE_CONTENTION_TIMEOUT
            return LockResult.ACQUIRED if taken else LockResult.INSUFFICIENT_LIQUIDITY
        if isinstance(self._storage, MemoryResourceLockStorage):
            enough = self._storage.reserve(dfid, requests, capacities)
            return LockResult.ACQUIRED if enough else LockResult.INSUFFICIENT_LIQUIDITY
        return self._acquire_from_custom(dfid, requests, capacities, timeout_sec)

    def release(self, dfid: str) -> None:
        """Drop all holds of a flow."""
        self._storage.release(dfid)

    def _acquire_from_custom(
        self,
        dfid: str,
        requests: dict[str, float],
        capacities: Mapping[str, float],
        timeout_sec: float,
    ) -> LockResult:
        end = monotonic() + timeout_sec
        with held(self._storage, "resources", ""):
            while True:
                if not self._is_enough(dfid, requests, capacities):
                    return LockResult.INSUFFICIENT_LIQUIDITY
                left = end - monotonic()
                if left <= 0:
                    return LockResult.RESOURCE_CONTENTION_TIMEOUT
                if self._storage.acquire_batch(dfid, requests, left):
                    return LockResult.ACQUIRED
                sleep(min(RETRY_SECONDS, left))

    def _without_time(
        self, dfid: str, requests: dict[str, float], capacities: Mapping[str, float]
    ) -> LockResult:
        if self._is_enough(dfid, requests, capacities):
            return LockResult.RESOURCE_CONTENTION_TIMEOUT
        return LockResult.INSUFFICIENT_LIQUIDITY

    def _is_enough(
        self, dfid: str, requests: Mapping[str, float], capacities: Mapping[str, float]
    ) -> bool:
        return all(
            capacities[name] - self._storage.get_locked_amount(name, dfid) >= amount
            for name, amount in requests.items()
        )


def _amount(name: str, value: object) -> float:
    number = finite_number(value)
    if number is None or number < 0:
        raise ValueError(f"the amount of {name} must be a number of at least 0, not {value!r}")
    return number


def _capacity(value: object) -> float:
    """What is not a number is nothing; infinity is a number here."""
    if value == math.inf:
        return math.inf
    number = finite_number(value)
    return math.nan if number is None else number
