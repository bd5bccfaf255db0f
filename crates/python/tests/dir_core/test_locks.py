"""Holding resources."""

import math
import sqlite3
from typing import Any

import pytest

from writkeeper.dir_core import (
    LockResult,
    ResourceLockManager,
    StorageBundle,
    memory_storage,
)


def locks(bundle: StorageBundle, capacity: float = 100.0) -> ResourceLockManager:
    return ResourceLockManager(availability_provider=lambda _name: capacity, storage=bundle.resource_lock)


def test_holding_and_releasing(bundle: StorageBundle) -> None:
    manager = locks(bundle, 1000.0)
    assert manager.acquire("d1", {"capital": 500.0}) == LockResult.ACQUIRED
    assert manager.acquire("d2", {"capital": 600.0}) == LockResult.INSUFFICIENT_LIQUIDITY
    assert bundle.resource_lock.get_locked_amount("capital", "d2") == 500.0
    assert bundle.resource_lock.get_locked_amount("capital", "d1") == 0.0
    manager.release("d1")
    assert manager.acquire("d2", {"capital": 600.0}) == LockResult.ACQUIRED
    assert manager.acquire("d3", {}) == LockResult.ACQUIRED


def test_six_flows_one_after_another(bundle: StorageBundle) -> None:
    manager = locks(bundle)
    results = [manager.acquire(f"d{n}", {"r": 40}) for n in range(6)]
    assert results.count(LockResult.ACQUIRED) == 2
    assert bundle.resource_lock.get_locked_amount("r", "") == 80


def test_a_second_acquisition_drops_nothing(bundle: StorageBundle) -> None:
    manager = locks(bundle)
    assert manager.acquire("d", {"a": 100}) == LockResult.ACQUIRED
    assert manager.acquire("d", {"b": 10}) == LockResult.ACQUIRED
    assert manager.acquire("e", {"a": 1}) == LockResult.INSUFFICIENT_LIQUIDITY
    assert manager.acquire("e", {"b": 50}) == LockResult.ACQUIRED
    assert manager.acquire("e", {"b": 30}) == LockResult.ACQUIRED
    assert manager.acquire("f", {"b": 20}) == LockResult.INSUFFICIENT_LIQUIDITY
    assert manager.acquire("f", {"b": 10}) == LockResult.ACQUIRED


def test_a_flow_does_not_stand_in_its_own_way() -> None:
    for bundle in (memory_storage(),):
        manager = locks(bundle)
        assert manager.acquire("d", {"r": 80}) == LockResult.ACQUIRED
        assert manager.acquire("d", {"r": 90}) == LockResult.ACQUIRED
        assert bundle.resource_lock.get_locked_amount("r", "") == 100


def test_all_or_nothing(bundle: StorageBundle) -> None:
    manager = ResourceLockManager(
        availability_provider={"a": 10.0, "b": 1.0}.__getitem__, storage=bundle.resource_lock
    )
    assert manager.acquire("d", {"b": 5, "a": 5}) == LockResult.INSUFFICIENT_LIQUIDITY
    assert bundle.resource_lock.get_locked_amount("a", "") == 0


def test_without_time_it_times_out(bundle: StorageBundle) -> None:
    manager = locks(bundle)
    assert manager.acquire("d", {"r": 1}, timeout_sec=0) == LockResult.RESOURCE_CONTENTION_TIMEOUT
    assert manager.acquire("d", {"r": 101}, timeout_sec=0) == LockResult.INSUFFICIENT_LIQUIDITY
    assert bundle.resource_lock.get_locked_amount("r", "") == 0


@pytest.mark.parametrize("amount", [-1, -1000.0, math.nan, math.inf, "5", True, None])
def test_amounts_are_numbers_of_at_least_0(bundle: StorageBundle, amount: Any) -> None:
    manager = locks(bundle)
    with pytest.raises(ValueError, match="the amount of r"):
        manager.acquire("d", {"r": amount})
    assert manager.acquire("d", {"r": 0}) == LockResult.ACQUIRED
    assert manager.acquire("e", {"r": 101}) == LockResult.INSUFFICIENT_LIQUIDITY


@pytest.mark.parametrize("capacity", [math.nan, None, "lots"])
def test_a_capacity_that_is_no_number_is_too_little(bundle: StorageBundle, capacity: Any) -> None:
    assert locks(bundle, capacity).acquire("d", {"r": 1}) == LockResult.INSUFFICIENT_LIQUIDITY


def test_a_busy_file_times_out(db: str) -> None:
    manager = ResourceLockManager(db, lambda _name: 100.0)
    other = sqlite3.connect(db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert manager.acquire("d", {"r": 1}, 0.2) == LockResult.RESOURCE_CONTENTION_TIMEOUT
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert manager.acquire("d", {"r": 1}, 0.2) == LockResult.ACQUIRED


def test_a_storage_that_cannot_write_is_tried_until_the_time_is_up() -> None:
    class Stubborn:
        tries = 0

        def init_schema(self) -> None: ...
        def get_locked_amount(self, resource_id: str, exclude_dfid: str) -> float:
            return 0.0

        def acquire_batch(self, dfid: str, resources: dict, timeout_sec: float) -> bool:
            self.tries += 1
            return False

        def release(self, dfid: str) -> None: ...

    stubborn = Stubborn()
    manager = ResourceLockManager(availability_provider=lambda _name: 1.0, storage=stubborn)
    assert manager.acquire("d", {"r": 1}, 0.12) == LockResult.RESOURCE_CONTENTION_TIMEOUT
    assert stubborn.tries > 1
