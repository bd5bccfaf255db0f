"""Flows that stopped half-way, and what is done about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._backend import MISSING_BACKEND
from .models import CompensationAction
from .storage.base import SagaStorage
from .storage.sqlite import SqliteSagaStorage


@dataclass
class CompensationResult:
    """Whether the compensation succeeded, and which it was."""

    success: bool
    message: str = ""


class SagaCompensation:
    """Notes unfinished flows and runs the compensation that a person or program chose."""

    def __init__(
        self,
        db_path: str | Path | None = None,
        revert_callback: Callable[[str, dict[str, Any]], bool] | None = None,
        close_all_callback: Callable[[str], bool] | None = None,
        alert_human_callback: Callable[[str, dict[str, Any]], Any] | None = None,
        *,
        storage: SagaStorage | None = None,
    ) -> None:
        self.revert_callback = revert_callback
        self.close_all_callback = close_all_callback
        self.alert_human_callback = alert_human_callback
        if storage is not None:
            self._storage: SagaStorage = storage
        elif db_path is not None:
            self.db_path = str(db_path)
            self._storage = SqliteSagaStorage(db_path)
        else:
            raise ValueError(MISSING_BACKEND)

    def mark_dirty(self, dfid: str, failed_step: str, partial_state: dict[str, Any]) -> None:
        """Note where a flow stopped; replaces an earlier note."""
        self._storage.mark_dirty(dfid, failed_step, json.dumps(partial_state, default=str))

    def get_dirty_flows(self) -> list[str]:
        """The flows that have such a note."""
        return self._storage.get_dirty_flows()

    def get_dirty_state(self, dfid: str) -> dict[str, Any] | None:
        """failed_step and partial_state, or None."""
        return self._storage.get_dirty_state(dfid)

    def execute_compensation(self, dfid: str, action: CompensationAction) -> CompensationResult:
        """Run one compensation. REVERT and CLOSE_ALL clear the note when they return true."""
        state = self.get_dirty_state(dfid)
        if not state:
            return CompensationResult(False, "Flow not in dirty state")
        partial = state["partial_state"]
        if action == CompensationAction.NOOP:
            return CompensationResult(True, "NOOP")
        if action == CompensationAction.REVERT:
            if self.revert_callback is None:
                return CompensationResult(False, "No revert callback")
            return self._cleared(dfid, self.revert_callback(dfid, partial), "REVERT")
        if action == CompensationAction.CLOSE_ALL:
            if self.close_all_callback is None:
                return CompensationResult(False, "No close_all callback")
            return self._cleared(dfid, self.close_all_callback(dfid), "CLOSE_ALL")
        if action == CompensationAction.ALERT_HUMAN:
            if self.alert_human_callback is None:
                return CompensationResult(False, "No alert_human callback")
            self.alert_human_callback(dfid, partial)
            return CompensationResult(True, "ALERT_HUMAN")
        return CompensationResult(False, f"Unknown action: {action}")

    def _cleared(self, dfid: str, succeeded: bool, message: str) -> CompensationResult:
        if succeeded:
            self._storage.clear_dirty(dfid)
        return CompensationResult(succeeded, message)
