"""Eight processes work on one file and half of them are killed: one effect for each step, and nothing that was said is lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import writkeeper
from writkeeper.dir_core import (
    ContextStore,
    EscalationManager,
    IdempotencyGuard,
    InDoubt,
    SQLiteBackend,
    sqlite_storage,
)

CREW, STEPS, BUDGET = 8, 10, 5

WORKER = """
import os, random, sys, time
from writkeeper.dir_core import *
from writkeeper.dir_core import InDoubt
db, log, me = sys.argv[1:]
bundle, chance = sqlite_storage(db), random.Random(me)
guard, context = IdempotencyGuard(bundle.idempotency), ContextStore(storage=bundle.context)
governor = IntentRetryGovernor(storage=bundle.intent_retry)
locks = ResourceLockManager(storage=bundle.resource_lock, availability_provider=lambda _: 100.0)
asking = EscalationManager(storage=bundle.escalation, max_escalations_per_hour=5)
written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def say(*words):
    os.write(written, (" ".join(map(str, words)) + chr(10)).encode())
def effect(step):
    say("effect", step)
    time.sleep(chance.uniform(0, 0.1))
    return {"by": me}
say("up")
while not os.path.exists(log + ".go"):
    time.sleep(0.01)
for step in chance.sample(range(10), 10):
    try:
        say("result", step, guard.run("d", "s", {"step": step}, effect)["by"])
    except InDoubt:
        say("doubt", step)
    context.update_state("a", {f"{me}-{step}": 1})
    say("merged", f"{me}-{step}")
    say("rejected", governor.record_rejection("d"))
    say(locks.acquire(f"{me}-{step}", {"cash": 30}, 60.0))
    say(asking.request_escalation(f"{me}-{step}", "a", "r", {}, {}, "LOW_IMPACT"))
"""


def work_and_kill(db: str, log: Path) -> list[list[str]]:
    """What the processes wrote down, half of them up to where they were killed."""
    environment = {**os.environ, "PYTHONPATH": str(Path(next(iter(writkeeper.__path__))).parent)}
    words = [sys.executable, "-P", "-c", WORKER, db, str(log)]
    crew = [subprocess.Popen([*words, str(number)], env=environment) for number in range(CREW)]
    while not log.exists() or log.read_text().count("up") < CREW:
        assert all(one.poll() is None for one in crew)
        time.sleep(0.01)
    log.with_suffix(".go").touch()
    for victim in crew[::2]:
        time.sleep(random.uniform(0, 0.3))
        victim.kill()
    assert [one.wait(300) for one in crew[1::2]] == [0] * (CREW // 2)
    return [line.split() for line in log.read_text().splitlines()]


def test_killed_processes_leave_one_effect_and_lose_nothing(db: str, tmp_path: Path) -> None:
    sqlite_storage(db)
    lines = work_and_kill(db, tmp_path / "said")
    told = {kind: [line[1:] for line in lines if line[0] == kind] for kind in {line[0] for line in lines}}
    effects = Counter(step for [step] in told["effect"])
    assert set(effects.values()) == {1}, effects
    guard = IdempotencyGuard(SQLiteBackend(db))
    results = dict(told["result"])
    assert len({tuple(one) for one in told["result"]}) == len(results), "two results of one step"
    for step in map(str, range(STEPS)):
        late: list[int] = []
        try:
            kept = guard.run("d", "s", {"step": int(step)}, lambda step: late.append(step))
            assert not late or step not in effects, "the effect was repeated"
            assert step not in results or kept == {"by": results[step]}
        except InDoubt:
            assert step not in results
    state = ContextStore(db).get_state("a")
    assert [merged for [merged] in told["merged"] if merged not in state] == []
    counts = [count for [count] in told["rejected"]]
    assert len(set(counts)) == len(counts)
    held = sqlite_storage(db).resource_lock.get_locked_amount("cash", "")
    assert 30 * len(told["ACQUIRED"]) <= held <= 100
    assert len(told["GRANTED"]) <= len(EscalationManager(db).get_pending()) <= BUDGET
