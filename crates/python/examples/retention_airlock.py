"""Retention (sample 40): an agent that may grant discounts, behind an airlock of facts, retries, people and drift.

Five scenes: a discount that the facts carry, a model that keeps asking for what it may not have, a customer who wants to
leave, a story that a second agent cannot tell again, and a margin that erodes. Run it with `python retention_airlock.py`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from writkeeper.dir_core import (
    DecisionRuntime,
    EscalationOutcome,
    IntentRetryGovernor,
    PolicyProposal,
    ResponsibilityContract,
    ValidationVerdict,
    sqlite_storage,
)

AGENT = "retention-agent"
CONTRACT: dict[str, Any] = ResponsibilityContract(
    agent_id=AGENT, mission="keep customers whom it pays to keep", allowed_policy_types=["GRANT_DISCOUNT"]
).model_dump(mode="json") | {"max_discount_pct": 20}
WINDOW, MEAN_MAX = 7, 14.5
FACTS = {"c-1": {"tenure": 36, "wants_to_leave": False}, "c-2": {"tenure": 2, "wants_to_leave": False}}


class Airlock:
    """Everything between the model's words and the customer's bill."""

    def __init__(self, path: Path) -> None:
        bundle = sqlite_storage(path)
        self.runtime = DecisionRuntime(bundle)
        self.governor = IntentRetryGovernor(3, storage=bundle.intent_retry)
        self.runtime.register_agent(AGENT, CONTRACT, "1.0.0")
        self.granted: list[float] = []

    def decide(self, dfid: str, words: dict[str, Any], transcript: str) -> tuple[str, str]:
        """The verdict and why."""
        if "cancel my contract" in transcript.lower():
            return self._ask(dfid, "CANCEL_INTENT", words)
        if not told_again(words, transcript):
            return self._ask(dfid, "RECONSTRUCTION_MISMATCH", words)
        params = {"customer": words["customer"], "discount_pct": words["discount_pct"], "tenure": words["tenure"]}
        proposal = PolicyProposal(dfid=dfid, agent_id=AGENT, policy_kind=words["kind"], params=params)
        verdict, reason = self.runtime.evaluate_proposal(
            proposal, {"transcript": transcript}, retry_governor=self.governor, custom_validators=[not_the_facts]
        )
        if verdict == ValidationVerdict.ACCEPT:
            self.granted.append(float(params["discount_pct"]))
            self.runtime.audit.record(dfid, "RETENTION_EXECUTED", state="DONE", details=params, agent_id=AGENT)
            self._watch(dfid)
        return str(verdict), str(reason)

    def _ask(self, dfid: str, reason: str, words: dict[str, Any]) -> tuple[str, str]:
        outcome = self.runtime.escalation.request_escalation(dfid, AGENT, reason, {}, words, "HIGH_IMPACT")
        return ("ESCALATE", reason) if outcome == EscalationOutcome.GRANTED else ("REJECT", str(outcome))

    def _watch(self, dfid: str) -> None:
        latest = self.granted[-WINDOW:]
        if len(latest) == WINDOW and sum(latest) / WINDOW > MEAN_MAX:
            self.runtime.registry.set_agent_status(AGENT, "SUSPENDED", "MARGIN_DRIFT")
            details = {"mean": sum(latest) / WINDOW}
            self.runtime.audit.record(dfid, "AGENT_SUSPENDED", state="ALERT", details=details, agent_id=AGENT)


def not_the_facts(proposal: PolicyProposal, context: Any, contract: Any) -> str | None:
    """The fact gate: what the model says of a customer is compared with what the books say."""
    known = FACTS.get(proposal.params["customer"])
    if known is None:
        return "CUSTOMER_UNKNOWN"
    return "FACT_MISMATCH: tenure" if known["tenure"] != proposal.params["tenure"] else None


def told_again(words: dict[str, Any], transcript: str) -> bool:
    """The second agent: it sees the proposal alone and says what the customer must have said; here by a rule."""
    expected = "price" if words["discount_pct"] else "help"
    return expected in transcript.lower()


def run(folder: Path) -> list[tuple[str, str, str]]:
    """Every scene: its name, the verdict and why."""
    airlock = Airlock(folder / "retention.db")
    honest = {"kind": "GRANT_DISCOUNT", "customer": "c-1", "discount_pct": 10, "tenure": 36}
    complains = "The price is too high for me"
    told: list[tuple[str, str, str]] = [("facts agree", *airlock.decide("s-1", honest, complains))]
    for attempt in range(1, 5):
        greedy = {**honest, "discount_pct": 50}
        told.append((f"greedy, attempt {attempt}", *airlock.decide("s-2", greedy, complains)))
    told.append(("invented facts", *airlock.decide("s-6", {**honest, "customer": "c-2"}, complains)))
    told.append(("wants to leave", *airlock.decide("s-3", honest, "Cancel my contract, the price is too high")))
    told.append(("told otherwise", *airlock.decide("s-4", honest, "My router is broken")))
    for step in range(1, 20):
        verdict, reason = airlock.decide(f"s-5-{step}", {**honest, "discount_pct": 15}, complains)
        if verdict != ValidationVerdict.ACCEPT:
            told.append((f"drift, after step {step - 1}", verdict, reason))
            break
    return told


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for line in run(Path(scratch)):
            print("{:24} {:10} {}".format(*line))
