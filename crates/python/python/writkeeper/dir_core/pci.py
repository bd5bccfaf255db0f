"""Evidence that travels with a decision and is computed again before it counts."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

from ._canonical import canonical_json, sha256_hex
from .models import ProofCarryingIntent


def hash_content(obj: Any) -> str:
    """The hash of anything that JSON can say."""
    return sha256_hex(canonical_json(obj))


def proposal_params_for_hash(proposal: dict[str, Any]) -> str:
    """The text of a proposal that goes into the evidence hash."""
    return canonical_json(proposal)


def compute_evidence_hash(
    dfid: str, context_hash: str, contract_hash: str, proposal_params: str
) -> str:
    """The hash of the four texts one after another, without a separator."""
    return sha256_hex("".join((dfid, context_hash, contract_hash, proposal_params)))


class ProofChecker:
    """Computes the evidence hash from sources that the agent does not control."""

    def verify(
        self,
        pci: ProofCarryingIntent,
        get_context_hash: Callable[[], str],
        get_contract_hash: Callable[[], str],
        get_proposal_params: Callable[[dict[str, Any]], str],
    ) -> tuple[bool, str]:
        """(True, "OK") if the claimed hash is the true one, else (False, "Evidence Invalid")."""
        truth = compute_evidence_hash(
            pci.dfid,
            get_context_hash(),
            get_contract_hash(),
            get_proposal_params(pci.intent_payload),
        )
        if hmac.compare_digest(truth.encode("utf-8"), pci.evidence_hash.encode("utf-8")):
            return True, "OK"
        return False, "Evidence Invalid"
