"""Verified decisions, appended and never changed."""

from __future__ import annotations

from typing import Any

from .models import ProofCarryingIntent
from .storage.base import DecisionLedgerStorage
from .storage.memory import MemoryDecisionLedgerStorage

_IN_MEMORY = ("dfid", "intent_payload", "context_ref", "evidence_hash", "signature")


class DecisionLedger:
    """One entry for each flow: a second one is ignored. What comes out are copies."""

    def __init__(self, storage: DecisionLedgerStorage | None = None) -> None:
        self._storage: DecisionLedgerStorage = storage or MemoryDecisionLedgerStorage()
        self._shown = None if storage is not None else _IN_MEMORY

    def append(self, pci: ProofCarryingIntent, *, agent_id: str = "") -> None:
        """Append a decision that was verified."""
        self._storage.append(pci, agent_id=agent_id)

    def entries(self) -> list[dict[str, Any]]:
        """All entries, oldest first."""
        entries = self._storage.all_entries_chronological()
        if self._shown is None:
            return entries
        return [{key: entry[key] for key in self._shown} for entry in entries]

    def __len__(self) -> int:
        return len(self._storage.all_entries_chronological())
