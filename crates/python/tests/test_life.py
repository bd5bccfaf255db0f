"""Async, threads, processes, forks, executors and validators."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import writkeeper
from writkeeper import Attempt, DidNotHappen, Keeper


def test_decide_async(keeper: Keeper) -> None:
    async def one(order: str) -> str:
        decision = await keeper.decide_async(
            agent="refund-bot", action="refund", params={"order": order, "amount": 5}
        )
        return decision.verdict

    async def story() -> list[str]:
        return await asyncio.gather(*(one("A-1") for _ in range(50)))

    verdicts = asyncio.run(story())
    assert verdicts.count("ACCEPT") == 1 and verdicts.count("REJECT") == 49


def test_cancelling_the_wait_does_not_cancel_the_decision(keeper: Keeper) -> None:
    async def story() -> None:
        ask = keeper.decide_async(agent="refund-bot", action="refund", params={"order": "A-1", "amount": 5})
        task = asyncio.ensure_future(ask)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())


def test_async_context_managers(store: Path, contract: str) -> None:
    async def story() -> None:
        async with writkeeper.open(store, contract=contract) as keeper:
            async with await keeper.flow_async("refund-bot") as flow:
                decision = await flow.decide_async(action="refund", params={"order": "A-1", "amount": 5})
            assert decision.intent is not None
            assert await keeper.report_async(decision.intent, "succeeded") == "SUCCEEDED"
            assert (await keeper.intent_async(decision.intent)).state == "SUCCEEDED"
            assert len(await keeper.intents_async()) == 1
            assert await keeper.state.merge_async({"a": 1}) == {"a": 1}
            assert (await keeper.snapshot_async(keys=["a"])).state == {"a": 1}
            assert len(await keeper.receipt_async(decision)) > 100

    asyncio.run(story())


def test_other_threads_run_while_one_waits(keeper: Keeper) -> None:
    """A call that waits for a person must not hold the interpreter."""
    asked = keeper.decide(agent="refund-bot", action="refund", params={"order": "A-1", "amount": 60})
    counted = 0
    waiting = threading.Thread(target=lambda: keeper.wait(asked, 20.0))
    waiting.start()
    while counted < 100_000:
        counted += 1
    assert waiting.is_alive()
    assert asked.question is not None
    keeper.answer(asked.question, "deny", by="ann", because="x")
    waiting.join()


def test_sixteen_threads(keeper: Keeper) -> None:
    accepted: list[str] = []

    def work(number: int) -> None:
        for step in range(10):
            params = {"order": f"{number}-{step}", "amount": 5}
            if keeper.decide(agent="refund-bot", action="refund", params=params).accepted:
                accepted.append(f"{number}-{step}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(accepted) == 160


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_told_to_open_again(store: Path, contract: str) -> None:
    keeper = writkeeper.open(store, contract=contract)
    keeper.decide(agent="refund-bot", action="look", params={"order": "A-1"})
    child = os.fork()
    if child == 0:
        code = 1
        try:
            keeper.decide(agent="refund-bot", action="look", params={"order": "A-1"})
        except writkeeper.Closed as error:
            with writkeeper.open(store) as own:
                ours = own.decide(agent="refund-bot", action="look", params={"order": "A-1"})
            keeper.close()
            code = 0 if "fork" in error.message and ours.accepted else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    if done == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert done != (0, 0), "the child hangs"
    assert os.waitstatus_to_exitcode(done[1]) == 0
    assert keeper.decide(agent="refund-bot", action="look", params={"order": "A-1"}).accepted
    keeper.close()


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


PAY = """
import sys, writkeeper
keeper = writkeeper.open(sys.argv[1])
decision = keeper.decide(agent="refund-bot", action="refund", params={"order": "A-1", "amount": 5})
print(decision.verdict, *decision.reasons)
"""


def test_eight_processes_share_one_file(store: Path, contract: str) -> None:
    writkeeper.open(store, contract=contract).close()
    command = [sys.executable, "-c", PAY, str(store)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    said = sorted(process.communicate(timeout=120)[0].strip() for process in running)
    assert said == ["ACCEPT VALIDATION_PASSED"] + ["REJECT IN_PROGRESS"] * 7


KILLED = """
import os, signal, sys, writkeeper
guard = writkeeper.open(sys.argv[1]).guard("refund-bot")
@guard.tool
def refund(order: str, amount: float) -> None:
    with open(sys.argv[2], "a") as log:
        log.write("paid\\n")
    os.kill(os.getpid(), signal.SIGKILL)
refund(order="A-1", amount=5)
"""


def test_killed_between_effect_and_outcome(store: Path, contract: str, tmp_path: Path) -> None:
    writkeeper.open(store, contract=contract).close()
    log = tmp_path / "bank.log"
    assert run(KILLED, store, log).returncode == -signal.SIGKILL
    with writkeeper.open(store) as keeper:
        guard = keeper.guard("refund-bot")

        @guard.tool
        def refund(order: str, amount: float) -> None:
            log.write_text("twice")

        told: Any = refund(order="A-1", amount=5)  # type: ignore[func-returns-value]
        assert told["writkeeper"]["status"] == "in_doubt"
        assert log.read_text() == "paid\n"
        [intent] = keeper.intents()
        assert intent.state == "HANDED_OUT"


def test_leaving_without_closing_ends(store: Path, contract: str) -> None:
    """Pending calls, a worker thread and an open store do not keep the interpreter from ending."""
    code = """
