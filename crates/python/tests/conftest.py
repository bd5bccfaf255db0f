"""A shop that pays money back, and a keeper in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import writkeeper

CONTRACT = """
agent: refund-bot
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, amount: money EUR, iban: optional text }
    allow: amount <= 25
    ask: amount <= 100
    from: { iban: [user, state] }
  look: { reads: true, params: { order: text } }
approvers: [desk]
"""


@pytest.fixture(params=["memory", "file"])
def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[writkeeper.Keeper]:
    location = "memory:" if request.param == "memory" else tmp_path / "kept.db"
    with writkeeper.open(location, contract=CONTRACT) as keeper:
        keeper.people({"desk": ["ann"]})
        yield keeper


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "kept.db"


@pytest.fixture
def contract() -> str:
    return CONTRACT
