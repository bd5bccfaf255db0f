"""Where decisions are kept: in memory, in an SQLite file, or in a storage of your own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .base import (
    AgentRegistryStorage,
    AuditStore,
    ContextStorage,
    DecisionAuditStorage,
    DecisionLedgerStorage,
    EscalationStorage,
    IdempotencyStorage,
    IntentRetryStorage,
    LifecycleStorage,
    ResourceContentionError,
    ResourceLockStorage,
    SagaStorage,
    StorageError,
)
from .json_util import dumps_json_dict
from .memory import (
    MemoryAgentRegistryStorage,
    MemoryContextStorage,
    MemoryDecisionAuditStorage,
    MemoryDecisionLedgerStorage,
    MemoryEscalationStorage,
    MemoryIdempotencyStorage,
    MemoryIntentRetryStorage,
    MemoryLifecycleStorage,
    MemoryResourceLockStorage,
    MemorySagaStorage,
)
from .sqlite import (
    SqliteAgentRegistryStorage,
    SqliteContextStorage,
    SqliteDecisionAuditStorage,
    SqliteDecisionLedgerStorage,
    SqliteEscalationStorage,
    SqliteIdempotencyStorage,
    SqliteIntentRetryStorage,
    SqliteLifecycleStorage,
    SqliteResourceLockStorage,
    SqliteSagaStorage,
    ensure_db,
)


@dataclass
class StorageBundle:
    """One storage for each service. Storages of different kinds may be mixed."""

    agent_registry: AgentRegistryStorage
    context: ContextStorage
    idempotency: IdempotencyStorage
    decision_audit: DecisionAuditStorage
    decision_ledger: DecisionLedgerStorage
    saga: SagaStorage
    resource_lock: ResourceLockStorage
    intent_retry: IntentRetryStorage
    escalation: EscalationStorage
    lifecycle: LifecycleStorage


def sqlite_storage(db_path: str | Path) -> StorageBundle:
    """Everything in one SQLite file."""
    return StorageBundle(
        agent_registry=SqliteAgentRegistryStorage(db_path),
        context=SqliteContextStorage(db_path),
        idempotency=SqliteIdempotencyStorage(db_path),
        decision_audit=SqliteDecisionAuditStorage(db_path),
        decision_ledger=SqliteDecisionLedgerStorage(db_path),
        saga=SqliteSagaStorage(db_path),
        resource_lock=SqliteResourceLockStorage(db_path),
        intent_retry=SqliteIntentRetryStorage(db_path),
        escalation=SqliteEscalationStorage(db_path),
        lifecycle=SqliteLifecycleStorage(db_path),
    )


def memory_storage() -> StorageBundle:
    """Everything in memory, gone with the process."""
    return StorageBundle(
        agent_registry=MemoryAgentRegistryStorage(),
        context=MemoryContextStorage(),
        idempotency=MemoryIdempotencyStorage(),
        decision_audit=MemoryDecisionAuditStorage(),
        decision_ledger=MemoryDecisionLedgerStorage(),
        saga=MemorySagaStorage(),
        resource_lock=MemoryResourceLockStorage(),
        intent_retry=MemoryIntentRetryStorage(),
        escalation=MemoryEscalationStorage(),
        lifecycle=MemoryLifecycleStorage(),
    )


__all__ = [
    "AgentRegistryStorage",
    "AuditStore",
    "ContextStorage",
    "DecisionAuditStorage",
    "DecisionLedgerStorage",
    "EscalationStorage",
    "IdempotencyStorage",
    "IntentRetryStorage",
    "LifecycleStorage",
    "MemoryAgentRegistryStorage",
    "MemoryContextStorage",
    "MemoryDecisionAuditStorage",
    "MemoryDecisionLedgerStorage",
    "MemoryEscalationStorage",
    "MemoryIdempotencyStorage",
    "MemoryIntentRetryStorage",
    "MemoryLifecycleStorage",
    "MemoryResourceLockStorage",
    "MemorySagaStorage",
    "ResourceContentionError",
    "ResourceLockStorage",
    "SagaStorage",
    "SqliteAgentRegistryStorage",
    "SqliteContextStorage",
    "SqliteDecisionAuditStorage",
    "SqliteDecisionLedgerStorage",
    "SqliteEscalationStorage",
    "SqliteIdempotencyStorage",
    "SqliteIntentRetryStorage",
    "SqliteLifecycleStorage",
    "SqliteResourceLockStorage",
    "SqliteSagaStorage",
    "StorageBundle",
    "StorageError",
    "dumps_json_dict",
    "ensure_db",
    "memory_storage",
    "sqlite_storage",
]
