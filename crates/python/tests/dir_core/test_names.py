"""The surface: names, modules, enums, the stand-in name."""

import importlib
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import writkeeper.dir_core as dc

MODULES = """agent_registry amendments arbitration context_store contract_projection data_types dfid dim
escalation event_bus idempotency intent_retry invariant_compile invariants jit ledger lifecycle models
pci resource_lock runtime saga storage storage.base storage.json_util storage.memory storage.sqlite
utils utils.config_loader utils.llm_client utils.logging_utils wakeup""".split()


def test_there_are_111_names_and_each_is_there() -> None:
    assert len(set(dc.__all__)) == 111
    assert [name for name in dc.__all__ if not hasattr(dc, name)] == []


@pytest.mark.parametrize("module", MODULES)
def test_each_module_is_there(module: str) -> None:
    importlib.import_module(f"writkeeper.dir_core.{module}")


ENUMS = {
    "ValidationVerdict": "ACCEPT REJECT ESCALATE",
    "DimReasonCode": "REASONING_EXHAUSTION TTL_EXPIRED AGENT_SUSPENDED AGENT_RETIRED AGENT_DEGRADED"
    " CONTRACT_LIMIT_EXCEEDED CONTRACT_PARAMETER_MISSING INVARIANT_VIOLATION VALIDATION_PASSED",
    "ContractRole": "STRATEGIST EXECUTOR MONITOR INTERFACE",
    "DecisionRecordOutcome": "ACCEPTED REJECTED ESCALATED PENDING",
    "EscalationSeverity": "LOW MEDIUM HIGH CRITICAL",
    "FlowTimelineEventType": "FLOW_STARTED CONTEXT_SNAPSHOT EXPLAIN POLICY SELF_CHECK PROPOSAL"
    " VALIDATION EXECUTION ESCALATION CHILD_FLOW_CREATED FLOW_COMPLETED FLOW_ABORTED",
    "DecisionFlowStatus": "IN_PROGRESS COMPLETED ESCALATED ABORTED",
    "HumanDecision": "OVERRIDE MODIFY ABORT",
    "AgentRegistryStatus": "ACTIVE SUSPENDED DEGRADED ESCALATION_ONLY RETIRED",
    "HandshakeRejectionReason": "VERSION_MISMATCH",
    "EventBusBackend": "memory kafka pubsub",
    "EventType": "OBSERVATION MARKET_SIGNAL NEWS RISK_ALERT POLICY_PROPOSAL ESCALATION"
    " VALIDATION_RESULT VALIDATION_REJECTED EXECUTION_INTENT EXECUTION_RESULT AGENT_ACTIVATED"
    " FLOW_COMPLETED",
    "CompensationAction": "REVERT CLOSE_ALL ALERT_HUMAN NOOP",
    "FlowStatus": "CREATED ACTIVE VALIDATING ACCEPTED ABORTED ESCALATED EXECUTING CLOSED"
    " PARTIAL_SUCCESS_DIRTY MAINTENANCE_MODE",
    "LockResult": "ACQUIRED INSUFFICIENT_LIQUIDITY RESOURCE_CONTENTION_TIMEOUT",
    "EscalationOutcome": "GRANTED BUDGET_EXHAUSTED",
    "ImpactCategory": "LOW_IMPACT HIGH_IMPACT",
}


@pytest.mark.parametrize("name", ENUMS)
def test_enums_are_texts_with_these_values(name: str) -> None:
    members = list(getattr(dc, name))
    assert [str(one) for one in members] == ENUMS[name].split()
    assert json.loads(json.dumps(members)) == ENUMS[name].split()
    assert members[0] == ENUMS[name].split()[0]


def test_the_exhaustion_code_is_a_plain_text() -> None:
    assert dc.REASONING_EXHAUSTION == "REASONING_EXHAUSTION"


def run(program: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    import os

    import writkeeper

    package_root = str(Path(next(iter(writkeeper.__path__))).parent)
    search = os.pathsep.join([*map(str, paths), package_root])
    return subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": search},
    )


def test_install_puts_the_package_under_the_bare_name() -> None:
    done = run("""
        import writkeeper.dir_core
        writkeeper.dir_core.install()
        writkeeper.dir_core.install()
        from dir_core import PolicyProposal
        from dir_core.storage.sqlite import ensure_db
        from dir_core.utils.logging_utils import log_context
        import dir_core.models
        assert dir_core.models.PolicyProposal is PolicyProposal
        assert PolicyProposal is writkeeper.dir_core.PolicyProposal
    """)
    assert done.returncode == 0, done.stderr


def test_install_refuses_where_the_original_is(tmp_path: Path) -> None:
    (tmp_path / "dir_core").mkdir()
    (tmp_path / "dir_core" / "__init__.py").write_text("")
    done = run(
        """
        import writkeeper.dir_core
        try:
            writkeeper.dir_core.install()
        except RuntimeError as refusal:
            print(refusal)
        """,
        tmp_path,
    )
    assert "dir_core itself is installed here" in done.stdout, done.stderr


def test_without_pydantic_the_import_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pydantic.py").write_text("raise ImportError('none')")
    done = run("import writkeeper.dir_core", tmp_path)
    assert "pip install 'writkeeper[dir]'" in done.stderr
