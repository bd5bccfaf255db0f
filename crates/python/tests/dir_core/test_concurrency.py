"""W1 to W6: eight threads on every storage, eight processes on one file, and a crash."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import writkeeper
from writkeeper.dir_core import (
    AgentRegistry,
    ContextStore,
    DecisionLedger,
    EscalationManager,
    IdempotencyGuard,
    ImpactCategory,
    InDoubt,
    IntentRetryGovernor,
    PolicyProposal,
    ProofCarryingIntent,
    ResourceLockManager,
    SQLiteBackend,
    StorageBundle,
    sqlite_storage,
)

CREW = 8


def at_once(act: Callable[[int], Any]) -> list[Any]:
    """What eight threads get that begin together."""
    start = threading.Barrier(CREW)

    def begin(number: int) -> Any:
        start.wait()
        return act(number)

    with ThreadPoolExecutor(CREW) as pool:
        return list(pool.map(begin, range(CREW)))


def in_processes(act: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What eight processes get that begin together."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        start = manager.Barrier(CREW)
        results = manager.list()
        crew = [
            context.Process(target=_begin, args=(start, results, act, number, arguments))
            for number in range(CREW)
        ]
        for one in crew:
            one.start()
        for one in crew:
            one.join()
        assert [one.exitcode for one in crew] == [0] * CREW
        return list(results)


def _begin(start: Any, results: Any, act: Callable[..., Any], number: int, arguments: Any) -> None:
    start.wait()
    results.append(act(number, *arguments))


def proposal(dfid: str) -> PolicyProposal:
    return PolicyProposal(dfid=dfid, agent_id="a", policy_kind="K")


# --- W1


def test_w1_threads(bundle: StorageBundle) -> None:
    ran: list[int] = []
    inside = threading.Event()

    def effect(x: int) -> dict[str, int]:
        ran.append(x)
        # Long enough that the others arrive while it runs.
        inside.wait(0.1)
        return {"x": x}

    results = at_once(lambda _n: IdempotencyGuard(bundle.idempotency).run("d", "s", {"x": 1}, effect))
    assert ran == [1]
    assert results == [{"x": 1}] * CREW


def test_w1_threads_on_one_file_through_several_backends(db: str) -> None:
    ran: list[int] = []
    SQLiteBackend(db)
    folder, name = os.path.split(db)
    spellings = [db, os.path.join(folder, ".", name)]

    def run(number: int) -> Any:
        backend = SQLiteBackend(spellings[number % 2])
        return IdempotencyGuard(backend).run("d", "s", {}, lambda: ran.append(number))

    assert at_once(run) == [None] * CREW
    assert len(ran) == 1


def test_w1_keys_do_not_wait_for_each_other(bundle: StorageBundle) -> None:
    guard = IdempotencyGuard(bundle.idempotency)
    together = threading.Barrier(2, timeout=30)

    def run(step: str) -> Any:
        return guard.run("d", step, {}, lambda: together.wait() >= 0)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, ["one", "two"])) == [True, True]


def _effect(number: int, db: str, log: str) -> Any:
    def write() -> dict[str, int]:
        with open(log, "a") as file:
            file.write(f"{number}\n")
        # Long enough that the others arrive while it runs.
        threading.Event().wait(0.2)
        return {"by": number}

    return IdempotencyGuard(SQLiteBackend(db)).run("d", "s", {}, write)


def test_w1_processes(db: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    results = in_processes(_effect, db, str(log))
    [by] = log.read_text().split()
    assert results == [{"by": int(by)}] * CREW


def crash(db: str, log: Path, how: str) -> int:
    """Run a step in a process that ends in the middle of it; the exit code."""
    program = f"""
        import os, signal
        from writkeeper.dir_core import IdempotencyGuard, SQLiteBackend
        def effect():
            with open({str(log)!r}, "a") as file:
                file.write("x")
            {how}
        IdempotencyGuard(SQLiteBackend({db!r})).run("d", "s", {{}}, effect)
    """
    root = str(Path(next(iter(writkeeper.__path__))).parent)
    return subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": root},
        stderr=subprocess.DEVNULL,
    ).returncode


def test_w1_a_crash_leaves_doubt_and_no_second_effect(db: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert crash(db, log, "os.kill(os.getpid(), signal.SIGKILL)") == -signal.SIGKILL
    guard = IdempotencyGuard(SQLiteBackend(db))

    def again() -> str:
        log.write_text(log.read_text() + "y")
        return "again"

    for _ in range(2):
        with pytest.raises(InDoubt, match="step s of flow d") as doubt:
            guard.run("d", "s", {}, again)
    assert (doubt.value.dfid, doubt.value.step_id) == ("d", "s")
    assert log.read_text() == "x"
    assert guard.run("d", "other", {}, lambda: 1) == 1
    guard.settle("d", "s", {}, happened=True, result={"paid": True})
    assert guard.run("d", "s", {}, again) == {"paid": True}
    assert log.read_text() == "x"
    with pytest.raises(ValueError, match="not in doubt"):
        guard.settle("d", "s", {}, happened=False)


def test_w1_a_doubt_that_did_not_happen_may_be_tried_again(db: str, tmp_path: Path) -> None:
    crash(db, tmp_path / "log", "os._exit(3)")
    guard = IdempotencyGuard(SQLiteBackend(db))
    guard.settle("d", "s", {}, happened=False)
    assert guard.run("d", "s", {}, lambda: "done") == "done"
    assert len(os.listdir(f"{db}.owners")) == 1, "the file of the process that died is gone"


def test_w1_a_result_that_cannot_be_kept_is_in_doubt(db: str) -> None:
    guard = IdempotencyGuard(SQLiteBackend(db))
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError):
        guard.run("d", "s", {}, lambda: circle)
    with pytest.raises(InDoubt):
        guard.run("d", "s", {}, lambda: 1)


def test_w1_a_crash_between_the_effect_and_its_result(db: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = f"""
        import os, signal
        from writkeeper.dir_core import IdempotencyGuard, SQLiteBackend
        class Dying(SQLiteBackend):
            def set(self, key, result):
                os.kill(os.getpid(), signal.SIGKILL)
        effect = lambda: open({str(log)!r}, "a").write("x")
        IdempotencyGuard(Dying({db!r})).run("d", "s", {{}}, effect)
    """
    root = str(Path(next(iter(writkeeper.__path__))).parent)
    subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(program)], env={**os.environ, "PYTHONPATH": root})
    assert log.read_text() in ("", "x")
    with pytest.raises(InDoubt):
        IdempotencyGuard(SQLiteBackend(db)).run("d", "s", {}, lambda: log.write_text("again"))
    assert "again" not in log.read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
def test_w1_a_forked_child_is_another_process(db: str) -> None:
    guard = IdempotencyGuard(SQLiteBackend(db))
    guard.run("d", "first", {}, lambda: 1)
    child = os.fork()
    if child == 0:
        try:
            guard.run("d", "s", {}, lambda: os.kill(os.getpid(), signal.SIGKILL))
        finally:
            os._exit(9)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    with pytest.raises(InDoubt):
        guard.run("d", "s", {}, lambda: 1)
    assert guard.run("d", "first", {}, lambda: 2) == 1


# --- W2


def test_w2_threads(bundle: StorageBundle) -> None:
    manager = ResourceLockManager(availability_provider=lambda _r: 100.0, storage=bundle.resource_lock)
    results = at_once(lambda n: manager.acquire(f"d{n}", {"r": 60, "s": 1}, 30.0))
    assert results.count("ACQUIRED") == 1
    assert results.count("INSUFFICIENT_LIQUIDITY") == CREW - 1
    assert bundle.resource_lock.get_locked_amount("r", "") == 60
    assert bundle.resource_lock.get_locked_amount("s", "") == 1


def _hold(number: int, db: str) -> str:
    return ResourceLockManager(db, lambda _r: 100.0).acquire(f"d{number}", {"r": 30}, 30.0).value


def test_w2_processes(db: str) -> None:
    results = in_processes(_hold, db)
    assert sorted(results) == ["ACQUIRED"] * 3 + ["INSUFFICIENT_LIQUIDITY"] * 5
    assert sqlite_storage(db).resource_lock.get_locked_amount("r", "") == 90


# --- W3


def test_w3_threads(bundle: StorageBundle) -> None:
    manager = EscalationManager(storage=bundle.escalation)

    def ask(number: int) -> str:
        dfid = f"d{number}"
        return manager.request_escalation(dfid, "a", "r", {}, proposal(dfid), ImpactCategory.LOW_IMPACT)

    assert at_once(ask).count("GRANTED") == 3
    assert len(manager.get_pending()) == 3


def _ask(number: int, db: str) -> str:
    dfid = f"d{number}"
    return (
        EscalationManager(db)
        .request_escalation(dfid, "a", "r", {}, proposal(dfid), ImpactCategory.LOW_IMPACT)
        .value
    )


def test_w3_processes(db: str) -> None:
    assert in_processes(_ask, db).count("GRANTED") == 3
    assert len(EscalationManager(db).get_pending()) == 3


def _answer(number: int, db: str) -> str:
    decision = ("OVERRIDE", "MODIFY", "ABORT")[number % 3]
    EscalationManager(db).resolve_escalation("d", decision, proposal(f"by-{number}"))
    return decision


def test_w3_one_answer_among_processes(db: str) -> None:
    manager = EscalationManager(db)
    manager.request_escalation("d", "a", "r", {}, proposal("d"), ImpactCategory.LOW_IMPACT)
    in_processes(_answer, db)
    connection = sqlite3.connect(db)
    query = "SELECT status, human_decision, json_extract(proposal_json, '$.dfid') FROM escalation_requests"
    [(status, decision, by)] = connection.execute(query).fetchall()
    connection.close()
    number = int(by.removeprefix("by-"))
    assert decision == ("OVERRIDE", "MODIFY", "ABORT")[number % 3]
    assert status == ("REJECTED" if decision == "ABORT" else "APPROVED")


# --- W4


def test_w4_a_handshake_beside_a_suspension(bundle: StorageBundle) -> None:
    registry = AgentRegistry(storage=bundle.agent_registry)
    contract = {"permissions": {"allowed_policy_types": ["BUY"]}}
    for round_ in range(5):
        agent = f"a{round_}"
        registry.handshake(agent, contract, "1.0")

        def act(number: int) -> bool:
            if number == 0:
                return registry.set_agent_status(agent, "SUSPENDED", "DRIFT")
            return registry.handshake(agent, contract, "1.0").accepted

        assert at_once(act) == [True] * CREW
        assert registry.get_agent_status(agent) == ("SUSPENDED", "DRIFT")


WIDER = {"permissions": {"allowed_policy_types": ["BUY", "SELL"]}}


def _hello(number: int, db: str) -> str | None:
    return AgentRegistry(db).handshake("a", WIDER if number else {"permissions": {"allowed_policy_types": ["BUY"]}}, "1.0").reason


def test_w4_processes(db: str) -> None:
    registry = AgentRegistry(db)
    registry.handshake("a", {"permissions": {"allowed_policy_types": ["BUY"]}}, "1.0")
    registry.set_agent_status("a", "SUSPENDED", "DRIFT")
    asking = EscalationManager(db, 1)
    assert asking.request_escalation("d", "a", "r", {}, proposal("d"), ImpactCategory.LOW_IMPACT) == "GRANTED"
    ContextStore(db).update_state("a", {"k": 1})
    reasons = in_processes(_hello, db)
    assert sorted(map(str, reasons)) == ["CONTRACT_WIDENED"] * (CREW - 1) + ["None"]
    assert registry.get_agent_status("a") == ("SUSPENDED", "DRIFT")
    assert registry.get_agent_contract("a") == {"permissions": {"allowed_policy_types": ["BUY"]}}
    assert asking.request_escalation("e", "a", "r", {}, proposal("e"), ImpactCategory.LOW_IMPACT) == "BUDGET_EXHAUSTED"
    assert ContextStore(db).get_state("a") == {"k": 1}


# --- W5


def test_w5_threads(bundle: StorageBundle) -> None:
    governor = IntentRetryGovernor(CREW, storage=bundle.intent_retry)
    assert sorted(at_once(lambda _n: governor.record_rejection("d"))) == list(range(1, CREW + 1))
    assert governor.should_abort("d")


def test_w5_threads_in_memory() -> None:
    governor = IntentRetryGovernor()
    assert max(at_once(lambda _n: governor.record_rejection("d"))) == CREW


def _reject(_number: int, db: str) -> int:
    return IntentRetryGovernor(db_path=db).record_rejection("d")


def test_w5_processes(db: str) -> None:
    assert sorted(in_processes(_reject, db)) == list(range(1, CREW + 1))


# --- W6


def test_w6_threads(bundle: StorageBundle) -> None:
    store = ContextStore(storage=bundle.context)

    def merge(number: int) -> None:
        store.update_session("d", {f"k{number}": number})
        store.update_state("a", {f"k{number}": number})

    at_once(merge)
    everything = {f"k{number}": number for number in range(CREW)}
    assert store.get_session("d") == everything
    assert store.get_state("a") == everything


def _merge(number: int, db: str) -> None:
    for round_ in range(3):
        ContextStore(db).update_session("d", {f"k{number}-{round_}": 1})
        ContextStore(db).update_state("a", {f"k{number}-{round_}": 1})


def test_w6_processes(db: str) -> None:
    in_processes(_merge, db)
    assert len(ContextStore(db).get_session("d")) == 3 * CREW
    assert len(ContextStore(db).get_state("a")) == 3 * CREW


# --- W7


def test_w7_one_entry_per_flow(bundle: StorageBundle) -> None:
    for ledger in (DecisionLedger(), DecisionLedger(bundle.decision_ledger)):
        pci = ProofCarryingIntent(dfid="d", intent_payload={}, context_ref="c", evidence_hash="h")
        at_once(lambda _n: ledger.append(pci, agent_id="a"))
        assert len(ledger) == 1