import asyncio, sys, threading, writkeeper
keeper = writkeeper.open(sys.argv[1], contract=sys.argv[2])
@keeper.executor("pay")
def pay(**params): pass
asyncio.run(asyncio.wait_for(keeper.decide_async(agent="refund-bot", action="look", params={"order": "A"}), 60))
threading.Thread(target=keeper.decide, kwargs=dict(agent="refund-bot", action="look", params={"order": "A"})).start()
print("end")
"""
    done = run(code, store, contract)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


FUNCTION = """
agent: bot
actions:
  pay: { once: "pay:{order}", params: { order: text, amount: number }, run: { function: pay } }
approvers: [desk]
"""


def test_an_executor_performs(store: Path) -> None:
    with writkeeper.open(store, contract=FUNCTION) as keeper:
        attempts: list[Attempt] = []

        @keeper.executor("pay")
        def pay(order: str, amount: float, attempt: Attempt) -> dict[str, object]:
            attempts.append(attempt)
            if order == "boom":
                raise ConnectionError("no answer")
            if order == "closed":
                raise DidNotHappen("the bank is closed")
            return {"refund": order}

        for order, state in [("A-1", "SUCCEEDED"), ("closed", "FAILED"), ("boom", "IN_DOUBT")]:
            decision = keeper.decide(agent="bot", action="pay", params={"order": order, "amount": 5})
            intent = keeper.wait(decision, 30.0)
            assert intent is not None and intent.state == state, order
        assert [attempt.params["order"] for attempt in attempts] == ["A-1", "closed", "boom"]
        assert len({attempt.key for attempt in attempts}) == 3 and attempts[0].epoch == 1


def test_performing_on_demand(store: Path) -> None:
    with writkeeper.open(store, contract=FUNCTION) as keeper:
        paid: list[object] = []
        keeper._native.set_executor("pay", writkeeper._functions.executor(paid.append))  # type: ignore[attr-defined]
        keeper.decide(agent="bot", action="pay", params={"order": "A-1", "amount": 5})
        assert keeper.perform().succeeded == 1
        assert keeper.perform().succeeded == 0
        assert paid == [{"order": "A-1", "amount": 5}]


ASKING = """
agent: bot
validators: { held: { function: held, timeout: 2s } }
actions:
  pay: { params: { order: text }, validators: [held] }
approvers: [desk]
"""


@pytest.mark.parametrize(
    ("said", "verdict", "reason"),
    [
        (None, "ACCEPT", "VALIDATION_PASSED"),
        (True, "ACCEPT", "VALIDATION_PASSED"),
        (False, "REJECT", "VALIDATOR_REJECTED"),
        ("order A-1 is held", "REJECT", "VALIDATOR_REJECTED"),
        ({"verdict": "escalate", "message": "look"}, "ESCALATE", "NEEDS_APPROVAL"),
        (ValueError("broken"), "REJECT", "VALIDATOR_FAILED"),
        (7, "REJECT", "VALIDATOR_FAILED"),
    ],
)
@pytest.mark.parametrize("awaited", [False, True])
def test_a_validator_is_asked(said: object, verdict: str, reason: str, awaited: bool) -> None:
    with writkeeper.open("memory:", contract=ASKING) as keeper:

        @keeper.validator("held")
        def held(proposal: dict[str, Any]) -> object:
            assert proposal["params"] == {"order": "A-1"}
            if isinstance(said, Exception):
                raise said
            return said

        asked: dict[str, Any] = {"agent": "bot", "action": "pay", "params": {"order": "A-1"}}
        decision = asyncio.run(keeper.decide_async(**asked)) if awaited else keeper.decide(**asked)
        assert (decision.verdict, decision.reasons) == (verdict, (reason,))
        if said == "order A-1 is held":
            assert said in decision.findings[0].message


def test_a_validator_that_nobody_registered() -> None:
    with writkeeper.open("memory:", contract=ASKING) as keeper:
        decision = keeper.decide(agent="bot", action="pay", params={"order": "A-1"})
        assert decision.reasons == ("VALIDATOR_FAILED",) and "no function `held`" in decision.findings[0].message


def test_importing_is_quiet_and_loads_no_framework() -> None:
    done = run("import sys, writkeeper; print([name for name in ('pydantic', 'langchain', 'agents') if name in sys.modules])")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has a global lock")
def test_importing_leaves_the_global_lock_off() -> None:
    done = run("import sys, writkeeper; print(sys._is_gil_enabled())")
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


INNER = """
try:
    import writkeeper._native
except ImportError as error:
    print("subinterpreters" in str(error), flush=True)
"""
OUTER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import writkeeper
inner = interpreters.create()
interpreters.run_string(inner, sys.argv[1])
interpreters.destroy(inner)
print(writkeeper.open("memory:").intents())
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="an extension cannot refuse it before Python 3.12")
def test_a_subinterpreter_is_refused() -> None:
    done = run(OUTER, INNER)
    assert (done.returncode, done.stdout) == (0, "True\n[]\n"), done.stderr


FULL = """
import os, resource, signal, sys, writkeeper
keeper = writkeeper.open(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(sys.argv[1]),) * 2)
try:
    for number in range(10_000):
        keeper.decide(agent="refund-bot", action="refund", params={"order": f"A-{number}", "amount": 5})
except writkeeper.Unavailable as error:
    print(error.code, keeper.guard("refund-bot").ask("refund", {"order": "B-1", "amount": 5}).status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_a_full_disk_decides_nothing(store: Path, contract: str) -> None:
    writkeeper.open(store, contract=contract).close()
    done = run(FULL, store)
    assert (done.returncode, done.stdout) == (0, "UNAVAILABLE unavailable\n"), done.stderr
    with writkeeper.open(store) as keeper:
        assert keeper.decide(agent="refund-bot", action="refund", params={"order": "B-1", "amount": 5}).accepted
