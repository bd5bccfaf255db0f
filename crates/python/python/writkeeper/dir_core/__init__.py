"""The names of the Decision Intelligence Runtime's `dir_core`, with its faults mended.

Change `import dir_core` to `import writkeeper.dir_core`, or call `writkeeper.dir_core.install()`
once and keep the imports. What differs, and why, is in the guide "Moving from dir_core".
"""

from __future__ import annotations

try:
    import pydantic as _pydantic
except ImportError as _missing:
    raise ImportError(
        "writkeeper.dir_core needs pydantic 2: pip install 'writkeeper[dir]'"
    ) from _missing

if int(_pydantic.VERSION.partition(".")[0]) < 2:
    raise ImportError(
        f"writkeeper.dir_core needs pydantic 2, not {_pydantic.VERSION}: "
        "pip install 'writkeeper[dir]'"
    )

from ._doubt import InDoubt as InDoubt
from ._install import install as install
from ._mode import strict as strict
from .agent_registry import AgentRegistry, AmendmentResult, HandshakeResult
from .amendments import validate_amendment_patch
from .arbitration import DEFAULT_PRIORITY_MATRIX, select_winner
from .context_store import ContextStore
from .contract_projection import project_contract
from .data_types import (
    AgentRegistryStatus,
    ContractRole,
    DecisionFlowStatus,
    DecisionRecordOutcome,
    DimReasonCode,
    EscalationSeverity,
    EventBusBackend,
    EventType,
    FlowTimelineEventType,
    HandshakeRejectionReason,
    HumanDecision,
    ImpactCategory,
    ValidationReason,
    ValidationResult,
    ValidationVerdict,
)
from .dfid import new_dfid, new_dfid_with_parent
from .dim import validate_proposal
from .escalation import EscalationManager, EscalationOutcome
from .event_bus import Event, EventBus, EventMetadata, LoggingEventBus, create_event_bus
from .idempotency import IdempotencyGuard, MemoryBackend, SQLiteBackend, idempotency_key
from .intent_retry import REASONING_EXHAUSTION, IntentRetryGovernor
from .invariants import evaluate_invariants
from .jit import JITStateVerifier, verify_drift
from .ledger import DecisionLedger
from .lifecycle import FlowStatus, transition
from .models import (
    AgentState,
    CompensationAction,
    ContextSnapshot,
    ContractParameterAmendment,
    ContractReleaseRef,
    DecisionAtom,
    DecisionFlow,
    DecisionRecord,
    EscalationRequest,
    ExecutionIntent,
    ExplainResult,
    FlowEvent,
    InvariantSpec,
    Policy,
    PolicyProposal,
    ProofCarryingIntent,
    ResponsibilityContract,
    RuntimeContractProjection,
    SelfCheckResult,
)
from .pci import (
    ProofChecker,
    compute_evidence_hash,
    hash_content,
    proposal_params_for_hash,
)
from .resource_lock import LockResult, ResourceLockManager
from .runtime import DecisionRuntime
from .saga import SagaCompensation
from .storage import (
    AgentRegistryStorage,
    AuditStore,
    ContextStorage,
    DecisionAuditStorage,
    DecisionLedgerStorage,
    EscalationStorage,
    IdempotencyStorage,
    IntentRetryStorage,
    LifecycleStorage,
    MemoryAgentRegistryStorage,
    MemoryContextStorage,
    MemoryDecisionAuditStorage,
    MemoryEscalationStorage,
    MemoryIdempotencyStorage,
    MemoryIntentRetryStorage,
    MemoryLifecycleStorage,
    MemoryResourceLockStorage,
    MemorySagaStorage,
    ResourceContentionError,
    ResourceLockStorage,
    SagaStorage,
    SqliteAgentRegistryStorage,
    SqliteContextStorage,
    SqliteDecisionAuditStorage,
    SqliteEscalationStorage,
    SqliteIdempotencyStorage,
    SqliteIntentRetryStorage,
    SqliteLifecycleStorage,
    SqliteResourceLockStorage,
    SqliteSagaStorage,
    StorageBundle,
    StorageError,
    memory_storage,
    sqlite_storage,
)
from .storage import MemoryDecisionLedgerStorage as MemoryDecisionLedgerStorage
from .storage import SqliteDecisionLedgerStorage as SqliteDecisionLedgerStorage
from .storage import dumps_json_dict as dumps_json_dict
from .storage import ensure_db as ensure_db
from .wakeup import (
    WakeupPredicate,
    is_relevant_instrument,
    price_change_significant,
    should_wake,
    volatility_elevated,
)

