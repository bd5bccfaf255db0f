"""The examples end as the reference's samples do, and stay that way when they are run again."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic")

EXAMPLES = Path(__file__).parents[1] / "examples"

FRAUD = [
    ("legit", "ACCEPT", "ALLOW_PAYMENT"),
    ("legit again", "ACCEPT", "ALLOW_PAYMENT"),
    ("obvious fraud", "ACCEPT", "BLOCK_PAYMENT"),
    ("compromised meanwhile", "REJECT", "STATE_DRIFT: status changed (snapshot=clean, live=compromised)"),
    ("too much", "REJECT", "Custom validation failed: HARD_LIMIT_EXCEEDED"),
]
UNDERWRITING = [
    ("UK, 1.5 M", "ACCEPT", "Policy Bound"),
    ("UK, 3.0 M exactly", "ACCEPT", "Policy Bound"),
    ("Damascus, 1 M", "REJECT", "PROHIBITED_TERRITORY"),
    ("UK, 4 M", "REJECT", "AUTHORITY_CEILING"),
    ("Syria and Damascus, 5 M", "REJECT", "PROHIBITED_TERRITORY;AUTHORITY_CEILING"),
    ("changed after hashing", "REJECT", "Evidence Invalid"),
]
LIE = "COMPLIANT_LIE_SUSPECTED"
EVIDENCE = [
    ("a lie without gates", "ACCEPT", "executed"),
    ("a lie, heuristic", "EVIDENCE_ABORT", f"HEURISTIC_DELTA: declared_income_pln {LIE}"),
    ("a lie, reconstructed", "EVIDENCE_ABORT", f"RECONSTRUCTION_MISMATCH {LIE}"),
    ("honest", "ACCEPT", "executed"),
    ("changed after hashing", "PCI_REJECT", "Evidence Invalid"),
    ("churn, audited", "ACCEPT", "NEEDS_REVIEW"),
    ("churn, strict", "ALIGNMENT_ABORT", "SEMANTIC_MISMATCH"),
    ("above the cap", "REJECT", "Custom validation failed: LIMIT_ABOVE_CAP"),
    ("drift, after step 10", "REJECT", "AGENT_SUSPENDED"),
]
RETENTION = [
    ("facts agree", "ACCEPT", "VALIDATION_PASSED"),
    *((f"greedy, attempt {attempt}", "REJECT", "CONTRACT_LIMIT_EXCEEDED") for attempt in (1, 2, 3)),
    ("greedy, attempt 4", "REJECT", "REASONING_EXHAUSTION"),
    ("invented facts", "REJECT", "Custom validation failed: FACT_MISMATCH: tenure"),
    ("wants to leave", "ESCALATE", "CANCEL_INTENT"),
    ("told otherwise", "ESCALATE", "RECONSTRUCTION_MISMATCH"),
    ("drift, after step 7", "REJECT", "AGENT_SUSPENDED"),
]
MESH = [
    ("Fund buys bitcoin for its reserve", "ACCEPT", "OPEN_LONG"),
    ("Quiet day for ether", "NOBODY WOKE", ""),
    ("Upgrade <fork> goes live, fees fall", "ACCEPT", "OPEN_LONG"),
    ("Exchange halts withdrawals", "ACCEPT", "CLOSE_LONG"),
    ("A joke coin doubles", "REJECT", "UNAUTHORIZED_INSTRUMENT"),
]


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fraud_gate", FRAUD),
        ("underwriting", UNDERWRITING),
        ("evidence", EVIDENCE),
        ("retention_airlock", RETENTION),
        ("trading_mesh", MESH),
    ],
)
def test_verdicts(name: str, told: list[tuple[str, str, str]], tmp_path: Path) -> None:
    assert example(name)["run"](tmp_path) == told


@pytest.mark.parametrize("name", ["evidence", "retention_airlock"])
def test_who_ended_suspended_starts_suspended(name: str, tmp_path: Path) -> None:
    run = example(name)["run"]
    run(tmp_path)
    again = run(tmp_path)
    assert not [line for line in again if line[1] == "ACCEPT"], "a handshake lifts nothing"


def last_before(values: list[Decimal], over: int, is_tripped: Callable[[list[Decimal]], bool], times: int = 1) -> int:
    """After how many values a window was tripped so many times in a row."""
    row = 0
    for end in range(over, len(values) + 1):
        row = row + 1 if is_tripped(values[end - over : end]) else 0
        if row == times:
            return end
    return len(values)


DRIFT = [
    ("drift_discounts", lambda told: [line[1].split()[0] for line in told], 20, lambda window: sum(window) > 200, 1),
    ("drift_refunds", lambda told: [int(line[1] <= 48) for line in told], 20, lambda window: sum(window) > 3, 1),
    ("drift_bidding", lambda told: [line[1] for line in told], 10, lambda window: sum(window) > 18, 5),
]


@pytest.mark.parametrize(("name", "read", "over", "is_tripped", "times"), DRIFT)
def test_the_agent_is_suspended_before_its_next_decision(
    name: str, read: Any, over: int, is_tripped: Any, times: int, tmp_path: Path
) -> None:
    run = example(name)["run"]
    told = run(tmp_path)
    assert told[-1][-1] == "AGENT_SUSPENDED"
    done = [Decimal(str(value)) for value in read(told[:-1])]
    assert len(done) == last_before(done, over, is_tripped, times), "no decision too late, none too early"
    assert [line[-1] for line in run(tmp_path)] == ["AGENT_SUSPENDED"], "it starts as it ended"


def test_the_report_of_the_mesh(tmp_path: Path) -> None:
    example("trading_mesh")["run"](tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for shown in (
        "<td>flow-1</td><td>ACTIVE → VALIDATING → ACCEPTED → EXECUTING → CLOSED</td>",
        "<td>flow-1-btc-usd</td><td>ACTIVE → CLOSED</td>",
        "<td>flow-3-eth-usd</td><td>ACTIVE</td>",
        "<td>flow-5</td><td>ACTIVE → VALIDATING → ABORTED</td>",
        "AGENT_SPAWNED",
        "Upgrade &lt;fork&gt; goes live",
    ):
        assert shown in page, shown
    assert "<fork>" not in page


def test_the_quick_start() -> None:
    done = subprocess.run([sys.executable, EXAMPLES / "quick_start.py"], capture_output=True, text=True, check=True)
    allowed, refused, asked, answered = done.stdout.splitlines()
    assert (allowed, answered) == ("paid 12.5 EUR for A-1", "paid 60 EUR for A-3")
    assert "'denied'" in refused and "'pending'" in asked


def test_the_list_of_examples_is_whole() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in sorted(EXAMPLES.glob("*.py")) if f"`{path.name}`" not in listed] == []
