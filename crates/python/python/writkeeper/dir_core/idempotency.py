"""A step of a flow has its effect once, whoever asks for it how often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._canonical import exact_json, sha256_hex
from ._doubt import InDoubt
from ._keyed import Marks, held
from .storage import _claims
from .storage.base import IdempotencyStorage
from .storage.memory import MemoryIdempotencyStorage
from .storage.sqlite import SqliteIdempotencyStorage

MemoryBackend = MemoryIdempotencyStorage
SQLiteBackend = SqliteIdempotencyStorage

# A backend of the user's says None for "nothing kept", so a kept None is written as this.
_KEPT_NONE = {"_writkeeper": "kept None"}

# Doubts about backends that cannot keep them; they last as long as the backend object.
_doubts = Marks()


def idempotency_key(dfid: str, step_id: str, params: dict[str, Any]) -> str:
    """64 hexadecimal digits, byte for byte those of the reference. 1 and 1.0 differ."""
    return sha256_hex(f"{dfid}:{step_id}:{exact_json(params)}")


def effect_key(dfid: str, step_id: str, params: dict[str, Any]) -> str:
    """The key that the guard uses: `idempotency_key`, except for a flow whose name has a colon.

    There the reference's key could be that of another flow and step, so the three parts are hashed
    as a list.
    """
    if ":" in dfid:
        return sha256_hex(exact_json([dfid, step_id, params]))
    return idempotency_key(dfid, step_id, params)


class IdempotencyGuard:
    """Runs a step once and keeps its result. An exception is not kept: the step may be tried again.

    A step that was started and whose outcome is not known (the process died, the result could not
    be kept) raises `InDoubt` and is not started again. With a built-in SQLite backend this holds
    among threads and processes and after a crash, with any other inside one process.
    """

    def __init__(self, backend: IdempotencyStorage) -> None:
        self._backend = backend

    def run(self, dfid: str, step_id: str, params: dict[str, Any], func: Callable[..., Any]) -> Any:
        """What `func(**params)` returns, or what it returned the first time."""
        key = effect_key(dfid, step_id, params)
        if isinstance(self._backend, SqliteIdempotencyStorage):
            return self._run_claimed(self._backend, dfid, step_id, key, params, func)
        with held(self._backend, "effect", key):
            found, kept = self._kept(key)
            if found:
                return kept
            if _doubts.has(self._backend, key):
                raise InDoubt(dfid, step_id, key)
            _doubts.add(self._backend, key)
            try:
                result = func(**params)
            except Exception:
                _doubts.remove(self._backend, key)
                raise
            self._keep(key, result)
            _doubts.remove(self._backend, key)
            return result

    def settle(
        self,
        dfid: str,
        step_id: str,
        params: dict[str, Any],
        *,
        happened: bool,
        result: Any = None,
    ) -> None:
        """Say what became of a step that is in doubt: keep its result, or let it be tried again."""
        key = effect_key(dfid, step_id, params)
        if isinstance(self._backend, SqliteIdempotencyStorage):
            settled = _claims.settle(self._backend.db_path, key, happened)
        else:
            settled = _doubts.remove(self._backend, key)
        if not settled:
            raise ValueError(f"step {step_id} of flow {dfid} is not in doubt")
        if happened:
            self._keep(key, result)

    def _run_claimed(
        self,
        backend: SqliteIdempotencyStorage,
        dfid: str,
        step_id: str,
        key: str,
        params: dict[str, Any],
        func: Callable[..., Any],
    ) -> Any:
        path = backend.db_path
        standing, kept = _claims.claim(path, key, f"{step_id} of {dfid}")
        if standing is _claims.Standing.DONE:
            return kept
        if standing is _claims.Standing.IN_DOUBT:
            raise InDoubt(dfid, step_id, key)
        try:
            result = func(**params)
        except Exception:
            _claims.give_back(path, key)
            raise
        except BaseException:
            _claims.doubt(path, key)
            raise
        try:
            backend.set(key, result)
        except BaseException:
            _claims.doubt(path, key)
            raise
        _claims.done(path, key)
        return result

    def _kept(self, key: str) -> tuple[bool, Any]:
        if isinstance(self._backend, MemoryIdempotencyStorage):
            return self._backend.kept(key)
        found = self._backend.get(key)
        if found is None:
            return False, None
        return True, None if found == _KEPT_NONE else found

    def _keep(self, key: str, result: Any) -> None:
        built_in = (MemoryIdempotencyStorage, SqliteIdempotencyStorage)
        if result is None and not isinstance(self._backend, built_in):
            result = dict(_KEPT_NONE)
        self._backend.set(key, result)