__version__ = "0.2.0"

__all__ = [
    "AgentRegistry",
    "AgentRegistryStatus",
    "AgentRegistryStorage",
    "AgentState",
    "AmendmentResult",
    "AuditStore",
    "CompensationAction",
    "ContextSnapshot",
    "ContextStorage",
    "ContextStore",
    "ContractParameterAmendment",
    "ContractReleaseRef",
    "ContractRole",
    "DEFAULT_PRIORITY_MATRIX",
    "DecisionAtom",
    "DecisionAuditStorage",
    "DecisionFlow",
    "DecisionFlowStatus",
    "DecisionLedger",
    "DecisionLedgerStorage",
    "DecisionRecord",
    "DecisionRecordOutcome",
    "DecisionRuntime",
    "DimReasonCode",
    "EscalationManager",
    "EscalationOutcome",
    "EscalationRequest",
    "EscalationSeverity",
    "EscalationStorage",
    "Event",
    "EventBus",
    "EventBusBackend",
    "EventMetadata",
    "EventType",
    "ExecutionIntent",
    "ExplainResult",
    "FlowEvent",
    "FlowStatus",
    "FlowTimelineEventType",
    "HandshakeRejectionReason",
    "HandshakeResult",
    "HumanDecision",
    "IdempotencyGuard",
    "IdempotencyStorage",
    "ImpactCategory",
    "IntentRetryGovernor",
    "IntentRetryStorage",
    "InvariantSpec",
    "JITStateVerifier",
    "LifecycleStorage",
    "LockResult",
    "LoggingEventBus",
    "MemoryAgentRegistryStorage",
    "MemoryBackend",
    "MemoryContextStorage",
    "MemoryDecisionAuditStorage",
    "MemoryEscalationStorage",
    "MemoryIdempotencyStorage",
    "MemoryIntentRetryStorage",
    "MemoryLifecycleStorage",
    "MemoryResourceLockStorage",
    "MemorySagaStorage",
    "Policy",
    "PolicyProposal",
    "ProofCarryingIntent",
    "ProofChecker",
    "REASONING_EXHAUSTION",
    "ResourceContentionError",
    "ResourceLockManager",
    "ResourceLockStorage",
    "ResponsibilityContract",
    "RuntimeContractProjection",
    "SQLiteBackend",
    "SagaCompensation",
    "SagaStorage",
    "SelfCheckResult",
    "SqliteAgentRegistryStorage",
    "SqliteContextStorage",
    "SqliteDecisionAuditStorage",
    "SqliteEscalationStorage",
    "SqliteIdempotencyStorage",
    "SqliteIntentRetryStorage",
    "SqliteLifecycleStorage",
    "SqliteResourceLockStorage",
    "SqliteSagaStorage",
    "StorageBundle",
    "StorageError",
    "ValidationReason",
    "ValidationResult",
    "ValidationVerdict",
    "WakeupPredicate",
    "compute_evidence_hash",
    "create_event_bus",
    "evaluate_invariants",
    "hash_content",
    "idempotency_key",
    "is_relevant_instrument",
    "memory_storage",
    "new_dfid",
    "new_dfid_with_parent",
    "price_change_significant",
    "project_contract",
    "proposal_params_for_hash",
    "select_winner",
    "should_wake",
    "sqlite_storage",
    "transition",
    "validate_amendment_patch",
    "validate_proposal",
    "verify_drift",
    "volatility_elevated",
]
