"""A step of a flow has its effect once."""

import json
import sqlite3
from typing import Any

import pytest

from writkeeper.dir_core import (
    IdempotencyGuard,
    InDoubt,
    MemoryBackend,
    SQLiteBackend,
    StorageBundle,
    idempotency_key,
)


def rows(db: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(db)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def test_a_step_runs_once(bundle: StorageBundle) -> None:
    guard, runs = IdempotencyGuard(bundle.idempotency), []

    def pay(amount: int) -> dict[str, int]:
        runs.append(amount)
        return {"paid": amount}

    assert guard.run("d", "pay", {"amount": 5}, pay) == {"paid": 5}
    assert guard.run("d", "pay", {"amount": 5}, pay) == {"paid": 5}
    assert guard.run("d", "pay", {"amount": 6}, pay) == {"paid": 6}
    assert guard.run("e", "pay", {"amount": 5}, pay) == {"paid": 5}
    assert runs == [5, 6, 5]
    assert bundle.idempotency.get(idempotency_key("d", "pay", {"amount": 5})) == {"paid": 5}


def test_none_is_a_result(bundle: StorageBundle) -> None:
    guard, runs = IdempotencyGuard(bundle.idempotency), []
    for _ in range(3):
        assert guard.run("d", "s", {}, lambda: runs.append(1)) is None
    assert runs == [1]


@pytest.mark.parametrize("result", [0, "", [], {}, False, 1.5, [1, {"a": None}]])
def test_falsy_and_plain_results_are_kept(bundle: StorageBundle, result: Any) -> None:
    guard, runs = IdempotencyGuard(bundle.idempotency), []
    for _ in range(2):
        assert guard.run("d", "s", {}, lambda: runs.append(1) or result) == result
    assert runs == [1]


def test_an_exception_is_not_kept(bundle: StorageBundle) -> None:
    guard, runs = IdempotencyGuard(bundle.idempotency), []

    def flaky() -> dict[str, bool]:
        runs.append(1)
        if len(runs) == 1:
            raise RuntimeError("down")
        return {"ok": True}

    with pytest.raises(RuntimeError, match="down"):
        guard.run("d", "s", {}, flaky)
    assert guard.run("d", "s", {}, flaky) == {"ok": True}
    assert len(runs) == 2


def test_a_colon_in_a_name_makes_no_collision(bundle: StorageBundle) -> None:
    guard = IdempotencyGuard(bundle.idempotency)
    assert guard.run("a:b", "c", {}, lambda: "first") == "first"
    assert guard.run("a", "b:c", {}, lambda: "second") == "second"
    assert guard.run("a:b", "c", {}, lambda: "third") == "first"


def test_a_backend_of_ones_own_sees_the_key_of_the_reference() -> None:
    class Backend:
        def __init__(self) -> None:
            self.calls: list[tuple[Any, ...]] = []

        def get(self, key: str) -> Any:
            self.calls.append(("get", key))

        def set(self, key: str, result: Any) -> None:
            self.calls.append(("set", key, result))

    backend = Backend()
    IdempotencyGuard(backend).run("d", "s", {"x": 1}, lambda x: {"x": x})
    key = idempotency_key("d", "s", {"x": 1})
    assert backend.calls == [("get", key), ("set", key, {"x": 1})]


class Failing:
    """A backend that loses what it is given, the first time."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.lost = False

    def get(self, key: str) -> Any:
        return self.kept.get(key)

    def set(self, key: str, result: Any) -> None:
        if not self.lost:
            self.lost = True
            raise OSError("disk full")
        self.kept[key] = result


def test_a_result_that_was_lost_is_in_doubt() -> None:
    backend, ran = Failing(), []
    guard = IdempotencyGuard(backend)
    with pytest.raises(OSError, match="disk full"):
        guard.run("d", "s", {}, lambda: ran.append(1))
    with pytest.raises(InDoubt, match="step s of flow d"):
        IdempotencyGuard(backend).run("d", "s", {}, lambda: ran.append(1))
    assert ran == [1]
    guard.settle("d", "s", {}, happened=True, result={"ok": 1})
    assert guard.run("d", "s", {}, lambda: ran.append(1)) == {"ok": 1}
    with pytest.raises(ValueError, match="not in doubt"):
        guard.settle("d", "s", {}, happened=False)


def test_an_interrupted_step_is_in_doubt(bundle: StorageBundle) -> None:
    guard = IdempotencyGuard(bundle.idempotency)

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guard.run("d", "s", {}, interrupted)
    with pytest.raises(InDoubt):
        guard.run("d", "s", {}, lambda: 1)
    guard.settle("d", "s", {}, happened=False)
    assert guard.run("d", "s", {}, lambda: 2) == 2


def test_params_must_be_json(bundle: StorageBundle) -> None:
    with pytest.raises(TypeError):
        IdempotencyGuard(bundle.idempotency).run("d", "s", {"x": object()}, lambda x: x)


def test_backends_by_their_old_names(db: str) -> None:
    for backend in (MemoryBackend(), SQLiteBackend(db)):
        assert backend.get("k") is None
        backend.set("k", {"a": 1})
        assert backend.get("k") == {"a": 1}
    [(digest, result)] = rows(db, "SELECT request_hash, result FROM idempotency_cache")
    assert digest == "f9d86028c6e0d64e225186f96acb69338b2c59764df79162107f5c4bb34d1310"
    assert json.loads(result) == {"a": 1}


def test_a_step_cannot_contain_itself(bundle: StorageBundle) -> None:
    guard = IdempotencyGuard(bundle.idempotency)

    def step() -> str:
        with pytest.raises(InDoubt):
            guard.run("d", "s", {}, step)
        return guard.run("d", "inner", {}, lambda: "inner")

    assert guard.run("d", "s", {}, step) == "inner"
