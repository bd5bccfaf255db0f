"""Every scenario through Python: the verdicts it states, and the bytes of every other door."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from writkeeper import _native

SCENARIOS = Path(__file__).parents[3] / "scenarios"
BEGINNING = "2026-01-01T00:00:00Z"
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass
class Case:
    name: str
    proposal: str
    expected: str


@dataclass
class Step:
    contract: str
    context: str = "{}"
    runs: list[list[Case]] = field(default_factory=list)

    @property
    def cases(self) -> list[Case]:
        return [case for run in self.runs for case in run]


def steps(path: Path) -> list[Step]:
    found: list[Step] = []
    for kind, body in re.findall(r"^```(\w+)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL):
        if kind == "yaml":
            found.append(Step(body))
        elif kind == "json":
            found[-1].context = body
        elif kind == "proposals":
            found[-1].runs.append(cases(body))
    return found


def cases(body: str) -> list[Case]:
    found: list[Case] = []
    name = proposal = ""
    for line in body.splitlines():
        if line.startswith("=> "):
            found.append(Case(name, proposal, line[3:]))
        elif line.startswith("# "):
            name = line[2:]
        elif line.strip():
            proposal = line
    return found


def every() -> list[Any]:
    files = sorted(path for path in SCENARIOS.glob("*.md") if path.stem != "README")
    return [pytest.param(step, id=f"{path.stem}-{at}") for path in files for at, step in enumerate(steps(path))]


def said(line: str) -> str:
    answer = json.loads(line)
    return "ACCEPT" if answer["verdict"] == "ACCEPT" else f"{answer['verdict']} {', '.join(answer['reasons'])}"


def without_ids(step: Step, lines: list[str]) -> list[str]:
    """With minted ids replaced by their number in order of appearance: equal ids stay equal."""
    given = "".join(case.proposal for case in step.cases)
    minted: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        text = found.group()
        return text if text in given else f"<{minted.setdefault(text, len(minted))}>"

    return [ID.sub(number, line) for line in lines]


def stored(step: Step, location: str) -> list[str]:
    lines: list[str] = []

    def opened() -> _native.Store:
        return _native.Store(location, operator="ann", clock=BEGINNING, strangers=step.contract)

    store = opened()
    store.enrol(step.contract, True)
    store.take_over(step.context)
    for run in step.runs:
        if location != "memory:":
            store.close()
            store = opened()
        for at, case in enumerate(run):
            store.set_clock(created_at(case.proposal))
            lines.append(store.decide(case.proposal, True, at + 1)[0])
    store.close()
    return lines


def created_at(proposal: str) -> str:
    try:
        return json.loads(proposal).get("created_at") or BEGINNING
    except (ValueError, AttributeError):
        return BEGINNING


def through_the_binary(step: Step, folder: Path, binary: str) -> list[str]:
    (folder / "contract.yaml").write_text(step.contract)
    (folder / "context.json").write_text(step.context)
    words = ["decide", "--trust-provenance", "--quiet", "--contract", "contract.yaml", "--context", "context.json"]
    given = "".join(case.proposal + "\n" for case in step.cases)
    done = subprocess.run([binary, *words], cwd=folder, input=given, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


@pytest.mark.parametrize("step", every())
def test_scenario(step: Step, tmp_path: Path) -> None:
    pure = _native.rehearse(step.contract, [case.proposal for case in step.cases], step.context, True)
    for case, line in zip(step.cases, pure, strict=True):
        assert said(line) == case.expected, case.name
    expected = without_ids(step, pure)
    assert without_ids(step, stored(step, str(tmp_path / "kept.db"))) == expected, "SQLite answers other bytes"
    if len(step.runs) == 1:
        assert without_ids(step, stored(step, "memory:")) == expected, "the store in memory answers other bytes"
    binary = os.environ.get("WRITKEEPER_BINARY")
    if binary:
        assert through_the_binary(step, tmp_path, binary) == pure, "the command line answers other bytes"


def test_there_are_scenarios() -> None:
    assert len(every()) >= 11
