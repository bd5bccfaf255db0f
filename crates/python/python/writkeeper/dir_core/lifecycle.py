"""The life of a flow, one transition at a time."""

from __future__ import annotations

import inspect
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from .storage.base import LifecycleStorage
from .storage.sqlite import SqliteLifecycleStorage

if TYPE_CHECKING:
    from .intent_retry import IntentRetryGovernor


class FlowStatus(StrEnum):
    """Where a flow stands."""

    CREATED = "CREATED"
    ACTIVE = "ACTIVE"
    VALIDATING = "VALIDATING"
    ACCEPTED = "ACCEPTED"
    ABORTED = "ABORTED"
    ESCALATED = "ESCALATED"
    EXECUTING = "EXECUTING"
    CLOSED = "CLOSED"
    PARTIAL_SUCCESS_DIRTY = "PARTIAL_SUCCESS_DIRTY"
    MAINTENANCE_MODE = "MAINTENANCE_MODE"


ENDED = frozenset({FlowStatus.CLOSED, FlowStatus.ABORTED})


def transition(
    dfid: str,
    from_status: FlowStatus,
    to_status: FlowStatus,
    retry_governor: IntentRetryGovernor | None = None,
    db_path: str | Path | None = None,
    *,
    storage: LifecycleStorage | None = None,
    root_dfid: str | None = None,
) -> None:
    """Record a transition; at the end of a flow its rejections are forgotten.

    ValueError for leaving CLOSED or ABORTED. Nothing else is refused.
    """
    before, after = FlowStatus(from_status), FlowStatus(to_status)
    if before in ENDED and after is not before:
        raise ValueError(f"flow {dfid} is {before} and cannot become {after}")
    keeper = storage
    if keeper is None and db_path is not None:
        keeper = SqliteLifecycleStorage(db_path)
    if keeper is not None:
        # An older storage of the user's may not know roots.
        root = {"root_dfid": root_dfid} if _knows_roots(keeper) else {}
        keeper.record_transition(dfid, before.value, after.value, **root)
    if retry_governor is not None and after in ENDED:
        retry_governor.reset(dfid)


def _knows_roots(storage: LifecycleStorage) -> bool:
    try:
        named = inspect.signature(storage.record_transition).parameters
    except (TypeError, ValueError):
        return True
    return "root_dfid" in named or any(one.kind is one.VAR_KEYWORD for one in named.values())
