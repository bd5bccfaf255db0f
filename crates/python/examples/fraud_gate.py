"""A payment gate (sample 32): what was true when the agent looked must still be true when the money moves.

Run it with `python fraud_gate.py`. The agent is a rule; put a model in its place and nothing below changes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from writkeeper.dir_core import (
    DecisionRuntime,
    IdempotencyGuard,
    PolicyProposal,
    ValidationVerdict,
    sqlite_storage,
    verify_drift,
)

AGENT = "fraud-agent"
HARD_LIMIT_USD = 50_000
CONTRACT = {"agent_id": AGENT, "allowed_policy_types": ["ALLOW_PAYMENT", "BLOCK_PAYMENT"]}


def propose(dfid: str, payment: dict[str, Any], account: dict[str, Any]) -> PolicyProposal:
    """What the agent makes of a payment and of the account as it saw it."""
    suspicious = account["device"] == "unknown" or account["status"] != "clean"
    kind = "BLOCK_PAYMENT" if suspicious else "ALLOW_PAYMENT"
    return PolicyProposal(dfid=dfid, agent_id=AGENT, policy_kind=kind, params=payment, confidence=0.9)


def above_the_limit(proposal: PolicyProposal, context: Any, contract: Any) -> str | None:
    """The bank's own rule, which no agent can argue with."""
    is_paid = proposal.policy_kind == "ALLOW_PAYMENT"
    return "HARD_LIMIT_EXCEEDED" if is_paid and proposal.params["amount"] > HARD_LIMIT_USD else None


class Gate:
    """Judges payments, looks again, and settles once."""

    def __init__(self, path: Path) -> None:
        self.bundle = sqlite_storage(path)
        self.runtime = DecisionRuntime(self.bundle)
        self.runtime.register_agent(AGENT, CONTRACT, "1.0.0")
        self.guard = IdempotencyGuard(self.bundle.idempotency)
        self.settled: list[float] = []

    def settle(self, amount: float, **_: object) -> dict[str, Any]:
        """Moves the money."""
        self.settled.append(amount)
        return {"settled": amount}

    def pay(self, dfid: str, payment: dict[str, Any], seen: dict[str, Any], live: dict[str, Any]) -> tuple[str, str]:
        """The verdict and why. ``seen`` is what the agent saw, ``live`` what the account is now."""
        proposal = propose(dfid, payment, seen)
        verdict, reason = self.runtime.evaluate_proposal(proposal, {"seen": seen}, custom_validators=[above_the_limit])
        if verdict != ValidationVerdict.ACCEPT or proposal.policy_kind == "BLOCK_PAYMENT":
            return str(verdict), str(reason) if verdict != ValidationVerdict.ACCEPT else proposal.policy_kind
        same, drift = verify_drift(seen, live)
        if not same:
            self.runtime.audit.record(dfid, "STATE_DRIFT", state="REJECTED", details={"drift": drift}, agent_id=AGENT)
            return "REJECT", drift
        self.guard.run(dfid, "settle", payment, self.settle)
        self.runtime.audit.record(dfid, "PAYMENT_SETTLED", state="DONE", details=payment, agent_id=AGENT)
        return str(verdict), proposal.policy_kind


def run(folder: Path) -> list[tuple[str, str, str]]:
    """Every case: its name, the verdict and why."""
    gate = Gate(folder / "fraud.db")
    clean = {"status": "clean", "device": "known"}
    cases: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
        ("legit", {"amount": 50.0}, clean, clean),
        ("legit again", {"amount": 50.0}, clean, clean),
        ("obvious fraud", {"amount": 10_000.0}, {**clean, "device": "unknown"}, {**clean, "device": "unknown"}),
        ("compromised meanwhile", {"amount": 50.0}, clean, {**clean, "status": "compromised"}),
        ("too much", {"amount": 60_000.0}, clean, clean),
    ]
    flows = {"legit again": "flow-legit"}
    told = [(name, *gate.pay(flows.get(name, f"flow-{name}"), *rest)) for name, *rest in cases]
    assert gate.settled == [50.0], "money moved once, for one payment"
    return told


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for line in run(Path(scratch)):
            print("{:24} {:8} {}".format(*line))
