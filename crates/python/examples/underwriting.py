"""Underwriting (sample 33): a contract with invariants, and a policy is bound only with its proof.

Run it with `python underwriting.py`. What binds is not the agent's word: the kernel's side computes the hash of the
evidence again, from what it knows itself.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from writkeeper.dir_core import (
    DecisionLedger,
    DecisionRuntime,
    PolicyProposal,
    ProofCarryingIntent,
    ProofChecker,
    ValidationVerdict,
    compute_evidence_hash,
    hash_content,
    proposal_params_for_hash,
    sqlite_storage,
)

AGENT = "underwriting-agent"
CONTRACT: dict[str, Any] = {
    "agent_id": AGENT,
    "authority": {
        "allowed_policy_types": ["BIND_POLICY"],
        "invariants": [
            {
                "id": "INV_TERRITORY",
                "type": "set",
                "field": "params.territory",
                "denied": ["Syria", "Damascus"],
                "match": "substring",
                "reason_code": "PROHIBITED_TERRITORY",
            },
            {
                "id": "INV_CEILING",
                "type": "range",
                "field": "params.total_insured_value",
                "min": 0,
                "max": 3_000_000,
                "reason_code": "AUTHORITY_CEILING",
            },
        ],
    },
}


class Desk:
    """Judges submissions, checks their proofs, and binds."""

    def __init__(self, path: Path) -> None:
        bundle = sqlite_storage(path)
        self.runtime = DecisionRuntime(bundle)
        self.runtime.register_agent(AGENT, CONTRACT, "1.0.0")
        self.ledger = DecisionLedger(bundle.decision_ledger)
        self.mail: dict[str, dict[str, Any]] = {}

    def intent(self, dfid: str, params: dict[str, Any]) -> ProofCarryingIntent:
        """What the agent hands in: the submission as it read it, with the hash over what it relies on."""
        context = hash_content(self.mail[dfid])
        evidence = compute_evidence_hash(dfid, context, hash_content(CONTRACT), proposal_params_for_hash(params))
        return ProofCarryingIntent(dfid=dfid, intent_payload=params, context_ref=context, evidence_hash=evidence)

    def bind(self, intent: ProofCarryingIntent) -> tuple[str, str]:
        """The verdict and why. Only what is accepted reaches the ledger."""
        proven, said = ProofChecker().verify(
            intent,
            lambda: hash_content(self.mail[intent.dfid]),
            lambda: hash_content(CONTRACT),
            proposal_params_for_hash,
        )
        if not proven:
            return "REJECT", said
        proposal = PolicyProposal(
            dfid=intent.dfid, agent_id=AGENT, policy_kind="BIND_POLICY", params=intent.intent_payload
        )
        verdict, reason = self.runtime.evaluate_proposal(proposal, self.mail[intent.dfid])
        if verdict != ValidationVerdict.ACCEPT:
            return str(verdict), str(reason)
        self.ledger.append(intent, agent_id=AGENT)
        return str(verdict), "Policy Bound"


def run(folder: Path) -> list[tuple[str, str, str]]:
    """Every case: its name, the verdict and why."""
    desk = Desk(folder / "underwriting.db")
    cases = [
        ("UK, 1.5 M", "United Kingdom", 1_500_000),
        ("UK, 3.0 M exactly", "United Kingdom", 3_000_000),
        ("Damascus, 1 M", "Damascus, Syrian Arab Republic", 1_000_000),
        ("UK, 4 M", "United Kingdom", 4_000_000),
        ("Syria and Damascus, 5 M", "Syria and Damascus", 5_000_000),
    ]
    told: list[tuple[str, str, str]] = []
    for number, (name, territory, value) in enumerate(cases):
        dfid = f"submission-{number}"
        desk.mail[dfid] = {"input_email": f"Please quote {territory}, insured for {value}"}
        params = {"territory": territory, "total_insured_value": value}
        told.append((name, *desk.bind(desk.intent(dfid, params))))
    desk.mail["submission-t"] = {"input_email": "Please quote a shop"}
    tampered = desk.intent("submission-t", {"territory": "UK", "total_insured_value": 1_000})
    tampered.intent_payload["total_insured_value"] = 2_000_000
    told.append(("changed after hashing", *desk.bind(tampered)))
    assert len(desk.ledger) == 2, "the ledger holds what was bound and nothing else"
    return told


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for line in run(Path(scratch)):
            print("{:26} {:8} {}".format(*line))
