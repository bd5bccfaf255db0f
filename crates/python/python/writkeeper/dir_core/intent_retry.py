"""A flow that is refused again and again is stopped."""

from __future__ import annotations

from pathlib import Path

from ._keyed import held
from .data_types import DimReasonCode
from .storage.base import IntentRetryStorage
from .storage.memory import MemoryIntentRetryStorage
from .storage.sqlite import SqliteIntentRetryStorage

REASONING_EXHAUSTION = DimReasonCode.REASONING_EXHAUSTION.value


class IntentRetryGovernor:
    """Counts the rejections of each flow. Without a path or storage it counts in memory."""

    def __init__(
        self,
        max_retries: int = 3,
        db_path: str | Path | None = None,
        *,
        storage: IntentRetryStorage | None = None,
    ) -> None:
        self.max_retries = max_retries
        if storage is not None:
            self._storage: IntentRetryStorage = storage
        elif db_path is not None:
            self.db_path = str(db_path)
            self._storage = SqliteIntentRetryStorage(db_path)
        else:
            self._storage = MemoryIntentRetryStorage()

    def record_rejection(self, dfid: str) -> int:
        """Count one rejection; how many there are now."""
        if isinstance(self._storage, SqliteIntentRetryStorage):
            return self._storage.add_one(dfid)
        with held(self._storage, "rejections", dfid):
            count = self._storage.get_count(dfid) + 1
            self._storage.set_count(dfid, count)
            return count

    def should_abort(self, dfid: str) -> bool:
        """True if the flow has used up its rejections."""
        return self._storage.get_count(dfid) >= self.max_retries

    def reset(self, dfid: str) -> None:
        """Forget the rejections of a flow."""
        with held(self._storage, "rejections", dfid):
            self._storage.delete(dfid)
