"""Hashes, byte for byte."""

from datetime import datetime, timezone

import pytest

from writkeeper.dir_core import (
    ContextSnapshot,
    ProofCarryingIntent,
    ProofChecker,
    compute_evidence_hash,
    hash_content,
    idempotency_key,
    proposal_params_for_hash,
)
from writkeeper.dir_core.storage import dumps_json_dict

FLOW = "550e8400-e29b-41d4-a716-446655440000"
X = "613fe5aa65343dbb1b9abe6abac6773f5c91bd60d3f2ffb7e2eae69e1db8b227"
MAX = "35d1365ec9c51f51ff8f3cd7f1a61a75053cd51c5454db68055141a76d50c4d3"


@pytest.mark.parametrize(
    ("dfid", "step", "params", "expected"),
    [
        (
            FLOW,
            "step-02",
            {"action": "BUY", "instrument": "BTC-USD", "qty": 0.05},
            "312deb6958d8d95d35827e5376ec7be1411f3622bcea8729968913d9821c1888",
        ),
        ("df1", "pay", {}, "eca179c0c8fdbdcf1c82884ebd4688424b5c816d5acfd916a393dbf22539d2a3"),
        (
            "df1",
            "żółw",
            {"a": 'é"\\/\n', "b": [1, 2.0, None, True]},
            "1049fe31996bfefed81539308a79c2060cb6f79efffc54e3764876515605e9ba",
        ),
    ],
)
def test_idempotency_key(dfid: str, step: str, params: dict, expected: str) -> None:
    assert idempotency_key(dfid, step, params) == expected


def test_idempotency_key_tells_numbers_apart_and_refuses_what_is_not_json() -> None:
    assert len({idempotency_key("d", "s", {"x": x}) for x in (1, 1.0, True)}) == 3
    assert idempotency_key("d", "s", {"a": 1, "b": 2}) == idempotency_key("d", "s", {"b": 2, "a": 1})
    with pytest.raises(TypeError):
        idempotency_key("d", "s", {"x": datetime.now()})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"a": 1}, "f9d86028c6e0d64e"),
        ({"price": 99.5, "positions": [{"id": "x", "qty": 3}]}, "54bfec036ca080da"),
        (
            {"t": datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc), "é": "ü"},
            "00fd3ca41591c591",
        ),
    ],
)
def test_snapshot_id(data: dict, expected: str) -> None:
    snapshot = ContextSnapshot.create("df1", data)
    assert snapshot.snapshot_id == expected
    assert snapshot.source == "context_store"
    assert ContextSnapshot.create("other", data, source="feed").snapshot_id == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1, "b": 2}, "d8497d9d82770a70729261095aa98f7ef5154d7af499f8037b6ca250296785a6"),
        (
            {"input_email": "Please quote"},
            "4d1bdf9bccaebf83812a327fbbf9cb9cfd1de115a08aa4ec62948b5504b0c9ed",
        ),
        (
            {
                "agent_id": "underwriting_agent",
                "role": "EXECUTOR",
                "allowed_policy_types": ["ISSUE_POLICY", "REJECT"],
                "authorized_instruments": ["COMMERCIAL_FLEET"],
            },
            "10acf5045bf62ebb53d5e0d5920f30a2c450bb83367c244e60e0cb121c9888f3",
        ),
        ({"x": 1}, X),
        ({"max": 100}, MAX),
        ({"ok": True, "_dfid": "df1"}, "65de2372c00e5c2cd186e66364f4ab57fa1a1d84f2a032865dadfd40f4c94ae1"),
        ({}, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
    ],
)
def test_hash_content(value: dict, expected: str) -> None:
    assert hash_content(value) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            ("df1", X, MAX, proposal_params_for_hash({"a": 1})),
            "7022e9411ca1407cb38bb7ffc1e69114f6c7cdf3a6da79d6d908e238c629e733",
        ),
        (
            ("dfid1", "ctx1", "contract1", '{"x":1}'),
            "10507e9f2e902377091df7a4ecb1c3a6b38867279a7edae274ff2c2c4f9bdf41",
        ),
        (
            (
                FLOW,
                X,
                MAX,
                proposal_params_for_hash(
                    {"total_insured_value": 1000000.0, "premium": 5000.0, "industry": "Retail"}
                ),
            ),
            "f40309feb88df5b7db63a52345d38c3f60e198ab6d5ef63fc79f68326c8a6218",
        ),
    ],
)
def test_evidence_hash(parts: tuple[str, str, str, str], expected: str) -> None:
    assert compute_evidence_hash(*parts) == expected


def test_canonical_text() -> None:
    assert dumps_json_dict({"b": 1.0, "a": "é/", "c": [1e16, 1e-07, -0.0]}) == (
        '{"a": "\\u00e9/", "b": 1.0, "c": [1e+16, 1e-07, -0.0]}'
    )
    assert proposal_params_for_hash({"at": datetime(2026, 1, 2, tzinfo=timezone.utc)}) == (
        '{"at": "2026-01-02 00:00:00+00:00"}'
    )


def proof(evidence: str) -> tuple[bool, str]:
    pci = ProofCarryingIntent(dfid="df1", intent_payload={"a": 1}, context_ref="c", evidence_hash=evidence)
    return ProofChecker().verify(pci, lambda: X, lambda: MAX, proposal_params_for_hash)


def test_a_proof_counts_only_if_it_can_be_computed_again() -> None:
    true = compute_evidence_hash("df1", X, MAX, '{"a": 1}')
    assert proof(true) == (True, "OK")
    assert proof(true[:-1] + "0") == (False, "Evidence Invalid")
    assert proof("") == (False, "Evidence Invalid")
    assert proof("é") == (False, "Evidence Invalid")
